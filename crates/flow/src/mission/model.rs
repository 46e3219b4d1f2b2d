//! Missions, and the skills, agents, tools and servers that they use.

use prowess_diag::Span;
use prowess_hcl::Value;
use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use super::schema::Field;

/// A place in a file of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlace {
    /// The path of the file in the project.
    pub file: Box<str>,
    /// The line, from 1.
    pub line: u32,
    /// The place in the text. Not stored.
    #[serde(skip)]
    pub span: Span,
}

/// The part of a project that a definition belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionScope {
    /// The whole project.
    Global,
    /// One agent of the project.
    Agent(Box<str>),
    /// One mission.
    Mission(Box<str>),
    /// One agent of one mission.
    MissionAgent {
        /// The mission.
        mission: Box<str>,
        /// The agent.
        agent: Box<str>,
    },
}

impl std::fmt::Display for DefinitionScope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Global => formatter.write_str("global"),
            Self::Agent(agent) => write!(formatter, "agent {agent}"),
            Self::Mission(mission) => write!(formatter, "mission {mission}"),
            Self::MissionAgent { mission, agent } => {
                write!(formatter, "mission {mission} agent {agent}")
            }
        }
    }
}

/// A file that the project was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFile {
    /// Its path in the project.
    pub path: Box<str>,
    /// The SHA-256 digest of its bytes: `sha256:…`.
    pub digest: Box<str>,
}

/// A tool that an agent, a skill or a bound tool uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRef {
    /// A built-in tool: `http.get`.
    BuiltIn(Box<str>),
    /// A `tool` block.
    Bound(Box<str>),
    /// A tool of an MCP server. The tool `all` is every tool of the server.
    Server {
        /// The server.
        server: Box<str>,
        /// The tool.
        tool: Box<str>,
    },
    /// A tool of an MCP server of the user's settings, which replaces a plugin.
    UserServer {
        /// The server.
        server: Box<str>,
        /// The tool.
        tool: Box<str>,
    },
    /// A tool of a plugin that no MCP server replaces.
    Plugin {
        /// The plugin.
        plugin: Box<str>,
        /// The tool.
        tool: Box<str>,
    },
}

impl std::fmt::Display for ToolRef {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn(name) | Self::Bound(name) => formatter.write_str(name),
            Self::Server { server, tool } | Self::UserServer { server, tool } => {
                write!(formatter, "mcp.{server}.{tool}")
            }
            Self::Plugin { plugin, tool } => write!(formatter, "plugins.{plugin}.{tool}"),
        }
    }
}

/// A model of a `model` block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// The label of the block.
    pub block: Box<str>,
    /// The name after it.
    pub name: Box<str>,
}

/// A `skill` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillBlock {
    /// Its name.
    pub name: Box<str>,
    /// The owner.
    pub scope: DefinitionScope,
    /// When to load it.
    pub description: Value,
    /// The text that a model receives.
    pub instructions: Value,
    /// The tools that loading it adds.
    pub tools: Vec<ToolRef>,
    /// The folder with a `SKILL.md` that it takes instead of `instructions`.
    pub folder: Option<Box<str>>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// The limits of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLimits {
    /// `compaction`: the number of tokens from which old messages are summarised, and the number of
    /// turns that are kept.
    pub compaction: Option<(u64, u64)>,
    /// `pruning`: the number of messages from which old ones are dropped, and the number that is
    /// kept.
    pub pruning: Option<(u64, u64)>,
    /// `tool_response`: the maximum number of tokens of one result.
    pub result_tokens: Option<u64>,
}

/// An `agent` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentBlock {
    /// Its name.
    pub name: Box<str>,
    /// The owner: the project or a mission.
    pub scope: DefinitionScope,
    /// `personality`
    pub personality: Value,
    /// `role`
    pub role: Option<Value>,
    /// The model.
    pub model: Option<ModelRef>,
    /// `reasoning`: `low`, `medium` or `high`.
    pub effort: Option<Box<str>>,
    /// Its tools.
    pub tools: Vec<ToolRef>,
    /// Its skills: those that it lists, then its own.
    pub skills: Vec<Box<str>>,
    /// Its limits.
    pub limits: ContextLimits,
    /// The place of its definition.
    pub place: BlockPlace,
}

