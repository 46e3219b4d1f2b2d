//! `prowess mission`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use prowess::inspect::{self, PlanOptions};
use prowess_diag::{FileReport, FindingCounts, Severity, suggest, theme, wording};
use prowess_flow::mission::Value;
use prowess_flow::mission::{
    GraphFormat, InputFault, Mission, MissionProject, MissionSettings, MissionTask, MissionText,
    RouteTarget, Schedule, ScheduleTimes, clock_text, from_json, parse_time, time_text,
};
use prowess_registry::{MissionFiles, mission_folder};
use prowess_spec::ReadFault;
use prowess_store::SystemClock;
use prowess_traits::Clock;

use crate::args::GlobalArgs;
use crate::commands::mission_run::{
    self, MissionCancelArgs, MissionResumeArgs, MissionRunArgs, MissionShowArgs,
};
use crate::commands::mission_set::{self, MissionSetArgs};
use crate::commands::{completions, mcp_servers};
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::{targets, visible_skills};

#[derive(Debug, Args)]
#[command(
    about = "Plan, run and resume missions\n\nReads the HCL files of Squadron: agents, skills, tools and missions. `list`, `plan` and `graph` run nothing and open no connection. A mission runs after you trusted its files, and continues after an interruption.",
    after_help = "\
Examples:
  prowess mission plan                    check missions and show their tasks
  prowess mission graph research          draw the tasks of a mission
  prowess mission show                    show the runs of this project"
)]
pub(crate) struct MissionArgs {
    #[command(subcommand)]
    pub(crate) command: MissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MissionCommand {
    #[command(alias = "ls")]
    List(MissionListArgs),
    Plan(MissionPlanArgs),
    Graph(MissionGraphArgs),
    Run(MissionRunArgs),
    Show(MissionShowArgs),
    Resume(MissionResumeArgs),
    Cancel(MissionCancelArgs),
    Set(MissionSetArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "List missions: their tasks, agents and next starts",
    after_help = "\
Examples:
  prowess mission list                    list the missions of this project
  prowess mission list --json             the same as JSON, with all findings"
)]
pub(crate) struct MissionListArgs {
    /// A folder or a file (default: the nearest folder upwards with mission files)
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Check missions and show what they would do\n\nReads all HCL files of a folder and reports what is wrong with them. Nothing is run.",
    after_help = "\
Exit codes:
  0  no errors
  1  errors in the files
  2  the files cannot be read, or an option is wrong

Examples:
  prowess mission plan                    plan the missions of this project
  prowess mission plan research --input topic=rust
                                          plan one mission, with an input
  prowess mission plan --at 2027-01-01 --json
                                          as JSON, with the next starts of schedules"
)]
pub(crate) struct MissionPlanArgs {
    /// A folder or a file (default: the nearest folder upwards with mission files)
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// A mission (default: all)
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::mission_names))]
    pub(crate) name: Option<String>,
    /// Value of an input of the mission (can be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// JSON file with inputs of the mission
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// List the next four starts of schedules after this time, e.g. 2027-01-01T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Draw the tasks of a mission",
    after_help = "\
Examples:
  prowess mission graph research          draw the tasks as text
  prowess mission graph research --format mermaid
                                          as a flow chart for Markdown"
)]
pub(crate) struct MissionGraphArgs {
    /// The mission
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::mission_names))]
    pub(crate) name: String,
    /// A folder or a file (default: the nearest folder upwards with mission files)
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Notation: text, mermaid, dot (default: text)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) format: GraphFormatArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormatArg {
    Text,
    Mermaid,
    Dot,
}

pub(crate) fn run(
    args: &MissionArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    match &args.command {
        MissionCommand::List(args) => list(args, global, environment, printer),
        MissionCommand::Plan(args) => plan(args, global, environment, printer),
        MissionCommand::Graph(args) => graph(args, global, environment, printer),
        MissionCommand::Run(args) => mission_run::run(args, global, environment, printer),
        MissionCommand::Show(args) => mission_run::show(args, global, environment, printer),
        MissionCommand::Resume(args) => mission_run::resume(args, global, environment, printer),
        MissionCommand::Cancel(args) => mission_run::cancel(args, global, environment, printer),
        MissionCommand::Set(args) => mission_set::run(args, global, environment, printer),
    }
}

/// Returns the names of the missions around the current folder.
pub(crate) fn names(environment: &Environment) -> Vec<String> {
    let names = around(environment).missions.into_iter();
    names.map(|mission| mission.name.into_string()).collect()
}

