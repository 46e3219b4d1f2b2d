//! Decides which skills get a line and how much of each description is shown.
//!
//! Half of the room is for the *favoured* skills, with their descriptions: pinned ones, those of the
//! project, and those in use. The other half, and what the favoured skills leave, is for the names
//! of the others. Room that remains after all names is shared by the descriptions.

use std::borrow::Cow;

use super::budget::{self, Claim, IndexBudget, IndexLimit, LEAST, LEAST_FAVOURED};
use super::{EntryOutcome, IndexFormat, NameOnlyReason, ShorteningReason, text};
use crate::skill::Skill;

/// Number of favoured skills of one kind that may fail to fit before the rest of the kind is
/// skipped. A project may have thousands of skills.
const MAX_MISSES: usize = 16;

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

/// The priority of a line, highest first. The number is the place among the used skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    Pinned,
    Project(usize),
    Used(usize),
    Rest,
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

    /// Distributes the room. `priority` returns the priority of a line, `skill` the skill whose
    /// description it shows, if any. Returns the lines that fit, in order.
    pub(super) fn layout<'a>(
        &self,
        budget: IndexBudget,
        room: usize,
        rotation: u64,
        priority: impl Fn(usize) -> Priority,
        skill: impl Fn(usize) -> Option<&'a Skill>,
    ) -> Vec<ShownLine<'a>> {
        let describe = |line: usize| self.pending(line, budget, skill(line));
        let mut favoured: Vec<(Priority, usize)> = (0..self.costs.len())
            .map(|line| (priority(line), line))
            .filter(|(priority, _)| *priority != Priority::Rest)
            .collect();
        favoured.sort_unstable();

        let reserve = room / 2;
        let mut described = self.reserve(&favoured, reserve, describe);
        let mut is_described = vec![false; self.costs.len()];
        for one in &described {
            is_described[one.line] = true;
        }
        let others = self.costs.len() - described.len();

        let lines: usize = described.iter().map(|one| self.frame(one.line)).sum();
        let least: usize = described.iter().map(PendingDescription::least).sum();
        let bare: usize = described.iter().map(|one| self.costs[one.line]).sum();
        let names = self.cost() - bare;
        // If all names fit, descriptions leave room for them. Otherwise they may use the reserve.
        let fits = lines + least + names <= room;
        let for_descriptions = if fits {
            (reserve - lines).min(room - lines - names)
        } else {
            reserve - lines
        };
        grant(&mut described, for_descriptions);
        let granted: usize = described.iter().map(|one| one.grant).sum();

        let used = lines + granted;
        let first: Vec<usize> = (favoured.iter())
            .filter_map(|&(_, line)| (!is_described[line]).then_some(line))
            .collect();
        let favoured_room = reserve.saturating_sub(used);
        let is_named = budget::select(
            &self.costs,
            &is_described,
            &first,
            favoured_room,
            room - used,
            rotation,
        );
        let named: Vec<usize> = (0..self.costs.len())
            .filter(|&line| is_named[line])
            .collect();
        let mut room = room - used - named.iter().map(|&line| self.costs[line]).sum::<usize>();

        if named.len() == others {
            // Then some of them get a description, in turn if there is no room for all.
            let mut more: Vec<PendingDescription<'_>> =
                named.iter().filter_map(|&line| describe(line)).collect();
            let costs: Vec<usize> = more.iter().map(|one| self.around + one.least()).collect();
            let mut order: Vec<(Priority, usize)> = (more.iter().enumerate())
                .map(|(at, one)| (priority(one.line), at))
                .filter(|(priority, _)| *priority != Priority::Rest)
                .collect();
            order.sort_unstable();
            let first: Vec<usize> = order.into_iter().map(|(_, at)| at).collect();
            let mut chosen =
                budget::select(&costs, &[], &first, room / 2, room, rotation).into_iter();
            more.retain(|_| chosen.next().unwrap_or(false));
            room -= self.around * more.len();
            described.append(&mut more);
        }
        grant(&mut described, granted + room);

        for one in &described {
            is_described[one.line] = true;
        }
        let mut shown: Vec<ShownLine<'a>> = named
            .into_iter()
            .filter(|&line| !is_described[line])
            .map(|line| ShownLine {
                line,
                fate: EntryOutcome::NameOnly(name_only(skill(line))),
                description: None,
            })
            .collect();
        shown.extend(described.into_iter().map(|one| self.shown(one, budget)));
        shown.sort_unstable_by_key(|shown| shown.line);
        shown
    }

    /// Returns the favoured skills that get a description within the reserve. Those of the project
    /// take at most three quarters of it, so that a large project does not displace what is in use.
    fn reserve<'a>(
        &self,
        favoured: &[(Priority, usize)],
        reserve: usize,
        describe: impl Fn(usize) -> Option<PendingDescription<'a>>,
    ) -> Vec<PendingDescription<'a>> {
        let (mut described, mut used, mut misses) = (Vec::new(), 0, 0);
        let mut is_use = false;
        for &(priority, line) in favoured {
            if !is_use && matches!(priority, Priority::Used(_)) {
                (is_use, misses) = (true, 0);
            }
            if misses == MAX_MISSES {
                continue;
            }
            let most = if is_use {
                reserve
            } else {
                reserve - reserve / 4
            };
            let Some(one) = describe(line) else { continue };
            let one = PendingDescription {
                is_favoured: true,
                ..one
            };
            let cost = self.frame(line) + one.least();
            if used + cost <= most {
                used += cost;
                described.push(one);
            } else {
                misses += 1;
            }
        }
        described
    }

    /// Returns the units of a line with an empty description.
    fn frame(&self, line: usize) -> usize {
        self.costs[line] + self.around
    }

    /// Returns the description of a line, if it has one that can be shown.
    fn pending<'a>(
        &self,
        line: usize,
        budget: IndexBudget,
        skill: Option<&'a Skill>,
    ) -> Option<PendingDescription<'a>> {
        let text = skill
            .map(text::description)
            .filter(|text| !text.is_empty())?;
        let most = (budget.entry_chars, usize::MAX);
        let capped = text::shorten(&text, self.format, budget.limit, most)?;
        let want = text::units(&capped, self.format, budget.limit);
        Some(PendingDescription {
            line,
            want,
            grant: 0,
            is_favoured: false,
            text,
        })
    }

    /// Shortens a description to its grant.
    fn shown<'a>(&self, one: PendingDescription<'a>, budget: IndexBudget) -> ShownLine<'a> {
        let budgeted = one.grant < one.want;
        let units = if budgeted { one.grant } else { usize::MAX };
        let most = (budget.entry_chars, units);
        let line = one.line;
        let (fate, description) = match text::shorten(&one.text, self.format, budget.limit, most) {
            None => (EntryOutcome::NameOnly(NameOnlyReason::NoRoom), None),
            // A shortened text is owned.
            Some(Cow::Owned(short)) => {
                let why = if budgeted {
                    ShorteningReason::Budget
                } else {
                    ShorteningReason::Entry
                };
                let (from, to) = (one.text.chars().count(), short.chars().count());
                let fate = EntryOutcome::Shortened { from, to, why };
                (fate, Some(Cow::Owned(short)))
            }
            Some(Cow::Borrowed(_)) => (EntryOutcome::Whole, Some(one.text)),
        };
        ShownLine {
            line,
            fate,
            description,
        }
    }
}

