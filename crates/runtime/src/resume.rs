//! Taking a session up again.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_agent::{ActiveSkill, Budget, Event, Part, Run, Stamped, Started, ToolCall};
use prowess_catalog::Who;
use prowess_catalog::index::Shown;
use prowess_policy::{ApprovalAnswer, Decision, Verdict};
use prowess_tools::{Choice, HookEvent, HookState, Loaded, Role};
use prowess_traits::{Model, Question, Recorder, SessionError, SessionQuery};

use crate::active::Facts;
use crate::agents;
use crate::background::{Background, MAX_BACKGROUND};
use crate::below;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::{Journal, blocking};
use crate::say::Words;
use crate::session::{Notes, Session, toolset};
use crate::subrun::{self, MAX_DEPTH};

impl Session {
    /// Takes a session up again where it was left. The model is the one it had, if that is there.
    /// Skills that it had loaded are still loaded; one that changed since is asked about. What may
    /// have been done already is not done again.
    pub async fn resume(
        engine: &Engine,
        id: &str,
        budget: Option<Budget>,
    ) -> Result<Self, RuntimeError> {
        let (journal, events) = Journal::take(engine, id).await?;
        let Some(started) = journal.run.started().cloned() else {
            let fault = prowess_agent::FoldError::Beginning;
            return Err(RuntimeError::Fold {
                session: id.into(),
                fault,
            });
        };
        let mut session = Self::restore(engine, journal, &started, &events).await?;
        session.name_workshop();
        session.touch_again(&events);
        session.tell_of_lost_work(&events).await?;
        let changed = session.changed_skills().await?;
        session
            .journal
            .write(Event::Resumed {
                budget,
                unloaded: Vec::new(),
            })
            .await?;
        for skill in &changed {
            session.ask_about(skill).await?;
        }
        session.look_at_skills().await?;
        session.follow_skills();
        session
            .run_hooks(|run| run(&HookEvent::SessionStart { source: "resume" }))
            .await?;
        Ok(session)
    }

    /// Skills that worked in the background end with their session: the model must not wait for them.
    async fn tell_of_lost_work(&mut self, events: &[Stamped]) -> Result<(), RuntimeError> {
        let (store, id) = (
            Arc::clone(&self.engine.parts.store),
            self.journal.id.clone(),
        );
        let below: Result<Vec<_>, SessionError> = blocking(move || {
            let query = SessionQuery {
                project: None,
                parent: Some(id),
                limit: MAX_BACKGROUND,
            };
            let found = store.list(&query)?.into_iter();
            let cut_off = found.filter(|one| one.ending.is_none() && !one.live);
            cut_off
                .map(|one| Ok((store.events(&one.id)?, one.id)))
                .collect()
        })
        .await?;
        let open = self.journal.run.open_calls();
        for (started, child) in below? {
            let Some(Event::Started(started)) = started.first().map(|first| &first.event) else {
                continue;
            };
            // A call that was cut off has an answer of its own.
            let call = started
                .parent
                .as_ref()
                .and_then(|parent| parent.call.as_ref());
            let was_answered = call.is_some_and(|call| open.iter().all(|one| one.call.id != *call));
            let name = started.skill.as_deref().unwrap_or_default();
            let text = format!(
                "[The skill {name} worked in the background (session {child}) when the program was stopped, and did not finish. Run it again if it is needed.]"
            );
            let is_told = events.iter().any(|stamped| match &stamped.event {
                Event::Said { parts, .. } => parts.contains(&Part::text(text.as_str())),
                _ => false,
            });
            if was_answered && !is_told {
                self.pending.push(Part::text(text));
            }
        }
        Ok(())
    }

    /// Finds the files again that were read or written so far.
    fn touch_again(&mut self, events: &[Stamped]) {
        let mut calls: Vec<&ToolCall> = Vec::new();
        for stamped in events {
            match &stamped.event {
                Event::Replied { reply, .. } => calls = reply.calls().collect(),
                Event::CallEnded { result, .. } => {
                    if let Some(call) = calls.iter().find(|call| call.id == result.call) {
                        self.touch(call, result);
                    }
                }
                _ => {}
            }
        }
    }

    async fn restore(
        engine: &Engine,
        journal: Journal,
        started: &Started,
        events: &[Stamped],
    ) -> Result<Self, RuntimeError> {
        let mut workshop = engine.parts.workshop.derive();
        let notes = Arc::new(Notes::default());
        workshop.recorder = Some(Arc::clone(&notes) as Arc<dyn Recorder>);
        workshop.settings.effort = started.effort.map(|effort| effort.as_str().to_owned());
        workshop.visibility.touched.get_or_insert_default();
        let mut choice = Choice {
            skill: engine.parts.settings.skill_tool,
            ..Choice::default()
        };
        choice.result = started.result.clone();
        if let Some(skill) = &started.skill {
            choice.role = Role::Worker;
            choice.runs_as = Some(skill.clone());
        }
        let mut tools = toolset(engine, &choice)?;
        let above = skills_above(engine, started).await?;
        let derived = workshop.derive();
        let above = blocking(move || {
            let facts = above
                .iter()
                .filter_map(|name| Facts::of(&derived, name, Who::Person));
            facts.collect::<Vec<_>>()
        });
        below::restrict(&workshop, &above.await?);
        if let Some(name) = started.skill.clone() {
            let derived = workshop.derive();
            let asked = name.clone();
            let facts = blocking(move || Facts::of(&derived, &asked, Who::Person)).await?;
            // Without its skill nobody knows what it may do.
            let Some(facts) = facts else {
                return Err(subrun::not_there(workshop, name, Who::Person).await?);
            };
            let agents = engine.agents_of(&facts, &started.agents)?;
            agents::narrow(&agents, &mut workshop, &name, Who::Person)?;
            let chosen = started.tools.as_deref();
            subrun::confine(&mut tools, &mut workshop, &facts, chosen, &agents);
        }
        let stop = crate::session::make_stoppable(&mut workshop);
        let mut loaded = Loaded::default();
        for skill in journal.run.active() {
            loaded.restore(&skill.name, &skill.digest, bytes(&skill.rendering));
        }
        let (model, missing) = model_of(engine, started);
        let session = Self {
            engine: engine.clone(),
            known: Shown {
                skills: known(events),
            },
            journal,
            workshop: Arc::new(workshop),
            tools: Arc::new(tools),
            loaded,
            hooks: fired(events),
            facts: Vec::new(),
            notes,
            generation: 0,
            touched: true,
            pending: Vec::new(),
            pending_skills: Vec::new(),
            pending_gone: Vec::new(),
            model,
            effort: started.effort,
            too_long: 0,
            stop,
            background: Background::new(),
        };
        if let Some(missing) = missing {
            session.tell(&missing);
        }
        Ok(session)
    }

