//! `prowess demo`: a complete run, offline, in a few seconds. `--mission` runs a mission instead.
//!
//! Only the model is scripted. The skill is read from disk, found by search and loaded after a
//! permission check, its command runs in the sandbox, the result is validated against a schema, and
//! the session is stored.

mod mission;

use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::output::{Exit, Failure, Printer, wrap};
use prowess::agent::{Event, StampedEvent};
use prowess::config::Config;
use prowess::policy::{Approved, Command, Profile};
use prowess::traits::{CommandError, CommandResult, CommandRunner, DenyAll, Stoppable};
use prowess::{
    Ending, FileOptions, HostPaths, Place, Precedence, Registry, Scope, Services, Settings, Update,
    Watcher,
};
use prowess_diag::{theme, wording};
use prowess_models::ScriptedModel;
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::run::failure;
use crate::env::Environment;
use crate::runtime_setup::{ModelArgs, Setup};

const SKILL: &str = include_str!("SKILL.md");
const CHANGELOG: &str = include_str!("CHANGELOG.md");
const SCRIPT: &str = include_str!("script.jsonl");
/// Column of the text.
const INDENT: usize = 16;
/// Width of the text if commands are shown next to it.
const COLUMN: usize = 54;
const TASK: &str = "summarise CHANGELOG.md for customers";

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Show a complete run, offline, with a scripted model\n\nOnly the model is scripted: search, permissions, sandbox and session store are real.",
    after_help = "\
Examples:
  prowess demo                                   run offline, no API key needed
  prowess demo --mission                         run a mission with two agents
  prowess demo --json                            print as JSON"
)]
pub(crate) struct DemoArgs {
    /// Run a mission: tasks in parallel, a route, agents with skills, typed outputs
    #[arg(long)]
    pub mission: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Runs the demo. The skills of the user are counted, but not used.
pub(crate) fn run(
    args: &DemoArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let own = Setup::open(global, environment, printer)?;
    if args.mission {
        return mission::run(args, &own, printer);
    }
    let folder = demo_folder(&[
        ("home/.agents/skills/release-notes/SKILL.md", SKILL),
        ("project/CHANGELOG.md", CHANGELOG),
    ])?;
    let found = counted(&own.services.registry);
    let seen = Arc::new(Seen::default());
    let spy = own.services.runner.as_ref().map(|runner| {
        Arc::new(Spy {
            inner: Arc::clone(runner),
            seen: Arc::clone(&seen),
        }) as Arc<dyn CommandRunner>
    });
    let setup = isolated(&own, folder.path(), spy);
    let model = ScriptedModel::parse("demo", SCRIPT)
        .map_err(|error| Failure::new("invalid demo script").cause(error))?;
    let watcher: Arc<dyn Watcher> = Arc::clone(&seen) as Arc<dyn Watcher>;
    let finished = async_runtime::on(|cancel| async move {
        let runtime = setup.runtime(
            &ModelArgs::default(),
            Arc::new(model),
            Arc::new(DenyAll),
            vec![watcher],
            |_| {},
        )?;
        let task = runtime.task(TASK).cancelled_by(&cancel);
        task.finish(Some(schema()))
            .await
            .map_err(|error| failure(&error))
    })?;
    let Ending::Submitted { value } = &finished.ending else {
        return Err(Failure::new("the demo did not finish as expected")
            .cause(finished.ending.as_str())
            .hint(format!("run `prowess session show {}`", finished.session)));
    };
    let events = seen.events();
    let runs = seen.runs();
    if args.json {
        printer.json(&json!({
            "schema": "prowess.demo/1",
            "model": "scripted",
            "session": finished.session,
            "result": value,
            "commands": runs.iter().map(|(command, ran)| json!({
                "command": command,
                "code": ran.code,
                "milliseconds": ran.milliseconds,
                "sandbox": ran.layers.iter().map(|(layer, state)| json!({ "layer": layer, "state": state })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "events": events.len(),
            "spent": finished.spent,
        }))?;
        return Ok(Exit::Done);
    }
    tell(
        &story(&found, &events, &runs, value, &finished.session),
        printer,
    )?;
    let style = theme::bold(theme::GOOD);
    printer.answer(&format!(
        "\n{style}Next:{style:#}  prowess list        list your skills\n       prowess validate    check them\n       prowess chat        chat with a model that has them\n"
    ))?;
    Ok(Exit::Done)
}

/// Writes the files of a demo into a temporary folder.
fn demo_folder(files: &[(&str, &str)]) -> Result<tempfile::TempDir, Failure> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| Failure::new(what).cause(error)
    };
    let folder = tempfile::Builder::new()
        .prefix("prowess-demo-")
        .tempdir()
        .map_err(failed("cannot create a temporary folder for the demo"))?;
    for (path, text) in files {
        let path = folder.path().join(path);
        let parent = path.parent().unwrap_or(folder.path());
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(failed("cannot write the files of the demo"))?;
    }
    Ok(folder)
}

/// Returns the setup of a demo: its own home, project and settings, and the session store of the user.
fn isolated(own: &Setup, folder: &Path, runner: Option<Arc<dyn CommandRunner>>) -> Setup {
    let (home, project) = (folder.join("home"), folder.join("project"));
    let place = Place {
        current: project.clone(),
        home: Some(home.clone()),
        ..Place::default()
    };
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    let services = Services {
        runner,
        sessions: own.services.sessions.clone(),
        ..Services::new(Arc::new(registry), Arc::clone(&own.services.clock))
    };
    Setup {
        services,
        settings: Settings::default(),
        config: Config::default(),
        paths: HostPaths {
            workspace: project,
            home: Some(home),
            state: Some(folder.join("state")),
            ours: own.paths.ours.clone(),
            named: own.paths.named.clone(),
            packages: None,
        },
        config_file: None,
        variables: Arc::clone(&own.variables),
        keeps_sessions: own.keeps_sessions,
        markers: None,
    }
}

fn schema() -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "properties": { "headline": { "type": "string" }, "highlights": list, "breaking": list },
        "required": ["headline", "highlights", "breaking"],
        "additionalProperties": false,
    })
}

