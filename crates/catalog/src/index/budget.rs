//! The budget of the index and its distribution.
//!
//! Costs are counted in *units*: a quarter of a token, or a character. Units are additive, so a
//! line has the same cost at any position, and lines whose costs fit form a text that fits.

/// Default size of a context window, in tokens.
pub const DEFAULT_WINDOW: usize = 200_000;
/// Share of the context window that the index may take.
pub const DEFAULT_FRACTION: f64 = 0.01;
/// Maximum length of one description, in characters.
pub const DEFAULT_ENTRY_CHARS: usize = 1536;

/// Minimum units for a description; a shorter one would be useless and is omitted.
pub(super) const LEAST: usize = 64;
/// Minimum units for the description of a favoured skill: about 25 words.
pub(super) const LEAST_FAVOURED: usize = 160;

/// The maximum length of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexBudget {
    /// The limit for the whole text.
    pub limit: IndexLimit,
    /// Maximum length of one description, in characters.
    pub entry_chars: usize,
}

/// The maximum length of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexLimit {
    /// Number of tokens, as estimated by `prowess_spec::tokens`.
    Tokens(usize),
    /// Number of characters.
    Characters(usize),
    /// No limit.
    Unlimited,
}

impl IndexBudget {
    /// Allows a share of a context window. A fraction outside (0, 1] is replaced by the default.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a window has far fewer tokens than a float has digits"
    )]
    pub fn of_window(tokens: usize, fraction: f64) -> Self {
        let sound = fraction > 0.0 && fraction <= 1.0;
        let fraction = if sound { fraction } else { DEFAULT_FRACTION };
        let tokens = (tokens as f64 * fraction).round() as usize;
        Self {
            limit: IndexLimit::Tokens(tokens),
            entry_chars: DEFAULT_ENTRY_CHARS,
        }
    }

    /// Allows a number of characters, regardless of their tokens.
    pub fn of_characters(characters: usize) -> Self {
        Self {
            limit: IndexLimit::Characters(characters),
            entry_chars: DEFAULT_ENTRY_CHARS,
        }
    }

    /// Allows any length, with complete descriptions.
    pub fn unlimited() -> Self {
        Self {
            limit: IndexLimit::Unlimited,
            entry_chars: usize::MAX,
        }
    }
}

impl Default for IndexBudget {
    fn default() -> Self {
        Self::of_window(DEFAULT_WINDOW, DEFAULT_FRACTION)
    }
}

impl IndexLimit {
    /// Returns the limit in units.
    pub(super) fn units(self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.saturating_mul(4),
            Self::Characters(characters) => characters,
            Self::Unlimited => usize::MAX,
        }
    }

    /// Returns the units of a character.
    pub(super) fn of_char(self, c: char) -> usize {
        let dense = matches!(self, Self::Tokens(_)) && ('\u{3000}'..='\u{d7ff}').contains(&c);
        if dense { 4 } else { 1 }
    }

    /// Returns the units of a text.
    pub(super) fn of(self, text: &str) -> usize {
        if text.is_ascii() {
            text.len()
        } else {
            text.chars().map(|c| self.of_char(c)).sum()
        }
    }

    /// Converts units to the measure of the limit: tokens or characters.
    pub(super) fn used(self, units: usize) -> usize {
        match self {
            Self::Tokens(_) => units.div_ceil(4),
            Self::Characters(_) | Self::Unlimited => units,
        }
    }
}

/// Chooses what to show if not everything fits. Items that `taken` marks are not chosen; it may be
/// shorter than `costs`.
///
/// The `favoured` items come first, by priority, with at most `favoured_room`. The others share the
/// rest in pages: each item is on exactly one page, and `rotation` selects the page. After as many
/// rotations as there are pages, every item was shown, unless it needs more than that room alone.
pub(super) fn select(
    costs: &[usize],
    taken: &[bool],
    favoured: &[usize],
    favoured_room: usize,
    room: usize,
    rotation: u64,
) -> Vec<bool> {
    // There may be a hundred thousand items, so no list of the free ones is built.
    let is_free = |i: usize| !taken.get(i).copied().unwrap_or(false);
    let free = (0..costs.len()).filter(|&i| is_free(i));
    let total = free.fold(0usize, |sum, i| sum.saturating_add(costs[i]));
    if total <= room {
        return (0..costs.len()).map(is_free).collect();
    }
    let mut chosen = vec![false; costs.len()];
    let mut used = 0;
    for &i in favoured {
        if used + costs[i] <= favoured_room.min(room) {
            used += costs[i];
            chosen[i] = true;
        }
    }
    let room = room - used;
    let is_candidate = |chosen: &[bool], i: usize| is_free(i) && !chosen[i] && costs[i] <= room;
    // The first item of each page.
    let mut pages = Vec::new();
    let mut filled = usize::MAX;
    for i in (0..costs.len()).filter(|&i| is_candidate(&chosen, i)) {
        if filled.saturating_add(costs[i]) > room {
            pages.push(i);
            filled = 0;
        }
        filled += costs[i];
    }
    if pages.is_empty() {
        return chosen;
    }
    let page = usize::try_from(rotation % pages.len() as u64).unwrap_or(0);
    let start = pages[page];
    // Fill the rest of the last page with items from the first.
    let mut left = room;
    for i in (start..costs.len()).chain(0..start) {
        if !is_candidate(&chosen, i) {
            continue;
        }
        if costs[i] > left {
            break;
        }
        left -= costs[i];
        chosen[i] = true;
    }
    chosen
}

