//! Reads, checks and fixes packages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_diag::render::diff;
use prowess_diag::{Applicability, Diagnostic, FileReport, FindingCounts, LineIndex};
use prowess_lint::{LintRuleSet, LintSubject, check, fix};
use prowess_registry::replace;
use prowess_registry::{FoundSkill, ScanNotice, WalkOptions, read_path, walk_within};
use prowess_spec::{PackageFacts, PackageListing, ReadFault, parse};

use crate::validate::agents::{self, AgentTarget};
use crate::validate::missions::MissionTarget;
use crate::validate::outcome::{FileFindings, FixedFile, RuleFinding, ValidationOutcome};

/// Maximum number of folders to open below a path. High, because a given path is checked
/// completely.
const MAX_FOLDERS: usize = 2_000_000;

/// Maximum depth of folders below a path that is checked completely. Each level keeps a folder
/// open.
pub(super) const MAX_DEPTH: usize = 128;

/// Handling of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationAction {
    /// Reports them.
    Report,
    /// Fixes them, and reports those that remain.
    Fix,
    /// Reports what fixing would change, and changes nothing.
    Diff,
}

/// A validation job.
#[derive(Clone, Debug)]
pub struct ValidationJob {
    /// The rules in force.
    pub rules: LintRuleSet,
    /// Handling of findings.
    pub action: ValidationAction,
    /// Minimum applicability of a fix to be applied.
    pub least: Applicability,
    /// Searches folders at any depth. If `false`, only as deep as the catalogue.
    pub deep: bool,
}

/// Presents results. Called from several threads.
pub trait Presenter: Sync {
    /// A finding in the form of the surface.
    type Finding: Send;

    /// Formats a path for display.
    fn path(&self, path: &Path) -> String;

    /// Converts a finding.
    fn present(
        &self,
        report: &FileReport,
        lines: &LineIndex,
        diagnostic: &Diagnostic,
    ) -> Self::Finding;

    /// Returns `true` if a folder may contain no skill, such as `.agents/skills`.
    fn may_be_empty(&self, _folder: &Path) -> bool {
        false
    }

    /// Returns `true` if a link to a folder may be followed.
    fn may_follow(&self, _link: &Path) -> bool {
        true
    }

    /// Called after each skill.
    fn step(&self) {}
}

/// Checks every skill at or below the paths. The outcome is deterministic, including its order.
pub fn run<S: Presenter>(
    job: &ValidationJob,
    paths: Vec<PathBuf>,
    presenter: &S,
) -> ValidationOutcome<S::Finding> {
    let places = paths
        .iter()
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    let run = Run {
        job,
        presenter,
        places,
        outcome: Mutex::default(),
    };
    let notices = run.walk(paths);
    let mut outcome = run
        .outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcome.files.sort_by(|a, b| a.file.cmp(&b.file));
    outcome.fixed_files.sort_by(|a, b| a.file.cmp(&b.file));
    outcome.failures.sort_by_key(ToString::to_string);
    outcome.notices = notices;
    outcome
}

/// Outcome of checking a text that is not on disk.
#[derive(Debug)]
pub enum TextOutcome<P> {
    /// The text was checked, possibly with the changes that fixes would make.
    Checked(ValidationOutcome<P>),
    /// The text was fixed.
    FixedFile {
        /// The fixed text, or `None` if the bytes are not text and were left unchanged.
        text: Option<String>,
        /// The remaining findings.
        report: FileReport,
        /// The number of remaining findings of each kind.
        counts: FindingCounts,
    },
}

