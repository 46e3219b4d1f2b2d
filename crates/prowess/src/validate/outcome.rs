//! Findings, and the changes made by fixes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_diag::render::full::Extent;
use prowess_diag::{FindingCounts, wording};
use prowess_registry::ScanNotice;
use prowess_registry::replace;
use prowess_scan::FindingPlace;

/// The outcome of a validation job.
#[derive(Debug)]
pub struct ValidationOutcome<P> {
    /// The number of checked skills.
    pub skills: usize,
    /// The number of agent files that were checked.
    pub agent_files: usize,
    /// The number of folders with findings that are not skills.
    pub folders: usize,
    /// Files with findings, sorted by path.
    pub files: Vec<FileFindings<P>>,
    /// Files that were changed or would be changed, sorted by path.
    pub fixed_files: Vec<FixedFile>,
    /// Errors from writing files, which are unchanged.
    pub failures: Vec<replace::ReplaceError>,
    /// Paths that were skipped.
    pub notices: Vec<ScanNotice>,
    /// The number of files that were searched for text to read before trusting a skill.
    pub searched: usize,
    /// Files that could not be searched, or not to their end.
    pub unsearched: Vec<PathBuf>,
}

/// The findings in one file, in the form of the surface. The text is not kept.
#[derive(Debug)]
pub struct FileFindings<P> {
    /// The real path. Different files may have the same display form.
    pub file: PathBuf,
    /// The number of findings of each kind.
    pub counts: FindingCounts,
    /// One piece for each finding.
    pub findings: Vec<RuleFinding<P>>,
}

/// One finding.
#[derive(Debug)]
pub struct RuleFinding<P> {
    /// The rule.
    pub rule: &'static str,
    /// Its place in the file, if the search for text to read found it.
    pub place: Option<FindingPlace>,
    /// The finding in the form of the surface.
    pub text: P,
}

/// A file that was changed or would be changed.
#[derive(Debug)]
pub struct FixedFile {
    /// The file.
    pub file: PathBuf,
    /// Its path in display form.
    pub path: String,
    /// The rules of the fixed findings, one entry for each finding.
    pub rules: Vec<&'static str>,
    /// The diff of what would change. Empty if the file was changed.
    pub diff: String,
}

impl FixedFile {
    /// Lists the rules with their counts, if greater than one: `2 x yaml-syntax, name-case`.
    pub fn rule_list(&self) -> String {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for rule in &self.rules {
            match counted.iter_mut().find(|(known, _)| known == rule) {
                Some((_, count)) => *count += 1,
                None => counted.push((rule, 1)),
            }
        }
        let named = counted.iter().map(|(rule, count)| match count {
            1 => (*rule).to_owned(),
            _ => format!("{} x {rule}", wording::thousands(*count)),
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

impl<P> Default for ValidationOutcome<P> {
    fn default() -> Self {
        Self {
            skills: 0,
            agent_files: 0,
            folders: 0,
            files: Vec::new(),
            fixed_files: Vec::new(),
            failures: Vec::new(),
            notices: Vec::new(),
            searched: 0,
            unsearched: Vec::new(),
        }
    }
}

impl<P> ValidationOutcome<P> {
    /// Returns the number of findings that were fixed or would be fixed.
    pub fn fixed(&self) -> usize {
        self.fixed_files.iter().map(|file| file.rules.len()).sum()
    }

    /// Returns the last line of a diff: the findings that would be fixed, those with unsafe fixes,
    /// and those without a fix.
    pub fn diff_summary(&self) -> String {
        let fixed = wording::count(self.fixed(), "finding");
        let checked = wording::count(self.checked(), self.noun());
        let skills = wording::count(self.fixed_files.len(), self.noun());
        let counts = self.counts();
        let all = counts.errors + counts.warnings + counts.notes;
        let left = all.saturating_sub(counts.suggested + counts.fixable);
        let done = match (self.fixed_files.len(), counts.suggested) {
            (0, 0) if left == 0 => format!("Nothing to fix in {checked}"),
            (0, 0) => format!("No fixes in {checked}"),
            (0, more) => {
                let more = wording::thousands(more);
                format!("No safe fixes in {checked} ({more} with `--unsafe-fixes`)")
            }
            (_, 0) => format!("Would fix {fixed} in {skills}"),
            (_, more) => {
                let more = wording::thousands(more);
                format!("Would fix {fixed} in {skills} ({more} more with `--unsafe-fixes`)")
            }
        };
        match left {
            0 => done,
            1 => format!("{done}; 1 finding has no fix; run without `--diff` to see it"),
            left => {
                let left = wording::count(left, "finding");
                format!("{done}; {left} have no fix; run without `--diff` to see them")
            }
        }
    }

    /// Returns the number of skills and folders with findings.
    pub fn extent(&self) -> Extent {
        // Several files of one skill may have findings.
        let affected = (self.files.len() - self.folders).min(self.checked());
        Extent {
            skills: self.checked(),
            affected,
            folders: self.folders,
            noun: self.noun(),
        }
    }

    /// Returns the number of skills and agent files that were checked.
    pub fn checked(&self) -> usize {
        self.skills + self.agent_files
    }

    /// Returns the word for what was checked: `skill`, or `file` if agent files are among them.
    pub fn noun(&self) -> &'static str {
        if self.agent_files > 0 {
            "file"
        } else {
            "skill"
        }
    }

    /// Returns the number of findings of each kind.
    pub fn counts(&self) -> FindingCounts {
        let mut counts = FindingCounts::default();
        for file in &self.files {
            counts.merge(file.counts);
        }
        counts
    }

    /// Returns all findings, file by file.
    pub fn findings(&self) -> impl Iterator<Item = &RuleFinding<P>> {
        self.files.iter().flat_map(|file| &file.findings)
    }

    /// Returns the rules with their numbers of findings and files, most findings first.
    pub fn by_rule(&self) -> Vec<(&'static str, usize, usize)> {
        let mut counts: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
        for file in &self.files {
            let mut seen: Vec<&str> = Vec::new();
            for finding in &file.findings {
                let entry = counts.entry(finding.rule).or_default();
                entry.0 += 1;
                if !seen.contains(&finding.rule) {
                    seen.push(finding.rule);
                    entry.1 += 1;
                }
            }
        }
        let mut rows: Vec<_> = counts
            .into_iter()
            .map(|(rule, (findings, files))| (rule, findings, files))
            .collect();
        rows.sort_by_key(|&(rule, findings, _)| (std::cmp::Reverse(findings), rule));
        rows
    }
}
