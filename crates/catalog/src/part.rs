//! Skills in the order of a catalogue.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::catalog::shown_name;
use crate::precedence::Precedence;
use crate::skill::Skill;

/// Some of the skills of a catalogue, in its order. Bringing them into order is most of the work of
/// making one, and several threads may each do a part of it.
#[derive(Debug)]
pub struct Part {
    drafts: Vec<Draft>,
    precedence: Precedence,
}

impl Part {
    /// Brings skills into order.
    pub fn new(skills: impl Iterator<Item = Arc<Skill>>, precedence: Precedence) -> Self {
        let mut drafts: Vec<Draft> = skills.map(Draft::new).collect();
        // No two are equal, and what is in order already, as from a cache, is seen to be.
        drafts.sort_unstable_by(|a, b| a.compare(b, precedence));
        Self { drafts, precedence }
    }
}

/// Puts a few parts together that were sorted alike.
pub(crate) fn merge(parts: impl IntoIterator<Item = Part>) -> impl Iterator<Item = Draft> {
    let parts = parts.into_iter();
    let mut parts: Vec<_> =
        parts.map(|part| (part.precedence, part.drafts.into_iter().peekable())).collect();
    std::iter::from_fn(move || {
        let least = parts.iter_mut().reduce(|least, next| {
            let comes_first = match (least.1.peek(), next.1.peek()) {
                (Some(least), Some(draft)) => draft.compare(least, next.0).is_lt(),
                (least, _) => least.is_none(),
            };
            if comes_first { next } else { least }
        });
        least?.1.next()
    })
}

/// A skill that is to become an entry.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The first letters of its name, as a number that sorts as they do. Most names differ in them,
    /// and they are compared without going for the rest.
    letters: u128,
    pub(crate) skill: Arc<Skill>,
    /// The name it is called by, where that is not its own.
    qualified: Option<Box<str>>,
    /// Whether it may have a second name.
    pub(crate) has_alias: bool,
}

impl Draft {
    fn new(skill: Arc<Skill>) -> Self {
        let qualified = shown_name(&skill);
        let letters = first_letters(qualified.as_deref().unwrap_or(&skill.name));
        let has_alias = skill.alias.is_some() || !skill.id.origin.nested.is_empty();
        Self { letters, skill, qualified, has_alias }
    }

    pub(crate) fn name(&self) -> &str {
        self.qualified.as_deref().unwrap_or(&self.skill.name)
    }

    /// By name; of one name, the one that wins first.
    fn compare(&self, other: &Self, precedence: Precedence) -> Ordering {
        let names = || self.name().cmp(other.name());
        let winner = || precedence.compare(&self.skill, &other.skill);
        self.letters.cmp(&other.letters).then_with(names).then_with(winner)
    }
}

fn first_letters(name: &str) -> u128 {
    let mut letters = [0; 16];
    let length = name.len().min(letters.len());
    letters[..length].copy_from_slice(&name.as_bytes()[..length]);
    u128::from_be_bytes(letters)
}
