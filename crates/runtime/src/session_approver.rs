//! Asks for approval in a session: questions are events, and an answer may come later.

use std::sync::Arc;

use prowess_agent::{QuestionAnswer, RecordedAnswer};
use prowess_policy::ApprovalAnswer;
use prowess_tools::{Settings, ToolContext, Unattended};
use prowess_traits::{Answer, ApprovalReply, ApprovalRequest, Approver, Clock};

use crate::decision_log::{Asking, DecisionLog, recorded_answer};
use crate::engine::Engine;

/// The name of the place where the approver of the program asks.
const TERMINAL: &str = "terminal";

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
        });
        context.services.recorder = Some(Arc::clone(log) as _);
    }
}

impl Approver for SessionApprover {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.reply(question).answer
    }

    fn reply(&self, question: &ApprovalRequest<'_>) -> ApprovalReply {
        // A person could not review it, now or later.
        if question.is_too_long() {
            return self.inner.reply(question);
        }
        let asked = (self.agent.as_deref(), self.acting.as_deref());
        let id = match self.log.ask(question, asked.0, asked.1) {
            Asking::Unrecorded => return self.inner.reply(question),
            Asking::Answered(answer) => return reply(answer),
            Asking::Refused => return unavailable(),
            Asking::Open(id) => id,
        };
        let given = self.inner.reply(question);
        if given.answer == ApprovalAnswer::Unavailable {
            if self.unattended == Unattended::Wait {
                self.log.wait_for([id]);
            }
            return given;
        }
        let answer = Answer {
            answer: recorded_answer(given.answer),
            because: given.because,
            who: TERMINAL.into(),
            at: self.clock.now(),
        };
        self.log
            .answered(&id, answer)
            .map_or_else(unavailable, reply)
    }
}

fn reply(answer: QuestionAnswer) -> ApprovalReply {
    ApprovalReply {
        answer: match answer.answer {
            RecordedAnswer::No => ApprovalAnswer::No,
            RecordedAnswer::Unavailable => ApprovalAnswer::Unavailable,
            RecordedAnswer::Once => ApprovalAnswer::Once,
            RecordedAnswer::Session => ApprovalAnswer::Session,
            RecordedAnswer::Tool => ApprovalAnswer::Tool,
            RecordedAnswer::Always => ApprovalAnswer::Always,
        },
        because: answer.because,
    }
}

fn unavailable() -> ApprovalReply {
    ApprovalReply {
        answer: ApprovalAnswer::Unavailable,
        because: None,
    }
}
