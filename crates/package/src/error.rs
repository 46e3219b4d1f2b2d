//! Errors of packages, with their exit code and the next command to type.

use std::path::PathBuf;

use crate::lock::LockError;
use crate::source::SourceError;

/// The exit code of a failed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageExit {
    /// 1: the answer is no, for example because a package differs from the lock.
    No,
    /// 2: the operation failed.
    Failed,
    /// 3: refused by policy, or approval was needed and nothing could be asked.
    Refused,
    /// 4: credentials are missing or were rejected.
    Credentials,
}

impl PackageExit {
    /// Returns the number.
    pub fn code(self) -> u8 {
        match self {
            Self::No => 1,
            Self::Failed => 2,
            Self::Refused => 3,
            Self::Credentials => 4,
        }
    }
}

/// Error from an operation on packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// A source is invalid or not allowed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Reading or writing a file failed.
    #[error("cannot {verb} `{}`", path.display())]
    File {
        /// What was tried: `read`, `write`, `remove`.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

impl PackageError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        match self {
            Self::Source(error) => error.exit(),
            Self::Lock(_) | Self::File { .. } => PackageExit::Failed,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Lock(error) => error.hint(),
            Self::File { .. } => None,
        }
    }
}
