//! `prowess mission run`, `show`, `resume` and `cancel`

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap_complete::ArgValueCandidates;
use prowess::agent::{Ending, Event, FailureKind, RunBudget, StampedEvent};
use prowess::inspect;
use prowess::mission::{
    FinishedMission, MissionCancel, MissionRequest, MissionResume, MissionServices, cancel_mission,
    checked_inputs, mission_costs, mission_outputs, mission_state,
};
use prowess::tools::Tool;
use prowess::traits::{
    Approver, Model, OpenQuestion, QuestionQuery, SessionError, SessionQuery, SessionStore,
    SessionSummary, Watcher,
};
use prowess::{
    CancellationToken, MissionModels, MissionServers, RuntimeError, mission_servers,
    stand_in_servers,
};
use prowess_diag::{sanitize, theme, wording};
use prowess_flow::mission::{
    Mission, MissionBudget, MissionEnding, MissionLimit, MissionProject, MissionState,
    MissionUsage, ModelRef, ToolRef, from_json, to_json,
};
use prowess_mcp::Client;
use prowess_store::SystemClock;
use prowess_tools::missions::{FoundTools, MissionToolServices, MissionTools};
use prowess_trust::{MissionTrust, TrustKind, TrustStore, TrustSummary, summarise};
use prowess_tui::mission_output::{MissionLines, TaskBoard};
use serde_json::{Map, Value, json};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::completions;
use crate::commands::mission::{ReadProject, given_inputs};
use crate::commands::mission_set;
use crate::commands::run::{self, Lines, Silent, about, dollars, failure};
use crate::commands::session::{find, when};
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs, model_settings};
use crate::{permissions, targets, usage_store};

/// Maximum number of runs in a list.
const MAX_RUNS: usize = 20;
/// Maximum number of sessions among which runs are searched.
const MAX_SEARCHED: usize = 2_000;
/// Maximum length of a reason or summary in a line, in characters.
const MAX_SHOWN: usize = 200;

#[derive(Debug, clap::Args)]
#[command(
    about = "Run a mission\n\nThe files must be trusted: `prowess trust .` shows what they may do. Commanders give the tasks to agents, several at a time; each agent has only its own tools and skills. Every step is recorded, so that the run continues after an interruption.",
    after_help = "\
Exit codes:
  0  done
  1  a task failed, or the files have errors
  2  the mission could not run
  3  the files are not trusted
  5  a budget is used up
  6  waiting for an answer

Examples:
  prowess mission run research --model echo --input topic=rust
  prowess mission run research --model echo --json"
)]
pub(crate) struct MissionRunArgs {
    /// The mission
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::mission_names))]
    pub(crate) name: String,
    /// A folder or a file (default: the nearest folder upwards with mission files)
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Value of an input of the mission (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Input")]
    pub(crate) input: Vec<String>,
    /// JSON file with inputs of the mission
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) inputs: Option<PathBuf>,
    /// Print events as JSON Lines, with the result in the last line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    about = "Show the runs of missions, or one run with its tasks\n\nWithout an id, lists the runs of this project. With a task, shows its summary, output and sessions.",
    after_help = "\
Examples:
  prowess mission show                    list the runs of this project
  prowess mission show 7k2m9x4p           show the tasks of a run
  prowess mission show 7k2m9x4p collect   show one task"
)]
pub(crate) struct MissionShowArgs {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(completions::mission_runs))]
    pub(crate) run: Option<String>,
    /// A task of the run
    #[arg(value_name = "TASK", add = ArgValueCandidates::new(completions::mission_tasks))]
    pub(crate) task: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    about = "Continue a run of a mission\n\nThe run continues with the plan with which it started, also if files changed. Calls that were under way are not repeated silently.",
    after_help = "\
Examples:
  prowess mission resume 7k2m9x4p --model echo
  prowess mission resume 7k2m9x4p --model echo --retry collect
                                          run a failed task again
  prowess mission resume 7k2m9x4p --model echo --budget tokens=500000
                                          continue with a higher budget"
)]
pub(crate) struct MissionResumeArgs {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(completions::mission_runs))]
    pub(crate) run: String,
    /// Run a failed task again (can be repeated)
    #[arg(long, value_name = "TASK", add = ArgValueCandidates::new(completions::mission_tasks))]
    pub(crate) retry: Vec<String>,
    /// Continue with the files as they are now
    #[arg(long)]
    pub(crate) replan: bool,
    /// Print events as JSON Lines, with the result in the last line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    about = "Cancel a run of a mission\n\nA process that runs it is asked to stop. A run that waits or was interrupted is marked as cancelled. It can be resumed.",
    after_help = "\
Examples:
  prowess mission cancel 7k2m9x4p"
)]
pub(crate) struct MissionCancelArgs {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(completions::mission_runs))]
    pub(crate) run: String,
}

/// Returns the trust store of the user.
fn trust_store(environment: &Environment) -> Option<TrustStore> {
    permissions::paths(environment)
        .trust()
        .map(|store| store.in_place())
}

