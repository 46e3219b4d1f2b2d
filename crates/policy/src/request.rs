//! One question to the gate: who wants to do what.

use crate::rules::RuleSet;

/// What somebody wants to do.
#[derive(Clone, Debug)]
pub enum Action<'a> {
    /// Run a command line.
    Command {
        /// As it was typed.
        text: &'a str,
    },
    /// Read a file.
    Read {
        /// Its path, absolute or from the project's root.
        path: &'a str,
    },
    /// Write, replace or remove a file.
    Write {
        /// Its path, absolute or from the project's root.
        path: &'a str,
    },
    /// Talk to a host.
    Fetch {
        /// Its name, without port.
        host: &'a str,
    },
    /// Call a tool.
    Tool {
        /// Its name; tools of MCP servers are `mcp__server__tool`.
        name: &'a str,
        /// Its arguments at the top level that are plain values.
        arguments: &'a [(&'a str, &'a str)],
    },
    /// Do something with a skill.
    Skill {
        /// What it is called in the catalogue.
        name: &'a str,
        /// Every other name it answers to: aliases, qualified and unqualified names.
        also: &'a [&'a str],
        /// What is done: `load`, `run`, `read`.
        action: &'a str,
        /// The arguments, as one text.
        arguments: &'a str,
    },
}

/// On whose behalf.
#[derive(Clone, Debug, Default)]
pub struct Actor<'a> {
    /// The skill that wants it; nothing when the person's own agent does.
    pub skill: Option<SkillActor<'a>>,
}

/// A skill that wants something.
#[derive(Clone, Debug)]
pub struct SkillActor<'a> {
    /// Its name.
    pub name: &'a str,
    /// The digest over all its files.
    pub digest: &'a str,
    /// Whether a person trusts exactly this digest.
    pub trusted: bool,
    /// Its `allowed-tools` and `disallowed-tools`.
    pub tools: &'a RuleSet,
    /// Whether `allowed-tools` is all it may use (a sub-run, or `confine`), not only what it may use
    /// unasked.
    pub ceiling: bool,
}
