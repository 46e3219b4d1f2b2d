//! Parses user input for skill invocations.
//!
//! A message may begin with `/name text` or with several names (`/a /b text`), and may mention
//! `$name` anywhere. Named skills are read to find out whether they are forked; no commands run.

use prowess_catalog::CatalogEntry;
use prowess_catalog::visibility::{Audience, CatalogView, LookupRefusal};

use crate::context::ToolContext;
use crate::snapshot::SkillHandle;

/// Maximum number of skills that one message invokes, as in Claude Code: the first and five more.
pub const MAX_STACKED: usize = 6;

/// A parsed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Plain text without skills.
    Text,
    /// Skills invoked as `/name`, in the order of the message.
    Skills(Vec<InvokedSkill>),
    /// Skills mentioned as `$name`. The message is sent unchanged.
    Mentions(Vec<InvokedSkill>),
    /// The message begins with an unknown `/name`.
    Unknown {
        /// The name without the slash.
        name: Box<str>,
        /// Similar names, most similar first.
        near: Vec<Box<str>>,
    },
    /// The message begins with the `/name` of a skill that users may not invoke.
    Refused(LookupRefusal),
}

/// A skill that a user invokes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvokedSkill {
    /// A name that resolves to the skill.
    pub name: Box<str>,
    /// The text after the names. All skills of a message get the same arguments.
    pub arguments: Box<str>,
    /// `true` if the skill runs in its own conversation (`context: fork`), or cannot be read.
    pub forked: bool,
    /// The skill.
    pub skill: SkillHandle,
}

/// Parses a message of a user.
///
/// The list of skills ends before the first word that is not a skill that users may invoke, before
/// a forked skill, and after a skill whose `argument-hint` begins with a slash, because its
/// arguments may begin with slashes. The rest of the message is the arguments of all listed skills.
pub fn typed(context: &ToolContext, message: &str) -> Typed {
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Person);
    let Some((first, mut rest)) = slash(message) else {
        return mentions(context, &view, message);
    };
    let resolve = |name: &str| view.resolve_version(name, |entry| context.version_of(&entry.skill));
    let entry = match resolve(first) {
        Ok(entry) => entry,
        // The message begins with a path, not with a skill.
        Err(LookupRefusal::NotFound(_)) if first.contains('/') => {
            return mentions(context, &view, message);
        }
        Err(LookupRefusal::NotFound(fault)) => {
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
        let Some((name, after)) = slash(rest).filter(|_| !ends) else {
            break;
        };
        let Ok(next) = resolve(name) else {
            break;
        };
        let known = |word: &Word| word.skill.entry().skill.id == next.skill.id;
        // A skill that is named twice is invoked once.
        if !row.iter().any(known) {
            let next = Word::new(context, name, next);
            if next.forked {
                break;
            }
            row.push(next);
        }
        rest = after;
    }
    let called = |word: Word| InvokedSkill {
        name: catalog.qualified_name(word.skill.entry()).into(),
        arguments: rest.into(),
        forked: word.forked,
        skill: word.skill,
    };
    Typed::Skills(row.into_iter().map(called).collect())
}

/// Splits `/name rest` into the name and the rest.
fn slash(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find([' ', '\t', '\n', '\r']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then(|| (name, rest.trim()))
}

/// Finds skills that are mentioned as `$name`, each once. Other words are text: `$HOME`, `$5`.
fn mentions(context: &ToolContext, view: &CatalogView<'_>, message: &str) -> Typed {
    let mut found: Vec<InvokedSkill> = Vec::new();
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
        // Punctuation may follow the name.
        let name = text[..end].trim_end_matches(['.', ':', '/', '-', '_']);
        let Some(entry) = view.resolve(name).ok().filter(|_| !name.is_empty()) else {
            continue;
        };
        if found.iter().all(|known| *known.name != *name) {
            let Word { skill, forked } = Word::new(context, name, entry);
            found.push(InvokedSkill {
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
    /// `true` if it runs in its own conversation, or cannot be read.
    forked: bool,
}

impl Word {
    fn new(context: &ToolContext, asked: &str, entry: &CatalogEntry) -> Self {
        let skill = SkillHandle::new(asked, entry);
        let read = skill.read(context);
        let forked = read.map_or(true, |snapshot| snapshot.effects.forked);
        Self { skill, forked }
    }
}

fn takes_slashes(entry: &CatalogEntry) -> bool {
    let hint = entry.skill.argument_hint.as_deref().unwrap_or_default();
    hint.trim_start_matches(['[', '<', '(', ' '])
        .starts_with('/')
}
