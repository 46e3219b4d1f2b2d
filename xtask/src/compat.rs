//! Compares the verdicts of the `spec` profile with the reference tool.
//!
//! The reference runs in one Python process over all skills. Each difference must be explained by a
//! documented bug of the reference.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use prowess_catalog::index::{IndexEntry, IndexFormat, IndexOptions, index};
use prowess_catalog::{
    FileStamp, Location, Scope, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin,
};
use prowess_diag::Severity;
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_spec::{ParsedSkill, parse};
use serde_json::Value;

/// Prints one JSON line per folder on standard input: its errors, or that it crashed.
const REFERENCE: &str = r#"
import json, sys
from pathlib import Path
from skills_ref.validator import validate
from skills_ref.parser import read_properties
from skills_ref.prompt import to_prompt
for line in sys.stdin:
    path = Path(line.rstrip("\n"))
    try:
        errors = validate(path)
    except Exception as error:
        errors = None
    try:
        properties = read_properties(path).to_dict()
    except Exception:
        properties = None
    try:
        prompt = to_prompt([path])
    except Exception:
        prompt = None
    print(json.dumps({"path": str(path), "errors": errors, "properties": properties, "prompt": prompt}))
"#;

pub(crate) fn run(root: &Path, python: &str, folders: &[&str]) -> Result<()> {
    let world = tempfile::tempdir()?;
    let mutated = mutate(folders, world.path())?;
    let mut all: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    all.push(world.path().to_owned());
    let ours = Mutex::new(Vec::new());
    let rules = LintRuleSet::new(LintProfile::Spec, None);
    walk(
        &all,
        WalkOptions {
            max_folders: usize::MAX,
            ..WalkOptions::default()
        },
        &|found| {
            let Ok(bytes) = found.bytes else { return };
            let parsed = parse(bytes);
            let findings = check(&LintSubject::new(&parsed, found.package), &rules);
            let errors: Vec<String> = findings
                .into_iter()
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| format!("{}: {}", finding.rule, finding.message))
                .collect();
            let folder = found.path.parent().unwrap_or(found.path).to_owned();
            if let Ok(mut ours) = ours.lock() {
                let prompt = prompt(found.path, found.package.folder(), &parsed);
                ours.push((
                    folder,
                    errors,
                    String::from_utf8_lossy(bytes).into_owned(),
                    prompt,
                ));
            }
        },
    );
    let mut ours = ours.into_inner().unwrap_or_default();
    ours.sort();
    let theirs = reference(python, ours.iter().map(|(folder, ..)| folder.as_path()))?;
    let prowess = crate::corpus::build_command(root)?;
    let (mut agree, mut explained, mut properties, mut prompts) = (0, 0, 0, 0);
    let mut unexplained = Vec::new();
    for ((folder, errors, text, prompt), theirs) in ours.iter().zip(&theirs) {
        let reference = theirs["errors"].as_array();
        let valid = reference.is_some_and(Vec::is_empty);
        if valid == errors.is_empty() {
            agree += 1;
        } else if documented_bug(text, reference, errors).is_some() {
            explained += 1;
        } else {
            unexplained.push(format!(
                "{}\n  ours:   {errors:?}\n  theirs: {}",
                folder.display(),
                theirs["errors"]
            ));
        }
        if valid && errors.is_empty() {
            prompts += 1;
            if theirs["prompt"] != *prompt {
                let theirs = &theirs["prompt"];
                unexplained.push(format!("{}\n  {prompt:?}\n  {theirs}", folder.display()));
            }
        }
        // Starting a process for each is slow, so only every fortieth is checked.
        if agree % 40 == 1 && valid && errors.is_empty() {
            let output = Command::new(&prowess)
                .args(["show", "--json", "--profile", "spec"])
                .arg(folder)
                .output()?;
            let printed: Value = serde_json::from_slice(&output.stdout)
                .with_context(|| format!("show {}", folder.display()))?;
            if printed != theirs["properties"] {
                unexplained.push(format!(
                    "{}\n  ours:   {printed}\n  theirs: {}",
                    folder.display(),
                    theirs["properties"]
                ));
            }
            properties += 1;
        }
    }
    println!(
        "{} skills, {mutated} of them mutated: {agree} verdicts agree, {explained} differ by a documented bug of the reference, {} unexplained; {properties} property sets and {prompts} prompts compared",
        ours.len(),
        unexplained.len()
    );
    if !unexplained.is_empty() {
        for line in unexplained.iter().take(20) {
            println!("{line}");
        }
        bail!("verdicts differ from the reference tool");
    }
    Ok(())
}

/// Returns our output for one skill in the format of the reference tool's `to-prompt`.
fn prompt(file: &Path, folder: Option<&str>, parsed: &ParsedSkill<'_>) -> String {
    let location = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let place = SkillLocation {
        id: SkillId {
            origin: Arc::new(SkillOrigin::new(Scope::Extra, 0, "compat")),
            path: "x".into(),
        },
        form: SkillForm::Folder,
        location: Location::of_path(&location),
        given: folder,
        stamp: FileStamp::default(),
        sidecar: None,
        fingerprint: 0,
    };
    let skill = Skill::from_text(place, parsed, None);
    let entry = IndexEntry::new(&skill, &skill.name);
    index(
        &[entry],
        &IndexOptions {
            format: IndexFormat::XmlCompat,
            ..IndexOptions::default()
        },
    )
    .text
}