/// Returns the names of the variables around the current folder.
pub(crate) fn variables(environment: &Environment) -> Vec<String> {
    let names = around(environment).variables.into_iter();
    names.map(|variable| variable.name.into_string()).collect()
}

/// Reads the project around the current folder, without what is set outside of it.
fn around(environment: &Environment) -> MissionProject {
    let folder = mission_folder(&environment.current, environment.home.as_deref());
    let files = folder.and_then(|folder| MissionFiles::read(&folder).ok());
    let project = files.and_then(|files| files.project(&MissionSettings::default()).ok());
    project.map(|(project, _)| project).unwrap_or_default()
}

/// A project that was read.
pub(crate) struct ReadProject {
    pub(crate) root: PathBuf,
    pub(crate) project: MissionProject,
    files: Vec<MissionText>,
    pub(crate) reports: Vec<FileReport>,
}

impl ReadProject {
    /// Reads the project at a path, or the one around the current folder.
    pub(crate) fn read(
        path: Option<&Path>,
        global: &GlobalArgs,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let path = if let Some(path) = path {
            environment.current.join(path)
        } else {
            let home = environment.home.as_deref();
            mission_folder(&environment.current, home).ok_or_else(|| {
                let current = targets::display(&environment.current, environment);
                Failure::new(format!(
                    "no mission files in {} or the folders above",
                    wording::tick(current)
                ))
                .hint("create a file such as `missions.hcl` with a `mission \"NAME\" { … }` block")
            })?
        };
        let cannot = |fault: &ReadFault| {
            let shown = wording::tick(targets::display(&path, environment));
            let why = match fault {
                ReadFault::Missing => "it does not exist".to_owned(),
                ReadFault::NotAFile(kind) => format!("it is {kind}"),
                ReadFault::TooLarge { bytes } => format!("it has {}", wording::size(*bytes)),
                ReadFault::Unreadable(why) => why.clone(),
            };
            Failure::new(format!("cannot read {shown}"))
                .cause(why)
                .hint("list the missions of this folder with `prowess mission list`")
        };
        let files = MissionFiles::read(&path).map_err(|fault| cannot(&fault))?;
        if files.files.is_empty() {
            let shown = wording::tick(targets::display(&path, environment));
            return Err(Failure::new(format!("no `.hcl` files in {shown}"))
                .hint("pass a folder with the files of a mission"));
        }
        let config = visible_skills::load(environment).config;
        let values = mission_set::values(&files.root, environment)?;
        let variable = |name: &str| values.get(name);
        let is_secret = |name: &str| values.is_secret(name);
        let plugin = |name: &str| config.mission_plugins.get(name).cloned();
        let has_server = |name: &str| mcp_servers::has_server(name, &config, environment);
        let library = || visible_skills::names(global, &config, environment);
        let settings = MissionSettings {
            variable: &variable,
            is_secret: &is_secret,
            plugin: &plugin,
            has_server: &has_server,
            library: &library,
        };
        let (project, reports) = files.project(&settings).map_err(|fault| cannot(&fault))?;
        Ok(Self {
            root: files.root,
            files: files.files,
            project,
            reports,
        })
    }

    pub(crate) fn mission(&self, name: &str) -> Result<&Mission, Failure> {
        self.project.mission(name).ok_or_else(|| {
            let error = Failure::new(format!("no mission named {}", wording::tick(name)));
            let known = self.project.missions.iter().map(|one| &*one.name);
            match suggest::nearest(name, known) {
                Some(near) => error.hint(format!("did you mean {}?", wording::tick(near))),
                None => error.hint("list all missions with `prowess mission list`"),
            }
        })
    }

    pub(crate) fn counts(&self) -> FindingCounts {
        let findings = self.reports.iter().flat_map(|one| &one.diagnostics);
        findings.collect()
    }