    /// Loaded skills that are no longer what was loaded, or are gone.
    async fn changed_skills(&self) -> Result<Vec<ActiveSkill>, RuntimeError> {
        let workshop = Arc::clone(&self.workshop);
        let active = self.journal.run.active().to_vec();
        blocking(move || {
            let same = |skill: &ActiveSkill| {
                Facts::of(&workshop, &skill.name, Who::Person)
                    .is_some_and(|facts| *facts.standing.digest == *skill.digest)
            };
            active.into_iter().filter(|skill| !same(skill)).collect()
        })
        .await
    }

    /// A skill changed since it was loaded: a person says whether its new text is taken in.
    async fn ask_about(&mut self, skill: &ActiveSkill) -> Result<(), RuntimeError> {
        self.loaded.remove(&skill.name);
        self.pending_gone.push(skill.name.clone());
        let what = format!("Take in the new text of the skill {}", skill.name);
        let (workshop, asked) = (Arc::clone(&self.workshop), what.clone());
        let name = skill.name.clone();
        let answer = blocking(move || {
            let reason = "it changed since this session loaded it";
            let decision = Decision::new(Verdict::Ask, reason);
            let question = Question {
                what: &asked,
                decision: &decision,
                skill: Some(&name),
                action: None,
            };
            let answer = workshop.approver.ask(&question);
            workshop.note(&asked, &decision, Some(answer), Some(&name));
            answer
        })
        .await?;
        let mut said = Words::default();
        let fresh = match answer {
            ApprovalAnswer::No => None,
            _ => self.activate(&skill.name, "").await.ok(),
        };
        match fresh {
            Some(activation) => {
                self.take_in(&activation, &mut said);
            }
            None => said.parts.push(Part::text(format!(
                "[The skill {} changed or went away since it was loaded: its instructions above no longer hold. Load it again if it is needed.]",
                skill.name
            ))),
        }
        self.pending.extend(said.parts);
        self.pending_skills.extend(said.loaded);
        Ok(())
    }
}

/// The skills that are loaded in the sessions that a sub-run is a part of: what they take away is not
/// there in it.
async fn skills_above(
    engine: &Engine,
    started: &Started,
) -> Result<BTreeSet<Box<str>>, RuntimeError> {
    let mut names = BTreeSet::new();
    let mut parent = started.parent.as_ref().map(|parent| parent.session.clone());
    for _ in 0..=MAX_DEPTH {
        let Some(id) = parent else { break };
        let (store, asked) = (Arc::clone(&engine.parts.store), id.clone());
        let events = blocking(move || store.events(&asked)).await??;
        let run =
            Run::replay(&events).map_err(|fault| RuntimeError::Fold { session: id, fault })?;
        names.extend(run.active().iter().map(|skill| skill.name.clone()));
        let above = run.started().and_then(|started| started.parent.as_ref());
        parent = above.map(|parent| parent.session.clone());
    }
    Ok(names)
}

/// The model that a session had, or the engine's with a word about it.
fn model_of(engine: &Engine, started: &Started) -> (Arc<dyn Model>, Option<String>) {
    if let Ok(model) = engine.find_model(&started.model) {
        return (model, None);
    }
    let model = Arc::clone(engine.model());
    let text = format!(
        "the session was begun with {}, which is not there; {} goes on",
        started.model,
        model.about().name
    );
    (model, Some(text))
}

/// The hooks that run only once in a session, and did.
fn fired(events: &[Stamped]) -> HookState {
    let mut state = HookState::default();
    for stamped in events {
        if let Event::HookFired {
            skill,
            digest,
            hook,
        } = &stamped.event
        {
            state.fire(skill, digest, *hook);
        }
    }
    state
}

/// What the model knows of its skills.
fn known(events: &[Stamped]) -> Vec<(Box<str>, u64)> {
    let told = events
        .iter()
        .rev()
        .find_map(|stamped| match &stamped.event {
            Event::Listed(listed) => Some(listed.known.clone()),
            Event::Noted { known, .. } if !known.is_empty() => Some(known.clone()),
            _ => None,
        });
    told.unwrap_or_default()
}

/// The sum over what a model received; zeros where it has only a part of it.
pub(crate) fn bytes(hex: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = hex.get(at * 2..at * 2 + 2);
        *byte = digits
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .unwrap_or(0);
    }
    bytes
}
