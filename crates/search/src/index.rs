//! An immutable index that supports cheap incremental changes.
//!
//! A large base segment is shared between versions. A small second segment holds the documents
//! added since, and a bitmap marks the removed ones. When the changes have grown, both segments are
//! merged.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::document::{SearchDocument, SearchPart, SearchPartBuilder};
use super::fuzzy_names::{NameWords, name_length};
use super::score::{SearchWeights, Statistics};
use super::segment::{LENGTHS, Segment, merge, small};
use super::{SearchHit, SearchMode, SearchQuery, filter, score, substring};
use prowess_catalog::{Skill, SkillId};

/// Segments are not merged below this number of changes.
const FEW_CHANGES: usize = 64;

/// An immutable index of skills. Clones share their data.
#[derive(Clone, Debug)]
pub struct SearchIndex {
    base: Arc<IndexSegment>,
    added: Option<Arc<IndexSegment>>,
    /// Removed documents; empty if there are none, and otherwise at least those of the base.
    gone: Arc<[bool]>,
    /// The catalogue position of each document, those of the base first.
    places: Arc<[u32]>,
    statistics: Statistics,
}

/// A segment with data derived from its skills.
#[derive(Debug)]
pub(super) struct IndexSegment {
    pub(super) segment: Segment,
    /// Computed on first use.
    names: OnceLock<NameWords>,
    /// The number of words in the name of each document.
    pub(super) name_lengths: Vec<u8>,
}

impl IndexSegment {
    /// Combines a segment with data that was stored with it.
    pub(super) fn stored(segment: Segment, name_lengths: Vec<u8>, names: NameWords) -> Self {
        Self {
            segment,
            names: OnceLock::from(names),
            name_lengths,
        }
    }

    fn new(segment: Segment) -> Self {
        let skills = segment.skills.iter();
        let name_lengths = skills.map(|skill| skill.as_ref().map_or(1, |skill| name_length(skill)));
        Self {
            name_lengths: name_lengths.collect(),
            names: OnceLock::new(),
            segment,
        }
    }
}

impl IndexSegment {
    pub(super) fn names(&self) -> &NameWords {
        self.names.get_or_init(|| NameWords::of(&self.segment))
    }
}

/// The data that a search reads.
#[derive(Clone, Copy)]
pub(super) struct IndexView<'i> {
    pub(super) pieces: [Option<&'i IndexSegment>; 2],
    pub(super) gone: &'i [bool],
    pub(super) statistics: &'i Statistics,
}

impl<'i> IndexView<'i> {
    /// Returns the segments, each with the number of its first document.
    pub(super) fn pieces(self) -> impl Iterator<Item = (u32, &'i IndexSegment)> {
        let first = self.pieces[0].map_or(0, |base| small(base.segment.skills.len()));
        [0, first]
            .into_iter()
            .zip(self.pieces)
            .filter_map(|(from, piece)| Some((from, piece?)))
    }

    /// Returns the number of documents, including removed ones.
    pub(super) fn documents(self) -> usize {
        self.pieces
            .iter()
            .flatten()
            .map(|piece| piece.segment.skills.len())
            .sum()
    }

    pub(super) fn is_gone(self, document: u32) -> bool {
        self.gone.get(document as usize).copied().unwrap_or(false)
    }

    pub(super) fn any_gone(self) -> bool {
        !self.gone.is_empty()
    }

    pub(super) fn skill(self, document: u32) -> Option<&'i Arc<Skill>> {
        if self.is_gone(document) {
            return None;
        }
        let (from, piece) = self.pieces().filter(|(from, _)| *from <= document).last()?;
        piece
            .segment
            .skills
            .get((document - from) as usize)?
            .as_ref()
    }

    /// Returns the number of words in the name of a document, and the factor for its score.
    pub(super) fn shape(self, document: u32) -> (u8, f32) {
        let Some((from, piece)) = self.pieces().filter(|(from, _)| *from <= document).last() else {
            return (1, 1.0);
        };
        let place = (document - from) as usize;
        let length = piece.name_lengths.get(place).copied();
        let breadth = piece.segment.breadths.get(place).copied();
        (
            length.unwrap_or(1),
            f32::from(breadth.unwrap_or(u8::MAX)) / 255.0,
        )
    }
}

impl Default for SearchIndex {
    fn default() -> Self {
        Self::of(Segment::default())
    }
}

