//! How well a skill fits a query, and why.
//!
//! BM25F: the counts of a word in all fields are weighed, made comparable by the length of the
//! field, added up, and only then dampened. On top comes a bonus for names whose words were asked
//! for.

use std::cmp::Ordering;
use std::sync::Arc;

use super::index::View;
use super::plan::{Wanted, plan};
use super::segment::{BODY, Counts, FIELDS, LENGTHS, Lengths, NAME, WHOLE};
use super::{Field, Form, Hit, Query, Reason, substring};
use prowess_catalog::Skill;

/// Hits that are explained.
const MAX_EXPLAINED: usize = 1000;

/// What counts how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Each field, in the order of [`Field::ALL`].
    pub fields: [f32; FIELDS],
    /// How far a long field counts less, 0 to 1, in the same order without the last.
    pub lengths: [f32; LENGTHS],
    /// How soon further occurrences stop to matter.
    pub saturation: f32,
    /// The bonus for a name all of whose words were asked for, as a share of the score.
    pub name_cover: f32,
    /// What a word is worth that only begins so.
    pub prefix: f32,
    /// What another word for the same is worth.
    pub synonym: f32,
    /// What a word is worth that was mistyped by one letter.
    pub typo: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            fields: [6.0, 3.0, 2.0, 2.0, 0.7, 3.5, 0.2, 6.0],
            lengths: [0.2, 0.7, 0.5, 0.3, 0.3, 0.85, 0.5],
            saturation: 0.3,
            name_cover: 0.7,
            prefix: 0.8,
            synonym: 0.8,
            typo: 0.6,
        }
    }
}

/// What is known of all documents together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    pub(super) documents: f32,
    /// Average length of each field.
    pub(super) averages: [f32; LENGTHS],
}

impl Statistics {
    #[expect(
        clippy::cast_precision_loss,
        reason = "an average needs no more than that"
    )]
    pub(super) fn new(documents: u32, sums: [u64; LENGTHS]) -> Self {
        let documents = documents as f32;
        // A field that nobody has must not divide by zero.
        let averages = sums.map(|sum| (sum as f32 / documents.max(1.0)).max(0.01));
        Self {
            documents,
            averages,
        }
    }
}

/// How rare a word is.
#[expect(
    clippy::cast_precision_loss,
    reason = "a logarithm needs no more than that"
)]
pub(super) fn idf(documents: u32, statistics: &Statistics) -> f32 {
    let documents = documents as f32;
    (1.0 + (statistics.documents - documents + 0.5).max(0.0) / (documents + 0.5)).ln()
}

/// Skills in the order of ties.
pub(super) fn by_name(one: &Skill, other: &Skill) -> Ordering {
    one.name
        .cmp(&other.name)
        .then_with(|| one.id.cmp(&other.id))
}

/// What weights and statistics make of counts.
#[derive(Debug)]
struct Scale {
    weights: [f32; FIELDS],
    /// The length norm of a field is `fixed + slope * length`.
    fixed: [f32; LENGTHS],
    slopes: [f32; LENGTHS],
    saturation: f32,
}

impl Scale {
    fn new(weights: &Weights, statistics: &Statistics) -> Self {
        let mut slopes = weights.lengths;
        for (slope, average) in slopes.iter_mut().zip(statistics.averages) {
            *slope /= average;
        }
        Self {
            weights: weights.fields,
            fixed: weights.lengths.map(|share| 1.0 - share),
            slopes,
            saturation: weights.saturation,
        }
    }

    #[inline]
    fn norm(&self, field: usize, lengths: &Lengths) -> f32 {
        self.fixed[field] + self.slopes[field] * f32::from(lengths[field])
    }

    /// What each field brings, before it is dampened.
    fn fields(&self, counts: Counts, lengths: &Lengths) -> [f32; FIELDS] {
        let mut brought = [0.0; FIELDS];
        for (field, brought) in brought.iter_mut().enumerate() {
            let count = counts.of(field);
            if count > 0 {
                let norm = if field < LENGTHS {
                    self.norm(field, lengths)
                } else {
                    1.0
                };
                *brought = self.weights[field] * small_float(count) / norm;
            }
        }
        brought
    }

