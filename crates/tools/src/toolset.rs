//! The tools of an agent, and the single entry point for calling them.

use std::sync::{Arc, OnceLock};

use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_diag::suggest;
use prowess_diag::wording::tick;
use prowess_policy::Verdict;
use prowess_render::Arguments;
use serde_json::Value;

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::{self, LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES, arguments_field};
use crate::schema::{Schema, SchemaFault};
use crate::skill_access::{
    find, is_forbidden, permit_agent, permit_sub_run, permit_tool, shown, tool_rules,
};
use crate::skills::{
    ListSkills, LoadSkill, LoadSkillResource, LoadSkillResources, RunCommandLine, SearchSkills,
    Submit, UnloadSkill,
};
use crate::snapshot::SkillHandle;
use crate::tool::{self, Tool, ToolAnswer, ToolError, ToolErrorKind, ToolSpec};

/// The role of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Talks to the user and finds skills itself.
    #[default]
    Orchestrator,
    /// Does a part of the work with the skills that it is given.
    Worker,
}

/// Selects the tools of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSelection {
    /// The role of the agent.
    pub role: Role,
    /// `true` if a worker gets `list_skills`. An orchestrator always has it.
    pub list: bool,
    /// `true` to add Agentick's `skill`, whose description lists every skill. For agents whose
    /// prompt has no index.
    pub skill: bool,
    /// The skill that commands run as, in a sub-run. `None` for a loaded skill.
    pub runs_as: Option<Box<str>>,
    /// The schema of the result, in a sub-run.
    pub result: Option<Value>,
}

impl ToolSelection {
    /// Selects all tools about skills.
    pub fn everything() -> Self {
        Self {
            list: true,
            skill: true,
            ..Self::default()
        }
    }
}

/// The tools of an agent. The available set depends on which skills the agent can currently see.
#[derive(Clone, Debug)]
pub struct Toolset {
    /// Tools in the order in which a model sees them.
    tools: Vec<Offer>,
}

/// A tool with its requirements.
#[derive(Clone, Debug)]
struct Offer {
    needs: Needs,
    /// `true` if the tool is ours, not one of the host.
    built_in: bool,
    tool: Arc<dyn Tool>,
    /// `true` if the tool can be called but is not declared.
    hidden: bool,
    /// Compiled on the first call.
    schema: OnceLock<Result<Schema, SchemaFault>>,
}

impl Offer {
    fn new(needs: Needs, tool: Arc<dyn Tool>) -> Self {
        Self {
            needs,
            built_in: true,
            tool,
            hidden: false,
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

/// Requirements of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    Skills,
    SkillsAndRunner,
}

impl Toolset {
    /// Creates the tools of an agent. Fails if the result schema is invalid.
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
        let several = LoadSkillResources {
            skill: choice.runs_as.clone(),
        };
        offer(Needs::Skills, Arc::new(several));
        let run = RunCommandLine {
            skill: choice.runs_as.clone(),
        };
        offer(Needs::SkillsAndRunner, Arc::new(run));
        if let Some(schema) = &choice.result {
            offer(Needs::Nothing, Arc::new(Submit::new(schema.clone())?));
        }
        for offer in &mut tools {
            offer.hidden = offer.tool.name() == LOAD_SKILL_RESOURCES;
        }
        Ok(Self { tools })
    }

    /// Adds a tool of the host. Replaces a tool with the same name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.retain(|known| known.tool.name() != tool.name());
        self.tools.push(Offer {
            built_in: false,
            ..Offer::new(Needs::Nothing, tool)
        });
    }

