//! Sources of packages: what a manifest or a command line names, and the form in the lock.

use semver::VersionReq;

use crate::error::PackageExit;

/// A source as a manifest or a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageSource {
    /// A git repository.
    Git(GitSource),
    /// A folder, used in place: not copied, not locked.
    Path {
        /// The folder, as it was written.
        path: String,
    },
    /// An archive.
    Archive {
        /// The archive.
        location: ArchiveLocation,
        /// The expected digest: `sha256:` and 64 hexadecimal digits.
        digest: Option<String>,
    },
    /// An `https` address of an unknown kind: a git repository, or a site with an index.
    Site {
        /// The address, normalised.
        url: String,
        /// The version or ref after `@`, if any.
        wanted: WantedRef,
    },
    /// A site with an index of skills (`.well-known`).
    Index {
        /// The address, normalised.
        url: String,
        /// The name of a skill in the index.
        name: Option<String>,
    },
    /// A skill of a configured MCP server.
    Mcp {
        /// The name of the server.
        server: String,
        /// The address of the skill on the server; empty for all.
        uri: String,
    },
    /// A package of a configured registry.
    Registry {
        /// The name of the registry.
        registry: String,
        /// The name of the package in it.
        name: String,
        /// The wanted version.
        wanted: WantedRef,
    },
}

/// A git repository, a folder in it, and the wanted version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSource {
    /// The normalised address, with `https`, `ssh`, `file`, or `http` for a loopback host.
    pub url: String,
    /// The folder of the skill in the repository. `None` to search the repository.
    pub path: Option<String>,
    /// The wanted version or ref.
    pub wanted: WantedRef,
    /// Text before the version in the names of its tags.
    pub tag_prefix: Option<String>,
}

/// The wanted version or ref of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedRef {
    /// The default branch.
    Default,
    /// Text after `@`: a version, a range, a tag, a branch or a commit id.
    Any(String),
    /// A range of versions, matched against tags.
    Version(VersionReq),
    /// A tag, by name.
    Tag(String),
    /// A branch, by name.
    Branch(String),
    /// A whole commit id.
    Commit(String),
    /// The text of a web address after `/tree/`: a ref and perhaps a path. The longest name of a ref
    /// at the start is the ref.
    RefAndPath(String),
}

/// The place of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// An address with `https`, or `http` for a loopback host.
    Url(String),
    /// A local file, as it was written.
    File(String),
}

/// The source of a locked package, normalised and without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockedSource {
    /// `git+URL`: `https`, `ssh`, `file`, or `http` for a loopback host.
    Git(String),
    /// `archive+URL`, or `archive+file:PATH`.
    Archive(String),
    /// `path`: the field `path` has the folder.
    Path,
    /// `index+URL`: the field `path` has the name in the index.
    Index(String),
    /// `mcp+NAME`: the field `path` has the address of the skill.
    Mcp(String),
    /// `registry+NAME`: the field `path` has the name in the registry.
    Registry(String),
}

impl LockedSource {
    /// Parses the form in a lock.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "path" {
            return Some(Self::Path);
        }
        let (kind, rest) = text.split_once('+')?;
        if rest.is_empty() || rest.chars().any(char::is_control) {
            return None;
        }
        let rest = rest.to_owned();
        Some(match kind {
            "git" => Self::Git(rest),
            "archive" => Self::Archive(rest),
            "index" => Self::Index(rest),
            "mcp" => Self::Mcp(rest),
            "registry" => Self::Registry(rest),
            _ => return None,
        })
    }
}

impl std::fmt::Display for LockedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Git(url) => write!(f, "git+{url}"),
            Self::Archive(url) => write!(f, "archive+{url}"),
            Self::Index(url) => write!(f, "index+{url}"),
            Self::Mcp(name) => write!(f, "mcp+{name}"),
            Self::Registry(name) => write!(f, "registry+{name}"),
        }
    }
}

/// The reason why a source is invalid or not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The `sources` setting does not list it.
    #[error("`{url}` is not in the list of allowed sources")]
    NotAllowed {
        /// The normalised address.
        url: String,
    },
}

impl SourceError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        match self {
            Self::NotAllowed { .. } => PackageExit::Refused,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotAllowed { .. } => {
                Some("the list is `sources` in `[install]`, see `prowess help add`".to_owned())
            }
        }
    }
}
