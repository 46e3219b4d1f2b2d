//! Resuming a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_agent::{
    ActiveSkill, Event, MessagePart, Run, RunBudget, StampedEvent, Started, ToolCall,
};
use prowess_catalog::index::ShownSkills;
use prowess_policy::{Decision, Verdict};
use prowess_tools::{
    ActivationError, HookEvent, HookState, LiveSettings, Loaded, Role, SkillHandle, ToolContext,
    ToolSelection, read,
};
use prowess_traits::{ApprovalRequest, Model, SessionError, SessionQuery};
use tokio_util::sync::CancellationToken;

use crate::agent_profile;
use crate::agents;
use crate::background::{Background, MAX_BACKGROUND};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::journal::{Journal, blocking};
use crate::mission::desk::TaskDesk;
use crate::mission::mission_run_above;
use crate::session::{Session, toolset};
use crate::session_approver::SessionApprover;
use crate::subrun::{self, MAX_DEPTH};
use crate::subrun_limits;
use crate::user_message::PendingMessage;

/// The permissions above a session that is resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Above<'c> {
    /// Those of the engine. The restrictions of the skills that its callers have loaded are read
    /// again.
    Restored(&'c ToolContext),
    /// Those of its caller, which continues it, with these restrictions.
    Restricted(&'c ToolContext),
}

impl Above<'_> {
    fn context(&self) -> &ToolContext {
        match self {
            Self::Restored(context) | Self::Restricted(context) => context,
        }
    }
}

impl Session {
    /// Resumes a session, with the same model if it is available. Loaded skills stay loaded; if one
    /// has changed, the user is asked whether to load the new version. Tool calls that may have had
    /// an effect are not repeated. A session that belongs to a mission is resumed with its run only.
    pub async fn resume(
        engine: &Engine,
        id: &str,
        budget: Option<RunBudget>,
    ) -> Result<Self, RuntimeError> {
        let (store, session) = (Arc::clone(engine.sessions()), id.to_owned());
        let run = blocking(move || mission_run_above(&*store, &session)).await??;
        if let Some(run) = run {
            let session = id.into();
            return Err(RuntimeError::PartOfMission { session, run });
        }
        let above = Above::Restored(engine.context());
        Self::resume_within(engine, above, id, budget).await
    }

    /// Resumes a session with at most the permissions of what is above it.
    pub(crate) async fn resume_within(
        engine: &Engine,
        above: Above<'_>,
        id: &str,
        budget: Option<RunBudget>,
    ) -> Result<Self, RuntimeError> {
        Self::resume_at(engine, above, id, budget, None).await
    }

    /// Resumes a session. The commander of a task works with `desk` again.
    pub(crate) async fn resume_at(
        engine: &Engine,
        above: Above<'_>,
        id: &str,
        budget: Option<RunBudget>,
        desk: Option<Arc<TaskDesk>>,
    ) -> Result<Self, RuntimeError> {
        let (journal, events) = Journal::take(engine, id).await?;
        let Some(started) = journal.run.started().cloned() else {
            let fault = prowess_agent::FoldError::Beginning;
            return Err(RuntimeError::Fold {
                session: id.into(),
                fault,
            });
        };
        let mut session = Self::restore(engine, above, journal, &started, &events).await?;
        if let Some(desk) = desk {
            desk.restore(&events);
            let mut tools = (*session.tools).clone();
            for tool in desk.tools() {
                tools.add(tool);
            }
            session.tools = Arc::new(tools);
            session.desk = Some(desk);
        }
        session.name_context();
        session.restore_touched_files(&events);
        session.report_lost_background_runs(&events).await?;
        let changed = session.read_skills().await?;
        session
            .journal
            .write(Event::Resumed {
                budget,
                unloaded: Vec::new(),
            })
            .await?;
        for (active, skill) in &changed {
            session.ask_about(active, skill.as_ref()).await?;
        }
        session.follow_skills();
        session
            .run_hooks(|run| run(&HookEvent::SessionStart { source: "resume" }))
            .await?;
        Ok(session)
    }

