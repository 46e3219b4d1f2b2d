//! A session: one conversation.

use std::sync::{Arc, Mutex, PoisonError};

use prowess_agent::{
    ActiveSkill, Decided, Effort, Event, Limits, Part, Run, Spent, Started, ToolDeclaration,
    VERSION,
};
use prowess_catalog::index::Shown;
use prowess_policy::{ApprovalAnswer, Verdict};
use prowess_tools::{Choice, HookState, Loaded, Toolset, Workshop};
use prowess_traits::{Model, Noted, Recorder, Stoppable};

use crate::active::{Facts, SUBMIT, facts};
use crate::background::Background;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::{Journal, blocking};
use crate::prompt::{Prompt, prompt};
use crate::watch::Update;

/// Most characters of a title.
const MAX_TITLE: usize = 80;

/// One conversation. While it exists, nobody else writes to it.
#[derive(Debug)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) journal: Journal,
    pub(crate) workshop: Arc<Workshop>,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) loaded: Loaded,
    pub(crate) hooks: HookState,
    pub(crate) facts: Vec<Facts>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) known: Shown,
    pub(crate) generation: u64,
    /// Whether a file was touched since the model was told of its skills.
    pub(crate) touched: bool,
    /// What goes before the next thing that is said.
    pub(crate) pending: Vec<Part>,
    pub(crate) pending_skills: Vec<ActiveSkill>,
    /// Skills that no longer hold, of which the model is told with it.
    pub(crate) pending_gone: Vec<Box<str>>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) effort: Option<Effort>,
    /// How often in a row the conversation was too long for the provider.
    pub(crate) too_long: u32,
    /// Ends the commands that tools started.
    pub(crate) stop: Option<Stoppable>,
    /// Skills that work in the background.
    pub(crate) background: Background,
}

/// A skill that is loaded, for whoever looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveView {
    /// Its name.
    pub name: Box<str>,
    /// The digest over its files when it was loaded.
    pub digest: Box<str>,
    /// How many tokens its text has, roughly.
    pub tokens: u64,
}

/// What is needed to begin a session.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) title: String,
    pub(crate) workshop: Workshop,
    pub(crate) tools: Toolset,
    pub(crate) limits: Limits,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) effort: Option<Effort>,
    pub(crate) parent: Option<prowess_agent::Parent>,
    pub(crate) skill: Option<Box<str>>,
    pub(crate) result: Option<serde_json::Value>,
    pub(crate) chosen: Option<Vec<Box<str>>>,
    pub(crate) agents: Vec<Box<str>>,
}

impl Session {
    /// Begins a session with every tool of the engine. The title is for lists.
    pub async fn start(engine: &Engine, title: &str) -> Result<Self, RuntimeError> {
        let settings = &engine.parts.settings;
        let choice = Choice {
            skill: settings.skill_tool,
            ..Choice::default()
        };
        let beginning = Beginning {
            title: one_line(title),
            workshop: engine.parts.workshop.derive(),
            tools: toolset(engine, &choice)?,
            limits: Limits {
                budget: settings.budget,
                window: engine.model().about().window,
                ..Limits::default()
            },
            model: Arc::clone(engine.model()),
            effort: settings.effort,
            parent: None,
            skill: None,
            result: None,
            chosen: None,
            agents: Vec::new(),
        };
        Self::begin(engine, beginning).await
    }

    pub(crate) async fn begin(engine: &Engine, beginning: Beginning) -> Result<Self, RuntimeError> {
        let Beginning {
            title,
            mut workshop,
            tools,
            limits,
            model,
            ..
        } = beginning;
        let Beginning {
            effort,
            parent,
            skill,
            result,
            chosen,
            agents,
            ..
        } = beginning;
        let depth = parent.as_ref().map_or(0, |parent| parent.depth);
        let notes = Arc::new(Notes::default());
        workshop.recorder = Some(Arc::clone(&notes) as Arc<dyn Recorder>);
        workshop.settings.effort = effort.map(|effort| effort.as_str().to_owned());
        workshop.visibility.touched.get_or_insert_default();
        let stop = make_stoppable(&mut workshop);
        let (workshop, tools) = (Arc::new(workshop), Arc::new(tools));
        let made = {
            let (workshop, tools, engine) =
                (Arc::clone(&workshop), Arc::clone(&tools), engine.clone());
            blocking(move || {
                let names: Vec<Box<str>> = tools
                    .tools(&workshop)
                    .map(|tool| tool.name().into())
                    .collect();
                prompt(&workshop, &engine.parts.settings, &names)
            })
            .await?
        };
        let Prompt {
            system,
            listed,
            known,
            generation,
        } = made;
        let started = Started {
            version: VERSION,
            title,
            project: workshop.places.workspace.to_string_lossy().into(),
            model: model.about().name.clone(),
            system,
            limits,
            effort,
            parent,
            skill,
            result,
            tools: chosen,
            agents,
        };
        let mut journal = Journal::begin(engine, Event::Started(Box::new(started)), depth).await?;
        journal.write(Event::Listed(listed)).await?;
        let mut session = Self {
            engine: engine.clone(),
            journal,
            workshop,
            tools,
            loaded: Loaded::default(),
            hooks: HookState::default(),
            facts: Vec::new(),
            notes,
            known,
            generation,
            touched: false,
            pending: Vec::new(),
            pending_skills: Vec::new(),
            pending_gone: Vec::new(),
            model,
            effort,
            too_long: 0,
            stop,
            background: Background::new(),
        };
        session.name_workshop();
        Ok(session)
    }

