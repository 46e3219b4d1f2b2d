//! `prowess run`

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::output::{Exit, Failure, Printer};
use anstyle::AnsiColor;
use clap_complete::ArgValueCandidates;
use prowess::LookupRefusal;
use prowess::agent::{RunLimit, StampedEvent};
use prowess::store::SystemClock;
use prowess::tools::ActivationError;
use prowess::traits::{Clock, SessionStore};
use prowess::{
    Audience, CancellationToken, Ending, EndingKind, FailureKind, FinishedRun, Runtime,
    RuntimeError, Update, Watcher, open,
};
use prowess_diag::{sanitize, theme, wording};
use prowess_policy::Decision;
use prowess_render::Arguments;
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::{completions, questions};
use crate::env::Environment;
use crate::runtime_setup::{self, ModelArgs, Setup, WaitArgs, arguments};
use crate::visible_skills::{self, warn_unusable};
use crate::{packages, permissions};
use prowess_tui::run_output::{AnswerDisplay, Live};

/// Maximum size of a schema.
const MAX_SCHEMA: u64 = 1024 * 1024;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Run a skill, or a task with skills, and print the result\n\nThe model follows the instructions of the skill, using its tools within a budget. Progress goes to standard error, the result to standard output. With a schema, the result is a JSON value that matches it.",
    after_help = "\
Examples:
  prowess run csv-report --model echo sales.csv        pass arguments
  prowess run --task 'Sum up sales.csv' --model echo   find a matching skill
  prowess run csv-report --model echo --budget tokens=50000,time=5m"
)]
pub(crate) struct RunArgs {
    /// Name of the skill
    #[arg(index = 1, value_name = "NAME", required_unless_present = "task", add = ArgValueCandidates::new(completions::skill_names))]
    pub name: Option<String>,
    /// Arguments of the skill, as one string
    #[arg(index = 2, value_name = "TEXT", conflicts_with_all = ["arg", "args_json"])]
    pub text: Vec<String>,
    /// Task for which the model finds skills, or `-` to read it from standard input
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["name", "text", "arg", "args_json"], help_heading = "Input")]
    pub task: Option<String>,
    /// Agent or team that gets the task
    #[arg(long, value_name = "NAME", requires = "task", help_heading = "Input", add = ArgValueCandidates::new(completions::agent_names))]
    pub agent: Option<String>,
    /// Named argument of the skill (can be repeated)
    #[arg(
        long,
        value_name = "NAME=VALUE",
        conflicts_with = "args_json",
        help_heading = "Input"
    )]
    pub arg: Vec<String>,
    /// Arguments of the skill as JSON: an object, an array or a string
    #[arg(long, value_name = "JSON", help_heading = "Input")]
    pub args_json: Option<String>,
    /// File with the JSON Schema of the result
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "output_schema",
        help_heading = "Output"
    )]
    pub schema: Option<PathBuf>,
    /// JSON Schema of the result
    #[arg(long, value_name = "JSON", help_heading = "Output")]
    pub output_schema: Option<String>,
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

/// Runs a skill or a task.
pub(crate) fn run(
    args: &RunArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut setup = Setup::open(global, environment, printer)?;
    setup.wait(&args.wait);
    warn_unusable(&setup.services.registry, environment, printer);
    let approver = Arc::clone(&setup.services.approver);
    if let Some(name) = &args.name {
        setup.note_shadowed(name, printer);
    }
    if let Some(agent) = &args.agent {
        setup.check_agent(agent)?;
    }
    let schema = schema(args)?;
    let budget = args.model.limits()?;
    let text = (!args.text.is_empty()).then(|| args.text.join(" "));
    let given = arguments(text.as_deref(), args.args_json.as_deref(), &args.arg)?;
    let task = args.task.as_deref().map(task).transpose()?;
    let _servers = setup.connect(args.agent.as_deref(), printer)?;
    let _watching = setup.watch();
    // A skill that cannot be used is reported by the run, which reads it with its own tools.
    if let Some(name) = &args.name
        && let Ok(skill) = open(&setup.context(), name, Audience::Person)
    {
        runtime_setup::check_pairs(&skill, &args.arg)?;
        runtime_setup::note_missing(&skill, &Arguments::from_json(given.clone()), printer);
    }
    async_runtime::on(|cancel| async move {
        let chosen = setup.model(&args.model).await?;
        if !args.json {
            printer.status(&about(
                &chosen.model.about().name,
                &chosen.why,
                chosen.model.about().note.as_deref(),
            ));
        }
        let watcher: Arc<dyn Watcher> = if args.json {
            Arc::new(Lines)
        } else if printer.is_quiet() {
            Arc::new(Silent)
        } else {
            Arc::new(live(printer, schema.is_some()))
        };
        let runtime = setup.runtime(
            &args.model,
            chosen.model,
            approver,
            vec![watcher],
            |settings| settings.is_model_chosen = args.model.model.is_some(),
        )?;
        let done = match (task, &args.name) {
            (Some(task), _) if args.agent.is_some() => {
                runtime
                    .agent(args.agent.as_deref().unwrap_or_default())
                    .task(task)
                    .budget(budget)
                    .cancelled_by(&cancel)
                    .finish(schema.clone())
                    .await
            }
            (Some(task), _) => {
                runtime
                    .task(task)
                    .budget(budget)
                    .cancelled_by(&cancel)
                    .finish(schema.clone())
                    .await
            }
            (None, Some(name)) => {
                run_skill(&runtime, name, given, budget, &cancel, schema.clone()).await
            }
            (None, None) => {
                return Err(Failure::new(
                    "pass the name of a skill, or a task with `--task`",
                ));
            }
        };
        let finished = done.map_err(|error| failure(&error))?;
        let sessions = runtime.engine().sessions();
        print(&finished, schema.is_some(), args.json, &**sessions, printer)
    })
}

