//! What a person typed: which skills do they want, with which arguments?
//!
//! `/name text` at the very beginning of a message, several of them in a row (`/a /b text`), and
//! `$name` anywhere. Nothing is read but the heads of skills and whether they are forked; nothing
//! runs.

use prowess_catalog::CatalogEntry;
use prowess_catalog::visibility::{Audience, CatalogView, LookupRefusal};
use prowess_spec::parse;

use crate::workshop::Workshop;

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
    Refused(LookupRefusal),
}

/// A skill that a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The name, as it leads to the skill.
    pub name: Box<str>,
    /// What stands behind it; all skills of a row get the same.
    pub arguments: Box<str>,
    /// Whether it runs in a conversation of its own (`context: fork`).
    pub forked: bool,
}

/// Reads what a person typed.
///
/// A row of skills ends at the first word that is not a skill for people, at one that is forked, and
/// behind one whose `argument-hint` begins with a slash, because slashes are its arguments. That
/// word and the rest are the arguments of all skills before.
pub fn typed(workshop: &Workshop, message: &str) -> Typed {
    let catalog = workshop.registry.snapshot();
    let view = CatalogView::new(&catalog, &workshop.visibility, Audience::Person);
    let Some((first, mut rest)) = slash(message) else {
        return mentions(workshop, &view, message);
    };
    let entry = match view.resolve(first) {
        Ok(entry) => entry,
        // A path at the beginning of a message is a path.
        Err(LookupRefusal::NotFound(_)) if first.contains('/') => {
            return mentions(workshop, &view, message);
        }
        Err(LookupRefusal::NotFound(fault)) => {
            return Typed::Unknown {
                name: first.into(),
                near: fault.near,
            };
        }
        Err(refusal) => return Typed::Refused(refusal),
    };
    let mut row = vec![(entry, is_forked(workshop, entry))];
    while row.len() < MAX_STACKED {
        let ends = row
            .last()
            .is_none_or(|(last, forked)| *forked || takes_slashes(last));
        let Some((name, behind)) = slash(rest).filter(|_| !ends) else {
            break;
        };
        let Some(next) = view
            .resolve(name)
            .ok()
            .filter(|next| !is_forked(workshop, next))
        else {
            break;
        };
        rest = behind;
        // Twice the same with the same arguments says nothing new.
        if row.iter().all(|(known, _)| known.skill.id != next.skill.id) {
            row.push((next, false));
        }
    }
    let called = |(entry, forked): (&CatalogEntry, bool)| Called {
        name: catalog.qualified_name(entry).into(),
        arguments: rest.into(),
        forked,
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
fn mentions(workshop: &Workshop, view: &CatalogView<'_>, message: &str) -> Typed {
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
            let forked = is_forked(workshop, entry);
            found.push(Called {
                name: name.into(),
                arguments: "".into(),
                forked,
            });
        }
    }
    if found.is_empty() {
        Typed::Text
    } else {
        Typed::Mentions(found)
    }
}

/// Whether a skill runs in a conversation of its own. One that cannot be read is not run in a row.
fn is_forked(workshop: &Workshop, entry: &CatalogEntry) -> bool {
    let text = workshop.registry.text(&entry.skill.id);
    text.map_or(true, |text| parse(&text).manifest.is_forked())
}

fn takes_slashes(entry: &CatalogEntry) -> bool {
    let hint = entry.skill.argument_hint.as_deref().unwrap_or_default();
    hint.trim_start_matches(['[', '<', '(', ' '])
        .starts_with('/')
}
