//! Tokenises documents. Each reader thread builds its own part.

use std::collections::HashMap;
use std::sync::Arc;

use super::segment::{BODY, Counts, FIELDS, Lengths, NAME, Segment, WHOLE, Writer, small};
use super::tokens::{self, TermKey, TokenKind};
use prowess_catalog::Skill;
use prowess_catalog::outline::headings;

/// Indexed length of a body in bytes. More text gained nothing in measurements.
pub(super) const MAX_BODY: usize = 16 * 1024;
/// Maximum number of indexed bytes of a description, and of `when_to_use`. The specification allows
/// 1,024 characters.
pub(super) const MAX_DESCRIPTION: usize = 1536;
/// Maximum number of indexed bytes of all tags, and of all metadata values.
const MAX_VALUES: usize = 1024;
/// Maximum number of bytes of headings, from the whole body.
const MAX_HEADINGS: usize = 2048;
/// Maximum length of a body that is searched for headings.
const MAX_SCANNED: usize = 1 << 20;
/// Maximum length of a body word; longer ones are keys, digests and URLs.
const MAX_BODY_WORD: usize = 32;

/// A skill and its text.
#[derive(Clone, Copy, Debug)]
pub struct SearchDocument<'a> {
    /// The skill.
    pub skill: &'a Arc<Skill>,
    /// The body; the index keeps only its words.
    pub body: &'a str,
}

/// Tokenises documents. Use one per thread;
/// [`SearchIndex::from_parts`](crate::SearchIndex::from_parts) combines the results.
#[derive(Debug)]
pub struct SearchPartBuilder {
    /// Indexed length of a body in bytes.
    body: usize,
    skills: Vec<Option<Arc<Skill>>>,
    lengths: Vec<Lengths>,
    breadths: Vec<u8>,
    /// For each document, the end of its words in `words`.
    ends: Vec<usize>,
    /// The first element is a dummy, so that 0 can mean none.
    words: Vec<(u32, Counts)>,
    terms: Terms,
}

/// Tokenised documents, ready to be combined with others.
#[derive(Debug)]
pub struct SearchPart(pub(super) Segment);

impl SearchPart {
    /// Tokenises documents.
    pub fn tokenise<'a>(documents: impl IntoIterator<Item = SearchDocument<'a>>) -> Self {
        let mut builder = SearchPartBuilder::new();
        for document in documents {
            builder.add(document);
        }
        builder.finish()
    }
}

impl Default for SearchPartBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl SearchPartBuilder {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::with_body(MAX_BODY)
    }

    /// Creates an empty builder that indexes at most `body` bytes of each body, for measurements.
    pub fn with_body(body: usize) -> Self {
        Self {
            body,
            skills: Vec::new(),
            lengths: Vec::new(),
            breadths: Vec::new(),
            ends: Vec::new(),
            words: vec![(0, Counts(0))],
            terms: Terms::new(),
        }
    }

    /// Adds a document.
    pub fn add(&mut self, document: SearchDocument<'_>) {
        let mut sink = TermCounter {
            terms: &mut self.terms,
            first: self.words.len(),
            words: &mut self.words,
            lengths: [0; FIELDS],
            distinct: [0; FIELDS],
        };
        each_field(document, self.body, |field, text| sink.text(field, text));
        for name in names(document.skill) {
            sink.whole(name);
        }
        let (lengths, distinct) = (sink.lengths, sink.distinct);
        let mut kept = Lengths::default();
        for (kept, length) in kept.iter_mut().zip(lengths) {
            *kept = u16::try_from(length).unwrap_or(u16::MAX);
        }
        self.lengths.push(kept);
        self.breadths.push(breadth(&distinct));
        self.skills.push(Some(Arc::clone(document.skill)));
        self.ends.push(self.words.len());
    }

    /// Sorts the postings by term and packs them.
    pub fn finish(self) -> SearchPart {
        let count = self.terms.keys.len();
        let mut places = vec![0_u32; count + 1];
        for (term, _) in &self.words[1..] {
            places[*term as usize + 1] += 1;
        }
        for at in 0..count {
            places[at + 1] += places[at];
        }
        let mut sorted = vec![(0_u32, Counts(0)); self.words.len() - 1];
        let mut next = places.clone();
        let mut from = 1;
        for (document, end) in (0..).zip(&self.ends) {
            for (term, counts) in &self.words[from..*end] {
                let place = &mut next[*term as usize];
                sorted[*place as usize] = (document, *counts);
                *place += 1;
            }
            from = *end;
        }
        let mut writer = Writer::new(self.skills, self.lengths, self.breadths);
        for (term, text) in self.terms.in_order() {
            let range = places[term as usize] as usize..places[term as usize + 1] as usize;
            for (document, counts) in &sorted[range] {
                writer.posting(*document, *counts);
            }
            writer.term(text.bytes());
        }
        SearchPart(writer.finish())
    }
}

