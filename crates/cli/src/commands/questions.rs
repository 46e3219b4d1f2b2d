//! `prowess questions`

use prowess::store::SqliteSessions;
use prowess::traits::{OpenQuestion, QuestionQuery, SessionStore};
use prowess_diag::{review, sanitize, wording};
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
    about = "List the questions that sessions wait for\n\nA session without a terminal that needs approval stores its question and ends with exit code 6. `prowess answer` answers it, from any process and at any time; the session continues then.",
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
    let texts: Vec<String> = asked.iter().map(|asked| text(asked, args.all)).collect();
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

fn text(asked: &OpenQuestion, with_project: bool) -> String {
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
    for row in review::text(&question.what).split('\n') {
        text.push_str(&format!("{}{row}\n", review::GUTTER));
    }
    text.push_str(&format!("  {}\n", review::line(&question.reason)));
    text
}

/// Returns a question as JSON.
pub(crate) fn describe(asked: &OpenQuestion) -> Value {
    let question = &asked.question;
    json!({
        "id": question.id,
        "kind": question.kind,
        "what": question.what,
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
