//! The inbox of questions, as it follows from the events of sessions.

use prowess_agent::{EndingKind, Event, Question, StampedEvent};
use prowess_diag::suggest::nearest;
use prowess_traits::{Answer, AnswerOutcome, QuestionState, SessionError, StoredQuestion};

use crate::ids;

/// The maximum number of sessions from a sub-run up to the session above all.
pub(crate) const MAX_PARENTS: usize = 64;

/// The effect of an event on the inbox.
#[derive(Debug)]
pub(crate) enum InboxChange<'e> {
    /// Adds a question. It replaces open questions of the session about the same call.
    Ask(&'e Question),
    /// Answers a question of the session, unless it has an answer.
    Answer(&'e str, Answer),
    /// Drops open questions of the session about a call; `None` for those about an activation.
    DropCall(Option<&'e str>, &'static str),
    /// Drops all open questions of the session.
    DropAll(String),
}

/// Returns the effect of an event on the inbox.
pub(crate) fn change(event: &StampedEvent) -> Option<InboxChange<'_>> {
    match &event.event {
        Event::Questioned(question) => Some(InboxChange::Ask(question)),
        Event::Answered {
            question,
            answer,
            because,
            who,
        } => {
            let answer = Answer {
                answer: answer.clone(),
                because: because.clone(),
                who: who.clone(),
                at: event.at,
            };
            Some(InboxChange::Answer(question, answer))
        }
        Event::CallEnded { result, .. } => {
            Some(InboxChange::DropCall(Some(&result.call), "its call ended"))
        }
        Event::Said { .. } => Some(InboxChange::DropCall(None, "its skill was loaded")),
        Event::Ended { ending } if ending.kind() != EndingKind::Waiting => Some(
            InboxChange::DropAll(format!("its session ended: {}", ending.as_str())),
        ),
        Event::Started(_)
        | Event::Hinted(_)
        | Event::ActivationStarted { .. }
        | Event::Noted { .. }
        | Event::Asked { .. }
        | Event::Replied { .. }
        | Event::CallStarted { .. }
        | Event::Decided(_)
        | Event::Listed(_)
        | Event::Pruned { .. }
        | Event::Compacted { .. }
        | Event::HookFired { .. }
        | Event::Resumed { .. }
        | Event::Mission { .. }
        | Event::Ended { .. } => None,
    }
}

/// Returns the reason why a question is gone if another one replaces it.
pub(crate) fn replaced(by: &str) -> String {
    format!("question {by} replaced it, because the call changed")
}

/// Returns the state of a question with this answer and this reason to be gone. An answer is
/// reported even after the call has ended.
pub(crate) fn state(answer: Option<Answer>, gone: Option<Box<str>>) -> QuestionState {
    match (answer, gone) {
        (Some(answer), _) => QuestionState::Answered(answer),
        (None, Some(why)) => QuestionState::Gone { why },
        (None, None) => QuestionState::Open,
    }
}

/// Returns the effect of an answer that is given at this time.
pub(crate) fn outcome(stored: StoredQuestion, now: i64) -> AnswerOutcome {
    match stored.state {
        QuestionState::Open if stored.asked.is_expired(now) => AnswerOutcome::Gone {
            why: "its deadline passed".into(),
        },
        QuestionState::Open => AnswerOutcome::Stored,
        QuestionState::Answered(answer) => AnswerOutcome::AlreadyAnswered(answer),
        QuestionState::Gone { why } => AnswerOutcome::Gone { why },
    }
}

/// Resolves a prefix. `open` and `starting` are the ids that start with it, of open and of all
/// questions, in order; `latest` are other ids, for suggestions.
pub(crate) fn choose(
    asked: &str,
    open: &[Box<str>],
    starting: Vec<Box<str>>,
    latest: &[Box<str>],
) -> Result<Box<str>, SessionError> {
    match (starting.as_slice(), open) {
        ([first, ..], _) if **first == *ids::normal(asked) => Ok(first.clone()),
        ([only], _) | (_, [only]) => Ok(only.clone()),
        _ => Err(missing(asked, starting, latest)),
    }
}

/// Returns the error for an unknown question, with suggestions.
pub(crate) fn missing(
    asked: &str,
    mut starting: Vec<Box<str>>,
    latest: &[Box<str>],
) -> SessionError {
    if starting.is_empty() {
        let near = nearest(&ids::normal(asked), latest.iter().map(|id| &**id));
        starting.extend(near.map(Box::from));
    }
    SessionError::NoQuestion {
        asked: asked.into(),
        near: starting,
    }
}