/// Counts the user's skills by scope.
fn counted(registry: &Registry) -> String {
    let catalog = registry.snapshot();
    let count = |scope: Scope| {
        catalog
            .entries()
            .iter()
            .filter(|entry| entry.skill.id.origin.scope == scope)
            .count()
    };
    let told: Vec<String> = [
        (Scope::Project, "in this project"),
        (Scope::Extra, "in extra folders"),
        (Scope::User, "in your home folder"),
    ]
    .iter()
    .map(|(scope, whose)| (count(*scope), whose))
    .filter(|(number, _)| *number > 0)
    .map(|(number, whose)| format!("{} {whose}", wording::thousands(number)))
    .collect();
    match &*told {
        [] => "1 demo skill; you have no skills yet".to_owned(),
        told => format!("1 demo skill, {}", told.join(", ")),
    }
}

/// A step of the run.
struct Beat<'a> {
    what: &'a str,
    text: String,
    /// The command that shows more.
    command: Option<String>,
}

impl<'a> Beat<'a> {
    fn new(what: &'a str, text: impl Into<String>) -> Self {
        Self {
            what,
            text: text.into(),
            command: None,
        }
    }

    fn more(self, command: impl Into<String>) -> Self {
        Self {
            command: Some(command.into()),
            ..self
        }
    }

    /// Lays out the step; the command is next to the text or below it.
    fn lines(&self, number: usize, room: usize, in_column: bool) -> String {
        let room = if in_column && self.command.is_some() {
            COLUMN
        } else {
            room
        };
        // JSON and drawings are not wrapped.
        let lay = |line: &str| match line {
            line if matches!(self.what, "result" | "graph") => vec![line.to_owned()],
            text => wrap(text, room),
        };
        let mut lines: Vec<String> = self.text.lines().flat_map(lay).collect();
        if let Some(command) = &self.command {
            match lines.last_mut().filter(|_| in_column) {
                Some(last) => *last = format!("{last:COLUMN$}  {command}"),
                // The prefix separates the command from the text above.
                None => lines.push(format!("more: {command}")),
            }
        }
        let mut text = format!("{number:>3}  {:<10} ", self.what);
        text.push_str(&lines.join(&format!("\n{}", " ".repeat(INDENT))));
        text.push('\n');
        text
    }
}

