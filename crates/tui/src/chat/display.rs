//! Events of a session, reduced to what is displayed.

use prowess::Update;
use prowess::agent::{
    Delta, Ending, Event, Message, MessagePart, MessageRole, RecordedAnswer, TokenUsage,
};
use prowess_diag::sanitize;
use prowess_diag::wording::{all, shorten};

use crate::run_output::summary;

/// The maximum number of characters in a reason.
const MAX_REASON: usize = 400;
/// The maximum size of a displayed text in bytes.
pub(crate) const MAX_SHOWN: usize = 128 * 1024;

/// A displayed event. All texts are safe for a terminal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DisplayEvent {
    /// A message of the user, in the past of a session.
    Said(String),
    /// A request to the model starts.
    Asked,
    /// A piece of a reply.
    Text(String),
    /// The model reasons.
    Thinking,
    /// The model starts a tool call.
    Calling(String),
    /// Discard the streamed reply.
    Restart,
    /// The complete reply.
    Replied {
        text: String,
        calls: Vec<(Box<str>, String)>,
        usage: TokenUsage,
    },
    /// A tool call starts.
    CallStarted { call: Box<str> },
    /// A tool call ended.
    CallEnded {
        call: Box<str>,
        fault: Option<String>,
        milliseconds: u64,
        usage: Option<TokenUsage>,
    },
    /// A line of information.
    Line {
        tone: Tone,
        what: &'static str,
        text: String,
    },
}

/// The tone of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Plain,
    Warning,
    Bad,
}

/// Converts an update of a watcher.
pub(crate) fn display_event(update: Update<'_>) -> Option<DisplayEvent> {
    match update {
        Update::Event(stamped) => of_event(&stamped.event),
        Update::Delta(Delta::Text(text)) => {
            Some(DisplayEvent::Text(sanitize::block(text).into_owned()))
        }
        Update::Delta(Delta::Reasoning(_)) => Some(DisplayEvent::Thinking),
        Update::Delta(Delta::Call { name }) => {
            Some(DisplayEvent::Calling(sanitize::line(name).into_owned()))
        }
        Update::Delta(Delta::Restart) => Some(DisplayEvent::Restart),
        Update::Message(text) => Some(line(Tone::Warning, "note", text)),
        Update::Waiting(question) => {
            let what = shorten(&question.what, MAX_REASON);
            let text = format!("{}: {}: {what}", question.id, question.reason);
            Some(line(Tone::Warning, "question", &text))
        }
        _ => None,
    }
}

/// Converts a stored event.
pub(crate) fn of_event(event: &Event) -> Option<DisplayEvent> {
    match event {
        Event::Asked { .. } => Some(DisplayEvent::Asked),
        Event::Replied { reply, .. } => {
            let message = Message {
                role: MessageRole::Assistant,
                parts: reply.parts.clone(),
            };
            let calls = reply.calls();
            let calls =
                calls.map(|call| (call.id.clone(), sanitize::line(&summary(call)).into_owned()));
            Some(DisplayEvent::Replied {
                text: block(&message.text()),
                calls: calls.collect(),
                usage: reply.usage,
            })
        }
        Event::CallStarted { call, .. } => Some(DisplayEvent::CallStarted { call: call.clone() }),
        Event::CallEnded {
            result,
            milliseconds,
            usage,
            ..
        } => {
            let first = || result.text.lines().find(|line| !line.trim().is_empty());
            let fault = result
                .is_error
                .then(|| shorten(&sanitize::line(first().unwrap_or("failed")), MAX_REASON))
                .or_else(|| result.command_failure.as_deref().map(str::to_owned));
            Some(DisplayEvent::CallEnded {
                call: result.call.clone(),
                fault,
                milliseconds: *milliseconds,
                usage: *usage,
            })
        }
        Event::Said { loaded, .. } if !loaded.is_empty() => {
            let names = all(loaded.iter().map(|skill| &skill.name));
            Some(line(Tone::Good, "loaded", &names))
        }
        Event::Decided(decided) => {
            let answer = decided.answer.as_ref()?;
            // The call itself shows that it was denied.
            let denied = matches!(answer, RecordedAnswer::No | RecordedAnswer::Unavailable);
            if denied && decided.call.is_some() {
                return None;
            }
            let what = shorten(&decided.what, MAX_REASON);
            Some(match answer {
                RecordedAnswer::No => line(Tone::Bad, "denied", &format!("{what} (by you)")),
                RecordedAnswer::Unavailable => {
                    let text = format!("{what} (no user was available)");
                    line(Tone::Bad, "denied", &text)
                }
                _ => line(
                    Tone::Good,
                    "allowed",
                    &format!("{what} ({})", answered(answer)),
                ),
            })
        }
        Event::Answered {
            answer: RecordedAnswer::Text(texts),
            who,
            ..
        } => Some(line(Tone::Good, "answered", &given(texts, who))),
        Event::Compacted { .. } => Some(line(
            Tone::Warning,
            "compacted",
            "the start of the conversation was summarized",
        )),
        Event::Ended { ending } => ended(ending),
        _ => None,
    }
}

