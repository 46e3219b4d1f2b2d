//! How much room there is, and who gets how much of it.
//!
//! Everything is counted in *units*: a quarter of a token, or a character. Both add up exactly, so
//! a line costs the same wherever it stands, and a sum that fits is a text that fits.

use super::Rank;

/// Tokens of a context window, where nobody says how large it is.
pub const DEFAULT_WINDOW: usize = 200_000;
/// Part of the context window that the index may take.
pub const DEFAULT_FRACTION: f64 = 0.01;
/// Most characters of one description.
pub const DEFAULT_ENTRY_CHARS: usize = 1536;

/// Units that a description gets at least; with less it would say nothing, and gets none.
const LEAST: usize = 32;

/// How long an index may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The whole text.
    pub limit: Limit,
    /// Most characters of one description.
    pub entry_chars: usize,
}

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many tokens, as `prowess_spec::tokens` estimates them.
    Tokens(usize),
    /// So many characters.
    Characters(usize),
    /// As long as it gets.
    Unlimited,
}

impl Budget {
    /// Allows a part of a context window. A fraction that is not above 0 and at most 1 counts as
    /// the default.
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
            limit: Limit::Tokens(tokens),
            entry_chars: DEFAULT_ENTRY_CHARS,
        }
    }

    /// Allows so many characters, whatever they cost in tokens.
    pub fn of_characters(characters: usize) -> Self {
        Self {
            limit: Limit::Characters(characters),
            entry_chars: DEFAULT_ENTRY_CHARS,
        }
    }

    /// Allows everything, and descriptions as they are.
    pub fn unlimited() -> Self {
        Self {
            limit: Limit::Unlimited,
            entry_chars: usize::MAX,
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_window(DEFAULT_WINDOW, DEFAULT_FRACTION)
    }
}

impl Limit {
    /// The limit in units.
    pub(super) fn units(self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.saturating_mul(4),
            Self::Characters(characters) => characters,
            Self::Unlimited => usize::MAX,
        }
    }

    /// The units of a character.
    pub(super) fn of_char(self, c: char) -> usize {
        let dense = matches!(self, Self::Tokens(_)) && ('\u{3000}'..='\u{d7ff}').contains(&c);
        if dense { 4 } else { 1 }
    }

    /// The units of a text.
    pub(super) fn of(self, text: &str) -> usize {
        if text.is_ascii() {
            text.len()
        } else {
            text.chars().map(|c| self.of_char(c)).sum()
        }
    }

    /// Units as the limit counts: tokens, or characters.
    pub(super) fn used(self, units: usize) -> usize {
        match self {
            Self::Tokens(_) => units.div_ceil(4),
            Self::Characters(_) | Self::Unlimited => units,
        }
    }
}

/// How much more of its description a skill may show than one that nobody uses.
pub(super) fn weight(rank: Rank) -> usize {
    match rank {
        Rank::Pinned | Rank::Used(0..=3) => 4,
        Rank::Used(4..=15) => 2,
        Rank::Used(_) | Rank::Rest => 1,
    }
}

/// Chooses what is shown where not everything can be.
///
/// The `favoured` come first, by priority, but take at most half of the room. The others share the
/// rest page by page: each one stands on exactly one page, and `rotation` says which page it is. So
/// after as many rotations as there are pages each one was shown, unless it needs more than half of
/// the room for itself.
pub(super) fn select(costs: &[usize], favoured: &[usize], room: usize, rotation: u64) -> Vec<bool> {
    let total = costs
        .iter()
        .fold(0usize, |sum, cost| sum.saturating_add(*cost));
    if total <= room {
        return vec![true; costs.len()];
    }
    let mut chosen = vec![false; costs.len()];
    let mut used = 0;
    for &i in favoured {
        if used + costs[i] <= room / 2 {
            used += costs[i];
            chosen[i] = true;
        }
    }
    let room = room - used;
    let ring: Vec<usize> = (0..costs.len())
        .filter(|&i| !chosen[i] && costs[i] <= room)
        .collect();
    let mut pages = Vec::new();
    let mut filled = usize::MAX;
    for (at, &i) in ring.iter().enumerate() {
        if filled.saturating_add(costs[i]) > room {
            pages.push(at);
            filled = 0;
        }
        filled += costs[i];
    }
    if pages.is_empty() {
        return chosen;
    }
    let page = usize::try_from(rotation % pages.len() as u64).unwrap_or(0);
    let start = pages[page];
    // The last page has room for some of the first again.
    let mut left = room;
    for &i in ring[start..].iter().chain(&ring[..start]) {
        if costs[i] > left {
            break;
        }
        left -= costs[i];
        chosen[i] = true;
    }
    chosen
}

