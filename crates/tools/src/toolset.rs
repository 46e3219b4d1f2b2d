//! Which tools an agent gets, and the one way to call them.

use std::sync::{Arc, OnceLock};

use prowess_catalog::visibility::{View, Who};
use prowess_diag::suggest;
use prowess_diag::wording::tick;
use prowess_policy::Verdict;
use serde_json::Value;

use crate::access::{SkillAction, find, is_forbidden, permit, permit_tool, shown, tool_rules};
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::{LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES};
use crate::schema::{Schema, SchemaFault};
use crate::skills::{
    ListSkills, LoadSkill, LoadSkillResource, RunCommandLine, SearchSkills, Submit, UnloadSkill,
};
use crate::snapshot::SkillHandle;
use crate::tool::{self, Tool, ToolAnswer, ToolError, ToolSpec, Why};

/// What an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It talks to a person, and finds skills itself.
    #[default]
    Orchestrator,
    /// It does a part of the work, and is told which skill to load.
    Worker,
}

/// Which tools an agent wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSelection {
    /// What the agent is.
    pub role: Role,
    /// Whether a worker has `list_skills` too; an orchestrator always has it.
    pub list: bool,
    /// Whether it has Agentick's `skill` beside `load_skill`. Its description lists every skill, so
    /// it is for agents whose prompt has no index.
    pub skill: bool,
    /// The skill that commands run as, in a sub-run; nothing for the one that is loaded.
    pub runs_as: Option<Box<str>>,
    /// The schema of the result, in a sub-run.
    pub result: Option<Value>,
}

impl ToolSelection {
    /// Every tool for skills that there is.
    pub fn everything() -> Self {
        Self {
            list: true,
            skill: true,
            ..Self::default()
        }
    }
}

/// The tools of an agent. Which of them there are at a moment hangs on the skills that the agent
/// sees then.
#[derive(Clone, Debug)]
pub struct Toolset {
    /// In the order in which a model sees them.
    tools: Vec<Offer>,
}

/// A tool that an agent may be offered.
#[derive(Clone, Debug)]
struct Offer {
    needs: Needs,
    tool: Arc<dyn Tool>,
    /// Read when the tool is first called.
    schema: OnceLock<Result<Schema, SchemaFault>>,
}

impl Offer {
    fn new(needs: Needs, tool: Arc<dyn Tool>) -> Self {
        Self {
            needs,
            tool,
            schema: OnceLock::new(),
        }
    }

    fn check(&self, input: &Value) -> Result<(), ToolError> {
        tool::check(
            &*self.tool,
            self.schema.get_or_init(|| self.tool.schema()),
            input,
        )
    }
}

/// What must be there before a tool makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    Skills,
    SkillsAndRunner,
}

impl Toolset {
    /// Puts the tools of an agent together. Fails where the schema of the result is none.
    pub fn new(choice: &ToolSelection) -> Result<Self, SchemaFault> {
        let mut tools: Vec<Offer> = Vec::new();
        let mut offer = |needs, tool| tools.push(Offer::new(needs, tool));
        if choice.list || choice.role == Role::Orchestrator {
            offer(Needs::Skills, Arc::new(ListSkills));
        }
        offer(Needs::Skills, Arc::new(SearchSkills));
        offer(Needs::Skills, Arc::new(LoadSkill::Standard));
        offer(Needs::Skills, Arc::new(UnloadSkill));
        if choice.skill {
            offer(Needs::Skills, Arc::new(LoadSkill::Agentick));
        }
        offer(Needs::Skills, Arc::new(LoadSkillResource));
        let run = RunCommandLine {
            skill: choice.runs_as.clone(),
        };
        offer(Needs::SkillsAndRunner, Arc::new(run));
        if let Some(schema) = &choice.result {
            offer(Needs::Nothing, Arc::new(Submit::new(schema.clone())?));
        }
        Ok(Self { tools })
    }