/// Returns the bug of the reference that explains a difference.
fn documented_bug(
    text: &str,
    reference: Option<&Vec<Value>>,
    ours: &[String],
) -> Option<&'static str> {
    if reference.is_none() {
        return Some("the reference crashed");
    }
    let only = |rule: &str| !ours.is_empty() && ours.iter().all(|error| error.starts_with(rule));
    if only("compatibility-length") && ours.iter().all(|error| error.contains("is empty")) {
        return Some("an empty compatibility passes");
    }
    if only("metadata-not-a-map") {
        return Some("metadata that is not a map passes");
    }
    if only("frontmatter-too-large")
        || only("nul-byte")
        || only("yaml-feature: invalid YAML: frontmatter must not use more than")
    {
        return Some("no limits");
    }
    // The reference splits at the first two `---`, even in a value or on an indented line.
    let mut parts = text.splitn(3, "---");
    let (first, block) = (parts.next()?, parts.next()?);
    let splits_elsewhere =
        !first.is_empty() || !block.starts_with(['\n', '\r']) || !block.ends_with(['\n', '\r']);
    splits_elsewhere.then_some("it splits at `---` anywhere")
}

fn reference<'a>(python: &str, folders: impl Iterator<Item = &'a Path>) -> Result<Vec<Value>> {
    let mut child = Command::new(python)
        .arg("-c")
        .arg(REFERENCE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {python}"))?;
    let mut input = child.stdin.take().context("standard input")?;
    let lines: String = folders
        .map(|folder| format!("{}\n", folder.display()))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    writer
        .join()
        .map_err(|_| anyhow::anyhow!("the writer stopped"))??;
    String::from_utf8(output.stdout)?
        .lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// Writes variants of real skills with one change in the frontmatter each, and returns their
/// number.
fn mutate(folders: &[&str], target: &Path) -> Result<usize> {
    const CHANGES: &[(&str, &str)] = &[
        (": ", ":"),
        (": ", ": \""),
        (": ", ": '"),
        (": ", ": ["),
        (": ", ": {"),
        (": ", ": @"),
        (": ", ": `"),
        (": ", ": %"),
        (": ", ": &a "),
        (": ", ": *a "),
        (": ", ": !t "),
        (": ", ": - "),
        (": ", ": # "),
        (": ", ": > "),
        (": ", ": |\n  "),
        (": ", ": x: "),
        (": ", ": ~ "),
        (": ", ":\n  "),
        (": ", ":\n  - "),
        (": ", ":\t"),
        ("\n", "\n\t"),
        ("\n", "\n "),
        ("\n", "\r\n"),
        ("\n", "\r"),
        ("\n", "\n\n"),
        ("\n", "\n# c\n"),
        ("\n", "\nname: y\n"),
        ("\n", "\nlicense: MIT\n"),
        ("\n", "\ncompatibility: \"\"\n"),
        ("\n", "\nmetadata: {a: b}\n"),
        ("\n", "\nmetadata:\n    a:\n      b: c\n    d: 1\n"),
        ("\n", "\n? a\n: b\n"),
        ("name: ", "Name: "),
        ("name: ", "name: X"),
        ("name: ", "name: é"),
        ("description: ", "description: |\n  "),
        ("description: ", "description: >-\n  "),
        ("description: ", "desc: "),
    ];
    let sources = Mutex::new(Vec::new());
    let roots: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    walk(&roots, WalkOptions::default(), &|found| {
        if let (Ok(bytes), Some(folder), Ok(mut sources)) =
            (found.bytes, found.package.folder(), sources.lock())
        {
            sources.push((
                folder.to_owned(),
                String::from_utf8_lossy(bytes).into_owned(),
            ));
        }
    });
    let mut sources = sources.into_inner().unwrap_or_default();
    sources.sort();
    let mut count = 0;
    // Every third skill, each with a different change at a different position.
    for (index, (folder, text)) in sources.iter().enumerate().step_by(3) {
        for turn in 0..6 {
            let (from, to) = CHANGES[(index / 3 * 6 + turn) % CHANGES.len()];
            let end = text
                .get(4..)
                .and_then(|rest| rest.find("\n---"))
                .map_or(0, |end| end + 4);
            let places: Vec<usize> = text[..end]
                .match_indices(from)
                .map(|(at, _)| at)
                .filter(|&at| at > 3)
                .collect();
            let Some(&at) = places.get((index + turn) % places.len().max(1)) else {
                continue;
            };
            let changed = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
            let copy = target.join(format!("{count:05}")).join(folder);
            std::fs::create_dir_all(&copy)?;
            std::fs::write(copy.join("SKILL.md"), changed)?;
            count += 1;
        }
    }
    Ok(count)
}
