//! Documents taken apart into words: what each thread of a reader does on its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::segment::{BODY, Counts, FIELDS, Lengths, NAME, Segment, WHOLE, Writer, small};
use super::tokens::{self, Kind};
use prowess_catalog::Skill;

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
            words: Vec::new(),
            terms: Terms::new(),
        }
    }

    /// Adds a document.
    pub fn add(&mut self, document: Document<'_>) {
        let number = small(self.skills.len());
        let mut sink = Sink {
            terms: &mut self.terms,
            first: self.words.len(),
            words: &mut self.words,
            number,
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
        let count = self.terms.entries.len();
        let mut places = vec![0_u32; count + 1];
        for (term, _) in &self.words {
            places[*term as usize + 1] += 1;
        }
        for at in 0..count {
            places[at + 1] += places[at];
        }
        let mut sorted = vec![(0_u32, Counts(0)); self.words.len()];
        let mut next = places.clone();
        let mut from = 0;
        for (document, end) in (0..).zip(&self.ends) {
            for (term, counts) in &self.words[from..*end] {
                let place = &mut next[*term as usize];
                sorted[*place as usize] = (document, *counts);
                *place += 1;
            }
            from = *end;
        }
        let mut writer = Writer::new(self.skills, self.lengths);
        for term in self.terms.in_order() {
            let range = places[term as usize] as usize..places[term as usize + 1] as usize;
            for (document, counts) in &sorted[range] {
                writer.posting(*document, *counts);
            }
            writer.term(self.terms.text(term));
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
    for heading in headings(cut(body, MAX_SCANNED)) {
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

/// The headings of a text, outside code.
fn headings(body: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    body.lines().filter_map(move |line| {
        let first = *line.as_bytes().first()?;
        if first == b'`' && line.starts_with("```") {
            code = !code;
        }
        if code || first != b'#' {
            return None;
        }
        let text = line.trim_start_matches('#');
        (line.len() - text.len() <= 6 && text.starts_with([' ', '\t'])).then(|| text.trim())
    })
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
    number: u32,
    lengths: [u32; FIELDS],
}

impl Sink<'_> {
    fn text(&mut self, field: usize, text: &str) {
        tokens::each(text, |word, kind| {
            if !is_kept(field, word) {
                return;
            }
            let mut buffer = [0; tokens::MAX_WORD];
            let stem = &mut buffer[..word.len()];
            stem.copy_from_slice(word);
            let length = tokens::stem(stem);
            self.count(field, &buffer[..length]);
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
        let (id, entry) = self.terms.intern(term);
        let known = entry.document == self.number && entry.slot >= self.first;
        if !known {
            entry.document = self.number;
            entry.slot = self.words.len();
            self.words.push((id, Counts(0)));
        }
        self.words[entry.slot].1.add(field);
    }
}

/// A set of words with numbers.
#[derive(Debug)]
struct Terms {
    /// Numbers of words plus one, by hash; zero is free. A power of two, at most half full.
    table: Vec<u32>,
    entries: Vec<Term>,
    /// Words that do not fit into a key.
    long: HashMap<Box<[u8]>, u32>,
    long_texts: Vec<Box<[u8]>>,
}

#[derive(Debug)]
struct Term {
    /// The word and its length, or the number of a long word with the length 255.
    key: [u8; 16],
    /// Where the word was counted last.
    slot: usize,
    document: u32,
}

impl Terms {
    fn new() -> Self {
        Self {
            table: vec![0; 1 << 12],
            entries: Vec::new(),
            long: HashMap::new(),
            long_texts: Vec::new(),
        }
    }

    #[inline]
    fn intern(&mut self, term: &[u8]) -> (u32, &mut Term) {
        let mut key = [0; 16];
        if term.len() < 16 {
            key[..term.len()].copy_from_slice(term);
            key[15] = term.len().to_le_bytes()[0];
        } else {
            let number = self.long(term);
            key[..4].copy_from_slice(&number.to_le_bytes());
            key[15] = 255;
        }
        let mask = self.table.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            let found = self.table[at];
            if found == 0 {
                break;
            }
            if self.entries[found as usize - 1].key == key {
                return (found - 1, &mut self.entries[found as usize - 1]);
            }
            at = (at + 1) & mask;
        }
        let id = small(self.entries.len());
        self.table[at] = id + 1;
        self.entries.push(Term { key, slot: 0, document: u32::MAX });
        if self.entries.len() * 2 > self.table.len() {
            self.grow();
        }
        (id, &mut self.entries[id as usize])
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

    #[cold]
    fn grow(&mut self) {
        let mask = self.table.len() * 4 - 1;
        let mut table = vec![0; mask + 1];
        for (id, entry) in (1..).zip(&self.entries) {
            let mut at = hash(entry.key) & mask;
            while table[at] != 0 {
                at = (at + 1) & mask;
            }
            table[at] = id;
        }
        self.table = table;
    }

    fn text(&self, id: u32) -> &[u8] {
        let key = &self.entries[id as usize].key;
        match key[15] {
            255 => &self.long_texts[u32::from_le_bytes([key[0], key[1], key[2], key[3]]) as usize],
            length => &key[..usize::from(length)],
        }
    }

    /// The numbers of all words in the order of the words.
    fn in_order(&self) -> Vec<u32> {
        let mut order: Vec<(u128, u32)> = (0..)
            .zip(&self.entries)
            .map(|(id, _)| {
                let text = self.text(id);
                let mut start = [0; 16];
                let length = text.len().min(16);
                start[..length].copy_from_slice(&text[..length]);
                (u128::from_be_bytes(start), id)
            })
            .collect();
        order.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| self.text(one.1).cmp(self.text(other.1)))
        });
        order.into_iter().map(|(_, id)| id).collect()
    }
}

/// Mixes the two halves of a key.
#[inline]
fn hash(key: [u8; 16]) -> usize {
    let (low, high) = key.split_at(8);
    let half = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let low = u128::from(half(low) ^ 0x9e37_79b9_7f4a_7c15);
    let high = u128::from(half(high) ^ 0xd1b5_4a32_d192_ed03);
    let product = low * high;
    // The halves of the product depend on all bits of both.
    let folded = (product ^ product >> 64) & u128::from(u32::MAX);
    folded as usize
}
