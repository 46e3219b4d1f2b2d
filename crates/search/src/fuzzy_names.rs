//! The words of skill names, for misspelt words and prefixes.

use super::document::{names, whole};
use super::segment::{Segment, small};
use super::tokens::{self, TokenKind};
use prowess_catalog::Skill;

/// A word of a name that is close to the query word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NearWord {
    /// The term in the index.
    pub(super) term: Vec<u8>,
    /// The number of letters that differ.
    pub(super) distance: usize,
}

/// Every distinct word of a name and every name without separators, sorted.
#[derive(Debug, Default)]
pub(super) struct NameWords {
    text: Vec<u8>,
    words: Vec<Word>,
    /// The documents of each word, concatenated.
    documents: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    /// The set of its letters as bits.
    letters: u32,
    from: u32,
    length: u8,
    /// Start of its documents; they end where those of the next word start.
    documents: u32,
}

impl NameWords {
    /// Collects the words of a segment's names.
    pub(super) fn of(segment: &Segment) -> Self {
        let mut text = Vec::new();
        let mut places: Vec<(u32, u8, u32)> = Vec::new();
        for (document, skill) in segment.skills.iter().enumerate() {
            let mut push = |word: &[u8]| {
                let (from, length) = (u32::try_from(text.len()), u8::try_from(word.len()));
                if let (Ok(from), Ok(length)) = (from, length) {
                    places.push((from, length, small(document)));
                    text.extend_from_slice(word);
                }
            };
            for name in skill.iter().flat_map(|skill| names(skill)) {
                tokens::each(name, |word, _| push(word));
                push(&whole(name));
            }
        }
        let word = |place: &(u32, u8, u32)| {
            let from = place.0 as usize;
            &text[from..from + usize::from(place.1)]
        };
        places.sort_unstable_by(|one, other| {
            word(one).cmp(word(other)).then_with(|| one.2.cmp(&other.2))
        });
        places.dedup_by(|one, other| word(one) == word(other) && one.2 == other.2);
        let mut all = Self::default();
        for same in places.chunk_by(|one, other| word(one) == word(other)) {
            let (from, documents) = (small(all.text.len()), small(all.documents.len()));
            let letters = letters(word(&same[0]));
            all.words.push(Word {
                letters,
                from,
                length: same[0].1,
                documents,
            });
            all.text.extend_from_slice(word(&same[0]));
            all.documents.extend(same.iter().map(|place| place.2));
        }
        all
    }

    /// Returns the number of bytes of the words, of words, and of their documents.
    pub(super) fn counts(&self) -> [u32; 3] {
        [
            small(self.text.len()),
            small(self.words.len()),
            small(self.documents.len()),
        ]
    }

    /// Returns the number of bytes that [`Self::write`] appends for such counts.
    pub(super) fn stored_size([text, words, documents]: [u32; 3]) -> Option<usize> {
        let [text, words, documents] = [text, words, documents].map(|count| count as usize);
        text.checked_add(words.checked_mul(5)?)?
            .checked_add(documents.checked_mul(4)?)
    }

