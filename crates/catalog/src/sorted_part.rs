//! Sorted parts of a catalogue.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::catalog::shown_name;
use crate::precedence::Precedence;
use crate::skill::Skill;

/// A sorted subset of the skills of a catalogue. Sorting is most of the work of creating one, and
/// several threads can each sort a part.
#[derive(Debug)]
pub struct CatalogPart {
    precedence: Precedence,
    /// The names of the skills, concatenated for locality, so that each skill is dereferenced once.
    names: String,
    drafts: Vec<Draft>,
}

/// A skill that will become an entry.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The first bytes of its name as a number with the same order. Most names differ in them.
    letters: u128,
    /// Range of its name in `names`.
    name: Range<usize>,
    /// `true` if it may have an alias.
    pub(crate) has_alias: bool,
    pub(crate) skill: Arc<Skill>,
}

impl CatalogPart {
    /// Sorts skills.
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
        // No two are equal, and input that is already sorted, e.g. from a cache, is fast.
        drafts.sort_unstable_by(|a, b| compare((a, &names), (b, &names), precedence));
        Self {
            precedence,
            names,
            drafts,
        }
    }
}

/// A merge of sorted parts.
pub(crate) struct Merged {
    parts: Vec<(String, Peekable<IntoIter<Draft>>, Precedence)>,
}

impl Merged {
    pub(crate) fn new(parts: impl IntoIterator<Item = CatalogPart>) -> Self {
        let part = |part: CatalogPart| {
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

    /// Returns the next skill and its displayed name.
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

/// Compares by name, then by precedence.
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