/// Returns an error if the files of a project are not trusted.
fn check_trust(trust: &MissionTrust, environment: &Environment) -> Result<(), Failure> {
    if trust.is_trusted() {
        return Ok(());
    }
    let shown = targets::display(&trust.root, environment);
    let shown = if shown.is_empty() {
        ".".to_owned()
    } else {
        shown
    };
    let cause = match trust.changes.first() {
        Some(change) => format!(
            "{} changed after you trusted them",
            wording::tick(sanitize::line(change.file()))
        ),
        None => "missions run only if you trust their files".to_owned(),
    };
    let command = wording::command(["prowess", "trust", &shown]);
    Err(Failure::new(format!(
        "the mission files in {} are not trusted",
        wording::tick(&shown)
    ))
    .cause(cause)
    .hint(format!("review and trust them with {command}"))
    .exit(Exit::Denied))
}

/// Returns the budget of a run from the options. A run has no limit of time or of turns: it may wait for
/// answers, and its commanders and agents have their own turns.
pub(crate) fn budget(args: &ModelArgs) -> Result<MissionBudget, Failure> {
    let RunBudget {
        turns,
        tokens,
        micros,
        milliseconds,
    } = args.limits()?;
    let unknown = [
        ("--max-turns", turns.is_some()),
        ("--budget time", milliseconds.is_some()),
    ];
    if let Some((option, _)) = unknown.into_iter().find(|(_, is_given)| *is_given) {
        let failure = Failure::new(format!("`{option}` does not apply to missions"));
        return Err(failure
            .hint("limit a run with `--budget tokens=500000` or `--budget usd=5`")
            .hint("stop one with `prowess mission cancel RUN`"));
    }
    Ok(MissionBudget { tokens, micros })
}

/// Runs a mission.
pub(crate) fn run(
    args: &MissionRunArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let read = ReadProject::read(args.path.as_deref(), global, environment)?;
    let mission = read.mission(&args.name)?;
    read.check_run(&args.name, environment, printer)?;
    let given = given_inputs(&args.input, args.inputs.as_deref(), mission, environment)?;
    let hint = "pass inputs with `--input NAME=VALUE`";
    let budget = budget(&args.model)?;
    let request = request(&read, mission, (given, hint), budget, environment)?;
    let here = in_folder(&read.root, environment);
    let environment = &here;
    let setup = Setup::open(global, environment, printer)?;
    let how = Start::Run(Box::new(request));
    drive(
        how,
        (&args.model, &args.wait, args.json),
        setup,
        environment,
        printer,
    )
}

/// Returns the environment in which the missions of a folder run: that of the project to which the
/// folder belongs, whose restrictions apply.
fn in_folder(folder: &Path, environment: &Environment) -> Environment {
    let there = Environment {
        current: folder.to_owned(),
        ..environment.clone()
    };
    if permissions::workspace(&there) == permissions::workspace(environment) {
        return environment.clone();
    }
    there
}

/// Returns the request to run a mission of a project without errors. Fails if the inputs are not valid
/// or the files are not trusted. The inputs have a hint about how to pass them.
pub(crate) fn request(
    read: &ReadProject,
    mission: &Mission,
    (given, hint): (Vec<(String, prowess_flow::mission::Value)>, &str),
    budget: MissionBudget,
    environment: &Environment,
) -> Result<MissionRequest, Failure> {
    let mut inputs = Map::new();
    for (name, value) in given {
        inputs.extend(to_json(&value).map(|value| (name, value)));
    }
    let inputs = checked_inputs(mission, inputs).map_err(|why| {
        Failure::new(format!(
            "the inputs of mission {} are not valid",
            wording::tick(&mission.name)
        ))
        .cause(why)
        .hint(hint)
    })?;
    let trust = trust_of(read, environment)?;
    check_trust(&trust, environment)?;
    let folder = read.root.to_str().ok_or_else(|| {
        let shown = sanitize::line(&read.root.to_string_lossy()).into_owned();
        Failure::new(format!("the path {} is not UTF-8", wording::tick(shown)))
            .cause("a run is recorded with the folder of its project")
            .hint("rename the folder, e.g. with `mv`, and trust its files again")
    })?;
    Ok(MissionRequest {
        folder: folder.into(),
        digest: trust.digest.as_str().into(),
        mission: mission.name.clone(),
        inputs,
        budget,
        plan: read.project.clone(),
    })
}

/// Returns the trust in the files of a project.
pub(crate) fn trust_of(
    read: &ReadProject,
    environment: &Environment,
) -> Result<MissionTrust, Failure> {
    let store = trust_store(environment);
    let trust = MissionTrust::new(&read.root, &read.project, store.as_ref());
    trust.map_err(|error| Failure::new(error.to_string()))
}

