//! Compares a query with the name, the description and `when_to_use` of the best candidates, word
//! by word: adjacent words of the query that are adjacent there too raise the score, and the words
//! that occur there tell how well the skill fits.

use prowess_catalog::Skill;

use super::document::{MAX_DESCRIPTION, cut, names};
use super::query_terms::{Plan, is_short_number};
use super::segment::{NAME, small};
use super::tokens::{self, TermKey, TokenKind};

/// The words of a query, prepared for comparison.
#[derive(Debug)]
pub(super) struct HeadMatcher<'p> {
    plan: &'p Plan,
    /// Open-addressing hash table from a term to the number of its query word. Its size is a power
    /// of two and it is at most a quarter full; `None` is free.
    table: Vec<Option<(TermKey, u16)>>,
    /// Adjacent words of the query, sorted.
    pairs: Vec<(u16, u16)>,
    /// For each word of the query, `true` if the head contains it.
    met: Vec<bool>,
    found: Vec<FoundPair>,
}

/// Two adjacent words of the query that are adjacent in a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FoundPair {
    pub(super) first: u16,
    pub(super) second: u16,
    pub(super) field: usize,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadMatch {
    /// The sum of the rarity of all adjacent words.
    pub(super) phrases: f32,
    /// The share of the information in the query that the head contains.
    pub(super) share: f32,
}

impl<'p> HeadMatcher<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let terms: usize = plan.words.iter().map(|word| word.terms.len()).sum();
        let mut matcher = Self {
            plan,
            table: vec![None; (terms * 4).next_power_of_two().max(16)],
            pairs: Vec::new(),
            met: vec![false; plan.words.len()],
            found: Vec::new(),
        };
        for (number, word) in (0..).zip(&plan.words) {
            for term in &word.terms {
                let at = matcher.place(key(term));
                // The first word of the query with this form wins.
                matcher.table[at].get_or_insert((key(term), number));
            }
        }
        for pair in plan.sequence.windows(2) {
            if let [first, second] = pair
                && first != second
            {
                matcher.pairs.push((*first, *second));
            }
        }
        matcher.pairs.sort_unstable();
        matcher.pairs.dedup();
        matcher
    }

    /// Compares the query with a skill.
    pub(super) fn compare(&mut self, skill: &Skill) -> HeadMatch {
        self.met.fill(false);
        self.found.clear();
        for name in names(skill) {
            self.scan(NAME, name);
        }
        self.scan(1, &skill.description);
        if let Some(when) = &skill.when_to_use {
            self.scan(2, when);
        }
        let rarity = |pair: &FoundPair| self.plan.pair_rarity(pair.first, pair.second);
        HeadMatch {
            phrases: self.found.iter().map(rarity).sum(),
            share: self.share(),
        }
    }

    /// Returns the pairs found by the last comparison.
    pub(super) fn found(&self) -> &[FoundPair] {
        &self.found
    }

    /// Returns the share of the information in the query that the head contains.
    fn share(&self) -> f32 {
        let (mut met, mut all) = (0.0, 0.0);
        for (word, found) in self.plan.words.iter().zip(&self.met) {
            all += word.idf;
            if *found {
                met += word.idf;
            }
        }
        if met > 0.0 { met / all } else { 0.0 }
    }

    fn scan(&mut self, field: usize, text: &str) {
        let mut previous = None;
        let numbers = self.plan.numbers;
        let Self {
            table,
            pairs,
            met,
            found,
            ..
        } = self;
        tokens::each(cut(text, MAX_DESCRIPTION), |word, kind| {
            let is_dropped = tokens::is_stop_word(word) || (!numbers && is_short_number(word));
            if kind == TokenKind::Part || is_dropped {
                return;
            }
            let length = tokens::stem(word);
            let key = key(&word[..length]);
            let number = table[place_in(table, key)].map(|(_, number)| number);
            if let Some(number) = number {
                met[usize::from(number)] = true;
                if let Some(before) = previous
                    && pairs.binary_search(&(before, number)).is_ok()
                    && !found
                        .iter()
                        .any(|pair| (pair.first, pair.second) == (before, number))
                {
                    found.push(FoundPair {
                        first: before,
                        second: number,
                        field,
                    });
                }
            }
            previous = number;
        });
    }

    fn place(&self, key: TermKey) -> usize {
        place_in(&self.table, key)
    }
}

/// Returns the slot of a key, or the free slot for it.
fn place_in(table: &[Option<(TermKey, u16)>], key: TermKey) -> usize {
    let mask = table.len() - 1;
    let mixed = (key[0] ^ key[1].rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut at = usize::try_from(mixed >> 40).unwrap_or(0) & mask;
    while table[at].is_some_and(|(known, _)| known != key) {
        at = (at + 1) & mask;
    }
    at
}

/// Packs a term; of a longer one, its hash.
fn key(term: &[u8]) -> TermKey {
    if let Some(key) = tokens::short_key(term) {
        return key;
    }
    let hash = term.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    [hash, u64::from(small(term.len())) | 255 << 56]
}
