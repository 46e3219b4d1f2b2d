//! Shortens a conversation without breaking it.
//!
//! *Pruning* removes long tool results that are some messages old. *Compaction* replaces the start
//! of the conversation with a summary. Both keep each call together with its result, keep the texts
//! of loaded skills, and keep the task verbatim.

use crate::event::Event;
use crate::message::{IMAGE_TOKENS, Message, MessagePart, MessageRole};
use crate::usage::TokenUsage;

/// The number of messages at the end that are never pruned.
pub(crate) const RECENT: usize = 6;
/// The size in bytes up to which a tool result is never pruned.
const SHORT: usize = 2_000;
/// The maximum size of the task in a summary, in bytes.
const MAX_TASK: usize = 8_000;
/// The maximum size of a summary in bytes; the model is asked for far less.
const MAX_SUMMARY: usize = 16_000;
/// The maximum size in bytes of the kept text of one skill: 5,000 tokens of English, as in Claude
/// Code.
const MAX_SKILL: usize = 20_000;
/// The maximum size in bytes of the kept texts of all skills: 25,000 tokens of English.
const MAX_SKILLS: usize = 100_000;
/// The maximum size of one part in a transcript, in bytes.
const MAX_PART: usize = 4_000;
/// The estimated tokens of the text that replaces a pruned result.
const PLACEHOLDER_TOKENS: u64 = 25;

/// Estimates the tokens of messages.
pub fn estimate(messages: &[Message]) -> u64 {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(MessagePart::tokens).sum()
}

/// Returns the estimated number of tokens that pruning a part saves.
pub(crate) fn gain(part: &MessagePart) -> u64 {
    match part {
        MessagePart::Result(result) if result.keep.is_none() && result.text.len() > SHORT => {
            part.tokens().saturating_sub(PLACEHOLDER_TOKENS)
        }
        MessagePart::Result(result) if result.keep.is_none() => {
            result.images.len() as u64 * IMAGE_TOKENS
        }
        _ => 0,
    }
}

/// Prunes a part if that saves anything.
pub(crate) fn prune(part: &mut MessagePart) {
    if gain(part) == 0 {
        return;
    }
    if let MessagePart::Result(result) = part {
        let size = result.text.len();
        result.text = format!(
            "[{size} bytes removed to save space; call {} again if you need them]",
            result.name
        );
        result.images.clear();
    }
}

/// A plan to compact a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactPlan {
    /// Messages before this index are replaced.
    pub before: usize,
    /// A transcript of these messages, bounded in size.
    pub transcript: String,
    /// Skills whose text no longer fits.
    pub unloaded: Vec<Box<str>>,
    /// Skills whose text is truncated.
    pub cut: Vec<Box<str>>,
    task: String,
    fallback: String,
    kept: Vec<MessagePart>,
}

impl CompactPlan {
    /// Returns the prompt that asks a model for a summary.
    pub fn question(&self) -> String {
        format!(
            "Below is the start of a conversation between a user, you and your tools. Summarize \
             what is needed to continue the work: what the user asked for, what you found out, what \
             you did and changed (with file names and commands), and what remains to be done. Use \
             plain text, at most 600 words. Do not continue the work itself.\n\n<conversation>\n{}\n</conversation>",
            self.transcript
        )
    }

    /// Returns the event that records the compaction.
    pub fn event(&self, summary: Option<&str>, usage: TokenUsage) -> Event {
        Event::Compacted {
            before: self.before,
            summary: self.message(summary),
            unloaded: self.unloaded.clone(),
            cut: self.cut.clone(),
            usage,
        }
    }

