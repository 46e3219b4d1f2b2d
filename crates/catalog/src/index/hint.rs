//! Hints: a few skills that may fit a message, as a note next to that message.
//!
//! The index stays as it is, so that the beginning of the conversation can be cached. A hint shows
//! the descriptions that the index has no room for. Lines are escaped as in the index.

use std::borrow::Cow;

use super::budget::{IndexBudget, IndexLimit};
use super::layout::{Lines, Priority};
use super::{
    Bullets, EntryDetail, EntryOutcome, IndexEntry, IndexFormat, OmissionReason, fault, markdown,
    text,
};

/// Tags around a hint. A description cannot contain them: the start of a tag is escaped.
const OPEN: &str = "<skill_hints>\n";
const CLOSE: &str = "</skill_hints>";
/// The mark of a skill that is not trusted.
const NOT_TRUSTED: &str = " (not trusted)";

/// The limits of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintOptions {
    /// Maximum number of skills.
    pub skills: usize,
    /// Maximum number of tokens.
    pub tokens: usize,
}

impl Default for HintOptions {
    fn default() -> Self {
        Self {
            skills: 5,
            tokens: 400,
        }
    }
}

/// A skill to hint at.
#[derive(Clone, Copy, Debug)]
pub struct HintEntry<'a> {
    /// The skill, with its name and the part that may be shown.
    pub entry: IndexEntry<'a>,
    /// `true` if the skill is not trusted.
    pub is_untrusted: bool,
}

/// The note about the skills that may fit a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintText {
    /// The text for the model; empty if no skill is shown.
    pub text: String,
    /// The outcome for each skill, in the order of the entries.
    pub outcomes: Vec<EntryOutcome>,
}

/// Writes a hint about skills, best first, within a number of tokens. `load_tool` is the tool that
/// loads a skill. The descriptions share the budget; names that do not fit are omitted.
pub fn hint(entries: &[HintEntry<'_>], tokens: usize, load_tool: &str) -> HintText {
    let format = IndexFormat::Markdown(Bullets::Dash);
    let limit = IndexLimit::Tokens(tokens);
    let lead = format!(
        "{OPEN}These skills may fit the message. If one does, load it with `{load_tool}` before you start. This note was not written by the user.\n"
    );
    let names: Vec<Cow<'_, str>> = entries
        .iter()
        .map(|one| text::name(one.entry.name))
        .collect();
    let mut outcomes: Vec<EntryOutcome> = names
        .iter()
        .map(|name| match fault(name) {
            OmissionReason::NotListed => EntryOutcome::Cut(OmissionReason::NoRoom),
            fault => EntryOutcome::Cut(fault),
        })
        .collect();
    let usable: Vec<usize> = (0..entries.len())
        .filter(|&at| outcomes[at] == EntryOutcome::Cut(OmissionReason::NoRoom))
        .collect();
    let units = |&at: &usize| {
        let mark = mark(&entries[at]).map_or(0, str::len);
        format.name_units(&names[at], limit) + mark
    };
    let lines = Lines::new(format, limit, usable.iter().map(units));
    let frame = limit.of(&lead) + limit.of(CLOSE);
    let Some(room) = limit.units().checked_sub(frame) else {
        return HintText {
            text: String::new(),
            outcomes,
        };
    };
    let budget = IndexBudget {
        limit,
        entry_chars: super::DEFAULT_ENTRY_CHARS,
    };
    let skill = |line: usize| {
        let entry = &entries[usable[line]].entry;
        (entry.show == EntryDetail::Full).then_some(entry.skill)
    };
    // The best match gets its name first if not all fit.
    let laid = lines.layout(budget, room, 0, Priority::Used, skill);
    let mut text = lead;
    for shown in &laid {
        let at = usable[shown.line];
        outcomes[at] = shown.fate;
        let description = shown.description.as_deref();
        markdown::marked_line(&mut text, &names[at], mark(&entries[at]), description);
        text.push('\n');
    }
    text.push_str(CLOSE);
    if laid.is_empty() {
        text.clear();
    }
    HintText { text, outcomes }
}

fn mark(entry: &HintEntry<'_>) -> Option<&'static str> {
    entry.is_untrusted.then_some(NOT_TRUSTED)
}

/// Returns `true` if an index in the default format shows the complete description of a skill.
pub fn is_complete_in(index: &str, entry: &IndexEntry<'_>) -> bool {
    let description = text::description(entry.skill);
    if entry.show != EntryDetail::Full || description.is_empty() {
        return false;
    }
    let mut line = String::new();
    let name = text::name(entry.name);
    IndexFormat::default().line(&mut line, &name, Some(&description));
    index.lines().any(|shown| shown == line)
}
