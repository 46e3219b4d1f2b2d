//! Asks for approval in a session: questions are events, and an answer may come later.

use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{QuestionAnswer, RecordedAnswer};
use prowess_policy::ApprovalAnswer;
use prowess_tools::{Settings, ToolContext, Unattended};
use prowess_traits::{
    Answer, ApprovalReply, ApprovalRequest, Approver, Clock, TextReply, TextRequest,
};

use crate::decision_log::{Asking, DecisionLog, recorded_answer};
use crate::engine::Engine;

/// Stands for the person in an answer that says that none came in time.
const DEADLINE: &str = "deadline";

/// The approver of one session. It records each question before the approver of the program asks it,
/// and uses answers that were given before or elsewhere.
#[derive(Debug)]
pub(crate) struct SessionApprover {
    log: Arc<DecisionLog>,
    /// The approver of the program.
    inner: Arc<dyn Approver>,
    clock: Arc<dyn Clock>,
    unattended: Unattended,
    agent: Option<Box<str>>,
    /// The digest of the skill that the session runs as.
    acting: Option<Box<str>>,
    /// The folder of the project in which the session works.
    project: Box<str>,
}

impl SessionApprover {
    /// Makes a session with this context record its decisions and questions in a log.
    pub(crate) fn install(engine: &Engine, context: &mut ToolContext, log: &Arc<DecisionLog>) {
        let settings = &context.settings;
        let is_named = settings.agent != Settings::default().agent;
        context.services.approver = Arc::new(Self {
            log: Arc::clone(log),
            // Not that of the context, which belongs to the parent in a sub-run.
            inner: Arc::clone(&engine.services().approver),
            clock: Arc::clone(&context.services.clock),
            unattended: settings.unattended,
            agent: is_named.then(|| settings.agent.clone()),
            acting: context.acting.as_ref().map(|skill| skill.digest().into()),
            project: settings.paths.workspace.to_string_lossy().into(),
        });
        context.services.recorder = Some(Arc::clone(log) as _);
    }
}

impl Approver for SessionApprover {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.reply(question).answer
    }

    fn reply(&self, question: &ApprovalRequest<'_>) -> ApprovalReply {
        // A person could not review it, now or later.
        if question.is_too_long() {
            return self.inner.reply(question);
        }
        let asked = (self.agent.as_deref(), self.acting.as_deref());
        let id = match self.log.ask(question, asked.0, asked.1, &self.project) {
            Asking::Unrecorded => return self.inner.reply(question),
            Asking::Answered(answer) => return reply(answer),
            Asking::Refused | Asking::Expired { .. } => return unavailable(),
            Asking::Open { id, .. } => id,
        };
        let is_answered = || self.log.is_answered(&id);
        let given = self.inner.reply_until(question, &is_answered);
        // The answer of another process counts below, whatever this one is.
        if given.answer == ApprovalAnswer::Unavailable && !is_answered() {
            if self.unattended == Unattended::Wait {
                self.log.wait_for([id]);
            }
            return given;
        }
        let answer = Answer {
            answer: recorded_answer(given.answer),
            because: given.because,
            who: given.who.unwrap_or_else(|| self.inner.name().into()),
            at: self.clock.now(),
        };
        self.log
            .answered(&id, answer)
            .map_or_else(unavailable, reply)
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        let now = self.clock.now();
        let (id, expires_at) = match self.log.ask_text(question, now, &self.project) {
            Asking::Unrecorded => return self.inner.ask_text(question),
            Asking::Answered(answer) => return text_reply(answer),
            Asking::Expired { id, at } => return self.expire(&id, at),
            Asking::Refused => return TextReply::Unavailable,
            Asking::Open { id, expires_at } => (id, expires_at),
        };
        let remaining = expires_at.map(|at| {
            let left = u64::try_from(at.saturating_sub(now)).unwrap_or(0);
            Duration::from_nanos(left)
        });
        let is_answered = || self.log.is_answered(&id);
        let question = TextRequest {
            remaining,
            ..*question
        };
        let given = self.inner.ask_text_until(&question, &is_answered);
        let at = self.clock.now();
        let is_late = given == TextReply::Expired || expires_at.is_some_and(|until| at > until);
        let (answer, because) = match given {
            // The answer of another process counts, whatever is recorded here.
            TextReply::Unavailable if is_answered() => (RecordedAnswer::No, None),
            TextReply::Unavailable => {
                if self.unattended == Unattended::Wait {
                    self.log.wait_for([id]);
                }
                return TextReply::Unavailable;
            }
            _ if is_late => return self.expire(&id, expires_at.unwrap_or(at)),
            TextReply::Given(texts) => (RecordedAnswer::Text(texts), None),
            TextReply::Refused { because } => (RecordedAnswer::No, because),
            TextReply::Expired => return TextReply::Expired,
        };
        self.record(&id, answer, because, self.inner.name(), at)
    }
}

impl SessionApprover {
    /// Records that no answer came until the deadline, unless one did. An answer at that moment
    /// either counts, or its sender is told.
    fn expire(&self, id: &str, at: i64) -> TextReply {
        self.record(id, RecordedAnswer::Unavailable, None, DEADLINE, at)
    }

    /// Records an answer, unless another one was first. Returns the one that counts.
    fn record(
        &self,
        id: &str,
        answer: RecordedAnswer,
        because: Option<String>,
        who: &str,
        at: i64,
    ) -> TextReply {
        let answer = Answer {
            answer,
            because,
            who: who.into(),
            at,
        };
        let counts = self.log.answered(id, answer);
        counts.map_or(TextReply::Unavailable, text_reply)
    }
}

fn text_reply(answer: QuestionAnswer) -> TextReply {
    match answer.answer {
        RecordedAnswer::Text(texts) => TextReply::Given(texts),
        RecordedAnswer::Unavailable => TextReply::Expired,
        RecordedAnswer::No
        | RecordedAnswer::Once
        | RecordedAnswer::Session
        | RecordedAnswer::Tool
        | RecordedAnswer::Always => TextReply::Refused {
            because: answer.because,
        },
    }
}

fn reply(answer: QuestionAnswer) -> ApprovalReply {
    ApprovalReply {
        answer: match answer.answer {
            // A text allows nothing.
            RecordedAnswer::No | RecordedAnswer::Text(_) => ApprovalAnswer::No,
            RecordedAnswer::Unavailable => ApprovalAnswer::Unavailable,
            RecordedAnswer::Once => ApprovalAnswer::Once,
            RecordedAnswer::Session => ApprovalAnswer::Session,
            RecordedAnswer::Tool => ApprovalAnswer::Tool,
            RecordedAnswer::Always => ApprovalAnswer::Always,
        },
        because: answer.because,
        who: Some(answer.who),
    }
}

fn unavailable() -> ApprovalReply {
    ApprovalReply {
        answer: ApprovalAnswer::Unavailable,
        because: None,
        who: None,
    }
}
