//! Tests of the rules.

mod hostile;
mod pages;
mod properties;

use prowess_diag::Severity;
use prowess_scan::{FindingPlace, ScanContent, ScanFile, SkillScanner};

/// A finding: its rule, severity and place.
type Found = (&'static str, Severity, FindingPlace);

/// Scans a text of a skill about the weather.
fn scan(path: &str, text: &str) -> Vec<Found> {
    scan_in("Shows the weather.", path, text)
}

/// Scans a text of a skill with this description.
fn scan_in(description: &str, path: &str, text: &str) -> Vec<Found> {
    let skill = format!("---\nname: x\ndescription: {description}\n---\n");
    let parsed = prowess_spec::parse(skill.as_bytes());
    let file = ScanFile {
        path,
        content: ScanContent::Text(text),
        executable: false,
        is_main: path == "SKILL.md",
    };
    let found = SkillScanner::new(Some(&parsed)).file(&file).findings;
    found
        .into_iter()
        .map(|found| {
            (
                found.diagnostic.rule,
                found.diagnostic.severity,
                found.place,
            )
        })
        .collect()
}
