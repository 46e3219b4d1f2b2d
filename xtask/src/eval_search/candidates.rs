//! Search methods that were measured but not adopted. Simple rather than fast.

use std::collections::{BTreeMap, HashMap};

use prowess_search::tokens;

use super::{DEPTH, Entry};

const FIELDS: usize = 7;

/// The input of BM25.
#[derive(Clone, Copy)]
pub(super) struct Flavour {
    weights: [f64; FIELDS],
    lengths: [f64; FIELDS],
    saturation: f64,
    stems: bool,
    stop_words: bool,
    trigrams: bool,
    body: usize,
}

impl Flavour {
    pub(super) const DESCRIPTION: Self = Self {
        weights: [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        lengths: [0.75; FIELDS],
        saturation: 1.2,
        stems: false,
        stop_words: false,
        trigrams: false,
        body: 0,
    };
    pub(super) const DESCRIPTION_STEMS: Self = Self {
        stems: true,
        stop_words: true,
        ..Self::DESCRIPTION
    };
    pub(super) const FIELDED: Self = Self {
        weights: [6.0, 3.0, 2.0, 2.0, 1.0, 1.5, 0.3],
        lengths: [0.3, 0.5, 0.5, 0.3, 0.3, 0.6, 0.7],
        saturation: 0.6,
        stems: true,
        stop_words: true,
        trigrams: false,
        body: 4096,
    };
    pub(super) const HEAD: Self = Self {
        weights: [6.0, 3.0, 2.0, 2.0, 1.0, 0.0, 0.0],
        body: 0,
        ..Self::FIELDED
    };
    pub(super) const WHOLE_BODY: Self = Self {
        body: usize::MAX,
        ..Self::FIELDED
    };
    pub(super) const NO_STEMS: Self = Self {
        stems: false,
        ..Self::FIELDED
    };
    pub(super) const TRIGRAMS: Self = Self {
        weights: [3.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        lengths: [0.3, 0.75, 0.75, 0.3, 0.3, 0.6, 0.7],
        saturation: 1.2,
        trigrams: true,
        ..Self::DESCRIPTION
    };
}

/// An inverted index in plain tables.
pub(super) struct Bm25 {
    flavour: Flavour,
    postings: HashMap<Vec<u8>, Vec<(usize, [f64; FIELDS])>>,
    lengths: Vec<[f64; FIELDS]>,
    averages: [f64; FIELDS],
}

impl Bm25 {
    pub(super) fn build(entries: &[Entry], flavour: Flavour) -> Self {
        let mut postings: HashMap<Vec<u8>, Vec<(usize, [f64; FIELDS])>> = HashMap::new();
        let mut lengths = Vec::new();
        for (document, entry) in entries.iter().enumerate() {
            let mut length = [0.0; FIELDS];
            for (field, text) in fields(entry, flavour.body).iter().enumerate() {
                if flavour.weights[field] == 0.0 {
                    continue;
                }
                for term in terms(text, flavour, field >= 5) {
                    length[field] += 1.0;
                    let list = postings.entry(term).or_default();
                    if list.last().is_none_or(|(last, _)| *last != document) {
                        list.push((document, [0.0; FIELDS]));
                    }
                    if let Some((_, counts)) = list.last_mut() {
                        counts[field] += 1.0;
                    }
                }
            }
            lengths.push(length);
        }
        let mut averages = [0.0; FIELDS];
        for (field, average) in averages.iter_mut().enumerate() {
            let sum: f64 = lengths
                .iter()
                .map(|length: &[f64; FIELDS]| length[field])
                .sum();
            *average = f64::max(sum / entries.len() as f64, 0.01);
        }
        Self {
            flavour,
            postings,
            lengths,
            averages,
        }
    }

    fn scores(&self, text: &str) -> BTreeMap<usize, f64> {
        let mut wanted = terms(text, self.flavour, self.flavour.stop_words);
        wanted.sort();
        wanted.dedup();
        let mut scores = BTreeMap::new();
        let count = self.lengths.len() as f64;
        for list in wanted.iter().filter_map(|term| self.postings.get(term)) {
            let having = list.len() as f64;
            let idf = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
            for (document, counts) in list {
                let mut sum = 0.0;
                for (field, count) in counts.iter().enumerate() {
                    let share = self.flavour.lengths[field];
                    let length = self.lengths[*document][field] / self.averages[field];
                    sum += self.flavour.weights[field] * count / (1.0 - share + share * length);
                }
                let saturation = self.flavour.saturation;
                *scores.entry(*document).or_insert(0.0) +=
                    idf * sum * (saturation + 1.0) / (sum + saturation);
            }
        }
        scores
    }

    pub(super) fn search(&self, text: &str) -> Vec<usize> {
        best(self.scores(text))
    }

    /// Adds the weighted scores of another index.
    pub(super) fn search_with(&self, text: &str, other: &Self, weight: f64) -> Vec<usize> {
        let mut scores = self.scores(text);
        for (document, score) in other.scores(text) {
            *scores.entry(document).or_insert(0.0) += weight * score;
        }
        best(scores)
    }

    /// Returns the approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        let mut bytes = 0;
        for (term, list) in self.postings.iter().collect::<BTreeMap<_, _>>() {
            bytes += term.len() + 48 + list.len() * size_of::<(usize, [f64; FIELDS])>();
        }
        bytes + self.lengths.len() * size_of::<[f64; FIELDS]>()
    }
}

/// Counts the words of the query that occur in the name or description.
pub(super) fn occurrences(entries: &[Entry], text: &str) -> Vec<usize> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| word.len() > 2)
        .collect();
    let mut scores = BTreeMap::new();
    for (document, entry) in entries.iter().enumerate() {
        let hay = format!("{} {}", entry.skill.name, entry.skill.description).to_lowercase();
        let count = words.iter().filter(|word| hay.contains(**word)).count();
        if count > 0 {
            scores.insert(document, count as f64);
        }
    }
    best(scores)
}