/// What a description costs at least: all of it, or what says something.
pub(super) fn least(want: usize) -> usize {
    want.min(LEAST)
}

/// Shares room out among descriptions. Each one is `(wanted units, weight)`; the answer has no more
/// than is wanted, and sums up to no more than the room. Everybody gets the least, if the room is
/// large enough for that; what is left rises like water: all get the same for each weight, and what
/// a short one does not need goes to the others.
pub(super) fn share(wants: &[(usize, usize)], room: usize) -> Vec<usize> {
    let mut grants: Vec<usize> = wants.iter().map(|&(want, _)| least(want)).collect();
    let mut room = room.saturating_sub(grants.iter().sum());
    let mut order: Vec<usize> = (0..wants.len()).collect();
    let missing = |i: usize| wants[i].0 - least(wants[i].0);
    // Times four, so that dividing by a weight is exact.
    order.sort_unstable_by_key(|&i| (missing(i) * 4 / wants[i].1, i));
    let mut weights: usize = wants.iter().map(|&(_, weight)| weight).sum();
    for i in order {
        let weight = wants[i].1;
        // What is wanted grows along the order, so the level never falls.
        let grant = missing(i).min(room / weights.max(1) * weight);
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
        let budget = Budget::default();
        assert_eq!(budget, Budget::of_window(200_000, 0.01));
        assert_eq!(
            (budget.limit, budget.limit.units()),
            (Limit::Tokens(2000), 8000)
        );
        for fraction in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Budget::of_window(200_000, fraction), budget);
        }
        assert_eq!(
            Budget::of_window(1_000_000, 1.0).limit,
            Limit::Tokens(1_000_000)
        );
    }

    #[test]
    fn units_are_quarters_of_the_estimate() {
        for text in ["", "abcde", "技能", "naïve 技能…", "かな한글"] {
            let units = Limit::Tokens(0).of(text);
            assert_eq!(
                units.div_ceil(4),
                prowess_spec::tokens::estimate(text),
                "{text}"
            );
            assert_eq!(Limit::Characters(0).of(text), text.chars().count());
        }
    }

    #[test]
    fn equals_get_equal_shares_and_short_ones_leave_their_rest() {
        let check = |wants: &[usize], room: usize, expected: &[usize]| {
            let wants: Vec<(usize, usize)> = wants.iter().map(|&want| (want, 1)).collect();
            assert_eq!(share(&wants, room), expected);
        };
        check(&[], 100, &[]);
        check(&[500, 500], 1000, &[500, 500]);
        check(&[500, 500], 400, &[200, 200]);
        check(&[10, 500, 300, 900], 1000, &[10, 345, 300, 345]);
        check(&[900, 10], 1000, &[900, 10]);
    }

    #[test]
    fn weight_gives_more_but_never_all() {
        assert_eq!(share(&[(900, 4), (900, 1), (900, 1)], 696), [432, 132, 132]);
    }

    #[test]
    fn pages_reach_everyone() {
        let costs: Vec<usize> = (0..97).map(|i| 10 + i * 7 % 23).collect();
        let favoured = [3, 5, 7, 11, 13, 17, 19, 23, 29];
        let mut seen = vec![false; costs.len()];
        for rotation in 0..costs.len() as u64 {
            let chosen = select(&costs, &favoured, 120, rotation);
            let used: usize = costs
                .iter()
                .zip(&chosen)
                .map(|(cost, on)| cost * usize::from(*on))
                .sum();
            assert!(used <= 120 && used > 80, "{used}");
            assert!(chosen[3], "the most favoured one always stays");
            for (seen, chosen) in seen.iter_mut().zip(chosen) {
                *seen |= chosen;
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn what_needs_more_than_there_is_stops_nobody_else() {
        assert_eq!(select(&[10, 500, 10], &[1], 30, 0), [true, false, true]);
        assert_eq!(select(&[500], &[], 30, 7), [false]);
        assert_eq!(select(&[], &[], 0, 0), [] as [bool; 0]);
    }
}
