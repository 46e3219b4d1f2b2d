//! What a person typed: which skills do they want, with which arguments?
//!
//! `/name text` at the very beginning of a message, several of them in a row (`/a /b text`), and
//! `$name` anywhere. Nothing is read but the heads of skills and whether they are forked; nothing
//! runs.

use prowess_catalog::Entry;
use prowess_catalog::visibility::{Refusal, View, Who};

use crate::context::ToolContext;
use crate::snapshot::SkillHandle;

/// Most skills that one message invokes, as in Claude Code: the first and five more.
pub const MAX_STACKED: usize = 6;

/// What a message asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// No skill: the message is what it is.
    Text,
    /// Skills by `/name`, in the order in which they stand.
    Skills(Vec<Called>),
    /// Skills that are mentioned as `$name`; the message stays whole.
    Mentions(Vec<Called>),
    /// It begins with a `/name` that no skill has.
    Unknown {
        /// What was typed, without the slash.
        name: Box<str>,
        /// Names that come near, the nearest first.
        near: Vec<Box<str>>,
    },
    /// It begins with the `/name` of a skill that is not for people.
    Refused(Refusal),
}

/// A skill that a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// A name that resolves to the skill.
    pub name: Box<str>,
    /// The text after the name. All skills of a row get the same arguments.
    pub arguments: Box<str>,
    /// `true` if the skill runs in a conversation of its own (`context: fork`), or is unreadable.
    pub forked: bool,
    /// The skill.
    pub skill: SkillHandle,
}

/// Reads what a person typed.
///
/// A row of skills ends at the first word that is not a skill for people, at one that is forked, and
/// behind one whose `argument-hint` begins with a slash, because slashes are its arguments. That
/// word and the rest are the arguments of all skills before.
pub fn typed(context: &ToolContext, message: &str) -> Typed {
    let catalog = context.services.registry.snapshot();
    let view = View::new(&catalog, &context.settings.visibility, Who::Person);
    let Some((first, mut rest)) = slash(message) else {
        return mentions(context, &view, message);
    };
    let entry = match view.resolve(first) {
        Ok(entry) => entry,
        // A path at the beginning of a message is a path.
        Err(Refusal::NotFound(_)) if first.contains('/') => {
            return mentions(context, &view, message);
        }
        Err(Refusal::NotFound(fault)) => {
            return Typed::Unknown {
                name: first.into(),
                near: fault.near,
            };
        }
        Err(refusal) => return Typed::Refused(refusal),
    };
    let mut row = vec![Word::new(context, first, entry)];
    while row.len() < MAX_STACKED {
        let ends = row
            .last()
            .is_none_or(|last| last.forked || takes_slashes(last.skill.entry()));
        let Some((name, behind)) = slash(rest).filter(|_| !ends) else {
            break;
        };
        let Ok(next) = view.resolve(name) else {
            break;
        };
        let known = |word: &Word| word.skill.entry().skill.id == next.skill.id;
        // A skill that is named twice is loaded once.
        if !row.iter().any(known) {
            let next = Word::new(context, name, next);
            if next.forked {
                break;
            }
            row.push(next);
        }
        rest = behind;
    }
    let called = |word: Word| Called {
        name: catalog.qualified_name(word.skill.entry()).into(),
        arguments: rest.into(),
        forked: word.forked,
        skill: word.skill,
    };
    Typed::Skills(row.into_iter().map(called).collect())
}

/// The name behind a slash at the beginning of a text, and what stands behind it.
fn slash(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find([' ', '\t', '\n', '\r']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then(|| (name, rest.trim()))
}

/// Skills that are mentioned as `$name`, each once. What is no skill is text: `$HOME`, `$5`.
fn mentions(context: &ToolContext, view: &View<'_>, message: &str) -> Typed {
    let mut found: Vec<Called> = Vec::new();
    let mut before = ' ';
    for (at, c) in message.char_indices() {
        let begins = c == '$' && (before.is_whitespace() || matches!(before, '(' | '"' | '\''));
        before = c;
        if !begins || found.len() == MAX_STACKED {
            continue;
        }
        let text = &message[at + 1..];
        let belongs = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '/' | '.');
        let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
        // A sentence may end behind a name.
        let name = text[..end].trim_end_matches(['.', ':', '/', '-', '_']);
        let Some(entry) = view.resolve(name).ok().filter(|_| !name.is_empty()) else {
            continue;
        };
        if found.iter().all(|known| *known.name != *name) {
            let Word { skill, forked } = Word::new(context, name, entry);
            found.push(Called {
                name: name.into(),
                arguments: "".into(),
                forked,
                skill,
            });
        }
    }
    if found.is_empty() {
        Typed::Text
    } else {
        Typed::Mentions(found)
    }
}

/// A skill that a message names.
struct Word {
    skill: SkillHandle,
    /// `true` if it runs in a conversation of its own. An unreadable skill is not part of a row.
    forked: bool,
}

impl Word {
    fn new(context: &ToolContext, asked: &str, entry: &Entry) -> Self {
        let skill = SkillHandle::new(asked, entry);
        let read = skill.read(context);
        let forked = read.map_or(true, |snapshot| snapshot.effects.forked);
        Self { skill, forked }
    }
}

fn takes_slashes(entry: &Entry) -> bool {
    let hint = entry.skill.argument_hint.as_deref().unwrap_or_default();
    hint.trim_start_matches(['[', '<', '(', ' '])
        .starts_with('/')
}
