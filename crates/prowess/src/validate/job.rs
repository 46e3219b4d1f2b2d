//! Reads, checks and mends.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_diag::render::diff;
use prowess_diag::{Applicability, Counts, Diagnostic, FileReport, LineIndex};
use prowess_lint::{RuleSet, Subject, check, fix};
use prowess_registry::replace;
use prowess_registry::{Found, Notice, WalkOptions, read_path, walk};
use prowess_spec::{Facts, Package, ReadFault, parse};

use crate::validate::outcome::{Checked, Mended, Outcome, Piece};

/// How many folders below a path are opened. Whoever names a path wants all of it checked.
const MAX_FOLDERS: usize = 2_000_000;

/// What is done about findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are reported.
    Report,
    /// They are mended, and what remains is reported.
    Fix,
    /// What mending would change is reported, and nothing is changed.
    Diff,
}

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Job {
    /// The rules in force.
    pub rules: RuleSet,
    /// What is done about findings.
    pub action: Action,
    /// How sure a fix must be to be applied.
    pub least: Applicability,
}

/// Who asked. It is called from several threads.
pub trait Surface: Sync {
    /// What it makes of a finding.
    type Piece: Send;

    /// Returns a path as it is shown.
    fn path(&self, path: &Path) -> String;

    /// Turns a finding into what is kept of it.
    fn piece(&self, report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic)
    -> Self::Piece;

    /// Whether a folder is no mistake when it holds no skill, such as `.agents/skills`.
    fn may_be_empty(&self, _folder: &Path) -> bool {
        false
    }

    /// One more skill is done.
    fn step(&self) {}
}

/// Checks every skill at or below the paths. The same paths give the same outcome in the same
/// order, whatever the threads do.
pub fn run<S: Surface>(job: &Job, paths: Vec<PathBuf>, surface: &S) -> Outcome<S::Piece> {
    let places = paths
        .iter()
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    let run = Run {
        job,
        surface,
        places,
        outcome: Mutex::default(),
    };
    let notices = run.walk(paths);
    let mut outcome = run
        .outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcome.files.sort_by(|a, b| a.file.cmp(&b.file));
    outcome.mended.sort_by(|a, b| a.file.cmp(&b.file));
    outcome.failures.sort_by_key(ToString::to_string);
    outcome.notices = notices;
    outcome
}

/// What became of a text that is not on disk.
#[derive(Debug)]
pub enum Text<P> {
    /// It was checked, or it is known what would change.
    Checked(Outcome<P>),
    /// It was mended.
    Mended {
        /// The text; nothing where the bytes are no text, which leaves them as they are.
        text: Option<String>,
        /// What remains.
        report: FileReport,
        /// How many findings of which kind remain.
        counts: Counts,
    },
}

