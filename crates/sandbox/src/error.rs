//! Errors.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::outcome::Layer;

/// The reason why a command did not run, or why its end is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The command has no program.
    #[error("the command is empty")]
    Empty,
    /// A word, a variable or a path contains a NUL byte.
    #[error("{what} has a NUL byte")]
    Nul {
        /// The part with the NUL byte.
        what: Box<str>,
    },
    /// No folder of the search path contains the program.
    #[error("no program named `{name}` in {}", shown(.folders))]
    ProgramMissing {
        /// The name.
        name: Box<str>,
        /// The folders that were searched.
        folders: Vec<PathBuf>,
    },
    /// The file exists and cannot be run.
    #[error("cannot run `{}`: {why}", .path.display())]
    NotExecutable {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// The working folder cannot be used.
    #[error("cannot start in `{}`: {source}", .path.display())]
    WorkingFolder {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A path of the profile is relative or has `..` in it.
    #[error("`{}` in the profile must be an absolute path without `..`", .path.display())]
    PathNotAbsolute {
        /// The path.
        path: PathBuf,
    },
    /// The words and variables are longer than the system accepts.
    #[error("the command is too long for this system")]
    TooLong,
    /// A layer is missing, and the profile requires it.
    #[error("the sandbox layer `{layer}` is missing: {why}; {}", .layer.remedy())]
    LayerMissing {
        /// The layer.
        layer: Layer,
        /// The reason.
        why: Box<str>,
    },
    /// A path cannot be protected here, and the profile requires it.
    #[error("cannot protect `{}`: {why}", .path.display())]
    Unprotectable {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// A git command would do what it cannot do in the sandbox, or only in part.
    #[error("`{command}` was not started: {why}")]
    GitRefused {
        /// The command.
        command: Box<str>,
        /// The reason.
        why: Box<str>,
    },
    /// Another run that may write in the same folder did not end in time.
    #[error(
        "another command that may write is running in `{}`{}; wait until it ends",
        .path.display(),
        .process.map_or_else(String::new, |process| format!(" (process {process})"))
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process that runs it, if it is known.
        process: Option<u32>,
    },
    /// The caller cancelled the run before the command started.
    #[error("the command was cancelled before it started")]
    Cancelled,
    /// The helper could not be started.
    #[error("cannot start the sandbox helper `{}`: {source}", .path.display())]
    Helper {
        /// The path of the helper.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The helper ended without a report, or sent an invalid one.
    #[error("the sandbox helper `{}` ended unexpectedly: {why}", .path.display())]
    HelperLost {
        /// The path of the helper.
        path: PathBuf,
        /// The last line that it printed.
        why: Box<str>,
    },
    /// A step between the helper and the command failed.
    #[error("cannot {step}: {source}")]
    Start {
        /// The step.
        step: Step,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Reading the output or the reports failed.
    #[error("cannot read the output of the command: {0}")]
    Follow(#[from] std::io::Error),
}

/// A step between the helper and the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Step {
    /// Receiving the locks of the run.
    Lock,
    /// Reading the specification.
    Spec,
    /// Creating the scratch folder.
    Scratch,
    /// Creating placeholders for protected paths.
    Stubs,
    /// Reading the index of git.
    Index,
    /// Preparing standard input.
    Input,
    /// Starting a process.
    Fork,
    /// Starting `bwrap`.
    Namespaces,
    /// Building the root folder.
    Mount,
    /// Creating a session.
    Session,
    /// Setting limits.
    Limits,
    /// Changing the user.
    Identity,
    /// Entering the working folder.
    WorkingFolder,
    /// Dropping capabilities.
    Capabilities,
    /// Applying Landlock.
    Landlock,
    /// Applying the filter of system calls.
    Seccomp,
    /// Starting the program.
    Program,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lock => "receive the locks of the run",
            Self::Spec => "read the specification",
            Self::Scratch => "create a scratch folder",
            Self::Stubs => "create a placeholder for a protected path",
            Self::Index => "read the index of git",
            Self::Input => "prepare standard input",
            Self::Fork => "start a process",
            Self::Namespaces => "start `bwrap`",
            Self::Mount => "build the root folder of the sandbox",
            Self::Session => "create a session",
            Self::Limits => "set limits",
            Self::Identity => "change the user",
            Self::WorkingFolder => "enter the working folder",
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
