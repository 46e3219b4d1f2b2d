//! Turns a query into the terms to look up.

use super::document::whole;
use super::index::IndexView;
use super::score::{SearchWeights, idf};
use super::segment::Entry;
use super::tokens::{self, TokenKind};
use super::{MatchForm, SearchQuery, synonyms};

/// Maximum length of a query in bytes.
const MAX_QUERY: usize = 16 * 1024;
/// Maximum number of distinct words that are looked up.
const MAX_LOOKED_UP: usize = 512;
/// Maximum number of distinct words that are scored: the rarest.
const MAX_WEIGHED: usize = 48;
/// Maximum number of words that are compared with all words of names.
const MAX_COMPARED: usize = 8;
/// Maximum number of corrections for one word.
const MAX_NEAR: usize = 4;
const MAX_PREFIXED_NAMES: usize = 64;
const MAX_PREFIXED: usize = 64;
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
    pub(super) entries: [Option<Entry>; 2],
}

/// Returns the terms to score, in the order of the query.
pub(super) fn plan(
    view: IndexView<'_>,
    query: &SearchQuery<'_>,
    weights: &SearchWeights,
) -> Vec<QueryTerm> {
    let text = &query.text[..query.text.floor_char_boundary(MAX_QUERY)];
    let words = words(text);
    let typing = query.prefix && text.chars().next_back().is_some_and(char::is_alphanumeric);
    let last = words.last().map(|word| word.text.clone());
    let all_stop = words.iter().all(|word| word.stop);
    let mut wanted = Vec::new();
    let mut compared = 0;
    for word in &words {
        let typing = typing && last.as_ref() == Some(&word.text);
        if word.stop && !all_stop && !typing {
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
        if is_unknown(view, &forms) && word.kind == TokenKind::Word && compared < MAX_COMPARED {
            compared += 1;
            add_corrections(view, &mut forms, &word.text, weights.typo);
        }
        push(view, &mut wanted, forms);
    }
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
        push(view, &mut wanted, forms);
    }
    if wanted.len() > MAX_WEIGHED {
        let mut rarest: Vec<usize> = (0..wanted.len()).collect();
        rarest.sort_by(|one, other| wanted[*other].idf.total_cmp(&wanted[*one].idf));
        let mut keep = vec![false; wanted.len()];
        for at in &rarest[..MAX_WEIGHED] {
            keep[*at] = true;
        }
        let mut keep = keep.into_iter();
        wanted.retain(|_| keep.next().unwrap_or(false));
    }
    wanted
}

struct QueryWord {
    text: Vec<u8>,
    kind: TokenKind,
    stop: bool,
}

/// Returns the distinct words of a query.
fn words(text: &str) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    let mut known = std::collections::HashSet::new();
    tokens::each(text, |word, kind| {
        if words.len() < MAX_LOOKED_UP && known.insert(tokens::stemmed(word)) {
            words.push(QueryWord {
                text: word.to_vec(),
                kind,
                stop: tokens::is_stop_word(word),
            });
        }
    });
    words
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
            if !found.contains(&name) && found.len() < MAX_WEIGHED {
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

/// Returns `true` if no document has one of the spellings. Terms of removed documents stay in the
/// index for a while.
fn is_unknown(view: IndexView<'_>, forms: &[Spelling]) -> bool {
    forms.is_empty() || (view.any_gone() && count(view, forms) == 0)
}

fn push(view: IndexView<'_>, wanted: &mut Vec<QueryTerm>, forms: Vec<Spelling>) {
    if forms.is_empty() {
        return;
    }
    let documents = match forms.as_slice() {
        [only] if !view.any_gone() => only
            .entries
            .iter()
            .flatten()
            .map(|entry| entry.documents)
            .sum(),
        _ => count(view, &forms),
    };
    if documents > 0 {
        wanted.push(QueryTerm {
            forms,
            idf: idf(documents, view.statistics),
        });
    }
}

/// Returns the number of documents that contain one of the spellings.
fn count(view: IndexView<'_>, forms: &[Spelling]) -> u32 {
    let mut documents = 0;
    for (number, (from, piece)) in view.pieces().enumerate() {
        let mut seen = vec![
            false;
            if forms.len() > 1 {
                piece.segment.skills.len()
            } else {
                0
            }
        ];
        for entry in forms.iter().filter_map(|form| form.entries[number]) {
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
