//! Agents and teams, independent of the system whose files they come from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_diag::{Diagnostic, FileReport, Span};

use crate::Dialect;

/// Maximum length of an agent's name, in characters.
const MAX_NAME: usize = 64;

/// The name of an agent or a team: one visible line of at most 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Box<str>);

/// The reason why a text is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentNameFault {
    /// Empty after trimming.
    Empty,
    /// Longer than 64 characters.
    Long,
    /// Contains a control, direction or invisible character.
    Characters,
    /// Contains `:` or `/`, which separate the parts of qualified names.
    Separator,
}

impl AgentNameFault {
    /// Returns the reason as a clause.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "is empty",
            Self::Long => "has more than 64 characters",
            Self::Characters => "contains control or invisible characters",
            Self::Separator => "contains `:` or `/`",
        }
    }
}

impl AgentName {
    /// Checks a name. Whitespace around it is removed.
    pub fn new(text: &str) -> Result<Self, AgentNameFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AgentNameFault::Empty);
        }
        let is_hidden = |c: char| {
            c.is_control()
                || prowess_diag::sanitize::is_deceptive(c)
                || matches!(c, '\u{2028}' | '\u{2029}')
        };
        if text.contains(is_hidden) {
            return Err(AgentNameFault::Characters);
        }
        if text.contains([':', '/']) {
            return Err(AgentNameFault::Separator);
        }
        if text.chars().nth(MAX_NAME).is_some() {
            return Err(AgentNameFault::Long);
        }
        Ok(Self(text.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for AgentName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The agents of one file, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct AgentFile {
    /// The path of the file in the project.
    pub path: Box<str>,
    /// The system whose format it has.
    pub dialect: Dialect,
    /// The agents in file order.
    pub agents: Vec<AgentDef>,
    /// The team that the agents form, if the file describes one.
    pub team: Option<TeamDef>,
    /// The files that the agents were read from, this one included, with the digest of each. Skills
    /// are not among them.
    pub sources: BTreeMap<Box<str>, Box<str>>,
    /// The folder that the paths are relative to. Empty if the file was not read from a disk.
    pub root: PathBuf,
    /// Findings, for this file and the files that it names. Files without findings are omitted.
    pub reports: Vec<FileReport>,
}

impl AgentFile {
    /// Returns a file that could not be read, with the reason as its only finding.
    pub fn unread(dialect: Dialect, path: &str, message: String) -> Self {
        Self {
            path: path.into(),
            dialect,
            agents: Vec::new(),
            team: None,
            sources: BTreeMap::new(),
            root: PathBuf::new(),
            reports: vec![FileReport {
                path: path.to_owned(),
                text: None,
                diagnostics: vec![Diagnostic {
                    rule: crate::file_reader::PATH.id,
                    severity: crate::file_reader::PATH.severity,
                    message: message.into(),
                    span: None,
                    label: None,
                    help: None,
                    fix: None,
                }],
            }],
        }
    }
}

/// Returns the finding about a skill that an agent names and that does not exist.
pub fn unknown_skill(name: &str, span: Span, near: Option<&str>) -> Diagnostic {
    let help = match near {
        Some(near) => format!("did you mean `{}`?", crate::file_reader::shown(near)),
        None => "no skill of this name exists; list skills with `prowess list`".to_owned(),
    };
    Diagnostic {
        rule: crate::file_reader::SKILL.id,
        severity: crate::file_reader::SKILL.severity,
        message: format!("unknown skill `{}`", crate::file_reader::shown(name)).into(),
        span: Some(span),
        label: None,
        help: Some(help.into()),
        fix: None,
    }
}

/// An agent: a prompt, and what it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDef {
    /// Its name, unique in its file.
    pub name: AgentName,
    /// The system whose format the file has.
    pub dialect: Dialect,
    /// The path of the file in the project.
    pub file: Box<str>,
    /// The place of its definition in the file.
    pub span: Span,
    /// When to use it, for other agents and for people.
    pub description: Box<str>,
    /// Its instructions.
    pub prompt: Box<str>,
    /// The place of the instructions.
    pub prompt_source: PromptSource,
    /// The model.
    pub model: ModelChoice,
    /// The effort, as the file names it.
    pub effort: Option<Box<str>>,
    /// The tools that it may use, in the names of its dialect.
    pub tools: Selection,
    /// The MCP servers that it may use.
    pub servers: Selection,
    /// The skills that it may load.
    pub skills: Selection,
    /// Skills that are in its prompt from the start.
    pub preload: Vec<Box<str>>,
    /// The names of skills in the file, with their places.
    pub skill_names: Vec<(Box<str>, Span)>,
    /// Folders of skills that only this agent has, by the name of the skill.
    pub skill_folders: Vec<(Box<str>, Box<str>)>,
    /// Files with MCP servers that only this agent has. They are started only for trusted agents.
    pub server_files: Vec<ServerFile>,
    /// A folder whose skills, servers and instructions replace those of the project.
    pub root: Option<Box<str>>,
    /// The agents that it may start.
    pub calls: Selection,
    /// Its limits.
    pub limits: AgentLimits,
    /// `true` if it may only use tools that change nothing.
    pub is_read_only: bool,
    /// Keys that are kept and have no effect here.
    pub ignored: Vec<Box<str>>,
}

/// A file with MCP servers, as it was read: the servers that are shown and started are parsed from
/// the text whose digest is among the sources of the agent file.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// Its path in the project.
    pub path: Box<str>,
    /// Its text.
    pub text: Box<str>,
}

impl std::fmt::Debug for ServerFile {
    /// Prints no text: variables and headers may contain secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ServerFile({})", self.path)
    }
}

