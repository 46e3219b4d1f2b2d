//! The record of a run.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::capture::Captured;

/// The record of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The end of the command.
    pub end: End,
    /// The reason why the runner ended it, if it did.
    pub stopped: Option<Stopped>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Time from the start until the last process was gone.
    pub duration: Duration,
    /// Every layer of the sandbox, in order.
    pub layers: Vec<LayerState>,
    /// The words of the command; the first one is the absolute path of the program.
    pub words: Vec<Box<str>>,
    /// The rule or the answer that approved it.
    pub approved_by: Box<str>,
    /// Notes for the person.
    pub notes: Vec<Note>,
}

impl CommandOutcome {
    /// Returns `true` if the command ended by itself with exit code 0.
    pub fn success(&self) -> bool {
        self.end == End::Code(0) && self.stopped.is_none()
    }

    /// Returns the state of a layer.
    pub fn layer(&self, layer: Layer) -> Option<&LayerStatus> {
        self.layers
            .iter()
            .find(|state| state.layer == layer)
            .map(|state| &state.state)
    }
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The reason why the runner ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Its deadline passed.
    Deadline,
    /// The caller cancelled it.
    Cancelled,
}

/// A part of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Layer {
    /// Layer 0: environment, descriptors, session, limits, deadline, the whole tree ended.
    Supervision,
    /// Layer 1: every capability dropped, no new privileges.
    Capabilities,
    /// Layer 1: files, TCP, signals and abstract sockets.
    Landlock,
    /// Layer 1: system calls.
    Seccomp,
    /// Layer 2: namespaces.
    Namespaces,
    /// Layer 3: another user.
    Identity,
    /// macOS: a seatbelt profile.
    Seatbelt,
}

