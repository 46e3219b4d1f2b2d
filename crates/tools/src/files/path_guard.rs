//! Resolves paths and checks whether the agent may access them.
//!
//! A path is resolved once, including links. The gate checks the resolved path; rules about the
//! path as written also apply if they are stricter. The file is then opened without following links
//! (`open_file.rs`), so it is exactly the file that was checked.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::{AgentPermissions, Loaded, ToolContext, ToolError, ToolErrorKind};
use prowess_catalog::{CatalogEntry, SkillForm};
use prowess_diag::sanitize;
use prowess_diag::wording::{shorten, tick};
use prowess_policy::path_pattern::absolute;
use prowess_policy::profile::{
    GIT_EXECUTED, GIT_HEAD, GIT_STORES, is_home_setting, plain_spelling, runs_later,
    within_in_any_spelling,
};
use prowess_policy::{
    Actor, Decision, Effect, GateAction, GrantScope, Lifetime, NamedRole, PermissionGrant,
    PermissionRule, Profile, Verdict,
};
use prowess_traits::ApprovalRequest;

use crate::skill_access::judge_file;

/// Maximum length of a path in bytes: the limit of the system.
pub(crate) const MAX_PATH: usize = 4096;
/// Maximum number of characters of a path in a message.
const MAX_SHOWN: usize = 300;
/// Kernel file systems: memory, settings, the environment of processes.
const KERNEL: &[&str] = &["/proc", "/sys"];

/// Kind of access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    Read,
    Write,
}

impl FileAction {
    /// Returns the beginning of a message about the access.
    fn of(self, resolved: &ResolvedPath) -> String {
        match self {
            Self::Read => format!("Reading {}", resolved.told()),
            Self::Write => format!("Writing {}", resolved.told()),
        }
    }
}

/// The relevant folders, with links resolved.
#[derive(Debug)]
pub(crate) struct PathGuard<'w> {
    context: &'w ToolContext,
    /// The project root.
    pub(crate) workspace: PathBuf,
    /// Resolved folders, with the path that the gate uses for them.
    spellings: Vec<(PathBuf, PathBuf)>,
    /// Paths that are neither read nor written: private keys and our own folders.
    hidden: Vec<PathBuf>,
    /// Folders outside the project that are read without a prompt: loaded skills.
    free: Vec<PathBuf>,
    /// The folder with the long output of this session, whose files are read without a prompt. It is
    /// not listed: the session knows the files.
    outputs: Option<PathBuf>,
    /// Repositories in the folders of loaded skills, which are not part of them.
    sealed: Vec<PathBuf>,
    /// Resolved folders and files of skills, if there are rules about skills.
    skills: Vec<(PathBuf, CatalogEntry)>,
    /// The loaded skills, whose restrictions apply.
    loaded: Loaded,
}

/// A resolved path.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The real path, without links. Missing components are kept as written.
    pub(crate) real: PathBuf,
    /// Number of trailing components that do not exist.
    pub(crate) missing: usize,
    /// Type of the file, if it exists.
    pub(crate) kind: Option<FileType>,
    /// The absolute path as written.
    written: String,
    /// Path for display: relative to the project root if it is inside.
    pub(crate) name: String,
}

impl<'w> PathGuard<'w> {
    pub(crate) fn new(context: &'w ToolContext, loaded: &Loaded) -> Self {
        let places = &context.settings.paths;
        let workspace = settled(&places.workspace);
        let (root, home) = {
            let gate = context.gate();
            (
                PathBuf::from(&*gate.places.root),
                PathBuf::from(&*gate.places.home),
            )
        };
        let spellings = [root, home]
            .map(|spelled| (settled(&spelled), spelled))
            .into();
        let profile = context.profile(context.acting.as_ref().map(|skill| &skill.trust));
        let real = |paths: Vec<PathBuf>| paths.iter().map(|path| settled(path)).collect::<Vec<_>>();
        let free = real(skill_folders(context, loaded));
        let others = free.iter().filter(|folder| **folder != workspace);
        let sealed = others.filter_map(|folder| prowess_registry::digest::repository_of(folder));
        let sealed = sealed.collect();
        Self {
            context,
            workspace,
            spellings,
            hidden: real(profile.hidden),
            free,
            outputs: context.session_outputs().as_deref().map(settled),
            sealed,
            skills: ruled_skills(context),
            loaded: loaded.clone(),
        }
    }

