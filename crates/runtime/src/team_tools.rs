//! The tools with which an agent starts other agents: `call_agent`, `list_team` and `spawn_agent`.
//!
//! A session intercepts calls that start an agent, because they run a conversation of their own.

use std::sync::Arc;

use prowess_agent::{AgentProfile, SpawnLimits, TeamMember};
use prowess_tools::input::object;
use prowess_tools::{
    Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, Toolset, answer,
};
use serde_json::{Value, json};

/// Starts an agent and waits for its answer.
pub(crate) const CALL_AGENT: &str = "call_agent";
/// Lists the agents that can be started.
pub(crate) const LIST_TEAM: &str = "list_team";
/// Starts an agent that the model defines.
pub(crate) const SPAWN_AGENT: &str = "spawn_agent";

/// Maximum length of the list of agents in a description, in characters.
const MAX_LIST: usize = 6_000;
/// Maximum length of the description of one agent in a list, in characters.
const MAX_ABOUT: usize = 300;
/// Maximum length of a tool's name. Providers accept no longer ones.
const MAX_TOOL_NAME: usize = 64;

/// Adds the tools of an agent that may start others.
pub(crate) fn add(profile: &AgentProfile, tools: &mut Toolset) {
    let members: Arc<[TeamMember]> = profile.team.clone().into();
    if !members.is_empty() {
        tools.add(Arc::new(CallAgent(Arc::clone(&members))));
        if !profile.is_commander {
            tools.add(Arc::new(ListTeam(Arc::clone(&members))));
        }
    }
    if let Some(limits) = &profile.spawns {
        tools.add(Arc::new(SpawnAgent(limits.clone())));
    }
    let own = members.iter().filter(|member| is_tool(member));
    for member in own
        .filter(|member| !tools.has(&member.name))
        .cloned()
        .collect::<Vec<_>>()
    {
        tools.add(Arc::new(MemberTool(member)));
    }
}

/// Returns `true` if an agent is a tool of its own name.
pub(crate) fn is_tool(member: &TeamMember) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    member.is_tool && member.name.len() <= MAX_TOOL_NAME && member.name.chars().all(is_plain)
}

/// `call_agent`
#[derive(Debug)]
struct CallAgent(Arc<[TeamMember]>);

/// `list_team`
#[derive(Debug)]
struct ListTeam(Arc<[TeamMember]>);

/// `spawn_agent`
#[derive(Debug)]
struct SpawnAgent(SpawnLimits);

/// An agent as a tool of its own name.
#[derive(Debug)]
struct MemberTool(TeamMember);

fn task() -> Value {
    json!({
        "type": "string",
        "description": "The task. The agent sees only this text, so include everything it needs.",
    })
}

/// The tools that start an agent return its last text.
fn output() -> Value {
    object(&[("text", json!({ "type": "string" }))], &["text"])
}

/// Reports that a tool was called without a session.
fn not_here(name: &str) -> ToolError {
    let text = format!("{name} works only in a session.");
    ToolError::new(ToolErrorKind::Failed, text)
}

/// Lists agents, one per line, as many as fit.
fn listing(members: &[TeamMember], characters: usize) -> String {
    let mut text = String::new();
    for (at, member) in members.iter().enumerate() {
        let about = prowess_diag::wording::shorten(&member.description, MAX_ABOUT);
        let line = if about.is_empty() {
            format!("\n- {}", answer::shown(&member.name))
        } else {
            format!("\n- {}: {about}", answer::shown(&member.name))
        };
        if text.len() + line.len() > characters {
            text.push_str(&format!(
                "\n({} more; call `{LIST_TEAM}`)",
                members.len() - at
            ));
            break;
        }
        text.push_str(&line);
    }
    text
}

