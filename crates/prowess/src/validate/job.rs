//! Reads, checks and fixes packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_catalog::skill::MAIN_FILES;
use prowess_diag::render::diff;
use prowess_diag::{Applicability, Diagnostic, FileReport, FindingCounts, LineIndex};
use prowess_flow::Dialect;
use prowess_flow::mission::MissionSettings;
use prowess_lint::{LintRuleSet, LintSubject, check, fix};
use prowess_registry::replace;
use prowess_registry::{
    FoundSkill, ScanNotice, Visit, WalkOptions, read_path, scan_skill, visit_all,
};
use prowess_scan::{ScanContent, ScanFile, ScanFinding, SkillScanner};
use prowess_spec::{PackageFacts, PackageListing, ReadFault, parse};

use crate::validate::agents::{self, AgentTarget, SkillNames};
use crate::validate::missions::MissionTarget;
use crate::validate::outcome::{FileFindings, FixedFile, RuleFinding, ValidationOutcome};

/// Maximum number of folders to open below a path. High, because a given path is checked
/// completely.
const MAX_FOLDERS: usize = 2_000_000;

/// Maximum depth of folders below a path that is checked completely. Each level keeps a folder
/// open.
pub(super) const MAX_DEPTH: usize = 128;

/// Maximum number of agent and mission files below the paths.
const MAX_AGENT_FILES: usize = 10_000;
/// Maximum number of files below the paths that may be such a file.
const MAX_CANDIDATES: usize = 100_000;

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
    /// The system whose agent files the paths are, if they are files. If `None`, their paths decide.
    pub dialect: Option<Dialect>,
    /// Also searches all files of each skill for text to read before trusting it.
    pub security: Option<SecurityScan>,
}

/// Settings of the search for text to read before trusting a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityScan {
    /// `true` to leave the rules about the specification, agent files and mission files out.
    pub only: bool,
    /// Rules to apply; all if empty.
    pub select: Vec<&'static str>,
    /// Rules to leave out.
    pub ignore: Vec<&'static str>,
}

impl SecurityScan {
    fn wants(&self, finding: &ScanFinding) -> bool {
        let rule = finding.diagnostic.rule;
        (self.select.is_empty() || self.select.contains(&rule)) && !self.ignore.contains(&rule)
    }
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

    /// Converts a finding of the search for text to read before trusting a skill.
    fn present_scan(
        &self,
        report: &FileReport,
        lines: &LineIndex,
        finding: &ScanFinding,
    ) -> Self::Finding {
        self.present(report, lines, &finding.diagnostic)
    }

    /// Returns `true` if a folder may contain no skill, such as `.agents/skills`.
    fn may_be_empty(&self, _folder: &Path) -> bool {
        false
    }

    /// Returns `true` if a link to a folder may be followed.
    fn may_follow(&self, _link: &Path) -> bool {
        true
    }

    /// Returns the MCP server that replaces a plugin of a mission.
    fn plugin_server(&self, _plugin: &str) -> Option<String> {
        None
    }

    /// Returns `true` if the user has an MCP server with a name.
    fn has_server(&self, _name: &str) -> bool {
        true
    }

    /// Returns the names of the skills that agents of missions may have besides those of their files.
    fn skill_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns all skills that agents of a project, at `root`, can name. `None` if they are not known.
    fn skills(&self, _root: &Path) -> Option<SkillNames> {
        None
    }

    /// Called after each skill.
    fn step(&self) {}
}