    /// Tells the workshop which session it belongs to.
    pub(crate) fn name_workshop(&mut self) {
        let id = self.journal.id.to_string();
        if let Some(workshop) = Arc::get_mut(&mut self.workshop) {
            workshop.settings.session = Some(id);
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.journal.id
    }

    /// The conversation so far.
    pub fn run(&self) -> &Run {
        &self.journal.run
    }

    /// What it used so far.
    pub fn spent(&self) -> &Spent {
        self.journal.run.spent()
    }

    /// The model that is asked.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Rules, skills and places of this session.
    pub fn workshop(&self) -> &Workshop {
        &self.workshop
    }

    /// The skills that are loaded.
    pub fn skills(&self) -> Vec<ActiveView> {
        let run = &self.journal.run;
        let size = |name: &str| {
            let parts = run.messages().iter().flat_map(|message| &message.parts);
            let sizes = parts.map(|part| match part {
                Part::Text {
                    text,
                    keep: Some(keep),
                } if **keep == *name => text.len(),
                Part::Result(result) if result.keep.as_deref() == Some(name) => result.text.len(),
                _ => 0,
            });
            (sizes.max().unwrap_or(0) as u64).div_ceil(4)
        };
        let view = |skill: &ActiveSkill| ActiveView {
            name: skill.name.clone(),
            digest: skill.digest.clone(),
            tokens: size(&skill.name),
        };
        run.active().iter().map(view).collect()
    }

    /// What a provider is told about the tools now: what a loaded skill takes away is missing, and
    /// tools that only skills bring are there while a loaded one names them.
    pub(crate) fn declared(&self) -> Vec<ToolDeclaration> {
        let tools = self
            .tools
            .tools(&self.workshop)
            .filter(|tool| self.is_declared(tool.name()));
        tools
            .map(|tool| ToolDeclaration {
                name: tool.name().into(),
                description: tool.description(&self.workshop),
                schema: tool.input_schema(),
            })
            .collect()
    }

    pub(crate) fn is_declared(&self, tool: &str) -> bool {
        let by_skill = self
            .engine
            .parts
            .tools_of_skills
            .iter()
            .any(|known| known.name() == tool);
        let trusted = || {
            self.facts
                .iter()
                .filter(|facts| facts.standing.is_trusted())
        };
        let brought =
            !by_skill || trusted().any(|facts| facts.names(tool)) || self.workshop.acting.is_some();
        brought && !self.facts.iter().any(|facts| facts.forbids(tool))
    }

    /// Looks again at what the loaded skills say.
    pub(crate) async fn look_at_skills(&mut self) -> Result<(), RuntimeError> {
        let (workshop, loaded) = (Arc::clone(&self.workshop), self.loaded.clone());
        self.facts = blocking(move || facts(&workshop, &loaded)).await?;
        Ok(())
    }

    /// Ends the commands that tools started.
    pub(crate) fn stop_commands(&self) {
        if let Some(stoppable) = &self.stop {
            (stoppable.stop)();
        }
    }

    /// Tells people something.
    pub(crate) fn tell(&self, text: &str) {
        self.engine
            .tell(&self.journal.id, self.journal.depth, Update::Message(text));
    }
}

impl Drop for Session {
    /// Nobody would hear what a command says any more.
    fn drop(&mut self) {
        self.stop_commands();
    }
}

/// Gives a workshop a runner of its own, so that ending one session's commands ends no other's.
pub(crate) fn make_stoppable(workshop: &mut Workshop) -> Option<Stoppable> {
    let stoppable = workshop.runner.as_ref()?.stoppable()?;
    workshop.runner = Some(Arc::clone(&stoppable.runner));
    Some(stoppable)
}

/// The tools of an engine for an agent.
pub(crate) fn toolset(engine: &Engine, choice: &Choice) -> Result<Toolset, RuntimeError> {
    let mut tools = Toolset::new(choice)?;
    for tool in engine
        .parts
        .tools
        .iter()
        .chain(&engine.parts.tools_of_skills)
    {
        // A run that is to hand in a result must be able to.
        if choice.result.is_none() || tool.name() != SUBMIT {
            tools.add(Arc::clone(tool));
        }
    }
    Ok(tools)
}

/// A title: one line, not too long.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Keeps decisions until they are written down.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    decided: Mutex<Vec<Decided>>,
}

impl Notes {
    /// Takes what was noted, as events.
    pub(crate) fn take(&self, call: Option<&str>) -> Vec<Event> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *decided)
            .into_iter()
            .map(|mut decided| {
                decided.call = call.map(Into::into);
                Event::Decided(decided)
            })
            .collect()
    }
}

impl Recorder for Notes {
    fn decided(&self, noted: &Noted<'_>) {
        let decision = noted.decision;
        let rule = decision.rule.as_ref();
        let decided = Decided {
            call: None,
            what: noted.what.to_owned(),
            verdict: match decision.verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny => "deny",
            }
            .into(),
            reason: decision.reason.to_string(),
            rule: rule
                .map(|rule| format!("{} {} ({})", rule.effect.as_str(), rule.text, rule.source)),
            answer: noted.answer.map(|answer| {
                match answer {
                    ApprovalAnswer::No => "no",
                    ApprovalAnswer::Once => "once",
                    ApprovalAnswer::Session => "session",
                    ApprovalAnswer::Tool => "tool",
                    ApprovalAnswer::Always => "always",
                }
                .into()
            }),
        };
        self.decided
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(decided);
    }
}