    /// Returns the decision about a file that belongs to a skill, and the name of the skill, if the
    /// rules about that skill restrict reading it.
    fn judge_skill(&self, real: &Path) -> Option<(&str, Decision)> {
        let restricts = |(place, entry): &(PathBuf, CatalogEntry)| {
            let inner = real.strip_prefix(place).ok()?;
            if self.workspace.starts_with(place) && entry.skill.form == SkillForm::Folder {
                return None;
            }
            let inner = match entry.skill.form {
                SkillForm::Folder => inner.to_string_lossy().into_owned(),
                _ => "SKILL.md".to_owned(),
            };
            judge_file(self.context, &self.loaded, entry, &inner)
        };
        self.skills
            .iter()
            .find_map(|skill| Some((skill.1.name(), restricts(skill)?)))
    }

    /// Returns the reason why a file must not be written, if it decides what is executed later or
    /// belongs to a skill. Commands in the sandbox cannot write it either. Outside the folders that
    /// commands may write, the name alone decides: any folder may be a project or a home folder.
    fn protection(&self, real: &Path) -> Option<Cow<'static, str>> {
        let acting = self.context.acting.as_ref();
        let mut profile = self.context.profile(acting.map(|skill| &skill.trust));
        let all_settled = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().map(|path| settled(path)).collect()
        };
        // A profile that may write contains them already.
        if profile.writable.is_empty() {
            profile.protected.extend(self.context.skill_places());
        }
        let is_known = within_closed(real, &all_settled(&profile.protected))
            || self.is_named_elsewhere(real, &profile);
        // A host may have no home folder.
        profile.protected.retain(|path| path.is_absolute());
        profile.hidden.retain(|path| path.is_absolute());
        // The file tools may write in the project even if commands may not.
        if !profile.writable.contains(&self.workspace) {
            profile.writable.push(self.workspace.clone());
        }
        let is_protected = if is_known {
            true
        } else if !within(real, &all_settled(&profile.writable)) {
            runs_later(real, &settled(&self.context.settings.paths.home))
        } else {
            match prowess_sandbox::protected_paths(&profile) {
                Ok(found) => within_closed(real, &found) || self.is_setting_of_home(real, &profile),
                Err(error) => return Some(error.to_string().into()),
            }
        };
        is_protected.then(|| {
            "it belongs to a skill or can cause code to run later; only the user may change it"
                .into()
        })
    }

    /// Returns `true` if a variable of the user names a file, or a folder around it that is not around
    /// the project.
    fn is_named_elsewhere(&self, real: &Path, profile: &Profile) -> bool {
        let mut named = profile.named.iter();
        named.any(|named| {
            let place = settled(&named.path);
            match named.role {
                NamedRole::Programs => {
                    let folder = real.parent().unwrap_or(real);
                    plain_spelling(folder) == plain_spelling(&place) && place != self.workspace
                }
                NamedRole::Settings | NamedRole::Data => {
                    within_in_any_spelling(real, &place) && !self.workspace.starts_with(&place)
                }
                NamedRole::Code => false,
            }
        })
    }

    /// Returns `true` if a file is below a name in the home folder that begins with a dot, unless the
    /// user named a folder there.
    fn is_setting_of_home(&self, real: &Path, profile: &Profile) -> bool {
        let home = settled(&self.context.settings.paths.home);
        let is_named = |folder: &PathBuf| {
            let folder = settled(folder);
            real.starts_with(&folder) && is_home_setting(&folder, &home)
        };
        is_home_setting(real, &home) && !profile.writable.iter().any(is_named)
    }

    /// Returns `true` if a file is in a folder that is searched for skills, whether or not the folder
    /// exists: a new skill there could be used at once. If the project itself is such a folder, only
    /// the files that make a skill count.
    fn is_searched(&self, real: &Path) -> bool {
        let makes_skill = real
            .file_name()
            .is_some_and(|name| within_in_any_spelling(name.as_ref(), Path::new("SKILL.md")));
        let edits_project = real.parent() == Some(&*self.workspace) && real.exists();
        let roots = self.context.services.registry.searched_folders();
        roots.iter().map(|root| settled(&root.path)).any(|root| {
            let is_around = self.workspace.starts_with(&root);
            within_in_any_spelling(real, &root) && (!is_around || makes_skill && !edits_project)
        })
    }

    /// Resolves a path. Relative paths start at the project root, `~/` at the home folder.
    pub(crate) fn resolve(&self, raw: &str) -> Result<ResolvedPath, ToolError> {
        let wrong = |why: &str| {
            ToolError::new(
                ToolErrorKind::Input,
                format!("{} is not a valid path: {why}.", tick(shown(raw))),
            )
        };
        if raw.is_empty() || raw.len() > MAX_PATH || raw.contains('\0') {
            return Err(wrong("it is empty, too long or contains a NUL character"));
        }
        let places = &self.context.settings.paths;
        let path = match raw.strip_prefix('~') {
            Some("") => places.home.clone(),
            Some(rest) if rest.starts_with('/') => places.home.join(rest.trim_start_matches('/')),
            _ => self.workspace.join(raw),
        };
        let (real, missing) = settle(&path).map_err(|fault| match fault {
            Unsettled::Dangling => wrong("it contains a broken link"),
            Unsettled::Climbs => wrong("`..` follows a folder that does not exist"),
            Unsettled::Misspelled => wrong("a file or folder in it has another name on disk"),
            Unsettled::System(error) => ToolError::new(
                ToolErrorKind::NoFile,
                format!("Cannot access {}: {error}.", tick(shown(raw))),
            ),
        })?;
        if real.to_str().is_none() {
            return Err(wrong(
                "it resolves to a name that is not UTF-8, which no rule can match",
            ));
        }
        let kind = if missing == 0 {
            std::fs::symlink_metadata(&real)
                .ok()
                .map(|found| found.file_type())
        } else {
            None
        };
        let workspace = self.workspace.to_string_lossy();
        let written = absolute(raw, &workspace, &places.home.to_string_lossy());
        let name = self.name(&real);
        Ok(ResolvedPath {
            real,
            missing,
            kind,
            written,
            name,
        })
    }

    /// Returns a path for display: relative to the project root if it is inside.
    pub(crate) fn name(&self, real: &Path) -> String {
        match real.strip_prefix(&self.workspace) {
            Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
            Ok(inner) => inner.to_string_lossy().into_owned(),
            Err(_) => real.to_string_lossy().into_owned(),
        }
    }

    /// Returns `true` if a path is inside the project.
    pub(crate) fn is_inside(&self, real: &Path) -> bool {
        real.starts_with(&self.workspace)
    }

    /// Returns the files and folders that are never read.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Returns the decision of the gate about a resolved path.
    pub(crate) fn judge(
        &self,
        judging: &AgentPermissions<'_>,
        action: FileAction,
        real: &Path,
    ) -> Decision {
        let decision = self.judge_path(judging, action, real);
        match self.judge_skill(real) {
            Some((_, skill)) if action == FileAction::Read && skill.verdict > decision.verdict => {
                skill
            }
            _ => decision,
        }
    }

    /// Returns the strictest decision of the deny and ask rules about reading a file, whatever a
    /// skill may read without a prompt.
    pub(crate) fn judge_rules(&self, resolved: &ResolvedPath) -> Option<Decision> {
        let restrictions = self.loaded.restrictions();
        let actor = Actor::default().within(&restrictions);
        let real = resolved.real.to_string_lossy().into_owned();
        let paths = [real, self.spelled(&resolved.real), resolved.written.clone()];
        let gate = self.context.gate();
        let decide = |path: &String| gate.decide(&GateAction::Read { path }, &actor);
        let decisions = paths.iter().map(decide);
        decisions
            .filter(|decision| decision.rule.is_some() && decision.verdict != Verdict::Allow)
            .max_by_key(|decision| decision.verdict)
    }

    /// Returns the decision of the rules about files.
    fn judge_path(
        &self,
        judging: &AgentPermissions<'_>,
        action: FileAction,
        real: &Path,
    ) -> Decision {
        let plain = real.to_string_lossy();
        let spelled = self.spelled(real);
        let decision = judge(judging, action, &spelled);
        if *spelled == *plain {
            return decision;
        }
        stricter(decision, judge(judging, action, &plain))
    }

    /// Returns `true` if a path outside the project is read without a prompt.
    fn is_free(&self, real: &Path) -> bool {
        let is_output = self.outputs.is_some() && real.parent() == self.outputs.as_deref();
        is_output || within(real, &self.free)
    }

    /// Returns the reason why an access is never allowed.
    fn barred(&self, action: FileAction, resolved: &ResolvedPath) -> Option<Cow<'static, str>> {
        let below = |folders: &[PathBuf]| within_closed(&resolved.real, folders);
        if is_kernel(&resolved.real) {
            return Some("it is a kernel file".into());
        }
        if action == FileAction::Read && below(&self.sealed) {
            return Some("the repository of a skill is not part of it".into());
        }
        let is_free = self.is_free(&resolved.real);
        if below(&self.hidden) && !(action == FileAction::Read && is_free) {
            return Some("private keys and Prowess' own folders are not accessible".into());
        }
        let special = resolved
            .kind
            .filter(|kind| !kind.is_file() && !kind.is_dir());
        if let Some(kind) = special {
            return Some(describe(kind).into());
        }
        if action == FileAction::Write {
            let is_git =
                |part: Component<'_>| within_in_any_spelling(part.as_ref(), Path::new(".git"));
            if resolved.real.components().any(is_git) {
                return Some("files in `.git` can cause code to run later".into());
            }
            if makes_git_folder(&resolved.real) {
                return Some(
                    "it would make its folder a git folder, which can cause code to run later"
                        .into(),
                );
            }
            if self.is_searched(&resolved.real) {
                return Some(
                    "this folder is searched for skills; only the user may change it".into(),
                );
            }
            return self.protection(&resolved.real);
        }
        None
    }

    /// Refuses accesses that are never allowed, whatever the rules and the mode.
    pub(crate) fn bar(&self, action: FileAction, resolved: &ResolvedPath) -> Result<(), ToolError> {
        match self.barred(action, resolved) {
            Some(why) => Err(refusal(action, resolved, &why)),
            None => Ok(()),
        }
    }

    /// Asks the gate, and the user if needed. `long` describes the action for the prompt; if it
    /// fails, there is no prompt.
    pub(crate) fn permit(
        &self,
        loaded: &Loaded,
        action: FileAction,
        resolved: &ResolvedPath,
        long: impl FnOnce() -> Result<String, ToolError>,
    ) -> Result<(), ToolError> {
        let what = action.of(resolved);
        if let Some(why) = self.barred(action, resolved) {
            let decision = Decision::new(Verdict::Deny, &*why);
            // The access is refused whether or not the decision can be recorded.
            let _ = self.context.note(&what, &decision, None, None);
            return Err(refusal(action, resolved, &why));
        }
        if action == FileAction::Read
            && let Some((skill, decision)) = self.judge_skill(&resolved.real)
        {
            let question = ApprovalRequest {
                what: &what,
                decision: &decision,
                skill: Some(skill),
                action: None,
                note: None,
            };
            self.context
                .settle(&question)
                .map_err(|decision| ToolError::denied(&what, &decision))?;
        }
        let judging = self.context.judging(loaded);
        let mut path = self.spelled(&resolved.real);
        let mut decision = self.judge_path(&judging, action, &resolved.real);
        if resolved.written != path {
            let other = judge(&judging, action, &resolved.written);
            if other.verdict > decision.verdict && other.rule.is_some() {
                (path, decision) = (resolved.written.clone(), other);
            }
        }
        let free =
            action == FileAction::Read && self.is_free(&resolved.real) && decision.rule.is_none();
        match decision.verdict {
            // Reading and writing inside the project needs no rule, and no record.
            Verdict::Allow if decision.rule.is_none() => Ok(()),
            _ if free => Ok(()),
            Verdict::Deny => {
                let _ = self.context.note(&what, &decision, None, None);
                Err(ToolError::denied(&what, &decision))
            }
            Verdict::Allow | Verdict::Ask => {
                self.context
                    .permit(loaded, &gate_action(action, &path), &what, &long()?)
            }
        }
    }

    /// Returns the decision about a file for which trust in mission files is the permission: rules
    /// about files and skills, and mode `plan`. No other rule is needed.
    fn judge_given(&self, action: FileAction, resolved: &ResolvedPath) -> Decision {
        let mut gate = self.context.gate().clone();
        let tool = match action {
            FileAction::Read => "Read",
            FileAction::Write => "Write",
        };
        if let Ok(rule) = PermissionRule::parse(tool, Effect::Allow) {
            gate.grants.push(PermissionGrant {
                what: GrantScope::Rule(rule),
                lifetime: Lifetime::Session,
                skill: None,
                who: None,
            });
        }
        let restrictions = self.loaded.restrictions();
        let actor = Actor::default().within(&restrictions);
        let real = resolved.real.to_string_lossy().into_owned();
        let mut paths = vec![self.spelled(&resolved.real), real, resolved.written.clone()];
        paths.dedup();
        let decide = |path: &String| gate.decide(&gate_action(action, path), &actor);
        let mut decisions = paths.iter().map(decide);
        let first = decisions.next();
        let first = first.unwrap_or_else(|| Decision::new(Verdict::Deny, "it has no path"));
        let rules = decisions.fold(first, stricter);
        let decision = match rules.verdict {
            Verdict::Allow => Decision::new(Verdict::Allow, "the mission files are trusted"),
            Verdict::Ask | Verdict::Deny => rules,
        };
        match self.judge_skill(&resolved.real) {
            Some((_, skill)) if action == FileAction::Read && skill.verdict > decision.verdict => {
                skill
            }
            _ => decision,
        }
    }

    /// Returns `true` if a file for which trust is the permission can be used without a prompt.
    pub(crate) fn is_given(&self, action: FileAction, resolved: &ResolvedPath) -> bool {
        self.judge_given(action, resolved).verdict == Verdict::Allow
    }

    /// Applies the rules to a file for which trust in mission files is the permission, and prompts if
    /// a rule requires it. Writing is recorded; `verb` begins the record.
    pub(crate) fn permit_given(
        &self,
        action: FileAction,
        resolved: &ResolvedPath,
        verb: &str,
    ) -> Result<(), ToolError> {
        let decision = self.judge_given(action, resolved);
        if action == FileAction::Read && decision.verdict == Verdict::Allow {
            return Ok(());
        }
        let what = format!("{verb} {}", resolved.told());
        let path = self.spelled(&resolved.real);
        let question = ApprovalRequest {
            what: &what,
            decision: &decision,
            skill: None,
            action: Some(&gate_action(action, &path)),
            note: None,
        };
        self.context
            .settle(&question)
            .map_err(|decision| ToolError::denied(&what, &decision))
    }

    /// Returns the path that the gate uses for a real path: its folders may be reached through
    /// links.
    fn spelled(&self, real: &Path) -> String {
        let translated = self.spellings.iter().find_map(|(folder, spelled)| {
            let inner = real.strip_prefix(folder).ok()?;
            Some(if inner.as_os_str().is_empty() {
                spelled.clone()
            } else {
                spelled.join(inner)
            })
        });
        translated
            .as_deref()
            .unwrap_or(real)
            .to_string_lossy()
            .into_owned()
    }
}

