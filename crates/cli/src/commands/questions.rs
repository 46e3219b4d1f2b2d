//! `prowess questions`

use prowess::store::{SqliteSessions, SystemClock};
use prowess::traits::{Clock, OpenQuestion, QuestionQuery, SessionStore};
use prowess_diag::review::{self, ScreenSize};
use prowess_diag::{sanitize, wording};
use prowess_tui::text_prompt;
use serde_json::{Value, json};

use crate::commands::run::failure;
use crate::commands::session::when;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::permissions;

/// Maximum number of questions in a list.
const MAX_LISTED: usize = 1_000;

/// Arguments of `questions`.
#[derive(Debug, clap::Args)]
#[command(
    about = "List the questions that sessions wait for\n\nA session without a terminal that needs approval, or an answer from a person, stores its question and ends with exit code 6. `prowess answer` answers it, from any process and at any time; the session continues then.",
    after_help = "\
Examples:
  prowess questions                     list questions of this project
  prowess questions --all --json        list all, as JSON"
)]
pub(crate) struct QuestionsArgs {
    /// Include all projects
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Lists the open questions.
pub(crate) fn run(
    args: &QuestionsArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let project = permissions::workspace(environment);
    let project = project.to_string_lossy().into_owned();
    let asked = open(environment, (!args.all).then_some(&project))?;
    if args.json {
        let questions: Vec<Value> = asked.iter().map(describe).collect();
        printer.json(&json!({ "schema": "prowess.questions/1", "questions": questions }))?;
        return Ok(Exit::Done);
    }
    if asked.is_empty() {
        let more = if args.all {
            ""
        } else {
            " in this project; use `--all` for all projects"
        };
        printer.status(&format!("No open questions{more}"));
        return Ok(Exit::Done);
    }
    let screen = match printer.width() {
        Some(columns) => ScreenSize {
            columns,
            ..prowess_tui::screen_size()
        },
        // Not a terminal: nothing is wrapped or repeated.
        None => ScreenSize {
            columns: usize::MAX,
            lines: usize::MAX,
        },
    };
    let now = SystemClock.now();
    let texts = asked.iter().map(|asked| text(asked, args.all, screen, now));
    let texts: Vec<String> = texts.collect();
    printer.answer(&texts.join("\n"))?;
    Ok(Exit::Done)
}

/// Returns the open questions of a project, or of all projects.
pub(crate) fn open(
    environment: &Environment,
    project: Option<&String>,
) -> Result<Vec<OpenQuestion>, Failure> {
    let Some(store) = store(environment) else {
        return Ok(Vec::new());
    };
    let query = QuestionQuery {
        project: project.map(|project| project.as_str().into()),
        limit: MAX_LISTED,
    };
    let asked = store.questions(&query);
    asked.map_err(|error| failure(&error.into()))
}

/// Returns the store of sessions, unless they are not kept.
pub(crate) fn store(environment: &Environment) -> Option<SqliteSessions> {
    environment.store_file().map(SqliteSessions::new)
}

/// Describes a question. The action is shown like in a prompt: it may be of another's choice.
fn text(asked: &OpenQuestion, with_project: bool, screen: ScreenSize, now: i64) -> String {
    let OpenQuestion {
        question,
        root,
        project,
        at,
        ..
    } = asked;
    let mut head = format!("{}  {}", sanitize::line(&question.id), when(*at));
    for (what, name) in [("agent", &question.agent), ("skill", &question.skill)] {
        if let Some(name) = name {
            head.push_str(&format!(", {what} {}", wording::tick(sanitize::line(name))));
        }
    }
    head.push_str(&format!(", session {root}"));
    if with_project {
        head.push_str(&format!(", in {}", sanitize::line(project)));
    }
    let mut text = format!("{head}\n");
    text.push_str(&review::action(&question.what, screen));
    if let Some(details) = asked.text() {
        if let Some(context) = &details.context {
            text.push_str(&review::action(context, screen));
        }
        text.push_str(&text_prompt::choices(details));
    } else {
        text.push_str(&format!("  {}\n", review::line(&question.reason)));
    }
    text.push_str(&format!("  {}\n", next_step(asked, now)));
    text
}

/// Returns the command that answers a question, or that continues its session if it is too late.
pub(crate) fn next_step(asked: &OpenQuestion, now: i64) -> String {
    let id = sanitize::line(&asked.question.id);
    let Some(details) = asked.text() else {
        return format!("answer it with `prowess answer {id} yes` or `prowess answer {id} no`");
    };
    if asked.is_expired(now) {
        let root = &asked.root;
        let seconds = details.deadline_seconds.unwrap_or_default();
        return format!(
            "no answer came within {seconds} s; continue with `prowess session resume {root}`"
        );
    }
    let (answer, what) = match (details.choices.is_empty(), details.several) {
        (true, _) => ("TEXT", "a text"),
        (false, false) => ("1", "the number or the text of a choice"),
        (false, true) => ("1,2", "numbers or texts of choices"),
    };
    let until = asked
        .expires_at()
        .map(|at| format!(", until {} UTC", when(at)));
    let until = until.unwrap_or_default();
    format!("answer it with `prowess answer {id} {answer}` ({what}){until}")
}

/// Returns a question as JSON.
pub(crate) fn describe(asked: &OpenQuestion) -> Value {
    let question = &asked.question;
    let details = asked.text();
    json!({
        "id": question.id,
        "kind": if details.is_some() { "text" } else { "approval" },
        "what": question.what,
        "summary": details.and_then(|details| details.summary.as_deref()),
        "context": details.and_then(|details| details.context.as_deref()),
        "choices": details.map_or(&[][..], |details| &details.choices),
        "several": details.is_some_and(|details| details.several),
        "deadline_seconds": details.and_then(|details| details.deadline_seconds),
        "expires_at": asked.expires_at(),
        "reason": question.reason,
        "skill": question.skill,
        "agent": question.agent,
        "digest": question.digest,
        "session": asked.session,
        "root": asked.root,
        "project": asked.project,
        "at": asked.at,
    })
}
