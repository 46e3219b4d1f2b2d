//! The context of tool calls: services, settings and the facts of a session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_agent::{Budget, Effort};
use prowess_catalog::{Grant, Visibility, index};
use prowess_policy::profile::{Setting, Strength};
use prowess_policy::{
    Action, Actor, Answer, Approved, Bound, Command, Decision, Gate, Outcome, Profile,
};
use prowess_registry::Registry;
use prowess_render::Compat;
use prowess_traits::{
    Approver, Clock, CommandRunner, Model, Models, Nobody, Noted, Question, Recorder, SessionStore,
    UsageStore, Use, Watcher,
};
use prowess_trust::{SkillTrust, TrustStore};

use crate::snapshot::SkillSnapshot;
use crate::tool::Tool;

/// What is said behind every skill that is loaded, unless it is configured otherwise: the skill
/// speaks last, so the counterweight must speak later still.
pub const CLOSING: &str = "\
---
This skill says how to do the work. What the work is, and on what, was said before and still holds:
- Use the names and values you were given; ask only for what is missing.
- If a tool or command it names is not there, skip that step and say so; do not change the target.
- Never work on another subject, or on more than was asked.";

/// What a tool call works with: the services and settings of the program, and the facts of one
/// session.
#[derive(Debug)]
pub struct ToolContext {
    /// The trait objects of the program.
    pub services: Services,
    /// The settings of the program.
    pub settings: Settings,
    /// The gate of the session, with the answers given so far.
    pub gate: Mutex<Gate>,
    /// The skill that a sub-run acts as. It may use nothing but its `allowed-tools`.
    pub acting: Option<Arc<SkillSnapshot>>,
}

/// The trait objects of a program. Clones share them.
#[derive(Clone, Debug)]
pub struct Services {
    /// The skills.
    pub registry: Arc<Registry>,
    /// The trust of the person. Without it, no skill that needs trust has any.
    pub trust: Option<TrustStore>,
    /// Runs commands. Without it, none runs.
    pub runner: Option<Arc<dyn CommandRunner>>,
    /// Answers prompts.
    pub approver: Arc<dyn Approver>,
    /// Records every decision.
    pub recorder: Option<Arc<dyn Recorder>>,
    /// Records the use of skills.
    pub usage: Option<Arc<dyn UsageStore>>,
    /// Returns the time.
    pub clock: Arc<dyn Clock>,
    /// The model of sessions, unless a skill or a sub-run asks for another.
    pub model: Option<Arc<dyn Model>>,
    /// Finds other models by name.
    pub models: Option<Arc<dyn Models>>,
    /// Stores sessions.
    pub sessions: Option<Arc<dyn SessionStore>>,
    /// Tools besides those for skills.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that are declared while a loaded skill names them in `allowed-tools`.
    pub skill_tools: Vec<Arc<dyn Tool>>,
    /// Receive what happens in sessions.
    pub watchers: Vec<Arc<dyn Watcher>>,
}

impl Services {
    /// Services that read skills. Nothing runs, nothing is trusted, every prompt is declined.
    pub fn new(registry: Arc<Registry>, clock: Arc<dyn Clock>) -> Self {
        Self {
            registry,
            trust: None,
            runner: None,
            approver: Arc::new(Nobody),
            recorder: None,
            usage: None,
            clock,
            model: None,
            models: None,
            sessions: None,
            tools: Vec::new(),
            skill_tools: Vec::new(),
            watchers: Vec::new(),
        }
    }
}

/// The folders that a session works with.
#[derive(Clone, Debug, Default)]
pub struct WorkspacePaths {
    /// The project.
    pub workspace: PathBuf,
    /// The person's home folder.
    pub home: PathBuf,
    /// Our own folders, which no command may touch.
    pub ours: Vec<PathBuf>,
    /// The folder for output that is too long for a model. `None` keeps only its ends.
    pub outputs: Option<PathBuf>,
}

/// The settings of a program: plain data.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folders to work with.
    pub paths: WorkspacePaths,
    /// The skills that agents see.
    pub visibility: Visibility,
    /// The name of the agent, for the record of use.
    pub agent: Box<str>,
    /// The id of the session.
    pub session: Option<String>,
    /// The effort of models.
    pub effort: Option<Effort>,
    /// The environment that skills may see: names that a person granted, with their values.
    pub environment: BTreeMap<String, String>,
    /// The program whose rules of substitution apply.
    pub compat: Compat,
    /// `true` if commands in skills run.
    pub commands: bool,
    /// `true` if a skill may use nothing but its `allowed-tools`, also inline.
    pub confine: bool,
    /// The part of the sandbox that is required.
    pub strength: Strength,
    /// `true` if commands may use the network.
    pub network: bool,
    /// `true` if commands may write in the project.
    pub edits: bool,
    /// The text after every skill. `None` for no such text.
    pub closing: Option<String>,
    /// Milliseconds until a command is stopped.
    pub deadline_ms: u64,
    /// The instructions of the system prompt. `None` for the default.
    pub instructions: Option<String>,
    /// The notes of the project for every agent: its `AGENTS.md`.
    pub project_notes: Option<String>,
    /// The budget of a session.
    pub budget: Budget,
    /// The budget of a sub-run, unless it has one of its own.
    pub sub_budget: Budget,
    /// The length of the index.
    pub index: index::Budget,
    /// The skills that get a line in the index.
    pub listing: index::Listing,
    /// `true` if the tools include Agentick's `skill` besides `load_skill`.
    pub skill_tool: bool,
    /// `true` if providers are asked to cache the beginning of conversations.
    pub cache: bool,
    /// `true` if skills may run in the background (`background: true`); else they are waited for.
    pub background: bool,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// The agents that skills may name in `agent`, besides `general-purpose`, `Explore` and `Plan`,
    /// with the skills that each may use. A name of those three restricts that agent.
    pub agents: BTreeMap<Box<str>, Grant>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            paths: WorkspacePaths::default(),
            visibility: Visibility::default(),
            agent: "orchestrator".into(),
            session: None,
            effort: None,
            environment: BTreeMap::new(),
            compat: Compat::default(),
            commands: true,
            confine: false,
            strength: Strength::default(),
            network: false,
            edits: false,
            closing: Some(CLOSING.to_owned()),
            deadline_ms: 30_000,
            instructions: None,
            project_notes: None,
            budget: Budget::turns(50),
            sub_budget: Budget::default(),
            index: index::Budget::default(),
            listing: index::Listing::default(),
            skill_tool: false,
            cache: true,
            background: false,
            max_tokens: None,
            agents: BTreeMap::new(),
        }
    }
}

