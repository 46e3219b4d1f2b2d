//! Notes for a model whose index is older than the catalogue.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use prowess_diag::wording;

use super::budget::{IndexBudget, IndexLimit};
use super::layout::{Lines, Priority};
use super::{Bullets, EntryDetail, IndexEntry, IndexFormat, OmissionReason, fault, text};

const HEADING: &str = "The available skills have changed.\n";
const KINDS: [&str; 3] = ["\nNo longer available:\n", "\nChanged:\n", "\nNew:\n"];

/// The state of a model's knowledge about skills: names and description hashes. Small enough to
/// store with a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownSkills {
    /// Names in order, each with a hash of its description.
    pub skills: Vec<(Box<str>, u64)>,
}

/// Options of a note.
#[derive(Clone, Copy, Debug)]
pub struct NoteOptions<'a> {
    /// The maximum length.
    pub budget: IndexBudget,
    /// The tool that lists all skills, if the model has it.
    pub discovery_tool: Option<&'a str>,
}

impl Default for NoteOptions<'_> {
    fn default() -> Self {
        Self {
            budget: IndexBudget {
                limit: IndexLimit::Tokens(500),
                entry_chars: 256,
            },
            discovery_tool: Some("list_skills"),
        }
    }
}

/// A text to append to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexNote {
    /// The text.
    pub text: String,
    /// Number of new skills.
    pub added: usize,
    /// Number of skills with a changed description.
    pub changed: usize,
    /// Number of removed skills.
    pub removed: usize,
    /// Number of changes that the text counts without naming them.
    pub unnamed: usize,
}

impl ShownSkills {
    /// Records the visible state of some skills.
    pub fn of(entries: &[IndexEntry<'_>]) -> Self {
        let skills = entries.iter().filter(|entry| can_be_said(entry));
        Self {
            skills: skills
                .map(|entry| (entry.name.into(), description_hash(entry)))
                .collect(),
        }
    }
}

/// Describes the changes since a model was told about its skills. Returns `None` if it would see no
/// difference. Removed skills come first, because calling one would fail. A note always says that
/// something changed and how much, even if the budget is too small for details.
pub fn note(
    before: &ShownSkills,
    after: &[IndexEntry<'_>],
    options: &NoteOptions<'_>,
) -> Option<IndexNote> {
    let known: HashMap<&str, u64> = before
        .skills
        .iter()
        .map(|(name, mark)| (&**name, *mark))
        .collect();
    let mut now: HashSet<&str> = HashSet::with_capacity(after.len());
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for entry in after.iter().filter(|entry| can_be_said(entry)) {
        if !now.insert(entry.name) {
            continue;
        }
        match known.get(entry.name) {
            None => added.push(entry),
            Some(known) if *known != description_hash(entry) => changed.push(entry),
            Some(_) => {}
        }
    }
    let mut removed: Vec<&str> = before
        .skills
        .iter()
        .map(|(name, _)| &**name)
        .filter(|name| !now.contains(name))
        .collect();
    removed.sort_unstable();
    removed.dedup();
    let total = removed.len() + changed.len() + added.len();
    if total == 0 {
        return None;
    }

    let gone = removed.iter().map(|name| (*name, None));
    let here = changed
        .iter()
        .chain(&added)
        .map(|entry| (entry.name, Some(*entry)));
    let said: Vec<(Cow<'_, str>, Option<&IndexEntry<'_>>)> = gone
        .chain(here)
        .map(|(name, entry)| (text::name(name), entry))
        .collect();
    let format = IndexFormat::Markdown(Bullets::Dash);
    let limit = options.budget.limit;
    let units = said.iter().map(|(name, _)| format.name_units(name, limit));
    let lines = Lines::new(format, limit, units);
    let frame = limit.of(HEADING) + KINDS.iter().map(|kind| limit.of(kind)).sum::<usize>();
    let room = |rest: usize| {
        let rest = limit.of(&rest_line(rest, options.discovery_tool));
        limit.units().saturating_sub(frame + rest)
    };
    let room = if lines.cost() <= room(0) {
        room(0)
    } else {
        room(total)
    };
    let skill = |line: usize| {
        said[line]
            .1
            .filter(|entry| entry.show == EntryDetail::Full)
            .map(|entry| entry.skill)
    };
    let laid = lines.layout(options.budget, room, 0, |_| Priority::Rest, skill);

    let counts = [removed.len(), changed.len(), added.len()];
    let mut text = HEADING.to_owned();
    let unnamed = total - laid.len();
    let mut laid = laid.iter().peekable();
    let mut end = 0;
    for (kind, count) in KINDS.into_iter().zip(counts) {
        let mut heading = Some(kind);
        end += count;
        while let Some(laid) = laid.next_if(|laid| laid.line < end) {
            text.push_str(heading.take().unwrap_or_default());
            format.line(&mut text, &said[laid.line].0, laid.description.as_deref());
            text.push('\n');
        }
    }
    text.push_str(&rest_line(unnamed, options.discovery_tool));
    text.truncate(text.trim_end().len());
    let [removed, changed, added] = counts;
    Some(IndexNote {
        text,
        added,
        changed,
        removed,
        unnamed,
    })
}

/// Returns the line that counts the changes without a line.
fn rest_line(rest: usize, tool: Option<&str>) -> String {
    if rest == 0 {
        return String::new();
    }
    let count = wording::count(rest, "more change");
    match tool {
        Some(tool) => format!("\n{count}; call `{tool}` to see all skills."),
        None => format!("\n{count}."),
    }
}

/// Returns `true` if an index can show the name.
fn can_be_said(entry: &IndexEntry<'_>) -> bool {
    fault(&text::name(entry.name)) == OmissionReason::NotListed
}

/// Hashes the displayed description of a skill. Stored with conversations, so it must be the same
/// in every version.
fn description_hash(entry: &IndexEntry<'_>) -> u64 {
    let description = match entry.show {
        EntryDetail::Full => text::description(entry.skill),
        EntryDetail::NameOnly => Cow::Borrowed(""),
    };
    // FNV-1a over eight bytes at a time, with the halves mixed.
    let step = |hash: u64, word: u64| {
        (hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29)
    };
    let (words, rest) = description.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        step(hash, u64::from_le_bytes(*word))
    });
    let hash = rest
        .iter()
        .fold(hash, |hash, &byte| step(hash, u64::from(byte)));
    step(hash, description.len() as u64)
}