/// Calls `sink` with each text of a document and the number of its field.
pub(super) fn each_field<'a>(
    document: SearchDocument<'a>,
    most: usize,
    mut sink: impl FnMut(usize, &'a str),
) {
    let skill = document.skill;
    for name in names(skill) {
        sink(NAME, name);
    }
    sink(1, cut(&skill.description, MAX_DESCRIPTION));
    if let Some(when) = &skill.when_to_use {
        sink(2, cut(when, MAX_DESCRIPTION));
    }
    let mut budget = MAX_VALUES;
    for tag in &skill.tags {
        sink(3, within(tag, &mut budget));
    }
    let mut budget = MAX_VALUES;
    for (_, value) in &skill.metadata {
        sink(4, within(value, &mut budget));
    }
    let body = document.body;
    let mut budget = MAX_HEADINGS;
    for (_, heading) in headings(cut(body, MAX_SCANNED)) {
        sink(5, within(heading, &mut budget));
    }
    sink(BODY, cut(body, most));
}

/// Returns the name and the alias of a skill.
pub(super) fn names(skill: &Skill) -> impl Iterator<Item = &str> {
    std::iter::once(&*skill.name).chain(skill.alias.as_deref())
}

/// Returns `true` if a word of a field is indexed.
pub(super) fn is_kept(field: usize, word: &[u8]) -> bool {
    // Skip versions and dates in metadata.
    (field < 5 && !(field == 4 && word.iter().all(u8::is_ascii_digit)))
        || (field >= 5
            && word.len() > 1
            && word.len() <= MAX_BODY_WORD
            && !tokens::is_stop_word(word)
            && !(word.len() > 4 && word.iter().all(u8::is_ascii_digit)))
}

/// Returns a name without separators, as users may type it: `pdftools`.
pub(super) fn whole(name: &str) -> Vec<u8> {
    let mut whole = Vec::new();
    tokens::each(name, |word, kind| {
        if kind != TokenKind::Part && whole.len() + word.len() <= tokens::MAX_WORD {
            whole.extend_from_slice(word);
        }
    });
    whole
}

/// Cuts a text to a budget, which it uses up.
fn within<'t>(text: &'t str, budget: &mut usize) -> &'t str {
    let text = cut(text, *budget);
    *budget -= text.len();
    text
}

/// The most distinct words, without stop words, that real skills have in each field: of 19,593, one
/// in a thousand has more than 99 in its description, 156 in its headings or 739 in its body.
const MAX_DISTINCT: [u32; FIELDS] = [24, 112, 112, 48, 96, 176, 800, 24];

/// Returns the factor for the score of a document, in 255ths: 255 for prose, less if fields have
/// more distinct words than prose of their length, as lists of keywords do.
pub(super) fn breadth(distinct: &[u32; FIELDS]) -> u8 {
    let mut excess = 0;
    for (count, most) in distinct.iter().zip(MAX_DISTINCT) {
        excess += count.saturating_sub(most).saturating_mul(2000) / most;
    }
    u8::try_from(255_000 / (1000 + excess)).unwrap_or(u8::MAX)
}

/// Cuts a text at whitespace near the limit, so that no word is split.
pub(super) fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    let start = text.floor_char_boundary(end.saturating_sub(64));
    let blank = text[start..end].rfind(char::is_whitespace);
    &text[..blank.map_or(end, |at| start + at)]
}

/// Counts the terms of one document.
struct TermCounter<'b> {
    terms: &'b mut Terms,
    words: &'b mut Vec<(u32, Counts)>,
    first: usize,
    lengths: [u32; FIELDS],
    /// The number of distinct words of each field, without stop words.
    distinct: [u32; FIELDS],
}

impl TermCounter<'_> {
    fn text(&mut self, field: usize, text: &str) {
        tokens::each(text, |word, kind| {
            if !is_kept(field, word) {
                return;
            }
            let is_stop = field < 5 && tokens::is_stop_word(word);
            let length = tokens::stem(word);
            let is_first = self.count(field, &word[..length]);
            if kind != TokenKind::Part {
                self.lengths[field] += 1;
                self.distinct[field] += u32::from(is_first && !is_stop);
            }
        });
    }

    fn whole(&mut self, name: &str) {
        let whole = tokens::stemmed(&whole(name));
        if !whole.is_empty() {
            self.count(WHOLE, &whole);
        }
    }

    /// Counts a term. Returns `true` if it is the first occurrence in this field.
    #[inline]
    fn count(&mut self, field: usize, term: &[u8]) -> bool {
        let term = self.terms.intern(term);
        // A count before `first` belongs to an earlier document.
        if (term.counted as usize) < self.first {
            term.counted = small(self.words.len());
            self.words.push((term.id, Counts(0)));
        }
        let Some((_, counts)) = self.words.get_mut(term.counted as usize) else {
            return false;
        };
        let is_first = counts.of(field) == 0;
        counts.add(field);
        is_first
    }
}

