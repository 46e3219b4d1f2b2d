//! Skills that MCP servers offer, as sources of packages.

use std::fmt::Debug;

/// Asks the MCP servers of a person for their skills. A server is started when it is first asked.
pub trait SkillServers: Send + Sync + Debug {
    /// Lists the skills of a server. Blocks, within the limits of the client.
    fn list(&self, server: &str) -> Result<OfferedSkills, SkillServerError>;

    /// Reads a file of a listed skill. The content is what the list promised, or an error.
    fn read(&self, server: &str, skill: &str, path: &str) -> Result<Vec<u8>, SkillServerError>;
}

/// The skills of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedSkills {
    /// The skills, sorted by address.
    pub skills: Vec<OfferedSkill>,
    /// Addresses of entries that are not valid, with the reason.
    pub faults: Vec<(String, String)>,
}

/// A skill of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedSkill {
    /// The address of its folder.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its files, sorted by path. `None` if the server does not list them.
    pub files: Option<Vec<OfferedFile>>,
}

/// A file of a skill of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedFile {
    /// The path relative to the folder of the skill.
    pub path: String,
    /// The address.
    pub uri: String,
    /// The size in bytes.
    pub size: u64,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// Error from a server that was asked for skills. Texts have no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillServerError {
    /// The person's own settings have no such server.
    #[error("your settings have no MCP server `{server}`")]
    Unknown {
        /// The name.
        server: String,
    },
    /// The server does not offer skills.
    #[error("MCP server `{server}` does not have the skills extension")]
    NoSkills {
        /// The name.
        server: String,
    },
    /// The server cannot be used, or its answer is not what it listed.
    #[error("{message}")]
    Failed {
        /// The name.
        server: String,
        /// The reason.
        message: String,
    },
}
