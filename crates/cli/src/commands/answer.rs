//! `prowess answer`

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use prowess::agent::{RecordedAnswer, TextQuestion};
use prowess::mission::mission_run_above;
use prowess::store::SystemClock;
use prowess::traits::{
    Answer, AnswerOutcome, Clock, OpenQuestion, SessionError, SessionStore, StoredQuestion,
};
use prowess_diag::{review, sanitize, wording};
use prowess_tui::text_prompt;
use serde_json::json;

use crate::args::GlobalArgs;
use crate::commands::questions;
use crate::commands::run::failure;
use crate::commands::session::{self, SessionResumeArgs, when};
use crate::commands::{completions, mission_run};
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};

/// Maximum length of a reason in bytes.
const MAX_REASON: usize = 4_096;
/// Maximum length of an action or answer in a line of output, in characters.
const MAX_SHOWN: usize = 200;
/// Maximum length of a choice in a hint, in characters.
const MAX_CHOICE: usize = 40;

/// Arguments of `answer`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Answer a question that a session waits for\n\nThe answer is stored, and the session continues here, in its project, with your own configuration. The first answer counts. `yes` allows exactly the action that the question shows, once. A question that needs a text takes the text, and one with choices takes the number or the text of a choice; `prowess questions` shows them.",
    after_help = "\
Examples:
  prowess answer 7k2m9x4p-1 yes --model echo           allow it, and continue
  prowess answer 7k2m9x4p-1 no --because 'not now' --no-continue
  prowess answer 4c8w3t6h-1 'The blue one' --model echo"
)]
pub(crate) struct AnswerArgs {
    /// Question id, or a prefix of it
    #[arg(value_name = "ID", add = ArgValueCandidates::new(completions::question_ids))]
    pub id: String,
    /// Answer: `yes` or `no`, a text, or choices (can be repeated, or have commas between them)
    #[arg(value_name = "ANSWER", required_unless_present = "decline")]
    pub answer: Vec<String>,
    /// Do not answer a question that needs a text; the model is told
    #[arg(long, conflicts_with = "answer")]
    pub decline: bool,
    /// Reason, which the model is told if the answer is `no` or `--decline`
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
    let Some(store) = questions::store(environment) else {
        return Err(
            Failure::new("sessions are not stored, so there are no questions")
                .hint("set `HOME` or `PROWESS_HOME`"),
        );
    };
    let found = store.question(&args.id);
    let StoredQuestion { asked, .. } = found.map_err(|error| failure(&error.into()))?;
    let id = &asked.question.id;
    let answer = parse(args, &asked)?;
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
            let failure = failure.cause(sanitize::line(&why)).exit(Exit::No);
            let is_late = asked.is_expired(answer.at);
            let hint = format!("continue with {}", resume_command(&store, &asked.root));
            return Err(if is_late { failure.hint(hint) } else { failure });
        }
    }
    tell(args, &asked.question.what, id, &answer, printer)?;
    let root = &asked.root;
    let Some(place) = place else {
        let command = resume_command(&store, root);
        printer.status(&format!("Continue with {command}"));
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
    let (_, events) = session::events(root, &setup)?;
    if let Some(state) = mission_run::recorded_state(&events)? {
        let args = (&args.model, &args.wait, args.json);
        return mission_run::resume_after_answer(root, state, args, global, &here, setup, printer);
    }
    let resume = SessionResumeArgs {
        id: root.to_string(),
        text: Vec::new(),
        json: args.json,
        model: args.model.clone(),
        wait: args.wait.clone(),
    };
    session::resume(&resume, setup, printer)
}

/// Returns the command that continues a session, or the run of a mission.
fn resume_command(store: &dyn SessionStore, root: &str) -> String {
    let run = mission_run_above(store, root).ok().flatten();
    let kind = if run.is_some() { "mission" } else { "session" };
    format!("`prowess {kind} resume {root}`")
}

