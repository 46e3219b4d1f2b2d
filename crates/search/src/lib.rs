//! Search: which skills are meant by these words?
//!
//! [`SearchIndex`] ranks by words in fields; `substring` looks for a piece of text as Agentick does.
//! `tokens` says what a word is, `part` takes documents apart, `segment` packs them, `index` puts
//! them together, `plan` reads a query, `score` weighs, `names` forgives slips of the finger. How
//! the weights were chosen is told in `docs/concepts/search.md`.

#![warn(clippy::disallowed_methods)]

mod index;
mod names;
mod part;
mod plan;
mod score;
mod segment;
mod stored;
pub mod substring;
mod synonyms;
pub mod tokens;

#[cfg(test)]
mod search_tests;

use std::sync::Arc;

use prowess_catalog::{Scope, Skill};

pub use index::SearchIndex;
pub use part::{Document, Part, PartBuilder};
pub use score::Weights;

/// How to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By words, best first.
    #[default]
    Ranked,
    /// A piece of text, anywhere in name, description, `when_to_use` and metadata, in the order of
    /// the catalogue.
    Substring,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'q> {
    /// The words, or the piece of text. Empty means every skill that the filters admit.
    pub text: &'q str,
    /// Pairs of metadata that a skill must have, every one, exactly.
    pub metadata: Vec<(&'q str, &'q str)>,
    /// The scope that a skill must come from.
    pub scope: Option<Scope>,
    /// Most hits; 0 means no limit.
    pub limit: usize,
    /// How to search.
    pub mode: Mode,
    /// Whether the last word may be the beginning of one, because somebody is still typing.
    pub prefix: bool,
    /// Whether hits say why they were found.
    pub explain: bool,
}

impl<'q> Query<'q> {
    /// Starts a ranked search for ten skills, with explanations.
    pub fn new(text: &'q str) -> Self {
        Self {
            text,
            metadata: Vec::new(),
            scope: None,
            limit: 10,
            mode: Mode::Ranked,
            prefix: false,
            explain: true,
        }
    }
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The skill.
    pub skill: Arc<Skill>,
    /// How well it fits: comparable within one search only; 0 where nothing was weighed.
    pub score: f32,
    /// What the score is made of, most points first. The points add up to the score. Empty where
    /// nobody asked for it, and beyond the first thousand hits.
    pub explanation: Vec<Reason>,
}

/// One thing that speaks for a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// Where it was found.
    pub field: Field,
    /// What was found: the word as the index has it, without its ending.
    pub term: Arc<str>,
    /// How it was found.
    pub form: Form,
    /// What it is worth.
    pub points: f32,
}

/// A part of a skill that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The name, and the other name.
    Name,
    /// The description.
    Description,
    /// `when_to_use`.
    WhenToUse,
    /// The tags.
    Tags,
    /// The values of the metadata.
    Metadata,
    /// The headings of the body.
    Headings,
    /// The beginning of the body.
    Body,
    /// The name in one piece: `pdftools`.
    WholeName,
}

impl Field {
    /// Every field, in the order in which they are stored.
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

    /// Returns the word used in output.
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

/// How a word was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Form {
    /// The word itself, or another ending of it.
    Exact,
    /// Two neighbours of a script without blanks.
    Gram,
    /// A word that begins so.
    Prefix,
    /// A word of a name that differs in one or two letters.
    Typo,
    /// Another word for the same: `k8s` for `kubernetes`.
    Synonym,
    /// The share of the words of the name that were asked for.
    NameCover,
}

impl Form {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Gram => "gram",
            Self::Prefix => "prefix",
            Self::Typo => "typo",
            Self::Synonym => "synonym",
            Self::NameCover => "name cover",
        }
    }
}