impl ToolContext {
    /// A context that reads skills and runs nothing.
    pub fn new(registry: Arc<Registry>, clock: Arc<dyn Clock>) -> Self {
        Self {
            services: Services::new(registry, clock),
            settings: Settings::default(),
            gate: Mutex::default(),
            acting: None,
        }
    }

    /// The gate, with the answers given so far.
    pub fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a command of a skill may touch.
    pub fn profile(&self, trust: Option<&SkillTrust>) -> Profile {
        let folder = trust.and_then(|trust| trust.place.clone());
        let folder = folder.map(|place| match place.parent() {
            Some(parent) if place.is_file() => parent.to_owned(),
            _ => place,
        });
        let mut profile = Profile::for_work(&Setting {
            skill: folder,
            workspace: self.settings.paths.workspace.clone(),
            edits: self.settings.edits,
            home: self.settings.paths.home.clone(),
            ours: self.settings.paths.ours.clone(),
        });
        profile.strength = self.settings.strength;
        profile.network = self.settings.network;
        profile.limits.deadline_ms = self.settings.deadline_ms;
        profile
    }

    /// Asks the gate about a command line, and the person where the gate wants it.
    pub fn approve(&self, text: &str, actor: &Actor<'_>) -> Result<Approved<Command>, Decision> {
        let outcome = self.gate().command(text, actor);
        self.answer(text, outcome, actor)
    }

    /// The same for a command line that starts in a folder, where its relative paths begin.
    pub fn approve_in(
        &self,
        folder: &Path,
        text: &str,
        actor: &Actor<'_>,
    ) -> Result<Approved<Command>, Decision> {
        let outcome = {
            let mut gate = self.gate();
            let before = gate.places.cwd.replace(folder.to_string_lossy().into());
            let outcome = gate.command(text, actor);
            gate.places.cwd = before;
            outcome
        };
        self.answer(text, outcome, actor)
    }

    /// Asks the gate about a script of a skill's author, and the person where the gate wants it.
    pub fn approve_bound(
        &self,
        bound: &Bound<'_>,
        actor: &Actor<'_>,
    ) -> Result<Approved<Command>, Decision> {
        let outcome = self.gate().bound(bound, actor);
        self.answer(bound.display, outcome, actor)
    }

    fn answer(
        &self,
        text: &str,
        outcome: Outcome,
        actor: &Actor<'_>,
    ) -> Result<Approved<Command>, Decision> {
        let skill = actor.skill.as_ref().map(|skill| skill.name);
        match outcome {
            Outcome::Allowed(approved, decision) => {
                self.note(&approved.value().text, &decision, None, skill);
                Ok(approved)
            }
            Outcome::Denied(decision) => {
                self.note(text, &decision, None, skill);
                Err(decision)
            }
            Outcome::Ask(pending) => {
                // The gate is not held while a person thinks.
                let text = pending.command().text.clone();
                let answer = self.services.approver.ask(&Question {
                    what: &text,
                    decision: pending.decision(),
                    skill,
                    action: Some(&Action::Command { text: &text }),
                });
                let unanswered = pending.decision().clone();
                self.note(&pending.command().text, &unanswered, Some(answer), skill);
                match pending.answer(answer) {
                    Ok((approved, grant)) => {
                        self.gate().grants.extend(grant);
                        Ok(approved)
                    }
                    // The reason why somebody had to be asked says more than that they said no.
                    Err(_) => Err(unanswered),
                }
            }
        }
    }

    /// Takes note of a decision.
    pub fn note(
        &self,
        what: &str,
        decision: &Decision,
        answer: Option<Answer>,
        skill: Option<&str>,
    ) {
        if let Some(recorder) = &self.services.recorder {
            recorder.decided(&Noted {
                what,
                decision,
                answer,
                skill,
            });
        }
    }

    /// Returns a copy for another session. Answers that a person gave so far apply in the copy; new
    /// answers apply only where they are given.
    #[must_use]
    pub fn derive(&self) -> Self {
        Self {
            services: self.services.clone(),
            settings: self.settings.clone(),
            gate: Mutex::new(self.gate().clone()),
            acting: self.acting.clone(),
        }
    }

    /// Remembers that a skill was used. A store that is broken never stops anything.
    pub fn record_use(&self, skill: &str) {
        let Some(store) = &self.services.usage else {
            return;
        };
        let project = self.settings.paths.workspace.to_string_lossy().into_owned();
        let used = Use::new(project, skill, self.services.clock.now());
        let _ = store.record(&Use {
            agent: self.settings.agent.clone(),
            ..used
        });
    }
}
