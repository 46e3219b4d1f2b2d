//! Draws a random sample of findings from a collection of skills, for a reader to judge.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use prowess_diag::{Diagnostic, LineIndex, sanitize, wording};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_registry::FoundSkill;
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_spec::parse;

/// Minimum number of rules in a sample.
const LEAST_RULES: usize = 15;
/// Maximum number of findings of one rule.
const MOST_OF_ONE: usize = 20;
/// Lines shown before and after a finding.
const AROUND: usize = 4;
/// Maximum number of characters of a line.
const MOST_WIDE: usize = 240;
/// Maximum number of files of a skill that are listed.
const MOST_FILES: usize = 20;

/// The findings drawn for each rule, by their random number.
type Drawn = BTreeMap<&'static str, BTreeMap<u64, String>>;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (mut folders, mut seed, mut count) = (Vec::new(), 1, 200);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let value = words
                .next()
                .with_context(|| format!("{word} needs a number"))?;
            value
                .parse()
                .with_context(|| format!("invalid number {value}"))
        };
        match *word {
            "--seed" => seed = number()?,
            "--count" => count = usize::try_from(number()?)?,
            flag if flag.starts_with('-') => bail!("unknown option {flag}"),
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    ensure!(!folders.is_empty(), "name a folder");
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    let drawn = Mutex::new(Drawn::new());
    let options = WalkOptions {
        max_depth: 64,
        max_folders: 2_000_000,
        ..WalkOptions::default()
    };
    let summary = walk(&folders, options, &|found| {
        draw(&found, &rules, seed, &drawn);
    });
    let drawn = drawn.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut all: Vec<(u64, &str, &String)> = drawn
        .iter()
        .flat_map(|(rule, found)| found.iter().map(|(number, text)| (*number, *rule, text)))
        .collect();
    all.sort_unstable();
    all.truncate(count);
    let mut sampled: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, rule, _) in &all {
        *sampled.entry(rule).or_default() += 1;
    }
    ensure!(
        all.len() == count && sampled.len() >= LEAST_RULES,
        "only {} of {} rules",
        wording::count(all.len(), "finding"),
        sampled.len()
    );
    println!(
        "# {} from {} (seed {seed}, profile claude-code)\n",
        wording::count(all.len(), "finding"),
        wording::count(summary.skills, "skill")
    );
    for (rule, count) in sampled {
        println!("- {rule}: {count}");
    }
    for (number, (_, rule, text)) in all.iter().enumerate() {
        println!("\n## {}. {rule}\n\n{text}", number + 1);
    }
    Ok(())
}

/// Adds the findings of a skill to those drawn. The result does not depend on the order of skills.
fn draw(found: &FoundSkill<'_>, rules: &LintRuleSet, seed: u64, drawn: &Mutex<Drawn>) {
    let Ok(bytes) = found.bytes else { return };
    let parsed = parse(bytes);
    let path = found.path.display().to_string();
    let mut findings = check(
        &LintSubject::new(&parsed, found.package).at_path(&*path),
        rules,
    );
    fix::remove_inapplicable_fixes(parsed.text, found.package, rules, &mut findings);
    let lines = LineIndex::new(parsed.text);
    for (index, finding) in findings.iter().enumerate() {
        let number = random(seed, &path, index);
        let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = drawn.entry(finding.rule).or_default();
        let is_in = chosen.len() < MOST_OF_ONE
            || chosen
                .last_key_value()
                .is_some_and(|(last, _)| number < *last);
        if is_in {
            chosen.insert(number, describe(found, parsed.text, &lines, finding));
            if chosen.len() > MOST_OF_ONE {
                chosen.pop_last();
            }
        }
    }
}

/// Hashes a finding with the seed (FNV-1a, mixed by `SplitMix64`).
fn random(seed: u64, path: &str, index: usize) -> u64 {
    let bytes = path.bytes().chain(index.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut mixed = hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Formats a finding with the lines around it and the files of the skill.
fn describe(found: &FoundSkill<'_>, text: &str, lines: &LineIndex, finding: &Diagnostic) -> String {
    let place = finding
        .span
        .map(|span| lines.position(text, span.start as usize));
    let at = place.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
    let mut out = format!(
        "`{}{at}` {}\n\n",
        found.path.display(),
        finding.severity.as_str()
    );
    let mut say = |what: &str, text: &str| {
        let text = sanitize::line(text);
        let _ = writeln!(out, "- {what}: {text}");
    };
    say("message", &finding.message);
    for (what, text) in [("label", &finding.label), ("help", &finding.help)] {
        if let Some(text) = text {
            say(what, text);
        }
    }
    if let Some(fix) = &finding.fix {
        say(
            "fix",
            &format!("{} ({})", fix.title, fix.applicability.as_str()),
        );
        for edit in fix.edits.iter().take(3) {
            let old = wording::shorten(edit.span.of(text), MOST_WIDE);
            let new = wording::shorten(&edit.replacement, MOST_WIDE);
            say("edit", &format!("{old:?} becomes {new:?}"));
        }
    }
    let files = found.package.paths();
    let shown: Vec<&str> = files.iter().copied().take(MOST_FILES).collect();
    say(
        "files",
        &format!("{} ({} in all)", shown.join(", "), files.len()),
    );
    let from = place.map_or(0, |at| at.line.saturating_sub(AROUND + 1));
    let _ = writeln!(out, "\n~~~~~~text");
    for (number, line) in text.lines().enumerate().skip(from).take(2 * AROUND + 1) {
        let mark = if place.is_some_and(|at| at.line == number + 1) {
            '>'
        } else {
            ' '
        };
        let line = sanitize::line(line);
        let line = wording::shorten(&line, MOST_WIDE);
        let _ = writeln!(out, "{mark}{:>5} {line}", number + 1);
    }
    let _ = write!(out, "~~~~~~");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_seed_path_and_index() {
        let first = random(1, "a", 0);
        assert_eq!(first, random(1, "a", 0));
        for other in [random(2, "a", 0), random(1, "b", 0), random(1, "a", 1)] {
            assert_ne!(first, other);
        }
    }
}
