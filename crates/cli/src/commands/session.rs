//! `prowess session`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::output::{Cell, Exit, Failure, Printer, Table};
use prowess::agent::{Ending, EndingKind, Event, StampedEvent};
use prowess::mission::mission_run_above;
use prowess::traits::{SessionError, SessionQuery, SessionStore, SessionSummary};
use prowess::{Pause, RuntimeError, Session, Watcher};
use prowess_diag::{sanitize, wording};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::questions;
use crate::commands::run::{about, colour, event_line, failure, live, print};
use crate::env::Environment;
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};
use crate::{permissions, targets};
use prowess_tui::transcript::{self, TranscriptOptions};

/// Arguments of `session`.
#[derive(Debug, clap::Args)]
#[command(
    about = "List, show and resume sessions",
    after_help = "\
Examples:
  prowess session list                           list sessions of this project
  prowess session list --all --json"
)]
pub(crate) struct SessionArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: SessionCommand,
}

/// Subcommands of `session`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, latest first
    List(SessionListArgs),
    /// Show the messages and tool calls of a session
    Show(SessionShowArgs),
    /// Resume a session
    Resume(SessionResumeArgs),
    /// Print the events of a session as JSON Lines
    Replay(SessionIdArgs),
    /// Print a session as JSON
    Export(SessionIdArgs),
    /// Remove a session and its sub-runs
    #[command(visible_alias = "rm")]
    Remove(SessionRemoveArgs),
}

