//! What a run of a mission used: in total, and by task, agent and skill.

use std::collections::{BTreeMap, BTreeSet};

use prowess_agent::{Event, StampedEvent, TokenUsage};
use prowess_flow::mission::{MissionState, MissionUsage};
use prowess_runtime::{RuntimeError, mission_state};
use prowess_traits::{SessionQuery, SessionStore};

/// Maximum number of sessions of a run that are read.
const MAX_SESSIONS: usize = 10_000;

/// What a run used. The amounts of the tasks add up to the total, and so do those of the agents. A
/// request counts for each skill that is loaded in it, so those of the skills may add up to more or
/// less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissionCosts {
    /// The mission.
    pub mission: Box<str>,
    /// The sum over all sessions.
    pub total: MissionUsage,
    /// The amounts of the tasks, with their commanders and agents, in the order of the plan.
    pub tasks: Vec<(Box<str>, MissionUsage)>,
    /// The amounts of the agents, without the agents that they call, by name; `commander` for all
    /// commanders.
    pub agents: BTreeMap<Box<str>, MissionUsage>,
    /// The amounts of the requests in which a skill was loaded, by its name.
    pub skills: BTreeMap<Box<str>, MissionUsage>,
    /// `false` if the run has more sessions than are read.
    pub is_complete: bool,
}

impl MissionCosts {
    /// Adds the costs of another run of the same mission.
    pub fn add(&mut self, other: Self) {
        self.total += other.total;
        for (name, usage) in other.tasks {
            match self.tasks.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known += usage,
                None => self.tasks.push((name, usage)),
            }
        }
        for (sums, more) in [
            (&mut self.agents, other.agents),
            (&mut self.skills, other.skills),
        ] {
            for (name, usage) in more {
                *sums.entry(name).or_default() += usage;
            }
        }
        self.is_complete &= other.is_complete;
    }
}

/// Returns what a run used, from the records of its sessions: also of those that are under way. Returns
/// `None` if the session is not a run of a mission. Blocks.
pub fn mission_costs(
    store: &dyn SessionStore,
    run: &str,
) -> Result<Option<MissionCosts>, RuntimeError> {
    let events = store.events(run)?;
    let Some(state) = mission_state(&events)? else {
        return Ok(None);
    };
    let mission = state.start().map(|start| start.mission.clone());
    let mut costs = MissionCosts {
        mission: mission.unwrap_or_default(),
        is_complete: true,
        ..MissionCosts::default()
    };
    let mut by_task: BTreeMap<Box<str>, MissionUsage> = BTreeMap::new();
    let mut left = MAX_SESSIONS;
    // The sessions to count, each with its task.
    let mut waiting: Vec<(SubSession, Box<str>)> = Vec::new();
    for session in children(store, run, &mut left)? {
        let task = task_of(&state, &session.id);
        waiting.push((session, task));
    }
    while let Some((session, task)) = waiting.pop() {
        let below = children(store, &session.id, &mut left)?;
        // Calls that have sessions of their own are counted there.
        let delegated = below.iter().filter_map(SubSession::call).collect();
        let own = costs.session(&session.events, &delegated);
        *by_task.entry(task.clone()).or_default() += own;
        waiting.extend(below.into_iter().map(|session| (session, task.clone())));
    }
    costs.is_complete = left > 0;
    for (task, _) in state.tasks() {
        let used = by_task.remove(&task.name).unwrap_or_default();
        costs.tasks.push((task.name.clone(), used));
    }
    costs.tasks.extend(by_task);
    Ok(Some(costs))
}

impl MissionCosts {
    /// Adds the requests of a session. Returns their sum.
    fn session(&mut self, events: &[StampedEvent], delegated: &BTreeSet<&str>) -> MissionUsage {
        let mut own = MissionUsage::default();
        let mut loaded: BTreeSet<Box<str>> = BTreeSet::new();
        for StampedEvent { event, .. } in events {
            let used = match event {
                Event::Started(started) => {
                    loaded.extend(started.skill.clone());
                    None
                }
                Event::Said { loaded: more, .. } => {
                    loaded.extend(more.iter().map(|skill| skill.name.clone()));
                    None
                }
                Event::Replied { reply, .. } => Some(reply.usage),
                Event::CallEnded { result, usage, .. } => {
                    (*usage).filter(|_| !delegated.contains(&*result.call))
                }
                Event::Compacted { usage, .. } => Some(*usage),
                _ => None,
            };
            if let Some(used) = used.filter(|used| *used != TokenUsage::default()) {
                let used = MissionUsage {
                    tokens: used.tokens(),
                    micros: used.micros.unwrap_or(0),
                    turns: 1,
                };
                own += used;
                for skill in &loaded {
                    *self.skills.entry(skill.clone()).or_default() += used;
                }
            }
            match event {
                Event::CallEnded {
                    loaded: more,
                    unloaded,
                    ..
                } => {
                    loaded.retain(|name| !unloaded.contains(name));
                    loaded.extend(more.iter().map(|skill| skill.name.clone()));
                }
                Event::Compacted { unloaded, .. } | Event::Resumed { unloaded, .. } => {
                    loaded.retain(|name| !unloaded.contains(name));
                }
                _ => {}
            }
        }
        self.total += own;
        *self.agents.entry(agent_of(events)).or_default() += own;
        own
    }
}

/// Returns the name of the agent of a session.
fn agent_of(events: &[StampedEvent]) -> Box<str> {
    let Some(Event::Started(started)) = events.first().map(|first| &first.event) else {
        return Box::default();
    };
    match &started.agent {
        Some(profile) => profile.name.clone(),
        None => started.agents.last().cloned().unwrap_or_default(),
    }
}

fn task_of(state: &MissionState, session: &str) -> Box<str> {
    let mut tasks = state.tasks();
    let found = tasks.find(|(_, known)| {
        let mut units = known.units.values();
        units.any(|unit| {
            let mut sessions = unit.session.iter().chain(&unit.earlier);
            sessions.any(|id| **id == *session)
        })
    });
    found.map(|(task, _)| task.name.clone()).unwrap_or_default()
}

fn children(
    store: &dyn SessionStore,
    parent: &str,
    left: &mut usize,
) -> Result<Vec<SubSession>, RuntimeError> {
    let query = SessionQuery {
        project: None,
        parent: Some(parent.into()),
        limit: *left,
    };
    let mut found = Vec::new();
    for session in store.list(&query)? {
        let events = store.events(&session.id)?;
        let id = session.id;
        found.push(SubSession { id, events });
    }
    *left = left.saturating_sub(found.len());
    Ok(found)
}

/// A session below another one.
struct SubSession {
    id: Box<str>,
    events: Vec<StampedEvent>,
}

impl SubSession {
    /// Returns the call that started it.
    fn call(&self) -> Option<&str> {
        let Event::Started(started) = &self.events.first()?.event else {
            return None;
        };
        started.parent.as_ref()?.call.as_deref()
    }
}