/// Reciprocal rank fusion.
pub(super) fn fuse(lists: &[Vec<usize>]) -> Vec<usize> {
    let mut scores = BTreeMap::new();
    for list in lists {
        for (place, document) in list.iter().enumerate() {
            *scores.entry(*document).or_insert(0.0) += 1.0 / (60.0 + place as f64);
        }
    }
    best(scores)
}

fn best(scores: BTreeMap<usize, f64>) -> Vec<usize> {
    let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
        .into_iter()
        .take(DEPTH)
        .map(|(document, _)| document)
        .collect()
}

fn fields(entry: &Entry, body: usize) -> [String; FIELDS] {
    let skill = &entry.skill;
    let headings: Vec<&str> = entry
        .body
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    let values: Vec<&str> = skill.metadata.iter().map(|(_, value)| &**value).collect();
    let end = entry.body.floor_char_boundary(body.min(entry.body.len()));
    [
        skill.name.to_string(),
        skill.description.to_string(),
        skill.when_to_use.as_deref().unwrap_or_default().to_owned(),
        skill.tags.join(" "),
        values.join(" "),
        headings.join("\n"),
        entry.body[..end].to_owned(),
    ]
}

fn terms(text: &str, flavour: Flavour, drop_stop_words: bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    tokens::each(text, |word, _| {
        if drop_stop_words && tokens::is_stop_word(word) {
            return;
        }
        if flavour.trigrams {
            let framed: Vec<char> = std::iter::once(' ')
                .chain(String::from_utf8_lossy(word).chars())
                .chain([' '])
                .collect();
            found.extend(
                framed
                    .windows(3)
                    .map(|gram| gram.iter().collect::<String>().into_bytes()),
            );
        } else if flavour.stems {
            found.push(tokens::stemmed(word));
        } else {
            found.push(word.to_vec());
        }
    });
    found
}
