//! From a query to the words that are looked up.

use super::index::View;
use super::part::whole;
use super::score::{Weights, idf};
use super::segment::Entry;
use super::tokens::{self, Kind};
use super::{Form, Query, synonyms};

/// How much of a query is read.
const MAX_QUERY: usize = 16 * 1024;
/// Distinct words of a query that are looked up.
const MAX_LOOKED_UP: usize = 512;
/// Distinct words of a query that are weighed: the rarest.
const MAX_WEIGHED: usize = 48;
/// Words of a query that are compared with all words of names.
const MAX_COMPARED: usize = 8;
/// Other words that may stand for one.
const MAX_NEAR: usize = 4;
const MAX_PREFIXED_NAMES: usize = 64;
const MAX_PREFIXED: usize = 64;
/// Documents that words with one beginning may have, all together; names are looked at first.
const MAX_PREFIXED_DOCUMENTS: u32 = 40_000;
/// A query of so few words may be a name in one piece.
const MAX_WORDS_OF_NAME: usize = 6;

/// One thing that was asked for, in all forms that count as it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) forms: Vec<Spelling>,
    /// How rare it is.
    pub(super) idf: f32,
}

/// A word of the index that counts as the word asked for.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    pub(super) term: Vec<u8>,
    pub(super) form: Form,
    /// How much it counts beside the word itself.
    pub(super) factor: f32,
    /// Where it is, in each piece.
    pub(super) entries: [Option<Entry>; 2],
}

/// Reads a query: the words to weigh, in the order of the query.
pub(super) fn plan(view: View<'_>, query: &Query<'_>, weights: &Weights) -> Vec<Wanted> {
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
        let form = if word.kind == Kind::Gram {
            Form::Gram
        } else {
            Form::Exact
        };
        let mut forms = Vec::new();
        let stem = tokens::stemmed(&word.text);
        spell(view, &mut forms, stem.clone(), form, 1.0);
        for other in synonyms::of(&stem) {
            let other = tokens::stemmed(other.as_bytes());
            spell(view, &mut forms, other, Form::Synonym, weights.synonym);
        }
        let alone = word.kind == Kind::Gram && word.text.len() <= 4 && is_one(&word.text);
        if typing || alone {
            beginnings(view, &mut forms, &word.text, weights.prefix);
        }
        if forms.is_empty() && word.kind == Kind::Word && compared < MAX_COMPARED {
            compared += 1;
            slips(view, &mut forms, &word.text, weights.typo);
        }
        push(view, &mut wanted, forms);
    }
    for name in pieces(text, words.len()) {
        let mut forms = Vec::new();
        spell(view, &mut forms, tokens::stemmed(&name), Form::Exact, 1.0);
        // A path or an address of many words is not a mistyped name.
        if forms.is_empty() && words.len() <= MAX_WORDS_OF_NAME && compared < MAX_COMPARED {
            compared += 1;
            slips(view, &mut forms, &name, weights.typo);
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

struct Asked {
    text: Vec<u8>,
    kind: Kind,
    stop: bool,
}

/// The distinct words of a query, each once.
fn words(text: &str) -> Vec<Asked> {
    let mut words: Vec<Asked> = Vec::new();
    let mut known = std::collections::HashSet::new();
    tokens::each(text, |word, kind| {
        if words.len() < MAX_LOOKED_UP && known.insert(tokens::stemmed(word)) {
            words.push(Asked {
                text: word.to_vec(),
                kind,
                stop: tokens::is_stop_word(word),
            });
        }
    });
    words
}

/// What may be a name in one piece: words tied by hyphens and the like, or a short query as a
/// whole.
fn pieces(text: &str, words: usize) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let tied = text.split(|character: char| {
        !character.is_alphanumeric() && !matches!(character, '-' | '_' | '.' | ':' | '/')
    });
    let tied = tied.filter(|piece| piece.contains(['-', '_', '.', ':', '/']));
    let short = (words > 1 && words <= MAX_WORDS_OF_NAME).then_some(text);
    for piece in tied.chain(short) {
        let mut count = 0;
        tokens::each(piece, |_, kind| count += usize::from(kind != Kind::Part));
        if count > 1 && count <= 12 {
            let name = whole(piece);
            if !found.contains(&name) && found.len() < MAX_WEIGHED {
                found.push(name);
            }
        }
    }
    found
}

/// Adds a word of the index, if it has it.
fn spell(view: View<'_>, forms: &mut Vec<Spelling>, term: Vec<u8>, form: Form, factor: f32) {
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

/// Adds words that begin as the typed one does.
fn beginnings(view: View<'_>, forms: &mut Vec<Spelling>, typed: &[u8], factor: f32) {
    // An ending that is half typed: `deployi` is on its way to `deploying`.
    for rest in ["s", "d", "g", "ng"] {
        let finished = [typed, rest.as_bytes()].concat();
        let stem = tokens::stemmed(&finished);
        if stem.len() <= typed.len() {
            spell(view, forms, stem, Form::Prefix, factor);
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
        spell(view, forms, term, Form::Prefix, factor);
        let added = forms[before..]
            .iter()
            .flat_map(|form| form.entries.iter().flatten());
        documents += added.map(|entry| entry.documents).sum::<u32>();
    }
}

/// Adds words of names that may have been meant.
fn slips(view: View<'_>, forms: &mut Vec<Spelling>, typed: &[u8], factor: f32) {
    let near_in = |(from, piece): (u32, &super::index::Piece)| {
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
        spell(view, forms, near.term, Form::Typo, factor);
    }
}

fn push(view: View<'_>, wanted: &mut Vec<Wanted>, forms: Vec<Spelling>) {
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
        wanted.push(Wanted {
            forms,
            idf: idf(documents, view.statistics),
        });
    }
}

/// How many documents have one of the spellings.
fn count(view: View<'_>, forms: &[Spelling]) -> u32 {
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
