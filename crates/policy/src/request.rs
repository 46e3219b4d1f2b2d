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
    },
    /// Call a tool.
    Tool {
        /// The name. Tools of MCP servers are `mcp__server__tool`.
        name: &'a str,
        /// Top-level arguments that are plain values.
        arguments: &'a [(&'a str, &'a str)],
    },
    /// Use a skill.
    Skill {
        /// The name in the catalogue.
        name: &'a str,
        /// All other names: aliases, qualified and unqualified names.
        also: &'a [&'a str],
        /// The action: `load`, `run`, `read`.
        action: &'a str,
        /// The arguments, as one text.
        arguments: &'a str,
    },
}

/// The origin of a request.
#[derive(Clone, Debug, Default)]
pub struct Actor<'a> {
    /// The skill that makes the request; `None` for the agent itself.
    pub skill: Option<SkillActor<'a>>,
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
    /// The rules from `allowed-tools` and `disallowed-tools`.
    pub tools: &'a PermissionRules,
    /// `true` if `allowed-tools` is everything that the skill may use (a sub-run, or `confine`),
    /// and not only what it may use without a prompt.
    pub ceiling: bool,
}
