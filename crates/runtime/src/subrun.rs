//! Running a skill on its own: its own conversation, its own budget, its own tools, and a value.

use std::sync::Arc;

use prowess_agent::{Budget, Effort, Ending, Limits, Parent, Part};
use prowess_catalog::Audience;
use prowess_registry::{NewSkill, Registry};
use prowess_render::Arguments;
use prowess_tools::{
    Activation, ActivationError, Choice, Given, Role, Tool, Toolset, Workshop, activate,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::active::{Facts, SUBMIT};
use crate::agents::{self, Agent};
use crate::call::active;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::{Finished, Outcome, Pause};
use crate::say::Words;
use crate::session::{Beginning, Session, toolset};

/// How deep sub-runs may start sub-runs.
pub const MAX_DEPTH: u8 = 3;
/// How many answers a model has in a sub-run, unless somebody says otherwise.
pub const MAX_TICKS: u32 = 10;

/// Which skill runs.
#[derive(Clone, Debug)]
pub enum Which {
    /// The one of this name.
    Name(Box<str>),
    /// This one, which no registry has.
    Definition(Box<NewSkill>),
}

/// A skill to run on its own.
#[derive(Clone, Debug)]
pub struct SubRun {
    /// Which skill.
    pub skill: Which,
    /// What it is given.
    pub arguments: Arguments,
    /// The schema of the result; nothing for the last text.
    pub result: Option<Value>,
    /// What it may use; ten turns, unless the skill or this says otherwise.
    pub budget: Budget,
    /// The model; the skill's, or the engine's, where nothing is said.
    pub model: Option<Box<str>>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The only tools it gets, of those it may have.
    pub tools: Option<Vec<Box<str>>>,
    /// The session that it is a part of.
    pub parent: Option<Parent>,
    /// Who wants it.
    pub who: Audience,
    /// Agents that it runs as beside the one that the skill names: what one of them does not have, it
    /// does not have.
    pub agents: Vec<Box<str>>,
}

impl SubRun {
    /// A run of a skill without arguments, as a person or a program wants it.
    pub fn new(skill: Which) -> Self {
        Self {
            skill,
            arguments: Arguments::none(),
            result: None,
            budget: Budget::default(),
            model: None,
            effort: None,
            tools: None,
            parent: None,
            who: Audience::Person,
            agents: Vec::new(),
        }
    }
}

impl Engine {
    /// Runs a skill on its own.
    pub async fn run_skill(
        &self,
        sub: SubRun,
        cancel: &CancellationToken,
    ) -> Result<Finished, RuntimeError> {
        run_in(self, &self.parts.workshop, sub, cancel).await
    }
}

/// Runs a skill on its own, with the rules of a workshop as the upper limit.
pub(crate) async fn run_in(
    engine: &Engine,
    parent: &Workshop,
    sub: SubRun,
    cancel: &CancellationToken,
) -> Result<Finished, RuntimeError> {
    let depth = sub.parent.as_ref().map_or(0, |parent| parent.depth);
    if depth > MAX_DEPTH {
        return Err(RuntimeError::TooDeep { depth });
    }
    let mut workshop = parent.derive();
    let name: Box<str> = match &sub.skill {
        Which::Name(name) => name.clone(),
        Which::Definition(skill) => {
            let registry = Registry::default();
            registry.replace((**skill).clone());
            let name = registry
                .list()
                .first()
                .map(|skill| skill.name.clone())
                .unwrap_or_default();
            workshop.registry = Arc::new(registry);
            name
        }
    };
    let facts = {
        let (derived, asked, who) = (workshop.derive(), name.clone(), sub.who);
        blocking(move || Facts::of(&derived, &asked, who)).await?
    };
    let Some(facts) = facts else {
        return Err(not_there(workshop, name, sub.who).await?);
    };
    if let Some(acting) = parent
        .acting
        .as_ref()
        .filter(|acting| acting.name == facts.standing.name)
    {
        let why = format!(
            "the skill {} runs already and cannot start itself",
            acting.name
        );
        return Err(RuntimeError::Skill(ActivationError::Read {
            name: acting.name.clone(),
            why,
        }));
    }
    if let Some(acting) = parent.acting.as_ref().filter(|acting| !acting.is_trusted()) {
        let why = format!(
            "the skill {} is not trusted, so it starts no other",
            acting.name
        );
        return Err(RuntimeError::Skill(ActivationError::Read {
            name: facts.name.clone(),
            why,
        }));
    }
    let agents = engine.agents_of(&facts, &sub.agents)?;
    agents::narrow(&agents, &mut workshop, &name, sub.who)?;
    let mut session = begin(engine, workshop, &sub, &facts, &agents).await?;
    let given = Given {
        who: sub.who,
        ..Given::by_person(sub.arguments.clone())
    };
    let activation = {
        let (workshop, asked) = (Arc::clone(&session.workshop), name.clone());
        blocking(move || activate(&workshop, &asked, &given)).await?
    };
    let activation = match activation {
        Ok(activation) => activation,
        Err(error) => {
            let ending = Ending::Failed {
                kind: "skill".into(),
                message: error.to_string(),
            };
            session.end(ending).await?;
            return Err(error.into());
        }
    };
    let said = opening(&mut session, &activation, sub.result.is_some());
    session.write_said(said, None).await?;
    let pause = session.proceed(cancel).await?;
    finish(session, pause).await
}

/// The error for a skill that is not there, in the words of an activation.
pub(crate) async fn not_there(
    workshop: Workshop,
    name: Box<str>,
    who: Audience,
) -> Result<RuntimeError, RuntimeError> {
    let given = Given {
        who,
        ..Given::by_person(Arguments::none())
    };
    let asked = name.clone();
    let tried = blocking(move || {
        let given = Given {
            execution: prowess_tools::Execution::Show,
            ..given
        };
        activate(&workshop, &asked, &given)
    })
    .await?;
    Ok(RuntimeError::Skill(tried.err().unwrap_or_else(|| {
        ActivationError::Read {
            name,
            why: "it went away".to_owned(),
        }
    })))
}

async fn begin(
    engine: &Engine,
    mut workshop: Workshop,
    sub: &SubRun,
    facts: &Facts,
    agents: &[Agent],
) -> Result<Session, RuntimeError> {
    let choice = Choice {
        role: Role::Worker,
        runs_as: Some(facts.name.clone()),
        result: sub.result.clone(),
        ..Choice::default()
    };
    let mut tools = toolset(engine, &choice)?;
    confine(
        &mut tools,
        &mut workshop,
        facts,
        sub.tools.as_deref(),
        agents,
    );
    let trusted = facts.standing.is_trusted();
    let wanted = facts.model.as_deref().filter(|_| trusted);
    let (model, missing) = match (sub.model.as_deref(), wanted) {
        (Some(name), _) => (engine.find_model(name)?, None),
        // A skill written for others asks for a model that is not here: that is no reason to fail.
        (None, Some(name)) => match engine.find_model(name) {
            Ok(model) => (model, None),
            Err(error) => (Arc::clone(engine.model()), Some(error)),
        },
        (None, None) => (Arc::clone(engine.model()), None),
    };
    let default = engine.parts.settings.sub_budget;
    let usual = default.turns.unwrap_or(MAX_TICKS);
    // What nobody trusts may ask for less, and not for more.
    let ticks = facts
        .max_ticks
        .map(|ticks| if trusted { ticks } else { ticks.min(usual) });
    let turns = sub.budget.turns.or(ticks).unwrap_or(usual);
    let budget = Budget {
        turns: Some(turns),
        tokens: sub.budget.tokens.or(default.tokens),
        micros: sub.budget.micros.or(default.micros),
        milliseconds: sub.budget.milliseconds.or(default.milliseconds),
    };
    let beginning = Beginning {
        title: format!("skill {}", facts.name),
        workshop,
        tools,
        limits: Limits {
            budget,
            window: model.about().window,
            ..Limits::default()
        },
        effort: sub
            .effort
            .or(facts.effort.filter(|_| trusted))
            .or(engine.parts.settings.effort),
        model,
        parent: sub.parent.clone(),
        skill: Some(facts.name.clone()),
        result: sub.result.clone(),
        chosen: sub.tools.clone(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
    };
    let session = Session::begin(engine, beginning).await?;
    if let Some(error) = missing {
        let name = &session.model.about().name;
        session.tell(&format!(
            "the skill {} asks for another model: {error}; {name} goes on",
            facts.name
        ));
    }
    Ok(session)
}

/// Takes away what a sub-run of a skill does not have, and makes it act as the skill.
pub(crate) fn confine(
    tools: &mut Toolset,
    workshop: &mut Workshop,
    facts: &Facts,
    wanted: Option<&[Box<str>]>,
    agents: &[Agent],
) {
    tools.retain(|tool| is_within(facts, tool, wanted));
    if agents.iter().any(|agent| agent.only_looks) {
        let harmless: Vec<Box<str>> = tools
            .tools(workshop)
            .filter(|tool| Tool::is_read_only(*tool, workshop))
            .map(|tool| tool.name().into())
            .collect();
        tools.retain(|tool| harmless.iter().any(|name| **name == *tool) || tool == SUBMIT);
    }
    if let Some(agent) = agents.last() {
        workshop.settings.agent = agent.name.clone();
    }
    workshop.acting = Some(Arc::new(facts.standing.clone()));
}

/// Whether a sub-run of a skill has a tool: one that is asked for, within `allowed-tools`.
fn is_within(facts: &Facts, tool: &str, wanted: Option<&[Box<str>]>) -> bool {
    // What a skill cannot do without: handing in, and reading its own files.
    if tool == SUBMIT || tool == "load_skill_resource" {
        return true;
    }
    let asked = wanted.is_none_or(|wanted| wanted.iter().any(|name| **name == *tool));
    asked && (facts.allowed.is_none() || facts.names(tool)) && !facts.forbids(tool)
}

/// What the model reads first.
fn opening(session: &mut Session, activation: &Activation, typed: bool) -> Words {
    let name = &activation.name;
    session.loaded.insert(activation);
    let mut parts = vec![Part::Text {
        text: format!("Run skill: {name}\n\n{}", activation.text),
        keep: Some(name.clone()),
    }];
    if typed {
        parts.push(Part::text(
            "When the work is done, call `submit` with the result. Do not tell the result in words.",
        ));
    }
    let loaded = vec![active(name, &activation.digest, &activation.rendering())];
    Words {
        parts,
        loaded,
        ..Words::default()
    }
}

/// Writes down that a run ended, and says how.
pub(crate) async fn finish(mut session: Session, pause: Pause) -> Result<Finished, RuntimeError> {
    let text = session.run().answer();
    let outcome = match pause {
        Pause::Answered(text) => {
            session.end(Ending::Answered).await?;
            Outcome::Submitted(Value::String(text))
        }
        Pause::Ended(Ending::Submitted { value }) => Outcome::Submitted(value),
        Pause::Ended(Ending::Answered) => Outcome::Submitted(Value::String(text.clone())),
        Pause::Ended(Ending::Declined { why }) => Outcome::Declined { why },
        Pause::Ended(Ending::Exhausted { limit }) => Outcome::Exhausted { limit },
        Pause::Ended(Ending::Cancelled) => Outcome::Cancelled,
        Pause::Ended(Ending::Failed { kind, message }) => Outcome::Failed { kind, message },
    };
    let spent = *session.spent();
    Ok(Finished {
        session: session.id().into(),
        outcome,
        text,
        spent,
    })
}

/// What a conversation learns of a sub-run: the value, and what it cost.
pub(crate) fn report(name: &str, finished: &Finished) -> (String, bool) {
    let spent = &finished.spent;
    let (text, is_error) = match &finished.outcome {
        Outcome::Submitted(Value::String(text)) => (text.clone(), false),
        Outcome::Submitted(value) => (value.to_string(), false),
        Outcome::Declined { why } => (format!("It gave no result: {why}"), true),
        Outcome::Exhausted { limit } => (
            format!("It ended without a result: {limit} was reached"),
            true,
        ),
        Outcome::Cancelled => ("It was stopped.".to_owned(), true),
        Outcome::Failed { message, .. } => (format!("It failed: {message}"), true),
    };
    let line = format!(
        "The skill {name} ran on its own (session {}, {} turns, {} tokens). What came out:",
        finished.session,
        spent.turns,
        spent.usage.tokens()
    );
    (format!("{line}\n\n{text}"), is_error)
}
