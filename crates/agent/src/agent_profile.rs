//! The agent that a session runs as.

use serde::{Deserialize, Serialize};

/// An agent as it was when a session started: everything that a resumed session needs in order to
/// have the same instructions, tools and skills. The model, the effort and the budget are recorded
/// with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProfile {
    /// The name that finds the agent again.
    pub name: Box<str>,
    /// The name that its file gives it. `None` for an agent that no file defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Box<str>>,
    /// The file that defines it. `None` for an agent that no file defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<AgentSource>,
    /// The instructions. `None` for those of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The notes about the project.
    #[serde(default)]
    pub notes: AgentNotes,
    /// The only tools that it has besides those about skills. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Box<str>>>,
    /// Tools that only agents and skills that name them have, and that its list names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_tools: Vec<Box<str>>,
    /// The only tools that the sub-runs of its skills have, if they are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_tools: Option<Vec<Box<str>>>,
    /// `true` if it may only use tools that change nothing.
    #[serde(default)]
    pub read_only: bool,
    /// The only skills that it has. `None` for all, an empty list for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Skills that it does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_skills: Vec<String>,
    /// The folders whose skills replace those of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<Box<str>>>,
    /// The slash commands that only it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<AgentCommand>,
    /// `true` if each of its skills runs in a conversation of its own.
    #[serde(default)]
    pub forks_skills: bool,
    /// The agents that it may start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub team: Vec<TeamMember>,
    /// The tools and skills that it may give to agents that it defines itself. `None` if it may not
    /// define any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<SpawnLimits>,
    /// The greatest depth of a session below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u8>,
    /// The maximum size of one tool result, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_tokens: Option<u32>,
    /// `true` if it directs a task of a mission: it has the tools for that and no others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_commander: bool,
    /// The skills that its mission defines for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_skills: Vec<OwnSkill>,
    /// The tools among `tools` that it has only while one of its own skills that lists them is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skill_only_tools: Vec<Box<str>>,
}

/// A skill that a mission defines for an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSkill {
    /// Its name.
    pub name: Box<str>,
    /// When to load it.
    pub description: String,
    /// Its text.
    pub instructions: String,
    /// `true` if the text is that of a `SKILL.md`, which may have placeholders and commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_template: bool,
    /// The folder of this `SKILL.md`, whose other files and frontmatter count as long as its text is the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Box<str>>,
    /// What the model is told after the text: the tools that the skill adds, and those that are missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The tools that loading it adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Box<str>>,
}

/// The file that defines an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSource {
    /// The path.
    pub path: Box<str>,
    /// The digest over the file and the file of the instructions.
    pub digest: Box<str>,
    /// `true` if the file belongs to the project, not to the user.
    pub in_project: bool,
}

/// The notes in the prompt of an agent, after its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentNotes {
    /// Those of the project.
    #[default]
    Project,
    /// Its own.
    Own(String),
    /// None.
    Without,
}

/// A slash command of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// Its name.
    pub name: Box<str>,
    /// The path of its file.
    pub file: Box<str>,
}

/// An agent that another one may start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMember {
    /// The name that the model uses.
    pub name: Box<str>,
    /// The name that finds the agent.
    pub agent: Box<str>,
    /// When to use it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub description: Box<str>,
    /// `true` if it is a tool of its own name too.
    #[serde(default)]
    pub is_tool: bool,
}

/// The limits of agents that a model defines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnLimits {
    /// The tools that such an agent may have. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Box<str>>>,
    /// The skills that such an agent may have. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
}