impl ResolvedPath {
    /// Returns the whole path for a prompt, with the target if it is a link.
    pub(crate) fn told(&self) -> String {
        let real = self.real.to_string_lossy();
        if self.written == real {
            return tick(sanitize::line(&self.name));
        }
        format!(
            "{} (link to {})",
            tick(sanitize::line(&self.written)),
            tick(sanitize::line(&real))
        )
    }

    /// Returns the path of a file below this folder, in which no part is a link.
    pub(crate) fn below(&self, inner: &str) -> Self {
        Self {
            real: self.real.join(inner),
            missing: 0,
            kind: None,
            written: format!("{}/{inner}", self.written.trim_end_matches('/')),
            name: format!("{}/{inner}", self.name),
        }
    }

    /// Returns the absolute path as it was written.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Returns the last component.
    pub(crate) fn last(&self) -> &OsStr {
        self.real.file_name().unwrap_or_default()
    }
}

/// Returns the folders of the loaded skills and of the acting one. A package that changed since it
/// was loaded is left out: its files are not those of the lockfile.
pub(crate) fn skill_folders(context: &ToolContext, loaded: &Loaded) -> Vec<PathBuf> {
    let skills = loaded.snapshots().chain(&context.acting);
    skills
        .filter(|skill| skill.skill.form == SkillForm::Folder)
        .filter(|skill| skill.trust.package.is_none() || skill.is_same(&context.services.registry))
        .filter_map(|skill| skill.folder())
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Returns `true` for a file with which git would take a folder without a repository for a git
/// folder, or for a part of such a folder that decides what git executes.
fn makes_git_folder(real: &Path) -> bool {
    // A path that cannot be inspected may exist, but is not a reason to allow something.
    let exists = |path: PathBuf| path.symlink_metadata().is_ok();
    let may_exist = |path: PathBuf| {
        let is_absent = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
        let facts = path.symlink_metadata();
        facts.map_or_else(|error| !is_absent(error.kind()), |_| true)
    };
    let parts: Vec<&OsStr> = real.components().map(Component::as_os_str).collect();
    real.ancestors().skip(1).any(|folder| {
        let Some(part) = parts.get(folder.components().count()) else {
            return false;
        };
        let is = |name: &str| within_in_any_spelling(part.as_ref(), Path::new(name));
        let is_head = is(GIT_HEAD);
        let is_part = GIT_STORES.iter().chain(GIT_EXECUTED).any(|name| is(name));
        if !is_head && !is_part {
            return false;
        }
        // Git looks for `.git` first.
        let pointer = folder.join(".git");
        let has_repository = pointer.is_file() || exists(pointer.join(GIT_HEAD));
        !has_repository && (is_head || may_exist(folder.join(GIT_HEAD)))
    })
}

/// Returns the places of all skills, with links resolved, if there are rules about skills.
fn ruled_skills(context: &ToolContext) -> Vec<(PathBuf, CatalogEntry)> {
    if !context.gate().has_skill_rules() {
        return Vec::new();
    }
    let catalog = context.services.registry.snapshot();
    let place = |entry: &CatalogEntry| entry.skill.path().as_deref().map(settled);
    let entries = catalog.entries().into_iter();
    entries
        .filter_map(|entry| Some((place(entry)?, entry.clone())))
        .collect()
}

fn refusal(action: FileAction, resolved: &ResolvedPath, why: &str) -> ToolError {
    let text = format!("{} was refused: {why}.", action.of(resolved));
    ToolError::new(ToolErrorKind::Denied, text)
}

/// Returns `true` if a folder contains `path` or is `path`, in any spelling: for what is closed.
fn within_closed(path: &Path, folders: &[PathBuf]) -> bool {
    let path = plain_spelling(path);
    let mut folders = folders.iter();
    folders.any(|folder| path.starts_with(plain_spelling(folder)))
}

/// Returns `true` if a folder contains `path` or is `path`: for what is open.
fn within(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns `true` if a path is in a kernel file system.
pub(crate) fn is_kernel(real: &Path) -> bool {
    KERNEL.iter().any(|folder| real.starts_with(folder))
}

/// Formats a path for a message: one line, no hidden characters, limited length.
pub(crate) fn shown(path: &str) -> String {
    shorten(&sanitize::line(path), MAX_SHOWN)
}

fn gate_action(action: FileAction, path: &str) -> GateAction<'_> {
    match action {
        FileAction::Read => GateAction::Read { path },
        FileAction::Write => GateAction::Write { path },
    }
}

fn judge(judging: &AgentPermissions<'_>, action: FileAction, path: &str) -> Decision {
    judging.judge(&gate_action(action, path))
}

/// Returns the decision about another spelling of the same path if it comes from a rule and is
/// stricter.
fn stricter(decision: Decision, other: Decision) -> Decision {
    if other.verdict > decision.verdict && other.rule.is_some() {
        other
    } else {
        decision
    }
}

fn describe(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "it is a FIFO, not a file"
    } else if kind.is_socket() {
        "it is a socket, not a file"
    } else if kind.is_char_device() || kind.is_block_device() {
        "it is a device, not a file"
    } else {
        "it is not a regular file"
    }
}

