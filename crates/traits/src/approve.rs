//! Approval by a person.

use std::fmt::Debug;
use std::time::Duration;

use prowess_agent::TextQuestion;
use prowess_policy::{ApprovalAnswer, Decision, GateAction};

/// Asks a person for approval.
pub trait Approver: Send + Sync + Debug {
    /// Asks and waits for the answer. Returns
    /// [`ApprovalAnswer::Unavailable`] if no user is present, or if the request is too long to be
    /// reviewed.
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer;

    /// Asks like [`Self::ask`], and returns the reason as well, if the person gave one.
    fn reply(&self, question: &ApprovalRequest<'_>) -> ApprovalReply {
        ApprovalReply {
            answer: self.ask(question),
            because: None,
            who: Some(self.name().into()),
        }
    }

    /// Asks like [`Self::reply`], for a question that may be answered elsewhere while it is open. An
    /// approver that waits should call `is_answered` from time to time and return as soon as it is
    /// `true`; its reply does not count then.
    fn reply_until(
        &self,
        question: &ApprovalRequest<'_>,
        _is_answered: &dyn Fn() -> bool,
    ) -> ApprovalReply {
        self.reply(question)
    }

    /// Asks like [`Self::ask_text`], for a question that may be answered elsewhere while it is open: see
    /// [`Self::reply_until`].
    fn ask_text_until(
        &self,
        question: &TextRequest<'_>,
        _is_answered: &dyn Fn() -> bool,
    ) -> TextReply {
        self.ask_text(question)
    }

    /// Returns the place or program that answers come from, for the record: `terminal` if a person
    /// types them there.
    fn name(&self) -> &'static str {
        "program"
    }

    /// Asks for a text or a choice and waits for the answer. Returns [`TextReply::Unavailable`] if no
    /// user is present, or if the approver cannot ask for texts.
    fn ask_text(&self, _question: &TextRequest<'_>) -> TextReply {
        TextReply::Unavailable
    }
}

/// A request for a text or a choice.
#[derive(Clone, Copy, Debug)]
pub struct TextRequest<'a> {
    /// The question.
    pub what: &'a str,
    /// The choices and what else belongs to the question.
    pub details: &'a TextQuestion,
    /// The agent that asks.
    pub agent: Option<&'a str>,
    /// The skill that asks.
    pub skill: Option<&'a str>,
    /// The time that is left for an answer. `None` for no limit.
    pub remaining: Option<Duration>,
}

/// An answer to a [`TextRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextReply {
    /// The text, or the texts of the choices, as [`TextQuestion::read`] returns them.
    Given(Vec<String>),
    /// The person does not answer.
    Refused {
        /// The reason that the person gave.
        because: Option<String>,
    },
    /// The deadline passed.
    Expired,
    /// No person is available.
    Unavailable,
}

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalReply {
    /// The answer.
    pub answer: ApprovalAnswer,
    /// The reason that the person gave.
    pub because: Option<String>,
    /// The place or person that the answer came from, for the record.
    pub who: Option<Box<str>>,
}

/// A request for approval.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    /// The command, file or tool to approve.
    pub what: &'a str,
    /// The decision that requires approval.
    pub decision: &'a Decision,
    /// The skill that requests it.
    pub skill: Option<&'a str>,
    /// The action as rules see it, if a rule can cover it.
    pub action: Option<&'a GateAction<'a>>,
    /// What the person should know about the action besides the reason. An answer counts although
    /// this differs later.
    pub note: Option<&'a str>,
}

impl ApprovalRequest<'_> {
    /// Maximum length of an action that a person can review, in bytes.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// Returns `true` if the action is too long to be reviewed. An approver denies it.
    pub fn is_too_long(&self) -> bool {
        self.what.len() > Self::MAX_BYTES
    }

    /// Returns the reason for the question, with the note.
    pub fn explain(&self) -> String {
        let reason = self.decision.explain();
        match self.note {
            Some(note) => format!("{reason}; {note}"),
            None => reason,
        }
    }

    /// Returns the decision after an answer that does not allow the action.
    pub fn refused(&self, reply: &ApprovalReply) -> Decision {
        let answer = reply.answer;
        if let (ApprovalAnswer::No, Some(because)) = (answer, &reply.because) {
            let reason = format!("{}: {because}", self.decision.refused(answer).reason);
            return Decision::new(self.decision.verdict, reason);
        }
        if answer == ApprovalAnswer::No || !self.is_too_long() {
            return self.decision.refused(answer);
        }
        let (reason, bytes, most) = (&self.decision.reason, self.what.len(), Self::MAX_BYTES);
        let reason = format!(
            "{reason}, and the request is too long to be reviewed: {bytes} bytes, at most {most}"
        );
        Decision {
            reason: reason.into(),
            ..self.decision.clone()
        }
    }
}

/// Records decisions, so that they can be explained later.
pub trait DecisionRecorder: Send + Sync + Debug {
    /// Records one decision. Called before the action is carried out, which it must not be if this
    /// fails.
    fn decided(&self, noted: &RecordedDecision<'_>) -> Result<(), RecordError>;

    /// Records that the current call starts to have effects, if no decision did so. Called before
    /// the first effect, which must not happen if this fails. No question is asked after it.
    fn starting(&self) -> Result<(), RecordError> {
        Ok(())
    }
}

/// A decision that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the decision cannot be recorded: {reason}")]
pub struct RecordError {
    /// The reason.
    pub reason: String,
}

/// A decision and the answer to it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedDecision<'a> {
    /// The requested action.
    pub what: &'a str,
    /// The decision.
    pub decision: &'a Decision,
    /// The answer, if a person was asked.
    pub answer: Option<ApprovalAnswer>,
    /// The skill that requested it.
    pub skill: Option<&'a str>,
}

/// An approver for programs that run without a user. Every prompt is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    fn ask(&self, _question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        ApprovalAnswer::Unavailable
    }
}
