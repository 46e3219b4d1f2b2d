//! Scans all skills of a collection and reports how many of them each rule finds. The figures are part of
//! the tests: `--gate` fails if a rule finds more than docs/dev/scan.md records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use prowess_diag::{Severity, wording};
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_registry::scan_skill;
use prowess_scan::{FindingPlace, RULES};

/// The page with the recorded figures.
const PAGE: &str = "docs/dev/scan.md";

/// The number of skills with findings of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RuleCounts {
    skills: usize,
    /// By the highest severity in the skill.
    errors: usize,
    warnings: usize,
    notes: usize,
}

/// A finding for a reader to judge.
struct Sample {
    path: String,
    line: usize,
    severity: Severity,
    place: FindingPlace,
    message: String,
    text: String,
}

#[derive(Default)]
struct Totals {
    skills: usize,
    failed: usize,
    with_errors: usize,
    rules: BTreeMap<&'static str, RuleCounts>,
    samples: Vec<Sample>,
}

pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut folders = Vec::new();
    let (mut sample, mut count, mut gate) = (None, 20, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--gate" => gate = true,
            "--sample" => sample = Some(*words.next().context("--sample needs a rule")?),
            "--count" => count = words.next().context("--count needs a number")?.parse()?,
            folder => folders.push(folder),
        }
    }
    if let Some(rule) = sample {
        let totals = scan(&folders, Some(rule))?;
        print_samples(totals.samples, count);
        return Ok(());
    }
    let mut rows = Vec::new();
    for folder in &folders {
        let totals = scan(&[folder], None)?;
        let name = Path::new(folder).file_name().map_or_else(
            || (*folder).to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        print_table(&name, &totals);
        rows.push((name, totals));
    }
    if gate {
        let page = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
        compare(&page, &rows)?;
    }
    Ok(())
}

fn scan(folders: &[&str], sample: Option<&str>) -> Result<Totals> {
    let totals = Mutex::new(Totals::default());
    let roots: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let options = WalkOptions {
        max_folders: usize::MAX,
        ..WalkOptions::default()
    };
    walk(&roots, options, &|found| {
        let folder = found.path.parent().unwrap_or(found.path);
        let scan = scan_skill(folder);
        let Ok(mut totals) = totals.lock() else {
            return;
        };
        totals.skills += 1;
        let Ok(scan) = scan else {
            totals.failed += 1;
            return;
        };
        let mut highest: BTreeMap<&'static str, Severity> = BTreeMap::new();
        for file in &scan.files {
            for finding in &file.findings {
                let diagnostic = &finding.diagnostic;
                let known = highest
                    .entry(diagnostic.rule)
                    .or_insert(diagnostic.severity);
                *known = (*known).max(diagnostic.severity);
                if sample == Some(diagnostic.rule) {
                    let whole = file.text.as_deref().unwrap_or_default();
                    let range = diagnostic.span.map_or(0..0, prowess_diag::Span::range);
                    let start = whole[..range.start].rfind('\n').map_or(0, |at| at + 1);
                    let end = whole[range.end..]
                        .find('\n')
                        .map_or(whole.len(), |at| range.end + at);
                    totals.samples.push(Sample {
                        path: format!("{}/{}", folder.display(), file.path),
                        line: whole[..range.start].matches('\n').count() + 1,
                        severity: diagnostic.severity,
                        place: finding.place,
                        message: diagnostic.message.to_string(),
                        text: whole[start..end].chars().take(400).collect(),
                    });
                }
            }
        }
        totals.with_errors += usize::from(
            highest
                .values()
                .any(|severity| *severity == Severity::Error),
        );
        for (rule, severity) in highest {
            let counts = totals.rules.entry(rule).or_default();
            counts.skills += 1;
            match severity {
                Severity::Error => counts.errors += 1,
                Severity::Warning => counts.warnings += 1,
                Severity::Note => counts.notes += 1,
            }
        }
    });
    let totals = totals.into_inner().unwrap_or_default();
    ensure!(totals.skills > 0, "no skills found below {folders:?}");
    Ok(totals)
}

fn print_table(name: &str, totals: &Totals) {
    println!(
        "\n{name}: {} scanned, {} with an error, {} not readable\n",
        wording::count(totals.skills, "skill"),
        totals.with_errors,
        totals.failed
    );
    println!("| rule | skills | share | error | warning | note |\n|---|---|---|---|---|---|");
    for rule in RULES {
        let counts = totals.rules.get(rule.id).copied().unwrap_or_default();
        let share = counts.skills as f64 * 100.0 / totals.skills as f64;
        println!(
            "| `{}` | {} | {share:.2} % | {} | {} | {} |",
            rule.id, counts.skills, counts.errors, counts.warnings, counts.notes
        );
    }
}

/// Prints findings, evenly spread over the collection.
fn print_samples(mut samples: Vec<Sample>, count: usize) {
    samples.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    println!("{}", wording::count(samples.len(), "finding"));
    let step = samples.len().div_ceil(count.max(1)).max(1);
    for sample in samples.iter().step_by(step) {
        let Sample {
            path,
            line,
            severity,
            place,
            message,
            text,
        } = sample;
        println!(
            "\n{path}:{line} {} in {}: {message}\n    {}",
            severity.as_str(),
            place.as_str(),
            text.replace('\n', "\n    ")
        );
    }
}

/// Compares the figures with those of the page, in which the table of a collection follows its heading.
fn compare(page: &str, rows: &[(String, Totals)]) -> Result<()> {
    let mut faults = Vec::new();
    for (name, totals) in rows {
        let recorded =
            recorded(page, name).with_context(|| format!("{PAGE} has no table for `{name}`"))?;
        for rule in RULES {
            let found = totals.rules.get(rule.id).copied().unwrap_or_default();
            let Some(known) = recorded.get(rule.id) else {
                faults.push(format!("{name}: `{}` has no row", rule.id));
                continue;
            };
            if found.skills > known.skills || found.errors > known.errors {
                faults.push(format!(
                    "{name}: `{}` finds {} skills ({} with an error), recorded are {} ({})",
                    rule.id, found.skills, found.errors, known.skills, known.errors
                ));
            }
        }
    }
    if faults.is_empty() {
        println!("\nno rule finds more than {PAGE} records");
        return Ok(());
    }
    for fault in &faults {
        println!("{fault}");
    }
    bail!("{} rules find more than recorded", faults.len())
}

/// Reads the table of a collection.
fn recorded(page: &str, name: &str) -> Option<BTreeMap<String, RuleCounts>> {
    let (_, rest) = page.split_once(&format!("\n## {name}\n"))?;
    let rest = rest.split("\n## ").next().unwrap_or(rest);
    let mut rows = BTreeMap::new();
    for line in rest.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, rule, skills, _, errors, warnings, notes, ..] = cells.as_slice() else {
            continue;
        };
        let number = |cell: &str| cell.parse().unwrap_or(0);
        rows.insert(
            rule.trim_matches('`').to_owned(),
            RuleCounts {
                skills: number(skills),
                errors: number(errors),
                warnings: number(warnings),
                notes: number(notes),
            },
        );
    }
    Some(rows)
}
