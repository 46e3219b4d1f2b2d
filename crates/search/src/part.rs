//! Documents taken apart into words: what each thread of a reader does on its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::segment::{BODY, Counts, FIELDS, Lengths, NAME, Segment, WHOLE, Writer, small};
use super::tokens::{self, Kind};
use prowess_catalog::Skill;
use prowess_catalog::outline::headings;

/// How much of a body is indexed. The beginning says what a skill is for; more was measured to
/// help little and to cost much.
const MAX_BODY: usize = 4096;
/// Most bytes of headings, from anywhere in the body.
const MAX_HEADINGS: usize = 2048;
/// How far headings are looked for.
const MAX_SCANNED: usize = 1 << 20;
/// Longest word of a body that is indexed; longer ones are keys, digests and addresses.
const MAX_BODY_WORD: usize = 32;

/// A skill and its text, as it goes into the index.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The skill.
    pub skill: &'a Arc<Skill>,
    /// Its body; only words are kept of it.
    pub body: &'a str,
}

/// Takes documents apart. One for each thread; the parts are put together afterwards.
#[derive(Debug)]
pub struct PartBuilder {
    skills: Vec<Option<Arc<Skill>>>,
    lengths: Vec<Lengths>,
    /// For each document, where its words end in `words`.
    ends: Vec<usize>,
    /// The first is of no document, so that 0 can mean nowhere.
    words: Vec<(u32, Counts)>,
    terms: Terms,
}

/// Documents taken apart, ready to be put together with others.
#[derive(Debug)]
pub struct Part(pub(super) Segment);

impl Part {
    /// Takes documents apart.
    pub fn tokenise<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        let mut builder = PartBuilder::new();
        for document in documents {
            builder.add(document);
        }
        builder.finish()
    }
}

impl Default for PartBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl PartBuilder {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self {
            skills: Vec::new(),
            lengths: Vec::new(),
            ends: Vec::new(),
            words: vec![(0, Counts(0))],
            terms: Terms::new(),
        }
    }

    /// Adds a document.
    pub fn add(&mut self, document: Document<'_>) {
        let mut sink = Sink {
            terms: &mut self.terms,
            first: self.words.len(),
            words: &mut self.words,
            lengths: [0; FIELDS],
        };
        each_field(document, |field, text| sink.text(field, text));
        for name in names(document.skill) {
            sink.whole(name);
        }
        let lengths = sink.lengths;
        let mut kept = Lengths::default();
        for (kept, length) in kept.iter_mut().zip(lengths) {
            *kept = u16::try_from(length).unwrap_or(u16::MAX);
        }
        self.lengths.push(kept);
        self.skills.push(Some(Arc::clone(document.skill)));
        self.ends.push(self.words.len());
    }

    /// Sorts by word and packs.
    pub fn finish(self) -> Part {
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
        let mut writer = Writer::new(self.skills, self.lengths);
        for (term, text) in self.terms.in_order() {
            let range = places[term as usize] as usize..places[term as usize + 1] as usize;
            for (document, counts) in &sorted[range] {
                writer.posting(*document, *counts);
            }
            writer.term(text.bytes());
        }
        Part(writer.finish())
    }
}

/// Calls `sink` with every text of a document and the number of its field.
pub(super) fn each_field<'a>(document: Document<'a>, mut sink: impl FnMut(usize, &'a str)) {
    let skill = document.skill;
    for name in names(skill) {
        sink(NAME, name);
    }
    sink(1, &skill.description);
    if let Some(when) = &skill.when_to_use {
        sink(2, when);
    }
    for tag in &skill.tags {
        sink(3, tag);
    }
    for (_, value) in &skill.metadata {
        sink(4, value);
    }
    let body = document.body;
    let mut budget = MAX_HEADINGS;
    for (_, heading) in headings(cut(body, MAX_SCANNED)) {
        let heading = cut(heading, budget);
        budget -= heading.len();
        sink(5, heading);
    }
    sink(BODY, cut(body, MAX_BODY));
}

/// The names that a skill answers to.
pub(super) fn names(skill: &Skill) -> impl Iterator<Item = &str> {
    std::iter::once(&*skill.name).chain(skill.alias.as_deref())
}

