//! Missions of Squadron: HCL files that describe agents, skills and the tasks they work on.
//!
//! [`MissionProject::read`] turns the files of a folder into a project and findings. Nothing is run,
//! and no file is opened except through [`ProjectFiles`].

mod blocks;
mod brief;
mod draw;
mod fill;
mod graph;
mod inputs;
mod machine;
#[cfg(test)]
mod machine_tests;
mod model;
mod read;
mod read_mission;
mod read_schema;
mod reader;
mod schedule;
mod schema;
#[cfg(test)]
mod tests;
mod uses;

use prowess_diag::FileReport;
use prowess_spec::ReadFault;

pub use brief::{
    BriefFault, MAX_OUTPUT, MAX_SUMMARY, NO_ROUTE, TaskBrief, route_name, task_report,
};
pub use draw::GraphFormat;
pub use fill::{BlockFillError, FillVariable, fill};
pub use inputs::{InputFault, InputValues};
pub use machine::{
    ChosenRoute, MAX_DATASET, MISSION_VERSION, MissionBudget, MissionEnding, MissionEvent,
    MissionFault, MissionLimit, MissionStart, MissionState, MissionStep, MissionUnit, MissionUsage,
    RoutedBy, TaskEnding, TaskState, UnitResult, UnitState, is_parallel_task, micros,
};
pub(crate) use model::first_sentence;
pub use model::{
    AgentBlock, BlockPlace, BoundTool, Budget, COMMANDER_TOOLS, Commander, ContextLimits, Dataset,
    DatasetItems, DefinitionScope, MemoryBlock, Mission, MissionTask, ModelBlock, ModelPrice,
    ModelRef, PacketBlock, ParallelItems, ProjectFile, Route, RouteTarget, ServerBlock, SkillBlock,
    TaskIterator, ToolRef, Trigger, VariableBlock,
};
pub use prowess_hcl::{Value, value_text};
pub use read::variable_name;
pub(crate) use reader::{built_in_tool, project_path};
pub use schedule::{Schedule, ScheduleTimes, WEEKDAYS, clock_text, parse_time, time_text};
pub use schema::{Field, FieldType, from_json, json_schema, to_json};

use crate::ProjectFiles;

/// The agents, skills and missions of a folder.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MissionProject {
    /// The files that it was read from, by path: those with blocks, and those that were loaded.
    pub files: Vec<ProjectFile>,
    /// Variables, by name.
    pub variables: Vec<VariableBlock>,
    /// Models, in source order.
    pub models: Vec<ModelBlock>,
    /// MCP servers, in source order.
    pub servers: Vec<ServerBlock>,
    /// Bound tools, in source order.
    pub tools: Vec<BoundTool>,
    /// Skills, in source order: global ones, those of agents, those of agents of missions.
    pub skills: Vec<SkillBlock>,
    /// Agents, in source order: global ones, then those of missions.
    pub agents: Vec<AgentBlock>,
    /// Memories, in source order.
    pub memories: Vec<MemoryBlock>,
    /// Packets, in source order.
    pub packets: Vec<PacketBlock>,
    /// Missions, in source order.
    pub missions: Vec<Mission>,
}

/// An `.hcl` file of a project.
#[derive(Clone, Debug)]
pub struct MissionText {
    /// Its path in the project.
    pub path: String,
    /// Its bytes, or the reason why it could not be read.
    pub bytes: Result<Vec<u8>, ReadFault>,
}

/// What is known outside of the files of a project.
pub struct MissionSettings<'a> {
    /// Returns the value of a variable that is set outside of the project.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Returns `true` if a variable was set as a secret, whatever its block says.
    pub is_secret: &'a dyn Fn(&str) -> bool,
    /// Returns the MCP server that replaces a plugin.
    pub plugin: &'a dyn Fn(&str) -> Option<String>,
    /// Returns `true` if the user has an MCP server with a name.
    pub has_server: &'a dyn Fn(&str) -> bool,
    /// Returns the names of the skills in the library. Called at most once, if needed.
    pub library: &'a dyn Fn() -> Vec<String>,
}

impl Default for MissionSettings<'_> {
    /// Returns settings without variables, stand-ins and skills. Every server exists.
    fn default() -> Self {
        Self {
            variable: &|_| None,
            is_secret: &|_| false,
            plugin: &|_| None,
            has_server: &|_| true,
            library: &Vec::new,
        }
    }
}

impl std::fmt::Debug for MissionSettings<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MissionSettings")
            .finish_non_exhaustive()
    }
}

impl MissionProject {
    /// Reads a project. `files` are its `.hcl` files, in any order.
    pub fn read(
        files: &[MissionText],
        others: &dyn ProjectFiles,
        settings: &MissionSettings<'_>,
    ) -> (Self, Vec<FileReport>) {
        read::read(files, others, settings)
    }

    /// Returns the mission with a name.
    pub fn mission(&self, name: &str) -> Option<&Mission> {
        self.missions.iter().find(|mission| &*mission.name == name)
    }
}

/// Returns `true` if a file has a block of a mission project. Used to find the folder of a project.
pub fn is_mission_file(bytes: &[u8]) -> bool {
    let tree = prowess_hcl::parse(bytes);
    tree.items.iter().any(|item| match item {
        prowess_hcl::Item::Block(block) => matches!(
            &*block.kind.text,
            "mission" | "agent" | "skill" | "workflow" | "model" | "plugin" | "mcp" | "tool"
        ),
        prowess_hcl::Item::Attribute(_) => false,
    })
}

/// The rules about mission files.
pub(crate) mod rules {
    use prowess_diag::Severity;

    use crate::file_reader::AgentRule;

    const fn error(id: &'static str) -> AgentRule {
        AgentRule {
            id,
            severity: Severity::Error,
        }
    }

    /// The file is not valid HCL.
    pub(crate) const SYNTAX: AgentRule = error("mission-syntax");
    /// A name is missing, invalid or used twice.
    pub(crate) const NAME: AgentRule = error("mission-name");
    /// A block or attribute is unknown.
    pub(crate) const KEY: AgentRule = error("mission-key");
    /// A value is missing or invalid.
    pub(crate) const VALUE: AgentRule = error("mission-value");
    /// A reference has no definition.
    pub(crate) const REFERENCE: AgentRule = error("mission-reference");
    /// A path cannot be used.
    pub(crate) const PATH: AgentRule = error("mission-path");
    /// A secret is in a text for a model.
    pub(crate) const SECRET: AgentRule = error("mission-secret");
    /// The tasks of a mission cannot run in any order.
    pub(crate) const GRAPH: AgentRule = error("mission-graph");
    /// A feature of Squadron does not exist here.
    pub(crate) const UNSUPPORTED: AgentRule = error("mission-unsupported");
    /// A setting has another meaning here, or none.
    pub(crate) const IGNORED: AgentRule = AgentRule {
        severity: Severity::Note,
        ..error("mission-ignored")
    };

    /// All rules about mission files.
    #[cfg(test)]
    pub(crate) const MISSION_RULES: [AgentRule; 10] = [
        SYNTAX,
        NAME,
        KEY,
        VALUE,
        REFERENCE,
        PATH,
        SECRET,
        GRAPH,
        UNSUPPORTED,
        IGNORED,
    ];
}