impl AgentBlock {
    /// Returns the text that commanders read: the role, or the first sentence of the personality.
    pub fn description(&self) -> Option<&str> {
        let role = self.role.as_ref().and_then(Value::as_text);
        if let Some(role) = role.map(str::trim).filter(|role| !role.is_empty()) {
            return Some(role);
        }
        self.personality.as_text().map(first_sentence)
    }
}

/// Returns the first sentence of a text, or its first line if that is shorter.
pub(crate) fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    let line = text.find('\n').unwrap_or(text.len());
    &text[..end.min(line)]
}

/// A `tool` block: a tool with some of its parameters fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundTool {
    /// Its name.
    pub name: Box<str>,
    /// The tool that it calls.
    pub implements: Option<ToolRef>,
    /// When to call it.
    pub description: Option<Value>,
    /// What a model passes.
    pub inputs: Vec<Field>,
    /// The parameters of the tool that it calls. They may need `inputs` and secrets.
    pub parameters: Vec<(Box<str>, Value)>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// An `mcp` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerBlock {
    /// Its name.
    pub name: Box<str>,
    /// The attributes. They may need secrets.
    pub settings: Vec<(Box<str>, Value)>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// A `model` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelBlock {
    /// Its label.
    pub name: Box<str>,
    /// `anthropic`, `openai`, `gemini` or `ollama`.
    pub provider: Box<str>,
    /// The key. It may need a secret.
    pub api_key: Option<Value>,
    /// The address of the server.
    pub base_url: Option<Value>,
    /// Names, and the names of the provider.
    pub aliases: Vec<(Box<str>, Box<str>)>,
    /// Prices, by name.
    #[serde(default)]
    pub prices: Vec<(Box<str>, ModelPrice)>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// A `pricing` block: dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// Input.
    pub input: Option<f64>,
    /// Output.
    pub output: Option<f64>,
    /// Input that was read from a cache.
    pub cache_read: Option<f64>,
    /// Input that was written to a cache.
    pub cache_write: Option<f64>,
}

/// A `variable` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariableBlock {
    /// Its name.
    pub name: Box<str>,
    /// `true` if its value may reach no model, record or output.
    pub is_secret: bool,
    /// `true` if the file has a default.
    #[serde(default)]
    pub has_default: bool,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// A `memory` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryBlock {
    /// Its name. The memory of a mission has the name of the mission.
    pub name: Box<str>,
    /// Its contents, in a sentence.
    pub description: Value,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// A `packet` block: a folder that agents may read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacketBlock {
    /// Its name.
    pub name: Box<str>,
    /// The folder in the project.
    pub path: Box<str>,
    /// Its contents, in a sentence.
    pub description: Option<Value>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// The model that runs the tasks of a mission. It has no skills.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Commander {
    /// The model.
    pub model: Option<ModelRef>,
    /// `reasoning`
    pub effort: Option<Box<str>>,
    /// Its limits.
    pub limits: ContextLimits,
}

/// The tools of every commander.
pub const COMMANDER_TOOLS: [&str; 13] = [
    "set_subtasks",
    "complete_subtask",
    "get_subtasks",
    "call_agent",
    "ask_agent",
    "ask_commander",
    "query_task_output",
    "dataset_next",
    "dataset_set",
    "dataset_sample",
    "dataset_count",
    "submit_output",
    "task_complete",
];

/// A `budget` block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Maximum number of tokens.
    pub tokens: Option<u64>,
    /// Maximum cost, as it is written.
    pub dollars: Option<Box<str>>,
}