    /// Returns the message that replaces the removed ones. Without a summary, it lists facts.
    pub fn message(&self, summary: Option<&str>) -> Message {
        let mut text = String::from(
            "[The start of this conversation was removed to save space. This is not a new request.]\n\n",
        );
        if !self.task.is_empty() {
            text.push_str(&format!("The original request:\n{}\n\n", self.task));
        }
        let summary = summary.map(str::trim).filter(|summary| !summary.is_empty());
        text.push_str("What has happened since:\n");
        text.push_str(&shorten(summary.unwrap_or(&self.fallback), MAX_SUMMARY));
        if !self.unloaded.is_empty() {
            text.push_str(&format!(
                "\n\nThe instructions of these skills were removed to save space; load them again if you need them: {}",
                self.unloaded.join(", ")
            ));
        }
        let mut parts = vec![MessagePart::text(text)];
        for part in &self.kept {
            if let Some(name) = part.keep() {
                parts.push(MessagePart::text(format!(
                    "The skill {name} is still loaded. Its instructions:"
                )));
            }
            parts.push(part.clone());
        }
        Message {
            role: MessageRole::User,
            parts,
        }
    }
}

/// Plans the compaction of a conversation. Returns `None` if it cannot become shorter. In a run of
/// a skill (`runs`), the text of that skill is the task and is kept whole.
pub(crate) fn plan(
    messages: &[Message],
    sizes: &[u64],
    window: u64,
    keep: Option<u32>,
    runs: Option<&str>,
) -> Option<CompactPlan> {
    let before = cut(messages, sizes, window, keep.unwrap_or(0))?;
    let (gone, stays) = messages.split_at(before);
    let Survivors {
        kept,
        unloaded,
        cut,
    } = survivors(gone, stays, window, runs);
    Some(CompactPlan {
        before,
        transcript: transcript(gone, usize::try_from(window).unwrap_or(usize::MAX)),
        unloaded,
        cut,
        task: task(gone),
        fallback: digest(gone),
        kept,
    })
}

/// Returns the index to cut at. Keeps as many of the last messages as fit a fifth of the window, or
/// `keep` replies if they fit half of it, and never keeps a result without its call.
fn cut(messages: &[Message], sizes: &[u64], window: u64, keep: u32) -> Option<usize> {
    let may = |at: &usize| messages[*at].results().next().is_none();
    let mut tail: u64 = 0;
    let mut replies: u32 = 0;
    let mut best = None;
    for at in (1..messages.len()).rev() {
        tail += sizes.get(at).copied().unwrap_or(0);
        let share = if replies < keep { 2 } else { 5 };
        let is_full = tail.saturating_mul(share) > window;
        if is_full && best.is_some() {
            break;
        }
        replies += u32::from(messages[at].role == MessageRole::Assistant);
        if may(&at) {
            best = Some(at);
        }
        if is_full && best.is_some() {
            break;
        }
    }
    best
}

/// The skills in the removed messages.
#[derive(Default)]
struct Survivors {
    kept: Vec<MessagePart>,
    unloaded: Vec<Box<str>>,
    cut: Vec<Box<str>>,
}

/// Collects the newest text of each skill in the removed messages, as many as fit.
fn survivors(gone: &[Message], stays: &[Message], window: u64, runs: Option<&str>) -> Survivors {
    let stays: Vec<&str> = stays
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(MessagePart::keep)
        .collect();
    let mut all = Survivors::default();
    // As many bytes as the window has tokens: about a quarter of the window.
    let mut room = usize::try_from(window)
        .unwrap_or(usize::MAX)
        .min(MAX_SKILLS);
    for part in gone
        .iter()
        .rev()
        .flat_map(|message| message.parts.iter().rev())
    {
        let Some(name) = part.keep() else { continue };
        let is_known = stays.contains(&name)
            || all.kept.iter().any(|known| known.keep() == Some(name))
            || all.unloaded.iter().any(|known| **known == *name);
        if is_known {
            continue;
        }
        let text = match part {
            MessagePart::Text { text, .. } => text,
            MessagePart::Result(result) => &result.text,
            MessagePart::Hint { .. }
            | MessagePart::Image(_)
            | MessagePart::Reasoning { .. }
            | MessagePart::Call(_) => {
                continue;
            }
        };
        let is_cut = text.len() > MAX_SKILL && runs != Some(name);
        let text = if is_cut {
            beginning(text, name)
        } else {
            text.clone()
        };
        match room.checked_sub(text.len()) {
            Some(left) => {
                room = left;
                all.kept.push(MessagePart::Text {
                    text,
                    keep: Some(name.into()),
                });
                if is_cut {
                    all.cut.push(name.into());
                }
            }
            None => all.unloaded.push(name.into()),
        }
    }
    all.kept.reverse();
    all.unloaded.reverse();
    all.cut.reverse();
    all
}

