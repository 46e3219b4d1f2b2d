//! Skills as tools of an agent.
//!
//! [`ToolContext`] holds everything that the tools need. [`activate()`] renders a skill and its
//! arguments to exactly the text that a model receives. [`Toolset`] selects the tools of an agent
//! and calls them; `skills/` has one file for each tool about skills. [`typed`] parses user input:
//! `/name text`. Sessions, the MCP server, the command line and the library share this code.

mod activate;
mod agent_library;
mod agent_permissions;
mod ask_human;
mod command_output;
mod context;
pub mod files;
mod hooks;
mod injected_commands;
mod invocation;
mod listing;
mod live_settings;
mod loaded;
pub mod missions;
pub mod names;
mod other_keys;
mod result_limit;
mod schema;
mod secrets;
mod skill_access;
mod skills;
mod snapshot;
mod tool;
mod tool_choice;
mod toolset;
mod typed_arguments;

pub use activate::{
    Activation, ActivationError, ActivationRequest, ActivationText, activate, open, read,
};
pub use agent_library::{
    AgentFileTrust, AgentLibrary, FoundAgent, UNKNOWN_SKILL, UserAgentsOnly, check_skills,
};
pub use agent_permissions::AgentPermissions;
pub use ask_human::AskHuman;
pub use command_output::{command_failure, looks_denied};
pub use hooks::{
    EventName, Handler, HookEnd, HookEvent, HookOutcome, HookRun, HookSet, HookState, HookToolCall,
    MAX_HANDLERS, Matcher, Said, hook_obstacle, run_hooks,
};
pub use injected_commands::{CommandRun, Execution, ExpandError};
pub use invocation::{InvokedSkill, MAX_STACKED, Typed, typed};
pub use live_settings::{LiveSettings, SettingsSource, SettingsVersion};
pub use loaded::Loaded;
pub use names::rule_names;
pub use result_limit::{MAX_BYTES, MAX_LINES};
pub use schema::{Schema, SchemaFault};
pub use secrets::SecretValues;
pub use skill_access::{agent_rules, decide_agent, load_rules, permit_agent, run_rules};
pub use skills::{
    ListSkills, LoadSkill, LoadSkillResource, LoadSkillResources, RunCommandLine, SearchSkills,
    Submit, UnloadSkill,
};
pub use snapshot::{SkillDocument, SkillEffects, SkillHandle, SkillSnapshot};
pub use tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, ToolSpec};
/// Helpers for writing tools: object schemas and input fields.
pub mod input {
    pub use crate::skill_access::plain_fields;
    pub use crate::tool::{number, object, text};
}
/// Helpers for writing tools: text that fits into a result.
pub mod answer {
    pub use crate::result_limit::{ends, head};
    pub use crate::skill_access::{listed, shown};
}

pub use context::{CLOSING, OwnedTool, Services, Settings, ToolContext, ToolOwner, ToolPaths};
pub use prowess_policy::Unattended;
pub use tool_choice::{SelectedTools, ServerTools, bans_skills, selected_tools, server_of};
pub use toolset::{Role, ToolSelection, Toolset};
pub use typed_arguments::check_arguments;