async fn run_skill(
    runtime: &Runtime,
    name: &str,
    given: Value,
    budget: prowess::agent::RunBudget,
    cancel: &CancellationToken,
    schema: Option<Value>,
) -> Result<FinishedRun, RuntimeError> {
    let run = runtime.run_skill(name).budget(budget).cancelled_by(cancel);
    let run = if given.is_null() {
        run
    } else {
        run.args(given)
    };
    run.finish(schema).await
}

/// Returns the progress display. A typed result does not consist of the streamed text.
pub(crate) fn live(printer: &Printer, typed: bool) -> Live {
    let colours = printer.has_colours() && std::io::stderr().is_terminal();
    let answer = if typed {
        AnswerDisplay::Here
    } else {
        answer_place(printer)
    };
    Live::new(Box::new(printer.live()), colours, answer)
}

/// Streams the answer to standard error only if both streams are terminals. Otherwise it goes to
/// standard output, and streaming would show it twice.
fn answer_place(printer: &Printer) -> AnswerDisplay {
    let is_seen = printer.width().is_some() && std::io::stderr().is_terminal();
    if is_seen && !printer.is_quiet() {
        AnswerDisplay::Here
    } else {
        AnswerDisplay::Elsewhere
    }
}

/// Formats the selected model in one line.
pub(crate) fn about(name: &str, why: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("Model: {name} ({note})"),
        None => format!("Model: {name} ({why})"),
    }
}

fn task(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_SCHEMA)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new("cannot read the task from standard input").cause(error))?;
    Ok(text)
}

fn schema(args: &RunArgs) -> Result<Option<Value>, Failure> {
    let text = match (&args.schema, &args.output_schema) {
        (Some(file), _) => {
            let shown = file.display();
            let open = std::fs::File::open(file);
            let mut text = String::new();
            open.and_then(|file| file.take(MAX_SCHEMA).read_to_string(&mut text))
                .map_err(|error| {
                    Failure::new(format!("cannot read the schema `{shown}`")).cause(error)
                })?;
            text
        }
        (None, Some(text)) => text.clone(),
        (None, None) => return Ok(None),
    };
    let value = serde_json::from_str(&text).map_err(|error| {
        Failure::new("the schema is not valid JSON").cause(error).hint(
            "e.g. `{\"type\": \"object\", \"properties\": {\"total\": {\"type\": \"number\"}}}`",
        )
    })?;
    Ok(Some(value))
}