    /// Adds a tool of the host. One of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.retain(|known| known.tool.name() != tool.name());
        self.tools.push(Offer::new(Needs::Nothing, tool));
    }

    /// Keeps the tools whose names are wanted.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.tools.retain(|known| wanted(known.tool.name()));
    }

    /// The tools that an agent is offered now, in a fixed order. Without a skill that the agent sees
    /// there is none for skills; without a runner none runs commands. What a rule forbids by name is
    /// not offered, as in Claude Code: a tool (`run_command_line`), or all skills (`Skill`).
    pub fn tools<'t>(&'t self, context: &ToolContext) -> impl Iterator<Item = &'t dyn Tool> {
        let no_skills = is_forbidden(context);
        self.there(context)
            .filter(move |offer| {
                let rules = tool_rules(context, offer.tool.name(), &Value::Null);
                let denied = rules.is_some_and(|decision| decision.verdict == Verdict::Deny);
                !denied && (offer.needs == Needs::Nothing || !no_skills)
            })
            .map(|offer| &*offer.tool)
    }

    /// The tools that make sense now, whatever rules say.
    fn there<'t>(&'t self, context: &ToolContext) -> impl Iterator<Item = &'t Offer> {
        let catalog = context.services.registry.snapshot();
        let view = View::new(&catalog, &context.settings.visibility, Who::Model);
        let skills = view.visible().next().is_some();
        let runner = context.services.runner.is_some();
        self.tools.iter().filter(move |offer| match offer.needs {
            Needs::Nothing => true,
            Needs::Skills => skills,
            Needs::SkillsAndRunner => skills && runner,
        })
    }

    /// What a provider is told about the tools that an agent is offered now.
    pub fn specs(&self, context: &ToolContext) -> Vec<ToolSpec> {
        self.tools(context).map(|tool| tool.spec(context)).collect()
    }

    /// Calls a tool by name: the one entry for sessions, MCP and the command.
    pub fn call(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let wanted = match name {
            LOAD_SKILL_RESOURCES => LOAD_SKILL_RESOURCE,
            name => name,
        };
        let Some(offer) = self
            .there(context)
            .find(|offer| offer.tool.name() == wanted)
        else {
            let tools: Vec<&dyn Tool> = self.tools(context).collect();
            return Err(unknown(name, &tools));
        };
        // Nobody is asked about an input that is wrong.
        offer.check(input)?;
        permit_tool(context, wanted, input)?;
        tool::answer(&*offer.tool, context, loaded, input)
    }

    /// Returns `true` if a call would need no prompt, no command and no large read, so that it may
    /// be made on a thread that must not block. What was read to decide that is kept in `loaded`,
    /// for the call that follows.
    pub fn is_quick(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> bool {
        let offer = self.there(context).find(|offer| offer.tool.name() == name);
        offer.is_some_and(|offer| {
            tool_rules(context, name, input).is_none()
                && offer.tool.is_quick(context, loaded, input)
        })
    }

    /// Checks a call without making it: the schema, and rules about the tool and the skill that it
    /// names. For a host that does by other means what the tool is for. Returns the skill;
    /// `resolved` is the skill if the caller resolved it before.
    pub fn admit(
        &self,
        context: &ToolContext,
        name: &str,
        input: &Value,
        resolved: Option<SkillHandle>,
    ) -> Result<SkillHandle, ToolError> {
        let Some(offer) = self.there(context).find(|offer| offer.tool.name() == name) else {
            let tools: Vec<&dyn Tool> = self.tools(context).collect();
            return Err(unknown(name, &tools));
        };
        offer.check(input)?;
        permit_tool(context, name, input)?;
        let asked = tool::text(input, "name");
        let skill = match resolved.filter(|skill| skill.asked() == asked) {
            Some(skill) => skill,
            None => find(context, asked)?,
        };
        permit(context, &skill, SkillAction::Load, "")?;
        Ok(skill)
    }
}

fn unknown(name: &str, tools: &[&dyn Tool]) -> ToolError {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    let mut text = format!("Unknown tool: {}.", shown(name));
    if let Some(near) = suggest::nearest(name, names.iter().copied()) {
        text.push_str(&format!(" Did you mean {}?", tick(near)));
    }
    text.push_str(&match &*names {
        [] => " No tools available.".to_owned(),
        names => format!(" Available: {}", names.join(", ")),
    });
    ToolError::new(Why::NoTool, text)
}
