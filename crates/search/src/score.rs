//! Scores skills against a query and explains the scores.
//!
//! BM25F: the counts of a term in all fields are weighted, normalised by the length of the field,
//! summed, and only then saturated. Names whose words occur in the query get a bonus.

use std::cmp::Ordering;
use std::sync::Arc;

use super::head_match::HeadMatcher;
use super::index::IndexView;
use super::query_terms::{Plan, QueryTerm, Spelling, plan};
use super::segment::{BODY, Counts, FIELDS, LENGTHS, Lengths, NAME, WHOLE};
use super::{FITTED, MatchForm, MatchReason, SearchField, SearchHit, SearchQuery, filter};
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
    /// Factor for a related word with another ending.
    pub derived: f32,
    /// Points for two adjacent words of the query that are adjacent in the head of a skill, as a
    /// share of their inverse document frequency.
    pub phrase: f32,
    /// Factor for words that occur only in fenced code.
    pub code: f32,
    /// Scores numbers of up to three digits also in long queries.
    pub numbers: bool,
    /// Looks for names without separators also in long queries.
    pub long_names: bool,
    /// A query of at most this many words may be a name, and may be misspelt.
    pub short_query: usize,
    /// Maximum number of distinct terms that are scored: the rarest.
    pub most_terms: usize,
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
            derived: 0.1,
            phrase: 0.5,
            code: 0.5,
            numbers: false,
            long_names: false,
            short_query: 6,
            most_terms: 48,
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

impl Statistics {
    /// Returns the information of a word that hardly any skill contains.
    pub(super) fn most_information(&self) -> f32 {
        self.documents.ln_1p().max(1.0)
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

/// Returns the confidence that a skill fits, by logistic regression on prompts and on messages that
/// no skill fits. The score is divided by the most information that one word can carry, so that it
/// depends little on the size of the library.
fn fit(hit: &Found<'_>, share: f32, weights: &SearchWeights, statistics: &Statistics) -> f32 {
    let words = hit.score / statistics.most_information();
    let cover = hit.cover / weights.name_cover.max(0.01);
    let evidence = 4.1 * words.ln_1p() + 1.2 * share + 0.5 * cover - 4.75;
    1.0 / (1.0 + (-evidence).exp())
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
        if counts.is_only_body() {
            self.body(counts.of(BODY), lengths)
        } else {
            self.fields(counts, lengths).iter().sum()
        }
    }

    /// Returns the contribution of the body.
    #[inline]
    fn body(&self, count: u32, lengths: &Lengths) -> f32 {
        self.weights[BODY] * small_float(count) / self.norm(BODY, lengths)
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

/// A skill that matches, with its score.
#[derive(Clone, Copy)]
struct Found<'i> {
    score: f32,
    document: u32,
    skill: &'i Arc<Skill>,
    /// The share of the score that is the bonus for the name.
    cover: f32,
    /// The factor for lists of keywords.
    breadth: f32,
    fit: f32,
}

impl Found<'_> {
    fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| by_name(self.skill, other.skill))
    }
}

/// Returns the best skills.
pub(super) fn search(
    view: IndexView<'_>,
    query: &SearchQuery<'_>,
    weights: &SearchWeights,
) -> Vec<SearchHit> {
    let plan = plan(view, query, weights);
    if plan.terms.is_empty() {
        return Vec::new();
    }
    let scale = Scale::new(weights, view.statistics);
    let points = score_all(view, &plan.terms, &scale);
    let mut found = best(view, query, weights, &points);
    let most = if query.limit == 0 {
        found.len()
    } else {
        query.limit.min(found.len())
    };
    found.sort_unstable_by(Found::order);
    // Phrases only add points, so that the best candidates stay ahead of the others.
    let compared = found.len().min(compared(query));
    let mut matcher = HeadMatcher::new(&plan);
    for hit in &mut found[..compared] {
        let head = matcher.compare(hit.skill);
        hit.score += weights.phrase * head.phrases * hit.breadth * (1.0 + hit.cover);
        hit.fit = fit(hit, head.share, weights, view.statistics);
    }
    found[..compared].sort_unstable_by(Found::order);
    found.truncate(most);
    let mut hits: Vec<SearchHit> = found
        .iter()
        .map(|hit| SearchHit {
            skill: Arc::clone(hit.skill),
            score: hit.score,
            fit: hit.fit,
            explanation: Vec::new(),
        })
        .collect();
    if query.explain {
        found.truncate(MAX_EXPLAINED);
        let explained: Vec<u32> = found.iter().map(|hit| hit.document).collect();
        explain(view, &plan.terms, &scale, &explained, &mut hits);
        for (number, (hit, explained)) in found.iter().zip(&mut hits).enumerate() {
            if number < compared {
                explain_phrases(&plan, &mut matcher, weights, explained);
            }
            for reason in &mut explained.explanation {
                reason.points *= hit.breadth;
            }
            let bonus = hit.score * hit.cover / (1.0 + hit.cover);
            if bonus > 0.0 {
                explained.explanation.push(MatchReason {
                    field: SearchField::Name,
                    term: Arc::from(&*hit.skill.name),
                    form: MatchForm::NameCover,
                    points: bonus,
                });
            }
            explained
                .explanation
                .sort_by(|one, other| other.points.total_cmp(&one.points));
        }
    }
    hits
}

