//! Decides which skills get a line and how much of each description is shown.

use std::borrow::Cow;

use super::budget::{self, IndexBudget, IndexLimit};
use super::{EntryOutcome, EntryRank, IndexFormat, NameOnlyReason, ShorteningReason, text};
use crate::skill::Skill;

/// The lines to lay out.
pub(super) struct Lines {
    format: IndexFormat,
    /// Units of each line without its description.
    costs: Vec<usize>,
    /// Units of the markup around a description.
    around: usize,
}

/// A line that is shown.
pub(super) struct ShownLine<'a> {
    pub(super) line: usize,
    pub(super) fate: EntryOutcome,
    pub(super) description: Option<Cow<'a, str>>,
}

impl Lines {
    /// Creates lines from the units of their names.
    pub(super) fn new(
        format: IndexFormat,
        limit: IndexLimit,
        names: impl Iterator<Item = usize>,
    ) -> Self {
        let (bare, around) = format.frame(limit);
        Self {
            format,
            costs: names.map(|units| bare + units).collect(),
            around,
        }
    }

    /// Returns the units of all lines without descriptions.
    pub(super) fn cost(&self) -> usize {
        self.costs.iter().sum()
    }

    /// Distributes the room: names first, then descriptions. `rank` returns the priority of a line,
    /// `skill` the skill whose description it shows, if any. Returns the lines that fit, in order.
    pub(super) fn layout<'a>(
        &self,
        budget: IndexBudget,
        room: usize,
        rotation: u64,
        rank: impl Fn(usize) -> EntryRank,
        skill: impl Fn(usize) -> Option<&'a Skill>,
    ) -> Vec<ShownLine<'a>> {
        let (format, limit, around) = (self.format, budget.limit, self.around);
        let ranks = (0..self.costs.len()).map(&rank);
        let named = budget::select(&self.costs, &favoured(ranks), room, rotation);
        let named: Vec<usize> = (0..self.costs.len()).filter(|&line| named[line]).collect();
        let room = room - named.iter().map(|&line| self.costs[line]).sum::<usize>();

        let mut laid = Vec::with_capacity(named.len());
        let mut described = Vec::new();
        for line in named {
            let fate = match skill(line).map(text::description) {
                None => EntryOutcome::NameOnly(NameOnlyReason::Asked),
                Some(text) if text.is_empty() => {
                    EntryOutcome::NameOnly(NameOnlyReason::NoDescription)
                }
                Some(text) => {
                    let most = (budget.entry_chars, usize::MAX);
                    let want = text::shorten(&text, format, limit, most)
                        .map(|capped| text::units(&capped, format, limit));
                    let place = laid.len();
                    described.extend(want.map(|want| PendingDescription {
                        place,
                        line,
                        want,
                        text,
                    }));
                    EntryOutcome::NameOnly(NameOnlyReason::NoRoom)
                }
            };
            laid.push(ShownLine {
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
        let weight = |one: &PendingDescription<'_>| budget::weight(rank(one.line));
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
            // A shortened text is owned.
            if let Cow::Owned(short) = short {
                let why = if budgeted {
                    ShorteningReason::Budget
                } else {
                    ShorteningReason::Entry
                };
                let (from, to) = (one.text.chars().count(), short.chars().count());
                target.fate = EntryOutcome::Shortened { from, to, why };
                target.description = Some(Cow::Owned(short));
            } else {
                target.fate = EntryOutcome::Whole;
                target.description = Some(one.text);
            }
        }
        laid
    }
}

/// A description that may be shown.
struct PendingDescription<'a> {
    /// Its index among the shown lines.
    place: usize,
    line: usize,
    /// The units of the complete description.
    want: usize,
    /// The complete description.
    text: Cow<'a, str>,
}

/// Returns the ranked items, highest priority first.
fn favoured(ranks: impl Iterator<Item = EntryRank>) -> Vec<usize> {
    let mut order: Vec<(Option<usize>, usize)> = (ranks.enumerate())
        .filter_map(|(i, rank)| match rank {
            EntryRank::Pinned => Some((None, i)),
            EntryRank::Used(place) => Some((Some(place), i)),
            EntryRank::Rest => None,
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}
