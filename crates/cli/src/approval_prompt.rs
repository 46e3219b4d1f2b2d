//! Prompts on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use prowess::policy::{ApprovalAnswer, Decision};
use prowess::traits::{ApprovalRequest, Approver, TextReply, TextRequest};
use prowess_diag::{review, sanitize, wording};

/// Maximum length of the reason in a question, in characters: the action is shown in full.
const MAX_REASON: usize = 300;

/// Prompts the user. Returns `None` unless standard input and standard error are terminals.
pub(crate) fn ask(question: &str, choices: &str) -> Option<String> {
    let (input, mut output) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        return None;
    }
    // Discard input that was typed before the prompt was shown.
    prowess_tui::discard_input();
    write!(output, "{question} [{choices}] ").ok()?;
    output.flush().ok()?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer).ok()?;
    Some(answer.trim().to_lowercase())
}

/// Formats the reason for a decision.
pub(crate) fn explain(decision: &Decision) -> String {
    sanitize::line(&decision.explain()).into_owned()
}

/// Prompts on the terminal; denies if there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal;

impl Approver for Terminal {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        if question.is_too_long() {
            return ApprovalAnswer::Unavailable;
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
        match ask(&text, "y = once, s = this session, N").as_deref() {
            Some("y" | "yes") => ApprovalAnswer::Once,
            Some("s") => ApprovalAnswer::Session,
            Some(_) => ApprovalAnswer::No,
            None => ApprovalAnswer::Unavailable,
        }
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        let (input, mut output) = (std::io::stdin(), std::io::stderr());
        if !input.is_terminal() || !output.is_terminal() {
            return TextReply::Unavailable;
        }
        let mut put = |text: &str| {
            // There is no other stream to report a failure to.
            let _ = output.write_all(text.as_bytes());
            let _ = output.flush();
        };
        prowess_tui::text_prompt::ask_text(question, &mut input.lock(), &mut put)
    }
}