/// Prints the steps of a demo.
fn tell(story: &[Beat<'_>], printer: &Printer) -> Result<(), Failure> {
    let width = printer.list_width();
    let head = "The model is scripted; everything else is real. No data leaves this machine.";
    printer.answer(&format!("{}\n\n", wrap(head, width).join("\n")))?;
    printer.answer(&told(story, width))
}

/// Lays out the steps. The commands are in one column, or each below its text.
fn told(story: &[Beat<'_>], width: usize) -> String {
    let room = width.saturating_sub(INDENT).max(20);
    let commands = story.iter().filter_map(|beat| beat.command.as_ref());
    let widest = commands
        .map(|command| command.chars().count())
        .max()
        .unwrap_or(0);
    let in_column = COLUMN + 2 + widest <= room;
    let lines = story
        .iter()
        .enumerate()
        .map(|(at, beat)| beat.lines(at + 1, room, in_column));
    lines.collect()
}

/// Returns the steps of the run.
fn story(
    found: &str,
    events: &[StampedEvent],
    runs: &[(String, CommandResult)],
    value: &Value,
    session: &str,
) -> Vec<Beat<'static>> {
    let mut beats = vec![Beat::new("found", found).more("prowess list")];
    for stamped in events {
        match &stamped.event {
            Event::Listed(listed) => {
                let budget = usize::try_from(listed.budget).unwrap_or(0);
                let text = format!("{} tokens of {}", listed.tokens, wording::thousands(budget));
                beats.push(Beat::new("index", text).more("prowess prompt"));
            }
            Event::Said { .. } => beats.push(Beat::new("task", format!("\"{TASK}\""))),
            Event::Replied { reply, .. } => {
                for call in reply.calls() {
                    let text = match &*call.name {
                        // The accepted value is shown as the result.
                        "submit" => "called submit with a value".to_owned(),
                        _ => format!("called {}", prowess_tui::run_output::summary(call)),
                    };
                    beats.push(Beat::new("model", text));
                }
            }
            Event::CallEnded { result, .. } if result.is_error => {
                let first = result.text.lines().next().unwrap_or_default();
                let why = first.split_once(": ").map_or(first, |(_, why)| why);
                beats.push(Beat::new("checked", format!("rejected: {why}")));
            }
            Event::CallEnded { result, loaded, .. } if !loaded.is_empty() => {
                for (command, ran) in runs {
                    let text = ran_line(command, ran);
                    beats.push(Beat::new("injected", text).more("prowess doctor"));
                }
                let tokens = result.text.len().div_ceil(4);
                let text = format!("skill text, about {tokens} tokens");
                beats.push(Beat::new("loaded", text));
            }
            Event::CallEnded {
                submitted: Some(_), ..
            } => {
                beats.push(Beat::new("checked", "the value matches the schema"));
            }
            _ => {}
        }
    }
    let value = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    beats.push(Beat::new("result", value));
    let text = format!("session {session}");
    beats.push(Beat::new("recorded", text).more(format!("prowess session show {session}")));
    beats
}

fn ran_line(command: &str, ran: &CommandResult) -> String {
    let on = ran
        .layers
        .iter()
        .filter(|(_, state)| &**state == "on")
        .count();
    let place = match on {
        0 => "without a sandbox".to_owned(),
        on => format!("in the sandbox ({})", wording::count(on, "layer")),
    };
    format!("`{command}` {place}, {} ms", ran.milliseconds)
}

/// Records events and commands.
#[derive(Debug, Default)]
struct Seen {
    events: Mutex<Vec<StampedEvent>>,
    runs: Mutex<Vec<(String, CommandResult)>>,
}

impl Seen {
    fn events(&self) -> Vec<StampedEvent> {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn runs(&self) -> Vec<(String, CommandResult)> {
        self.runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Watcher for Seen {
    fn update(&self, _session: &str, _depth: u8, update: Update<'_>) {
        if let Update::Event(event) = update {
            self.events
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.clone());
        }
    }
}

/// A runner that records the result of each command.
#[derive(Debug)]
struct Spy {
    inner: Arc<dyn CommandRunner>,
    seen: Arc<Seen>,
}

impl CommandRunner for Spy {
    fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        input: Option<&[u8]>,
    ) -> Result<CommandResult, CommandError> {
        let ran = self.inner.run(command, profile, input)?;
        let text = command.value().text.to_string();
        self.seen
            .runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((text, ran.clone()));
        Ok(ran)
    }

    fn stoppable(&self) -> Option<Stoppable> {
        let Stoppable { runner, stop } = self.inner.stoppable()?;
        Some(Stoppable {
            runner: Arc::new(Self {
                inner: runner,
                seen: Arc::clone(&self.seen),
            }),
            stop,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_in_one_column_or_all_below_their_text() {
        let story = [
            Beat::new(
                "found",
                "1 demo skill, 12 in this project, 3 in extra folders, 120 in your home folder",
            )
            .more("prowess list"),
            Beat::new("index", "92 tokens").more("prowess prompt"),
            Beat::new("recorded", "session x").more("prowess session show x"),
        ];
        let column = |line: &str| line.find("prowess").filter(|_| line.contains("prowess "));
        for (width, expected) in [
            (usize::MAX, INDENT + COLUMN + 2),
            (120, INDENT + COLUMN + 2),
            (90, INDENT + "more: ".len()),
        ] {
            let text = told(&story, width);
            let columns: Vec<usize> = text.lines().filter_map(column).collect();
            assert_eq!(columns, [expected; 3], "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
    }
}