/// Whether a word of a field is worth keeping.
pub(super) fn is_kept(field: usize, word: &[u8]) -> bool {
    // Metadata has versions and dates, which nobody looks for.
    (field < 5 && !(field == 4 && word.iter().all(u8::is_ascii_digit)))
        || (field >= 5
            && word.len() > 1
            && word.len() <= MAX_BODY_WORD
            && !tokens::is_stop_word(word)
            && !(word.len() > 4 && word.iter().all(u8::is_ascii_digit)))
}

/// A name without anything between its words, as people type it: `pdftools`.
pub(super) fn whole(name: &str) -> Vec<u8> {
    let mut whole = Vec::new();
    tokens::each(name, |word, kind| {
        if kind != Kind::Part && whole.len() + word.len() <= tokens::MAX_WORD {
            whole.extend_from_slice(word);
        }
    });
    whole
}

/// The beginning of a text, up to a blank near the limit so that no word is cut.
fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    let start = text.floor_char_boundary(end.saturating_sub(64));
    let blank = text[start..end].rfind(char::is_whitespace);
    &text[..blank.map_or(end, |at| start + at)]
}

/// Counts the words of one document.
struct Sink<'b> {
    terms: &'b mut Terms,
    words: &'b mut Vec<(u32, Counts)>,
    first: usize,
    lengths: [u32; FIELDS],
}

impl Sink<'_> {
    fn text(&mut self, field: usize, text: &str) {
        tokens::each(text, |word, kind| {
            if !is_kept(field, word) {
                return;
            }
            let length = tokens::stem(word);
            self.count(field, &word[..length]);
            if kind != Kind::Part {
                self.lengths[field] += 1;
            }
        });
    }

    fn whole(&mut self, name: &str) {
        let whole = tokens::stemmed(&whole(name));
        if !whole.is_empty() {
            self.count(WHOLE, &whole);
        }
    }

    #[inline]
    fn count(&mut self, field: usize, term: &[u8]) {
        let term = self.terms.intern(term);
        // What was counted before this document began belongs to another one.
        if (term.counted as usize) < self.first {
            term.counted = small(self.words.len());
            self.words.push((term.id, Counts(0)));
        }
        if let Some((_, counts)) = self.words.get_mut(term.counted as usize) {
            counts.add(field);
        }
    }
}

/// A set of words with numbers.
#[derive(Debug)]
struct Terms {
    /// By hash; a key of zero is free. A power of two, at most half full.
    table: Vec<Term>,
    /// The keys by number.
    keys: Vec<Key>,
    /// Words that do not fit into a key.
    long: HashMap<Box<[u8]>, u32>,
    long_texts: Vec<Box<[u8]>>,
}

/// A word of up to fifteen bytes and its length, or the number of a long word and `LONG`.
type Key = [u64; 2];

/// The length that stands for a long word.
const LONG: u64 = 255;

#[derive(Clone, Copy, Debug, Default)]
struct Term {
    key: Key,
    id: u32,
    /// Where it was counted last, among the words of all documents; 0 is nowhere.
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
        let key = if term.len() < 16 {
            let [low, high] = tokens::packed(term);
            [low, high | (term.len() as u64) << 56]
        } else {
            [u64::from(self.long(term)), LONG << 56]
        };
        let at = self.place(key);
        if self.table[at].key == key {
            return &mut self.table[at];
        }
        self.insert(at, key)
    }

    /// Where a key is, or would be.
    #[inline]
    fn place(&self, key: Key) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash(key) & mask;
        while self.table[at].key != key && self.table[at].key != [0, 0] {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn insert(&mut self, mut at: usize, key: Key) -> &mut Term {
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

    /// The numbers and texts of all words, in the order of the texts.
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

/// The bytes of a word.
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

/// Mixes the two halves of a key: each half of the product depends on all bits of both.
#[inline]
fn hash([low, high]: Key) -> usize {
    let low = u128::from(low ^ 0x9e37_79b9_7f4a_7c15);
    let product = low * u128::from(high ^ 0xd1b5_4a32_d192_ed03);
    ((product ^ (product >> 64)) & u128::from(u32::MAX)) as usize
}