/// Reads the answer. An answer that does not fit the question is refused before anything is stored.
fn parse(args: &AnswerArgs, asked: &OpenQuestion) -> Result<RecordedAnswer, Failure> {
    let because = args.because.as_deref().unwrap_or_default();
    if because.len() > MAX_REASON {
        let text = format!("the reason is too long: at most {MAX_REASON} bytes");
        return Err(Failure::new(text));
    }
    if args.decline {
        return Ok(RecordedAnswer::No);
    }
    if let Some(details) = asked.text() {
        return details
            .read(&args.answer)
            .map(RecordedAnswer::Text)
            .map_err(|fault| {
                let text = format!("invalid answer: {}", text_prompt::explain(&fault));
                Failure::new(text).hint(how_to_answer(asked, details))
            });
    }
    let given = args.answer.join(" ");
    match &*given.to_lowercase() {
        "yes" | "y" => Ok(RecordedAnswer::Once),
        "no" | "n" => Ok(RecordedAnswer::No),
        _ => {
            let answer = wording::shorten(&sanitize::line(&given), MAX_SHOWN);
            let text = format!(
                "invalid answer {}: expected `yes` or `no`",
                wording::tick(answer)
            );
            Err(Failure::new(text).hint("to give a reason, use `no --because TEXT`"))
        }
    }
}

/// Says what to type, with the choices.
fn how_to_answer(asked: &OpenQuestion, details: &TextQuestion) -> String {
    let choices = details.choices.iter().enumerate();
    let choices = choices.map(|(at, choice)| {
        let choice = wording::shorten(&review::line(choice), MAX_CHOICE);
        format!("{} ({choice})", at + 1)
    });
    let choices = wording::either(choices);
    let next = questions::next_step(asked, i64::MIN);
    if choices.is_empty() {
        return next;
    }
    format!("{next}: {choices}")
}

/// Returns the folder of the session's project, in which it continues.
fn place(project: &str, environment: &Environment) -> Result<PathBuf, Failure> {
    let here = session::in_project(project, environment)
        .map_err(|failure| failure.hint("store the answer only, with `--no-continue`"))?;
    Ok(here.current)
}

fn too_late(id: &str, first: &Answer) -> Failure {
    if first.answer == RecordedAnswer::Unavailable {
        let failure = Failure::new(format!("question `{id}` needs no answer any more"));
        return failure.cause("its deadline passed").exit(Exit::No);
    }
    let mut text = format!(
        "question `{id}` was answered already: {}, by {}, {} UTC",
        shown(&first.answer),
        sanitize::line(&first.who),
        when(first.at)
    );
    if let Some(because) = &first.because {
        text.push_str(&format!(", because {}", sanitize::line(because)));
    }
    Failure::new(text).exit(Exit::No)
}

/// Returns an answer in one line.
fn shown(answer: &RecordedAnswer) -> String {
    match answer {
        RecordedAnswer::Text(texts) => {
            wording::shorten(&sanitize::line(&texts.join(", ")), MAX_SHOWN)
        }
        answer if answer.allows() => "yes".to_owned(),
        _ => "no".to_owned(),
    }
}

fn tell(
    args: &AnswerArgs,
    what: &str,
    id: &str,
    answer: &Answer,
    printer: &Printer,
) -> Result<(), Failure> {
    let texts = match &answer.answer {
        RecordedAnswer::Text(texts) => Some(texts),
        _ => None,
    };
    if args.json {
        let word = match texts {
            Some(_) => "text",
            None if answer.answer.allows() => "yes",
            None => "no",
        };
        let line = json!({
            "schema": "prowess.answer/1",
            "type": "answer",
            "question": id,
            "answer": word,
            "texts": texts,
            "because": answer.because,
            "who": answer.who,
            "at": answer.at,
        });
        return printer.verbatim(format!("{line}\n").as_bytes());
    }
    if texts.is_some() {
        printer.status(&format!(
            "Answered question {id}: {}",
            shown(&answer.answer)
        ));
        return Ok(());
    }
    let said = if answer.answer.allows() {
        "Allowed"
    } else if args.decline {
        "Declined"
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