    /// What all fields bring together.
    #[inline]
    fn sum(&self, counts: Counts, lengths: &Lengths) -> f32 {
        const ONLY_BODY: u32 = 15 << (4 * BODY);
        if counts.0 & !ONLY_BODY == 0 {
            self.weights[BODY] * small_float(counts.of(BODY)) / self.norm(BODY, lengths)
        } else {
            self.fields(counts, lengths).iter().sum()
        }
    }

    #[inline]
    fn dampen(&self, brought: f32) -> f32 {
        brought * (self.saturation + 1.0) / (brought + self.saturation)
    }
}

/// A count of four bits as a number to reckon with.
fn small_float(count: u32) -> f32 {
    f32::from(count.to_le_bytes()[0])
}

/// Points of documents.
struct Points {
    scores: Vec<f32>,
    /// Words of the name that were asked for; the highest value where the whole name was.
    named: Vec<u8>,
}

/// Finds the best skills.
pub(super) fn search(view: View<'_>, query: &Query<'_>, weights: &Weights) -> Vec<Hit> {
    let wanted = plan(view, query, weights);
    if wanted.is_empty() {
        return Vec::new();
    }
    let scale = Scale::new(weights, view.statistics);
    let documents = view.documents();
    let mut points = Points {
        scores: vec![0.0; documents],
        named: vec![0; documents],
    };
    for word in &wanted {
        gather(view, word, &scale, |document, brought, counts| {
            let document = document as usize;
            points.scores[document] += word.idf * scale.dampen(brought);
            if counts.of(WHOLE) > 0 {
                points.named[document] = u8::MAX;
            } else if counts.of(NAME) > 0 {
                points.named[document] = points.named[document].saturating_add(1);
            }
        });
    }
    let mut found: Vec<(f32, u32, &Arc<Skill>)> = Vec::new();
    for (document, score) in (0..).zip(&points.scores).filter(|(_, score)| **score > 0.0) {
        let Some(skill) = view.skill(document) else {
            continue;
        };
        if substring::admits(query, skill) {
            let cover = cover(points.named[document as usize], view.name_length(document));
            found.push((score * (1.0 + weights.name_cover * cover), document, skill));
        }
    }
    let order = |one: &(f32, u32, &Arc<Skill>), other: &(f32, u32, &Arc<Skill>)| {
        other
            .0
            .total_cmp(&one.0)
            .then_with(|| by_name(one.2, other.2))
    };
    let most = if query.limit == 0 {
        found.len()
    } else {
        query.limit.min(found.len())
    };
    if most < found.len() {
        found.select_nth_unstable_by(most, order);
        found.truncate(most);
    }
    found.sort_unstable_by(order);
    let mut hits: Vec<Hit> = found
        .iter()
        .map(|(score, _, skill)| Hit {
            skill: Arc::clone(skill),
            score: *score,
            explanation: Vec::new(),
        })
        .collect();
    if query.explain {
        let explained: Vec<u32> = found
            .iter()
            .take(MAX_EXPLAINED)
            .map(|(_, document, _)| *document)
            .collect();
        explain(view, &wanted, &scale, &explained, &mut hits);
        for ((document, hit), (score, _, _)) in explained.iter().zip(&mut hits).zip(&found) {
            let bonus = score - points.scores[*document as usize];
            if bonus > 0.0 {
                hit.explanation.push(Reason {
                    field: Field::Name,
                    term: Arc::from(&*hit.skill.name),
                    form: Form::NameCover,
                    points: bonus,
                });
            }
            hit.explanation
                .sort_by(|one, other| other.points.total_cmp(&one.points));
        }
    }
    hits
}

/// The share of a name that was asked for.
fn cover(named: u8, length: u8) -> f32 {
    (f32::from(named) / f32::from(length)).min(1.0)
}