/// Returns the number of the best candidates whose heads are compared with the query.
fn compared(query: &SearchQuery<'_>) -> usize {
    query.limit.clamp(FITTED, MAX_EXPLAINED)
}

/// Returns the candidates that may be among the hits, in no order.
fn best<'i>(
    view: IndexView<'i>,
    query: &SearchQuery<'_>,
    weights: &SearchWeights,
    points: &Points,
) -> Vec<Found<'i>> {
    let kept = if query.limit == 0 {
        usize::MAX
    } else {
        query.limit.max(compared(query))
    };
    let mut found: Vec<Found<'_>> = Vec::new();
    let reduce = |found: &mut Vec<Found<'i>>| {
        found.select_nth_unstable_by(kept, Found::order);
        found.truncate(kept);
    };
    // Candidates below this score are not among the best.
    let mut least = 0.0;
    let bonus = 1.0 + weights.name_cover.max(0.0);
    for (document, score) in (0..).zip(&points.scores) {
        if *score <= 0.0 || score * bonus < least {
            continue;
        }
        let (length, breadth) = view.shape(document);
        let cover = weights.name_cover * cover(points.named[document as usize], length);
        let score = score * breadth * (1.0 + cover);
        if score < least {
            continue;
        }
        let Some(skill) = view
            .skill(document)
            .filter(|skill| filter::admits(query, skill))
        else {
            continue;
        };
        found.push(Found {
            score,
            document,
            skill,
            cover,
            breadth,
            fit: 0.0,
        });
        if found.len() > kept.saturating_mul(4) {
            reduce(&mut found);
            least = found.iter().map(|hit| hit.score).fold(f32::MAX, f32::min);
        }
    }
    if found.len() > kept {
        reduce(&mut found);
    }
    found
}

/// Adds the phrases of a hit to its explanation.
fn explain_phrases(
    plan: &Plan,
    matcher: &mut HeadMatcher<'_>,
    weights: &SearchWeights,
    hit: &mut SearchHit,
) {
    if weights.phrase <= 0.0 {
        return;
    }
    matcher.compare(&hit.skill);
    for pair in matcher.found() {
        let points = weights.phrase * plan.pair_rarity(pair.first, pair.second);
        if points > 0.0 {
            hit.explanation.push(MatchReason {
                field: SearchField::ALL[pair.field],
                term: plan.phrase(pair.first, pair.second),
                form: MatchForm::Phrase,
                points,
            });
        }
    }
}

impl Points {
    /// Adds the points of a word to a document.
    #[inline]
    fn add(&mut self, document: u32, points: f32, counts: Counts) {
        let document = document as usize;
        self.scores[document] += points;
        if counts.of(WHOLE) > 0 {
            self.named[document] = u8::MAX;
        } else if counts.of(NAME) > 0 {
            self.named[document] = self.named[document].saturating_add(1);
        }
    }
}

/// Adds up the scores of all documents.
fn score_all(view: IndexView<'_>, terms: &[QueryTerm], scale: &Scale) -> Points {
    let documents = view.documents();
    let mut points = Points {
        scores: vec![0.0; documents],
        named: vec![0; documents],
    };
    let bodies = BodyGains::for_terms(view, terms, scale);
    let mut scratch = Scratch::default();
    for word in terms {
        if let [only] = word.forms.as_slice() {
            let bodies = bodies.as_ref().filter(|_| only.factor >= 1.0);
            each_posting(view, only, |document, counts, lengths| {
                if let Some(bodies) = bodies.filter(|_| counts.is_only_body()) {
                    let gain = bodies.of(document, counts.of(BODY));
                    points.scores[document as usize] += word.idf * gain;
                } else {
                    let gain = word.idf * scale.dampen(only.factor * scale.sum(counts, lengths));
                    points.add(document, gain, only.named(counts));
                }
            });
        } else {
            scratch.gather(view, word, scale, |document, gain, counts| {
                points.add(document, word.idf * scale.dampen(gain), counts);
            });
        }
    }
    points
}