/// Prints the result.
pub(crate) fn print(
    finished: &FinishedRun,
    typed: bool,
    json: bool,
    sessions: &dyn SessionStore,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if json {
        printer.verbatim(format!("{}\n", document(finished)).as_bytes())?;
        return Ok(exit(finished));
    }
    match &finished.ending {
        Ending::Answered => {}
        Ending::Submitted {
            value: Value::String(text),
        } if !typed => {
            let text = format!("{}\n", text.trim_end());
            if answer_place(printer) == AnswerDisplay::Elsewhere {
                printer.foreign(&text)?;
            }
        }
        Ending::Submitted { value } => {
            let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
            printer.verbatim(format!("{text}\n").as_bytes())?;
        }
        Ending::Declined { why } => {
            let failure = Failure::new("the model gave no result").cause(sanitize::line(why));
            let hint = format!(
                "run `prowess session show {}` to see what it did",
                finished.session
            );
            printer.error(&failure.hint(hint));
        }
        Ending::Exhausted { limit } => {
            let failure = Failure::new(format!("stopped: {limit} was reached"));
            let option = match limit {
                RunLimit::Tokens => " --budget tokens=200000",
                RunLimit::Money => " --budget usd=5",
                RunLimit::Time => " --budget time=10m",
                RunLimit::Turns | RunLimit::Loop | RunLimit::Submissions => " --max-turns 50",
            };
            let hint = format!(
                "continue with a higher limit: `prowess session resume {}{option}`",
                finished.session
            );
            printer.error(&failure.hint(hint));
        }
        Ending::Cancelled => {
            printer.status(&format!(
                "Cancelled; continue with `prowess session resume {}`",
                finished.session
            ));
        }
        Ending::Waiting { questions } => {
            for id in questions {
                // Without the question, it is one about an action.
                let asked = sessions.question(id).ok().map(|stored| stored.asked);
                let text = asked.filter(|asked| asked.text().is_some());
                let hint = text.map(|asked| questions::next_step(&asked, SystemClock.now()));
                let hint = hint.unwrap_or_else(|| {
                    format!("answer it with `prowess answer {id} yes` or `prowess answer {id} no`")
                });
                printer.note(&format!("waiting for an answer to question {id}"), &hint);
            }
        }
        Ending::Failed { kind, message } => {
            let failure = Failure::new(sanitize::line(message).into_owned());
            printer.error(&match kind {
                FailureKind::Auth => {
                    failure.hint("check the API key; `prowess doctor` shows which one is used")
                }
                _ => failure.hint(format!(
                    "retry with `prowess session resume {}`",
                    finished.session
                )),
            });
        }
    }
    printer.status(&spent(finished, typed));
    Ok(exit(finished))
}

fn exit(finished: &FinishedRun) -> Exit {
    match &finished.ending {
        Ending::Answered | Ending::Submitted { .. } => Exit::Done,
        Ending::Declined { .. } => Exit::No,
        Ending::Exhausted { .. } => Exit::Limit,
        Ending::Cancelled => Exit::Interrupted,
        Ending::Waiting { .. } => Exit::Waiting,
        Ending::Failed {
            kind: FailureKind::Auth,
            ..
        } => Exit::NoKey,
        Ending::Failed { .. } => Exit::Failed,
    }
}

/// Formats turns, tokens and cost in one line.
fn spent(finished: &FinishedRun, typed: bool) -> String {
    let word = match &finished.ending {
        Ending::Submitted { .. } if !typed => "answered",
        other => other.as_str(),
    };
    let spent = &finished.spent;
    let usage = &spent.usage;
    let mut text = format!(
        "{} in {}, {} tokens",
        word,
        wording::count(spent.turns as usize, "turn"),
        wording::thousands(usize::try_from(usage.tokens()).unwrap_or(usize::MAX)),
    );
    if let Some(micros) = usage.micros {
        text.push_str(&format!(", {}", dollars(micros)));
    }
    format!("{text} (session {})", finished.session)
}

/// Formats an amount in dollars.
pub(crate) fn dollars(micros: u64) -> String {
    format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
}

fn document(finished: &FinishedRun) -> Value {
    let (result, why) = match &finished.ending {
        Ending::Answered => (json!(finished.text), Value::Null),
        Ending::Submitted { value } => (value.clone(), Value::Null),
        Ending::Declined { why } => (Value::Null, json!(why)),
        Ending::Exhausted { limit } => (Value::Null, json!(limit)),
        Ending::Cancelled => (Value::Null, Value::Null),
        Ending::Waiting { questions } => (Value::Null, json!({ "questions": questions })),
        Ending::Failed { kind, message } => {
            (Value::Null, json!({ "kind": kind, "message": message }))
        }
    };
    json!({
        "schema": "prowess.run/1",
        "type": "result",
        "session": finished.session,
        "outcome": finished.ending.as_str(),
        "result": result,
        "why": why,
        "spent": finished.spent,
    })
}

/// Prints events as JSON Lines.
#[derive(Debug)]
pub(crate) struct Lines;

impl Watcher for Lines {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        let line = match update {
            Update::Event(event) => event_line(session, depth, event),
            Update::Delta(prowess::agent::Delta::Text(text)) => {
                json!({ "schema": "prowess.run/1", "type": "text", "session": session, "depth": depth, "text": text })
            }
            Update::Message(text) => {
                json!({ "schema": "prowess.run/1", "type": "message", "session": session, "depth": depth, "text": text })
            }
            Update::Waiting(question) => {
                let text = format!(
                    "question {}: {}: {}",
                    question.id, question.what, question.reason
                );
                json!({ "schema": "prowess.run/1", "type": "message", "session": session, "depth": depth, "text": text })
            }
            _ => return,
        };
        crate::output::json_line(&line);
    }
}

/// Converts an event to JSON.
pub(crate) fn event_line(session: &str, depth: u8, event: &StampedEvent) -> Value {
    json!({ "schema": "prowess.run/1", "type": "event", "session": session, "depth": depth, "event": event })
}