/// Checks every skill, agent file and mission file at or below the paths. The outcome is deterministic, including its order.
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
        named: Mutex::default(),
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
    let is_only = job.security.as_ref().is_some_and(|scan| scan.only);
    let mut findings = if is_only {
        Vec::new()
    } else {
        check(
            &LintSubject::new(&parsed, &package).at_path(path),
            &job.rules,
        )
    };
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
        named: Mutex::default(),
        outcome: Mutex::default(),
    };
    if job.action == ValidationAction::Diff {
        run.mend(path.to_owned(), Path::new("-"), bytes, &package, findings);
    } else {
        fix::remove_inapplicable_fixes(parsed.text, &package, &job.rules, &mut findings);
        run.keep(Path::new("-"), path.to_owned(), Some(parsed.text), findings);
        if job.security.is_some() {
            let file = ScanFile {
                path: "SKILL.md",
                content: ScanContent::of(bytes),
                executable: false,
                is_main: true,
            };
            let scan = SkillScanner::new(Some(&parsed)).file(&file);
            let text = String::from_utf8_lossy(bytes);
            run.record_scan(Path::new("-"), path.to_owned(), Some(&text), scan.findings);
        }
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
    /// Files with findings that agent files name.
    named: Mutex<BTreeSet<PathBuf>>,
    outcome: Mutex<ValidationOutcome<S::Finding>>,
}

