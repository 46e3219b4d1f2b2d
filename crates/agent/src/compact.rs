//! Making a conversation shorter without breaking it.
//!
//! Two steps. *Pruning* leaves out long answers of tools that are some messages old. *Compaction*
//! replaces the beginning by a summary. Neither parts a call from its answer, neither touches what
//! must survive (the texts of loaded skills), and the task stays as it was given.

use crate::event::Event;
use crate::message::{Message, Part, Role};
use crate::usage::Usage;

/// Messages at the end that are never pruned.
pub(crate) const RECENT: usize = 6;
/// Most characters of an answer that is never pruned.
const SHORT: usize = 2_000;
/// Most bytes of the task that a summary repeats.
const MAX_TASK: usize = 8_000;
/// Most bytes of a summary; a model is asked for far less.
const MAX_SUMMARY: usize = 16_000;
/// Most bytes that stay of the text of one skill: 5,000 tokens, as in Claude Code.
const MAX_SKILL: usize = 20_000;
/// Most bytes that stay of the texts of all skills: 25,000 tokens.
const MAX_SKILLS: usize = 100_000;
/// Most bytes of one part in a transcript.
const MAX_PART: usize = 4_000;

/// Estimates tokens from bytes, as every seed does: four to one.
pub(crate) fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// Estimates the tokens of messages.
pub fn estimate(messages: &[Message]) -> u64 {
    let parts = messages.iter().flat_map(|message| &message.parts);
    tokens(parts.map(Part::bytes).sum())
}

/// How many bytes pruning a part saves.
pub(crate) fn gain(part: &Part) -> usize {
    match part {
        Part::Result(result) if result.keep.is_none() && result.text.len() > SHORT => {
            result.text.len() - 100
        }
        Part::Result(result) if result.keep.is_none() => result.images.len() * 6_000,
        _ => 0,
    }
}

/// Prunes a part, where that saves anything.
pub(crate) fn prune(part: &mut Part) {
    if gain(part) == 0 {
        return;
    }
    if let Part::Result(result) = part {
        let size = result.text.len();
        result.text = format!(
            "[{size} bytes left out to save room; call {} again if they are needed]",
            result.name
        );
        result.images.clear();
    }
}

/// How a conversation is to be shortened.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactPlan {
    /// Messages before this one go.
    pub before: usize,
    /// What they said, cut to what a model can read at once.
    pub transcript: String,
    /// Skills whose text does not fit any more.
    pub unloaded: Vec<Box<str>>,
    /// Skills of whose text only the beginning stays.
    pub cut: Vec<Box<str>>,
    task: String,
    fallback: String,
    kept: Vec<Part>,
}

impl CompactPlan {
    /// What a model is asked for a summary.
    pub fn question(&self) -> String {
        format!(
            "Below is the beginning of a conversation between a person, you and your tools. Write \
             down what must be known to go on with the work: what was asked, what was found out, \
             what was done and changed (with names of files and commands), what is left to do. Plain \
             text, at most 600 words. Do not go on with the work itself.\n\n<conversation>\n{}\n</conversation>",
            self.transcript
        )
    }

    /// What is written down: the conversation is shortened like this.
    pub fn event(&self, summary: Option<&str>, usage: Usage) -> Event {
        Event::Compacted {
            before: self.before,
            summary: self.message(summary),
            unloaded: self.unloaded.clone(),
            cut: self.cut.clone(),
            usage,
        }
    }

    /// The message that stands in the place of what goes; without a summary, facts take its place.
    pub fn message(&self, summary: Option<&str>) -> Message {
        let mut text = String::from(
            "[The beginning of this conversation was left out to save room. This is not a new request.]\n\n",
        );
        if !self.task.is_empty() {
            text.push_str(&format!("What was asked at first:\n{}\n\n", self.task));
        }
        let summary = summary.map(str::trim).filter(|summary| !summary.is_empty());
        text.push_str("What happened since:\n");
        text.push_str(&shorten(summary.unwrap_or(&self.fallback), MAX_SUMMARY));
        if !self.unloaded.is_empty() {
            text.push_str(&format!(
                "\n\nThere was no room for the instructions of these skills; load them again if they are needed: {}",
                self.unloaded.join(", ")
            ));
        }
        let mut parts = vec![Part::text(text)];
        for part in &self.kept {
            if let Some(name) = part.keep() {
                parts.push(Part::text(format!(
                    "The skill {name} is still loaded. Its instructions:"
                )));
            }
            parts.push(part.clone());
        }
        Message {
            role: Role::User,
            parts,
        }
    }
}

