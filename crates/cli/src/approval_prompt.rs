//! Prompts on the terminal.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::time::Instant;

use prowess::policy::{ApprovalAnswer, Decision};
use prowess::traits::{ApprovalReply, ApprovalRequest, Approver, TextReply, TextRequest};
use prowess_diag::{review, sanitize, wording};
use prowess_tui::text_prompt::{self, ANSWERED, LineWait, wait_for_line};

use crate::output::Aside;

/// Maximum length of a typed answer, in bytes.
const MAX_ANSWER: u64 = 1_000;
/// Maximum length of the reason in a question, in characters: the action is shown in full.
const MAX_REASON: usize = 300;

/// Prompts the user. Returns `None` unless standard input and standard error are terminals.
pub(crate) fn ask(question: &str, choices: &str) -> Option<String> {
    ask_beside(&Aside::default(), question, choices, &|| false)
}

/// Prompts the user while the other writers of standard error wait, until `is_answered` returns `true`.
fn ask_beside(
    aside: &Aside,
    question: &str,
    choices: &str,
    is_answered: &dyn Fn() -> bool,
) -> Option<String> {
    let (input, mut output) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        return None;
    }
    // Agents ask side by side. The lock is held from before the question is shown until it is
    // answered, so that a line answers the question that was shown last.
    let mut input = input.lock();
    aside.during_prompt(|| {
        // Discard input that was typed before the prompt was shown.
        prowess_tui::discard_input();
        write!(output, "{question} [{choices}] ").ok()?;
        output.flush().ok()?;
        if wait_for_line(None, is_answered) == LineWait::AnsweredElsewhere {
            write!(output, "{ANSWERED}").ok()?;
            return None;
        }
        let mut answer = Vec::new();
        let mut limited = Read::take(&mut input, MAX_ANSWER);
        limited.read_until(b'\n', &mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        Some(answer.trim().to_lowercase())
    })
}

/// Formats the reason for a decision.
pub(crate) fn explain(decision: &Decision) -> String {
    sanitize::line(&decision.explain()).into_owned()
}

/// Prompts on the terminal, one question at a time; denies if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminal {
    /// Standard error, on which nothing else is written during a prompt.
    aside: Aside,
}

impl Terminal {
    /// Creates an approver that prompts between the lines of other writers.
    pub(crate) fn beside(aside: Aside) -> Self {
        Self { aside }
    }
}

impl Approver for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.reply_until(question, &|| false).answer
    }

    fn reply_until(
        &self,
        question: &ApprovalRequest<'_>,
        is_answered: &dyn Fn() -> bool,
    ) -> ApprovalReply {
        let reply = |answer| ApprovalReply {
            answer,
            because: None,
            who: None,
        };
        if question.is_too_long() {
            return reply(ApprovalAnswer::Unavailable);
        }
        let who = question
            .skill
            .map(|skill| format!("Skill `{}` asks for permission:\n", sanitize::line(skill)));
        let text = format!(
            "{}{}{}. Allow it?",
            who.unwrap_or_default(),
            review::action(question.what, prowess_tui::screen_size()),
            wording::shorten(&review::line(&question.explain()), MAX_REASON)
        );
        let choices = "y = once, s = this session, N";
        let given = ask_beside(&self.aside, &text, choices, is_answered);
        reply(match given.as_deref() {
            Some("y" | "yes") => ApprovalAnswer::Once,
            Some("s") => ApprovalAnswer::Session,
            Some(_) => ApprovalAnswer::No,
            None => ApprovalAnswer::Unavailable,
        })
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        self.ask_text_until(question, &|| false)
    }

    fn ask_text_until(
        &self,
        question: &TextRequest<'_>,
        is_answered: &dyn Fn() -> bool,
    ) -> TextReply {
        let (input, mut output) = (std::io::stdin(), std::io::stderr());
        if !input.is_terminal() || !output.is_terminal() {
            return TextReply::Unavailable;
        }
        let mut put = |text: &str| {
            // There is no other stream to report a failure to.
            let _ = output.write_all(text.as_bytes());
            let _ = output.flush();
        };
        let began = Instant::now();
        let mut input = input.lock();
        // The time also runs while another question is shown.
        let passed = began.elapsed();
        let remaining = question.remaining.map(|left| left.saturating_sub(passed));
        let question = TextRequest {
            remaining,
            ..*question
        };
        if remaining.is_some_and(|left| left.is_zero()) {
            return TextReply::Expired;
        }
        self.aside
            .during_prompt(|| text_prompt::ask_text(&question, &mut input, &mut put, is_answered))
    }
}