/// Ignores all updates.
#[derive(Debug)]
pub(crate) struct Silent;

impl Watcher for Silent {
    fn update(&self, _session: &str, _depth: u8, _update: Update<'_>) {}
}

/// Converts a runtime error into an error with hints.
pub(crate) fn failure(error: &RuntimeError) -> Failure {
    let failure = Failure::new(sanitize::line(&error.to_string()).into_owned());
    match error {
        RuntimeError::NoCommand { near, .. } if !near.is_empty() => {
            let near = near
                .iter()
                .map(|name| format!("`/{}`", sanitize::line(name)));
            failure.hint(format!("did you mean {}?", wording::either(near)))
        }
        RuntimeError::Store(prowess::traits::SessionError::NotFound { near, .. })
            if !near.is_empty() =>
        {
            failure.hint(format!(
                "did you mean {}?",
                wording::either(near.iter().map(wording::tick))
            ))
        }
        RuntimeError::Store(prowess::traits::SessionError::NoQuestion { near, .. }) => {
            match &**near {
                [] => failure.hint("list the open questions with `prowess questions --all`"),
                near => failure.hint(format!(
                    "did you mean {}?",
                    wording::either(near.iter().map(wording::tick))
                )),
            }
        }
        RuntimeError::Store(prowess::traits::SessionError::NotFound { .. }) => {
            failure.hint("list the sessions with `prowess session list`")
        }
        RuntimeError::Store(prowess::traits::SessionError::InUse { .. }) => {
            failure.hint("wait until the other process ends, or stop it")
        }
        RuntimeError::Skill(ActivationError::NotFound(LookupRefusal::NotFound(fault)))
        | RuntimeError::NoSkill(LookupRefusal::NotFound(fault))
            if !fault.near.is_empty() =>
        {
            let near = fault
                .near
                .iter()
                .map(|name| wording::tick(sanitize::line(name)));
            failure.hint(format!("did you mean {}?", wording::either(near)))
        }
        RuntimeError::Skill(ActivationError::Package { fault }) => packages::refusal(fault),
        RuntimeError::Skill(ActivationError::NotFound(refusal))
        | RuntimeError::NoSkill(refusal)
            if matches!(refusal, LookupRefusal::OtherVersion { .. }) =>
        {
            visible_skills::refused(refusal)
        }
        RuntimeError::Skill(_) => failure.hint("list skills with `prowess list`"),
        RuntimeError::Denied { skill, decision } => {
            let skill = sanitize::line(skill);
            denied(format!("skill `{skill}` was not used"), decision)
        }
        RuntimeError::AgentDenied { agent, decision } => {
            let agent = wording::tick(sanitize::line(agent));
            denied(format!("agent {agent} was not started"), decision)
        }
        RuntimeError::UnknownAgent { near, .. } => match near {
            Some(near) => failure.hint(format!("did you mean {}?", wording::tick(near))),
            None => failure.hint("list all agents with `prowess agent list`"),
        },
        RuntimeError::UntrustedAgent { agent, path } => untrusted_agent(agent, path),
        RuntimeError::PartOfMission { session, run } => {
            let failure = if session == run {
                Failure::new(format!("session `{session}` is a run of a mission"))
            } else {
                failure
            };
            failure.hint(format!("continue it with `prowess mission resume {run}`"))
        }
        RuntimeError::NoAgent { name, .. } => {
            let name = sanitize::line(name);
            failure.hint(format!("define it in the configuration: `[agents.{name}]`"))
        }
        _ => failure,
    }
}

/// Returns the error for a skill or an agent that a rule denies.
fn denied(what: String, decision: &Decision) -> Failure {
    let failure = Failure::new(what)
        .cause(permissions::explain(decision))
        .exit(Exit::Denied);
    match &decision.remedy {
        Some(remedy) => failure.hint(sanitize::line(&remedy.to_string()).into_owned()),
        None => failure.hint("see the rules with `prowess policy show`"),
    }
}

/// Returns the error for an agent whose file is not trusted.
pub(crate) fn untrusted_agent(agent: &str, path: &Path) -> Failure {
    let path = path.to_string_lossy();
    let agent = wording::tick(sanitize::line(agent));
    Failure::new(format!("agent {agent} is not trusted, so it does not run"))
        .cause("agents of a project run only if you trust their file")
        .hint(format!(
            "review and trust it with {}",
            wording::command(["prowess", "trust", &path])
        ))
        .exit(Exit::Denied)
}

/// Returns the colour of a session state.
pub(crate) fn colour(ending: Option<EndingKind>, live: bool) -> AnsiColor {
    match ending {
        _ if live => theme::ACCENT,
        Some(EndingKind::Answered | EndingKind::Submitted) => theme::GOOD,
        Some(EndingKind::Failed) => theme::BAD,
        _ => theme::WARNING,
    }
}