/// Plans how to shorten a conversation; nothing where it cannot become shorter. The skill that a
/// conversation is a run of is its task, and stays whole.
pub(crate) fn plan(
    messages: &[Message],
    sizes: &[usize],
    window: u64,
    runs: Option<&str>,
) -> Option<CompactPlan> {
    let before = cut(messages, sizes, window)?;
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

/// Where to cut: as much of the end as a fifth of the window holds stays, and never an answer
/// without its call.
fn cut(messages: &[Message], sizes: &[usize], window: u64) -> Option<usize> {
    let may = |at: &usize| messages[*at].results().next().is_none();
    let mut tail = 0;
    let mut best = None;
    for at in (1..messages.len()).rev() {
        tail += sizes.get(at).copied().unwrap_or(0);
        if tokens(tail).saturating_mul(5) > window && best.is_some() {
            break;
        }
        if may(&at) {
            best = Some(at);
        }
        if tokens(tail).saturating_mul(5) > window && best.is_some() {
            break;
        }
    }
    best
}

/// What becomes of the skills in messages that go.
#[derive(Default)]
struct Survivors {
    kept: Vec<Part>,
    unloaded: Vec<Box<str>>,
    cut: Vec<Box<str>>,
}

/// What must survive of messages that go: the newest text of each skill, as long as there is room.
fn survivors(gone: &[Message], stays: &[Message], window: u64, runs: Option<&str>) -> Survivors {
    let stays: Vec<&str> = stays
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(Part::keep)
        .collect();
    let mut all = Survivors::default();
    // Four bytes are a token: so many bytes are a quarter of the window.
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
            Part::Text { text, .. } => text,
            Part::Result(result) => &result.text,
            Part::Image(_) | Part::Reasoning { .. } | Part::Call(_) => continue,
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
                all.kept.push(Part::Text {
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

/// The beginning of the text of a skill, with a word about the rest. No longer than what stays, so
/// that it is not cut again the next time.
fn beginning(text: &str, name: &str) -> String {
    let rest = format!(
        "\n\n[The rest of the instructions of the skill {name} was left out to save room. Load it again if it is needed.]"
    );
    let end = text.floor_char_boundary(MAX_SKILL.saturating_sub(rest.len()));
    format!("{}{rest}", &text[..end])
}

/// What the person asked for at first.
fn task(messages: &[Message]) -> String {
    let first = messages.iter().find(|message| message.role == Role::User);
    let parts = first.into_iter().flat_map(|message| &message.parts);
    let mut task = String::new();
    for part in parts {
        if let Part::Text { text, keep: None } = part {
            task.push_str(text);
            task.push('\n');
        }
    }
    shorten(task.trim(), MAX_TASK)
}

/// What messages said, with the middle left out where it is too long.
fn transcript(messages: &[Message], bytes: usize) -> String {
    let mut all = String::new();
    for message in messages {
        let who = match message.role {
            Role::User => "person",
            Role::Assistant => "you",
        };
        for part in &message.parts {
            let line = match part {
                Part::Text {
                    keep: Some(name), ..
                } => format!("(skill {name} was loaded)"),
                Part::Text { text, keep: None } => format!("{who}: {}", shorten(text, MAX_PART)),
                Part::Image(_) => format!("{who}: (a picture)"),
                Part::Reasoning { .. } => continue,
                Part::Call(call) => {
                    format!(
                        "you called {}: {}",
                        call.name,
                        shorten(&call.input.to_string(), 1_000)
                    )
                }
                Part::Result(result) if result.keep.is_some() => {
                    format!("{} answered with the instructions of a skill", result.name)
                }
                Part::Result(result) => {
                    format!(
                        "{} answered: {}",
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

/// Facts about messages, for where no model sums them up: the tools that were called, and what the
/// model said last.
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
        .filter(|message| message.role == Role::Assistant)
        .map(Message::text)
        .filter(|text| !text.trim().is_empty())
        .collect();
    for text_of in said.iter().rev().take(5).rev() {
        text.push_str(&format!("- you said: {}\n", shorten(text_of.trim(), 200)));
    }
    text.trim_end().to_owned()
}

/// A text with its middle left out where it has more bytes; never within a character.
fn shorten(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let half = bytes / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!(
        "{}\n[… {} bytes left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