    /// Prints all findings if there are errors. Returns an error if a mission, or one that its routes
    /// lead to, uses a block with an error or a variable that is not set.
    pub(crate) fn check_run(
        &self,
        mission: &str,
        environment: &Environment,
        printer: &Printer,
    ) -> Result<(), Failure> {
        let (project, shown) = (&self.project, wording::tick(mission));
        if self.counts().errors > 0 {
            self.print_findings(environment, printer);
            if project.has_errors_in(mission, &self.files, &self.reports) {
                let message =
                    format!("mission {shown} uses blocks with errors, so nothing was run");
                let hint = "show them with `prowess mission plan`";
                return Err(Failure::new(message).hint(hint).exit(Exit::No));
            }
            printer.warn(&format!(
                "the errors are in blocks that mission {shown} does not use"
            ));
        }
        if let [first, ..] = &*project.unset_variables(mission) {
            let variable = wording::tick(first);
            let message =
                format!("mission {shown} needs the variable {variable}, which is not set");
            let command = wording::command(["prowess", "mission", "set", first]);
            return Err(Failure::new(message).hint(format!("set it with {command}")));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.counts().errors > 0 {
            Exit::No
        } else {
            Exit::Done
        }
    }

    /// Prints the findings to standard error, and how many there are.
    pub(crate) fn print_findings(&self, environment: &Environment, printer: &Printer) {
        for report in &self.reports {
            let path = self.root.join(&report.path);
            printer.findings(&FileReport {
                path: targets::display(&path, environment),
                ..report.clone()
            });
        }
        let counts = self.counts();
        if counts.total() > 0 {
            let parts = [
                (counts.errors, "error"),
                (counts.warnings, "warning"),
                (counts.notes, "note"),
            ];
            let parts = parts.into_iter().filter(|(number, _)| *number > 0);
            let parts = parts.map(|(number, noun)| wording::count(number, noun));
            printer.status(&format!("Found {}", wording::all(parts)));
        }
    }
}

fn plan(
    args: &MissionPlanArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    // One argument that is not a path is the name of a mission.
    let (path, name) = match (&args.path, &args.name) {
        (Some(only), None) if !environment.current.join(only).exists() => {
            let looks_like_path = only.components().count() > 1
                || only.extension().is_some_and(|ending| ending == "hcl");
            match only.to_str().filter(|_| !looks_like_path) {
                Some(name) => (None, Some(name)),
                None => (Some(only.as_path()), None),
            }
        }
        (path, name) => (path.as_deref(), name.as_deref()),
    };
    let zone = environment.time_zone();
    if let Some(at) = &args.at
        && parse_time(at, &zone).is_none()
    {
        let message = format!("invalid value {} for `--at`", wording::tick(at));
        return Err(Failure::new(message).hint("e.g. `--at 2027-01-01T09:00:00Z`"));
    }
    let read = ReadProject::read(path, global, environment)?;
    let named = name.map(|name| read.mission(name)).transpose()?;
    let given = planned_inputs(args, &read, named, environment)?;
    let inputs = given.map(|(mission, given)| mission.input_values(&given));
    let options = PlanOptions {
        mission: name,
        inputs: inputs.as_ref(),
        at: args.at.as_deref(),
        zone: &zone,
    };
    if args.json {
        printer.json(&inspect::plan(&read.project, &read.reports, options))?;
        return Ok(read.exit());
    }
    let is_shown = |mission: &&Mission| name.is_none_or(|name| *name == *mission.name);
    let shown: Vec<&Mission> = read.project.missions.iter().filter(is_shown).collect();
    for mission in &shown {
        print_mission(mission, options, printer)?;
    }
    read.print_findings(environment, printer);
    let project = &read.project;
    printer.status(&format!(
        "Planned {} with {} and {}",
        wording::count(shown.len(), "mission"),
        wording::count(project.agents.len(), "agent"),
        wording::count(project.skills.len(), "skill")
    ));
    Ok(read.exit())
}

/// A mission with the inputs of a plan.
type PlannedInputs<'m> = (&'m Mission, Vec<(String, Value)>);

/// Returns the mission of `--input` and its inputs. `None` without any.
fn planned_inputs<'m>(
    args: &MissionPlanArgs,
    read: &'m ReadProject,
    named: Option<&'m Mission>,
    environment: &Environment,
) -> Result<Option<PlannedInputs<'m>>, Failure> {
    if args.input.is_empty() && args.inputs.is_none() {
        return Ok(None);
    }
    let ((Some(mission), _) | (None, [mission])) = (named, &*read.project.missions) else {
        let error = Failure::new("`--input` needs the name of a mission");
        return Err(error.hint("e.g. `prowess mission plan . NAME --input topic=rust`"));
    };
    let given = given_inputs(&args.input, args.inputs.as_deref(), mission, environment)?;
    Ok(Some((mission, given)))
}

