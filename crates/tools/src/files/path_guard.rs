//! Where a path really leads, and whether the agent may go there.
//!
//! A path is resolved once, links and all. The gate judges where it leads; rules that are about the
//! path as it was written count too, where they are stricter. What is opened afterwards is opened
//! without following any link (`file.rs`), so it is what was judged or nothing.

use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::{Judging, Loaded, ToolContext, ToolError, Why};
use prowess_catalog::Form;
use prowess_diag::sanitize;
use prowess_diag::wording::{shorten, tick};
use prowess_policy::paths::absolute;
use prowess_policy::{Action, Decision, Verdict};

/// Longest path, in bytes: the system's own limit.
pub(crate) const MAX_PATH: usize = 4096;
/// Most characters of a path in a sentence.
const MAX_SHOWN: usize = 300;
/// Where the kernel answers instead of a disk: memory, settings, the environment of processes.
const KERNEL: &[&str] = &["/proc", "/sys"];

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    Read,
    Write,
}

impl FileAction {
    /// The beginning of a sentence.
    fn of(self, resolved: &ResolvedPath) -> String {
        match self {
            Self::Read => format!("Reading {}", resolved.told()),
            Self::Write => format!("Writing {}", resolved.told()),
        }
    }
}

/// The places that count, with their links resolved.
#[derive(Debug)]
pub(crate) struct PathGuard<'w> {
    context: &'w ToolContext,
    /// The project.
    pub(crate) workspace: PathBuf,
    /// Folders as they really are, and as the gate spells them.
    spellings: Vec<(PathBuf, PathBuf)>,
    /// Neither read nor written: keys, and our own folders.
    hidden: Vec<PathBuf>,
    /// Read unasked although they are not in the project: loaded skills, and output that was too
    /// long.
    free: Vec<PathBuf>,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The real path, without links. What is missing of it stands as it was written.
    pub(crate) real: PathBuf,
    /// How many of its last parts do not exist.
    pub(crate) missing: usize,
    /// What is there.
    pub(crate) kind: Option<FileType>,
    /// The absolute path as it was written.
    written: String,
    /// For people and models: from the project on where it lies inside.
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
        let mut free = real(skill_folders(context, loaded));
        free.extend(places.outputs.as_deref().map(settled));
        Self {
            context,
            workspace,
            spellings,
            hidden: real(profile.hidden),
            free,
        }
    }

    /// Tells whether something is not written: it decides what runs later, or belongs to a skill.
    fn is_protected(&self, real: &Path) -> bool {
        let acting = self.context.acting.as_ref();
        let profile = self.context.profile(acting.map(|skill| &skill.trust));
        if profile
            .protected
            .iter()
            .any(|path| real.starts_with(settled(path)))
        {
            return true;
        }
        let catalog = self.context.services.registry.snapshot();
        catalog.entries().into_iter().any(|entry| {
            let location = Path::new(&*entry.skill.location);
            let place = match entry.skill.form {
                Form::Folder => location.parent(),
                Form::File | Form::Command => Some(location),
                Form::Memory => None,
            };
            // Whoever makes a skill their project wants to work on it.
            place.map(settled).is_some_and(|place| {
                real.starts_with(&place) && !self.workspace.starts_with(&place)
            })
        })
    }

    /// Finds out where a path leads. Relative paths begin in the project, `~/` in the home folder.
    pub(crate) fn resolve(&self, raw: &str) -> Result<ResolvedPath, ToolError> {
        let wrong = |why: &str| {
            ToolError::new(
                Why::Input,
                format!("{} is no path: {why}.", tick(shown(raw))),
            )
        };
        if raw.is_empty() || raw.len() > MAX_PATH || raw.contains('\0') {
            return Err(wrong("it is empty, too long or has a NUL in it"));
        }
        let places = &self.context.settings.paths;
        let path = match raw.strip_prefix('~') {
            Some("") => places.home.clone(),
            Some(rest) if rest.starts_with('/') => places.home.join(rest.trim_start_matches('/')),
            _ => self.workspace.join(raw),
        };
        let (real, missing) = settle(&path).map_err(|fault| match fault {
            Unsettled::Dangling => wrong("it goes through a link that leads nowhere"),
            Unsettled::Climbs => wrong("`..` stands behind a folder that does not exist"),
            Unsettled::System(error) => ToolError::new(
                Why::NoFile,
                format!("Cannot look at {}: {error}.", tick(shown(raw))),
            ),
        })?;
        if real.to_str().is_none() {
            return Err(wrong(
                "it leads to a name that is not UTF-8, and no rule could be about it",
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

    /// A path for people and models: from the project on where it lies inside.
    pub(crate) fn name(&self, real: &Path) -> String {
        match real.strip_prefix(&self.workspace) {
            Ok(inner) if inner.as_os_str().is_empty() => ".".to_owned(),
            Ok(inner) => inner.to_string_lossy().into_owned(),
            Err(_) => real.to_string_lossy().into_owned(),
        }
    }

    /// Tells whether something lies in the project.
    pub(crate) fn is_inside(&self, real: &Path) -> bool {
        real.starts_with(&self.workspace)
    }

    /// The folders and files that are never read.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// What the gate says of one path of a search. The caller has resolved it.
    pub(crate) fn judge(&self, judging: &Judging<'_>, action: FileAction, real: &Path) -> Decision {
        let plain = real.to_string_lossy();
        let spelled = self.spelled(real);
        let decision = judge(judging, action, &spelled);
        if *spelled == *plain {
            return decision;
        }
        stricter(decision, judge(judging, action, &plain))
    }

    /// Why nobody may do this.
    fn barred(&self, action: FileAction, resolved: &ResolvedPath) -> Option<&'static str> {
        let below = |folders: &[PathBuf]| {
            folders
                .iter()
                .any(|folder| resolved.real.starts_with(folder))
        };
        if is_kernel(&resolved.real) {
            return Some("it belongs to the kernel, not to a disk");
        }
        if below(&self.hidden) && !(action == FileAction::Read && below(&self.free)) {
            return Some("keys and our own folders are nobody's business");
        }
        let special = resolved
            .kind
            .filter(|kind| !kind.is_file() && !kind.is_dir());
        if let Some(kind) = special {
            return Some(describe(kind));
        }
        if action == FileAction::Write {
            let git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
            if resolved.real.components().any(git) {
                return Some("what is in `.git` decides what runs later");
            }
            if self.is_protected(&resolved.real) {
                return Some(
                    "it belongs to a skill or decides what runs later; a person changes it",
                );
            }
        }
        None
    }

    /// Refuses what nobody may do, whatever rules and modes say.
    pub(crate) fn bar(&self, action: FileAction, resolved: &ResolvedPath) -> Result<(), ToolError> {
        match self.barred(action, resolved) {
            Some(why) => {
                let text = format!("{} was refused: {why}.", action.of(resolved));
                Err(ToolError::new(Why::Denied, text))
            }
            None => Ok(()),
        }
    }

    /// Asks the gate, and the person where the gate wants it. `long` says all that would happen; where
    /// it cannot happen anyway, nobody is asked.
    pub(crate) fn permit(
        &self,
        loaded: &Loaded,
        action: FileAction,
        resolved: &ResolvedPath,
        long: impl FnOnce() -> Result<String, ToolError>,
    ) -> Result<(), ToolError> {
        self.bar(action, resolved)?;
        let what = action.of(resolved);
        let judging = self.context.judging(loaded);
        let mut path = self.spelled(&resolved.real);
        let mut decision = self.judge(&judging, action, &resolved.real);
        if resolved.written != path {
            let other = judge(&judging, action, &resolved.written);
            if other.verdict > decision.verdict && other.rule.is_some() {
                (path, decision) = (resolved.written.clone(), other);
            }
        }
        let free = action == FileAction::Read
            && self
                .free
                .iter()
                .any(|folder| resolved.real.starts_with(folder))
            && decision.rule.is_none();
        match decision.verdict {
            Verdict::Allow => Ok(()),
            _ if free => Ok(()),
            Verdict::Deny => Err(ToolError::denied(&what, &decision)),
            Verdict::Ask => {
                let asked = self
                    .context
                    .permit(loaded, &gate_action(action, &path), &long()?);
                asked.map_err(|_| ToolError::denied(&what, &decision))
            }
        }
    }

    /// A real path as the gate spells it: its folders may be reached through links.
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
    /// The path in a sentence; where it is reached through a link, also what that leads to.
    pub(crate) fn told(&self) -> String {
        let real = self.real.to_string_lossy();
        if self.written == real {
            return tick(shown(&self.name));
        }
        format!(
            "{} (it leads to {})",
            tick(shown(&self.written)),
            tick(shown(&real))
        )
    }

    /// Its last part.
    pub(crate) fn last(&self) -> &OsStr {
        self.real.file_name().unwrap_or_default()
    }
}

/// Folders of the skills that are loaded, and of the one that acts.
pub(crate) fn skill_folders(context: &ToolContext, loaded: &Loaded) -> Vec<PathBuf> {
    let skills = loaded.snapshots().chain(&context.acting);
    skills
        .filter(|skill| skill.skill.form == Form::Folder)
        .filter_map(|skill| skill.folder())
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Tells whether a path is the kernel's.
pub(crate) fn is_kernel(real: &Path) -> bool {
    KERNEL.iter().any(|folder| real.starts_with(folder))
}

/// A path in a sentence: one line, nothing hidden, not too long.
pub(crate) fn shown(path: &str) -> String {
    shorten(&sanitize::line(path), MAX_SHOWN)
}

fn gate_action(action: FileAction, path: &str) -> Action<'_> {
    match action {
        FileAction::Read => Action::Read { path },
        FileAction::Write => Action::Write { path },
    }
}

fn judge(judging: &Judging<'_>, action: FileAction, path: &str) -> Decision {
    judging.judge(&gate_action(action, path))
}

/// Another spelling of the same path counts where a rule is about it that is stricter.
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
        "it is something else than a file"
    }
}

/// Why nobody knows where a path leads.
enum Unsettled {
    Dangling,
    Climbs,
    System(std::io::Error),
}

/// The real path; where its end does not exist, the real folder before it and the rest as it was
/// written, with the number of parts in the rest.
fn settle(path: &Path) -> Result<(PathBuf, usize), Unsettled> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut folder = path.to_owned();
    loop {
        match std::fs::canonicalize(&folder) {
            Ok(mut real) => {
                let missing = rest.len();
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

/// The real path of one of our own places; as it was written where nobody knows.
fn settled(path: &Path) -> PathBuf {
    settle(path).map_or_else(|_| path.to_owned(), |(real, _)| real)
}