/// Error from resolving a path.
enum Unsettled {
    Dangling,
    Climbs,
    Misspelled,
    System(std::io::Error),
}

/// Returns the real path. If the end of the path does not exist, returns the real path of the
/// existing part plus the rest as written, and the number of components in the rest.
fn settle(path: &Path) -> Result<(PathBuf, usize), Unsettled> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut folder = path.to_owned();
    loop {
        match std::fs::canonicalize(&folder) {
            Ok(real) => {
                let missing = rest.len();
                let mut real = on_disk(&real).ok_or(Unsettled::Misspelled)?;
                real.extend(rest.iter().rev());
                return Ok((real, missing));
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                let found = std::fs::symlink_metadata(&folder);
                if found.is_ok_and(|found| found.file_type().is_symlink()) {
                    return Err(Unsettled::Dangling);
                }
                let Some(name) = folder.file_name() else {
                    return Err(Unsettled::Climbs);
                };
                rest.push(name.to_owned());
                if !folder.pop() {
                    return Err(Unsettled::System(error));
                }
            }
            Err(error) => return Err(Unsettled::System(error)),
        }
    }
}

/// Returns a real path as it is spelled on disk: rules and lists are about that spelling, and a file
/// system can find a file under others. Returns `None` if a part is found and not listed.
fn on_disk(real: &Path) -> Option<PathBuf> {
    let mut spelled = PathBuf::new();
    for part in real.components() {
        let Component::Normal(name) = part else {
            spelled.push(part);
            continue;
        };
        let finds = |name: &OsStr| spelled.join(name).symlink_metadata().is_ok();
        let lists = || {
            let entries = std::fs::read_dir(&spelled).ok()?;
            Some(entries.flatten().map(|entry| entry.file_name()).collect())
        };
        let listed = listed_as(name, &finds, &lists)?;
        spelled.push(listed);
    }
    Some(spelled)
}

