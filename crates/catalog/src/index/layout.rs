//! Who gets a line, and how much of a description stands in it.

use std::borrow::Cow;

use super::budget::{self, Budget, Limit};
use super::{Bare, Fate, Format, Rank, Shortening, text};
use crate::skill::Skill;

/// Lines to be laid out.
pub(super) struct Lines {
    format: Format,
    /// Units of each line without its description.
    costs: Vec<usize>,
    /// Units of what encloses a description.
    around: usize,
}

/// A line that is shown.
pub(super) struct Laid<'a> {
    pub(super) line: usize,
    pub(super) fate: Fate,
    pub(super) description: Option<Cow<'a, str>>,
}

impl Lines {
    /// Prepares lines whose names have so many units.
    pub(super) fn new(format: Format, limit: Limit, names: impl Iterator<Item = usize>) -> Self {
        let (bare, around) = format.frame(limit);
        Self {
            format,
            costs: names.map(|units| bare + units).collect(),
            around,
        }
    }

    /// Units of all lines without descriptions.
    pub(super) fn cost(&self) -> usize {
        self.costs.iter().sum()
    }

    /// Shares the room out: names first, then descriptions. `rank` tells how much a line matters,
    /// `skill` whose description it shows, if any. The answer has the lines for which there is room,
    /// in order.
    pub(super) fn lay<'a>(
        &self,
        budget: Budget,
        room: usize,
        rotation: u64,
        rank: impl Fn(usize) -> Rank,
        skill: impl Fn(usize) -> Option<&'a Skill>,
    ) -> Vec<Laid<'a>> {
        let (format, limit, around) = (self.format, budget.limit, self.around);
        let ranks = (0..self.costs.len()).map(&rank);
        let named = budget::select(&self.costs, &favoured(ranks), room, rotation);
        let named: Vec<usize> = (0..self.costs.len()).filter(|&line| named[line]).collect();
        let room = room - named.iter().map(|&line| self.costs[line]).sum::<usize>();

        let mut laid = Vec::with_capacity(named.len());
        let mut described = Vec::new();
        for line in named {
            let fate = match skill(line).map(text::description) {
                None => Fate::NameOnly(Bare::Asked),
                Some(text) if text.is_empty() => Fate::NameOnly(Bare::NoDescription),
                Some(text) => {
                    let most = (budget.entry_chars, usize::MAX);
                    let want = text::shorten(&text, format, limit, most)
                        .map(|capped| text::units(&capped, format, limit));
                    let place = laid.len();
                    described.extend(want.map(|want| Described {
                        place,
                        line,
                        want,
                        text,
                    }));
                    Fate::NameOnly(Bare::NoRoom)
                }
            };
            laid.push(Laid {
                line,
                fate,
                description: None,
            });
        }
        let costs: Vec<usize> = described
            .iter()
            .map(|one| around + budget::least(one.want))
            .collect();
        let ranks = described.iter().map(|one| rank(one.line));
        let mut chosen = budget::select(&costs, &favoured(ranks), room, rotation).into_iter();
        described.retain(|_| chosen.next().unwrap_or(false));
        let weight = |one: &Described<'_>| budget::weight(rank(one.line));
        let wants: Vec<(usize, usize)> = described
            .iter()
            .map(|one| (one.want, weight(one)))
            .collect();
        let grants = budget::share(&wants, room - around * described.len());

        for (one, grant) in described.into_iter().zip(grants) {
            let budgeted = grant < one.want;
            let most = (
                budget.entry_chars,
                if budgeted { grant } else { usize::MAX },
            );
            let Some(short) = text::shorten(&one.text, format, limit, most) else {
                continue;
            };
            let target = &mut laid[one.place];
            // What is shortened is a text of its own.
            if let Cow::Owned(short) = short {
                let why = if budgeted {
                    Shortening::Budget
                } else {
                    Shortening::Entry
                };
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
    /// Its place among the lines that are shown.
    place: usize,
    line: usize,
    /// The units it would take.
    want: usize,
    /// All of it.
    text: Cow<'a, str>,
}

/// Who comes first, by priority.
fn favoured(ranks: impl Iterator<Item = Rank>) -> Vec<usize> {
    let mut order: Vec<(Option<usize>, usize)> = (ranks.enumerate())
        .filter_map(|(i, rank)| match rank {
            Rank::Pinned => Some((None, i)),
            Rank::Used(place) => Some((Some(place), i)),
            Rank::Rest => None,
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}