/// Reads and checks inputs of the command line: assignments, and a file.
pub(crate) fn given_inputs(
    assignments: &[String],
    file: Option<&Path>,
    mission: &Mission,
    environment: &Environment,
) -> Result<Vec<(String, Value)>, Failure> {
    let mut given = Vec::new();
    if let Some(path) = file {
        let shown = wording::tick(path.display());
        let hint = || {
            format!(
                "write an object with the inputs into it; {}",
                see_inputs(mission)
            )
        };
        let text = std::fs::read_to_string(environment.current.join(path)).map_err(|error| {
            let failure = Failure::new(format!("cannot read {shown}"));
            failure.cause(error).hint(hint())
        })?;
        let parsed: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
            let failure = Failure::new(format!("{shown} is not JSON"));
            failure.cause(error).hint(hint())
        })?;
        let serde_json::Value::Object(entries) = parsed else {
            return Err(Failure::new(format!("{shown} is not a JSON object")).hint(hint()));
        };
        for (name, value) in entries {
            let value = from_json(&value);
            let checked = mission.check_input(&name, &value);
            checked.map_err(|fault| wrong_input(mission, &name, fault))?;
            given.push((name, value));
        }
    }
    for assignment in assignments {
        let Some((name, text)) = assignment.split_once('=') else {
            let message = format!(
                "invalid value {} for `--input`: expected NAME=VALUE",
                wording::tick(assignment)
            );
            return Err(Failure::new(message).hint("e.g. `--input topic=rust`"));
        };
        let value = mission.parse_input(name, text);
        let value = value.map_err(|fault| wrong_input(mission, name, fault))?;
        given.retain(|(known, _)| known != name);
        given.push((name.to_owned(), value));
    }
    Ok(given)
}

pub(crate) fn wrong_input(mission: &Mission, name: &str, fault: InputFault) -> Failure {
    let shown = wording::tick(name);
    match fault {
        InputFault::Unknown { near } => {
            let message = format!(
                "the mission {} has no input {shown}",
                wording::tick(&mission.name)
            );
            let error = Failure::new(message);
            let known: Vec<String> = mission
                .inputs
                .iter()
                .map(|input| wording::tick(&input.name))
                .collect();
            match near {
                Some(near) => error.hint(format!("did you mean {}?", wording::tick(near))),
                None if known.is_empty() => error.hint(see_inputs(mission)),
                None => error.hint(format!("its inputs are {}", wording::all(known))),
            }
        }
        InputFault::Type(fault) => {
            Failure::new(format!("invalid value for the input {shown}: {fault}"))
                .hint(see_inputs(mission))
        }
        InputFault::Protected => Failure::new(format!(
            "the input {shown} is protected: the mission sets it"
        ))
        .hint(see_inputs(mission)),
    }
}

fn see_inputs(mission: &Mission) -> String {
    let command = wording::command(["prowess", "mission", "plan", ".", &*mission.name]);
    format!("see its inputs with {command}")
}

fn print_mission(
    mission: &Mission,
    options: PlanOptions<'_>,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut table = Table::new(&["", ""]).wrapping();
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            table.row(vec![Cell::styled(key, theme::DIM), Cell::new(value)]);
        }
    };
    line("mission", &mission.name);
    let directive = mission.directive.as_ref().and_then(Value::as_text);
    line("directive", directive.unwrap_or_default());
    line("agents", &mission.agents.join(", "));
    for input in &mission.inputs {
        let default = match &input.default {
            _ if input.is_protected => " (protected)".to_owned(),
            Some(value) => format!(" (default: {})", one_value(value)),
            None => String::new(),
        };
        line(
            "input",
            &format!("{}: {}{default}", input.name, input.kind.word()),
        );
    }
    for schedule in &mission.schedules {
        line("schedule", &schedule_text(schedule, options));
    }
    if let Some(trigger) = &mission.trigger {
        line("web hook", &trigger.path);
    }
    if let Some(tokens) = mission.budget.tokens {
        line("budget", &format!("{tokens} tokens"));
    }
    if let Some(dollars) = &mission.budget.dollars {
        line("budget", &format!("${dollars}"));
    }
    for task in &mission.tasks {
        line("task", &task_text(task, options));
    }
    printer.answer(&table.render(printer.width()))
}

fn one_value(value: &Value) -> String {
    let json = prowess_flow::mission::to_json(value);
    json.map_or_else(|| "…".to_owned(), |json| json.to_string())
}

