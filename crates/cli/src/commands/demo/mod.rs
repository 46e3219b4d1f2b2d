//! `prowess demo`: the whole thing, offline, in a few seconds.
//!
//! The model is a script; everything else is real: the skill is read from disk, found by search,
//! loaded through the gate, its command runs in the sandbox, the result is checked against a schema,
//! and the session is in the store.

use std::fmt::Debug;

use std::sync::{Arc, Mutex, PoisonError};

use crate::output::{Exit, Failure, Printer, bold, wrap};
use anstyle::AnsiColor;
use prowess::agent::{Event, Stamped};
use prowess::config::Config;
use prowess::policy::{Approved, Command, Profile};
use prowess::traits::{CommandRunner, Nobody, Ran, RunError, Stoppable};
use prowess::{
    Ending, FileOptions, HostPaths, Place, Precedence, Registry, Scope, Services, Settings, Update,
    Watcher,
};
use prowess_diag::wording;
use prowess_models::ScriptedModel;
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::commands::run::failure;
use crate::env::Environment;
use crate::setup::{ModelArgs, Setup};
use crate::wait;

const SKILL: &str = include_str!("SKILL.md");
const CHANGELOG: &str = include_str!("CHANGELOG.md");
const SCRIPT: &str = include_str!("script.jsonl");
/// Where the text of a line begins.
const INDENT: usize = 16;
/// Where commands stand behind a text, where there is room.
const COLUMN: usize = 54;
const TASK: &str = "summarise CHANGELOG.md for customers";

/// What is typed behind `demo`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Show a complete run, offline: the model is a script, everything else is real",
    after_help = "\
Examples:
  prowess demo                                   a few seconds, no key needed
  prowess demo --json                            what happened, as JSON"
)]
pub(crate) struct DemoArgs {
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Runs the demonstration. The person's own skills are counted, not used.
pub(crate) fn run(
    args: &DemoArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let own = Setup::open(global, environment, printer)?;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| Failure::new(what).cause(error)
    };
    let folder = tempfile::Builder::new()
        .prefix("prowess-demo-")
        .tempdir()
        .map_err(failed("cannot make a folder for the demonstration"))?;
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    let skill = home.join(".agents/skills/release-notes");
    let prepare = || {
        std::fs::create_dir_all(&skill)?;
        std::fs::create_dir_all(&project)?;
        std::fs::write(skill.join("SKILL.md"), SKILL)?;
        std::fs::write(project.join("CHANGELOG.md"), CHANGELOG)
    };
    prepare().map_err(failed("cannot write the files of the demonstration"))?;
    let found = counted(&own.services.registry);
    let seen = Arc::new(Seen::default());
    let spy = own.services.runner.as_ref().map(|runner| {
        Arc::new(Spy {
            inner: Arc::clone(runner),
            seen: Arc::clone(&seen),
        }) as Arc<dyn CommandRunner>
    });
    let place = Place {
        current: project.clone(),
        home: Some(home.clone()),
        ..Place::default()
    };
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    let services = Services {
        runner: spy,
        sessions: own.services.sessions.clone(),
        ..Services::new(Arc::new(registry), Arc::clone(&own.services.clock))
    };
    let setup = Setup {
        services,
        settings: Settings::default(),
        config: Config::default(),
        paths: HostPaths {
            workspace: project.clone(),
            home: Some(home),
            state: Some(folder.path().join("state")),
            ours: own.paths.ours.clone(),
        },
        config_file: None,
        variables: Arc::clone(&own.variables),
    };
    let model = ScriptedModel::parse("demo", SCRIPT)
        .map_err(|error| Failure::new("the script of the demonstration").cause(error))?;
    let watcher: Arc<dyn Watcher> = Arc::clone(&seen) as Arc<dyn Watcher>;
    let finished = wait::on(|cancel| async move {
        let runtime = setup.runtime(
            &ModelArgs::default(),
            Arc::new(model),
            Arc::new(Nobody),
            vec![watcher],
            |_| {},
        )?;
        let task = runtime.task(TASK).cancelled_by(&cancel);
        task.finish(Some(schema()))
            .await
            .map_err(|error| failure(&error))
    })?;
    let Ending::Submitted { value } = &finished.ending else {
        return Err(Failure::new("the demonstration did not end as it should")
            .cause(finished.ending.as_str())
            .hint(format!("see `prowess session show {}`", finished.session)));
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
    let width = printer.list_width();
    let head = "A scripted model; everything else is real. Nothing leaves this machine.";
    printer.answer(&format!("{}\n\n", wrap(head, width).join("\n")))?;
    printer.answer(&told(
        &story(&found, &events, &runs, value, &finished.session),
        width,
    ))?;
    let style = bold(AnsiColor::Green);
    printer.answer(&format!(
        "\n{style}Next:{style:#}  prowess list        the skills you already have\n       prowess validate    check them\n       prowess chat        talk to a model that has them\n"
    ))?;
    Ok(Exit::Done)
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

/// How many skills the person has, and where.
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
        (Scope::Project, "of this project"),
        (Scope::Extra, "in extra folders"),
        (Scope::User, "of yours"),
    ]
    .iter()
    .map(|(scope, whose)| (count(*scope), whose))
    .filter(|(number, _)| *number > 0)
    .map(|(number, whose)| format!("{} {whose}", wording::thousands(number)))
    .collect();
    match &*told {
        [] => "1 skill for this demo; no skills of yours yet".to_owned(),
        told => format!("1 skill for this demo, {}", told.join(", ")),
    }
}

