//! Skills in the order of a catalogue.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::catalog::shown_name;
use crate::precedence::Precedence;
use crate::skill::Skill;

/// Some of the skills of a catalogue, in its order. Bringing them into order is most of the work of
/// making one, and several threads may each do a part of it.
#[derive(Debug)]
pub struct Part {
    precedence: Precedence,
    /// The names by which the skills are called, one behind the other: skills lie all over the
    /// memory, and are gone to once.
    names: String,
    drafts: Vec<Draft>,
}

/// A skill that is to become an entry.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The first letters of its name, as a number that sorts as they do. Most names differ in them.
    letters: u128,
    /// Where its name stands among those of the part.
    name: Range<usize>,
    /// Whether it may have a second name.
    pub(crate) has_alias: bool,
    pub(crate) skill: Arc<Skill>,
}

impl Part {
    /// Brings skills into order.
    pub fn new(skills: impl Iterator<Item = Arc<Skill>>, precedence: Precedence) -> Self {
        let mut names = String::with_capacity(skills.size_hint().0.saturating_mul(32));
        let draft = |skill: Arc<Skill>| {
            let start = names.len();
            names.push_str(shown_name(&skill).as_deref().unwrap_or(&skill.name));
            let name = start..names.len();
            let letters = first_letters(&names[name.clone()]);
            let has_alias = skill.alias.is_some() || !skill.id.origin.nested.is_empty();
            Draft {
                letters,
                name,
                has_alias,
                skill,
            }
        };
        let mut drafts: Vec<Draft> = skills.map(draft).collect();
        // No two are equal, and what is in order already, as from a cache, is seen to be.
        drafts.sort_unstable_by(|a, b| compare((a, &names), (b, &names), precedence));
        Self {
            precedence,
            names,
            drafts,
        }
    }
}

/// A few parts that are put together, each sorted alike.
pub(crate) struct Merged {
    parts: Vec<(String, Peekable<IntoIter<Draft>>, Precedence)>,
}

impl Merged {
    pub(crate) fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        let part = |part: Part| {
            (
                part.names,
                part.drafts.into_iter().peekable(),
                part.precedence,
            )
        };
        Self {
            parts: parts.into_iter().map(part).collect(),
        }
    }

    /// The next skill of all, and the name it is called by.
    pub(crate) fn next(&mut self) -> Option<(&str, Draft)> {
        let (names, drafts, _) = self.parts.iter_mut().reduce(|least, next| {
            let comes_first = match (least.1.peek(), next.1.peek()) {
                (Some(a), Some(b)) => compare((b, &next.0), (a, &least.0), next.2).is_lt(),
                (a, _) => a.is_none(),
            };
            if comes_first { next } else { least }
        })?;
        let draft = drafts.next()?;
        Some((&names[draft.name.clone()], draft))
    }
}

/// By name; of one name, the one that wins first.
fn compare(
    (a, a_names): (&Draft, &str),
    (b, b_names): (&Draft, &str),
    precedence: Precedence,
) -> Ordering {
    let names = || a_names[a.name.clone()].cmp(&b_names[b.name.clone()]);
    let winner = || precedence.compare(&a.skill, &b.skill);
    a.letters.cmp(&b.letters).then_with(names).then_with(winner)
}

fn first_letters(name: &str) -> u128 {
    let mut letters = [0; 16];
    let length = name.len().min(letters.len());
    letters[..length].copy_from_slice(&name.as_bytes()[..length]);
    u128::from_be_bytes(letters)
}