fn task_text(task: &MissionTask, options: PlanOptions<'_>) -> String {
    let mut text = task.name.to_string();
    if !task.depends_on.is_empty() {
        text.push_str(&format!(" (after {})", task.depends_on.join(", ")));
    }
    if let Some(iterator) = &task.iterator {
        text.push_str(&format!(" (for each of {})", iterator.dataset));
    }
    let filled = task.objective_with(options.inputs, None).ok();
    let needs = task.needs();
    match filled.as_ref().and_then(Value::as_text) {
        Some(objective) => {
            let line = prowess_catalog::skill::one_line(objective);
            text.push_str(&format!(": {}", wording::shorten(line.trim(), 100)));
        }
        None if !needs.is_empty() => text.push_str(&format!(": needs {}", needs.join(", "))),
        None => {}
    }
    let routes = task.routes.iter().map(|route| match &route.target {
        RouteTarget::Task(name) => name.to_string(),
        RouteTarget::Mission { name, .. } => format!("mission {name}"),
    });
    let targets: Vec<String> = task.send_to.iter().map(ToString::to_string).collect();
    let targets: Vec<String> = targets.into_iter().chain(routes).collect();
    if !targets.is_empty() {
        text.push_str(&format!(" → {}", targets.join(", ")));
    }
    text
}

fn schedule_text(schedule: &Schedule, options: PlanOptions<'_>) -> String {
    let times = match &schedule.times {
        ScheduleTimes::At(times) => {
            let times: Vec<String> = times.iter().map(|time| clock_text(*time)).collect();
            format!("at {}", times.join(", "))
        }
        ScheduleTimes::Every(minutes) => format!("every {}", inspect::interval(*minutes)),
        ScheduleTimes::Cron(text) => format!("cron {text}"),
    };
    let zone = schedule.zone.as_deref().unwrap_or("local time");
    let starts = inspect::starts(schedule, options);
    let mut text = format!("{times} ({zone})");
    if !starts.is_empty() {
        text.push_str(&format!(", next: {}", starts.join(", ")));
    }
    text
}

fn list(
    args: &MissionListArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let read = ReadProject::read(args.path.as_deref(), global, environment)?;
    let zone = environment.time_zone();
    let now = time_text(SystemClock.now());
    let options = PlanOptions {
        at: Some(&now),
        zone: &zone,
        ..PlanOptions::default()
    };
    if args.json {
        printer.json(&inspect::missions(&read.project, &read.reports, options))?;
        return Ok(Exit::Done);
    }
    if read.project.missions.is_empty() {
        let folder = targets::display(&read.root, environment);
        let text = format!("no missions in {}", wording::tick(folder));
        printer.note(&text, "add a `mission \"NAME\" { … }` block");
    } else {
        let mut table = Table::new(&["NAME", "TASKS", "AGENTS", "NEXT START", "FILE"]);
        for mission in &read.project.missions {
            let starts = mission.schedules.iter();
            let mut starts: Vec<String> = starts
                .filter_map(|one| inspect::starts(one, options).into_iter().next())
                .collect();
            starts.sort();
            table.row(vec![
                Cell::styled(&mission.name, theme::ACCENT.on_default()),
                Cell::new(&mission.tasks.len().to_string()),
                Cell::new(&mission.agents.join(", ")),
                Cell::styled(starts.first().map_or("", String::as_str), theme::DIM),
                Cell::styled(
                    &format!("{}:{}", mission.place.file, mission.place.line),
                    theme::DIM,
                ),
            ]);
        }
        printer.answer(&table.render(printer.width()))?;
    }
    let serious = read.reports.iter().flat_map(|one| &one.diagnostics);
    let serious = serious.filter(|one| one.severity > Severity::Note).count();
    if serious > 0 {
        let findings = wording::count(serious, "finding");
        let typed = args.path.as_ref().map(|path| path.display().to_string());
        let words = ["prowess", "mission", "plan"].map(str::to_owned);
        let command = wording::command(words.into_iter().chain(typed));
        printer.warn(&format!("{findings} in the mission files; run {command}"));
    }
    Ok(Exit::Done)
}

fn graph(
    args: &MissionGraphArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let read = ReadProject::read(args.path.as_deref(), global, environment)?;
    let mission = read.mission(&args.name)?;
    let format = match args.format {
        GraphFormatArg::Text => GraphFormat::Text,
        GraphFormatArg::Mermaid => GraphFormat::Mermaid,
        GraphFormatArg::Dot => GraphFormat::Dot,
    };
    printer.answer(&mission.graph(format))?;
    let errors = read.counts().errors;
    if errors > 0 {
        let errors = wording::count(errors, "error");
        printer.warn(&format!(
            "{errors} in the mission files; run `prowess mission plan`"
        ));
    }
    Ok(Exit::Done)
}