/// One thing that happened.
struct Beat {
    what: &'static str,
    text: String,
    /// What to type to see more of it.
    command: Option<String>,
}

impl Beat {
    fn new(what: &'static str, text: impl Into<String>) -> Self {
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

    /// Lays it out below its number; the command stands behind the text, or below it.
    fn lines(&self, number: usize, room: usize, is_beside: bool) -> String {
        let room = if is_beside && self.command.is_some() {
            COLUMN
        } else {
            room
        };
        // JSON keeps its own lines.
        let lay = |line: &str| match line {
            json if self.what == "result" => vec![json.to_owned()],
            text => wrap(text, room),
        };
        let mut lines: Vec<String> = self.text.lines().flat_map(lay).collect();
        if let Some(command) = &self.command {
            match lines.last_mut().filter(|_| is_beside) {
                Some(last) => *last = format!("{last:COLUMN$}  {command}"),
                // Below a text it would look like a part of it.
                None => lines.push(format!("more: {command}")),
            }
        }
        let mut text = format!("{number:>3}  {:<10} ", self.what);
        text.push_str(&lines.join(&format!("\n{}", " ".repeat(INDENT))));
        text.push('\n');
        text
    }
}

/// Lays out what happened. The commands stand in one column, or all of them below their texts.
fn told(story: &[Beat], width: usize) -> String {
    let room = width.saturating_sub(INDENT).max(20);
    let commands = story.iter().filter_map(|beat| beat.command.as_ref());
    let widest = commands
        .map(|command| command.chars().count())
        .max()
        .unwrap_or(0);
    let is_beside = COLUMN + 2 + widest <= room;
    let lines = story
        .iter()
        .enumerate()
        .map(|(at, beat)| beat.lines(at + 1, room, is_beside));
    lines.collect()
}

/// What happened.
fn story(
    found: &str,
    events: &[Stamped],
    runs: &[(String, Ran)],
    value: &Value,
    session: &str,
) -> Vec<Beat> {
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
                        // The value is shown when it fits.
                        "submit" => "called submit with a value".to_owned(),
                        _ => format!("called {}", prowess_tui::live::summary(call)),
                    };
                    beats.push(Beat::new("model", text));
                }
            }
            Event::CallEnded { result, .. } if result.is_error => {
                let first = result.text.lines().next().unwrap_or_default();
                let why = first.split_once(": ").map_or(first, |(_, why)| why);
                beats.push(Beat::new("checked", format!("sent back: {why}")));
            }
            Event::CallEnded { result, loaded, .. } if !loaded.is_empty() => {
                for (command, ran) in runs {
                    let text = ran_line(command, ran);
                    beats.push(Beat::new("injected", text).more("prowess doctor"));
                }
                let tokens = result.text.len().div_ceil(4);
                let text = format!("the skill's text, about {tokens} tokens");
                beats.push(Beat::new("loaded", text));
            }
            Event::CallEnded {
                submitted: Some(_), ..
            } => {
                beats.push(Beat::new("checked", "the value fits the schema"));
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

fn ran_line(command: &str, ran: &Ran) -> String {
    let on = ran
        .layers
        .iter()
        .filter(|(_, state)| &**state == "on")
        .count();
    let place = match on {
        0 => "without a sandbox".to_owned(),
        on => format!("in a sandbox of {}", wording::count(on, "layer")),
    };
    format!("`{command}` {place}, {} ms", ran.milliseconds)
}

/// Keeps what happened.
#[derive(Debug, Default)]
struct Seen {
    events: Mutex<Vec<Stamped>>,
    runs: Mutex<Vec<(String, Ran)>>,
}

impl Seen {
    fn events(&self) -> Vec<Stamped> {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn runs(&self) -> Vec<(String, Ran)> {
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

/// A runner that takes note of how commands went.
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
    ) -> Result<Ran, RunError> {
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
    fn commands_stand_in_one_column_or_all_of_them_below() {
        let story = [
            Beat::new(
                "found",
                "1 skill for this demo, 12 of this project, 3 in extra folders, 120 of yours",
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
