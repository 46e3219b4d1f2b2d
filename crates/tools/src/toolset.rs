//! Which tools an agent gets, and the one way to call them.

use std::sync::{Arc, OnceLock};

use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_diag::suggest;
use prowess_diag::wording::tick;
use prowess_policy::Verdict;
use serde_json::Value;

use crate::access::{Deed, find, is_forbidden, permit, permit_tool, shown, tool_rules};
use crate::loaded::Loaded;
use crate::schema::{Schema, SchemaFault};
use crate::skills::{
    ListSkills, LoadSkill, LoadSkillResource, RunCommandLine, SearchSkills, SkillTool, Submit,
    UnloadSkill,
};
use crate::tool::{self, Tool, ToolAnswer, ToolError, ToolSpec, Why};
use crate::workshop::Workshop;

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
pub struct Choice {
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

impl Choice {
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
    pub fn new(choice: &Choice) -> Result<Self, SchemaFault> {
        let mut tools: Vec<Offer> = Vec::new();
        let mut offer = |needs, tool| tools.push(Offer::new(needs, tool));
        if choice.list || choice.role == Role::Orchestrator {
            offer(Needs::Skills, Arc::new(ListSkills));
        }
        offer(Needs::Skills, Arc::new(SearchSkills));
        offer(Needs::Skills, Arc::new(LoadSkill));
        offer(Needs::Skills, Arc::new(UnloadSkill));
        if choice.skill {
            offer(Needs::Skills, Arc::new(SkillTool));
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
    pub fn tools<'t>(&'t self, workshop: &Workshop) -> impl Iterator<Item = &'t dyn Tool> {
        let no_skills = is_forbidden(workshop);
        self.there(workshop)
            .filter(move |offer| {
                let rules = tool_rules(workshop, offer.tool.name(), &Value::Null);
                let denied = rules.is_some_and(|decision| decision.verdict == Verdict::Deny);
                !denied && (offer.needs == Needs::Nothing || !no_skills)
            })
            .map(|offer| &*offer.tool)
    }

    /// The tools that make sense now, whatever rules say.
    fn there<'t>(&'t self, workshop: &Workshop) -> impl Iterator<Item = &'t Offer> {
        let catalog = workshop.registry.snapshot();
        let view = CatalogView::new(&catalog, &workshop.visibility, Audience::Model);
        let skills = view.visible().next().is_some();
        let runner = workshop.runner.is_some();
        self.tools.iter().filter(move |offer| match offer.needs {
            Needs::Nothing => true,
            Needs::Skills => skills,
            Needs::SkillsAndRunner => skills && runner,
        })
    }

    /// What a provider is told about the tools that an agent is offered now.
    pub fn specs(&self, workshop: &Workshop) -> Vec<ToolSpec> {
        self.tools(workshop)
            .map(|tool| tool.spec(workshop))
            .collect()
    }

    /// Calls a tool by name: the one entry for sessions, MCP and the command.
    pub fn call(
        &self,
        workshop: &Workshop,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let wanted = if name == LoadSkillResource::ALIAS {
            LoadSkillResource.name()
        } else {
            name
        };
        let Some(offer) = self
            .there(workshop)
            .find(|offer| offer.tool.name() == wanted)
        else {
            let tools: Vec<&dyn Tool> = self.tools(workshop).collect();
            return Err(unknown(name, &tools));
        };
        // Nobody is asked about an input that is wrong.
        offer.check(input)?;
        permit_tool(workshop, wanted, input)?;
        tool::answer(&*offer.tool, workshop, loaded, input)
    }

    /// Calls a tool on a thread that must not wait. Nothing where that cannot be, or something is
    /// wrong: then nothing was done, and [`call`](Self::call) does it and says what.
    pub fn call_at_once(
        &self,
        workshop: &Workshop,
        loaded: &mut Loaded,
        name: &str,
        input: &Value,
    ) -> Option<ToolAnswer> {
        let offer = self
            .there(workshop)
            .find(|offer| offer.tool.name() == name)?;
        offer.check(input).ok()?;
        if tool_rules(workshop, name, input).is_some() {
            return None;
        }
        offer
            .tool
            .at_once(workshop, loaded, input)
            .map(tool::capped)
    }

    /// Checks a call without making it: the schema, and rules about the tool and the skill that it
    /// names. For a host that does by other means what the tool is for.
    pub fn admit(&self, workshop: &Workshop, name: &str, input: &Value) -> Result<(), ToolError> {
        let Some(offer) = self.there(workshop).find(|offer| offer.tool.name() == name) else {
            let tools: Vec<&dyn Tool> = self.tools(workshop).collect();
            return Err(unknown(name, &tools));
        };
        offer.check(input)?;
        permit_tool(workshop, name, input)?;
        let asked = input
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let entry = find(workshop, &workshop.registry.snapshot(), asked)?;
        permit(workshop, &entry, asked, Deed::Load, "")
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
