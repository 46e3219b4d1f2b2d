//! What was found, and what was done about it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_diag::render::full::Extent;
use prowess_diag::{FindingCounts, wording};
use prowess_registry::Notice;
use prowess_registry::replace;

/// What was found in all.
#[derive(Debug)]
pub struct Outcome<P> {
    /// How many skills were checked.
    pub skills: usize,
    /// Folders with a finding of their own, which are not skills.
    pub folders: usize,
    /// Files with findings, in the order of their paths.
    pub files: Vec<Checked<P>>,
    /// Files that were changed or would be, in the order of their paths.
    pub mended: Vec<Mended>,
    /// Files that should have been changed and are as they were.
    pub failures: Vec<replace::Error>,
    /// What was left out on the way.
    pub notices: Vec<Notice>,
}

/// What was found in one skill, in the form of the surface: the texts are not kept.
#[derive(Debug)]
pub struct Checked<P> {
    /// The real path: two that look alike when shown are two.
    pub file: PathBuf,
    /// How many findings of which kind.
    pub counts: FindingCounts,
    /// One piece for each finding.
    pub pieces: Vec<Piece<P>>,
}

/// One finding.
#[derive(Debug)]
pub struct Piece<P> {
    /// The rule that was broken.
    pub rule: &'static str,
    /// What the surface made of it.
    pub text: P,
}

/// A file that was changed, or would be.
#[derive(Debug)]
pub struct Mended {
    /// The file.
    pub file: PathBuf,
    /// Its path as the surface shows it.
    pub path: String,
    /// The rules of the findings that are gone, once for each finding.
    pub rules: Vec<&'static str>,
    /// What would change; empty if it has changed.
    pub diff: String,
}

impl Mended {
    /// Returns the rules with their number where it is not one: `2 x yaml-syntax, name-case`.
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

impl<P> Default for Outcome<P> {
    fn default() -> Self {
        Self {
            skills: 0,
            folders: 0,
            files: Vec::new(),
            mended: Vec::new(),
            failures: Vec::new(),
            notices: Vec::new(),
        }
    }
}

impl<P> Outcome<P> {
    /// Returns how many findings were mended, or would be.
    pub fn fixed(&self) -> usize {
        self.mended.iter().map(|mended| mended.rules.len()).sum()
    }

    /// Returns the closing line of a diff: what would be mended, what more could be, and what is
    /// left for a person.
    pub fn diff_summary(&self) -> String {
        let fixed = wording::count(self.fixed(), "finding");
        let checked = wording::count(self.skills, "skill");
        let mended = wording::count(self.mended.len(), "skill");
        let counts = self.counts();
        let all = counts.errors + counts.warnings + counts.notes;
        let left = all.saturating_sub(counts.suggested + counts.fixable);
        let done = match (self.mended.len(), counts.suggested) {
            (0, 0) if left == 0 => format!("Nothing to fix in {checked}"),
            (0, 0) => format!("No fixes in {checked}"),
            (0, more) => {
                let more = wording::count(more, "suggested one");
                format!("No safe fixes in {checked}; {more}: add `--unsafe-fixes`")
            }
            (_, 0) => format!("Would fix {fixed} in {mended}"),
            (_, more) => {
                let more = wording::thousands(more);
                format!("Would fix {fixed} in {mended} ({more} more with `--unsafe-fixes`)")
            }
        };
        match left {
            0 => done,
            1 => format!("{done}; 1 finding has no fix: see it without `--diff`"),
            left => {
                let left = wording::count(left, "finding");
                format!("{done}; {left} have no fix: see them without `--diff`")
            }
        }
    }

    /// Returns where things were found.
    pub fn extent(&self) -> Extent {
        let affected = self.files.len() - self.folders;
        Extent {
            skills: self.skills,
            affected,
            folders: self.folders,
        }
    }

    /// Returns how many findings of which kind there are.
    pub fn counts(&self) -> FindingCounts {
        let mut counts = FindingCounts::default();
        for file in &self.files {
            counts.merge(file.counts);
        }
        counts
    }

    /// Returns every finding, file by file.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece<P>> {
        self.files.iter().flat_map(|file| &file.pieces)
    }

    /// Returns how often each rule was broken and in how many files, most often first.
    pub fn by_rule(&self) -> Vec<(&'static str, usize, usize)> {
        let mut counts: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
        for file in &self.files {
            let mut seen: Vec<&str> = Vec::new();
            for piece in &file.pieces {
                let entry = counts.entry(piece.rule).or_default();
                entry.0 += 1;
                if !seen.contains(&piece.rule) {
                    seen.push(piece.rule);
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
