//! Why a command did not run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::outcome::Layer;

/// Why a command did not run, or why nothing is known of its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// There is no program to run.
    #[error("the command is empty")]
    Empty,
    /// A word, a variable or a path has a NUL byte, which no system call can take.
    #[error("{what} has a NUL byte")]
    Nul {
        /// Which one.
        what: Box<str>,
    },
    /// No folder of the search path has the program.
    #[error("no program named `{name}` in {}", shown(.folders))]
    ProgramMissing {
        /// What was looked for.
        name: Box<str>,
        /// Where.
        folders: Vec<PathBuf>,
    },
    /// There is a file, and it cannot be run.
    #[error("cannot run `{}`: {why}", .path.display())]
    NotExecutable {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: Box<str>,
    },
    /// The folder to start in cannot be used.
    #[error("cannot start in `{}`: {source}", .path.display())]
    WorkingFolder {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A path of the profile is relative or has `..` in it.
    #[error("`{}` in the profile is not a plain absolute path", .path.display())]
    PathNotAbsolute {
        /// Which one.
        path: PathBuf,
    },
    /// The words and variables are longer than the system takes.
    #[error("the command is too long for this system")]
    TooLong,
    /// A layer is missing, and the profile requires it.
    #[error("the sandbox is required, and its layer `{layer}` is missing: {why}; {}", .layer.remedy())]
    LayerMissing {
        /// Which one.
        layer: Layer,
        /// Why.
        why: Box<str>,
    },
    /// A path cannot be protected here, and the profile requires it.
    #[error("the sandbox is required, and `{}` cannot be protected: {why}", .path.display())]
    Unprotectable {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: Box<str>,
    },
    /// The helper could not be started.
    #[error("cannot start the sandbox helper `{}`: {source}", .path.display())]
    Helper {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The helper ended without a word, or said something that is none of ours.
    #[error("the sandbox helper `{}` was lost: {why}", .path.display())]
    HelperLost {
        /// Its path.
        path: PathBuf,
        /// What is known.
        why: Box<str>,
    },
    /// A step between the helper and the command failed.
    #[error("cannot {step}: {source}")]
    Start {
        /// Which one.
        step: Step,
        /// What the system says.
        source: std::io::Error,
    },
    /// The host's own side of the pipes failed.
    #[error("cannot follow the command: {0}")]
    Follow(#[from] std::io::Error),
}

/// A step between the helper and the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Step {
    /// Reading what is to be done.
    Spec,
    /// Making the scratch folder.
    Scratch,
    /// Making place holders for protected paths.
    Stubs,
    /// Preparing standard input.
    Input,
    /// Starting a process.
    Fork,
    /// Starting `bwrap`.
    Namespaces,
    /// Building the root folder.
    Mount,
    /// A new session.
    Session,
    /// The limits.
    Limits,
    /// Groups and user.
    Identity,
    /// Entering the folder.
    WorkingFolder,
    /// Dropping capabilities.
    Capabilities,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// Starting the program itself.
    Program,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Spec => "read what to run",
            Self::Scratch => "make a scratch folder",
            Self::Stubs => "hold the place of a protected path",
            Self::Input => "prepare standard input",
            Self::Fork => "start a process",
            Self::Namespaces => "start `bwrap`",
            Self::Mount => "build the root folder of the sandbox",
            Self::Session => "make a session",
            Self::Limits => "set limits",
            Self::Identity => "change the user",
            Self::WorkingFolder => "enter the folder",
            Self::Capabilities => "drop capabilities",
            Self::Landlock => "apply Landlock",
            Self::Seccomp => "filter system calls",
            Self::Program => "start the program",
        })
    }
}

fn shown(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| format!("`{}`", folder.display()))
        .collect();
    if folders.is_empty() {
        "an empty search path".to_owned()
    } else {
        folders.join(", ")
    }
}
