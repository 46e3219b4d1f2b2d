//! Full-text search over skills.
//!
//! [`SearchIndex`] ranks skills by words in fields (BM25F); `substring` searches for a substring,
//! as Agentick does. `filter` applies to both. [`hint`] chooses the skills to suggest for a message,
//! [`name_match`] compares names with a query, and `file_kinds` has the words for kinds of files.
//!
//! `tokens` splits text into words, `document` tokenises documents, `segment` stores them compactly,
//! `index` combines segments, `cache_format` writes and reads them as bytes, `query_terms` parses a
//! query, `synonyms` has words of equal meaning, `score` ranks, `head_match` looks for phrases in the
//! heads of the best skills, and `fuzzy_names` matches misspelt names. `docs/concepts/search.md`
//! explains how the weights were chosen.

#![warn(clippy::disallowed_methods)]

mod cache_format;
mod document;
mod file_kinds;
mod filter;
mod fuzzy_names;
mod head_match;
pub mod hint;
mod index;
pub mod name_match;
mod query_terms;
mod score;
mod segment;
pub mod substring;
mod synonyms;
pub mod tokens;

#[cfg(test)]
mod ranking_tests;
#[cfg(test)]
mod search_tests;

use std::sync::Arc;

use prowess_catalog::{Scope, Skill};

pub use document::{SearchDocument, SearchPart, SearchPartBuilder};
pub use index::SearchIndex;
pub use score::SearchWeights;

/// The search algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Ranks by words, best match first.
    #[default]
    Ranked,
    /// Matches a substring of name, description, `when_to_use` or metadata, in catalogue order.
    Substring,
}

/// A search query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery<'q> {
    /// The words or the substring. An empty query matches every skill that passes the filters.
    pub text: &'q str,
    /// Metadata pairs that a skill must have exactly.
    pub metadata: Vec<(&'q str, &'q str)>,
    /// The scope that a skill must have.
    pub scope: Option<Scope>,
    /// Maximum number of hits; 0 for no limit.
    pub limit: usize,
    /// The search algorithm.
    pub mode: SearchMode,
    /// Treats the last word as a prefix, for search while typing.
    pub prefix: bool,
    /// Adds an explanation to each hit.
    pub explain: bool,
}

impl<'q> SearchQuery<'q> {
    /// Returns a ranked query for ten skills, with explanations.
    pub fn new(text: &'q str) -> Self {
        Self {
            text,
            metadata: Vec::new(),
            scope: None,
            limit: 10,
            mode: SearchMode::Ranked,
            prefix: false,
            explain: true,
        }
    }
}

/// The least [`SearchHit::fit_among`] of a skill that is suggested without a request. Measured with
/// `cargo xtask eval-search LIBRARY QUERIES --fit` and `--visible`.
pub const GOOD_FIT: f32 = 0.5;

/// Number of the best hits that have a [`SearchHit::fit`], unless `limit` is higher.
pub const FITTED: usize = 50;

/// A skill that matches a query.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The score. Comparable only within one search; 0 if nothing was ranked.
    pub score: f32,
    /// The confidence that the skill fits the query, 0 to 1. Unlike the score it can be compared
    /// between queries and between libraries. 0 if nothing was ranked, and after the first
    /// [`FITTED`] hits, or `limit` hits if that is more, up to a thousand.
    pub fit: f32,
    /// The components of the score, largest first; their points add up to the score. Empty if not
    /// requested, and after the first thousand hits.
    pub explanation: Vec<MatchReason>,
}

impl SearchHit {
    /// Returns the fit of the hit next to another one with the score `best`. The further the hit is
    /// behind, the less it fits. A caller that shows only some of the hits passes the best score
    /// among those, so that the result does not depend on the others.
    pub fn fit_among(&self, best: f32) -> f32 {
        let nearness = self.score / best.max(self.score).max(f32::MIN_POSITIVE);
        self.fit * (0.4 + 0.6 * nearness)
    }
}

/// One component of a score.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchReason {
    /// The matching field.
    pub field: SearchField,
    /// The matching term as stored in the index, stemmed.
    pub term: Arc<str>,
    /// The kind of match.
    pub form: MatchForm,
    /// Contribution to the score.
    pub points: f32,
}

/// A searchable part of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SearchField {
    /// The name and the alias.
    Name,
    /// The description.
    Description,
    /// `when_to_use`.
    WhenToUse,
    /// The tags.
    Tags,
    /// The metadata values.
    Metadata,
    /// The headings of the body.
    Headings,
    /// The beginning of the body.
    Body,
    /// The name without separators: `pdftools`.
    WholeName,
}

impl SearchField {
    /// Every field, in storage order.
    pub const ALL: [Self; segment::FIELDS] = [
        Self::Name,
        Self::Description,
        Self::WhenToUse,
        Self::Tags,
        Self::Metadata,
        Self::Headings,
        Self::Body,
        Self::WholeName,
    ];

    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::WhenToUse => "when_to_use",
            Self::Tags => "tags",
            Self::Metadata => "metadata",
            Self::Headings => "headings",
            Self::Body => "body",
            Self::WholeName => "whole name",
        }
    }
}

/// The kind of match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MatchForm {
    /// The word itself or an inflected form.
    Exact,
    /// Two adjacent characters of a script without spaces.
    Gram,
    /// A word with this prefix.
    Prefix,
    /// A word of a name that differs in one or two letters.
    Typo,
    /// A synonym: `k8s` for `kubernetes`.
    Synonym,
    /// The share of the name's words that occur in the query.
    NameCover,
    /// A related word with another ending: `customise` for `customisation`.
    Derived,
    /// Words of the query that are adjacent in the skill too.
    Phrase,
}

impl MatchForm {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Gram => "gram",
            Self::Prefix => "prefix",
            Self::Typo => "typo",
            Self::Synonym => "synonym",
            Self::NameCover => "name cover",
            Self::Derived => "derived",
            Self::Phrase => "phrase",
        }
    }
}