/// Continues a run.
pub(crate) fn resume(
    args: &MissionResumeArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let setup = Setup::open(global, environment, printer)?;
    let (id, state) = state_of(&args.run, &setup)?;
    if let Some(ending) = state.ending() {
        match ending {
            MissionEnding::Done => {
                printer.status(&format!("Run {id} is done already"));
                return Ok(Exit::Done);
            }
            MissionEnding::HandedOver => {
                let next = state.handed_to().map(|(_, run)| run.to_owned());
                let failure =
                    Failure::new(format!("run `{id}` has handed over to another mission"));
                return Err(match next {
                    Some(next) => failure.hint(format!(
                        "continue that one: `prowess mission resume {next}`"
                    )),
                    None => failure,
                });
            }
            MissionEnding::Failed { task, .. } if args.retry.is_empty() && !args.replan => {
                let failure = Failure::new(format!("run `{id}` failed"))
                    .cause(sanitize::line(&ending.to_string()).into_owned());
                let command =
                    wording::command(["prowess", "mission", "resume", &*id, "--retry", &**task]);
                return Err(failure.hint(format!("run the task again with {command}")));
            }
            _ => {}
        }
    }
    for name in &args.retry {
        if state.task(name).is_none() {
            let known = state.tasks().map(|(task, _)| &*task.name);
            let failure = Failure::new(format!("no task named {}", wording::tick(name)));
            return Err(match prowess_diag::suggest::nearest(name, known) {
                Some(near) => failure.hint(format!("did you mean {}?", wording::tick(near))),
                None => failure.hint(format!("list its tasks with `prowess mission show {id}`")),
            });
        }
    }
    let budget = budget(&args.model)?;
    let mut resume = MissionResume {
        retry: args.retry.iter().map(|name| name.as_str().into()).collect(),
        budget: (budget != MissionBudget::default()).then_some(budget),
        ..MissionResume::default()
    };
    prepare(
        &id,
        &mut resume,
        &state,
        args.replan,
        global,
        environment,
        printer,
    )?;
    let folder = state.start().map(|start| PathBuf::from(&*start.folder));
    let folder = folder.unwrap_or_else(|| environment.current.clone());
    if !folder.is_dir() {
        let shown = targets::display(&folder, environment);
        let text = format!(
            "cannot continue the run: its folder {} does not exist",
            wording::tick(sanitize::line(&shown))
        );
        return Err(Failure::new(text).hint(format!(
            "restore the folder; see what the run has done with `prowess mission show {id}`"
        )));
    }
    let here = in_folder(&folder, environment);
    let environment = &here;
    let setup = Setup::open(global, environment, printer)?;
    let how = Start::Resume(id, Box::new(resume), Box::new(state));
    drive(
        how,
        (&args.model, &args.wait, args.json),
        setup,
        environment,
        printer,
    )
}

/// Continues a run after an answer.
pub(crate) fn resume_after_answer(
    id: &str,
    state: MissionState,
    args: (&ModelArgs, &WaitArgs, bool),
    global: &GlobalArgs,
    environment: &Environment,
    setup: Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut resume = MissionResume::default();
    prepare(id, &mut resume, &state, false, global, environment, printer)?;
    let how = Start::Resume(id.into(), Box::new(resume), Box::new(state));
    drive(how, args, setup, environment, printer)
}