    /// Tells the model which background skills were lost when the program stopped, so that it does
    /// not wait for them.
    async fn report_lost_background_runs(
        &mut self,
        events: &[StampedEvent],
    ) -> Result<(), RuntimeError> {
        let (store, id) = (Arc::clone(self.engine.sessions()), self.journal.id.clone());
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
            // An interrupted call gets its own result.
            let call = started
                .parent
                .as_ref()
                .and_then(|parent| parent.call.as_ref());
            let was_answered = call.is_some_and(|call| open.iter().all(|one| one.call.id != *call));
            let name = started.skill.as_deref().unwrap_or_default();
            let text = format!(
                "[Skill `{name}` was running in the background (session {child}) when the program was stopped, and did not finish. Run it again if it is needed.]"
            );
            let is_told = events.iter().any(|stamped| match &stamped.event {
                Event::Said { parts, .. } => parts.contains(&MessagePart::text(text.as_str())),
                _ => false,
            });
            if was_answered && !is_told {
                self.pending.push(MessagePart::text(text));
            }
        }
        Ok(())
    }

    /// Restores the list of files that were read or written.
    fn restore_touched_files(&mut self, events: &[StampedEvent]) {
        let mut calls: Vec<&ToolCall> = Vec::new();
        for stamped in events {
            match &stamped.event {
                Event::Replied { reply, .. } => calls = reply.calls().collect(),
                Event::CallEnded { result, .. } => {
                    if let Some(call) = calls.iter().find(|call| call.id == result.call) {
                        self.touch(&call.name, &call.input, result);
                    }
                }
                _ => {}
            }
        }
    }

    async fn restore(
        engine: &Engine,
        above: Above<'_>,
        journal: Journal,
        started: &Started,
        events: &[StampedEvent],
    ) -> Result<Self, RuntimeError> {
        let outer = above.context().derive();
        let mut context = outer.derive();
        context.settings.effort = started.effort;
        context.settings.visibility.touched.get_or_insert_default();
        let mut choice = ToolSelection {
            skill: engine.settings().skill_tool,
            ..ToolSelection::default()
        };
        choice.result = started.result.clone();
        if let Some(skill) = &started.skill {
            choice.role = Role::Worker;
            choice.list = true;
            choice.runs_as = Some(skill.clone());
        }
        let mut tools = toolset(engine, &choice)?;
        let profile = started.agent.as_deref();
        let mut outside = None;
        let mut messages = Vec::new();
        if let Some(profile) = profile {
            agent_profile::add_owned(engine, profile, &mut tools);
            let (shared, profile) = (engine.clone(), profile.clone());
            let is_skill = started.skill.is_some();
            let applied = blocking(move || {
                messages.extend(shared.check_profile(&profile)?);
                let outside = if is_skill {
                    agent_profile::apply_skills(&profile, &mut context);
                    None
                } else {
                    Some(Box::new(agent_profile::apply(&profile, &mut context)))
                };
                Ok::<_, RuntimeError>((context, outside, messages))
            });
            (context, outside, messages) = applied.await??;
        }
        let above = match above {
            Above::Restored(_) => skills_above(engine, started).await?,
            Above::Restricted(_) => BTreeSet::new(),
        };
        let derived = context.derive();
        let above = blocking(move || {
            let read = |(name, digest): (Box<str>, Box<str>)| {
                // An agent may have skills of its own instead of those of its callers.
                let found = [&outer, &derived].into_iter().find_map(|context| {
                    let (skill, _) = context.resolve_recorded(&name).ok()?;
                    let snapshot = skill.read(context).ok()?;
                    (*snapshot.digest() == *digest).then_some(snapshot)
                });
                found.ok_or(RuntimeError::RestrictionsLost { name })
            };
            above.into_iter().map(read).collect::<Result<Vec<_>, _>>()
        });
        subrun_limits::restrict(&context, &above.await??);
        if let Some(name) = started.skill.clone() {
            let derived = context.derive();
            // The skill determines the permissions of the run, so it must still exist.
            let (skill, who, snapshot) = blocking(move || {
                let (skill, who) = derived
                    .resolve_recorded(&name)
                    .map_err(ActivationError::NotFound)?;
                let snapshot = read(&derived, &skill)?;
                Ok::<_, ActivationError>((skill, who, snapshot))
            })
            .await??;
            let agents = engine.agents_of(&snapshot, &started.agents)?;
            agents::narrow(&agents, &mut context, &skill, who)?;
            let chosen = started.tools.as_deref();
            subrun::confine(&mut tools, &mut context, &snapshot, chosen, &agents);
            agents::restrict_tools(engine, &agents, &mut tools);
            if let Some(profile) = profile {
                subrun::confine_as(profile, &mut tools, &mut context);
                agents::restrict_given(engine, &agents, &mut tools);
            }
        } else if let Some(profile) = profile {
            let (shared, names) = (engine.clone(), started.agents.clone());
            let own = profile.name.clone();
            let restricting = blocking(move || {
                let mut agents = shared.restricting(&names)?;
                // The settings may restrict it since the session started.
                agents.extend(shared.restricting(&[own]).unwrap_or_default());
                Ok::<_, RuntimeError>(agents)
            });
            let restricting = restricting.await??;
            agents::restrict(&restricting, &mut context);
            agents::restrict_tools(engine, &restricting, &mut tools);
            agent_profile::confine(profile, &mut tools, &context, journal.depth);
            agents::restrict_given(engine, &restricting, &mut tools);
        }
        SessionApprover::install(engine, &mut context, &journal.decisions);
        let stop = crate::session::make_stoppable(&mut context);
        let base = LiveSettings::of(&context);
        let settings_version = crate::session::restrict(&base, &mut context).await?;
        let mut loaded = Loaded::default();
        for skill in journal.run.active() {
            loaded.restore(skill.clone(), None);
        }
        let (model, missing) = model_of(engine, started);
        let session = Self {
            engine: engine.clone(),
            known: ShownSkills {
                skills: known(events),
            },
            journal,
            context: Arc::new(context),
            tools: Arc::new(tools),
            loaded,
            hooks: fired(events),
            generation: 0,
            base,
            settings_version,
            touched: true,
            pending: Vec::new(),
            pending_skills: Vec::new(),
            pending_gone: Vec::new(),
            model,
            effort: started.effort,
            too_long: 0,
            stop,
            background: Background::default(),
            outside,
            desk: None,
            waiting: Vec::new(),
            pending_activation: None,
        };
        for message in &messages {
            session.tell(message);
        }
        if let Some(missing) = missing {
            session.tell(&missing);
        }
        Ok(session)
    }

    /// Reads the loaded skills. Returns those that were changed or removed after they were loaded,
    /// with a handle if they can still be resolved.
    async fn read_skills(
        &mut self,
    ) -> Result<Vec<(ActiveSkill, Option<SkillHandle>)>, RuntimeError> {
        let context = Arc::clone(&self.context);
        let active = self.journal.run.active().to_vec();
        let found = blocking(move || {
            let read = |active: ActiveSkill| {
                let skill = context.resolve_recorded(&active.name).ok();
                let skill = skill.map(|(skill, _)| skill);
                let snapshot = skill.as_ref().and_then(|skill| skill.read(&context).ok());
                let same = snapshot.filter(|snapshot| *snapshot.digest() == *active.digest);
                (active, skill, same)
            };
            active.into_iter().map(read).collect::<Vec<_>>()
        })
        .await?;
        let mut changed = Vec::new();
        for (active, skill, same) in found {
            match same {
                Some(snapshot) => self.loaded.restore(active, Some(snapshot)),
                None => changed.push((active, skill)),
            }
        }
        Ok(changed)
    }

    /// Asks the user whether to load the new version of a skill that changed after it was loaded.
    async fn ask_about(
        &mut self,
        skill: &ActiveSkill,
        found: Option<&SkillHandle>,
    ) -> Result<(), RuntimeError> {
        self.loaded.remove(&skill.name);
        self.pending_gone.push(skill.name.clone());
        let what = format!("Load the new version of skill `{}`", skill.name);
        let (context, asked) = (Arc::clone(&self.context), what.clone());
        let name = skill.name.clone();
        let accepted = blocking(move || {
            let reason = "it changed after this session loaded it";
            let decision = Decision::new(Verdict::Ask, reason);
            let question = ApprovalRequest {
                what: &asked,
                decision: &decision,
                skill: Some(&name),
                action: None,
                note: None,
            };
            let answer = context.services.approver.ask(&question);
            let recorded = context.note(&asked, &decision, Some(answer), Some(&name));
            recorded.is_ok() && answer.allows()
        })
        .await?;
        self.journal.catch_up()?;
        let mut said = PendingMessage::default();
        let fresh = match found.filter(|_| accepted) {
            None => None,
            Some(found) => match self.load(found, "", &CancellationToken::new()).await {
                Ok(activation) => Some(activation),
                Err(error @ RuntimeError::Store(_)) => return Err(error),
                Err(_) => None,
            },
        };
        match fresh {
            Some(activation) => {
                self.add_activation(&activation, &mut said);
            }
            None => said.parts.push(MessagePart::text(format!(
                "[Skill `{}` was changed or removed after it was loaded. Ignore its instructions above. Load it again if it is needed.]",
                skill.name
            ))),
        }
        self.pending.extend(said.parts);
        self.pending_skills.extend(said.loaded);
        Ok(())
    }
}