/// Checks a text that is not on disk, such as standard input. `path` is how it is called.
pub fn check_text<S: Surface>(job: &Job, bytes: &[u8], path: &str, surface: &S) -> Text<S::Piece> {
    let package = Package::default();
    let parsed = parse(bytes);
    let mut findings = check(&Subject::new(&parsed, &package), &job.rules);
    if job.action == Action::Fix {
        let is_text = parsed.text.len() == bytes.len();
        let (text, diagnostics) = match fix::fix_all(bytes, &package, &job.rules, job.least) {
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
        return Text::Mended {
            text: is_text.then_some(text),
            report,
            counts,
        };
    }
    let run = Run {
        job,
        surface,
        places: Vec::new(),
        outcome: Mutex::default(),
    };
    if job.action == Action::Diff {
        run.mend(path.to_owned(), Path::new("-"), bytes, &package, findings);
    } else {
        fix::settle(parsed.text, &package, &job.rules, &mut findings);
        run.keep(Path::new("-"), path.to_owned(), Some(parsed.text), findings);
    }
    Text::Checked(
        run.outcome
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

/// Everything the threads share.
struct Run<'a, S: Surface> {
    job: &'a Job,
    surface: &'a S,
    /// The real places that were named: nothing outside them is written.
    places: Vec<PathBuf>,
    outcome: Mutex<Outcome<S::Piece>>,
}

impl<S: Surface> Run<'_, S> {
    fn walk(&self, paths: Vec<PathBuf>) -> Vec<Notice> {
        let mut folders = Vec::new();
        for path in paths {
            if !read_path(&path, &mut |found| self.check(found)) {
                folders.push(path);
            }
        }
        let options = WalkOptions {
            max_folders: MAX_FOLDERS,
            ..WalkOptions::default()
        };
        let summary = walk(&folders, options, &|found| self.check(found));
        for notice in &summary.notices {
            if let Notice::Unreadable { path, reason } = notice {
                self.unread(path, &ReadFault::Unreadable(reason.clone()));
            }
        }
        for (folder, &skills) in folders.iter().zip(&summary.by_root) {
            // Where something was left out, nobody knows that there is no skill.
            let is_cut = |notice: &Notice| match notice {
                Notice::Unreadable { path, .. } | Notice::TooDeep { path } => {
                    path.starts_with(folder)
                }
                Notice::TooMany { root, .. } => root.starts_with(folder),
                Notice::SeenBefore { .. } | Notice::Reserved { .. } => false,
            };
            let is_missing = skills == 0 && !self.surface.may_be_empty(folder);
            if is_missing && !summary.notices.iter().any(is_cut) {
                self.unread(folder, &ReadFault::Missing);
            }
        }
        summary.notices
    }

    /// Reports a folder that is not a skill.
    fn unread(&self, path: &Path, fault: &ReadFault) {
        let package = Package::default();
        let findings = check(&Subject::unread(&package, fault), &self.job.rules);
        self.lock().folders += usize::from(!findings.is_empty());
        self.record(path, self.surface.path(path), None, findings);
    }

    fn check(&self, found: Found<'_>) {
        let path = self.surface.path(found.path);
        match found.bytes {
            Err(fault) => {
                let findings = check(&Subject::unread(found.package, &fault), &self.job.rules);
                self.keep(found.path, path, None, findings);
            }
            Ok(bytes) => {
                let parsed = parse(bytes);
                let mut findings = check(&Subject::new(&parsed, found.package), &self.job.rules);
                let is_wanted = |finding: &Diagnostic| {
                    finding
                        .fix
                        .as_ref()
                        .is_some_and(|fix| fix.applicability >= self.job.least)
                };
                if self.job.action != Action::Report && findings.iter().any(is_wanted) {
                    self.mend(path, found.path, bytes, found.package, findings);
                } else {
                    fix::settle(parsed.text, found.package, &self.job.rules, &mut findings);
                    self.keep(found.path, path, Some(parsed.text), findings);
                }
            }
        }
        self.surface.step();
    }

    fn mend(
        &self,
        path: String,
        file: &Path,
        bytes: &[u8],
        package: &dyn Facts,
        before: Vec<Diagnostic>,
    ) {
        let fixed = fix::fix_all(bytes, package, &self.job.rules, self.job.least);
        let (Some(fixed), Ok(text)) = (fixed, std::str::from_utf8(bytes)) else {
            return self.keep(file, path, None, before);
        };
        if fixed.text != text {
            let mut mended = Mended {
                file: file.to_owned(),
                path: path.clone(),
                rules: fixed.applied,
                diff: String::new(),
            };
            if self.job.action == Action::Diff {
                mended.diff = diff::unified(&path, text, &fixed.text);
            } else if let Err(error) =
                replace::replace_file(file, &self.places, bytes, fixed.text.as_bytes())
            {
                self.lock().failures.push(error);
                return self.keep(file, path, Some(text), before);
            }
            self.lock().mended.push(mended);
        }
        self.keep(file, path, Some(&fixed.text), fixed.remaining);
    }

    fn lock(&self) -> MutexGuard<'_, Outcome<S::Piece>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a skill and records its findings.
    fn keep(&self, file: &Path, path: String, text: Option<&str>, diagnostics: Vec<Diagnostic>) {
        self.lock().skills += 1;
        self.record(file, path, text, diagnostics);
    }

    /// Hands findings to the surface and lets go of the text.
    fn record(
        &self,
        file: &Path,
        path: String,
        text: Option<&str>,
        mut diagnostics: Vec<Diagnostic>,
    ) {
        if diagnostics.is_empty() {
            return;
        }
        for finding in diagnostics
            .iter_mut()
            .filter(|finding| finding.rule == "file-name")
        {
            finding.help = Some(rename_help(&path).into());
        }
        let report = FileReport {
            path,
            text: text.map(Arc::from),
            diagnostics,
        };
        let lines = LineIndex::new(report.text());
        let counts = report.diagnostics.iter().collect();
        let piece = |diagnostic: &Diagnostic| Piece {
            rule: diagnostic.rule,
            text: self.surface.piece(&report, &lines, diagnostic),
        };
        let pieces = report.diagnostics.iter().map(piece).collect();
        self.lock().files.push(Checked {
            file: file.to_owned(),
            counts,
            pieces,
        });
    }
}

/// Returns the command that gives a file its canonical name. A rule sees the folder from inside; the
/// person types the command from outside.
fn rename_help(path: &str) -> String {
    let word = |path: &str| {
        let (home, rest) = path.split_at(if path.starts_with("~/") { 2 } else { 0 });
        let is_plain = rest
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-+@,".contains(c));
        let quoted = || format!("{home}'{}'", rest.replace('\'', r"'\''"));
        if is_plain { path.to_owned() } else { quoted() }
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let better = word(&format!("{}SKILL.md", &path[..path.len() - name.len()]));
    format!(
        "rename it: `mv {} {better}`; most clients look for the exact name",
        word(path)
    )
}

#[cfg(test)]
mod tests {
    use prowess_lint::Profile;

    use super::*;

    const BROKEN: &str =
        "---\nname: pdf\ndescription: Fills forms. Use when: asked.\n---\nDo it.\n";

    /// Keeps the names of rules; `empty` may be empty.
    struct Rules;

    impl Surface for Rules {
        type Piece = &'static str;
        fn path(&self, path: &Path) -> String {
            path.display().to_string()
        }
        fn piece(&self, _: &FileReport, _: &LineIndex, found: &Diagnostic) -> &'static str {
            found.rule
        }
        fn may_be_empty(&self, folder: &Path) -> bool {
            folder.ends_with("empty")
        }
    }

    fn job(action: Action) -> Job {
        let rules = RuleSet::new(Profile::ClaudeCode, None);
        Job {
            rules,
            action,
            least: Applicability::Safe,
        }
    }

    fn found(outcome: &Outcome<&'static str>) -> Vec<&'static str> {
        outcome.pieces().map(|piece| piece.text).collect()
    }

    #[test]
    fn a_command_to_type_has_the_path_as_findings_have_it() {
        for (path, command) in [
            (
                "skills/lower/skill.md",
                "mv skills/lower/skill.md skills/lower/SKILL.md",
            ),
            ("skill.md", "mv skill.md SKILL.md"),
            (
                "~/my skills/a/Skill.md",
                "mv ~/'my skills/a/Skill.md' ~/'my skills/a/SKILL.md'",
            ),
        ] {
            assert!(
                rename_help(path).contains(&format!("`{command}`")),
                "{path}"
            );
        }
    }

    #[test]
    fn only_fix_writes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pdf/SKILL.md");
        std::fs::create_dir(folder.path().join("pdf")).unwrap();
        std::fs::write(&file, BROKEN).unwrap();
        let paths = || vec![folder.path().to_owned()];
        let reported = run(&job(Action::Report), paths(), &Rules);
        assert_eq!(
            (found(&reported), reported.fixed()),
            (vec!["yaml-syntax"], 0)
        );
        let shown = run(&job(Action::Diff), paths(), &Rules);
        assert!(
            shown.mended[0].diff.contains("+description: 'Fills"),
            "{}",
            shown.mended[0].diff
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), BROKEN);
        let fixed = run(&job(Action::Fix), paths(), &Rules);
        assert_eq!((found(&fixed), fixed.fixed()), (vec![], 1));
        assert!(std::fs::read_to_string(&file).unwrap().contains("'Fills"));
    }

    #[test]
    fn a_folder_without_a_skill_is_a_finding_unless_it_may_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["empty", "bare"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::create_dir(path).unwrap();
        }
        let outcome = run(&job(Action::Report), paths.to_vec(), &Rules);
        assert_eq!(outcome.by_rule(), [("missing-file", 1, 1)]);
        assert_eq!((outcome.extent().skills, outcome.extent().folders), (0, 1));
    }

    #[test]
    fn bytes_that_are_no_text_are_never_mended() {
        let mended = |bytes: &[u8]| match check_text(&job(Action::Fix), bytes, "-", &Rules) {
            Text::Mended { text, counts, .. } => (text, counts.total()),
            Text::Checked(_) => panic!("mended"),
        };
        assert!(
            mended(BROKEN.as_bytes())
                .0
                .is_some_and(|text| text.contains("'Fills"))
        );
        let (text, left) = mended(b"---\nname: \xff\n---\n");
        assert_eq!(text, None);
        assert!(left > 0);
    }
}