impl SearchIndex {
    /// Builds an index of documents in catalogue order.
    pub fn build<'a>(documents: impl IntoIterator<Item = SearchDocument<'a>>) -> Self {
        Self::from_parts(vec![SearchPart::tokenise(documents)])
    }

    /// Combines parts. Their order is the catalogue order until [`Self::arranged`] sets another.
    pub fn from_parts(mut parts: Vec<SearchPart>) -> Self {
        if parts.len() == 1
            && let Some(SearchPart(segment)) = parts.pop()
        {
            return Self::of(segment);
        }
        let all: Vec<(&Segment, &dyn Fn(u32) -> bool)> = parts
            .iter()
            .map(|part| (&part.0, &everything as &dyn Fn(u32) -> bool))
            .collect();
        Self::of(merge(&all))
    }

    fn of(segment: Segment) -> Self {
        let count = small(segment.skills.len());
        Self::placed(IndexSegment::new(segment), (0..count).collect())
    }

    /// Returns an index whose documents have these catalogue positions.
    pub(super) fn placed(base: IndexSegment, places: Arc<[u32]>) -> Self {
        let gone: Vec<bool> = base.segment.skills.iter().map(Option::is_none).collect();
        let gone = if gone.contains(&true) {
            gone
        } else {
            Vec::new()
        };
        let mut index = Self {
            base: Arc::new(base),
            added: None,
            gone: gone.into(),
            places,
            statistics: Statistics::default(),
        };
        index.statistics = index.count();
        index
    }

    /// Sets the catalogue order, which substring search and ties follow. Skills that are not listed
    /// come last, in their previous order.
    #[must_use]
    pub fn arranged<'a>(mut self, catalogue: impl IntoIterator<Item = &'a SkillId>) -> Self {
        let places: HashMap<&SkillId, u32> = catalogue.into_iter().zip(0..).collect();
        let after = small(places.len());
        let view = self.view();
        self.places = (0..small(view.documents()))
            .zip(self.places.iter())
            .map(|(document, old)| {
                let known = view.skill(document).and_then(|skill| places.get(&skill.id));
                known.copied().unwrap_or(after.saturating_add(*old))
            })
            .collect();
        self
    }

    /// Returns an index with skills removed and documents added. A document of an existing skill
    /// replaces it and keeps its position; new ones come last.
    #[must_use]
    pub fn with_changes<'a>(
        &self,
        removed: &[SkillId],
        added: impl IntoIterator<Item = SearchDocument<'a>>,
    ) -> Self {
        let mut builder = SearchPartBuilder::new();
        for document in added {
            builder.add(document);
        }
        self.with_part(removed, builder.finish())
    }

    /// Works like [`Self::with_changes`], with documents that are already tokenised.
    #[must_use]
    pub fn with_part(&self, removed: &[SkillId], added: SearchPart) -> Self {
        let SearchPart(fresh) = added;
        let arriving = fresh.skills.iter().flatten().map(|skill| &skill.id);
        let leaving: HashSet<&SkillId> = removed.iter().chain(arriving).collect();
        // Few skills leave; a set of their paths rules out most others cheaply.
        let paths: HashSet<&str> = leaving.iter().map(|id| &*id.path).collect();
        let view = self.view();
        let base_count = self.base.segment.skills.len();
        let mut gone = vec![false; view.documents()];
        let mut old_places = HashMap::new();
        let mut last = 0;
        for (document, place) in (0..small(gone.len())).zip(self.places.iter()) {
            let Some(skill) = view.skill(document) else {
                gone[document as usize] = true;
                continue;
            };
            last = last.max(place.saturating_add(1));
            if paths.contains(&*skill.id.path) && leaving.contains(&skill.id) {
                gone[document as usize] = true;
                old_places.entry(skill.id.clone()).or_insert(*place);
            }
        }
        for id in removed {
            old_places.remove(id);
        }
        // If a skill occurs twice, the last document counts.
        let mut newest: HashMap<&SkillId, usize> = HashMap::new();
        for (number, skill) in fresh.skills.iter().enumerate() {
            if let Some(skill) = skill {
                newest.insert(&skill.id, number);
            }
        }
        let is_newest = |document: u32| {
            let number = document as usize;
            let id = fresh
                .skills
                .get(number)
                .and_then(|skill| skill.as_ref())
                .map(|skill| &skill.id);
            id.and_then(|id| newest.get(id)) == Some(&number)
        };
        let in_base = |document: u32| !gone[document as usize];
        let in_added = |document: u32| !gone[base_count + document as usize];
        let mut sources: Vec<(&Segment, &dyn Fn(u32) -> bool)> = Vec::new();
        let mut places = Vec::new();
        let gone_in_base = gone[..base_count].iter().filter(|gone| **gone).count();
        let gone_in_added = gone[base_count..].iter().filter(|gone| **gone).count();
        let old_added = gone.len() - base_count - gone_in_added;
        let changes = old_added + newest.len() + gone_in_base;
        let rewrite = changes > FEW_CHANGES && changes * 10 > base_count;
        if rewrite {
            sources.push((&self.base.segment, &in_base));
        }
        if let Some(piece) = &self.added {
            sources.push((&piece.segment, &in_added));
        }
        sources.push((&fresh, &is_newest));
        let kept = |document: &usize| !rewrite || !gone[*document];
        places.extend(
            (0..base_count)
                .filter(kept)
                .map(|document| self.places[document]),
        );
        let alive = (base_count..gone.len()).filter(|document| !gone[*document]);
        places.extend(alive.map(|document| self.places[document]));
        for (number, skill) in (0..).zip(&fresh.skills) {
            if let Some(skill) = skill.as_ref().filter(|_| is_newest(number)) {
                places.push(old_places.get(&skill.id).copied().unwrap_or_else(|| {
                    last = last.saturating_add(1);
                    last - 1
                }));
            }
        }
        let piece = Arc::new(IndexSegment::new(merge(&sources)));
        let mut index = if rewrite {
            Self {
                base: piece,
                added: None,
                gone: Arc::from([]),
                places: places.into(),
                statistics: Statistics::default(),
            }
        } else {
            gone.truncate(base_count);
            Self {
                base: Arc::clone(&self.base),
                added: (!piece.segment.skills.is_empty()).then_some(piece),
                gone: if gone_in_base > 0 {
                    gone.into()
                } else {
                    Arc::from([])
                },
                places: places.into(),
                statistics: Statistics::default(),
            }
        };
        index.statistics = index.count();
        index
    }

    /// Returns the index without some skills, as if they had never been indexed: they do not count in
    /// the rarity of words. Shares the data.
    #[must_use]
    pub fn only(&self, is_kept: impl Fn(&Arc<Skill>) -> bool) -> Self {
        let view = self.view();
        let documents = 0..small(view.documents());
        let is_gone = |document| !view.skill(document).is_some_and(&is_kept);
        let gone: Vec<bool> = documents.map(is_gone).collect();
        if !gone.contains(&true) {
            return self.clone();
        }
        let mut index = Self {
            gone: gone.into(),
            ..self.clone()
        };
        index.statistics = index.count();
        index
    }

    /// Searches with the default weights.
    pub fn search(&self, query: &SearchQuery<'_>) -> Vec<SearchHit> {
        self.search_with(query, &SearchWeights::default())
    }

    /// Searches with custom weights.
    pub fn search_with(&self, query: &SearchQuery<'_>, weights: &SearchWeights) -> Vec<SearchHit> {
        match query.mode {
            SearchMode::Substring => substring::search(self.in_order(), query),
            SearchMode::Ranked if query.text.trim().is_empty() => {
                let mut skills: Vec<_> = self
                    .skills()
                    .filter(|skill| filter::admits(query, skill))
                    .collect();
                skills.sort_by(|one, other| score::by_name(one, other));
                substring::search(skills, query)
            }
            SearchMode::Ranked => score::search(self.view(), query, weights),
        }
    }

    /// Returns the number of skills in the index.
    pub fn len(&self) -> usize {
        self.skills().count()
    }

    /// Returns `true` if the index is empty.
    pub fn is_empty(&self) -> bool {
        self.skills().next().is_none()
    }

    /// Returns the skills in document order.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let view = self.view();
        (0..small(view.documents())).filter_map(move |document| view.skill(document))
    }

    /// Returns the size in bytes, without the shared skills.
    pub fn size(&self) -> usize {
        let pieces = [Some(&self.base), self.added.as_ref()];
        let pieces = pieces.into_iter().flatten();
        let of = |piece: &Arc<IndexSegment>| {
            piece.segment.size() + piece.names().size() + piece.name_lengths.len()
        };
        pieces.map(of).sum::<usize>() + self.gone.len() + self.places.len() * 4
    }

    /// Returns the index as one segment without removed documents.
    pub(super) fn compact(&self) -> Arc<IndexSegment> {
        if self.added.is_none() && self.gone.is_empty() {
            return Arc::clone(&self.base);
        }
        let alive = |document: u32| !self.view().is_gone(document);
        let mut sources: Vec<(&Segment, &dyn Fn(u32) -> bool)> = vec![(&self.base.segment, &alive)];
        if let Some(piece) = &self.added {
            sources.push((&piece.segment, &everything));
        }
        Arc::new(IndexSegment::new(merge(&sources)))
    }

    fn in_order(&self) -> Vec<&Arc<Skill>> {
        let view = self.view();
        let mut skills: Vec<_> = (0..small(view.documents()))
            .zip(self.places.iter())
            .filter_map(|(document, place)| Some((*place, document, view.skill(document)?)))
            .collect();
        skills.sort_unstable_by_key(|(place, document, _)| (*place, *document));
        skills.into_iter().map(|(_, _, skill)| skill).collect()
    }

    fn view(&self) -> IndexView<'_> {
        IndexView {
            pieces: [Some(&self.base), self.added.as_deref()],
            gone: &self.gone,
            statistics: &self.statistics,
        }
    }

    /// Computes the number of documents and the average length of each field.
    fn count(&self) -> Statistics {
        let view = self.view();
        let (mut documents, mut sums) = (0_u32, [0_u64; LENGTHS]);
        for (from, piece) in view.pieces() {
            for (document, lengths) in (from..).zip(&piece.segment.lengths) {
                if !view.is_gone(document) {
                    documents += 1;
                    for (sum, length) in sums.iter_mut().zip(lengths) {
                        *sum += u64::from(*length);
                    }
                }
            }
        }
        Statistics::new(documents, sums)
    }
}

fn everything(_: u32) -> bool {
    true
}
