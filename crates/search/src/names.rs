//! Words of names, for slips of the finger and for words that are not finished yet.

use super::part::{names, whole};
use super::segment::{Segment, small};
use super::tokens::{self, Kind};
use prowess_catalog::Skill;

/// A distinct word of a name that is near to what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Near {
    /// The word, as it is in the index.
    pub(super) term: Vec<u8>,
    /// How many letters differ.
    pub(super) distance: usize,
}

/// Every distinct word of a name, and every name in one piece, sorted.
#[derive(Debug, Default)]
pub(super) struct NameWords {
    text: Vec<u8>,
    words: Vec<Word>,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    /// Which letters it has, a bit each.
    letters: u32,
    from: u32,
    length: u8,
}

impl NameWords {
    /// Collects the words of a segment's names.
    pub(super) fn of(segment: &Segment) -> Self {
        let mut text = Vec::new();
        let mut places: Vec<(u32, u8)> = Vec::new();
        let mut push = |word: &[u8]| {
            if let (Ok(from), Ok(length)) = (u32::try_from(text.len()), u8::try_from(word.len())) {
                places.push((from, length));
                text.extend_from_slice(word);
            }
        };
        for skill in segment.skills.iter().flatten() {
            for name in names(skill) {
                tokens::each(name, |word, _| push(word));
                push(&whole(name));
            }
        }
        let word = |place: &(u32, u8)| {
            let from = place.0 as usize;
            &text[from..from + usize::from(place.1)]
        };
        places.sort_unstable_by(|one, other| word(one).cmp(word(other)));
        places.dedup_by(|one, other| word(one) == word(other));
        let mut all = Self::default();
        for place in &places {
            let from = small(all.text.len());
            all.words.push(Word { letters: letters(word(place)), from, length: place.1 });
            all.text.extend_from_slice(word(place));
        }
        all
    }

    /// Returns the nearest words that could have been meant, at most `most`, nearest first.
    pub(super) fn near(&self, typed: &[u8], most: usize) -> Vec<Near> {
        let limit = match typed.len() {
            0..4 => return Vec::new(),
            4..8 => 1,
            _ => 2,
        };
        if !typed.is_ascii() {
            return Vec::new();
        }
        let wanted = letters(typed);
        let mut found = Vec::new();
        for word in &self.words {
            let apart =
                (wanted & !word.letters).count_ones().max((word.letters & !wanted).count_ones());
            if apart as usize > limit || usize::from(word.length).abs_diff(typed.len()) > limit {
                continue;
            }
            let text = self.text_of(word);
            // The first letter is nearly always right, and without it chance takes over.
            if text.first() != typed.first() {
                continue;
            }
            if let Some(distance) = distance(typed, text, limit).filter(|distance| *distance > 0) {
                found.push(Near { term: self.term_of(word), distance });
            }
        }
        found.sort_by(|one, other| {
            one.distance.cmp(&other.distance).then_with(|| one.term.cmp(&other.term))
        });
        found.dedup();
        found.truncate(most);
        found
    }

    /// Returns the words of the index whose names begin so, at most `most`.
    pub(super) fn beginning(&self, prefix: &[u8], most: usize) -> Vec<Vec<u8>> {
        let from = self.words.partition_point(|word| self.text_of(word) < prefix);
        self.words[from..]
            .iter()
            .take_while(|word| self.text_of(word).starts_with(prefix))
            .take(most)
            .map(|word| self.term_of(word))
            .collect()
    }

    pub(super) fn size(&self) -> usize {
        self.text.len() + self.words.len() * size_of::<Word>()
    }

    fn text_of(&self, word: &Word) -> &[u8] {
        let from = word.from as usize;
        &self.text[from..from + usize::from(word.length)]
    }

    fn term_of(&self, word: &Word) -> Vec<u8> {
        tokens::stemmed(self.text_of(word))
    }
}

/// How many distinct words the longer name of a skill has that say something; at least one.
pub(super) fn name_length(skill: &Skill) -> u8 {
    names(skill).map(count_words).max().unwrap_or(1)
}

fn count_words(name: &str) -> u8 {
    let mut words: Vec<Vec<u8>> = Vec::new();
    tokens::each(name, |word, kind| {
        let stem = tokens::stemmed(word);
        if kind != Kind::Part
            && !tokens::is_stop_word(word)
            && !words.contains(&stem)
            && words.len() < 32
        {
            words.push(stem);
        }
    });
    u8::try_from(words.len()).unwrap_or(u8::MAX).max(1)
}

fn letters(word: &[u8]) -> u32 {
    word.iter().fold(0, |bits, byte| bits | 1 << (byte & 31))
}

/// How many letters differ, swapped neighbours counting once; nothing if more than `limit`.
fn distance(one: &[u8], other: &[u8], limit: usize) -> Option<usize> {
    const MAX: usize = tokens::MAX_WORD + 1;
    if one.len() >= MAX || other.len() >= MAX {
        return None;
    }
    // Three rows take turns: this one, the last, and the one before for swapped neighbours.
    let mut rows = [[0_u8; MAX]; 3];
    for (cell, at) in rows[0].iter_mut().zip(0..) {
        *cell = at;
    }
    for (i, letter) in (1..).zip(one) {
        let (row, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[row][0] = rows[last][0] + 1;
        let mut least = rows[row][0];
        for (j, against) in (1..).zip(other) {
            let same = letter == against;
            let mut cost = (rows[last][j] + 1)
                .min(rows[row][j - 1] + 1)
                .min(rows[last][j - 1] + u8::from(!same));
            if i > 1 && j > 1 && *letter == other[j - 2] && one[i - 2] == *against {
                cost = cost.min(rows[before][j - 2] + 1);
            }
            rows[row][j] = cost;
            least = least.min(cost);
        }
        if usize::from(least) > limit {
            return None;
        }
    }
    let found = usize::from(rows[one.len() % 3][other.len()]);
    (found <= limit).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (one, other, expected) in [
            ("kubernetes", "kubernetes", Some(0)),
            ("kubernets", "kubernetes", Some(1)),
            ("kuberentes", "kubernetes", Some(1)),
            ("docker", "docket", Some(1)),
            ("abcd", "", None),
            ("pdf", "xls", None),
            ("a", "abc", Some(2)),
        ] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes(), 2), expected, "{one} {other}");
            assert_eq!(distance(other.as_bytes(), one.as_bytes(), 2), expected, "{other} {one}");
        }
    }
}