/// The claim of a description on the room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The units of the complete description.
    pub(super) want: usize,
    /// The units that it gets in any case.
    pub(super) least: usize,
    /// Its share of the rest.
    pub(super) weight: usize,
}

/// Distributes room among descriptions. None gets more than it wants, and the sum does not exceed
/// the room. Each gets its minimum if the room allows; the rest is distributed in proportion to the
/// weights, and what a short description does not need goes to the others.
pub(super) fn share(claims: &[Claim], room: usize) -> Vec<usize> {
    let mut grants: Vec<usize> = claims
        .iter()
        .map(|claim| claim.least.min(claim.want))
        .collect();
    let mut room = room.saturating_sub(grants.iter().sum());
    let missing: Vec<usize> = (claims.iter().zip(&grants))
        .map(|(claim, grant)| claim.want - grant)
        .collect();
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // Multiplied by four, so that dividing by a weight is exact.
    order.sort_unstable_by_key(|&i| (missing[i].saturating_mul(4) / claims[i].weight.max(1), i));
    let mut weights: usize = claims.iter().map(|claim| claim.weight).sum();
    for i in order {
        let weight = claims[i].weight;
        // Wants increase in this order, so the level never falls.
        let grant = missing[i].min(room / weights.max(1) * weight);
        grants[i] += grant;
        room -= grant;
        weights -= weight;
    }
    grants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_200k_allows_8000_characters() {
        let budget = IndexBudget::default();
        assert_eq!(budget, IndexBudget::of_window(200_000, 0.01));
        assert_eq!(
            (budget.limit, budget.limit.units()),
            (IndexLimit::Tokens(2000), 8000)
        );
        for fraction in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(IndexBudget::of_window(200_000, fraction), budget);
        }
        assert_eq!(
            IndexBudget::of_window(1_000_000, 1.0).limit,
            IndexLimit::Tokens(1_000_000)
        );
    }

    #[test]
    fn units_are_quarters_of_the_estimate() {
        for text in ["", "abcde", "技能", "naïve 技能…", "かな한글"] {
            let units = IndexLimit::Tokens(0).of(text);
            assert_eq!(
                units.div_ceil(4),
                prowess_spec::tokens::estimate(text),
                "{text}"
            );
            assert_eq!(IndexLimit::Characters(0).of(text), text.chars().count());
        }
    }

    fn claim(want: usize, weight: usize) -> Claim {
        let least = 32;
        Claim {
            want,
            least,
            weight,
        }
    }

    #[test]
    fn equal_items_share_equally_and_short_ones_leave_the_rest() {
        let check = |wants: &[usize], room: usize, expected: &[usize]| {
            let claims: Vec<Claim> = wants.iter().map(|&want| claim(want, 1)).collect();
            assert_eq!(share(&claims, room), expected);
        };
        check(&[], 100, &[]);
        check(&[500, 500], 1000, &[500, 500]);
        check(&[500, 500], 400, &[200, 200]);
        check(&[10, 500, 300, 900], 1000, &[10, 345, 300, 345]);
        check(&[900, 10], 1000, &[900, 10]);
    }

    #[test]
    fn weight_gives_more_but_not_everything() {
        let claims = [claim(900, 4), claim(900, 1), claim(900, 1)];
        assert_eq!(share(&claims, 696), [432, 132, 132]);
    }

    #[test]
    fn every_item_is_on_a_page() {
        let costs: Vec<usize> = (0..97).map(|i| 10 + i * 7 % 23).collect();
        let favoured = [3, 5, 7, 11, 13, 17, 19, 23, 29];
        let mut seen = vec![false; costs.len()];
        for rotation in 0..costs.len() as u64 {
            let chosen = select(&costs, &[], &favoured, 60, 120, rotation);
            let used: usize = costs
                .iter()
                .zip(&chosen)
                .map(|(cost, on)| cost * usize::from(*on))
                .sum();
            assert!(used <= 120 && used > 80, "{used}");
            assert!(chosen[3], "the most favoured item is always shown");
            for (seen, chosen) in seen.iter_mut().zip(chosen) {
                *seen |= chosen;
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn oversized_item_does_not_block_others() {
        assert_eq!(
            select(&[10, 500, 10], &[], &[1], 15, 30, 0),
            [true, false, true]
        );
        let taken = [true, false];
        assert_eq!(
            select(&[10, 10, 10], &taken, &[], 15, 15, 1),
            [false, false, true]
        );
        assert_eq!(
            select(&[10, 10, 10], &taken, &[], 15, 20, 0),
            [false, true, true]
        );
        assert_eq!(select(&[500], &[], &[], 15, 30, 7), [false]);
        assert_eq!(select(&[], &[], &[], 0, 0, 0), [] as [bool; 0]);
    }
}
