//! Turns a query into the terms to look up.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::document::whole;
use super::index::IndexView;
use super::score::{SearchWeights, idf};
use super::segment::Entry as TermEntry;
use super::tokens::{self, TokenKind};
use super::{MatchForm, SearchQuery, synonyms};

/// Maximum length of a query in bytes.
const MAX_QUERY: usize = 16 * 1024;
/// Maximum number of distinct words that are looked up, without stop words.
const MAX_LOOKED_UP: usize = 512;
/// Maximum number of names without separators that are looked for.
const MAX_NAMES: usize = 48;
/// Maximum number of words that are compared with all words of names.
const MAX_COMPARED: usize = 8;
/// Maximum number of corrections for one word.
const MAX_NEAR: usize = 4;
const MAX_PREFIXED_NAMES: usize = 64;
const MAX_PREFIXED: usize = 64;
/// Maximum number of terms of a segment that are compared with the root of a word.
const MAX_DERIVED: usize = 64;
/// Maximum number of documents for all words with one prefix together; names come first.
const MAX_PREFIXED_DOCUMENTS: u32 = 40_000;
/// A query of at most this many words may be a name with its separators left out.
const MAX_WORDS_OF_NAME: usize = 6;

/// A query term in all forms that match it.
#[derive(Clone, Debug)]
pub(super) struct QueryTerm {
    pub(super) forms: Vec<Spelling>,
    /// Inverse document frequency.
    pub(super) idf: f32,
}

/// A term of the index that matches a query word.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    pub(super) term: Vec<u8>,
    pub(super) form: MatchForm,
    /// Weight relative to the exact word.
    pub(super) factor: f32,
    /// Its entry in each segment.
    pub(super) entries: [Option<TermEntry>; 2],
}

/// A word of the query that carries information.
#[derive(Clone, Debug)]
pub(super) struct PlannedWord {
    /// Its stem and the other terms that match it.
    pub(super) terms: Vec<Vec<u8>>,
    /// Inverse document frequency, lower for words of code.
    pub(super) idf: f32,
}

/// A parsed query.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The terms to score, in the order of the query.
    pub(super) terms: Vec<QueryTerm>,
    /// The distinct words, without those that carry no information.
    pub(super) words: Vec<PlannedWord>,
    /// The numbers of these words in the order of the query.
    pub(super) sequence: Vec<u16>,
    /// `true` if numbers of up to three digits are words.
    pub(super) numbers: bool,
}

impl Plan {
    /// Returns the rarity of two adjacent words: that of the rarer one.
    pub(super) fn pair_rarity(&self, first: u16, second: u16) -> f32 {
        let idf = |number: u16| {
            let word = self.words.get(usize::from(number));
            word.map_or(0.0, |word| word.idf)
        };
        idf(first).max(idf(second))
    }

    /// Returns two adjacent words as text, stemmed.
    pub(super) fn phrase(&self, first: u16, second: u16) -> Arc<str> {
        let text = |number: u16| {
            let word = self.words.get(usize::from(number));
            let term = word.and_then(|word| word.terms.first());
            String::from_utf8_lossy(term.map_or(&[], |term| term))
        };
        format!("{} {}", text(first), text(second)).into()
    }
}