/// Returns the message of the user as typed.
pub(crate) fn user_message(event: &Event) -> Option<DisplayEvent> {
    let Event::Said { parts, typed, .. } = event else {
        return None;
    };
    let text = typed.clone().unwrap_or_else(|| {
        let texts = parts.iter().filter_map(|part| match part {
            MessagePart::Text { text, keep: None } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    });
    (!text.trim().is_empty()).then(|| DisplayEvent::Said(block(&text)))
}

fn ended(ending: &Ending) -> Option<DisplayEvent> {
    Some(match ending {
        Ending::Exhausted { limit } => line(Tone::Bad, "stopped", &limit.to_string()),
        Ending::Failed { message, .. } => line(Tone::Bad, "failed", message),
        Ending::Cancelled => line(Tone::Warning, "cancelled", "the turn was stopped"),
        Ending::Declined { why } => line(Tone::Warning, "declined", why),
        Ending::Waiting { questions } => {
            let text = format!("for an answer to {}", questions.join(", "));
            line(Tone::Warning, "waiting", &text)
        }
        Ending::Answered | Ending::Submitted { .. } => return None,
    })
}

/// Describes an answer that is a text.
pub(crate) fn given(texts: &[String], who: &str) -> String {
    let who = if who == "terminal" { "you" } else { who };
    format!("{} (by {who})", texts.join(", "))
}

/// Describes an answer.
pub(crate) fn answered(answer: &RecordedAnswer) -> &'static str {
    match answer {
        RecordedAnswer::No | RecordedAnswer::Unavailable => "no",
        RecordedAnswer::Once => "once",
        RecordedAnswer::Session => "for this session",
        RecordedAnswer::Tool => "for this tool in this session",
        RecordedAnswer::Always => "always",
        RecordedAnswer::Text(_) => "with a text",
    }
}

fn line(tone: Tone, what: &'static str, text: &str) -> DisplayEvent {
    DisplayEvent::Line {
        tone,
        what,
        text: shorten(&sanitize::line(text), MAX_REASON * 2),
    }
}

/// Makes a text safe and truncates it with a note.
pub(crate) fn block(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN);
    let mut clean = sanitize::block(&text[..end]).into_owned();
    if end < text.len() {
        clean.push_str("\n… (truncated)");
    }
    clean
}

#[cfg(test)]
mod tests {
    use prowess::agent::{
        DecisionRecord, FailureKind, RecordedVerdict, Reply, StampedEvent, ToolCall, ToolResult,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        let evil = "x\x1b[2J\u{202e}\u{200b}\u{7}y";
        let call = ToolCall::new("1", evil, json!({ "command": evil }));
        let events = [
            Event::Replied {
                reply: Reply {
                    parts: vec![MessagePart::text(evil), MessagePart::Call(call.clone())],
                    ..Reply::default()
                },
                milliseconds: 0,
            },
            Event::answer(ToolResult::error(&call, evil)),
            Event::Ended {
                ending: Ending::Failed {
                    kind: FailureKind::Auth,
                    message: evil.into(),
                },
            },
            Event::Ended {
                ending: Ending::Declined { why: evil.into() },
            },
            Event::Said {
                parts: vec![MessagePart::text(evil)],
                typed: None,
                loaded: Vec::new(),
                usage: None,
            },
            Event::Decided(DecisionRecord {
                call: None,
                what: evil.into(),
                verdict: RecordedVerdict::Ask,
                reason: evil.into(),
                rule: None,
                answer: Some(RecordedAnswer::Once),
                by: None,
                who: None,
            }),
        ];
        let mut seen = 0;
        for event in events {
            let stamped = StampedEvent { at: 0, event };
            let shown = [
                display_event(Update::Event(&stamped)),
                user_message(&stamped.event),
            ];
            for one in shown.into_iter().flatten() {
                let texts: Vec<String> = match one {
                    DisplayEvent::Said(text)
                    | DisplayEvent::Text(text)
                    | DisplayEvent::Line { text, .. } => vec![text],
                    DisplayEvent::Replied { text, calls, .. } => calls
                        .into_iter()
                        .map(|(_, line)| line)
                        .chain([text])
                        .collect(),
                    DisplayEvent::CallEnded { fault, .. } => fault.into_iter().collect(),
                    _ => Vec::new(),
                };
                for text in texts {
                    seen += 1;
                    assert_eq!(sanitize::block(&text), text);
                }
            }
        }
        assert_eq!(seen, 7);
        for delta in [Delta::Text(evil.into()), Delta::Call { name: evil.into() }] {
            let (DisplayEvent::Text(text) | DisplayEvent::Calling(text)) =
                display_event(Update::Delta(&delta)).unwrap()
            else {
                panic!()
            };
            assert!(!text.contains('\x1b') && !text.contains('\u{202e}'));
        }
    }

    #[test]
    fn long_text_is_truncated_with_a_note() {
        let text = block(&"é".repeat(MAX_SHOWN));
        assert!(text.len() < MAX_SHOWN + 100 && text.ends_with("(truncated)"));
    }
}