/// A mission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mission {
    /// Its name.
    pub name: Box<str>,
    /// Its purpose.
    pub directive: Option<Value>,
    /// The model that runs its tasks.
    pub commander: Commander,
    /// The agents that its tasks may call.
    pub agents: Vec<Box<str>>,
    /// The inputs of a run.
    pub inputs: Vec<Field>,
    /// Its datasets.
    pub datasets: Vec<Dataset>,
    /// Its tasks, in source order.
    pub tasks: Vec<MissionTask>,
    /// The memories of the project that it may use.
    pub memories: Vec<Box<str>>,
    /// The description of its own memory.
    pub memory: Option<Value>,
    /// The packets that all its tasks may read.
    pub packets: Vec<Box<str>>,
    /// `true` if each run has a folder of its own.
    pub has_scratchpad: bool,
    /// Maximum number of tasks at a time.
    pub max_parallel: u32,
    /// The times at which it starts.
    pub schedules: Vec<Schedule>,
    /// The web hook that starts it.
    pub trigger: Option<Trigger>,
    /// Its budget.
    pub budget: Budget,
    /// The place of its definition.
    pub place: BlockPlace,
}

impl Mission {
    /// Returns the task with a name.
    pub fn task(&self, name: &str) -> Option<&MissionTask> {
        self.tasks.iter().find(|task| &*task.name == name)
    }

    /// Returns the dataset with a name.
    pub fn dataset(&self, name: &str) -> Option<&Dataset> {
        self.datasets.iter().find(|dataset| &*dataset.name == name)
    }
}

/// A `dataset` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// Its name.
    pub name: Box<str>,
    /// Its contents, in a sentence.
    pub description: Option<Value>,
    /// The fields of an item. Empty if items have any fields.
    pub schema: Vec<Field>,
    /// The origin of the items.
    pub items: DatasetItems,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// The origin of the items of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetItems {
    /// In the file.
    Given(Vec<Value>),
    /// An input of the mission.
    Input(Box<str>),
    /// A task adds them.
    Filled,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissionTask {
    /// Its name.
    pub name: Box<str>,
    /// What to do. It may need inputs and an item.
    pub objective: Value,
    /// The agents that it may call instead of those of the mission.
    pub agents: Option<Vec<Box<str>>>,
    /// Tasks that must end before it starts.
    pub depends_on: Vec<Box<str>>,
    /// Tasks that start after it.
    pub send_to: Vec<Box<str>>,
    /// The tasks and missions of which its commander chooses one.
    pub routes: Vec<Route>,
    /// The dataset that it runs over.
    pub iterator: Option<TaskIterator>,
    /// The fields of its result. `None` for plain text.
    pub output: Option<Vec<Field>>,
    /// Its budget.
    pub budget: Budget,
    /// The packets that it may read, in addition to those of the mission.
    pub packets: Vec<Box<str>>,
    /// The place of its definition.
    pub place: BlockPlace,
}

/// One choice of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The target.
    pub target: RouteTarget,
    /// When to choose it.
    pub condition: Value,
}

/// The target of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteTarget {
    /// A task of this mission.
    Task(Box<str>),
    /// Another mission.
    Mission {
        /// The mission.
        name: Box<str>,
        /// The task with which it starts, instead of all that can start.
        entry: Option<Box<str>>,
    },
}

/// An `iterator` block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskIterator {
    /// The dataset.
    pub dataset: Box<str>,
    /// The settings of parallel iterations. `None` if one commander does them in order.
    pub parallel: Option<ParallelItems>,
    /// Maximum number of retries of an item.
    pub retries: u32,
}

/// The settings of parallel iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParallelItems {
    /// Maximum number of items at a time.
    pub limit: u32,
    /// Milliseconds between the first starts.
    pub start_delay: u64,
    /// `true` if the first item must succeed before others start.
    pub smoke_test: bool,
}

/// A `trigger` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The path of the web hook.
    pub path: Box<str>,
    /// The secret that a caller must send.
    pub secret: Option<Value>,
}