/// Parses a query and looks up its words.
pub(super) fn plan(view: IndexView<'_>, query: &SearchQuery<'_>, weights: &SearchWeights) -> Plan {
    let text = both_ends(query.text, MAX_QUERY);
    let text = &*text;
    let Words { words, order } = words(text);
    let typing = query.prefix && text.chars().next_back().is_some_and(char::is_alphanumeric);
    let last = words.last().map(|word| word.text.clone());
    let short = words.len() <= weights.short_query;
    let all_stop = words.iter().all(|word| word.stop);
    let all_numbers = words
        .iter()
        .all(|word| word.stop || is_short_number(&word.text));
    let mut plan = Plan {
        numbers: short || all_numbers || weights.numbers,
        ..Plan::default()
    };
    let mut numbers: Vec<Option<u16>> = Vec::with_capacity(words.len());
    let mut compared = 0;
    for word in &words {
        let typing = typing && last.as_ref() == Some(&word.text);
        let is_dropped = (word.stop && !all_stop) || (!plan.numbers && is_short_number(&word.text));
        if is_dropped && !typing {
            numbers.push(None);
            continue;
        }
        let form = if word.kind == TokenKind::Gram {
            MatchForm::Gram
        } else {
            MatchForm::Exact
        };
        let mut forms = Vec::new();
        let stem = tokens::stemmed(&word.text);
        add_spelling(view, &mut forms, stem.clone(), form, 1.0);
        for other in synonyms::of(&stem) {
            let other = tokens::stemmed(other.as_bytes());
            add_spelling(view, &mut forms, other, MatchForm::Synonym, weights.synonym);
        }
        let alone = word.kind == TokenKind::Gram && word.text.len() <= 4 && is_one(&word.text);
        if typing || alone {
            add_prefix_matches(view, &mut forms, &word.text, weights.prefix);
        }
        if weights.derived > 0.0 && word.kind == TokenKind::Word && !word.code {
            add_derived(view, &mut forms, &stem, weights.derived);
        }
        let is_unknown = is_unknown(view, &forms);
        if is_unknown && short && word.kind == TokenKind::Word && compared < MAX_COMPARED {
            compared += 1;
            add_corrections(view, &mut forms, &word.text, weights.typo);
        }
        let others = forms.iter().map(|form| &form.term);
        let others: Vec<Vec<u8>> = others.filter(|term| **term != stem).cloned().collect();
        let mut terms = vec![stem];
        terms.extend(others);
        let factor = if word.code { weights.code } else { 1.0 };
        let known = push(view, &mut plan.terms, forms, factor);
        numbers.push((word.kind != TokenKind::Part).then(|| small16(plan.words.len())));
        plan.words.push(PlannedWord {
            terms,
            idf: known.unwrap_or_else(|| view.statistics.most_information() * factor),
        });
    }
    plan.sequence = order
        .into_iter()
        .filter_map(|word| numbers.get(word).copied().flatten())
        .collect();
    if short || weights.long_names {
        for name in joined_names(text, words.len()) {
            let mut forms = Vec::new();
            add_spelling(
                view,
                &mut forms,
                tokens::stemmed(&name),
                MatchForm::Exact,
                1.0,
            );
            // A path or URL of many words is not a misspelt name.
            let is_unknown = is_unknown(view, &forms);
            if is_unknown && words.len() <= MAX_WORDS_OF_NAME && compared < MAX_COMPARED {
                compared += 1;
                add_corrections(view, &mut forms, &name, weights.typo);
            }
            push(view, &mut plan.terms, forms, 1.0);
        }
    }
    keep_rarest(&mut plan.terms, weights.most_terms);
    plan
}

/// Cuts a text of more than `most` bytes in the middle: a message with a log or a file in it states
/// its purpose at the beginning or at the end.
pub(super) fn both_ends(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let start = text.floor_char_boundary(most / 2);
    let end = text.ceil_char_boundary(text.len() - most / 2);
    Cow::Owned(format!("{}\n{}", &text[..start], &text[end..]))
}

/// Keeps the rarest terms, in their order.
fn keep_rarest(terms: &mut Vec<QueryTerm>, most: usize) {
    if terms.len() <= most {
        return;
    }
    let mut rarest: Vec<usize> = (0..terms.len()).collect();
    rarest.sort_by(|one, other| terms[*other].idf.total_cmp(&terms[*one].idf));
    let mut keep = vec![false; terms.len()];
    for at in &rarest[..most] {
        keep[*at] = true;
    }
    let mut keep = keep.into_iter();
    terms.retain(|_| keep.next().unwrap_or(false));
}

/// Returns `true` for numbers of up to three digits. In a long query they are amounts and
/// positions, and would match versions in descriptions.
pub(super) fn is_short_number(word: &[u8]) -> bool {
    word.len() <= 3 && word.iter().all(u8::is_ascii_digit)
}

