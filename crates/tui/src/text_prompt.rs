//! Asks for a text or a choice in lines of a terminal.

use std::io::{BufRead, Read};
use std::time::{Duration, Instant};

use prowess::agent::{AnswerFault, TextQuestion};
use prowess::traits::{TextReply, TextRequest};
use prowess_diag::review::{self, ScreenSize};
use prowess_diag::wording;

/// The number of answers that do not fit, after which the question stays open.
const MAX_TRIES: usize = 5;
/// The time after which the prompt looks again whether another process answered.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// What a prompt shows when another process answered.
pub const ANSWERED: &str = "\nanswered by another process\n";
/// The maximum length of an answer in a message, in characters.
const MAX_SHOWN: usize = 100;

/// Asks at the terminal of standard input. `input` reads from it, and `put` prints. At the end of the
/// input, after several answers that do not fit, and when `is_answered` returns `true`, the question stays
/// open.
pub fn ask_text(
    question: &TextRequest<'_>,
    input: &mut dyn BufRead,
    put: &mut dyn FnMut(&str),
    is_answered: &dyn Fn() -> bool,
) -> TextReply {
    // Input typed before the question is not an answer.
    crate::discard_input();
    put(&layout(question, crate::screen_size()));
    let began = Instant::now();
    for _ in 0..MAX_TRIES {
        put(&format!("{} ", instruction(question.details)));
        let left = question
            .remaining
            .map(|remaining| remaining.saturating_sub(began.elapsed()));
        match wait_for_line(left, is_answered) {
            LineWait::Typed => {}
            LineWait::Expired => {
                put("\n");
                return TextReply::Expired;
            }
            LineWait::AnsweredElsewhere => {
                put(ANSWERED);
                return TextReply::Unavailable;
            }
        }
        let room = TextQuestion::MAX_ANSWER as u64 + 2;
        let mut line = Vec::new();
        let read = Read::take(&mut *input, room).read_until(b'\n', &mut line);
        if read.is_err() || line.is_empty() {
            put("\n");
            return TextReply::Unavailable;
        }
        if !line.ends_with(b"\n") && line.len() as u64 == room {
            // The rest of the line is not another answer.
            crate::discard_input();
        }
        match question.details.read(&[String::from_utf8_lossy(&line)]) {
            Ok(texts) => return TextReply::Given(texts),
            Err(fault) => put(&format!("{}\n", explain(&fault))),
        }
    }
    TextReply::Unavailable
}

/// Why the wait for a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineWait {
    /// A line was typed, or the input has ended.
    Typed,
    /// The time is over.
    Expired,
    /// Another process answered the question.
    AnsweredElsewhere,
}

/// Waits until a line was typed at the terminal of standard input, and looks from time to time whether
/// the question is answered.
pub fn wait_for_line(left: Option<Duration>, is_answered: &dyn Fn() -> bool) -> LineWait {
    let began = Instant::now();
    loop {
        let rest = left.map(|left| left.saturating_sub(began.elapsed()));
        if has_input(rest.map_or(LOOK_AGAIN, |rest| rest.min(LOOK_AGAIN))) {
            return LineWait::Typed;
        }
        if is_answered() {
            return LineWait::AnsweredElsewhere;
        }
        if rest.is_some_and(|rest| rest <= LOOK_AGAIN) {
            return LineWait::Expired;
        }
    }
}

/// Waits until a line was typed. Returns `false` after the time.
fn has_input(left: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let input = std::io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    let until = Instant::now() + left.min(Duration::from_hours(24 * 365));
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut watched, timeout.as_ref()) {
            Ok(0) => return false,
            // A signal came; wait for the rest of the time.
            Err(rustix::io::Errno::INTR) => {}
            // Reading reports an error.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Lays out a question for a terminal: the agent, the question, its context and the choices.
pub fn layout(question: &TextRequest<'_>, screen: ScreenSize) -> String {
    let TextRequest { what, details, .. } = question;
    let mut text = format!("{} asks:\n", asker(question));
    text.push_str(&review::action(what, screen));
    if let Some(context) = &details.context {
        text.push_str("Context:\n");
        text.push_str(&review::action(context, screen));
    }
    text.push_str(&choices(details));
    text
}

/// Returns the choices with their numbers, one per line.
pub fn choices(details: &TextQuestion) -> String {
    let choices = details.choices.iter().enumerate();
    choices
        .map(|(at, choice)| format!("  {}  {}\n", at + 1, review::line(choice)))
        .collect()
}

/// Returns the name of the agent or skill that asks.
pub(crate) fn asker(question: &TextRequest<'_>) -> String {
    match (question.agent, question.skill) {
        (Some(agent), _) => format!("Agent {}", wording::tick(review::line(agent))),
        (None, Some(skill)) => format!("Skill {}", wording::tick(review::line(skill))),
        (None, None) => "The model".to_owned(),
    }
}

/// Says what to type.
pub(crate) fn instruction(details: &TextQuestion) -> &'static str {
    match (details.choices.is_empty(), details.several) {
        (true, _) => "Your answer:",
        (false, false) => "Your choice (a number or its text):",
        (false, true) => "Your choices (numbers or texts, with commas between them):",
    }
}

/// Says why an answer does not fit.
pub fn explain(fault: &AnswerFault) -> String {
    let fault = match fault {
        AnswerFault::NoChoice { given } => AnswerFault::NoChoice {
            given: wording::shorten(given, MAX_SHOWN),
        },
        fault => fault.clone(),
    };
    review::line(&fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(details: &TextQuestion, typed: &str) -> (TextReply, String) {
        let question = TextRequest {
            what: "Which\u{1b}[2J?",
            details,
            agent: Some("a\u{202e}"),
            skill: None,
            remaining: None,
        };
        let (mut input, mut shown) = (typed.as_bytes(), String::new());
        let mut put = |text: &str| shown.push_str(text);
        let reply = ask_text(&question, &mut input, &mut put, &|| false);
        (reply, shown)
    }

    #[test]
    fn choices_are_asked_again_until_one_fits() {
        let details = TextQuestion {
            context: Some("It is\u{7} for the page.".into()),
            choices: vec!["red".into(), "blue\u{1b}".into()],
            ..TextQuestion::default()
        };
        let (reply, shown) = ask(&details, "\ngreen\n1,2\n2\n");
        assert_eq!(reply, TextReply::Given(vec!["blue\u{1b}".into()]));
        let expected = "Agent `a\\u{202e}` asks:\n  │ Which\\u{1b}[2J?\nContext:\n  │ It is\\u{7} for the page.\n  1  red\n  2  blue\\u{1b}\n";
        assert!(shown.starts_with(expected), "{shown}");
        for part in ["is empty", "`green` is not one of", "one choice, not 2"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
    }

    #[test]
    fn question_stays_open_at_the_end_of_the_input() {
        let free = TextQuestion::default();
        assert_eq!(ask(&free, "").0, TextReply::Unavailable);
        assert_eq!(ask(&free, &"\n".repeat(9)).0, TextReply::Unavailable);
        let given = TextReply::Given(vec!["as you like".into()]);
        assert_eq!(ask(&free, " as you like \r\nnext\n").0, given);
        let long = "x".repeat(TextQuestion::MAX_ANSWER + 9);
        let (_, shown) = ask(&free, &long);
        assert!(shown.contains("too long"), "{shown}");
    }
}
