//! Missions: runs of plans, in which commanders give tasks to agents.
//!
//! A run is a session whose events are those of [`MissionState`]; the session of each commander is a
//! sub-run of it. Every event is stored before what it announces is done, so that a run continues
//! after a kill at any point. Units of work run side by side, each with its own session; only the
//! driver writes to the record of the run.

pub(crate) mod agents;
mod conversation;
pub(crate) mod desk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_agent::{
    Ending, Event, FailureKind, ParentSession, Run, RunBudget, RunLimit, Spent, StampedEvent,
    Started, VERSION,
};
use prowess_diag::wording;
use prowess_flow::mission::{
    ChosenRoute, MISSION_VERSION, MissionBudget, MissionEnding, MissionEvent, MissionLimit,
    MissionProject, MissionStart, MissionState, MissionStep, MissionUnit, MissionUsage,
    RouteTarget, TaskEnding, UnitResult,
};
use prowess_tools::missions::FileSlot;
use prowess_traits::{Lease, SessionError, SessionQuery, SessionStore};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use agents::MissionServices;
pub use desk::checked_inputs;

use crate::agent_run::{self, AgentStart};
use crate::budget_meter::BudgetMeter;
use crate::engine::{Engine, MissionParts};
use crate::error::RuntimeError;
use crate::journal::{Journal, blocking};
use crate::mission::agents::MissionCast;
use crate::mission::desk::TaskDesk;
use crate::outcome::FinishedRun;
use crate::resume::Above;
use crate::session::{Session, one_line};
use crate::subrun;

/// Maximum number of missions that one call runs, each started by the one before.
const MAX_HAND_OVERS: usize = 100;
/// The interval at which requests to stop are looked for.
const STOP_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);
/// Maximum number of sessions among which the one of a unit, or the next run, is searched.
const MAX_SEARCHED: usize = 10_000;

/// Maximum number of sessions above one another: far more than sub-runs can be nested.
const MAX_LEVELS: usize = 100;

/// A mission to run.
#[derive(Clone, Debug)]
pub struct MissionRequest {
    /// The folder of the project.
    pub folder: Box<str>,
    /// The plan.
    pub plan: MissionProject,
    /// The digest over its files.
    pub digest: Box<str>,
    /// The mission.
    pub mission: Box<str>,
    /// The inputs, checked with [`checked_inputs`].
    pub inputs: Map<String, Value>,
    /// The budget. Missing limits are those of the plan.
    pub budget: MissionBudget,
}

/// The changes with which a run is resumed.
#[derive(Clone, Debug, Default)]
pub struct MissionResume {
    /// The new budget.
    pub budget: Option<MissionBudget>,
    /// Failed tasks to run again.
    pub retry: Vec<Box<str>>,
    /// Files that changed after the run started.
    pub changed: Vec<Box<str>>,
    /// The plan that replaces the one of the run.
    pub plan: Option<Box<MissionProject>>,
}

/// A run that has ended or waits.
#[derive(Clone, Debug)]
pub struct FinishedMission {
    /// The id of the run.
    pub run: Box<str>,
    /// The ending, as its session records it.
    pub ending: Ending,
    /// The state.
    pub state: MissionState,
}

/// Returns the events of the run that a session records.
pub fn mission_events(events: &[StampedEvent]) -> Result<Vec<MissionEvent>, RuntimeError> {
    let mut found = Vec::new();
    for stamped in events {
        if let Event::Mission { fact } = &stamped.event {
            let event = serde_json::from_value(fact.clone());
            found.push(event.map_err(|error| RuntimeError::MissionEvent {
                reason: error.to_string(),
            })?);
        }
    }
    Ok(found)
}

/// Returns the state of the run that a session records; `None` if it records none.
pub fn mission_state(events: &[StampedEvent]) -> Result<Option<MissionState>, RuntimeError> {
    let Some(Event::Started(started)) = events.first().map(|first| &first.event) else {
        return Ok(None);
    };
    if started.mission.is_none() {
        return Ok(None);
    }
    let events = mission_events(events)?;
    if events.is_empty() {
        return Err(RuntimeError::NoPlan);
    }
    let state = MissionState::replay(&events);
    Ok(Some(
        state.map_err(|fault| RuntimeError::Mission { fault })?,
    ))
}