/// The place of an agent's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptSource {
    /// In the file that defines the agent.
    Inline,
    /// In another file of the project.
    File(Box<str>),
    /// In a file that could not be read, as the path is written. A finding says why.
    Unread(Box<str>),
    /// Nowhere: the agent has no instructions.
    None,
}

/// A choice among the skills, tools, servers or agents that a session has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these; `None` for all.
    pub only: Option<Vec<Box<str>>>,
    /// None of these.
    pub without: Vec<Box<str>>,
}

impl AgentDef {
    /// Returns an agent that has what the session has and starts no others.
    pub(crate) fn new(name: AgentName, dialect: Dialect, file: &str, span: Span) -> Self {
        Self {
            name,
            dialect,
            file: file.into(),
            span,
            description: Box::default(),
            prompt: Box::default(),
            prompt_source: PromptSource::None,
            model: ModelChoice::Inherit,
            effort: None,
            tools: Selection::all(),
            servers: Selection::all(),
            skills: Selection::all(),
            preload: Vec::new(),
            skill_names: Vec::new(),
            skill_folders: Vec::new(),
            server_files: Vec::new(),
            root: None,
            calls: Selection::none(),
            limits: AgentLimits::default(),
            is_read_only: false,
            ignored: Vec::new(),
        }
    }

    /// Sets instructions that are in the file itself.
    pub(crate) fn set_prompt(&mut self, prompt: &str) {
        self.prompt = prompt.trim().into();
        if !self.prompt.is_empty() {
            self.prompt_source = PromptSource::Inline;
        }
    }
}

impl Selection {
    /// Selects everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects nothing.
    pub fn none() -> Self {
        Self::these(Vec::new())
    }

    /// Selects the names of a list, in which `*` stands for everything.
    pub fn listed(names: Vec<Box<str>>) -> Self {
        if names.iter().any(|name| &**name == "*") {
            return Self::all();
        }
        Self::these(names)
    }

    /// Selects these names.
    pub fn these(names: Vec<Box<str>>) -> Self {
        Self {
            only: Some(names),
            without: Vec::new(),
        }
    }

    /// Returns `true` if a name is selected.
    pub fn contains(&self, name: &str) -> bool {
        let is_named = |names: &[Box<str>]| names.iter().any(|one| &**one == name);
        self.only.as_deref().is_none_or(is_named) && !is_named(&self.without)
    }
}

/// The model of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The model of the session that starts the agent.
    #[default]
    Inherit,
    /// One of Claude Code's words for a family of models.
    Alias(ModelAlias),
    /// A model by name.
    Named {
        /// The provider, if the file names one.
        provider: Option<Box<str>>,
        /// The name.
        name: Box<str>,
        /// The address of the server, if the file names one.
        base_url: Option<Box<str>>,
    },
}

/// Claude Code's words for models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelAlias {
    /// `opus`
    Opus,
    /// `sonnet`
    Sonnet,
    /// `haiku`
    Haiku,
}

impl ModelAlias {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opus => "opus",
            Self::Sonnet => "sonnet",
            Self::Haiku => "haiku",
        }
    }
}

impl ModelChoice {
    /// Parses the value of a `model` key: `inherit`, a word of Claude Code, `provider/name`, or a
    /// name.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let aliases = [ModelAlias::Opus, ModelAlias::Sonnet, ModelAlias::Haiku];
        let alias = aliases
            .into_iter()
            .find(|alias| alias.as_str().eq_ignore_ascii_case(text));
        match (alias, text.split_once('/')) {
            (Some(alias), _) => Self::Alias(alias),
            _ if text.is_empty() || text.eq_ignore_ascii_case("inherit") => Self::Inherit,
            (None, Some((provider, name))) if !provider.is_empty() && !name.is_empty() => {
                Self::Named {
                    provider: Some(provider.into()),
                    name: name.into(),
                    base_url: None,
                }
            }
            (None, _) => Self::Named {
                provider: None,
                name: text.into(),
                base_url: None,
            },
        }
    }

    /// Returns the choice in the notation of [`Self::parse`].
    pub fn spec(&self) -> String {
        match self {
            Self::Inherit => "inherit".to_owned(),
            Self::Alias(alias) => alias.as_str().to_owned(),
            Self::Named {
                provider: Some(provider),
                name,
                ..
            } => format!("{provider}/{name}"),
            Self::Named { name, .. } => name.to_string(),
        }
    }
}

/// The limits of an agent. `None` leaves the limit of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AgentLimits {
    /// Maximum number of turns.
    pub turns: Option<u32>,
    /// Maximum time, in seconds.
    pub seconds: Option<u64>,
    /// Maximum cost, in millionths of a dollar.
    pub micros: Option<u64>,
    /// Maximum depth of sub-agents below it.
    pub depth: Option<u32>,
}

/// Agents that work together.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamDef {
    /// Its name.
    pub name: AgentName,
    /// What it does.
    pub description: Option<Box<str>>,
    /// The agent that the user talks to; `None` if that is the session itself.
    pub entry: Option<AgentName>,
    /// How its agents work together.
    pub kind: TeamKind,
    /// Its slash commands.
    pub commands: Vec<CommandDef>,
    /// The place of its definition.
    pub span: Span,
}

/// How the agents of a team work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamKind {
    /// An orchestrator starts workers, which start none (Planck).
    Orchestrated,
    /// An entry agent and others; each skill is an agent of its own (`skilled_crew`).
    Crew,
    /// Agents that the session may start (core-agent).
    Roster,
}

/// A slash command of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDef {
    /// Its name.
    pub name: Box<str>,
    /// The path of its file in the project.
    pub file: Box<str>,
}
