//! Requests to the gate.

use crate::rule_set::PermissionRules;

/// The requested action.
#[derive(Clone, Debug)]
pub enum GateAction<'a> {
    /// Run a command line.
    Command {
        /// The line as it was typed.
        text: &'a str,
    },
    /// Read a file.
    Read {
        /// The path, absolute or relative to the project's root.
        path: &'a str,
    },
    /// Write, replace or remove a file.
    Write {
        /// The path, absolute or relative to the project's root.
        path: &'a str,
    },
    /// Connect to a host.
    Fetch {
        /// The host name, without a port.
        host: &'a str,
        /// `true` if the host is this machine or in a private network. Only `--approve` with
        /// exactly this host allows it without a prompt.
        private: bool,
        /// The tool, if the request may change something there: `http_post`. Rules about fetching
        /// then only restrict it, and rules about the tool allow it.
        changing: Option<&'a str>,
    },
    /// Call a tool.
    Tool {
        /// The name. Tools of MCP servers are `mcp__server__tool`.
        name: &'a str,
        /// Other names. Only rules that restrict may use them.
        also: &'a [&'a str],
        /// Arguments as texts. An argument with several values is listed several times.
        arguments: &'a [(&'a str, &'a str)],
    },
    /// Use a skill.
    Skill {
        /// The name in the catalogue.
        name: &'a str,
        /// All other names: aliases, qualified and unqualified names.
        also: &'a [&'a str],
        /// The action.
        action: SkillAction,
        /// The arguments, as one text.
        arguments: &'a str,
    },
}

/// An action on a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillAction {
    /// List it.
    List,
    /// Add its text to the conversation.
    Load,
    /// Remove its text.
    Unload,
    /// Read one of its files.
    Read,
    /// Run it: its commands, or the skill as a whole in a conversation of its own.
    Run,
}

impl SkillAction {
    /// Returns the word used in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Load => "load",
            Self::Unload => "unload",
            Self::Read => "read",
            Self::Run => "run",
        }
    }

    /// Returns `true` if the action changes nothing, so that it needs no approval.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::List | Self::Load | Self::Read)
    }
}

/// The origin of a request.
#[derive(Clone, Debug)]
pub struct Actor<'a> {
    /// The skill that makes the request; `None` for the agent itself.
    pub skill: Option<SkillActor<'a>>,
    /// The deny rules of the loaded skills: their `disallowed-tools`.
    pub restrictions: &'a PermissionRules,
}

/// The restrictions of a request that no loaded skill is concerned with.
static NO_RESTRICTIONS: PermissionRules = PermissionRules::NONE;

impl Default for Actor<'_> {
    /// Returns the agent itself, without loaded skills.
    fn default() -> Self {
        Self {
            skill: None,
            restrictions: &NO_RESTRICTIONS,
        }
    }
}

impl<'a> Actor<'a> {
    /// Applies the restrictions of the loaded skills.
    #[must_use]
    pub fn within(self, restrictions: &'a PermissionRules) -> Self {
        Self {
            restrictions,
            ..self
        }
    }
}

/// A skill that makes a request.
#[derive(Clone, Debug)]
pub struct SkillActor<'a> {
    /// The name.
    pub name: &'a str,
    /// The digest of all files.
    pub digest: &'a str,
    /// `true` if exactly this digest is trusted.
    pub trusted: bool,
    /// The folder with its files, if it has one. Its own rules with a relative path are about this
    /// folder.
    pub folder: Option<&'a str>,
    /// `true` for a skill of the project: its own rules with a relative path are about the project,
    /// too.
    pub of_project: bool,
    /// The rules from `allowed-tools` and `disallowed-tools`.
    pub tools: &'a PermissionRules,
    /// `true` if `allowed-tools` is everything that the skill may use (a sub-run, or `confine`),
    /// and not only what it may use without a prompt.
    pub ceiling: bool,
}