/// A set of numbered terms.
#[derive(Debug)]
struct Terms {
    /// Open-addressing hash table with a power-of-two size, at most half full. A zero key is free.
    table: Vec<Term>,
    /// Keys by number.
    keys: Vec<TermKey>,
    /// Terms that do not fit into a key.
    long: HashMap<Box<[u8]>, u32>,
    long_texts: Vec<Box<[u8]>>,
}

/// The length that marks the number of a long term.
const LONG: u64 = 255;

#[derive(Clone, Copy, Debug, Default)]
struct Term {
    key: TermKey,
    id: u32,
    /// Index of its latest count in the words of all documents; 0 for none.
    counted: u32,
}

impl Terms {
    fn new() -> Self {
        Self {
            table: vec![Term::default(); 1 << 12],
            keys: Vec::new(),
            long: HashMap::new(),
            long_texts: Vec::new(),
        }
    }

    #[inline]
    fn intern(&mut self, term: &[u8]) -> &mut Term {
        let key = match tokens::short_key(term) {
            Some(key) => key,
            None => [u64::from(self.long(term)), LONG << 56],
        };
        let at = self.place(key);
        if self.table[at].key == key {
            return &mut self.table[at];
        }
        self.insert(at, key)
    }

    /// Returns the slot of a key, or the free slot for it.
    #[inline]
    fn place(&self, key: TermKey) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash(key) & mask;
        while self.table[at].key != key && self.table[at].key != [0, 0] {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn insert(&mut self, mut at: usize, key: TermKey) -> &mut Term {
        if self.keys.len() * 2 >= self.table.len() {
            let old = std::mem::take(&mut self.table);
            self.table = vec![Term::default(); old.len() * 4];
            for term in old.into_iter().filter(|term| term.key != [0, 0]) {
                let at = self.place(term.key);
                self.table[at] = term;
            }
            at = self.place(key);
        }
        self.table[at] = Term {
            key,
            id: small(self.keys.len()),
            counted: 0,
        };
        self.keys.push(key);
        &mut self.table[at]
    }

    #[cold]
    fn long(&mut self, term: &[u8]) -> u32 {
        if let Some(number) = self.long.get(term) {
            return *number;
        }
        let number = small(self.long_texts.len());
        self.long.insert(term.into(), number);
        self.long_texts.push(term.into());
        number
    }

    /// Returns the numbers and texts of all terms, sorted by text.
    fn in_order(&self) -> Vec<(u32, Text<'_>)> {
        let mut order: Vec<(u128, u32, Text<'_>)> = (0..)
            .zip(&self.keys)
            .map(|(id, [low, high])| {
                let length = high >> 56;
                let text = if length == LONG {
                    let long = usize::try_from(*low)
                        .ok()
                        .and_then(|at| self.long_texts.get(at));
                    Text::Long(long.map_or(&[], |text| text))
                } else {
                    let mut bytes = [0; 16];
                    bytes[..8].copy_from_slice(&low.to_le_bytes());
                    bytes[8..].copy_from_slice(&high.to_le_bytes());
                    bytes[15] = 0;
                    Text::Short(bytes, length.to_le_bytes()[0])
                };
                let mut start = [0; 16];
                let beginning = text.bytes();
                let beginning = &beginning[..beginning.len().min(16)];
                start[..beginning.len()].copy_from_slice(beginning);
                (u128::from_be_bytes(start), id, text)
            })
            .collect();
        order.sort_unstable_by(|one, other| {
            one.0
                .cmp(&other.0)
                .then_with(|| one.2.bytes().cmp(other.2.bytes()))
        });
        order.into_iter().map(|(_, id, text)| (id, text)).collect()
    }
}

/// The bytes of a term.
#[derive(Clone, Copy)]
enum Text<'t> {
    Short([u8; 16], u8),
    Long(&'t [u8]),
}

impl Text<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

/// Multiplies the two halves of a key, so that each half of the product depends on all bits.
#[inline]
fn hash([low, high]: TermKey) -> usize {
    let low = u128::from(low ^ 0x9e37_79b9_7f4a_7c15);
    let product = low * u128::from(high ^ 0xd1b5_4a32_d192_ed03);
    ((product ^ (product >> 64)) & u128::from(u32::MAX)) as usize
}