/// Returns the run of a mission that a session is or belongs to. Only the run itself can be resumed:
/// the plan must be trusted, and its budgets count. Blocks.
pub fn mission_run_above(
    store: &dyn SessionStore,
    id: &str,
) -> Result<Option<Box<str>>, SessionError> {
    let mut session: Box<str> = id.into();
    for _ in 0..MAX_LEVELS {
        let events = match store.events(&session) {
            Err(SessionError::NotFound { .. }) if *session != *id => return Ok(None),
            events => events?,
        };
        let Some(Event::Started(started)) = events.into_iter().next().map(|first| first.event)
        else {
            return Ok(None);
        };
        match started.parent {
            _ if started.mission.is_some() => return Ok(Some(session)),
            Some(parent) => session = parent.session,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// The record of a run, with its state.
struct MissionLog {
    journal: Journal,
    state: MissionState,
}

impl MissionLog {
    /// Creates a run.
    async fn begin(engine: &Engine, start: MissionStart) -> Result<Self, RuntimeError> {
        let started = Started {
            version: VERSION,
            title: one_line(&format!("mission {}", start.mission)),
            project: engine.settings().paths.workspace.to_string_lossy().into(),
            model: engine.model().about().name.clone(),
            mission: Some(start.mission.clone()),
            ..Started::default()
        };
        let first = Event::Started(Box::new(started));
        let journal = Journal::begin(engine, first, 0, Arc::default()).await?;
        let mut log = Self {
            journal,
            state: MissionState::default(),
        };
        log.write(vec![MissionEvent::Started(Box::new(start))])
            .await?;
        Ok(log)
    }

    /// Leases a run and replays its events.
    async fn take(engine: &Engine, id: &str) -> Result<Self, RuntimeError> {
        let (journal, events) = Journal::take(engine, id).await?;
        let state = mission_state(&events)?;
        let state = state.ok_or_else(|| RuntimeError::NoMissionRun {
            session: journal.id.clone(),
        })?;
        Ok(Self { journal, state })
    }

    /// Records events, all or none.
    async fn write(&mut self, events: Vec<MissionEvent>) -> Result<(), RuntimeError> {
        self.write_with(events, None).await
    }

    async fn write_with(
        &mut self,
        events: Vec<MissionEvent>,
        last: Option<Event>,
    ) -> Result<(), RuntimeError> {
        let mut facts = Vec::new();
        for event in &events {
            let fact = serde_json::to_value(event);
            let fact = fact.map_err(|error| RuntimeError::MissionEvent {
                reason: error.to_string(),
            })?;
            facts.push(Event::Mission { fact });
        }
        facts.extend(last);
        self.journal.write_all(facts).await?;
        for event in &events {
            let applied = self.state.apply(event);
            applied.map_err(|fault| RuntimeError::Mission { fault })?;
        }
        Ok(())
    }
}

/// What a unit has done.
struct UnitReport {
    unit: MissionUnit,
    finished: Result<FinishedRun, RuntimeError>,
    meter: Arc<BudgetMeter>,
}

impl Engine {
    /// Runs a mission, and the missions that it hands over to.
    pub async fn run_mission(
        &self,
        request: MissionRequest,
        services: Arc<dyn MissionServices>,
        cancel: &CancellationToken,
    ) -> Result<FinishedMission, RuntimeError> {
        let start = MissionStart {
            version: MISSION_VERSION,
            folder: request.folder,
            plan: request.plan,
            digest: request.digest,
            mission: request.mission,
            inputs: request.inputs,
            entry: None,
            from: None,
            budget: request.budget,
            left: MissionBudget::default(),
        };
        self.check_cast(
            (&start.plan, &start.folder),
            &start.mission,
            start.budget,
            &services,
        )
        .await?;
        let log = MissionLog::begin(self, start).await?;
        self.drive_all(log, services, cancel).await
    }

    /// Continues a run: what was under way, and what an answer, a new budget or a retry allows.
    pub async fn resume_mission(
        &self,
        id: &str,
        resume: MissionResume,
        services: Arc<dyn MissionServices>,
        cancel: &CancellationToken,
    ) -> Result<FinishedMission, RuntimeError> {
        let mut log = MissionLog::take(self, id).await?;
        if let Some(start) = log.state.start() {
            let plan = resume.plan.as_deref().unwrap_or(&start.plan);
            let given = resume.budget.unwrap_or_default();
            let budget = given.or(log.state.given_budget());
            self.check_cast((plan, &start.folder), &start.mission, budget, &services)
                .await?;
        }
        let resumed = MissionEvent::Resumed {
            changed: resume.changed,
            retry: resume.retry,
            budget: resume.budget,
            plan: resume.plan,
        };
        // The event must fit before it is stored.
        let mut after = log.state.clone();
        after
            .apply(&resumed)
            .map_err(|fault| RuntimeError::Mission { fault })?;
        let started = Event::Resumed {
            budget: None,
            unloaded: Vec::new(),
        };
        log.journal.write(started).await?;
        log.write(vec![resumed]).await?;
        self.drive_all(log, services, cancel).await
    }

    /// Checks that the agents of a mission can run, and those of the missions that its routes lead to.
    /// `budget` is the one that people gave.
    async fn check_cast(
        &self,
        (plan, folder): (&MissionProject, &str),
        name: &str,
        budget: MissionBudget,
        services: &Arc<dyn MissionServices>,
    ) -> Result<(), RuntimeError> {
        let (engine, services) = (self.clone(), Arc::clone(services));
        let (plan, name) = (plan.clone(), name.to_owned());
        let root = PathBuf::from(folder);
        let faults = blocking(move || {
            let missions = plan.reachable(&name);
            if missions.is_empty() {
                return vec![format!("no mission named {}", wording::tick(&name))];
            }
            let mut faults: Vec<String> = Vec::new();
            let chosen = engine.model().about();
            if budget.micros.is_some()
                && engine.settings().is_model_chosen
                && chosen.price.is_none()
            {
                faults.push(agents::no_price(&chosen.name, "use"));
            }
            for mission in missions {
                let is_first = *mission.name == *name;
                let cast = MissionCast::new(&engine, &plan, mission, &root, &*services);
                let unpriced = budget.micros.map(|_| cast.unpriced()).unwrap_or_default();
                for fault in cast.faults.into_iter().chain(unpriced) {
                    let fault = if is_first {
                        fault
                    } else {
                        format!("mission {}: {fault}", wording::tick(&mission.name))
                    };
                    if !faults.contains(&fault) {
                        faults.push(fault);
                    }
                }
            }
            faults
        })
        .await?;
        if faults.is_empty() {
            return Ok(());
        }
        Err(RuntimeError::MissionFaults { faults })
    }

    async fn drive_all(
        &self,
        log: MissionLog,
        services: Arc<dyn MissionServices>,
        cancel: &CancellationToken,
    ) -> Result<FinishedMission, RuntimeError> {
        let mut log = log;
        for _ in 0..MAX_HAND_OVERS {
            let (finished, next) = self.drive(log, &services, cancel).await?;
            match next {
                Some(next) => log = next,
                None => return Ok(finished),
            }
        }
        Err(RuntimeError::MissionFaults {
            faults: vec![format!(
                "{MAX_HAND_OVERS} missions have handed over to the next; resume the last one to continue"
            )],
        })
    }

    /// Runs one mission to its end. Returns the next run if it hands over.
    async fn drive(
        &self,
        mut log: MissionLog,
        services: &Arc<dyn MissionServices>,
        cancel: &CancellationToken,
    ) -> Result<(FinishedMission, Option<MissionLog>), RuntimeError> {
        let stage = self.stage(&log.state, services).await?;
        let mut running: JoinSet<UnitReport> = JoinSet::new();
        let (announce, mut announced) = mpsc::unbounded_channel::<(MissionUnit, Box<str>)>();
        // Stops the units if this run ends early.
        let stop = cancel.child_token();
        let _guard = stop.clone().drop_guard();
        let open: Vec<MissionUnit> = log
            .state
            .unfinished()
            .into_iter()
            .map(|(unit, _)| unit)
            .collect();
        for unit in open {
            self.start_unit(&log, &stage, unit, &announce, &stop, &mut running)?;
        }
        let mut is_cancelled = false;
        let mut next_run = None;
        let mut ticks = tokio::time::interval(STOP_INTERVAL);
        let ending = loop {
            if stop.is_cancelled() && !is_cancelled && log.state.ending().is_none() {
                is_cancelled = true;
                log.write(vec![MissionEvent::Cancelled]).await?;
            }
            match log.state.next() {
                MissionStep::Start { events, units } => {
                    log.write(events).await?;
                    for unit in units {
                        self.start_unit(&log, &stage, unit, &announce, &stop, &mut running)?;
                    }
                }
                MissionStep::Record(events) => log.write(events).await?,
                MissionStep::Wait => {
                    tokio::select! {
                        biased;
                        Some((unit, session)) = announced.recv() => {
                            let MissionUnit { task, item } = unit;
                            log.write(vec![MissionEvent::SessionStarted { task, item, session }]).await?;
                        }
                        ended = running.join_next() => match ended {
                            Some(Ok(report)) => {
                                // A session that was announced before the end belongs to the record.
                                while let Ok((unit, session)) = announced.try_recv() {
                                    let MissionUnit { task, item } = unit;
                                    log.write(vec![MissionEvent::SessionStarted { task, item, session }]).await?;
                                }
                                self.record_unit(&mut log, report).await?;
                            }
                            Some(Err(error)) => return Err(RuntimeError::Task(error.to_string())),
                            None => {
                                let reason = "a unit of the run is active, but nothing works on it".to_owned();
                                return Err(RuntimeError::Task(reason));
                            }
                        },
                        () = stop.cancelled(), if !is_cancelled => {}
                        _ = ticks.tick(), if !is_cancelled => {
                            if log.journal.is_stop_requested().await? {
                                stop.cancel();
                            }
                        }
                    }
                }
                MissionStep::Parked(questions) => {
                    break Ending::Waiting { questions };
                }
                MissionStep::HandOver {
                    mission,
                    entry,
                    inputs,
                } => {
                    let next = self.next_run(&log, &mission, entry, inputs).await?;
                    let run = next.journal.id.clone();
                    next_run = Some(next);
                    log.write(vec![MissionEvent::HandedOver { mission, run }])
                        .await?;
                }
                MissionStep::End(how) => {
                    let ending = session_ending(&log.state, &how);
                    let last = Event::Ended {
                        ending: ending.clone(),
                    };
                    log.write_with(vec![MissionEvent::Ended { how }], Some(last))
                        .await?;
                    break ending;
                }
                MissionStep::Done(how) => break session_ending(&log.state, &how),
            }
        };
        if let Ending::Waiting { .. } = &ending {
            let ending = ending.clone();
            log.journal.write(Event::Ended { ending }).await?;
        }
        let MissionLog { journal, state } = log;
        let finished = FinishedMission {
            run: journal.id.clone(),
            ending,
            state,
        };
        Ok((finished, next_run))
    }

    /// Prepares the agents, tools and models of a mission.
    async fn stage(
        &self,
        state: &MissionState,
        services: &Arc<dyn MissionServices>,
    ) -> Result<Stage, RuntimeError> {
        let start = state.start().cloned().unwrap_or_default();
        let storage = services.storage();
        let (engine, services) = (self.clone(), Arc::clone(services));
        let cast = blocking(move || {
            let mission = start.plan.mission(&start.mission)?;
            let (plan, root) = (&start.plan, Path::new(&*start.folder));
            Some(MissionCast::new(&engine, plan, mission, root, &*services))
        })
        .await?;
        let cast = cast.unwrap_or_default();
        let earlier = self.earlier_outputs(state).await?;
        let meter = BudgetMeter::new(None, state.budget(), state.spent(), None);
        let mut tasks = BTreeMap::new();
        for (task, known) in state.tasks() {
            let budget = state.task_budget(&task.name);
            let above = Some(Arc::clone(&meter));
            let meter = BudgetMeter::new(Some(&task.name), budget, known.spent, above);
            tasks.insert(task.name.clone(), meter);
        }
        Ok(Stage {
            cast: Arc::new(cast),
            earlier,
            tasks,
            storage,
        })
    }

    /// Returns the outputs of the mission that handed over to this run.
    async fn earlier_outputs(
        &self,
        state: &MissionState,
    ) -> Result<BTreeMap<(Box<str>, Box<str>), Value>, RuntimeError> {
        let mut outputs = BTreeMap::new();
        let Some(from) = state.start().and_then(|start| start.from.clone()) else {
            return Ok(outputs);
        };
        let store = Arc::clone(self.sessions());
        let events = match blocking(move || store.events(&from)).await? {
            Ok(events) => events,
            Err(SessionError::NotFound { .. }) => return Ok(outputs),
            Err(error) => return Err(error.into()),
        };
        if let Some(before) = mission_state(&events)?
            && let Some(mission) = before.mission()
        {
            for (task, known) in before.tasks() {
                let key = (mission.name.clone(), task.name.clone());
                outputs.extend(known.value().map(|value| (key, value)));
            }
        }
        Ok(outputs)
    }

    /// Starts or continues the commander of a unit.
    fn start_unit(
        &self,
        log: &MissionLog,
        stage: &Stage,
        unit: MissionUnit,
        announce: &mpsc::UnboundedSender<(MissionUnit, Box<str>)>,
        cancel: &CancellationToken,
        running: &mut JoinSet<UnitReport>,
    ) -> Result<(), RuntimeError> {
        let state = &log.state;
        let lost = || RuntimeError::Task(format!("the plan has no task `{}`", unit.task));
        let desk = TaskDesk::new(state, &unit, stage.earlier.clone()).ok_or_else(lost)?;
        let mission = state.mission().ok_or_else(lost)?;
        let task = mission.task(&unit.task).ok_or_else(lost)?;
        let key = state.key(&unit).ok_or_else(lost)?;
        let known = state
            .task(&unit.task)
            .and_then(|task| task.units.get(&unit.item));
        let meter = stage.tasks.get(&unit.task).map(Arc::clone);
        let meter = BudgetMeter::new(
            None,
            MissionBudget::default(),
            MissionUsage::default(),
            meter,
        );
        let start = state.start().ok_or_else(lost)?;
        let slots = FileSlot::of_task(
            &start.plan,
            mission,
            task,
            &start.folder,
            stage.storage.as_deref(),
            &log.journal.id,
        );
        let file_tools = FileSlot::tools(slots);
        let mut agents = stage.cast.agents.clone();
        for agent in agents.values_mut() {
            let names = file_tools.iter().map(|tool| Box::from(tool.name()));
            agent.profile.tools.get_or_insert_default().extend(names);
        }
        let mut tools = stage.cast.tools.clone();
        tools.extend(file_tools);
        let engine = self.for_mission(
            MissionParts {
                agents: Arc::new(agents),
                models: Arc::new(stage.cast.models.clone()),
                meter: Arc::clone(&meter),
                parallel: usize::try_from(mission.max_parallel).unwrap_or(1),
            },
            &tools,
        );
        let team = MissionCast::team(&start.plan, mission, task);
        let brief = state.brief(&unit);
        let work = UnitWork {
            unit: unit.clone(),
            run: log.journal.id.clone(),
            session: known.and_then(|known| known.session.clone()),
            recorded: known.map(|known| known.spent).unwrap_or_default(),
            title: format!("task {unit}"),
            result: desk::completion_schema(task),
            key,
            desk,
            announce: announce.clone(),
            start: match brief {
                Ok(brief) => Ok((
                    brief.message,
                    agents::commander(
                        &mission.commander,
                        brief.system,
                        team,
                        self.settings().is_model_chosen,
                    ),
                )),
                Err(fault) => Err(fault.to_string()),
            },
        };
        let delay = start_delay(
            task,
            &unit,
            known.is_some_and(|known| known.session.is_some()),
        );
        let cancel = cancel.clone();
        running.spawn(async move {
            if !delay.is_zero() {
                tokio::select! {
                    () = cancel.cancelled() => {}
                    () = tokio::time::sleep(delay) => {}
                }
            }
            let finished = Box::pin(work.run(&engine, &meter, &cancel)).await;
            UnitReport {
                unit,
                finished,
                meter,
            }
        });
        Ok(())
    }

    /// Records what a unit has done.
    async fn record_unit(
        &self,
        log: &mut MissionLog,
        report: UnitReport,
    ) -> Result<(), RuntimeError> {
        let UnitReport {
            unit,
            finished,
            meter,
        } = report;
        let known = log
            .state
            .task(&unit.task)
            .and_then(|task| task.units.get(&unit.item));
        let recorded = known.map(|known| known.spent).unwrap_or_default();
        let finished = match finished {
            Ok(finished) => finished,
            // What cannot be recorded is not done.
            Err(error @ (RuntimeError::Store(_) | RuntimeError::Interrupted { .. })) => {
                return Err(error);
            }
            Err(error) => FinishedRun {
                session: Box::default(),
                ending: Ending::Failed {
                    kind: FailureKind::Other,
                    message: error.to_string(),
                },
                text: String::new(),
                spent: Spent::default(),
            },
        };
        let usage = usage_of(&finished.spent).since(recorded);
        if let Ending::Waiting { questions } = finished.ending {
            let MissionUnit { task, item } = unit;
            let mut events = Vec::new();
            if usage != MissionUsage::default() {
                let task = task.clone();
                events.push(MissionEvent::Spent { task, item, usage });
            }
            events.push(MissionEvent::Waiting {
                task,
                item,
                questions,
            });
            return log.write(events).await;
        }
        let result = unit_result(finished, usage, &meter);
        let events = log.state.finished(&unit, result);
        log.write(events).await
    }

    /// Starts the run of the mission that continues, unless an interrupted run started it already.
    async fn next_run(
        &self,
        log: &MissionLog,
        mission: &str,
        entry: Option<Box<str>>,
        inputs: Map<String, Value>,
    ) -> Result<MissionLog, RuntimeError> {
        let run = log.journal.id.clone();
        let (store, from) = (Arc::clone(self.sessions()), run.clone());
        let found = blocking(move || {
            let query = SessionQuery {
                project: None,
                parent: None,
                limit: MAX_SEARCHED,
            };
            for session in store.list(&query)? {
                // The next run is newer than this one.
                if session.id == from {
                    continue;
                }
                if !session.title.starts_with("mission ") {
                    continue;
                }
                let events = store.events(&session.id)?;
                let state = mission_state(&events).ok().flatten();
                let start = state.as_ref().and_then(MissionState::start);
                if start.is_some_and(|start| start.from.as_ref() == Some(&from)) {
                    return Ok(Some(session.id));
                }
            }
            Ok::<_, SessionError>(None)
        })
        .await??;
        if let Some(id) = found {
            return MissionLog::take(self, &id).await;
        }
        let before = log.state.start().cloned().unwrap_or_default();
        let start = MissionStart {
            mission: mission.into(),
            inputs,
            entry,
            from: Some(run),
            budget: MissionBudget::default(),
            left: log.state.given_budget().without(log.state.spent()),
            ..before
        };
        MissionLog::begin(self, start).await
    }
}

/// The effect of cancelling a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissionCancel {
    /// No process had it; it is recorded as cancelled.
    Cancelled,
    /// The process that has it was asked to stop.
    Requested,
}

/// Cancels a run that no process has, or asks the process that has it to stop. `at` is the time, in
/// nanoseconds since 1970. Blocks.
pub fn cancel_mission(
    store: &dyn SessionStore,
    id: &str,
    at: i64,
) -> Result<MissionCancel, RuntimeError> {
    let lease = match store.take(id) {
        Ok(lease) => lease,
        Err(SessionError::InUse { .. }) => {
            store.request_stop(id)?;
            return Ok(MissionCancel::Requested);
        }
        Err(error) => return Err(error.into()),
    };
    let cancelled = cancel_leased(store, &lease, at);
    store.release(lease);
    cancelled.map(|()| MissionCancel::Cancelled)
}

fn cancel_leased(store: &dyn SessionStore, lease: &Lease, at: i64) -> Result<(), RuntimeError> {
    let events = store.events(&lease.session)?;
    let no_run = || RuntimeError::NoMissionRun {
        session: lease.session.clone(),
    };
    let mut state = mission_state(&events)?.ok_or_else(no_run)?;
    if state.ending().is_some() {
        return Ok(());
    }
    let mut facts = vec![MissionEvent::Cancelled];
    for (unit, _) in state.unfinished() {
        let result = UnitResult {
            how: TaskEnding::Cancelled,
            summary: String::new(),
            route: None,
            outputs: Vec::new(),
            datasets: Vec::new(),
            usage: MissionUsage::default(),
            limit: None,
        };
        facts.extend(state.finished(&unit, result));
    }
    facts.push(MissionEvent::Ended {
        how: MissionEnding::Cancelled,
    });
    let mut stored = Vec::new();
    for fact in &facts {
        let applied = state.apply(fact);
        applied.map_err(|fault| RuntimeError::Mission { fault })?;
        let fact = serde_json::to_value(fact).map_err(|error| RuntimeError::MissionEvent {
            reason: error.to_string(),
        })?;
        let event = Event::Mission { fact };
        stored.push(StampedEvent { at, event });
    }
    let ending = Ending::Cancelled;
    let event = Event::Ended { ending };
    stored.push(StampedEvent { at, event });
    store.append(lease, &stored)?;
    Ok(crate::child::withdraw(store, &lease.session, at, 0)?)
}

/// The agents of a run, and what its units share.
struct Stage {
    cast: Arc<MissionCast>,
    earlier: BTreeMap<(Box<str>, Box<str>), Value>,
    tasks: BTreeMap<Box<str>, Arc<BudgetMeter>>,
    /// The folder for memories and scratchpads of all projects.
    storage: Option<PathBuf>,
}

/// The work on a unit.
struct UnitWork {
    unit: MissionUnit,
    run: Box<str>,
    /// The session that an earlier process recorded.
    session: Option<Box<str>>,
    /// What the record of the run has of its usage.
    recorded: MissionUsage,
    key: String,
    title: String,
    result: Value,
    desk: Arc<TaskDesk>,
    announce: mpsc::UnboundedSender<(MissionUnit, Box<str>)>,
    /// The message and the commander, or the reason why it cannot start.
    start: Result<(String, crate::agent_profile::PreparedAgent), String>,
}

impl UnitWork {
    async fn run(
        self,
        engine: &Engine,
        meter: &BudgetMeter,
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let found = self.find(engine).await?;
        if let Some((id, events)) = found {
            if self.session.as_ref() != Some(&id) {
                let _ = self.announce.send((self.unit.clone(), id.clone()));
            }
            return self.resume(engine, meter, &id, &events, cancel).await;
        }
        let (message, agent) = match self.start {
            Ok(start) => start,
            Err(why) => {
                return Ok(FinishedRun {
                    session: Box::default(),
                    ending: Ending::Failed {
                        kind: FailureKind::Other,
                        message: why,
                    },
                    text: String::new(),
                    spent: Spent::default(),
                });
            }
        };
        let start = AgentStart {
            budget: agent.budget,
            agent,
            title: one_line(&self.title),
            result: Some(self.result),
            model: None,
            effort: None,
            parent: Some(ParentSession {
                session: self.run,
                call: Some(self.key.into()),
                depth: 0,
            }),
            above: Vec::new(),
            desk: Some(self.desk),
        };
        let context = engine.context().derive();
        let (unit, announce) = (self.unit, self.announce);
        agent_run::run_announced(engine, context, start, &message, cancel, move |session| {
            let _ = announce.send((unit, session.into()));
        })
        .await
    }

    /// Returns the session of this attempt, if an earlier process began it.
    async fn find(
        &self,
        engine: &Engine,
    ) -> Result<Option<(Box<str>, Vec<StampedEvent>)>, RuntimeError> {
        let (store, run) = (Arc::clone(engine.sessions()), self.run.clone());
        let (key, known) = (self.key.clone(), self.session.clone());
        let found = blocking(move || {
            let query = SessionQuery {
                project: None,
                parent: Some(run),
                limit: MAX_SEARCHED,
            };
            let ids: Vec<Box<str>> = match known {
                Some(known) => vec![known],
                None => store.list(&query)?.into_iter().map(|one| one.id).collect(),
            };
            for id in ids {
                let events = store.events(&id)?;
                let Some(Event::Started(started)) = events.first().map(|first| &first.event) else {
                    continue;
                };
                let call = started
                    .parent
                    .as_ref()
                    .and_then(|parent| parent.call.as_deref());
                let has_begun = events
                    .iter()
                    .any(|stamped| matches!(stamped.event, Event::Said { .. }));
                if call == Some(&*key) && has_begun {
                    return Ok(Some((id, events)));
                }
            }
            Ok::<_, SessionError>(None)
        });
        Ok(found.await??)
    }

    /// Continues a recorded session, or takes its result if it has ended.
    async fn resume(
        self,
        engine: &Engine,
        meter: &BudgetMeter,
        id: &str,
        events: &[StampedEvent],
        cancel: &CancellationToken,
    ) -> Result<FinishedRun, RuntimeError> {
        let run = Run::replay(events).map_err(|fault| RuntimeError::Fold {
            session: id.into(),
            fault,
        })?;
        let continues = |ending: &Ending| {
            matches!(
                ending,
                Ending::Waiting { .. } | Ending::Cancelled | Ending::Exhausted { .. }
            )
        };
        if let Some(ending) = run.ending().filter(|ending| !continues(ending)) {
            let text = run.answer();
            return Ok(FinishedRun {
                session: id.into(),
                ending: ending.clone(),
                text,
                spent: *run.spent(),
            });
        }
        // What was used before the restart counts against the budgets.
        let before = usage_of(run.spent()).since(self.recorded);
        meter.add_used(before);
        let budget = run.started().map(|started| started.limits.budget);
        // A new start has as many turns as the first one.
        let budget = budget.map(|budget| RunBudget {
            turns: budget
                .turns
                .map(|turns| turns.saturating_add(run.spent().turns)),
            ..budget
        });
        let is_spent = matches!(
            run.ending(),
            Some(Ending::Exhausted {
                limit: RunLimit::Turns
            })
        );
        let budget = budget.filter(|_| is_spent);
        let above = Above::Restored(engine.context());
        let resumed = Session::resume_at(engine, above, id, budget, Some(self.desk));
        let mut session = Box::pin(resumed).await?;
        let pause = Box::pin(session.proceed(cancel)).await?;
        subrun::finish(session, pause).await
    }
}

/// Returns the pause before an item of a parallel iterator starts.
fn start_delay(
    task: &prowess_flow::mission::MissionTask,
    unit: &MissionUnit,
    is_started: bool,
) -> std::time::Duration {
    let parallel = task
        .iterator
        .as_ref()
        .and_then(|iterator| iterator.parallel);
    let (Some(parallel), Some(item)) = (parallel, unit.item) else {
        return std::time::Duration::ZERO;
    };
    let place = u64::try_from(item).unwrap_or(u64::MAX);
    if is_started || place >= u64::from(parallel.limit) {
        return std::time::Duration::ZERO;
    }
    std::time::Duration::from_millis(parallel.start_delay.saturating_mul(place))
}

fn usage_of(spent: &Spent) -> MissionUsage {
    MissionUsage {
        tokens: spent.usage.tokens(),
        micros: spent.usage.micros.unwrap_or(0),
        turns: u64::from(spent.turns),
    }
}

/// Returns the result of a unit from the ending of its commander.
fn unit_result(finished: FinishedRun, usage: MissionUsage, meter: &BudgetMeter) -> UnitResult {
    let mut result = UnitResult {
        how: TaskEnding::Done,
        summary: String::new(),
        route: None,
        outputs: Vec::new(),
        datasets: Vec::new(),
        usage,
        limit: None,
    };
    let failed = |reason: String| TaskEnding::Failed { reason };
    result.how = match finished.ending {
        Ending::Submitted { value } => return completed(&value, result),
        Ending::Answered => failed("the commander ended without completing the task".to_owned()),
        Ending::Declined { why } if why.trim().is_empty() => {
            failed("the commander ended without completing the task".to_owned())
        }
        Ending::Declined { why } => failed(wording::shorten(why.trim(), 2_000).clone()),
        Ending::Exhausted { limit } => match meter.reached() {
            Some(reached) if matches!(limit, RunLimit::Tokens | RunLimit::Money) => {
                let (scope, kind, used) = &reached;
                let owner = match scope {
                    Some(task) => format!("task `{task}`"),
                    None => "the mission".to_owned(),
                };
                let used = kind.amount(*used);
                let reason = format!("the budget of {owner} is used up: {used}");
                result.limit = Some(reached.clone());
                TaskEnding::Exhausted { reason }
            }
            _ => failed(format!("{limit} was reached")),
        },
        Ending::Cancelled => TaskEnding::Cancelled,
        Ending::Waiting { .. } => failed("it waits for a person".to_owned()),
        Ending::Failed { message, .. } => failed(message),
    };
    result
}

/// Reads the value of `task_complete`.
fn completed(value: &Value, mut result: UnitResult) -> UnitResult {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    result.summary.push_str(text("summary"));
    let succeed = value
        .get("succeed")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    if !succeed {
        let reason = [text("reason"), text("summary")];
        let reason = reason.into_iter().find(|text| !text.trim().is_empty());
        let reason = reason
            .unwrap_or("the commander reported a failure")
            .to_owned();
        result.how = TaskEnding::Failed { reason };
        return result;
    }
    let route = value.get("route").filter(|route| !route.is_null());
    let route = route.and_then(|route| serde_json::from_value::<RouteTarget>(route.clone()).ok());
    let inputs = value.get("mission_inputs").and_then(Value::as_object);
    result.route = route.map(|to| ChosenRoute {
        to,
        inputs: inputs.cloned().unwrap_or_default(),
    });
    let outputs = value.get("outputs").and_then(Value::as_array);
    for output in outputs.into_iter().flatten() {
        let item = output.get(0).and_then(Value::as_u64);
        let item = item.and_then(|item| usize::try_from(item).ok());
        if let Some(value) = output.get(1) {
            result.outputs.push((item, value.clone()));
        }
    }
    let datasets = value.get("datasets").and_then(Value::as_object);
    for (name, items) in datasets.into_iter().flatten() {
        let items = items.as_array().cloned().unwrap_or_default();
        result.datasets.push((name.as_str().into(), items));
    }
    result
}

/// Returns the ending that the session of a run records.
fn session_ending(state: &MissionState, how: &MissionEnding) -> Ending {
    match how {
        MissionEnding::Done => Ending::Submitted {
            value: outputs(state),
        },
        MissionEnding::HandedOver => Ending::Answered,
        MissionEnding::Failed { task, reason } => Ending::Failed {
            kind: FailureKind::Other,
            message: format!("task `{task}` failed: {reason}"),
        },
        MissionEnding::Exhausted { .. } => Ending::Exhausted {
            limit: match state.reached_limit() {
                Some(MissionLimit::Dollars) => RunLimit::Money,
                Some(MissionLimit::Tokens) | None => RunLimit::Tokens,
            },
        },
        MissionEnding::Cancelled => Ending::Cancelled,
    }
}

/// Returns the outputs of a run: an object with the value of each task that has one.
pub fn outputs(state: &MissionState) -> Value {
    let tasks = state.tasks().filter(|(_, state)| state.is_done());
    let entries = tasks.filter_map(|(task, state)| Some((task.name.to_string(), state.value()?)));
    Value::Object(entries.collect())
}