/// Returns the name under which a folder lists what it finds under a name. The folder is listed only if
/// it finds the name in another case as well.
fn listed_as(
    name: &OsStr,
    finds: &dyn Fn(&OsStr) -> bool,
    lists: &dyn Fn() -> Option<Vec<OsString>>,
) -> Option<OsString> {
    let other: Vec<u8> = name.as_bytes().iter().copied().map(swap_case).collect();
    let other = OsStr::from_bytes(&other);
    if other == name || !finds(other) {
        return Some(name.to_owned());
    }
    // What cannot be listed cannot be compared.
    let Some(listed) = lists() else {
        return Some(name.to_owned());
    };
    if listed.iter().any(|listed| listed == name) {
        return Some(name.to_owned());
    }
    let is_same = |listed: &OsString| within_in_any_spelling(listed.as_ref(), name.as_ref());
    listed.into_iter().find(is_same)
}

fn swap_case(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        _ => byte.to_ascii_lowercase(),
    }
}

/// Returns the real path of one of our own folders, or the path as written if it cannot be
/// resolved.
pub(crate) fn settled(path: &Path) -> PathBuf {
    settle(path).map_or_else(|_| path.to_owned(), |(real, _)| real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_folder_lists_them() {
        let files = [".git", "Makefile", "12"];
        let listed = |name: &str, finds: fn(&str, &str) -> bool| {
            let finds = |name: &OsStr| files.iter().any(|it| finds(it, name.to_str().unwrap()));
            let lists = || Some(files.map(OsString::from).to_vec());
            let listed = listed_as(OsStr::new(name), &finds, &lists)?;
            Some(listed.into_string().unwrap())
        };
        let exact: fn(&str, &str) -> bool = |a, b| a == b;
        // As on the file systems of Windows, where a long name has a short one as well.
        let loose: fn(&str, &str) -> bool =
            |a, b| a.eq_ignore_ascii_case(b) || (a == ".git" && b.eq_ignore_ascii_case("GIT~1"));
        for (name, expected) in [
            (".git", Some(".git")),
            (".GIT", Some(".git")),
            ("MAKEFILE", Some("Makefile")),
            ("12", Some("12")),
            ("GIT~1", None),
        ] {
            assert_eq!(listed(name, loose).as_deref(), expected, "{name}");
        }
        for name in files {
            assert_eq!(listed(name, exact).as_deref(), Some(name));
        }
    }
}