fn small16(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

struct QueryWord {
    text: Vec<u8>,
    kind: TokenKind,
    stop: bool,
    /// `true` if it occurs only in fenced code.
    code: bool,
}

struct Words {
    /// The distinct words.
    words: Vec<QueryWord>,
    /// The number of each word of the text.
    order: Vec<usize>,
}

/// Returns the words of a query.
fn words(text: &str) -> Words {
    let mut words: Vec<QueryWord> = Vec::new();
    let mut order = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (code, piece) in fenced(text) {
        tokens::each(piece, |word, kind| {
            let next = words.len();
            match known.entry(tokens::stemmed(word)) {
                Entry::Occupied(place) => {
                    let number: usize = *place.get();
                    words[number].code &= code;
                    order.push(number);
                }
                Entry::Vacant(place) => {
                    place.insert(next);
                    order.push(next);
                    words.push(QueryWord {
                        text: word.to_vec(),
                        kind,
                        stop: tokens::is_stop_word(word),
                        code,
                    });
                }
            }
        });
    }
    keep_both_ends(Words { words, order })
}

/// Keeps [`MAX_LOOKED_UP`] words that are not stop words: half of them from the beginning of the
/// text, the rest from its end.
fn keep_both_ends(all: Words) -> Words {
    let Words { words, order } = all;
    let counted = words.iter().filter(|word| !word.stop).count();
    if counted <= MAX_LOOKED_UP {
        return Words { words, order };
    }
    let mut keep: Vec<bool> = words.iter().map(|word| word.stop).collect();
    let mut left = MAX_LOOKED_UP;
    for &number in &order {
        if left > MAX_LOOKED_UP / 2 && !keep[number] {
            keep[number] = true;
            left -= 1;
        }
    }
    for &number in order.iter().rev() {
        if left > 0 && !keep[number] {
            keep[number] = true;
            left -= 1;
        }
    }
    let mut next = 0..;
    let numbers: Vec<Option<usize>> = keep
        .iter()
        .map(|keep| keep.then(|| next.next()).flatten())
        .collect();
    let mut keep = keep.into_iter();
    Words {
        words: words
            .into_iter()
            .filter(|_| keep.next().unwrap_or(false))
            .collect(),
        order: order.into_iter().filter_map(|word| numbers[word]).collect(),
    }
}

/// Splits a text into prose and fenced code (`true`).
fn fenced(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let (mut from, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if let Some((mark, length, rest)) = fence(line) {
            let next = match open {
                None => (mark == '~' || !rest.contains('`')).then_some(Some((mark, length))),
                Some((opened, least)) => {
                    let closes = mark == opened && length >= least && rest.trim().is_empty();
                    closes.then_some(None)
                }
            };
            if let Some(next) = next {
                pieces.push((open.is_some(), &text[from..at]));
                (open, from) = (next, at);
            }
        }
        at += line.len();
    }
    pieces.push((open.is_some(), &text[from..]));
    pieces
}

/// Returns the mark of a line that begins with at least three of them, their number, and the rest
/// of the line.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_start();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3).then_some((mark, length, rest))
}

/// Returns candidates for names without separators: words joined by hyphens and similar characters,
/// or a short query as a whole.
fn joined_names(text: &str, words: usize) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let tied = text.split(|character: char| {
        !character.is_alphanumeric() && !matches!(character, '-' | '_' | '.' | ':' | '/')
    });
    let tied = tied.filter(|piece| piece.contains(['-', '_', '.', ':', '/']));
    let short = (words > 1 && words <= MAX_WORDS_OF_NAME).then_some(text);
    for piece in tied.chain(short) {
        let mut count = 0;
        tokens::each(piece, |_, kind| {
            count += usize::from(kind != TokenKind::Part);
        });
        if count > 1 && count <= 12 {
            let name = whole(piece);
            if !found.contains(&name) && found.len() < MAX_NAMES {
                found.push(name);
            }
        }
    }
    found
}

/// Adds a term if the index contains it.
fn add_spelling(
    view: IndexView<'_>,
    forms: &mut Vec<Spelling>,
    term: Vec<u8>,
    form: MatchForm,
    factor: f32,
) {
    if factor <= 0.0 {
        return;
    }
    let entries = view.pieces.map(|piece| piece?.segment.find(&term));
    if entries.iter().any(Option::is_some) && forms.iter().all(|known| known.term != term) {
        forms.push(Spelling {
            term,
            form,
            factor,
            entries,
        });
    }
}

