//! Errors of packages, with their exit code and the next command to type.

use std::path::PathBuf;

use prowess_traits::SkillServerError;

use crate::archive::ArchiveError;
use crate::content::ContentError;
use crate::find::FindError;
use crate::git::GitError;
use crate::index::IndexError;
use crate::lock::LockError;
use crate::manifest_edit::ManifestEditError;
use crate::operations::OperationError;
use crate::project::ProjectError;
use crate::resolve::ResolveError;
use crate::signature::SignatureError;
use crate::source::SourceError;
use crate::store::StoreError;
use crate::tree::TreeError;

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
    /// A skill cannot be found or chosen in its source.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A package cannot be resolved.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The manifest cannot be edited.
    #[error(transparent)]
    Manifest(#[from] ManifestEditError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The content of a source cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The files of a package are refused.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// An archive is refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An MCP server cannot be used.
    #[error(transparent)]
    Server(#[from] SkillServerError),
    /// A signature is missing or wrong.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project or the person's files cannot be changed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The operation is refused or impossible.
    #[error(transparent)]
    Operation(#[from] OperationError),
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
            Self::Resolve(error) => error.exit(),
            Self::Git(GitError::Credentials { .. })
            | Self::Content(ContentError::Git(GitError::Credentials { .. }))
            | Self::Index(IndexError::Status {
                status: 401 | 403, ..
            }) => PackageExit::Credentials,
            Self::Index(IndexError::Stale { .. }) => PackageExit::Refused,
            Self::Operation(error) => error.exit(),
            Self::Signature(error) | Self::Index(IndexError::Signature(error)) => error.exit(),
            Self::Lock(_)
            | Self::Find(_)
            | Self::Manifest(_)
            | Self::Git(_)
            | Self::Content(_)
            | Self::Tree(_)
            | Self::Archive(_)
            | Self::Index(_)
            | Self::Server(_)
            | Self::Store(_)
            | Self::Project(_)
            | Self::File { .. } => PackageExit::Failed,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Lock(error) => error.hint(),
            Self::Find(error) => error.hint(),
            Self::Resolve(error) => error.hint(),
            Self::Manifest(error) => error.hint(),
            Self::Git(error) | Self::Content(ContentError::Git(error)) => git_hint(error),
            Self::Signature(error) | Self::Index(IndexError::Signature(error)) => error.hint(),
            Self::Index(error) => index_hint(error),
            Self::Server(SkillServerError::Unknown { server }) => Some(format!(
                "configure it in `[mcp.servers.{server}]` of your own configuration; the servers of a project are not used for packages"
            )),
            Self::Server(_) => Some("try it with `prowess mcp list`".to_owned()),
            Self::Project(error) => project_hint(error),
            Self::Operation(error) => error.hint(),
            Self::Store(StoreError::Damaged { .. }) => {
                Some("repair it with `prowess sync`".to_owned())
            }
            Self::Content(_)
            | Self::Tree(_)
            | Self::Archive(_)
            | Self::Store(_)
            | Self::File { .. } => None,
        }
    }
}

fn git_hint(error: &GitError) -> Option<String> {
    Some(match error {
        GitError::Missing | GitError::TooOld { .. } | GitError::NotGit { .. } => {
            "install git 2.30 or newer; `prowess sync --offline` works without it if the store is complete".to_owned()
        }
        GitError::NoSshKeygen => "install OpenSSH".to_owned(),
        GitError::Credentials { url, .. } => format!("try `git ls-remote {url}`"),
        GitError::Moved { to: Some(to), .. } => format!("name the new address: `{to}`"),
        GitError::Moved { to: None, .. } => "name the new address".to_owned(),
        GitError::NotFound { .. } => "check the address".to_owned(),
        GitError::NoCommit { .. } => {
            "another machine may have it in its store; `prowess update` takes a newer version".to_owned()
        }
        GitError::Timeout { .. } => "try again, or use `--offline` if the store is complete".to_owned(),
        _ => return None,
    })
}

fn index_hint(error: &IndexError) -> Option<String> {
    Some(match error {
        IndexError::NotJson { .. } => {
            "a network that asks for a log-in may answer in its place".to_owned()
        }
        IndexError::Moved { to, .. } => format!("name the new address: `{to}`"),
        IndexError::Fetch { .. } => "use `--offline` if the store is complete".to_owned(),
        IndexError::Status {
            status: 401 | 403, ..
        } => "check the token of the registry: `token-env` in `[registries.NAME]`".to_owned(),
        IndexError::Status { status: 429, .. } => {
            "the server asks to wait; try again later".to_owned()
        }
        _ => return None,
    })
}

fn project_hint(error: &ProjectError) -> Option<String> {
    Some(match error {
        ProjectError::NotOurs { .. } => "choose another folder with `--as NAME`".to_owned(),
        ProjectError::Changed { name } => format!(
            "see it with `prowess diff {name}`, undo it with `prowess sync`, keep it with `prowess fork {name}`"
        ),
        ProjectError::LinkOut { .. } => "replace the link with a folder".to_owned(),
        _ => return None,
    })
}
