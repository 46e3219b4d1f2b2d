//! What happens in a session, cut down to what a person is shown.

use prowess::Update;
use prowess::agent::{Delta, Ending, Event, Message, Part, RecordedAnswer, Role, Usage};
use prowess_diag::sanitize;
use prowess_diag::wording::{all, shorten};

use crate::live::summary;

/// Most characters of a reason.
const MAX_REASON: usize = 400;
/// Most bytes of a text that is shown.
pub(crate) const MAX_SHOWN: usize = 128 * 1024;

/// Something that happened. Every text in it is safe for a terminal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// A person said it; only in what was before.
    Said(String),
    /// The model is asked.
    Asked,
    /// A piece of an answer.
    Text(String),
    /// The model thinks.
    Thinking,
    /// The model begins to call a tool.
    Calling(String),
    /// What was shown of the answer does not count.
    Restart,
    /// The whole answer.
    Replied {
        text: String,
        calls: Vec<(Box<str>, String)>,
        usage: Usage,
    },
    /// A tool runs.
    CallStarted { call: Box<str> },
    /// A tool answered.
    CallEnded {
        call: Box<str>,
        fault: Option<String>,
        milliseconds: u64,
        usage: Option<Usage>,
    },
    /// A line about something.
    Line {
        tone: Tone,
        what: &'static str,
        text: String,
    },
}

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Plain,
    Warning,
    Bad,
}

/// Cuts down what a watcher sees.
pub(crate) fn news(update: Update<'_>) -> Option<News> {
    match update {
        Update::Event(stamped) => of_event(&stamped.event),
        Update::Delta(Delta::Text(text)) => Some(News::Text(sanitize::block(text).into_owned())),
        Update::Delta(Delta::Reasoning(_)) => Some(News::Thinking),
        Update::Delta(Delta::Call { name }) => {
            Some(News::Calling(sanitize::line(name).into_owned()))
        }
        Update::Delta(Delta::Restart) => Some(News::Restart),
        Update::Message(text) => Some(line(Tone::Warning, "note", text)),
        _ => None,
    }
}

/// Cuts down an event that is in the store.
pub(crate) fn of_event(event: &Event) -> Option<News> {
    match event {
        Event::Asked { .. } => Some(News::Asked),
        Event::Replied { reply, .. } => {
            let message = Message {
                role: Role::Assistant,
                parts: reply.parts.clone(),
            };
            let calls = reply.calls();
            let calls =
                calls.map(|call| (call.id.clone(), sanitize::line(&summary(call)).into_owned()));
            Some(News::Replied {
                text: block(&message.text()),
                calls: calls.collect(),
                usage: reply.usage,
            })
        }
        Event::CallStarted { call, .. } => Some(News::CallStarted { call: call.clone() }),
        Event::CallEnded {
            result,
            milliseconds,
            usage,
            ..
        } => {
            let first = || result.text.lines().find(|line| !line.trim().is_empty());
            let fault = result
                .is_error
                .then(|| shorten(&sanitize::line(first().unwrap_or("failed")), MAX_REASON));
            Some(News::CallEnded {
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
            let answer = decided.answer?;
            // The call itself says that it was refused.
            if answer == RecordedAnswer::No && decided.call.is_some() {
                return None;
            }
            let what = shorten(&decided.what, MAX_REASON);
            Some(match answer {
                RecordedAnswer::No => line(Tone::Bad, "refused", &format!("{what} — you said no")),
                _ => line(
                    Tone::Good,
                    "allowed",
                    &format!("{what} — {}", answered(answer)),
                ),
            })
        }
        Event::Compacted { .. } => Some(line(
            Tone::Warning,
            "shortened",
            "the beginning of the conversation was summed up",
        )),
        Event::Ended { ending } => ended(ending),
        _ => None,
    }
}

/// What a person said, as they typed it.
pub(crate) fn said(event: &Event) -> Option<News> {
    let Event::Said { parts, typed, .. } = event else {
        return None;
    };
    let text = typed.clone().unwrap_or_else(|| {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text { text, keep: None } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    });
    (!text.trim().is_empty()).then(|| News::Said(block(&text)))
}

fn ended(ending: &Ending) -> Option<News> {
    Some(match ending {
        Ending::Exhausted { limit } => line(Tone::Bad, "stopped", &limit.to_string()),
        Ending::Failed { message, .. } => line(Tone::Bad, "failed", message),
        Ending::Cancelled => line(Tone::Warning, "cancelled", "the turn ends here"),
        Ending::Declined { why } => line(Tone::Warning, "declined", why),
        Ending::Answered | Ending::Submitted { .. } => return None,
    })
}

/// What an answer means.
pub(crate) fn answered(answer: RecordedAnswer) -> &'static str {
    match answer {
        RecordedAnswer::No => "no",
        RecordedAnswer::Once => "once",
        RecordedAnswer::Session => "until the session ends",
        RecordedAnswer::Tool => "with everything of this tool until the session ends",
        RecordedAnswer::Always => "always",
    }
}

fn line(tone: Tone, what: &'static str, text: &str) -> News {
    News::Line {
        tone,
        what,
        text: shorten(&sanitize::line(text), MAX_REASON * 2),
    }
}

/// A text made safe and not too long; a cut is said.
pub(crate) fn block(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN);
    let mut clean = sanitize::block(&text[..end]).into_owned();
    if end < text.len() {
        clean.push_str("\n… (the rest is not shown)");
    }
    clean
}

#[cfg(test)]
mod tests {
    use prowess::agent::{
        Decided, FailureKind, RecordedVerdict, Reply, Stamped, ToolCall, ToolResult,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_of_a_stranger_can_steer_a_terminal() {
        let evil = "x\x1b[2J\u{202e}\u{200b}\u{7}y";
        let call = ToolCall::new("1", evil, json!({ "command": evil }));
        let events = [
            Event::Replied {
                reply: Reply {
                    parts: vec![Part::text(evil), Part::Call(call.clone())],
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
                parts: vec![Part::text(evil)],
                typed: None,
                loaded: Vec::new(),
                usage: None,
            },
            Event::Decided(Decided {
                call: None,
                what: evil.into(),
                verdict: RecordedVerdict::Ask,
                reason: evil.into(),
                rule: None,
                answer: Some(RecordedAnswer::Once),
            }),
        ];
        let mut seen = 0;
        for event in events {
            let stamped = Stamped { at: 0, event };
            let shown = [news(Update::Event(&stamped)), said(&stamped.event)];
            for one in shown.into_iter().flatten() {
                let texts: Vec<String> = match one {
                    News::Said(text) | News::Text(text) | News::Line { text, .. } => vec![text],
                    News::Replied { text, calls, .. } => calls
                        .into_iter()
                        .map(|(_, line)| line)
                        .chain([text])
                        .collect(),
                    News::CallEnded { fault, .. } => fault.into_iter().collect(),
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
            let (News::Text(text) | News::Calling(text)) = news(Update::Delta(&delta)).unwrap()
            else {
                panic!()
            };
            assert!(!text.contains('\x1b') && !text.contains('\u{202e}'));
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_said() {
        let text = block(&"é".repeat(MAX_SHOWN));
        assert!(text.len() < MAX_SHOWN + 100 && text.ends_with("(the rest is not shown)"));
    }
}