/// Returns the names of the skills loaded in the ancestors of a sub-run, whose restrictions apply to
/// the sub-run as well.
async fn skills_above(
    engine: &Engine,
    started: &Started,
) -> Result<BTreeSet<(Box<str>, Box<str>)>, RuntimeError> {
    let mut skills = BTreeSet::new();
    let mut parent = started.parent.as_ref().map(|parent| parent.session.clone());
    for _ in 0..=MAX_DEPTH {
        let Some(id) = parent else { break };
        let (store, asked) = (Arc::clone(engine.sessions()), id.clone());
        let events = blocking(move || store.events(&asked)).await??;
        let run =
            Run::replay(&events).map_err(|fault| RuntimeError::Fold { session: id, fault })?;
        let active = run.active().iter();
        skills.extend(active.map(|skill| (skill.name.clone(), skill.digest.clone())));
        let above = run.started().and_then(|started| started.parent.as_ref());
        parent = above.map(|parent| parent.session.clone());
    }
    Ok(skills)
}

/// Returns the model of a session: the one that the user chose now, or the one that it had. If it is
/// not available, returns the engine's model and a message.
fn model_of(engine: &Engine, started: &Started) -> (Arc<dyn Model>, Option<String>) {
    if engine.settings().is_model_chosen {
        return (Arc::clone(engine.model()), None);
    }
    if let Ok(model) = engine.find_model(&started.model) {
        return (model, None);
    }
    let model = Arc::clone(engine.model());
    let text = format!(
        "the session used the model {}, which is not available; continuing with {}",
        started.model,
        model.about().name
    );
    (model, Some(text))
}

/// Returns the state of the hooks that run once per session.
fn fired(events: &[StampedEvent]) -> HookState {
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

/// Returns the skills that the model was last told about.
fn known(events: &[StampedEvent]) -> Vec<(Box<str>, u64)> {
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