/// Calls `sink` with every document that has the word, what its fields bring, and the counts.
fn gather(view: View<'_>, word: &Wanted, scale: &Scale, mut sink: impl FnMut(u32, f32, Counts)) {
    if let [only] = word.forms.as_slice() {
        for ((from, piece), entry) in view.pieces().zip(only.entries) {
            let Some(entry) = entry else {
                continue;
            };
            for (document, counts) in piece.segment.postings(entry) {
                let lengths = &piece.segment.lengths[document as usize];
                sink(
                    from + document,
                    only.factor * scale.sum(counts, lengths),
                    counts,
                );
            }
        }
        return;
    }
    for (document, brought, counts, _) in together(view, word, scale) {
        sink(document, brought.iter().sum(), counts);
    }
}

/// A document, what its fields bring, the counts, and the spelling that brings most.
type Together = (u32, [f32; FIELDS], Counts, usize);

/// Every document that has one of several spellings.
fn together(view: View<'_>, word: &Wanted, scale: &Scale) -> Vec<Together> {
    let mut all: Vec<Together> = Vec::new();
    for (number, spelling) in word.forms.iter().enumerate() {
        for ((from, piece), entry) in view.pieces().zip(spelling.entries) {
            let Some(entry) = entry else {
                continue;
            };
            for (document, counts) in piece.segment.postings(entry) {
                let lengths = &piece.segment.lengths[document as usize];
                let brought = scale
                    .fields(counts, lengths)
                    .map(|points| points * spelling.factor);
                all.push((from + document, brought, counts, number));
            }
        }
    }
    all.sort_by_key(|(document, _, _, number)| (*document, *number));
    all.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            for (sum, more) in first.1.iter_mut().zip(next.1) {
                *sum += more;
            }
            for field in [NAME, WHOLE] {
                if next.2.of(field) > 0 {
                    first.2.add(field);
                }
            }
        }
        same
    });
    all
}

/// Says for each hit what its score is made of.
fn explain(view: View<'_>, wanted: &[Wanted], scale: &Scale, documents: &[u32], hits: &mut [Hit]) {
    let mut order: Vec<(u32, usize)> = documents.iter().copied().zip(0..).collect();
    order.sort_unstable();
    for word in wanted {
        let terms: Vec<Arc<str>> = word
            .forms
            .iter()
            .map(|form| String::from_utf8_lossy(&form.term).into())
            .collect();
        let mut reason = |hit: usize, brought: [f32; FIELDS], form: usize| {
            let sum: f32 = brought.iter().sum();
            let points = word.idf * scale.dampen(sum);
            for (field, brought) in Field::ALL.into_iter().zip(brought) {
                if brought > 0.0 {
                    hits[hit].explanation.push(Reason {
                        field,
                        term: Arc::clone(&terms[form]),
                        form: word.forms[form].form,
                        points: points * brought / sum,
                    });
                }
            }
        };
        if let [only] = word.forms.as_slice() {
            for ((from, piece), entry) in view.pieces().zip(only.entries) {
                let Some(entry) = entry else {
                    continue;
                };
                let mut next = order.partition_point(|(document, _)| *document < from);
                for (document, counts) in piece.segment.postings(entry) {
                    let number = from + document;
                    while order
                        .get(next)
                        .is_some_and(|(document, _)| *document < number)
                    {
                        next += 1;
                    }
                    match order.get(next) {
                        None => break,
                        Some((document, hit)) if *document == number => {
                            let lengths = &piece.segment.lengths[(number - from) as usize];
                            let brought = scale.fields(counts, lengths);
                            reason(*hit, brought.map(|points| points * only.factor), 0);
                        }
                        Some(_) => {}
                    }
                }
            }
            continue;
        }
        for (document, brought, _, form) in together(view, word, scale) {
            if let Ok(at) = order.binary_search_by_key(&document, |(document, _)| *document) {
                reason(order[at].1, brought, form);
            }
        }
    }
}