impl Layer {
    /// Every layer, in order.
    pub const ALL: [Self; 7] = [
        Self::Supervision,
        Self::Capabilities,
        Self::Landlock,
        Self::Seccomp,
        Self::Namespaces,
        Self::Identity,
        Self::Seatbelt,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supervision => "supervision",
            Self::Capabilities => "capabilities",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Namespaces => "namespaces",
            Self::Identity => "identity",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// Returns what to do if it is missing.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Supervision => "call `prowess_sandbox::maybe_run_helper` first in `main`",
            Self::Capabilities | Self::Seccomp => "use a Linux kernel that was built with seccomp",
            Self::Landlock => "use Linux 6.12 or later, with `landlock` among its security modules",
            Self::Namespaces => {
                "allow user namespaces (`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; \
                 in a container `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`), \
                 or install `bubblewrap`"
            }
            Self::Identity => "start as root, or allow user namespaces",
            Self::Seatbelt => "use macOS with `/usr/bin/sandbox-exec`",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A layer and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerState {
    /// The layer.
    pub layer: Layer,
    /// Its state.
    pub state: LayerStatus,
}

/// The state of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LayerStatus {
    /// It was applied.
    On,
    /// It is missing, for this reason.
    Missing(Box<str>),
    /// It is not used, for this reason.
    Off(Box<str>),
}

/// Something that a person should know about a run that did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Note {
    /// A variable did not reach the command.
    VariableRefused {
        /// Its name.
        name: Box<str>,
        /// The reason.
        why: Box<str>,
    },
    /// A folder was left out of the search path.
    PathFolderLeftOut {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// A path of the profile does not exist, so it was not granted.
    NotThere {
        /// The path.
        path: PathBuf,
    },
    /// A protected or hidden path is open, at least in part.
    Unprotected {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// A folder that was granted for writing is protected, because a link in a protected folder leads
    /// to it.
    NotWritable {
        /// The folder.
        path: PathBuf,
    },
    /// A folder of the project is protected, because a link or a `.git` file leads to it.
    ClosedBy {
        /// The folder.
        path: PathBuf,
        /// The link or file.
        by: PathBuf,
    },
    /// The home folder is granted as a whole, with everything in it that is not hidden by name.
    HomeGranted {
        /// The home folder.
        path: PathBuf,
    },
    /// A path that decides what git executes was created during the run and has been removed.
    Removed {
        /// The path.
        path: PathBuf,
    },
    /// A path that decides what a program executes was created during the run and cannot be removed.
    NotRemoved {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// The command added a repository as a submodule. The index of git has been restored.
    IndexRestored {
        /// The repository.
        path: PathBuf,
    },
    /// The command added a repository as a submodule, and the index of git could not be restored.
    IndexNotRestored {
        /// The repository, or the index if it cannot be read.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// A repository became a submodule while the command ran, so it was not protected.
    Added {
        /// The repository.
        path: PathBuf,
    },
    /// A repository is in the place of a tracked file since before the run.
    InPlaceOfFile {
        /// The repository.
        path: PathBuf,
    },
    /// A protected path was replaced or removed while the command ran, so the mount that protected it
    /// is gone.
    Replaced {
        /// The path.
        path: PathBuf,
    },
    /// A tracked file became a link that leaves the folders that the command may write.
    LinkedOut {
        /// The path.
        path: PathBuf,
        /// The place to which it leads.
        target: PathBuf,
    },
    /// The scratch folder of the command could not be removed.
    ScratchLeft {
        /// The folder.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// The kernel allows no new `/proc`, so the command can see the host's processes.
    SharedProc,
    /// Nothing limits the number of processes.
    ProcessesUnlimited,
    /// Processes that could not be ended.
    Survivors(u32),
    /// The helper was ended before it had checked what the command left behind.
    Unchecked,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VariableRefused { name, why } => {
                write!(f, "variable `{name}` was not passed to the command: {why}")
            }
            Self::PathFolderLeftOut { folder, why } => {
                write!(f, "`{}` left out of PATH: {why}", folder.display())
            }
            Self::NotThere { path } => write!(f, "`{}` does not exist", path.display()),
            Self::Unprotected { path, why } => {
                write!(f, "`{}` is not protected: {why}", path.display())
            }
            Self::NotWritable { path } => write!(
                f,
                "`{}` is not writable: a link in a protected folder, such as `~/.config`, leads to it",
                path.display()
            ),
            Self::ClosedBy { path, by } => write!(
                f,
                "`{}` is not writable, because `{}` leads to it; remove that if a command created it",
                path.display(),
                by.display()
            ),
            Self::HomeGranted { path } => write!(
                f,
                "the command can read your home folder `{}`; start in the folder of a project",
                path.display()
            ),
            Self::Removed { path } => write!(
                f,
                "removed `{}`, which the command created and git or another program would follow",
                path.display()
            ),
            Self::NotRemoved { path, why } => write!(
                f,
                "cannot remove `{}`, which the command created and git or another program would follow: \
                 {why}; remove it before you run git again",
                path.display()
            ),
            Self::IndexRestored { path } => write!(
                f,
                "undid the changes to the index and `HEAD` of git: the command added the repository `{}`, which \
                 git would enter; add it yourself, or add other files by name",
                path.display()
            ),
            Self::IndexNotRestored { path, why } => write!(
                f,
                "cannot restore the index and `HEAD` of git: {why}; remove `{}`, which the command \
                 created and git would follow, before you run git again",
                path.display()
            ),
            Self::Added { path } => write!(
                f,
                "`{}` became a submodule while the command ran, so the command may have changed it; \
                 check its `.git` before you run git again",
                path.display()
            ),
            Self::InPlaceOfFile { path } => write!(
                f,
                "`{}` is a repository in the place of a tracked file, and `git commit -a` would make a \
                 submodule of it; if you did not create it, move it away before you run git",
                path.display()
            ),
            Self::Replaced { path } => write!(
                f,
                "`{}` was replaced or removed while the command ran, so the command may have changed it; \
                 check it",
                path.display()
            ),
            Self::LinkedOut { path, target } => write!(
                f,
                "the command replaced `{}` by a link to `{}`, outside of the project; a program that \
                 writes to the one changes the other",
                path.display(),
                target.display()
            ),
            Self::ScratchLeft { path, why } => write!(
                f,
                "cannot remove the scratch folder `{}` of the command: {why}; remove it yourself",
                path.display()
            ),
            Self::SharedProc => f.write_str(
                "the command can see other processes: the kernel does not allow a new `/proc`",
            ),
            Self::ProcessesUnlimited => f.write_str("the number of processes is not limited"),
            Self::Survivors(count) => write!(f, "{count} processes could not be ended"),
            Self::Unchecked => f.write_str(
                "what the command left behind could not be checked, because the helper of the sandbox \
                 was ended; check the project before you run git again",
            ),
        }
    }
}