/// A description that may be shown.
struct PendingDescription<'a> {
    line: usize,
    /// The units of the complete description.
    want: usize,
    /// The units that it gets.
    grant: usize,
    is_favoured: bool,
    /// The complete description.
    text: Cow<'a, str>,
}

impl PendingDescription<'_> {
    /// Returns the minimum units: all of a short description, else enough to be useful.
    fn least(&self) -> usize {
        let least = if self.is_favoured {
            LEAST_FAVOURED
        } else {
            LEAST
        };
        self.want.min(least)
    }
}

/// Distributes room among descriptions. None gets less than before.
fn grant(described: &mut [PendingDescription<'_>], room: usize) {
    let claims: Vec<Claim> = described
        .iter()
        .map(|one| Claim {
            want: one.want,
            least: one.grant.max(one.least()),
            weight: if one.is_favoured { 4 } else { 1 },
        })
        .collect();
    for (one, grant) in described.iter_mut().zip(budget::share(&claims, room)) {
        one.grant = grant;
    }
}

/// Returns the reason why a line has no description.
fn name_only(skill: Option<&Skill>) -> NameOnlyReason {
    match skill {
        None => NameOnlyReason::Asked,
        Some(skill) if text::has_description(skill) => NameOnlyReason::NoRoom,
        Some(_) => NameOnlyReason::NoDescription,
    }
}
