//! Who gets a line, and how much of a description stands in it.

use std::borrow::Cow;

use super::budget::{self, Budget, Limit};
use super::{Bare, Cut, Fate, Format, Rank, Shortening, text};
use crate::skill::Skill;

/// A line to be laid out.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    /// Whose description is shown, if any.
    pub(super) skill: Option<&'a Skill>,
    pub(super) rank: Rank,
}

/// Lines to be laid out.
pub(super) struct Lines<'a> {
    format: Format,
    pub(super) items: Vec<Line<'a>>,
    /// Units of each line without its description.
    costs: Vec<usize>,
    /// Units of what encloses a description.
    around: usize,
}

/// A line that is laid out.
pub(super) struct Laid<'a> {
    pub(super) fate: Fate,
    pub(super) description: Option<Cow<'a, str>>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(format: Format, limit: Limit, items: impl Iterator<Item = Line<'a>>) -> Self {
        let items: Vec<Line<'_>> = items.collect();
        let (bare, around) = format.frame(limit);
        let cost = |line: &Line<'_>| bare + format.name_units(line.name, limit);
        let costs = items.iter().map(cost).collect();
        Self { format, items, costs, around }
    }

    /// Units of all lines without descriptions.
    pub(super) fn cost(&self) -> usize {
        self.costs.iter().sum()
    }

    /// Shares the room out: names first, then descriptions.
    pub(super) fn lay(&self, budget: Budget, room: usize, rotation: u64) -> Vec<Laid<'a>> {
        let (format, limit, around) = (self.format, budget.limit, self.around);
        let ranks: Vec<Rank> = self.items.iter().map(|line| line.rank).collect();
        let named = budget::select(&self.costs, &favoured(&ranks), room, rotation);
        let spent = self.costs.iter().zip(&named).filter(|(_, on)| **on).map(|(cost, _)| cost);
        let room = room - spent.sum::<usize>();

        let mut laid = Vec::with_capacity(self.items.len());
        let mut described = Vec::new();
        for (i, line) in self.items.iter().enumerate() {
            let fate = match line.skill.filter(|_| named[i]).map(text::description) {
                _ if !named[i] => Fate::Cut(Cut::NoRoom),
                None => Fate::NameOnly(Bare::Asked),
                Some(text) if text.is_empty() => Fate::NameOnly(Bare::NoDescription),
                Some(text) => {
                    let most = (budget.entry_chars, usize::MAX);
                    let want = text::shorten(&text, format, limit, most)
                        .map(|capped| text::units(&capped, format, limit));
                    described.extend(want.map(|want| Described { line: i, want, text }));
                    Fate::NameOnly(Bare::NoRoom)
                }
            };
            laid.push(Laid { fate, description: None });
        }
        let costs: Vec<usize> =
            described.iter().map(|one| around + budget::least(one.want)).collect();
        let ranks: Vec<Rank> = described.iter().map(|one| ranks[one.line]).collect();
        let mut chosen = budget::select(&costs, &favoured(&ranks), room, rotation).into_iter();
        described.retain(|_| chosen.next().unwrap_or(false));
        let weight = |one: &Described<'_>| budget::weight(self.items[one.line].rank);
        let wants: Vec<(usize, usize)> =
            described.iter().map(|one| (one.want, weight(one))).collect();
        let grants = budget::share(&wants, room - around * described.len());

        for (one, grant) in described.into_iter().zip(grants) {
            let budgeted = grant < one.want;
            let most = (budget.entry_chars, if budgeted { grant } else { usize::MAX });
            let Some(short) = text::shorten(&one.text, format, limit, most) else { continue };
            let target = &mut laid[one.line];
            // What is shortened is a text of its own.
            if let Cow::Owned(short) = short {
                let why = if budgeted { Shortening::Budget } else { Shortening::Entry };
                let (from, to) = (one.text.chars().count(), short.chars().count());
                target.fate = Fate::Shortened { from, to, why };
                target.description = Some(Cow::Owned(short));
            } else {
                target.fate = Fate::Whole;
                target.description = Some(one.text);
            }
        }
        laid
    }
}

/// A description that wants to be shown.
struct Described<'a> {
    line: usize,
    /// The units it would take.
    want: usize,
    /// All of it.
    text: Cow<'a, str>,
}

/// Who comes first, by priority.
fn favoured(ranks: &[Rank]) -> Vec<usize> {
    let mut order: Vec<(Option<usize>, usize)> = (ranks.iter().enumerate())
        .filter_map(|(i, rank)| match rank {
            Rank::Pinned => Some((None, i)),
            Rank::Used(place) => Some((Some(*place), i)),
            Rank::Rest => None,
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}