impl Tool for CallAgent {
    fn name(&self) -> &'static str {
        CALL_AGENT
    }

    fn description(&self, _: &ToolContext) -> String {
        format!(
            "Gives a task to another agent, waits until it is done, and returns its answer. The \
             agent has its own conversation, tools and skills. Agents:{}",
            listing(&self.0, MAX_LIST)
        )
    }

    fn input_schema(&self) -> Value {
        let name = json!({ "type": "string", "description": "The name of the agent, as listed." });
        object(&[("name", name), ("task", task())], &["name", "task"])
    }

    fn output_schema(&self) -> Value {
        output()
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        false
    }

    fn answer(&self, _: &ToolContext, _: &mut Loaded, _: &Value) -> Result<ToolAnswer, ToolError> {
        Err(not_here(CALL_AGENT))
    }
}

impl Tool for ListTeam {
    fn name(&self) -> &'static str {
        LIST_TEAM
    }

    fn description(&self, _: &ToolContext) -> String {
        format!("Lists the agents that `{CALL_AGENT}` can start, with what each is for.")
    }

    fn input_schema(&self) -> Value {
        object(&[], &[])
    }

    fn output_schema(&self) -> Value {
        let text = json!({ "type": "string" });
        let agent = object(
            &[("name", text.clone()), ("description", text)],
            &["name", "description"],
        );
        object(
            &[("agents", json!({ "type": "array", "items": agent }))],
            &["agents"],
        )
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        true
    }

    fn answer(&self, _: &ToolContext, _: &mut Loaded, _: &Value) -> Result<ToolAnswer, ToolError> {
        let text = listing(&self.0, prowess_tools::MAX_BYTES / 2);
        let one =
            |member: &TeamMember| json!({ "name": member.name, "description": member.description });
        let agents: Vec<Value> = self.0.iter().map(one).collect();
        Ok(ToolAnswer::new(
            text.trim_start().to_owned(),
            json!({ "agents": agents }),
        ))
    }
}

impl Tool for SpawnAgent {
    fn name(&self) -> &'static str {
        SPAWN_AGENT
    }

    fn description(&self, _: &ToolContext) -> String {
        let list = |names: Option<Vec<String>>| match names {
            None => "all that this session has".to_owned(),
            Some(names) if names.is_empty() => "none".to_owned(),
            Some(names) => answer::listed(&names, MAX_LIST / 2).0,
        };
        let tools = self.0.tools.as_ref();
        let tools = tools.map(|tools| tools.iter().map(ToString::to_string).collect());
        format!(
            "Starts a new agent for one task, waits until it is done, and returns its answer. Name \
             the tools and skills that it needs; it has no others. Tools: {}. Skills: {}.",
            list(tools),
            list(self.0.skills.clone())
        )
    }

    fn input_schema(&self) -> Value {
        let name = json!({ "type": "string", "description": "A short name for the agent." });
        let names = |about: &str| json!({ "type": "array", "items": { "type": "string" }, "description": about });
        object(
            &[
                ("name", name),
                ("task", task()),
                ("tools", names("The tools that the agent may use.")),
                ("skills", names("The skills that the agent may load.")),
            ],
            &["task"],
        )
    }

    fn output_schema(&self) -> Value {
        output()
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        false
    }

    fn answer(&self, _: &ToolContext, _: &mut Loaded, _: &Value) -> Result<ToolAnswer, ToolError> {
        Err(not_here(SPAWN_AGENT))
    }
}

impl Tool for MemberTool {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn description(&self, _: &ToolContext) -> String {
        let about = prowess_diag::wording::shorten(&self.0.description, MAX_ABOUT);
        format!(
            "{about} Gives a task to this agent, waits until it is done, and returns its answer."
        )
        .trim_start()
        .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(&[("task", task())], &["task"])
    }

    fn output_schema(&self) -> Value {
        output()
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        false
    }

    fn answer(&self, _: &ToolContext, _: &mut Loaded, _: &Value) -> Result<ToolAnswer, ToolError> {
        Err(not_here(&self.0.name))
    }
}