    /// Returns the names of all tools, whether or not they can be declared now.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|known| known.tool.name())
    }

    /// Returns `true` if a tool has this name.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|known| known.tool.name() == name)
    }

    /// Keeps the tools whose names satisfy `wanted`.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.tools.retain(|known| wanted(known.tool.name()));
    }

    /// Keeps the built-in tools whose names satisfy `wanted`, and all tools of the host.
    pub fn retain_built_in(&mut self, wanted: impl Fn(&str) -> bool) {
        self.tools
            .retain(|known| !known.built_in || wanted(known.tool.name()));
    }

    /// Declares `load_skill_resources`, which otherwise can be called but is not declared: its work
    /// can be done with `load_skill_resource`.
    pub fn declare_resources(&mut self) {
        for offer in &mut self.tools {
            offer.hidden = false;
        }
    }

    /// Returns the tools to declare now, in a fixed order. Tools about skills need a visible skill
    /// that is not bundled, and tools that run commands need a runner. As in Claude Code, tools that a rule denies by
    /// name are left out: one tool (`run_command_line`), or all tools about skills (`Skill`).
    pub fn tools<'t>(&'t self, context: &ToolContext) -> impl Iterator<Item = &'t dyn Tool> {
        let no_skills = is_forbidden(context);
        self.available(context)
            .filter(move |offer| {
                let rules =
                    tool_rules(context, &Loaded::default(), offer.tool.name(), &Value::Null);
                let denied = rules.is_some_and(|decision| decision.verdict == Verdict::Deny);
                !offer.hidden && !denied && (offer.needs == Needs::Nothing || !no_skills)
            })
            .map(|offer| &*offer.tool)
    }

    /// Returns the tools whose requirements are met, regardless of rules.
    fn available<'t>(&'t self, context: &ToolContext) -> impl Iterator<Item = &'t Offer> {
        let catalog = context.services.registry.snapshot();
        let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
        let skills = view.has_skills();
        let runner = context.services.runner.is_some();
        self.tools.iter().filter(move |offer| match offer.needs {
            Needs::Nothing => true,
            Needs::Skills => skills,
            Needs::SkillsAndRunner => skills && runner,
        })
    }

    /// Returns the specifications of the tools to declare now.
    pub fn specs(&self, context: &ToolContext) -> Vec<ToolSpec> {
        self.tools(context).map(|tool| tool.spec(context)).collect()
    }

    /// Calls a tool by name. Sessions, the MCP server and the command line all use this method.
    pub fn call(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let wanted = match name {
            LOAD_SKILL_RESOURCES if input.get("resources").is_none() => LOAD_SKILL_RESOURCE,
            name => name,
        };
        let Some(offer) = self
            .available(context)
            .find(|offer| offer.tool.name() == wanted)
        else {
            let tools: Vec<&dyn Tool> = self.tools(context).collect();
            return Err(unknown(name, &tools));
        };
        // Validate the input before any prompt.
        offer.check(input)?;
        // It asks about each file, as `load_skill_resource` does.
        if wanted != LOAD_SKILL_RESOURCES {
            permit_tool(context, loaded, wanted, input)?;
        }
        let tool = &*offer.tool;
        if !tool.asks_first() && !tool.is_read_only(context) {
            let starting = context.starting();
            starting.map_err(|decision| ToolError::denied("The call", &decision))?;
        }
        tool::answer(tool, context, loaded, input)
    }

    /// Returns `true` if a call needs no prompt, no command and no large read, so that it can run
    /// on a thread that must not block. Data that was read to decide this is kept in `loaded` for
    /// the call.
    pub fn is_quick(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> bool {
        let offer = self
            .available(context)
            .find(|offer| offer.tool.name() == name);
        offer.is_some_and(|offer| {
            tool_rules(context, loaded, name, input).is_none()
                && offer.tool.is_quick(context, loaded, input)
        })
    }

    /// Checks a call that runs a skill in a conversation of its own: the schema, and the rules about
    /// the tool and the skill that it names. Returns the skill; `resolved` is the skill if the
    /// caller has resolved it already.
    pub fn admit(
        &self,
        context: &ToolContext,
        loaded: &Loaded,
        name: &str,
        input: &Value,
        resolved: Option<SkillHandle>,
    ) -> Result<SkillHandle, ToolError> {
        let Some(offer) = self
            .available(context)
            .find(|offer| offer.tool.name() == name)
        else {
            let tools: Vec<&dyn Tool> = self.tools(context).collect();
            return Err(unknown(name, &tools));
        };
        offer.check(input)?;
        permit_tool(context, loaded, name, input)?;
        let asked = tool::text(input, "name");
        let skill = match resolved.filter(|skill| skill.asked() == asked) {
            Some(skill) => skill,
            None => find(context, asked)?,
        };
        // A rule may be about the arguments: `Skill(deploy prod*)`.
        let field = arguments_field(name).unwrap_or("arguments");
        let arguments = input.get(field).cloned();
        let arguments = arguments.map_or_else(Arguments::none, Arguments::from_json);
        permit_sub_run(context, loaded, &skill, arguments.raw().unwrap_or_default())?;
        Ok(skill)
    }
}

impl Toolset {
    /// Checks a call that the caller answers itself: the schema, and the rules about the tool.
    pub fn admit_call(
        &self,
        context: &ToolContext,
        loaded: &Loaded,
        name: &str,
        input: &Value,
    ) -> Result<(), ToolError> {
        let mut available = self.available(context);
        let Some(offer) = available.find(|offer| offer.tool.name() == name) else {
            let tools: Vec<&dyn Tool> = self.tools(context).collect();
            return Err(unknown(name, &tools));
        };
        offer.check(input)?;
        permit_tool(context, loaded, name, input)
    }

    /// Checks a call that starts an agent: the schema, and the rules about the tool and the agent.
    /// `agent` are the names of the agent.
    pub fn admit_agent(
        &self,
        context: &ToolContext,
        loaded: &Loaded,
        name: &str,
        input: &Value,
        agent: &[Box<str>],
    ) -> Result<(), ToolError> {
        self.admit_call(context, loaded, name, input)?;
        permit_agent(context, loaded, agent, tool::text(input, "task"))
    }
}

fn unknown(name: &str, tools: &[&dyn Tool]) -> ToolError {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    let mut text = format!("Unknown tool: {}.", shown(name));
    let near =
        names::server_tool(name, &names).or_else(|| suggest::nearest(name, names.iter().copied()));
    if let Some(near) = near {
        text.push_str(&format!(" Did you mean {}?", tick(near)));
    }
    text.push_str(&match &*names {
        [] => " No tools available.".to_owned(),
        names => format!(" Available: {}", names.join(", ")),
    });
    ToolError::new(ToolErrorKind::NoTool, text)
}