/// Adds terms with the given prefix.
fn add_prefix_matches(view: IndexView<'_>, forms: &mut Vec<Spelling>, typed: &[u8], factor: f32) {
    // The last word may be a half-typed inflection: `deployi` on the way to `deploying`.
    for rest in ["s", "d", "g", "ng"] {
        let finished = [typed, rest.as_bytes()].concat();
        let stem = tokens::stemmed(&finished);
        if stem.len() <= typed.len() {
            add_spelling(view, forms, stem, MatchForm::Prefix, factor);
        }
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut others: Vec<Vec<u8>> = Vec::new();
    for (from, piece) in view.pieces() {
        let gone = |document| view.is_gone(from + document);
        names.extend(piece.names().beginning(typed, MAX_PREFIXED_NAMES, &gone));
        if typed.len() >= 3 {
            let found = piece.segment.beginning(typed, MAX_PREFIXED);
            others.extend(found.into_iter().map(|(term, _)| term));
        }
    }
    names.sort_unstable();
    others.sort_unstable();
    let mut documents = 0;
    for term in names.into_iter().chain(others) {
        if documents > MAX_PREFIXED_DOCUMENTS {
            break;
        }
        let before = forms.len();
        add_spelling(view, forms, term, MatchForm::Prefix, factor);
        let added = forms[before..]
            .iter()
            .flat_map(|form| form.entries.iter().flatten());
        documents += added.map(|entry| entry.documents).sum::<u32>();
    }
}

/// Adds corrections for a misspelt word of a name.
fn add_corrections(view: IndexView<'_>, forms: &mut Vec<Spelling>, typed: &[u8], factor: f32) {
    let near_in = |(from, piece): (u32, &super::index::IndexSegment)| {
        piece
            .names()
            .near(typed, MAX_NEAR, &|document| view.is_gone(from + document))
    };
    let mut near: Vec<_> = view.pieces().flat_map(near_in).collect();
    near.sort_by(|one, other| {
        one.distance
            .cmp(&other.distance)
            .then_with(|| one.term.cmp(&other.term))
    });
    near.dedup();
    let Some(least) = near.first().map(|near| near.distance) else {
        return;
    };
    for near in near
        .into_iter()
        .filter(|near| near.distance == least)
        .take(MAX_NEAR)
    {
        let factor = if near.distance > 1 {
            factor * factor
        } else {
            factor
        };
        add_spelling(view, forms, near.term, MatchForm::Typo, factor);
    }
}

/// Adds related words with other endings: `customise` for `customisation`.
fn add_derived(view: IndexView<'_>, forms: &mut Vec<Spelling>, stem: &[u8], factor: f32) {
    let root = tokens::root(stem);
    if root.len() < tokens::MIN_ROOT {
        return;
    }
    for (_, piece) in view.pieces() {
        for (term, _) in piece.segment.beginning(&root, MAX_DERIVED) {
            if term != stem && tokens::root(&term) == root {
                add_spelling(view, forms, term, MatchForm::Derived, factor);
            }
        }
    }
}

/// Returns `true` if no document has one of the spellings. Terms of removed documents stay in the
/// index for a while.
fn is_unknown(view: IndexView<'_>, forms: &[Spelling]) -> bool {
    forms.is_empty() || (view.any_gone() && count(view, forms.iter()) == 0)
}

/// Adds a term. Returns its inverse document frequency, or `None` if no document contains it.
fn push(
    view: IndexView<'_>,
    wanted: &mut Vec<QueryTerm>,
    forms: Vec<Spelling>,
    factor: f32,
) -> Option<f32> {
    // Related words do not make a word more frequent, unless they are all that is left of it.
    let own = forms.iter().filter(|form| form.form != MatchForm::Derived);
    let documents = match count(view, own) {
        0 => count(view, forms.iter()),
        documents => documents,
    };
    if documents == 0 {
        return None;
    }
    let idf = factor * idf(documents, view.statistics);
    wanted.push(QueryTerm { forms, idf });
    Some(idf)
}

/// Returns the number of documents that contain one of the spellings.
fn count<'f>(view: IndexView<'_>, forms: impl Iterator<Item = &'f Spelling> + Clone) -> u32 {
    let is_one = forms.clone().nth(1).is_none();
    if is_one && !view.any_gone() {
        let entries = forms.flat_map(|form| form.entries.iter().flatten());
        return entries.map(|entry| entry.documents).sum();
    }
    let mut documents = 0;
    for (number, (from, piece)) in view.pieces().enumerate() {
        let length = if is_one {
            0
        } else {
            piece.segment.skills.len()
        };
        let mut seen = vec![false; length];
        for entry in forms.clone().filter_map(|form| form.entries[number]) {
            for (document, _) in piece.segment.postings(entry) {
                let fresh = seen
                    .get_mut(document as usize)
                    .is_none_or(|seen| !std::mem::replace(seen, true));
                documents += u32::from(fresh && !view.is_gone(from + document));
            }
        }
    }
    documents
}

fn is_one(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.chars().count() == 1)
}