    /// Serialises the words for a cache.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text);
        out.extend(self.words.iter().map(|word| word.length));
        let starts = self.words.iter().map(|word| word.documents);
        for number in starts.chain(self.documents.iter().copied()) {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Deserialises the words of an index with `limit` documents. Returns `None` if they are
    /// inconsistent.
    pub(super) fn read(bytes: &[u8], counts: [u32; 3], limit: usize) -> Option<Self> {
        if Self::stored_size(counts)? != bytes.len() {
            return None;
        }
        let [text, words, documents] = counts;
        let (text, rest) = bytes.split_at_checked(text as usize)?;
        let (lengths, rest) = rest.split_at_checked(words as usize)?;
        let (numbers, _) = rest.as_chunks();
        let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
        let (mut from, mut last) = (0, 0);
        let mut all = Self {
            text: text.to_vec(),
            words: Vec::with_capacity(lengths.len()),
            documents: Vec::new(),
        };
        for (&length, start) in lengths.iter().zip(&mut numbers) {
            let end = from + usize::from(length);
            if start < last || start > documents {
                return None;
            }
            last = start;
            all.words.push(Word {
                letters: letters(text.get(from..end)?),
                from: small(from),
                length,
                documents: start,
            });
            from = end;
        }
        all.documents.extend(numbers);
        let is_known = |document: &u32| (*document as usize) < limit;
        all.documents.iter().all(is_known).then_some(all)
    }

    /// Returns `true` if a word occurs in the name of a document that is not removed.
    fn is_alive(&self, place: usize, gone: &dyn Fn(u32) -> bool) -> bool {
        let start = self.words[place].documents as usize;
        let next = self
            .words
            .get(place + 1)
            .map(|next| next.documents as usize);
        let documents = &self.documents[start..next.unwrap_or(self.documents.len())];
        documents.iter().any(|&document| !gone(document))
    }

    /// Returns up to `most` words close to `typed`, nearest first.
    pub(super) fn near(
        &self,
        typed: &[u8],
        most: usize,
        gone: &dyn Fn(u32) -> bool,
    ) -> Vec<NearWord> {
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
        for (place, word) in self.words.iter().enumerate() {
            let apart = (wanted & !word.letters)
                .count_ones()
                .max((word.letters & !wanted).count_ones());
            if apart as usize > limit || usize::from(word.length).abs_diff(typed.len()) > limit {
                continue;
            }
            let text = self.text_of(word);
            // The first letter is nearly always right; without this check chance matches dominate.
            if text.first() != typed.first() {
                continue;
            }
            let distance = distance(typed, text, limit).filter(|distance| *distance > 0);
            if let Some(distance) = distance.filter(|_| self.is_alive(place, gone)) {
                found.push(NearWord {
                    term: self.term_of(word),
                    distance,
                });
            }
        }
        found.sort_by(|one, other| {
            one.distance
                .cmp(&other.distance)
                .then_with(|| one.term.cmp(&other.term))
        });
        found.dedup();
        found.truncate(most);
        found
    }

    /// Returns up to `most` terms of names that start with `prefix`.
    pub(super) fn beginning(
        &self,
        prefix: &[u8],
        most: usize,
        gone: &dyn Fn(u32) -> bool,
    ) -> Vec<Vec<u8>> {
        let from = self
            .words
            .partition_point(|word| self.text_of(word) < prefix);
        (from..self.words.len())
            .take_while(|&place| self.text_of(&self.words[place]).starts_with(prefix))
            .filter(|&place| self.is_alive(place, gone))
            .take(most)
            .map(|place| self.term_of(&self.words[place]))
            .collect()
    }

    pub(super) fn size(&self) -> usize {
        self.text.len() + self.words.len() * size_of::<Word>() + self.documents.len() * 4
    }

    fn text_of(&self, word: &Word) -> &[u8] {
        let from = word.from as usize;
        &self.text[from..from + usize::from(word.length)]
    }

    fn term_of(&self, word: &Word) -> Vec<u8> {
        tokens::stemmed(self.text_of(word))
    }
}

/// Returns the number of distinct words, without stop words, in the longer name of a skill; at
/// least 1.
pub(super) fn name_length(skill: &Skill) -> u8 {
    names(skill).map(count_words).max().unwrap_or(1)
}

fn count_words(name: &str) -> u8 {
    let mut words: Vec<Vec<u8>> = Vec::new();
    tokens::each(name, |word, kind| {
        let stem = tokens::stemmed(word);
        if kind != TokenKind::Part
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

/// Returns the edit distance, counting swapped neighbours once; `None` if it is above `limit`.
fn distance(one: &[u8], other: &[u8], limit: usize) -> Option<usize> {
    const MAX: usize = tokens::MAX_WORD + 1;
    if one.len() >= MAX || other.len() >= MAX {
        return None;
    }
    // Three rows rotate: the current one, the last one, and the one before it for swaps.
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
            assert_eq!(
                distance(one.as_bytes(), other.as_bytes(), 2),
                expected,
                "{one} {other}"
            );
            assert_eq!(
                distance(other.as_bytes(), one.as_bytes(), 2),
                expected,
                "{other} {one}"
            );
        }
    }
}
