//! `prowess demo --mission`: a mission, offline.
//!
//! Only the model is scripted. The files are read and checked, commanders run side by side and give
//! work to agents, agents load their skills, outputs are checked, and the run is stored.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use prowess::agent::{Event, StampedEvent};
use prowess::inspect;
use prowess::mission::{
    FinishedMission, MissionRequest, MissionServices, checked_inputs, mission_outputs,
};
use prowess::tools::Tool;
use prowess::traits::{DenyAll, Model};
use prowess::{Ending, Update, Watcher};
use prowess_diag::{FileReport, theme, wording};
use prowess_flow::mission::{
    GraphFormat, MissionBudget, MissionEvent, MissionProject, MissionSettings, MissionTask,
    ModelRef, RouteTarget, TaskState, ToolRef,
};
use prowess_models::ScriptedModel;
use prowess_registry::MissionFiles;
use prowess_trust::MissionTrust;
use serde_json::{Map, json};

use super::{Beat, DemoArgs, demo_folder, isolated, tell};
use crate::async_runtime;
use crate::commands::run::failure;
use crate::output::{Exit, Failure, Printer};
use crate::runtime_setup::{ModelArgs, Setup};

macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../../examples/missions/feedback/", $path))
    };
}

/// The files of the project.
const FILES: [(&str, &str); 4] = [
    ("project/agents.hcl", example!("agents.hcl")),
    ("project/feedback.hcl", example!("feedback.hcl")),
    ("project/models.hcl", example!("models.hcl")),
    ("project/skills/severity.md", example!("skills/severity.md")),
];
const SCRIPT: &str = example!("script.jsonl");
const MISSION: &str = "feedback";

/// Runs the mission in a temporary folder.
pub(super) fn run(args: &DemoArgs, own: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let folder = demo_folder(&FILES)?;
    let project = folder.path().join("project");
    let (plan, reports) = read(&project)?;
    let mission = plan
        .mission(MISSION)
        .ok_or_else(|| Failure::new("the demo has no mission"))?;
    let graph = mission.graph(GraphFormat::Text);
    let inputs = checked_inputs(mission, Map::new())
        .map_err(|why| Failure::new("the inputs of the demo are not valid").cause(why))?;
    let trust = MissionTrust::new(&project, &plan, None);
    let trust = trust.map_err(|error| Failure::new(error.to_string()))?;
    let request = MissionRequest {
        folder: project.to_string_lossy().into(),
        digest: trust.digest.as_str().into(),
        mission: MISSION.into(),
        inputs,
        budget: MissionBudget::default(),
        plan: plan.clone(),
    };
    let model = ScriptedModel::parse("demo", SCRIPT)
        .map_err(|error| Failure::new("invalid demo script").cause(error))?;
    let seen = Arc::new(Seen::default());
    let watcher: Arc<dyn Watcher> = Arc::clone(&seen) as Arc<dyn Watcher>;
    let setup = isolated(own, folder.path(), None);
    let finished = async_runtime::on(|cancel| async move {
        let runtime = setup.runtime(
            &ModelArgs::default(),
            Arc::new(model),
            Arc::new(DenyAll),
            vec![watcher],
            |settings| settings.is_model_chosen = true,
        )?;
        let run = runtime.engine();
        let run = run.run_mission(request, Arc::new(NoServices), &cancel);
        run.await.map_err(|error| failure(&error))
    })?;
    let FinishedMission { run, ending, state } = &finished;
    if !matches!(ending, Ending::Submitted { .. }) {
        return Err(Failure::new("the demo did not finish as expected")
            .cause(ending.as_str())
            .hint(format!("run `prowess mission show {run}`")));
    }
    if args.json {
        let mut document = inspect::mission_run(run, state, &[]);
        document["outputs"] = mission_outputs(state);
        printer.json(&json!({
            "schema": "prowess.demo/1",
            "model": "scripted",
            "session": run,
            "mission": document,
            "graph": graph,
            "events": seen.events().len(),
        }))?;
        return Ok(Exit::Done);
    }
    let mut story = planned(&plan, &reports, &graph);
    let events = seen.of_tasks();
    for (task, known) in state.tasks().filter(|(_, known)| known.is_started) {
        story.extend(task_beats(task, known, events.get(&task.name)));
    }
    let outputs = mission_outputs(state);
    let outputs = serde_json::to_string_pretty(&outputs).unwrap_or_else(|_| outputs.to_string());
    story.push(Beat::new("result", outputs));
    let tokens = usize::try_from(state.spent().tokens).unwrap_or(usize::MAX);
    let text = format!("run {run}, {} tokens", wording::thousands(tokens));
    story.push(Beat::new("recorded", text).more(format!("prowess mission show {run}")));
    tell(&story, printer)?;
    let style = theme::bold(theme::GOOD);
    printer.answer(&format!(
        "\n{style}Next:{style:#}  prowess mission plan    check the missions of your project\n       prowess trust .         show what they may do, and trust them\n       prowess mission run NAME\n"
    ))?;
    Ok(Exit::Done)
}

/// Reads the project as `mission plan` does.
fn read(folder: &Path) -> Result<(MissionProject, Vec<FileReport>), Failure> {
    let cannot = |_| Failure::new("cannot read the files of the demo");
    let settings = MissionSettings::default();
    let files = MissionFiles::read(folder).map_err(cannot)?;
    files.project(&settings).map_err(cannot)
}