/// Truncates the text of a skill and says so. The result fits `MAX_SKILL`, so that it is not
/// truncated again by the next compaction.
fn beginning(text: &str, name: &str) -> String {
    let rest = format!(
        "\n\n[The rest of the instructions of skill {name} was removed to save space. Load the skill again if you need it.]"
    );
    let end = text.floor_char_boundary(MAX_SKILL.saturating_sub(rest.len()));
    format!("{}{rest}", &text[..end])
}

/// Returns the text of the first user message.
fn task(messages: &[Message]) -> String {
    let first = messages
        .iter()
        .find(|message| message.role == MessageRole::User);
    let parts = first.into_iter().flat_map(|message| &message.parts);
    let mut task = String::new();
    for part in parts {
        if let MessagePart::Text { text, keep: None } = part {
            task.push_str(text);
            task.push('\n');
        }
    }
    shorten(task.trim(), MAX_TASK)
}

/// Returns a transcript of the messages. If it is too long, the middle is removed.
fn transcript(messages: &[Message], bytes: usize) -> String {
    let mut all = String::new();
    for message in messages {
        let who = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "you",
        };
        for part in &message.parts {
            let line = match part {
                MessagePart::Text {
                    keep: Some(name), ..
                } => format!("(skill {name} was loaded)"),
                MessagePart::Text { text, keep: None } => {
                    format!("{who}: {}", shorten(text, MAX_PART))
                }
                MessagePart::Image(_) => format!("{who}: (image)"),
                MessagePart::Hint { .. } | MessagePart::Reasoning { .. } => continue,
                MessagePart::Call(call) => {
                    format!(
                        "you called {}: {}",
                        call.name,
                        shorten(&call.input.to_string(), 1_000)
                    )
                }
                MessagePart::Result(result) if result.keep.is_some() => {
                    format!("{} returned the instructions of a skill", result.name)
                }
                MessagePart::Result(result) => {
                    format!(
                        "{} returned: {}",
                        result.name,
                        shorten(&result.text, MAX_PART / 2)
                    )
                }
            };
            all.push_str(&line);
            all.push('\n');
        }
    }
    shorten(&all, bytes.max(MAX_PART))
}

/// Returns facts about the messages: the tools called and the last texts of the model. Replaces a
/// summary if there is no model to write one.
pub fn digest(messages: &[Message]) -> String {
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for call in messages.iter().flat_map(Message::calls) {
        match tools.iter_mut().find(|(name, _)| *name == &*call.name) {
            Some((_, times)) => *times += 1,
            None => tools.push((&call.name, 1)),
        }
    }
    let mut text = String::new();
    if !tools.is_empty() {
        let tools: Vec<String> = tools
            .iter()
            .map(|(name, times)| format!("{name} ({times})"))
            .collect();
        text.push_str(&format!("- tools called: {}\n", tools.join(", ")));
    }
    let said: Vec<String> = messages
        .iter()
        .filter(|message| message.role == MessageRole::Assistant)
        .map(Message::text)
        .filter(|text| !text.trim().is_empty())
        .collect();
    for text_of in said.iter().rev().take(5).rev() {
        text.push_str(&format!("- you said: {}\n", shorten(text_of.trim(), 200)));
    }
    text.trim_end().to_owned()
}

/// Removes the middle of a text that is longer than `bytes`, at character boundaries.
fn shorten(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let half = bytes / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!(
        "{}\n[… {} bytes removed …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
