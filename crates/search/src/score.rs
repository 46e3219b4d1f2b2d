//! Scores skills against a query and explains the scores.
//!
//! BM25F: the counts of a term in all fields are weighted, normalised by the length of the field,
//! summed, and only then saturated. Names whose words occur in the query get a bonus.

use std::cmp::Ordering;
use std::sync::Arc;

use super::index::IndexView;
use super::query_terms::{QueryTerm, plan};
use super::segment::{BODY, Counts, FIELDS, LENGTHS, Lengths, NAME, WHOLE};
use super::{MatchForm, MatchReason, SearchField, SearchHit, SearchQuery, filter};
use prowess_catalog::Skill;

/// Maximum number of hits with an explanation.
const MAX_EXPLAINED: usize = 1000;

/// Scoring weights.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchWeights {
    /// Weight of each field, in the order of [`SearchField::ALL`].
    pub fields: [f32; FIELDS],
    /// Length normalisation of each field, 0 to 1, in the same order without the last field.
    pub lengths: [f32; LENGTHS],
    /// Saturation: the lower, the less further occurrences count.
    pub saturation: f32,
    /// Bonus for a name whose words all occur in the query, as a share of the score.
    pub name_cover: f32,
    /// Factor for a prefix match.
    pub prefix: f32,
    /// Factor for a synonym.
    pub synonym: f32,
    /// Factor for a word with one wrong letter.
    pub typo: f32,
}

impl Default for SearchWeights {
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

/// Statistics over all documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    pub(super) documents: f32,
    /// Average length of each field.
    pub(super) averages: [f32; LENGTHS],
}

impl Statistics {
    #[expect(
        clippy::cast_precision_loss,
        reason = "an average needs no more precision"
    )]
    pub(super) fn new(documents: u32, sums: [u64; LENGTHS]) -> Self {
        let documents = documents as f32;
        // Avoids division by zero for a field that no document has.
        let averages = sums.map(|sum| (sum as f32 / documents.max(1.0)).max(0.01));
        Self {
            documents,
            averages,
        }
    }
}

/// Computes the inverse document frequency of a term.
#[expect(
    clippy::cast_precision_loss,
    reason = "a logarithm needs no more precision"
)]
pub(super) fn idf(documents: u32, statistics: &Statistics) -> f32 {
    let documents = documents as f32;
    (1.0 + (statistics.documents - documents + 0.5).max(0.0) / (documents + 0.5)).ln()
}

/// Compares skills for ties.
pub(super) fn by_name(one: &Skill, other: &Skill) -> Ordering {
    one.name
        .cmp(&other.name)
        .then_with(|| one.id.cmp(&other.id))
}

/// Weights combined with the statistics.
#[derive(Debug)]
struct Scale {
    weights: [f32; FIELDS],
    /// The length norm of a field is `fixed + slope * length`.
    fixed: [f32; LENGTHS],
    slopes: [f32; LENGTHS],
    saturation: f32,
}

impl Scale {
    fn new(weights: &SearchWeights, statistics: &Statistics) -> Self {
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

    /// Returns the contribution of each field, before saturation.
    fn fields(&self, counts: Counts, lengths: &Lengths) -> [f32; FIELDS] {
        let mut gain = [0.0; FIELDS];
        for (field, gain) in gain.iter_mut().enumerate() {
            let count = counts.of(field);
            if count > 0 {
                let norm = if field < LENGTHS {
                    self.norm(field, lengths)
                } else {
                    1.0
                };
                *gain = self.weights[field] * small_float(count) / norm;
            }
        }
        gain
    }

    /// Returns the sum of all contributions.
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
    fn dampen(&self, gain: f32) -> f32 {
        gain * (self.saturation + 1.0) / (gain + self.saturation)
    }
}

/// Converts a count of four bits.
fn small_float(count: u32) -> f32 {
    f32::from(count.to_le_bytes()[0])
}

/// Scores of documents.
struct Points {
    scores: Vec<f32>,
    /// The number of name words in the query; `u8::MAX` if the whole name matched.
    named: Vec<u8>,
}

/// Returns the best skills.
pub(super) fn search(
    view: IndexView<'_>,
    query: &SearchQuery<'_>,
    weights: &SearchWeights,
) -> Vec<SearchHit> {
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
        gather(view, word, &scale, |document, gain, counts| {
            let document = document as usize;
            points.scores[document] += word.idf * scale.dampen(gain);
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
        if filter::admits(query, skill) {
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
    let mut hits: Vec<SearchHit> = found
        .iter()
        .map(|(score, _, skill)| SearchHit {
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
                hit.explanation.push(MatchReason {
                    field: SearchField::Name,
                    term: Arc::from(&*hit.skill.name),
                    form: MatchForm::NameCover,
                    points: bonus,
                });
            }
            hit.explanation
                .sort_by(|one, other| other.points.total_cmp(&one.points));
        }
    }
    hits
}

/// Returns the share of the name that occurs in the query.
fn cover(named: u8, length: u8) -> f32 {
    (f32::from(named) / f32::from(length)).min(1.0)
}

/// Calls `sink` with each document that has the term, its contribution, and the counts.
fn gather(
    view: IndexView<'_>,
    word: &QueryTerm,
    scale: &Scale,
    mut sink: impl FnMut(u32, f32, Counts),
) {
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
    for (document, gain, counts, _) in combined(view, word, scale) {
        sink(document, gain.iter().sum(), counts);
    }
}

/// A document, the contributions of its fields, the counts, and the spelling that contributes most.
type CombinedGain = (u32, [f32; FIELDS], Counts, usize);

/// Returns every document that has one of several spellings.
fn combined(view: IndexView<'_>, word: &QueryTerm, scale: &Scale) -> Vec<CombinedGain> {
    let mut all: Vec<CombinedGain> = Vec::new();
    for (number, spelling) in word.forms.iter().enumerate() {
        for ((from, piece), entry) in view.pieces().zip(spelling.entries) {
            let Some(entry) = entry else {
                continue;
            };
            for (document, counts) in piece.segment.postings(entry) {
                let lengths = &piece.segment.lengths[document as usize];
                let gain = scale
                    .fields(counts, lengths)
                    .map(|points| points * spelling.factor);
                all.push((from + document, gain, counts, number));
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

/// Fills in the explanation of each hit.
fn explain(
    view: IndexView<'_>,
    wanted: &[QueryTerm],
    scale: &Scale,
    documents: &[u32],
    hits: &mut [SearchHit],
) {
    let mut order: Vec<(u32, usize)> = documents.iter().copied().zip(0..).collect();
    order.sort_unstable();
    for word in wanted {
        let terms: Vec<Arc<str>> = word
            .forms
            .iter()
            .map(|form| String::from_utf8_lossy(&form.term).into())
            .collect();
        let mut reason = |hit: usize, gain: [f32; FIELDS], form: usize| {
            let sum: f32 = gain.iter().sum();
            let points = word.idf * scale.dampen(sum);
            for (field, gain) in SearchField::ALL.into_iter().zip(gain) {
                if gain > 0.0 {
                    hits[hit].explanation.push(MatchReason {
                        field,
                        term: Arc::clone(&terms[form]),
                        form: word.forms[form].form,
                        points: points * gain / sum,
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
                            let gain = scale.fields(counts, lengths);
                            reason(*hit, gain.map(|points| points * only.factor), 0);
                        }
                        Some(_) => {}
                    }
                }
            }
            continue;
        }
        for (document, gain, _, form) in combined(view, word, scale) {
            if let Ok(at) = order.binary_search_by_key(&document, |(document, _)| *document) {
                reason(order[at].1, gain, form);
            }
        }
    }
}