/// Checks the trust in the plan of a run, or in the files that replace it, and notes which of them
/// changed.
pub(crate) fn prepare(
    id: &str,
    resume: &mut MissionResume,
    state: &MissionState,
    replan: bool,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<(), Failure> {
    let start = state.start().ok_or_else(no_plan)?;
    let folder = Path::new(&*start.folder);
    let store = trust_store(environment);
    // The plan of the run must be trusted as it is stored: other files that are trusted now say nothing
    // about it.
    let recorded = MissionTrust::new(folder, &start.plan, store.as_ref());
    let recorded = recorded.map_err(|error| Failure::new(error.to_string()))?;
    let now = ReadProject::read(Some(folder), global, environment);
    let now = match now {
        Ok(now) => now,
        Err(_) if recorded.may_continue() && !replan => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let trust = MissionTrust::new(&now.root, &now.project, store.as_ref());
    let trust = trust.map_err(|error| Failure::new(error.to_string()))?;
    if replan {
        check_trust(&trust, environment)?;
        now.check_run(&start.mission, environment, printer)?;
        let faults = state.replan_faults(&now.project);
        if let Some(first) = faults.first() {
            let failure = Failure::new("the new files do not fit the run").cause(first);
            let mut command = vec!["prowess", "mission", "resume", id];
            if let Some(MissionEnding::Failed { task, .. }) = state.ending() {
                command.extend(["--retry", &**task]);
            }
            let command = wording::command(command);
            return Err(failure.hint(format!("continue with the old plan: {command}")));
        }
        resume.plan = Some(Box::new(now.project.clone()));
    } else if !recorded.may_continue() {
        check_trust(&trust, environment)?;
        let command = wording::command(["prowess", "mission", "resume", id, "--replan"]);
        return Err(
            Failure::new(format!("the plan of run `{id}` is not trusted any more"))
                .cause("its trust was revoked, and the files that are trusted now are other ones")
                .hint(format!(
                    "continue with the files as they are now: {command}"
                ))
                .exit(Exit::Denied),
        );
    }
    let changed = changed_files(&start.plan, &now.project);
    for file in &changed {
        let file = wording::tick(sanitize::line(file));
        printer.warn(&if replan {
            format!("{file} changed; the run continues with the new files")
        } else {
            format!("{file} changed; the run continues with the plan with which it started")
        });
    }
    resume.changed = changed;
    Ok(())
}

/// Returns the files that differ between two readings of a project.
fn changed_files(before: &MissionProject, now: &MissionProject) -> Vec<Box<str>> {
    let mut changed: Vec<Box<str>> = Vec::new();
    for file in before.files.iter().chain(&now.files) {
        let digest = |project: &MissionProject| {
            let mut files = project.files.iter();
            files
                .find(|known| known.path == file.path)
                .map(|known| known.digest.clone())
        };
        if digest(before) != digest(now) && !changed.contains(&file.path) {
            changed.push(file.path.clone());
        }
    }
    changed
}

/// Returns the error for a run without its first event.
fn no_plan() -> Failure {
    Failure::new("the run has no plan").hint("list the runs with `prowess mission show`")
}

/// Returns the error of a run that could not start or continue. `id` is the run, if it has one.
fn run_failure(error: &RuntimeError, id: Option<&str>) -> Failure {
    match (error, id) {
        (RuntimeError::Store(SessionError::InUse { holder, .. }), Some(id)) => {
            Failure::new(format!("run `{id}` is in use by {holder}")).hint(format!(
                "follow it with `prowess mission show {id}`, or stop it with `prowess mission cancel {id}`"
            ))
        }
        (RuntimeError::MissionFaults { .. }, _) => failure(error).hint(
            "see which models can be used with `prowess doctor`; `--model PROVIDER/NAME` is used for all agents",
        ),
        _ => failure(error),
    }
}

/// The beginning of a run, or its continuation.
pub(crate) enum Start {
    Run(Box<MissionRequest>),
    Resume(Box<str>, Box<MissionResume>, Box<MissionState>),
}

impl Start {
    /// Returns the plan, the mission, the folder of the project and the inputs.
    fn parts(&self) -> Option<(&MissionProject, &str, &Path, &Map<String, Value>)> {
        match self {
            Self::Run(request) => {
                let root = Path::new(&*request.folder);
                Some((&request.plan, &request.mission, root, &request.inputs))
            }
            Self::Resume(_, resume, state) => {
                let start = state.start()?;
                let plan = resume.plan.as_deref().unwrap_or(&start.plan);
                let root = Path::new(&*start.folder);
                Some((plan, &start.mission, root, &start.inputs))
            }
        }
    }
}

/// Returns the model of the commander of a mission, if it can be used.
fn commander_model(how: &Start, services: &dyn MissionServices) -> Option<Arc<dyn Model>> {
    let (plan, mission, ..) = how.parts()?;
    let model = plan.mission(mission)?.commander.model.as_ref()?;
    services.model(model).ok()
}

fn drive(
    how: Start,
    (model, wait, json): (&ModelArgs, &WaitArgs, bool),
    mut setup: Setup,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    setup.wait(wait);
    let approver = Arc::clone(&setup.services.approver);
    let store = setup.sessions();
    let _servers = connect(&how, &mut setup, printer)?;
    let (services, _client) = services(&how, &setup, environment, printer)?;
    note_untrusted_skills(&how, environment, printer);
    let _watching = setup.watch();
    let watcher: Arc<dyn Watcher> = if json {
        Arc::new(Lines)
    } else if printer.is_quiet() {
        Arc::new(Silent)
    } else {
        let lines = MissionLines::new(Box::new(printer.live()));
        let lines = match &how {
            Start::Run(_) => lines,
            Start::Resume(_, _, state) => lines.resumed(state),
        };
        let aside = printer.live();
        let board: TaskBoard = Box::new(move |lines| aside.set_bottom(lines));
        Arc::new(if printer.shows_progress() {
            lines.with_board(board)
        } else {
            lines
        })
    };
    async_runtime::on(|cancel| async move {
        let told = |name: &str, why: &str, note: Option<&str>| {
            if !json {
                printer.status(&about(name, why, note));
            }
        };
        let finished = execute(
            how,
            model,
            setup,
            (Arc::new(services), approver),
            watcher,
            told,
            &cancel,
        );
        let finished = finished.await;
        printer.live().set_bottom(&[]);
        print(&finished?, json, &*store, printer)
    })
}

/// Runs or continues a mission until it ends or waits. `told` receives the model that the user chose.
pub(crate) async fn execute(
    how: Start,
    model: &ModelArgs,
    setup: Setup,
    (services, approver): (Arc<dyn MissionServices>, Arc<dyn Approver>),
    watcher: Arc<dyn Watcher>,
    told: impl Fn(&str, &str, Option<&str>),
    cancel: &CancellationToken,
) -> Result<FinishedMission, Failure> {
    let is_chosen = model.model.is_some();
    let (used, why) = match setup.model(model).await {
        Ok(chosen) => (chosen.model, chosen.why),
        // Without a model of the user, the one of the commander is the usual one.
        Err(failure) => match commander_model(&how, &*services).filter(|_| !is_chosen) {
            Some(model) => (model, "the model of the commander".to_owned()),
            None => return Err(failure),
        },
    };
    if is_chosen {
        let about = used.about();
        let is_uncounted = about.price.is_none() && has_dollars(&how);
        let uncounted = "its price is not known, so budgets in dollars have no effect";
        let notes = about.note.as_deref().into_iter();
        let notes: Vec<&str> = notes.chain(is_uncounted.then_some(uncounted)).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        told(&about.name, &why, note.as_deref());
    }
    let runtime = setup.runtime(model, used, approver, vec![watcher], |settings| {
        settings.is_model_chosen = is_chosen;
    })?;
    let engine = runtime.engine();
    match how {
        Start::Run(request) => {
            let finished = engine.run_mission(*request, services, cancel).await;
            finished.map_err(|error| run_failure(&error, None))
        }
        Start::Resume(id, resume, _) => {
            let finished = engine.resume_mission(&id, *resume, services, cancel).await;
            finished.map_err(|error| run_failure(&error, Some(&id)))
        }
    }
}

/// Returns `true` if the files limit a mission that a run may reach, or one of its tasks, in dollars.
fn has_dollars(how: &Start) -> bool {
    let Some((plan, first, ..)) = how.parts() else {
        return false;
    };
    plan.reachable(first).iter().any(|mission| {
        let tasks = mission.tasks.iter().map(|task| &task.budget);
        let mut budgets = tasks.chain([&mission.budget]);
        budgets.any(|budget| budget.dollars.is_some())
    })
}

/// Starts the user's servers that stand in for plugins of the missions that a run may reach, and no
/// others: an agent has the tools that its block names.
pub(crate) fn connect(
    how: &Start,
    setup: &mut Setup,
    printer: &Printer,
) -> Result<Option<Client>, Failure> {
    let (plan, first, ..) = how.parts().ok_or_else(no_plan)?;
    let missions = plan.reachable(first).into_iter();
    let used: BTreeSet<String> = missions
        .flat_map(|mission| stand_in_servers(plan, mission))
        .collect();
    setup.connect_only(&used, printer)
}

/// Notes the skills in folders that a mission takes and that ask for more than their text, if they are
/// not trusted.
fn note_untrusted_skills(how: &Start, environment: &Environment, printer: &Printer) {
    let Some((plan, first, root, _)) = how.parts() else {
        return;
    };
    let Some(store) = trust_store(environment) else {
        return;
    };
    let used = plan.skill_folders(first);
    for (name, folder) in used {
        let path = root.join(folder);
        let kind = TrustKind::of_skill_at(&path);
        if store
            .state(kind, &path)
            .is_ok_and(|state| state.is_trusted())
        {
            continue;
        }
        let asks = |summary: TrustSummary| {
            !summary.grants.is_empty() || !summary.commands.is_empty() || summary.hooks
        };
        if summarise(&path).is_ok_and(asks) {
            let shown = targets::display(&path, environment);
            let command = wording::command(["prowess", "trust", &shown]);
            printer.note(
                &format!(
                    "skill {} is not trusted: its commands do not run, and it grants no tools",
                    wording::tick(sanitize::line(name))
                ),
                &format!("review and trust it with {command}"),
            );
        }
    }
}

/// The tools and models of the missions of a project.
#[derive(Debug)]
pub(crate) struct ProjectServices {
    /// The tools of each mission that may run.
    tools: BTreeMap<Box<str>, MissionTools>,
    models: MissionModels,
    storage: Option<PathBuf>,
}

impl MissionServices for ProjectServices {
    fn tools(&self, mission: &str, tool: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String> {
        let tools = self.tools.get(mission);
        let tools = tools.ok_or_else(|| "the mission is not known".to_owned())?;
        let FoundTools { tools, mut missing } = tools.find(std::slice::from_ref(tool));
        match missing.pop() {
            Some(missing) => Err(missing.why),
            None => Ok(tools),
        }
    }

    fn model(&self, model: &ModelRef) -> Result<Arc<dyn Model>, String> {
        self.models.open(model).map_err(|error| error.to_string())
    }

    fn storage(&self) -> Option<PathBuf> {
        self.storage.clone()
    }
}

/// Starts the servers of the missions that a run may reach, and builds their tools and models.
pub(crate) fn services(
    how: &Start,
    setup: &Setup,
    environment: &Environment,
    printer: &Printer,
) -> Result<(ProjectServices, Option<Client>), Failure> {
    let storage = setup
        .paths
        .state
        .as_ref()
        .map(|state| state.join("missions"));
    let (plan, first, root, inputs) = how.parts().ok_or_else(no_plan)?;
    let values = mission_set::values(root, environment)?;
    let missions = plan.reachable(first);
    let mut started = MissionServers::default();
    for mission in &missions {
        let more = mission_servers(plan, mission, &values, &setup.config.server_names);
        for server in more.servers {
            if !started
                .servers
                .iter()
                .any(|known| known.name == server.name)
            {
                started.servers.push(server);
            }
        }
        started.names.extend(more.names);
        started.faults.extend(more.faults);
    }
    let client = if started.servers.is_empty() {
        None
    } else {
        let secrets = values.secrets(plan);
        let client = setup.start(&started.servers, printer)?;
        for server in client.servers() {
            if let Some(fault) = &server.fault {
                let why = secrets.redact(fault.clone());
                printer.warn(&sanitize::line(&why));
                started.faults.insert(server.name.clone(), why);
            }
        }
        Some(client)
    };
    let mut server_tools = setup.services.tools.clone();
    server_tools.extend(setup.services.skill_tools.iter().cloned());
    server_tools.extend(client.iter().flat_map(Client::tools));
    let tool_services = MissionToolServices {
        fetcher: Some(setup.fetcher()?),
        clock: Arc::new(SystemClock),
        servers: started.names,
        server_tools,
        faults: started.faults,
        built_in: BTreeMap::new(),
    };
    let mut tools = BTreeMap::new();
    for mission in missions {
        let is_first = *mission.name == *first;
        let given: Vec<_> = inputs
            .iter()
            .filter(|_| is_first)
            .map(|(name, value)| (name.clone(), from_json(value)))
            .collect();
        let made = MissionTools::new(plan, mission, &values, &given, &tool_services);
        let made = made.map_err(|error| {
            Failure::new(format!(
                "mission {} cannot run",
                wording::tick(&mission.name)
            ))
            .cause(error)
            .hint("set variables with `prowess mission set NAME`")
        })?;
        tools.insert(mission.name.clone(), made);
    }
    let settings = model_settings(&setup.variables)?;
    let models = MissionModels::new(plan, values, Arc::clone(&setup.variables), settings, None);
    let services = ProjectServices {
        tools,
        models,
        storage,
    };
    Ok((services, client))
}

/// Returns the open questions of a run and its sub-runs.
pub(crate) fn questions(store: &dyn SessionStore, run: &str) -> Vec<OpenQuestion> {
    let query = QuestionQuery {
        project: None,
        limit: MAX_SEARCHED,
    };
    let open = store.questions(&query).unwrap_or_default().into_iter();
    open.filter(|open| *open.root == *run).collect()
}

/// Prints the result of a run.
fn print(
    finished: &FinishedMission,
    json: bool,
    store: &dyn SessionStore,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let FinishedMission { run, ending, state } = finished;
    let exit = match ending {
        Ending::Answered | Ending::Submitted { .. } => Exit::Done,
        Ending::Waiting { .. } => Exit::Waiting,
        Ending::Cancelled => Exit::Interrupted,
        Ending::Exhausted { .. } => Exit::Limit,
        Ending::Failed {
            kind: FailureKind::Auth,
            ..
        } => Exit::NoKey,
        Ending::Failed { .. } | Ending::Declined { .. } => Exit::No,
    };
    let open = questions(store, run);
    if json {
        let mut document = inspect::mission_run(run, state, &open);
        document["outcome"] = ending.as_str().into();
        document["outputs"] = mission_outputs(state);
        printer.verbatim(format!("{document}\n").as_bytes())?;
        return Ok(exit);
    }
    match ending {
        Ending::Submitted { value } => {
            let is_empty = value.as_object().is_some_and(Map::is_empty);
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            if !is_empty {
                printer.foreign(&format!("{text}\n"))?;
            }
        }
        Ending::Waiting { .. } => {
            for open in &open {
                let id = &open.question.id;
                printer.note(
                    &format!("waiting for an answer to question {id}"),
                    &format!("see it with `prowess questions`; answer it with `prowess answer {id} ANSWER`"),
                );
            }
        }
        Ending::Exhausted { .. } => {
            let why = state.ending().map(ToString::to_string).unwrap_or_default();
            let failure = Failure::new(sanitize::line(&why).into_owned());
            let budget = match state.reached_limit() {
                Some(MissionLimit::Dollars) => "usd=N",
                Some(MissionLimit::Tokens) | None => "tokens=N",
            };
            let hint = format!(
                "continue with a higher budget: `prowess mission resume {run} --budget {budget}`"
            );
            printer.error(&failure.hint(hint));
        }
        Ending::Cancelled => {
            printer.status(&format!(
                "Cancelled; continue with `prowess mission resume {run}`"
            ));
        }
        Ending::Failed { .. } | Ending::Declined { .. } => {
            let why = state.ending().map(ToString::to_string).unwrap_or_default();
            let failure = Failure::new(sanitize::line(&why).into_owned());
            let failure = match state.ending() {
                Some(MissionEnding::Failed { task, .. }) => {
                    let command = wording::command([
                        "prowess", "mission", "resume", &**run, "--retry", &**task,
                    ]);
                    failure.hint(format!("run the task again with {command}"))
                }
                _ => failure.hint(format!("see `prowess mission show {run}`")),
            };
            printer.error(&failure);
        }
        Ending::Answered => {}
    }
    printer.status(&spent(run, state));
    Ok(exit)
}

/// Describes the tasks and the cost of a run in one line.
fn spent(run: &str, state: &MissionState) -> String {
    let total = state.tasks().filter(|(_, task)| task.is_started).count();
    let done = state.tasks().filter(|(_, task)| task.is_done()).count();
    let usage = state.spent();
    let tokens = usize::try_from(usage.tokens).unwrap_or(usize::MAX);
    let mut text = format!(
        "{done} of {} done, {} tokens",
        wording::count(total, "started task"),
        wording::thousands(tokens)
    );
    if usage.micros > 0 {
        text.push_str(&format!(", {}", dollars(usage.micros)));
    }
    format!("{text} (run {run})")
}

/// Returns the id and the state of a run.
fn state_of(typed: &str, setup: &Setup) -> Result<(Box<str>, MissionState), Failure> {
    let store = setup.sessions();
    let id = find(&*store, typed)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    let state = recorded_state(&events)?;
    let state = state.ok_or_else(|| {
        Failure::new(format!("session `{id}` is not a run of a mission"))
            .hint("list the runs with `prowess mission show`")
    })?;
    Ok((id, state))
}

/// Returns the state of the run that events record; `None` if they record none.
pub(crate) fn recorded_state(events: &[StampedEvent]) -> Result<Option<MissionState>, Failure> {
    mission_state(events).map_err(|error| failure(&error))
}

/// Shows runs, or one run.
pub(crate) fn show(
    args: &MissionShowArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let setup = Setup::open(global, environment, printer)?;
    let Some(typed) = &args.run else {
        return list(args, &setup, environment, printer);
    };
    let (id, state) = state_of(typed, &setup)?;
    let store = setup.sessions();
    let open = questions(&*store, &id);
    let costs = mission_costs(&*store, &id).map_err(|error| failure(&error))?;
    let costs = costs.unwrap_or_default();
    if args.json {
        let mut document = inspect::mission_run(&id, &state, &open);
        document["outputs"] = mission_outputs(&state);
        document["costs"] = inspect::mission_costs(&costs);
        printer.json(&document)?;
        return Ok(Exit::Done);
    }
    if let Some(task) = &args.task {
        return show_task(&id, &state, task, printer);
    }
    let start = state.start().ok_or_else(no_plan)?;
    let mut head = format!("mission {} (run {id})\n", sanitize::line(&start.mission));
    if let Some(from) = &start.from {
        head.push_str(&format!("started by run {from}\n"));
    }
    if let Some((mission, run)) = state.handed_to() {
        head.push_str(&format!(
            "continues as run {run} of mission {}\n",
            sanitize::line(mission)
        ));
    }
    for (name, value) in &start.inputs {
        head.push_str(&format!(
            "input {}: {}\n",
            sanitize::line(name),
            sanitize::line(&value.to_string())
        ));
    }
    printer.answer(&head)?;
    let mut table = Table::new(&["TASK", "STATE", "TOKENS", "COST", "SUMMARY"]);
    for (task, known) in state.tasks() {
        let word = inspect::task_word(known);
        let colour = match word {
            "done" => theme::GOOD,
            "failed" => theme::BAD,
            "running" => theme::ACCENT,
            _ => theme::WARNING,
        };
        let text = match &known.ending {
            Some(how) if known.summary.is_empty() => how.to_string(),
            _ => known.summary.clone(),
        };
        table.row(vec![
            Cell::styled(&task.name, theme::ACCENT.on_default()),
            Cell::styled(word, colour.on_default()),
            Cell::new(&known.spent.tokens.to_string()),
            Cell::new(&dollars(known.spent.micros)),
            Cell::new(&wording::shorten(&sanitize::line(&text), MAX_SHOWN)),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    for (title, rows) in [("AGENT", &costs.agents), ("SKILL", &costs.skills)] {
        if !rows.is_empty() {
            let table = cost_table(title, rows.iter());
            printer.answer(&format!("\n{}", table.render(printer.width())))?;
        }
    }
    for open in &open {
        let id = &open.question.id;
        printer.note(
            &format!("waiting for an answer to question {id}"),
            &format!(
                "see it with `prowess questions`; answer it with `prowess answer {id} ANSWER`"
            ),
        );
    }
    let ending = state.ending().map(ToString::to_string);
    if let Some(ending) = ending {
        printer.status(&sanitize::line(&ending));
    }
    printer.status(&spent(&id, &state));
    Ok(Exit::Done)
}

/// Returns a table of what the named parts of a run used.
pub(crate) fn cost_table<'c>(
    title: &'static str,
    rows: impl Iterator<Item = (&'c Box<str>, &'c MissionUsage)>,
) -> Table {
    let mut table = Table::new(&[title, "REQUESTS", "TOKENS", "COST"]);
    for (name, used) in rows {
        table.row(vec![
            Cell::styled(name, theme::ACCENT.on_default()),
            Cell::number(&used.turns.to_string()),
            Cell::number(&used.tokens.to_string()),
            Cell::number(&dollars(used.micros)),
        ]);
    }
    table
}

fn show_task(
    id: &str,
    state: &MissionState,
    name: &str,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let Some(task) = state.task(name) else {
        let known = state.tasks().map(|(task, _)| &*task.name);
        let failure = Failure::new(format!("run `{id}` has no task {}", wording::tick(name)));
        return Err(match prowess_diag::suggest::nearest(name, known) {
            Some(near) => failure.hint(format!("did you mean {}?", wording::tick(near))),
            None => failure.hint(format!("list its tasks with `prowess mission show {id}`")),
        });
    };
    let mut text = format!("{}: {}\n", sanitize::line(name), inspect::task_word(task));
    if let Some(by) = &task.activated_by {
        text.push_str(&format!("activated by task {}\n", sanitize::line(by)));
    }
    for (item, unit) in &task.units {
        let item = item
            .map(|item| format!("item {item}: "))
            .unwrap_or_default();
        let how = unit.ending.as_ref().map(ToString::to_string);
        let how = how.unwrap_or_else(|| "runs".to_owned());
        let session = unit.session.as_deref().unwrap_or("no session");
        text.push_str(&format!(
            "{item}session {session}, attempt {}, {}\n",
            unit.attempt,
            sanitize::line(&how)
        ));
    }
    printer.answer(&text)?;
    if !task.summary.is_empty() {
        printer.foreign(&format!("\n{}\n", task.summary.trim_end()))?;
    }
    if let Some(value) = task.value() {
        let value = serde_json::to_string_pretty(&value).unwrap_or_default();
        printer.foreign(&format!("\n{value}\n"))?;
    }
    Ok(Exit::Done)
}

/// Returns the runs of a project, latest first.
pub(crate) fn runs(store: &dyn SessionStore, project: Option<Box<str>>) -> Vec<SessionSummary> {
    let query = SessionQuery {
        project,
        parent: None,
        limit: MAX_SEARCHED,
    };
    let found = store.list(&query).unwrap_or_default().into_iter();
    let found = found.filter(|one| one.title.starts_with("mission "));
    let is_run = |one: &SessionSummary| {
        store.events(&one.id).is_ok_and(|events| {
            let first = events.first().map(|first| &first.event);
            matches!(first, Some(Event::Started(started)) if started.mission.is_some())
        })
    };
    found.filter(is_run).take(MAX_RUNS).collect()
}

/// Describes the state of a run in a word.
pub(crate) fn run_word(run: &SessionSummary) -> &'static str {
    match run.ending {
        _ if run.live => "running",
        Some(ending) => ending.as_str(),
        None => "interrupted",
    }
}

fn list(
    args: &MissionShowArgs,
    setup: &Setup,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let project = permissions::workspace(environment);
    let store = setup.sessions();
    let found = runs(&*store, Some(project.to_string_lossy().into()));
    if args.json {
        let rows: Vec<Value> = found
            .iter()
            .map(|one| {
                json!({ "run": one.id, "title": one.title, "state": run_word(one), "started": one.started, "updated": one.updated })
            })
            .collect();
        printer.json(&json!({ "schema": "prowess.mission-runs/1", "runs": rows }))?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        printer.note(
            "no mission has run in this project",
            "run one with `prowess mission run NAME`",
        );
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["RUN", "MISSION", "STATE", "STARTED"]);
    for one in &found {
        let colour = run::colour(one.ending, one.live);
        let name = one.title.strip_prefix("mission ").unwrap_or(&one.title);
        table.row(vec![
            Cell::styled(&one.id, theme::ACCENT.on_default()),
            Cell::new(name),
            Cell::styled(run_word(one), colour.on_default()),
            Cell::styled(&when(one.started), theme::DIM),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}

/// Cancels a run.
pub(crate) fn cancel(
    args: &MissionCancelArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let setup = Setup::open(global, environment, printer)?;
    let (id, state) = state_of(&args.run, &setup)?;
    if state.ending().is_some() {
        printer.status(&format!("Run {id} has ended already"));
        return Ok(Exit::Done);
    }
    let store = setup.sessions();
    let outcome = cancel_mission(&*store, &id, usage_store::now());
    match outcome.map_err(|error| failure(&error))? {
        MissionCancel::Cancelled => {
            printer.status(&format!("Cancelled run {id}"));
        }
        MissionCancel::Requested => {
            printer.status(&format!("Asked the process that runs {id} to stop"));
        }
    }
    Ok(Exit::Done)
}