/// The saturated contributions of the body for each document and each count in a posting (1, 2 or
/// 4). Most postings of a long query are about the body only, and two divisions for each of them
/// take most of its time.
struct BodyGains(Vec<[f32; 3]>);

impl BodyGains {
    /// Returns `None` if the query has too few postings for the table to pay.
    fn for_terms(view: IndexView<'_>, terms: &[QueryTerm], scale: &Scale) -> Option<Self> {
        let entries = terms
            .iter()
            .flat_map(|term| &term.forms)
            .flat_map(|form| form.entries)
            .flatten();
        let postings: usize = entries.map(|entry| entry.documents as usize).sum();
        if postings < 4 * view.documents() {
            return None;
        }
        let lengths = view.pieces().flat_map(|(_, piece)| &piece.segment.lengths);
        let gains = |lengths| [1, 2, 4].map(|count| scale.dampen(scale.body(count, lengths)));
        Some(Self(lengths.map(gains).collect()))
    }

    /// Returns the contribution of a count in the body of a document.
    #[inline]
    fn of(&self, document: u32, count: u32) -> f32 {
        self.0[document as usize][(count >> 1) as usize]
    }
}

/// Returns the share of the name that occurs in the query.
fn cover(named: u8, length: u8) -> f32 {
    (f32::from(named) / f32::from(length)).min(1.0)
}

/// Calls `sink` with each document that has the spelling.
fn each_posting(
    view: IndexView<'_>,
    spelling: &Spelling,
    mut sink: impl FnMut(u32, Counts, &Lengths),
) {
    for ((from, piece), entry) in view.pieces().zip(spelling.entries) {
        let Some(entry) = entry else {
            continue;
        };
        for (document, counts) in piece.segment.postings(entry) {
            let lengths = &piece.segment.lengths[document as usize];
            sink(from + document, counts, lengths);
        }
    }
}

impl Spelling {
    /// Returns the counts by which a name matches. A related word in a name does not make it match.
    fn named(&self, counts: Counts) -> Counts {
        if self.form == MatchForm::Derived {
            Counts(0)
        } else {
            counts
        }
    }
}

/// Adds up the contributions of several spellings of one word.
#[derive(Default)]
struct Scratch {
    /// The contribution and the counts of each document; a contribution of 0 is free.
    gains: Vec<(f32, Counts)>,
    touched: Vec<u32>,
}

impl Scratch {
    /// Calls `sink` with each document that has one of the spellings.
    fn gather(
        &mut self,
        view: IndexView<'_>,
        word: &QueryTerm,
        scale: &Scale,
        mut sink: impl FnMut(u32, f32, Counts),
    ) {
        self.gains.resize(view.documents(), (0.0, Counts(0)));
        for spelling in &word.forms {
            each_posting(view, spelling, |document, counts, lengths| {
                let (gain, all) = &mut self.gains[document as usize];
                if *gain <= 0.0 {
                    self.touched.push(document);
                }
                *gain += spelling.factor * scale.sum(counts, lengths);
                all.0 |= spelling.named(counts).0;
            });
        }
        for document in self.touched.drain(..) {
            let (gain, counts) = std::mem::take(&mut self.gains[document as usize]);
            sink(document, gain, counts);
        }
    }
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
    let explained = documents.len();
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
        let mut gains: Vec<([f32; FIELDS], usize)> = vec![([0.0; FIELDS], usize::MAX); explained];
        for (form, spelling) in word.forms.iter().enumerate() {
            let mut next = 0;
            each_posting(view, spelling, |document, counts, lengths| {
                while order.get(next).is_some_and(|(other, _)| *other < document) {
                    next += 1;
                }
                if let Some((_, hit)) = order.get(next).filter(|(other, _)| *other == document) {
                    let (sum, first) = &mut gains[*hit];
                    for (sum, gain) in sum.iter_mut().zip(scale.fields(counts, lengths)) {
                        *sum += gain * spelling.factor;
                    }
                    *first = form.min(*first);
                }
            });
        }
        for (hit, (gain, form)) in gains.into_iter().enumerate() {
            if form != usize::MAX {
                reason(hit, gain, form);
            }
        }
    }
}