/// Arguments of `session list`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionListArgs {
    /// Include all projects
    #[arg(long)]
    pub all: bool,
    /// List only sub-runs of this session
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// Maximum number of sessions (default: 20)
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub limit: usize,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `session show`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionShowArgs {
    /// Session id, or a prefix of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Do not truncate tool results
    #[arg(long)]
    pub whole: bool,
    /// Show the reasoning of the model, if available
    #[arg(long)]
    pub reasoning: bool,
    /// Print as JSON, like `session export`
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `session replay` and `session export`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionIdArgs {
    /// Session id, or a prefix of it
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `session remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionRemoveArgs {
    /// Session ids, or prefixes of them
    #[arg(value_name = "ID", required = true)]
    pub id: Vec<String>,
}

/// Arguments of `session resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionResumeArgs {
    /// Session id, or a prefix of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Message to send; without one, the interrupted turn continues
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// Print events as JSON Lines, with the result in the last line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs the subcommand.
pub(crate) fn run(
    args: &SessionArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let here = match &args.command {
        SessionCommand::Resume(args) => place_of(&args.id, environment, printer)?,
        _ => environment.clone(),
    };
    let setup = Setup::open(global, &here, printer)?;
    match &args.command {
        SessionCommand::List(args) => list(args, &setup, printer),
        SessionCommand::Show(args) => show(args, &setup, printer),
        SessionCommand::Resume(args) => resume(args, setup, printer),
        SessionCommand::Replay(args) => replay(args, &setup, printer),
        SessionCommand::Export(args) => export(args, &setup, printer),
        SessionCommand::Remove(args) => remove(args, &setup, printer),
    }
}

/// Returns the environment in which a session continues: its own project. Its approvals are about the
/// files there, and the restrictions of that project apply.
pub(crate) fn place_of(
    typed: &str,
    environment: &Environment,
    printer: &Printer,
) -> Result<Environment, Failure> {
    let Some(store) = questions::store(environment) else {
        return Ok(environment.clone());
    };
    let id = find(&store, typed)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    let project = events.iter().find_map(|stamped| match &stamped.event {
        Event::Started(started) => Some(&started.project),
        _ => None,
    });
    let Some(project) = project else {
        return Ok(environment.clone());
    };
    let here = in_project(project, environment)?;
    if here.current != environment.current {
        let shown = targets::display(&here.current, environment);
        printer.status(&format!("Continues in its project, {shown}"));
    }
    Ok(here)
}

/// Returns the environment of a project: this one if it is that of the project already.
pub(crate) fn in_project(project: &str, environment: &Environment) -> Result<Environment, Failure> {
    let project = PathBuf::from(project);
    if project == permissions::workspace(environment) {
        return Ok(environment.clone());
    }
    if !project.is_dir() {
        let shown = project.display().to_string();
        let text = format!(
            "cannot continue the session: its project {} does not exist",
            wording::tick(sanitize::line(&shown))
        );
        return Err(Failure::new(text));
    }
    Ok(Environment {
        current: project,
        ..environment.clone()
    })
}

fn list(args: &SessionListArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let store = setup.sessions();
    let parent = args
        .parent
        .as_deref()
        .map(|id| find(&*store, id))
        .transpose()?;
    let project = setup.paths.workspace.to_string_lossy().into_owned();
    let query = SessionQuery {
        project: (!args.all && parent.is_none()).then(|| project.into()),
        parent,
        limit: args.limit,
    };
    let sessions = store.list(&query).map_err(|error| failure(&error.into()))?;
    if args.json {
        let sessions: Vec<Value> = sessions.iter().map(describe).collect();
        printer.json(&json!({ "schema": "prowess.sessions/1", "sessions": sessions }))?;
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        let more = if args.all {
            ""
        } else {
            " in this project; use `--all` for all projects"
        };
        printer.status(&format!("No sessions{more}"));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "WHEN", "STATE", "MODEL", "ABOUT"]);
    for session in &sessions {
        let state = state(session);
        let style = colour(session.ending, session.live).on_default();
        table.row(vec![
            Cell::new(&session.id),
            Cell::new(&when(session.updated)),
            Cell::styled(state, style),
            Cell::new(&sanitize::line(&session.model)),
            Cell::new(&sanitize::line(&session.title)),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}

fn state(session: &SessionSummary) -> &'static str {
    match session.ending {
        _ if session.live => "running",
        Some(ending) => ending.as_str(),
        None => "open",
    }
}

/// Formats a time in UTC.
pub(crate) fn when(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to date, in 400-year eras that start in March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        rest / 3_600,
        rest % 3_600 / 60
    )
}

fn describe(session: &SessionSummary) -> Value {
    json!({
        "id": session.id,
        "title": session.title,
        "project": session.project,
        "model": session.model,
        "parent": session.parent,
        "started": session.started,
        "updated": session.updated,
        "events": session.events,
        "ending": session.ending.map(EndingKind::as_str),
        "live": session.live,
    })
}

pub(crate) fn find(store: &dyn SessionStore, id: &str) -> Result<Box<str>, Failure> {
    store.find(id).map_err(|error| failure(&error.into()))
}

fn show(args: &SessionShowArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    if args.json {
        return export(
            &SessionIdArgs {
                id: args.id.clone(),
            },
            setup,
            printer,
        );
    }
    let store = setup.sessions();
    let id = find(&*store, &args.id)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    let options = TranscriptOptions {
        whole: args.whole,
        reasoning: args.reasoning,
    };
    let text = transcript::transcript(&events, options);
    printer.answer(&text)?;
    let query = SessionQuery {
        project: None,
        parent: Some(id.clone()),
        limit: 100,
    };
    let children = store.list(&query).map_err(|error| failure(&error.into()))?;
    if !children.is_empty() {
        let names: Vec<String> = children
            .iter()
            .map(|child| format!("{} ({})", child.id, sanitize::line(&child.title)))
            .collect();
        printer.status(&format!("Sub-runs: {}", names.join(", ")));
    }
    Ok(Exit::Done)
}

/// Returns the id and the events of a session.
pub(crate) fn events(id: &str, setup: &Setup) -> Result<(Box<str>, Vec<StampedEvent>), Failure> {
    let store = setup.sessions();
    let id = find(&*store, id)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    Ok((id, events))
}

/// Explains a turn of a session, by default the last one.
pub(crate) fn why(
    id: &str,
    turn: Option<u32>,
    setup: &Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (id, events) = events(id, setup)?;
    let last = transcript::turns(&events);
    let turn = turn.unwrap_or(last);
    if turn == 0 || turn > last {
        return Err(
            Failure::new(format!("session `{id}` has no turn {turn}")).hint(match last {
                0 => "the model has not replied yet".to_owned(),
                last => format!("it has turns 1 to {last}"),
            }),
        );
    }
    printer.answer(&transcript::why_turn(&events, turn))?;
    Ok(Exit::Done)
}

fn replay(args: &SessionIdArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let store = setup.sessions();
    let id = find(&*store, &args.id)?;
    for event in store.events(&id).map_err(|error| failure(&error.into()))? {
        printer.verbatim(format!("{}\n", event_line(&id, 0, &event)).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn export(args: &SessionIdArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let store = setup.sessions();
    let id = find(&*store, &args.id)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    printer.json(&json!({ "schema": "prowess.session/1", "id": id, "events": events }))?;
    Ok(Exit::Done)
}

/// Returns the ids of a session and of all its sub-runs. Ids are alphanumeric.
fn family(store: &dyn SessionStore, id: &str) -> Result<Vec<Box<str>>, SessionError> {
    let mut family: Vec<Box<str>> = vec![id.into()];
    let mut at = 0;
    while let Some(parent) = family.get(at).cloned() {
        let children = store.list(&SessionQuery {
            project: None,
            parent: Some(parent),
            limit: usize::MAX,
        })?;
        let ids = children.into_iter().map(|child| child.id);
        let known: BTreeSet<Box<str>> = family.iter().cloned().collect();
        family.extend(ids.filter(|id| !known.contains(id)));
        at += 1;
    }
    let is_plain = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    family.retain(|id| is_plain(id));
    Ok(family)
}

fn remove(args: &SessionRemoveArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let store = setup.sessions();
    let mut gone = 0;
    for id in &args.id {
        let id = find(&*store, id)?;
        let family = family(&*store, &id).map_err(|error| failure(&error.into()))?;
        gone += store.remove(&id).map_err(|error| failure(&error.into()))?;
        // The long output of commands in the skills of these sessions.
        let outputs = setup.paths.outputs();
        let folders = outputs
            .iter()
            .flat_map(|folder| family.iter().map(|id| folder.join(&**id)));
        for folder in folders.filter(|folder| folder.is_dir()) {
            std::fs::remove_dir_all(&folder).map_err(|error| {
                Failure::new(format!("cannot remove {}", wording::tick(folder.display())))
                    .cause(error)
            })?;
        }
    }
    let gone = usize::try_from(gone).unwrap_or(usize::MAX);
    printer.status(&format!("Removed {}", wording::count(gone, "session")));
    Ok(Exit::Done)
}

/// Returns the error for a session whose model cannot be used any more, with a way to continue.
fn no_model_of_session(id: &str, model: Option<&str>, failure: Failure) -> Failure {
    let resume = format!("prowess session resume {id}");
    let (kind, _) = model
        .and_then(|name| name.split_once('/'))
        .unwrap_or_default();
    match kind {
        // The record has the name of the file only.
        "scripted" | "replay" => Failure::new(format!(
            "the replies of session `{id}` came from a file, which must be named again"
        ))
        .hint(format!("continue with it: `{resume} --model {kind}:FILE`")),
        "local" => failure
            .hint(format!("name the server: `PROWESS_BASE_URL=URL {resume}`"))
            .hint(format!(
                "or continue with another model: `{resume} --model MODEL`"
            )),
        _ => failure.hint(format!(
            "continue with another model: `{resume} --model MODEL`"
        )),
    }
}

/// Resumes a session and prints its result.
pub(crate) fn resume(
    args: &SessionResumeArgs,
    mut setup: Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    setup.wait(&args.wait);
    let store = setup.sessions();
    let id = find(&*store, &args.id)?;
    let events = store.events(&id).map_err(|error| failure(&error.into()))?;
    let run = mission_run_above(&*store, &id).map_err(|error| failure(&error.into()))?;
    drop(store);
    if let Some(run) = run {
        return Err(failure(&RuntimeError::PartOfMission { session: id, run }));
    }
    if let Some(failure) = without_task(&id, &events, !args.text.is_empty()) {
        return Err(failure);
    }
    let mut limits = None;
    let mut had = None;
    let mut agent = None;
    let mut typed = false;
    for stamped in &events {
        match &stamped.event {
            Event::Started(started) => {
                limits = Some(started.limits.budget);
                had = Some(started.model.to_string());
                let of_file = started.agent.as_ref().filter(|agent| agent.file.is_some());
                agent = of_file.map(|agent| agent.name.clone());
                typed = started.result.is_some();
            }
            Event::Resumed {
                budget: Some(budget),
                ..
            } => limits = Some(*budget),
            _ => {}
        }
    }
    let asked = args.model.limits()?;
    let before = limits.unwrap_or_default();
    let budget = prowess::agent::RunBudget {
        turns: asked.turns.or(before.turns),
        tokens: asked.tokens.or(before.tokens),
        micros: asked.micros.or(before.micros),
        milliseconds: asked.milliseconds.or(before.milliseconds),
    };
    let model = ModelArgs {
        model: args.model.model.clone().or(had),
        ..args.model.clone()
    };
    let text = args.text.join(" ");
    let _servers = setup.connect(agent.as_deref(), printer)?;
    let _watching = setup.watch();
    async_runtime::on(|cancel| async move {
        let chosen = match setup.model(&model).await {
            Ok(chosen) => chosen,
            // The model is that of the session, which another machine or another day may not have.
            Err(failure) if args.model.model.is_none() => {
                return Err(no_model_of_session(&id, model.model.as_deref(), failure));
            }
            Err(failure) => return Err(failure),
        };
        printer.status(&about(
            &chosen.model.about().name,
            "resumed session",
            chosen.model.about().note.as_deref(),
        ));
        let watcher: Arc<dyn Watcher> = Arc::new(live(printer, typed));
        let approver = Arc::clone(&setup.services.approver);
        let runtime = setup.runtime(&model, chosen.model, approver, vec![watcher], |settings| {
            settings.is_model_chosen = args.model.model.is_some();
        })?;
        let mut session = Session::resume(runtime.engine(), &id, Some(budget))
            .await
            .map_err(|error| failure(&error))?;
        let said = if text.is_empty() {
            Ok(())
        } else {
            session.say(&text, &cancel).await.map(|_| ())
        };
        let pause = match said {
            Ok(()) => session.proceed(&cancel).await,
            Err(RuntimeError::Cancelled { .. }) => Ok(Pause::Ended(Ending::Cancelled)),
            Err(error) => Err(error),
        };
        let pause = pause.map_err(|error| failure(&error))?;
        if text.is_empty() && matches!(pause, Pause::Answered(_)) {
            session.close().await.map_err(|error| failure(&error))?;
        }
        let finished = prowess::FinishedRun {
            session: session.id().into(),
            ending: match pause {
                Pause::Answered(text) => Ending::Submitted {
                    value: Value::String(text),
                },
                Pause::Ended(Ending::Answered) => Ending::Submitted { value: Value::Null },
                Pause::Ended(ending) => ending,
            },
            text: session.run().answer(),
            spent: *session.spent(),
        };
        let sessions = runtime.engine().sessions();
        print(&finished, typed, args.json, &**sessions, printer)
    })
}

/// Returns an error if a session stopped before its first message, so that there is no task
/// to continue. A message starts a conversation, but not the run of a skill.
fn without_task(id: &str, events: &[StampedEvent], has_text: bool) -> Option<Failure> {
    let mut skill = None;
    let (mut loading, mut waiting) = (false, false);
    for stamped in events {
        match &stamped.event {
            Event::Said { .. } | Event::Noted { .. } => return None,
            Event::Started(started) => skill = started.skill.as_deref(),
            Event::ActivationStarted { .. } => (loading, waiting) = (true, false),
            // No command ran before the question; the skill is loaded after the answer.
            Event::Questioned(_) => (loading, waiting) = (false, true),
            _ => {}
        }
    }
    if waiting {
        return None;
    }
    let Some(skill) = skill.map(sanitize::line) else {
        let text = format!("session `{id}` stopped before its first message");
        let hint = format!("add a message: `prowess session resume {id} MESSAGE`");
        return (!has_text).then(|| Failure::new(text).hint(hint));
    };
    let again = format!(
        "run it again with {}",
        wording::command(["prowess", "run", &*skill])
    );
    Some(if loading {
        let text = format!(
            "session `{id}` stopped while skill `{skill}` was being loaded; its commands may have run"
        );
        let shown = format!("see what was decided with `prowess session show {id}`");
        Failure::new(text).hint(shown).hint(again)
    } else {
        let text = format!("session `{id}` stopped before skill `{skill}` was loaded");
        Failure::new(text).hint(again)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let second = 1_000_000_000;
        assert_eq!(when(0), "1970-01-01 00:00");
        assert_eq!(when(951_782_400 * second), "2000-02-29 00:00");
        assert_eq!(when(1_794_805_260 * second), "2026-11-16 05:01");
        assert_eq!(when(-second), "1969-12-31 23:59");
    }
}
