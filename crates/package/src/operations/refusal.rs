//! Reasons why an operation is refused.

use std::path::PathBuf;

use crate::error::PackageExit;

/// An operation that is refused or impossible. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The manifest is not valid.
    #[error("`{}` is not valid: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The first fault.
        reason: String,
    },
    /// There is no such package.
    #[error("no package `{name}`")]
    NoPackage {
        /// The name.
        name: String,
    },
    /// A skill of the person's own has the name.
    #[error("`{}` exists, and is a skill of your own", path.display())]
    Yours {
        /// The name.
        name: String,
        /// Its folder.
        path: PathBuf,
    },
    /// The name is taken by another package.
    #[error("`{name}` is already a package, from `{source_text}`")]
    Taken {
        /// The name.
        name: String,
        /// The source of the other package.
        source_text: String,
    },
    /// Several skills would have one name.
    #[error("several skills would be called `{name}`: {}", shown_places(places))]
    SameName {
        /// The name.
        name: String,
        /// Their places in the source.
        places: Vec<String>,
    },
    /// The source has several skills, and none was named.
    #[error("the source has {} skills; name those to add", names.len())]
    ChooseSkill {
        /// Their names.
        names: Vec<String>,
    },
    /// The source has no skills.
    #[error("`{source_text}` has no skills")]
    NoSkills {
        /// The source.
        source_text: String,
    },
    /// The network is needed, but switched off.
    #[error("`{source_text}` must be fetched, but `--offline` is set")]
    Offline {
        /// The source.
        source_text: String,
    },
    /// A file of the project names a host of this machine or of a private network.
    #[error("`{source_text}` is on this machine or in a private network, and you did not name it")]
    PrivateHost {
        /// The source.
        source_text: String,
    },
    /// Manifest and lock disagree.
    #[error("the lock does not match the manifest: {}", names.join(", "))]
    Frozen {
        /// Names of the packages that differ.
        names: Vec<String>,
    },
    /// The source gives other bytes than the lock says.
    #[error("`{name}` has the digest {found}, but the lock says {locked}")]
    Digest {
        /// The package.
        name: String,
        /// The locked digest.
        locked: String,
        /// The digest of the bytes.
        found: String,
    },
    /// The person's own settings have no such registry.
    #[error("your settings have no registry `{name}`")]
    NoRegistry {
        /// The name.
        name: String,
    },
    /// The variable with the token of a registry is not set.
    #[error("`{variable}` is not set, and the registry `{registry}` needs it")]
    NoToken {
        /// The registry.
        registry: String,
        /// The variable.
        variable: String,
    },
    /// The registry does not have the locked archive.
    #[error("the registry `{registry}` does not have the locked archive of `{name}` any more")]
    ArchiveGone {
        /// The registry.
        registry: String,
        /// The package.
        name: String,
    },
    /// An MCP server does not list the files of a skill, so that they cannot be locked.
    #[error("`{uri}` cannot be locked: MCP server `{server}` does not list its files")]
    Dynamic {
        /// The server.
        server: String,
        /// The address of the skill.
        uri: String,
    },
    /// A file of a skill on an MCP server is not the locked one.
    #[error("`{path}` of `{name}` is not what the lock says on MCP server `{server}`: {}", changed_file(locked.as_deref(), found.as_deref()))]
    ServedChanged {
        /// The package.
        name: String,
        /// The server.
        server: String,
        /// The file.
        path: String,
        /// The locked digest. `None` if the lock lacks the file.
        locked: Option<String>,
        /// The digest on the server. `None` if the server lacks the file.
        found: Option<String>,
    },
    /// The MCP server lists the skill, but not as the extension demands.
    #[error("MCP server `{server}` lists `{uri}` wrongly: {reason}")]
    NotServable {
        /// The server.
        server: String,
        /// The address of the skill.
        uri: String,
        /// The fault.
        reason: String,
    },
    /// The kind of source cannot be used here.
    #[error("sources of the kind `{kind}` are not supported here")]
    Unsupported {
        /// The kind.
        kind: &'static str,
    },
    /// The folder of a `path` source does not have a skill.
    #[error("`{}` is not a folder with a `SKILL.md`", path.display())]
    NotASkill {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such entry in the history.
    #[error("no earlier state{}", of.as_ref().map(|of| format!(" with `{of}`")).unwrap_or_default())]
    NoHistory {
        /// The wanted version or digest.
        of: Option<String>,
    },
    /// The bytes of an earlier state are not in the store.
    #[error("the files of `{name}` ({digest}) are not in the store")]
    NotInStore {
        /// The package.
        name: String,
        /// The digest.
        digest: String,
    },
}

fn shown_places(places: &[String]) -> String {
    let shown = places.iter().take(5).map(prowess_diag::wording::tick);
    let more = if places.len() > 5 { " and others" } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

fn changed_file(locked: Option<&str>, found: Option<&str>) -> String {
    match (locked, found) {
        (Some(locked), Some(found)) => format!("it was {locked}, and is {found} now"),
        (Some(_), None) => "it is missing".to_owned(),
        (None, _) => "it is new".to_owned(),
    }
}

impl OperationError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        match self {
            Self::NoToken { .. } => PackageExit::Credentials,
            Self::PrivateHost { .. } => PackageExit::Refused,
            _ => PackageExit::Failed,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoPackage { .. } => "list the packages with `prowess list`".to_owned(),
            Self::Taken { name, .. } => {
                format!(
                    "update it with `prowess update {name}`, or choose another name with `--as`"
                )
            }
            Self::Yours { .. } => "rename or remove it first".to_owned(),
            Self::SameName { places, .. } => {
                let place = places.first().map_or("PATH", String::as_str);
                format!("add them one by one: `prowess add SOURCE {place} --as NAME`")
            }
            Self::ChooseSkill { names } => {
                let shown: Vec<&str> = names.iter().take(10).map(String::as_str).collect();
                format!("name one of {}, or use `--all`", shown.join(", "))
            }
            Self::NoRegistry { name } => {
                format!("configure it in `[registries.{name}]` of your own configuration")
            }
            Self::NoToken { variable, .. } => format!("set `{variable}` to the token"),
            Self::ArchiveGone { name, .. } => {
                format!(
                    "another machine may have it in its store; `prowess update {name}` takes another version"
                )
            }
            Self::ServedChanged { name, .. } => {
                format!("see what changed with `prowess update {name} --dry-run`")
            }
            Self::PrivateHost { .. } => {
                "if you know the host, add it to `[install] sources` of your own configuration"
                    .to_owned()
            }
            Self::Offline { .. } => "run it again without `--offline`".to_owned(),
            Self::Frozen { .. } => "run `prowess lock` and commit the lock".to_owned(),
            Self::Digest { .. } => "the source changed what it gives; do not install it".to_owned(),
            Self::NoHistory { .. } => "list the states with `prowess rollback --list`".to_owned(),
            Self::NotInStore { .. } => "fetch them with `prowess sync`".to_owned(),
            _ => return None,
        })
    }
}
