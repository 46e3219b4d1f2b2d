//! Reads all skills of a collection and checks that nothing panics, that every skill with text
//! loads, and that fixes keep their guarantees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use prowess_diag::{FindingCounts, wording};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_spec::{identify, parse};
use serde_json::Value;

pub(crate) fn run(folders: &[&str]) -> Result<()> {
    load_all(folders)?;
    fix_all(folders)?;
    fix_unsafely(folders)
}

/// Totals over all skills.
#[derive(Default)]
struct Totals {
    skills: usize,
    with_text: usize,
    unusable: Vec<String>,
    counts: FindingCounts,
    rules: BTreeMap<&'static str, (usize, usize)>,
}

fn load_all(folders: &[&str]) -> Result<()> {
    let totals = Mutex::new(Totals::default());
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    let roots: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let summary = walk(&roots, WalkOptions::default(), &|found| {
        let Ok(mut totals) = totals.lock() else {
            return;
        };
        totals.skills += 1;
        let Ok(bytes) = found.bytes else { return };
        let parsed = parse(bytes);
        let identity = identify(&parsed.manifest, found.package.folder(), parsed.body_text());
        let has_text = parsed.text.chars().any(char::is_alphanumeric);
        totals.with_text += usize::from(has_text);
        if has_text && (identity.name.is_empty() || identity.description.is_empty()) {
            totals.unusable.push(found.path.display().to_string());
        }
        let findings = check(&LintSubject::new(&parsed, found.package), &rules);
        let mut seen: Vec<&str> = Vec::new();
        for finding in &findings {
            totals.counts.add(finding);
            let entry = totals.rules.entry(finding.rule).or_default();
            entry.0 += 1;
            entry.1 += usize::from(!seen.contains(&finding.rule));
            seen.push(finding.rule);
        }
    });
    let totals = totals.into_inner().unwrap_or_default();
    ensure!(
        totals.skills == summary.skills && totals.skills > 0,
        "no skills found below {folders:?}"
    );
    println!(
        "{} read, {} with text, {} without a usable name and description\n",
        wording::count(totals.skills, "skill"),
        totals.with_text,
        totals.unusable.len()
    );
    let mut rows: Vec<_> = totals.rules.iter().collect();
    rows.sort_by_key(|(rule, (_, skills))| (std::cmp::Reverse(*skills), **rule));
    println!("  skills findings  rule (profile claude-code)");
    for (rule, (findings, skills)) in rows {
        println!("{skills:>8} {findings:>8}  {rule}");
    }
    println!(
        "\n{} errors, {} warnings, {} notes, {} fixable",
        totals.counts.errors, totals.counts.warnings, totals.counts.notes, totals.counts.fixable
    );
    if !totals.unusable.is_empty() {
        bail!(
            "these skills have text but no usable name and description: {:?}",
            totals.unusable
        );
    }
    Ok(())
}

/// Runs the command with `--fix --unsafe-fixes` on a copy, twice.
fn fix_unsafely(folders: &[&str]) -> Result<()> {
    let prowess = build_command(&crate::root()?)?;
    let world = copy(folders)?;
    let flags = ["--json", "--fix", "--unsafe-fixes"];
    let before = validate(&prowess, world.path(), &["--json"])?;
    let first = validate(&prowess, world.path(), &flags)?;
    let number = |value: &Value, key: &str| value["summary"][key].as_u64().unwrap_or(u64::MAX);
    let again = validate(&prowess, world.path(), &flags)?;
    ensure!(
        number(&again, "fixed") == 0,
        "a second --fix --unsafe-fixes changes something"
    );
    ensure!(
        number(&first, "errors") <= number(&before, "errors"),
        "--unsafe-fixes introduces errors"
    );
    println!(
        "--fix --unsafe-fixes: {} of {} findings fixed, {} of {} errors left",
        number(&first, "fixed"),
        number(&before, "fixable") + number(&before, "suggested"),
        number(&first, "errors"),
        number(&before, "errors")
    );
    Ok(())
}

fn copy(folders: &[&str]) -> Result<tempfile::TempDir> {
    let world = tempfile::tempdir()?;
    for (index, folder) in folders.iter().enumerate() {
        crate::bench::copy_tree(Path::new(folder), &world.path().join(index.to_string()))?;
    }
    Ok(world)
}

/// Runs the command with `--fix` on a copy, twice.
fn fix_all(folders: &[&str]) -> Result<()> {
    let prowess = build_command(&crate::root()?)?;
    let world = copy(folders)?;
    let before = validate(&prowess, world.path(), &["--json"])?;
    let original = contents(world.path())?;
    let first = validate(&prowess, world.path(), &["--json", "--fix"])?;
    let fixed = contents(world.path())?;
    let second = validate(&prowess, world.path(), &["--json", "--fix"])?;
    let again = contents(world.path())?;
    let number = |value: &Value, key: &str| value["summary"][key].as_u64().unwrap_or(u64::MAX);
    ensure!(
        number(&first, "fixable") == 0,
        "fixable findings remain: {}",
        number(&first, "fixable")
    );
    ensure!(
        number(&second, "fixed") == 0 && again == fixed,
        "a second --fix changes files"
    );
    let fixable: Vec<&str> = before["findings"]
        .as_array()
        .context("findings")?
        .iter()
        .filter(|finding| finding["fix"]["applicability"] == "safe")
        .filter_map(|finding| finding["path"].as_str())
        .collect();
    let mut changed = 0;
    for (path, text) in &original {
        if fixed.get(path) != Some(text) {
            changed += 1;
            let shown = path.strip_prefix(world.path())?.display().to_string();
            ensure!(
                fixable.contains(&shown.as_str()),
                "{shown} was changed without a fixable finding"
            );
        }
    }
    println!(
        "--fix: {} of {} findings fixed in {changed} files; none left, no other files changed, a second run changes nothing",
        number(&first, "fixed"),
        number(&before, "fixable")
    );
    Ok(())
}

fn validate(prowess: &Path, folder: &Path, arguments: &[&str]) -> Result<Value> {
    let output = Command::new(prowess)
        .args(["validate", "."])
        .args(arguments)
        .current_dir(folder)
        .output()?;
    ensure!(
        output.status.code().is_some_and(|code| code < 2),
        "validate failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns all files below a folder with their contents.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            } else {
                files.insert(entry.path(), std::fs::read(entry.path())?);
            }
        }
    }
    Ok(files)
}

/// Builds the command and returns its path.
pub(crate) fn build_command(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            "prowess-cli",
            "--message-format",
            "json",
        ])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "cannot build prowess");
    let text = String::from_utf8(output.stdout)?;
    let built = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    built.context("cargo built no executable")
}
