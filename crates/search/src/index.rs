//! The index: frozen, shared, and cheap to change a little.
//!
//! A large piece is shared between versions; beside it lies a small one with what was added since,
//! and a list of what is gone. When the small one has grown, both become one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::names::{NameWords, name_length};
use super::part::{Document, Part, PartBuilder};
use super::score::{Statistics, Weights};
use super::segment::{LENGTHS, Segment, merge, small};
use super::{Hit, Mode, Query, score, substring};
use prowess_catalog::{Skill, SkillId};

/// Below this many changes the pieces are not put together, whatever their share.
const FEW_CHANGES: usize = 64;

/// A frozen index of skills. Copies share what they hold.
#[derive(Clone, Debug)]
pub struct SearchIndex {
    base: Arc<Piece>,
    added: Option<Arc<Piece>>,
    /// Which documents of the base are gone.
    gone: Arc<[bool]>,
    /// The place of each document in the catalogue, base first.
    places: Arc<[u32]>,
    statistics: Statistics,
}

/// A segment with what is worked out from its skills.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) segment: Segment,
    /// Worked out when they are needed first.
    names: OnceLock<NameWords>,
    /// How many words the name of each document has.
    pub(super) name_lengths: Vec<u8>,
}

impl Piece {
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

impl Piece {
    pub(super) fn names(&self) -> &NameWords {
        self.names.get_or_init(|| NameWords::of(&self.segment))
    }
}

/// What a search walks over.
#[derive(Clone, Copy)]
pub(super) struct View<'i> {
    pub(super) pieces: [Option<&'i Piece>; 2],
    pub(super) gone: &'i [bool],
    pub(super) statistics: &'i Statistics,
}

impl<'i> View<'i> {
    /// The pieces, each with the number of its first document.
    pub(super) fn pieces(self) -> impl Iterator<Item = (u32, &'i Piece)> {
        let first = self.pieces[0].map_or(0, |base| small(base.segment.skills.len()));
        [0, first]
            .into_iter()
            .zip(self.pieces)
            .filter_map(|(from, piece)| Some((from, piece?)))
    }

    /// How many documents there are, gone ones included.
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

    pub(super) fn name_length(self, document: u32) -> u8 {
        self.pieces()
            .filter(|(from, _)| *from <= document)
            .last()
            .and_then(|(from, piece)| piece.name_lengths.get((document - from) as usize))
            .map_or(1, |length| *length)
    }
}

impl Default for SearchIndex {
    fn default() -> Self {
        Self::of(Segment::default())
    }
}

impl SearchIndex {
    /// Makes an index of documents, in the order of the catalogue.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        Self::from_parts(vec![Part::tokenise(documents)])
    }

    /// Puts parts together; their order is the order of the catalogue until [`Self::arranged`]
    /// gives another.
    pub fn from_parts(mut parts: Vec<Part>) -> Self {
        if parts.len() == 1
            && let Some(Part(segment)) = parts.pop()
        {
            return Self::of(segment);
        }
        let all: Vec<(&Segment, &dyn Fn(u32) -> bool)> = parts
            .iter()
            .map(|part| (&part.0, &everything as &dyn Fn(u32) -> bool))
            .collect();
        Self::of(merge(&all))
    }

    pub(super) fn of(segment: Segment) -> Self {
        let count = small(segment.skills.len());
        Self::placed(segment, (0..count).collect())
    }

    /// An index whose documents have these places in the catalogue.
    pub(super) fn placed(segment: Segment, places: Arc<[u32]>) -> Self {
        let gone: Vec<bool> = segment.skills.iter().map(Option::is_none).collect();
        let gone = if gone.contains(&true) {
            gone
        } else {
            Vec::new()
        };
        let mut index = Self {
            base: Arc::new(Piece::new(segment)),
            added: None,
            gone: gone.into(),
            places,
            statistics: Statistics::default(),
        };
        index.statistics = index.count();
        index
    }

    /// Returns the same index with the places of a catalogue: substring search and ties follow it.
    /// Skills that are not named come last, in the order they have.
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

    /// Returns an index without some skills and with others. A document whose skill is already
    /// there replaces it and keeps its place; new ones come last.
    #[must_use]
    pub fn with_changes<'a>(
        &self,
        removed: &[SkillId],
        added: impl IntoIterator<Item = Document<'a>>,
    ) -> Self {
        let mut builder = PartBuilder::new();
        for document in added {
            builder.add(document);
        }
        self.with_part(removed, builder.finish())
    }

    /// Like [`Self::with_changes`], where the new documents are taken apart already.
    #[must_use]
    pub fn with_part(&self, removed: &[SkillId], added: Part) -> Self {
        let Part(fresh) = added;
        let arriving = fresh.skills.iter().flatten().map(|skill| &skill.id);
        let leaving: HashSet<&SkillId> = removed.iter().chain(arriving).collect();
        // Few leave: their paths alone say of most skills that they stay.
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
        // A document that comes twice counts once: the last one.
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
        let piece = Arc::new(Piece::new(merge(&sources)));
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

    /// Searches with the weights that were measured to be best.
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit> {
        self.search_with(query, &Weights::default())
    }

    /// Searches with weights of one's own.
    pub fn search_with(&self, query: &Query<'_>, weights: &Weights) -> Vec<Hit> {
        match query.mode {
            Mode::Substring => substring::search(self.in_order(), query),
            Mode::Ranked if query.text.trim().is_empty() => {
                let mut skills: Vec<_> = self
                    .skills()
                    .filter(|skill| substring::admits(query, skill))
                    .collect();
                skills.sort_by(|one, other| score::by_name(one, other));
                substring::search(skills, query)
            }
            Mode::Ranked => score::search(self.view(), query, weights),
        }
    }

    /// Returns how many skills are in the index.
    pub fn len(&self) -> usize {
        self.skills().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.skills().next().is_none()
    }

    /// Returns the skills, in the order of their documents.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let view = self.view();
        (0..small(view.documents())).filter_map(move |document| view.skill(document))
    }

    /// Returns how many bytes the index takes, without the skills that it shares.
    pub fn size(&self) -> usize {
        let pieces = [Some(&self.base), self.added.as_ref()];
        let pieces = pieces.into_iter().flatten();
        let of = |piece: &Arc<Piece>| {
            piece.segment.size() + piece.names().size() + piece.name_lengths.len()
        };
        pieces.map(of).sum::<usize>() + self.gone.len() + self.places.len() * 4
    }

    /// Returns the index in one piece, without what is gone.
    pub(super) fn compact(&self) -> Arc<Piece> {
        if self.added.is_none() && self.gone.is_empty() {
            return Arc::clone(&self.base);
        }
        let alive = |document: u32| !self.view().is_gone(document);
        let mut sources: Vec<(&Segment, &dyn Fn(u32) -> bool)> = vec![(&self.base.segment, &alive)];
        if let Some(piece) = &self.added {
            sources.push((&piece.segment, &everything));
        }
        Arc::new(Piece::new(merge(&sources)))
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

    fn view(&self) -> View<'_> {
        View {
            pieces: [Some(&self.base), self.added.as_deref()],
            gone: &self.gone,
            statistics: &self.statistics,
        }
    }

    /// How many documents there are, and how long their fields are on average.
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