impl<S: Presenter> Run<'_, S> {
    fn walk(&self, paths: Vec<PathBuf>) -> Vec<ScanNotice> {
        let mut folders = Vec::new();
        for path in paths {
            let agents = AgentTarget::new(&path, self.job.dialect);
            if let Some(target) = agents.filter(|_| !self.is_scan_only()) {
                self.check_agents(&path, target);
            } else if let Some(target) = MissionTarget::new(&path) {
                let report = self.with_mission_settings(|settings| target.read(None, settings));
                self.check_mission(&path, &target, report);
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
        let visitor = Visitor {
            run: self,
            files: Mutex::default(),
        };
        let mut summary = visit_all(&folders, options, &visitor);
        let files = visitor.files.into_inner();
        let files = files.map(|files| {
            if self.is_scan_only() {
                Vec::new()
            } else {
                files
            }
        });
        let by_root = self.check_files(&folders, files.unwrap_or_else(PoisonError::into_inner));
        summary.notices.extend(by_root.notices);
        for notice in &summary.notices {
            if let ScanNotice::Unreadable { path, reason } = notice {
                self.unread(path, &ReadFault::Unreadable(reason.clone()));
            }
        }
        let found = summary.by_root.iter().zip(&by_root.files);
        for (folder, (&skills, &files)) in folders.iter().zip(found) {
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
            let is_missing = skills == 0 && files == 0 && !self.presenter.may_be_empty(folder);
            if is_missing && !summary.notices.iter().any(is_cut) {
                self.unread(folder, &ReadFault::Missing);
            }
        }
        summary.notices
    }

    /// Checks the agent and mission files that a walk found, each once.
    fn check_files(&self, folders: &[PathBuf], mut found: Vec<(usize, PathBuf)>) -> WalkedFiles {
        let mut walked = WalkedFiles {
            files: vec![0; folders.len()],
            notices: Vec::new(),
        };
        let too_many = |root: usize, limit: usize| ScanNotice::TooManyEntries {
            root: folders.get(root).cloned().unwrap_or_default(),
            limit,
        };
        if let Some((root, _)) = found.get(MAX_CANDIDATES - 1) {
            walked.notices.push(too_many(*root, MAX_CANDIDATES));
        }
        found.sort_by(|(_, one), (_, other)| one.cmp(other));
        let mut seen = BTreeSet::new();
        let mut missions: BTreeMap<PathBuf, Vec<(PathBuf, MissionTarget)>> = BTreeMap::new();
        for (root, path) in found {
            // A link may lead to a file that was checked already.
            let Ok(real) = path.canonicalize() else {
                continue;
            };
            let agents = AgentTarget::new(&path, None);
            let mission = MissionTarget::new(&path).filter(MissionTarget::is_mission);
            if agents.is_none() && mission.is_none() || !seen.insert(real) {
                continue;
            }
            if seen.len() > MAX_AGENT_FILES {
                walked.notices.push(too_many(root, MAX_AGENT_FILES));
                break;
            }
            if let Some(files) = walked.files.get_mut(root) {
                *files += 1;
            }
            match (agents, mission) {
                (Some(target), _) => self.check_agents(&path, target),
                (None, Some(target)) => {
                    let project: &mut Vec<_> = missions.entry(target.root.clone()).or_default();
                    project.push((path, target));
                }
                (None, None) => {}
            }
        }
        // A project is read once for all its files.
        for (root, targets) in missions {
            let reports =
                self.with_mission_settings(|settings| MissionTarget::read_all(&root, settings));
            for (path, target) in targets {
                let report = reports.as_ref().map(|reports| target.own(reports));
                self.check_mission(&path, &target, report.map_err(Clone::clone));
            }
        }
        walked
    }

    /// Reports a folder that is not a skill.
    fn unread(&self, path: &Path, fault: &ReadFault) {
        let package = PackageListing::default();
        let findings = check(&LintSubject::unread(&package, fault), &self.job.rules);
        self.lock().folders += usize::from(!findings.is_empty());
        self.record(path, self.presenter.path(path), None, findings);
    }

    /// Returns `true` if only the search for text to read is wanted.
    fn is_scan_only(&self) -> bool {
        self.job.security.as_ref().is_some_and(|scan| scan.only)
    }

    /// Searches all files of a skill. `path` is its text.
    fn scan(&self, path: &Path) {
        let is_folder = path
            .file_name()
            .is_some_and(|name| MAIN_FILES.iter().any(|known| name == *known));
        let folder = path.parent().unwrap_or(path);
        let target = if is_folder { folder } else { path };
        match scan_skill(target) {
            Ok(scan) => {
                for file in scan.files {
                    let full = folder.join(&file.path);
                    let shown = self.presenter.path(&full);
                    self.record_scan(&full, shown, file.text.as_deref(), file.findings);
                }
                let mut outcome = self.lock();
                outcome.searched += scan.searched;
                let unsearched = scan.incomplete.iter();
                outcome
                    .unsearched
                    .extend(unsearched.map(|name| folder.join(name)));
            }
            Err(_) => self.lock().unsearched.push(target.to_owned()),
        }
    }

    /// Passes findings of the search to the surface and drops the text.
    fn record_scan(
        &self,
        file: &Path,
        path: String,
        text: Option<&str>,
        mut findings: Vec<ScanFinding>,
    ) {
        let wants = |finding: &ScanFinding| {
            let scan = self.job.security.as_ref();
            scan.is_some_and(|scan| scan.wants(finding))
        };
        findings.retain(wants);
        // One fault gives one finding: the linter reports these characters with a fix.
        let known = |rule: &str| {
            let outcome = self.lock();
            let mut same = outcome
                .files
                .iter()
                .rev()
                .filter(|known| known.file == file);
            same.any(|known| known.findings.iter().any(|finding| finding.rule == rule))
        };
        findings.retain(|finding| match finding.diagnostic.rule {
            "bidi-override" => !known("bidi-characters"),
            "zero-width" => !known("invisible-characters"),
            _ => true,
        });
        if findings.is_empty() {
            return;
        }
        let report = FileReport {
            path,
            text: text.map(Arc::from),
            diagnostics: Vec::new(),
        };
        let lines = LineIndex::new(report.text());
        let counts = findings.iter().map(|finding| &finding.diagnostic).collect();
        let finding = |finding: &ScanFinding| RuleFinding {
            rule: finding.diagnostic.rule,
            place: Some(finding.place),
            text: self.presenter.present_scan(&report, &lines, finding),
        };
        let findings = findings.iter().map(finding).collect();
        let mut outcome = self.lock();
        // The lint findings of the same file come first.
        let known = outcome
            .files
            .iter_mut()
            .rev()
            .find(|known| known.file == file);
        match known {
            Some(known) => {
                known.counts.merge(counts);
                known.findings.extend(findings);
            }
            None => outcome.files.push(FileFindings {
                file: file.to_owned(),
                counts,
                findings,
            }),
        }
    }

    fn check(&self, found: FoundSkill<'_>) {
        let path = self.presenter.path(found.path);
        let file = found.path;
        match found.bytes {
            Ok(_) if self.is_scan_only() => self.lock().skills += 1,
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
        if self.job.security.is_some() && self.job.action != ValidationAction::Diff {
            self.scan(file);
        }
        self.presenter.step();
    }

    /// Checks an agent file and the files that it names. Only the file itself is fixed.
    fn check_agents(&self, path: &Path, mut target: AgentTarget) {
        self.lock().agent_files += 1;
        let read = match target.read_with(|root| self.presenter.skills(root)) {
            Ok(read) => read,
            Err(fault) => return self.unread(path, &fault),
        };
        for report in AgentTarget::selected(&self.job.rules, read.reports) {
            let is_own = *report.path == *read.path;
            let file = if is_own {
                path.to_owned()
            } else {
                let file = target.root.join(&report.path);
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                // Several agent files may name it.
                if !named.insert(file.clone()) {
                    continue;
                }
                drop(named);
                self.lock().agent_files += 1;
                file
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

    /// Calls `work` with what is known outside of mission files.
    fn with_mission_settings<T>(&self, work: impl FnOnce(&MissionSettings<'_>) -> T) -> T {
        let plugin = |name: &str| self.presenter.plugin_server(name);
        let has_server = |name: &str| self.presenter.has_server(name);
        let library = || self.presenter.skill_names();
        work(&MissionSettings {
            plugin: &plugin,
            has_server: &has_server,
            library: &library,
            ..MissionSettings::default()
        })
    }

    /// Records the findings about a mission file, which was checked together with its project.
    fn check_mission(
        &self,
        path: &Path,
        target: &MissionTarget,
        report: Result<Option<FileReport>, ReadFault>,
    ) {
        self.lock().agent_files += 1;
        let selected = |report: Option<FileReport>| {
            let reports = report.into_iter().collect();
            let selected = AgentTarget::selected(&self.job.rules, reports);
            selected.into_iter().next()
        };
        let report = match report {
            Ok(report) => selected(report),
            Err(fault) => return self.unread(path, &fault),
        };
        if let Some(report) = report {
            let read = |text: &str| {
                let read = self.with_mission_settings(|settings| target.read(Some(text), settings));
                selected(read.ok().flatten())
            };
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
            place: None,
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

/// The agent and mission files of a walk.
struct WalkedFiles {
    /// Number of files below each root.
    files: Vec<usize>,
    notices: Vec<ScanNotice>,
}

/// Receives what a walk finds. Skills are checked at once.
struct Visitor<'r, 'a, S: Presenter> {
    run: &'r Run<'a, S>,
    /// Files that may be agent or mission files, with the index of their root.
    files: Mutex<Vec<(usize, PathBuf)>>,
}

impl<S: Presenter> Visit for Visitor<'_, '_, S> {
    fn may_follow(&self, _root: usize, link: &Path) -> bool {
        self.run.presenter.may_follow(link)
    }

    /// Only in folders that were named: the folders of visible skills contain skills.
    fn wants_file(&self, name: &[u8]) -> bool {
        self.run.job.deep && AgentTarget::may_be(name)
    }

    fn file(&self, root: usize, path: PathBuf) {
        let text = path.to_str();
        let is_wanted = text.is_some_and(|text| {
            let absolute = std::path::absolute(&path).ok();
            let text = absolute.as_deref().and_then(Path::to_str).unwrap_or(text);
            let is_hcl = path.extension().is_some_and(|ending| ending == "hcl");
            Dialect::of(text).is_some() || is_hcl
        });
        if is_wanted {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            if files.len() < MAX_CANDIDATES {
                files.push((root, path));
            }
        }
    }

    fn visit(&self, found: FoundSkill<'_>) {
        self.run.check(found);
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
            dialect: None,
            security: None,
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