/// Checks a text that is not on disk, such as standard input. `path` is its name in reports.
pub fn check_text<S: Presenter>(
    job: &ValidationJob,
    bytes: &[u8],
    path: &str,
    presenter: &S,
) -> TextOutcome<S::Finding> {
    let package = PackageListing::default();
    let parsed = parse(bytes);
    let mut findings = check(
        &LintSubject::new(&parsed, &package).at_path(path),
        &job.rules,
    );
    if job.action == ValidationAction::Fix {
        let is_text = parsed.text.len() == bytes.len();
        let (text, diagnostics) =
            match fix::fix_all(bytes, &package, Some(path), &job.rules, job.least) {
                Some(fixed) => (fixed.text, fixed.remaining),
                None => (parsed.text.to_owned(), findings),
            };
        let counts = diagnostics.iter().collect();
        let shown = Some(text.as_str().into());
        let report = FileReport {
            path: path.to_owned(),
            text: shown,
            diagnostics,
        };
        return TextOutcome::FixedFile {
            text: is_text.then_some(text),
            report,
            counts,
        };
    }
    let run = Run {
        job,
        presenter,
        places: Vec::new(),
        outcome: Mutex::default(),
    };
    if job.action == ValidationAction::Diff {
        run.mend(path.to_owned(), Path::new("-"), bytes, &package, findings);
    } else {
        fix::remove_inapplicable_fixes(parsed.text, &package, &job.rules, &mut findings);
        run.keep(Path::new("-"), path.to_owned(), Some(parsed.text), findings);
    }
    TextOutcome::Checked(
        run.outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

/// State shared by the threads.
struct Run<'a, S: Presenter> {
    job: &'a ValidationJob,
    presenter: &'a S,
    /// The canonical paths of the job. Nothing outside them is written.
    places: Vec<PathBuf>,
    outcome: Mutex<ValidationOutcome<S::Finding>>,
}

impl<S: Presenter> Run<'_, S> {
    fn walk(&self, paths: Vec<PathBuf>) -> Vec<ScanNotice> {
        let mut folders = Vec::new();
        for path in paths {
            if let Some(target) = AgentTarget::new(&path) {
                self.check_agents(&path, &target);
            } else if let Some(target) = MissionTarget::new(&path) {
                self.check_mission(&path, &target);
            } else if !read_path(&path, &mut |found| self.check(found)) {
                folders.push(path);
            }
        }
        let mut options = WalkOptions {
            max_folders: MAX_FOLDERS,
            ..WalkOptions::default()
        };
        if self.job.deep {
            options.max_depth = MAX_DEPTH;
        }
        let may_follow = |link: &Path| self.presenter.may_follow(link);
        let summary = walk_within(&folders, options, &may_follow, &|found| self.check(found));
        for notice in &summary.notices {
            if let ScanNotice::Unreadable { path, reason } = notice {
                self.unread(path, &ReadFault::Unreadable(reason.clone()));
            }
        }
        for (folder, &skills) in folders.iter().zip(&summary.by_root) {
            // If a part of the folder was skipped, it may contain a skill.
            let is_cut = |notice: &ScanNotice| match notice {
                ScanNotice::Unreadable { path, .. } | ScanNotice::TooDeep { path } => {
                    path.starts_with(folder)
                }
                ScanNotice::TooMany { root, .. } | ScanNotice::TooManyEntries { root, .. } => {
                    root.starts_with(folder)
                }
                ScanNotice::SeenBefore { .. }
                | ScanNotice::Reserved { .. }
                | ScanNotice::Outside { .. } => false,
            };
            let is_missing = skills == 0 && !self.presenter.may_be_empty(folder);
            if is_missing && !summary.notices.iter().any(is_cut) {
                self.unread(folder, &ReadFault::Missing);
            }
        }
        summary.notices
    }

    /// Reports a folder that is not a skill.
    fn unread(&self, path: &Path, fault: &ReadFault) {
        let package = PackageListing::default();
        let findings = check(&LintSubject::unread(&package, fault), &self.job.rules);
        self.lock().folders += usize::from(!findings.is_empty());
        self.record(path, self.presenter.path(path), None, findings);
    }

    fn check(&self, found: FoundSkill<'_>) {
        let path = self.presenter.path(found.path);
        match found.bytes {
            Err(fault) => {
                let findings = check(
                    &LintSubject::unread(found.package, &fault).at_path(&*path),
                    &self.job.rules,
                );
                self.keep(found.path, path, None, findings);
            }
            Ok(bytes) => {
                let parsed = parse(bytes);
                let mut findings = check(
                    &LintSubject::new(&parsed, found.package).at_path(&*path),
                    &self.job.rules,
                );
                let is_wanted = |finding: &Diagnostic| {
                    finding
                        .fix
                        .as_ref()
                        .is_some_and(|fix| fix.applicability >= self.job.least)
                };
                if self.job.action != ValidationAction::Report && findings.iter().any(is_wanted) {
                    self.mend(path, found.path, bytes, found.package, findings);
                } else {
                    fix::remove_inapplicable_fixes(
                        parsed.text,
                        found.package,
                        &self.job.rules,
                        &mut findings,
                    );
                    self.keep(found.path, path, Some(parsed.text), findings);
                }
            }
        }
        self.presenter.step();
    }

    /// Checks an agent file and the files that it names. Only the file itself is fixed.
    fn check_agents(&self, path: &Path, target: &AgentTarget) {
        self.lock().agent_files += 1;
        let read = match target.read() {
            Ok(read) => read,
            Err(fault) => return self.unread(path, &fault),
        };
        for report in AgentTarget::selected(&self.job.rules, read.reports) {
            let is_own = *report.path == *read.path;
            let file = if is_own {
                path.to_owned()
            } else {
                target.0.root.join(&report.path)
            };
            let fixed = (is_own && self.job.action != ValidationAction::Report)
                .then(|| target.fixed(self.job, &report))
                .flatten();
            self.finish_file(&file, report, fixed, &|text| {
                let left = target.read_text(text.as_bytes());
                let mut left = AgentTarget::selected(&self.job.rules, left).into_iter();
                left.find(|report| *report.path == *read.path)
            });
        }
        self.presenter.step();
    }

    /// Checks a mission file together with its project.
    fn check_mission(&self, path: &Path, target: &MissionTarget) {
        self.lock().agent_files += 1;
        let report = match target.read() {
            Ok(report) => report,
            Err(fault) => return self.unread(path, &fault),
        };
        if let Some(report) = report {
            let read = |text: &str| target.read_text(text);
            let fixed = (self.job.action != ValidationAction::Report)
                .then(|| agents::fixed(self.job, &report, &read))
                .flatten();
            self.finish_file(path, report, fixed, &read);
        }
        self.presenter.step();
    }

    /// Records the findings about a file, after writing it or showing the difference if it was fixed.
    fn finish_file(
        &self,
        file: &Path,
        report: FileReport,
        fixed: Option<(String, Vec<&'static str>)>,
        read: &dyn Fn(&str) -> Option<FileReport>,
    ) {
        let shown = self.presenter.path(file);
        let Some((text, rules)) = fixed else {
            let text = report.text.as_deref();
            return self.record(file, shown, text, report.diagnostics);
        };
        let mut fixed_file = FixedFile {
            file: file.to_owned(),
            path: shown.clone(),
            rules,
            diff: String::new(),
        };
        if self.job.action == ValidationAction::Diff {
            fixed_file.diff = diff::unified(&shown, report.text(), &text);
        } else if let Err(error) = replace::replace_file(
            file,
            &self.places,
            report.text().as_bytes(),
            text.as_bytes(),
        ) {
            self.lock().failures.push(error);
            let text = report.text.as_deref();
            return self.record(file, shown, text, report.diagnostics);
        }
        self.lock().fixed_files.push(fixed_file);
        if let Some(left) = read(&text) {
            let text = left.text.as_deref();
            self.record(file, shown, text, left.diagnostics);
        }
    }

    fn mend(
        &self,
        path: String,
        file: &Path,
        bytes: &[u8],
        package: &dyn PackageFacts,
        before: Vec<Diagnostic>,
    ) {
        let fixed = fix::fix_all(bytes, package, Some(&path), &self.job.rules, self.job.least);
        let (Some(fixed), Ok(text)) = (fixed, std::str::from_utf8(bytes)) else {
            return self.keep(file, path, None, before);
        };
        if fixed.text != text {
            let mut fixed_file = FixedFile {
                file: file.to_owned(),
                path: path.clone(),
                rules: fixed.applied,
                diff: String::new(),
            };
            if self.job.action == ValidationAction::Diff {
                fixed_file.diff = diff::unified(&path, text, &fixed.text);
            } else if let Err(error) =
                replace::replace_file(file, &self.places, bytes, fixed.text.as_bytes())
            {
                self.lock().failures.push(error);
                return self.keep(file, path, Some(text), before);
            }
            self.lock().fixed_files.push(fixed_file);
        }
        self.keep(file, path, Some(&fixed.text), fixed.remaining);
    }

    fn lock(&self) -> MutexGuard<'_, ValidationOutcome<S::Finding>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a skill and records its findings.
    fn keep(&self, file: &Path, path: String, text: Option<&str>, diagnostics: Vec<Diagnostic>) {
        self.lock().skills += 1;
        self.record(file, path, text, diagnostics);
    }

    /// Passes findings to the surface and drops the text.
    fn record(&self, file: &Path, path: String, text: Option<&str>, diagnostics: Vec<Diagnostic>) {
        if diagnostics.is_empty() {
            return;
        }
        let report = FileReport {
            path,
            text: text.map(Arc::from),
            diagnostics,
        };
        let lines = LineIndex::new(report.text());
        let counts = report.diagnostics.iter().collect();
        let finding = |diagnostic: &Diagnostic| RuleFinding {
            rule: diagnostic.rule,
            text: self.presenter.present(&report, &lines, diagnostic),
        };
        let findings = report.diagnostics.iter().map(finding).collect();
        self.lock().files.push(FileFindings {
            file: file.to_owned(),
            counts,
            findings,
        });
    }
}

#[cfg(test)]
mod tests {
    use prowess_lint::LintProfile;

    use super::*;

    const BROKEN: &str =
        "---\nname: pdf\ndescription: Fills forms. Use when: asked.\n---\nDo it.\n";

    /// Keeps only the names of rules. Folders called `empty` may be empty.
    struct Rules;

    impl Presenter for Rules {
        type Finding = &'static str;
        fn path(&self, path: &Path) -> String {
            path.display().to_string()
        }
        fn present(&self, _: &FileReport, _: &LineIndex, found: &Diagnostic) -> &'static str {
            found.rule
        }
        fn may_be_empty(&self, folder: &Path) -> bool {
            folder.ends_with("empty")
        }
    }

    fn job(action: ValidationAction) -> ValidationJob {
        let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
        ValidationJob {
            rules,
            action,
            least: Applicability::Safe,
            deep: true,
        }
    }

    fn found(outcome: &ValidationOutcome<&'static str>) -> Vec<&'static str> {
        outcome.findings().map(|finding| finding.text).collect()
    }

    #[test]
    fn only_fix_writes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pdf/SKILL.md");
        std::fs::create_dir(folder.path().join("pdf")).unwrap();
        std::fs::write(&file, BROKEN).unwrap();
        let paths = || vec![folder.path().to_owned()];
        let reported = run(&job(ValidationAction::Report), paths(), &Rules);
        assert_eq!(
            (found(&reported), reported.fixed()),
            (vec!["yaml-syntax"], 0)
        );
        let shown = run(&job(ValidationAction::Diff), paths(), &Rules);
        assert!(
            shown.fixed_files[0].diff.contains("+description: 'Fills"),
            "{}",
            shown.fixed_files[0].diff
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), BROKEN);
        let fixed = run(&job(ValidationAction::Fix), paths(), &Rules);
        assert_eq!((found(&fixed), fixed.fixed()), (vec![], 1));
        assert!(std::fs::read_to_string(&file).unwrap().contains("'Fills"));
    }

    #[test]
    fn folder_without_a_skill_is_a_finding_unless_it_may_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["empty", "bare"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::create_dir(path).unwrap();
        }
        let outcome = run(&job(ValidationAction::Report), paths.to_vec(), &Rules);
        assert_eq!(outcome.by_rule(), [("missing-file", 1, 1)]);
        assert_eq!((outcome.extent().skills, outcome.extent().folders), (0, 1));
    }

    #[test]
    fn bytes_that_are_not_text_are_never_fixed() {
        let fix = |bytes: &[u8]| match check_text(&job(ValidationAction::Fix), bytes, "-", &Rules) {
            TextOutcome::FixedFile { text, counts, .. } => (text, counts.total()),
            TextOutcome::Checked(_) => panic!("not fixed"),
        };
        assert!(
            fix(BROKEN.as_bytes())
                .0
                .is_some_and(|text| text.contains("'Fills"))
        );
        let (text, left) = fix(b"---\nname: \xff\n---\n");
        assert_eq!(text, None);
        assert!(left > 0);
    }
}