/// Returns the steps before the run.
fn planned(plan: &MissionProject, reports: &[FileReport], graph: &str) -> Vec<Beat<'static>> {
    let counts = [
        (plan.agents.len(), "agent"),
        (plan.skills.len(), "skill"),
        (plan.missions.len(), "mission"),
    ];
    let counts = counts.map(|(number, noun)| wording::count(number, noun));
    let files = wording::count(plan.files.len(), "file");
    let findings = reports.iter().map(|report| report.diagnostics.len()).sum();
    let checked = match findings {
        0 => "no findings; nothing has run yet".to_owned(),
        number => wording::count(number, "finding"),
    };
    vec![
        Beat::new("read", format!("{} in {files}", wording::all(counts)))
            .more("prowess mission list"),
        Beat::new("plan", checked).more("prowess mission plan"),
        Beat::new("graph", graph.trim_end().to_owned())
            .more(format!("prowess mission graph {MISSION}")),
    ]
}

/// Returns the steps of a task that was started.
fn task_beats<'a>(
    task: &'a MissionTask,
    known: &TaskState,
    events: Option<&TaskEvents>,
) -> Vec<Beat<'a>> {
    let parallel = task.iterator.as_ref().and_then(|one| one.parallel);
    let text = match parallel {
        Some(parallel) => format!(
            "{}, {} at a time",
            wording::count(known.units.len(), "item"),
            parallel.limit
        ),
        None => known.summary.clone(),
    };
    let mut beats = vec![Beat::new(&task.name, text)];
    for (agent, (calls, skills)) in events.iter().flat_map(|events| &events.agents) {
        let mut text = format!("{agent}, {}", wording::count(*calls, "conversation"));
        for skill in skills {
            text.push_str(&format!(", loaded the skill {}", wording::tick(skill)));
        }
        beats.push(Beat::new("agent", text));
    }
    for why in events.iter().flat_map(|events| &events.rejected) {
        beats.push(Beat::new("checked", format!("rejected: {why}")));
    }
    for to in events.iter().flat_map(|events| &events.routed) {
        beats.push(Beat::new("routed", format!("to {to}")));
    }
    beats
}

/// What happened in a task, without the order of what ran side by side.
#[derive(Debug, Default)]
struct TaskEvents {
    /// The number of conversations of each agent, and the skills that it loaded.
    agents: BTreeMap<String, (usize, Vec<Box<str>>)>,
    /// Calls that were sent back to the model.
    rejected: Vec<String>,
    /// The targets that the commander chose.
    routed: Vec<String>,
}

/// Records the events of all sessions.
#[derive(Debug, Default)]
struct Seen {
    events: Mutex<Vec<(Box<str>, StampedEvent)>>,
}

impl Seen {
    fn events(&self) -> Vec<(Box<str>, StampedEvent)> {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Sorts the events by task.
    fn of_tasks(&self) -> BTreeMap<Box<str>, TaskEvents> {
        let events = self.events();
        let mut found: BTreeMap<Box<str>, TaskEvents> = BTreeMap::new();
        // The task of each session, and the agent of those below a commander.
        let mut sessions: BTreeMap<Box<str>, (Box<str>, Option<String>)> = BTreeMap::new();
        let facts = events
            .iter()
            .filter_map(|(_, stamped)| match &stamped.event {
                Event::Mission { fact } => {
                    serde_json::from_value::<MissionEvent>(fact.clone()).ok()
                }
                _ => None,
            });
        for fact in facts {
            match fact {
                MissionEvent::SessionStarted { task, session, .. } => {
                    sessions.insert(session, (task, None));
                }
                MissionEvent::Routed { from, to, .. } => {
                    let to = match to {
                        RouteTarget::Task(name) => name.to_string(),
                        RouteTarget::Mission { name, .. } => format!("mission {name}"),
                    };
                    found.entry(from).or_default().routed.push(to);
                }
                _ => {}
            }
        }
        for (session, stamped) in &events {
            match &stamped.event {
                Event::Started(started) => {
                    let above = started.parent.as_ref();
                    let above = above.and_then(|above| sessions.get(&above.session));
                    let agent = started.agent.as_ref().map(|agent| agent.name.to_string());
                    if let (Some((task, _)), Some(agent)) = (above.cloned(), agent) {
                        let known = found.entry(task.clone()).or_default();
                        known.agents.entry(agent.clone()).or_default().0 += 1;
                        sessions.insert(session.clone(), (task, Some(agent)));
                    }
                }
                Event::CallEnded { result, loaded, .. } => {
                    let Some((task, agent)) = sessions.get(session) else {
                        continue;
                    };
                    let known = found.entry(task.clone()).or_default();
                    if result.is_error {
                        let first = result.text.lines().next().unwrap_or_default();
                        let why = first.split_once(": ").map_or(first, |(_, why)| why);
                        known.rejected.push(why.to_owned());
                    }
                    let agent = agent.as_ref().and_then(|agent| known.agents.get_mut(agent));
                    if let Some((_, skills)) = agent {
                        for skill in loaded {
                            if !skills.contains(&skill.name) {
                                skills.push(skill.name.clone());
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl Watcher for Seen {
    fn update(&self, session: &str, _depth: u8, update: Update<'_>) {
        if let Update::Event(event) = update {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            events.push((session.into(), event.clone()));
        }
    }
}

/// The agents of the demo have no tools, and every model is the script.
#[derive(Debug)]
struct NoServices;

impl MissionServices for NoServices {
    fn tools(&self, _: &str, _: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err("the demo has no tools".to_owned())
    }

    fn model(&self, _: &ModelRef) -> Result<Arc<dyn Model>, String> {
        Err("the demo has a scripted model only".to_owned())
    }
}
