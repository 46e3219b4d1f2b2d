//! `prowess answer`

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use prowess::agent::RecordedAnswer;
use prowess::store::SystemClock;
use prowess::traits::{Answer, AnswerOutcome, Clock, SessionError, SessionStore, StoredQuestion};
use prowess_diag::{review, sanitize, wording};
use serde_json::json;

use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::commands::questions;
use crate::commands::run::failure;
use crate::commands::session::{self, SessionResumeArgs, when};
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::permissions;
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};

/// Maximum length of a reason in bytes.
const MAX_REASON: usize = 4_096;
/// Maximum length of an action in a line of output, in characters.
const MAX_SHOWN: usize = 200;

/// Arguments of `answer`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Answer a question that a session waits for\n\nThe answer is stored, and the session continues here, in its project, with your own configuration. The first answer counts. `yes` allows exactly the action that the question shows, once.",
    after_help = "\
Examples:
  prowess answer 7k2m9x4p-1 yes --model echo           allow it, and continue
  prowess answer 7k2m9x4p-1 no --because 'not now' --no-continue"
)]
pub(crate) struct AnswerArgs {
    /// Question id, or a prefix of it
    #[arg(value_name = "ID", add = ArgValueCandidates::new(completions::question_ids))]
    pub id: String,
    /// Answer: `yes` or `no`
    #[arg(value_name = "ANSWER")]
    pub answer: String,
    /// Reason, which the model is told if the answer is `no`
    #[arg(long, value_name = "TEXT")]
    pub because: Option<String>,
    /// Store the answer, but do not continue the session here
    #[arg(long)]
    pub no_continue: bool,
    /// Print as JSON Lines: the answer, then events, with the result in the last line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Stores the answer and continues the session.
pub(crate) fn run(
    args: &AnswerArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let answer = parse(args)?;
    let Some(store) = questions::store(environment) else {
        return Err(
            Failure::new("sessions are not stored, so there are no questions")
                .hint("set `HOME` or `PROWESS_HOME`"),
        );
    };
    let found = store.question(&args.id);
    let StoredQuestion { asked, .. } = found.map_err(|error| failure(&error.into()))?;
    let id = &asked.question.id;
    let place = (!args.no_continue).then(|| place(&asked.project, environment));
    let place = place.transpose()?;
    let answer = Answer {
        answer,
        because: args.because.clone(),
        who: environment.user().into(),
        at: SystemClock.now(),
    };
    let outcome = store.answer(id, &answer);
    match outcome.map_err(|error| failure(&error.into()))? {
        AnswerOutcome::Stored => {}
        AnswerOutcome::AlreadyAnswered(first) => return Err(too_late(id, &first)),
        AnswerOutcome::Gone { why } => {
            let failure = Failure::new(format!("question `{id}` needs no answer any more"));
            return Err(failure.cause(sanitize::line(&why)).exit(Exit::No));
        }
    }
    tell(args, &asked.question.what, id, &answer, printer)?;
    let root = &asked.root;
    let Some(place) = place else {
        printer.status(&format!("Continue with `prowess session resume {root}`"));
        return Ok(Exit::Done);
    };
    match store.take(root) {
        Ok(lease) => store.release(lease),
        Err(SessionError::InUse { holder, .. }) => {
            printer.status(&format!(
                "Session {root} is in use by {holder}; the answer counts there"
            ));
            return Ok(Exit::Done);
        }
        Err(error) => return Err(failure(&error.into())),
    }
    drop(store);
    let here = Environment {
        current: place,
        ..environment.clone()
    };
    let setup = Setup::open(global, &here, printer)?;
    let resume = SessionResumeArgs {
        id: root.to_string(),
        text: Vec::new(),
        json: args.json,
        model: args.model.clone(),
        wait: args.wait.clone(),
    };
    session::resume(&resume, setup, printer)
}

fn parse(args: &AnswerArgs) -> Result<RecordedAnswer, Failure> {
    let because = args.because.as_deref().unwrap_or_default();
    if because.len() > MAX_REASON {
        let text = format!("the reason is too long: at most {MAX_REASON} bytes");
        return Err(Failure::new(text));
    }
    match &*args.answer.to_lowercase() {
        "yes" | "y" => Ok(RecordedAnswer::Once),
        "no" | "n" => Ok(RecordedAnswer::No),
        _ => {
            let answer = sanitize::line(&args.answer);
            let text = format!(
                "invalid answer {}: expected `yes` or `no`",
                wording::tick(answer)
            );
            Err(Failure::new(text).hint("to give a reason, use `no --because TEXT`"))
        }
    }
}

/// Returns the project of the session, in which it continues.
fn place(project: &str, environment: &Environment) -> Result<PathBuf, Failure> {
    let project = PathBuf::from(project);
    if project == permissions::workspace(environment) {
        return Ok(environment.current.clone());
    }
    if !project.is_dir() {
        let shown = project.display().to_string();
        let text = format!(
            "cannot continue the session: its project {} does not exist",
            wording::tick(sanitize::line(&shown))
        );
        return Err(Failure::new(text).hint("store the answer only, with `--no-continue`"));
    }
    Ok(project)
}

fn too_late(id: &str, first: &Answer) -> Failure {
    let mut text = format!(
        "question `{id}` was answered already: {}, by {}, {} UTC",
        word(first.answer),
        sanitize::line(&first.who),
        when(first.at)
    );
    if let Some(because) = &first.because {
        text.push_str(&format!(", because {}", sanitize::line(because)));
    }
    Failure::new(text).exit(Exit::No)
}

fn word(answer: RecordedAnswer) -> &'static str {
    if answer.allows() { "yes" } else { "no" }
}

fn tell(
    args: &AnswerArgs,
    what: &str,
    id: &str,
    answer: &Answer,
    printer: &Printer,
) -> Result<(), Failure> {
    if args.json {
        let line = json!({
            "schema": "prowess.answer/1",
            "type": "answer",
            "question": id,
            "answer": word(answer.answer),
            "because": answer.because,
            "who": answer.who,
            "at": answer.at,
        });
        return printer.verbatim(format!("{line}\n").as_bytes());
    }
    let said = if answer.answer.allows() {
        "Allowed"
    } else {
        "Denied"
    };
    if what.trim_end().contains('\n') {
        printer.status(said);
        let what = wording::shorten(what, MAX_SHOWN);
        for row in review::text(&what).split('\n') {
            printer.status(&format!("{}{row}", review::GUTTER));
        }
        return Ok(());
    }
    let what = wording::shorten(&sanitize::line(what), MAX_SHOWN);
    printer.status(&format!("{said} {}", wording::tick(what)));
    Ok(())
}
