//! The entries of a catalogue, in blocks that two catalogues may share.
//!
//! One edit changes one skill of many thousands. The catalogue after it has a new block for that one
//! and shares all others with the catalogue before, so neither making it, nor comparing the two, nor
//! letting go of the old one touches every skill.

use std::ops::Index;
use std::sync::Arc;

use crate::catalog::Entry;
use crate::part::{Draft, Merged};

/// Entries of a block, unless more than that have one name: those always stand together.
const BLOCK: usize = 128;

/// Entries that follow each other. Never empty.
pub(crate) type Block = Arc<[Entry]>;

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Spot {
    pub(crate) block: usize,
    pub(crate) at: usize,
}

/// Every entry of a catalogue: those of one name together, the winner first.
#[derive(Clone, Copy)]
pub struct Entries<'c> {
    blocks: &'c [Block],
    count: usize,
}

/// Goes over entries in their order.
#[derive(Clone, Debug)]
pub struct Iter<'c> {
    blocks: std::slice::Iter<'c, Block>,
    block: std::slice::Iter<'c, Entry>,
    left: usize,
}

impl<'c> Entries<'c> {
    pub(crate) fn new(blocks: &'c [Block], count: usize) -> Self {
        Self { blocks, count }
    }

    /// Returns how many entries there are.
    pub fn len(self) -> usize {
        self.count
    }

    /// Tells whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Goes over all entries.
    pub fn iter(self) -> Iter<'c> {
        Iter {
            blocks: self.blocks.iter(),
            block: [].iter(),
            left: self.count,
        }
    }
}

impl<'c> Iterator for Iter<'c> {
    type Item = &'c Entry;

    fn next(&mut self) -> Option<&'c Entry> {
        loop {
            if let Some(entry) = self.block.next() {
                self.left = self.left.saturating_sub(1);
                return Some(entry);
            }
            self.block = self.blocks.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn fold<B, F: FnMut(B, &'c Entry) -> B>(self, first: B, mut f: F) -> B {
        let first = self.block.fold(first, &mut f);
        self.blocks
            .fold(first, |sum, block| block.iter().fold(sum, &mut f))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'c> IntoIterator for Entries<'c> {
    type Item = &'c Entry;
    type IntoIter = Iter<'c>;

    fn into_iter(self) -> Iter<'c> {
        self.iter()
    }
}

impl Index<usize> for Entries<'_> {
    type Output = Entry;

    /// Returns the entry at a place.
    ///
    /// # Panics
    ///
    /// Where there are not so many.
    fn index(&self, mut at: usize) -> &Entry {
        for block in self.blocks {
            match block.get(at) {
                Some(entry) => return entry,
                None => at -= block.len(),
            }
        }
        // As a slice would.
        &[][at]
    }
}

impl PartialEq for Entries<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Entries<'_> {}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Goes over winners in their order.
#[derive(Clone, Debug)]
pub(crate) struct Listed<'c> {
    pub(crate) entries: Iter<'c>,
    pub(crate) left: usize,
}

impl<'c> Iterator for Listed<'c> {
    type Item = &'c Entry;

    fn next(&mut self) -> Option<&'c Entry> {
        let next = self.entries.find(|entry| !entry.is_shadowed())?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Listed<'_> {}

/// A name, as a part of the names of a block. They stand one behind the other in the order in which
/// they are looked at, so that going over all names does not go all over the memory.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    names: Arc<str>,
    start: u32,
    end: u32,
}

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        self.names
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Cuts sorted skills into blocks, never between two of one name. All but the first of a name are
/// shadowed.
pub(crate) fn blocks(mut sorted: Merged) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block = Open::default();
    while let Some((name, draft)) = sorted.next() {
        let shadowed = block.last_name() == Some(name);
        if !shadowed && block.entries.len() >= BLOCK {
            blocks.push(block.freeze());
        }
        block.push(name, draft, shadowed);
    }
    if !block.entries.is_empty() {
        blocks.push(block.freeze());
    }
    blocks
}

/// A block that is not complete.
#[derive(Default)]
struct Open {
    /// Names are cut to some thousand bytes, and a block has few different ones.
    names: String,
    entries: Vec<(Draft, u32, u32, bool)>,
}

impl Open {
    fn last_name(&self) -> Option<&str> {
        let (_, start, end, _) = self.entries.last()?;
        self.names.get(*start as usize..*end as usize)
    }

    fn push(&mut self, name: &str, draft: Draft, shadowed: bool) {
        // Those of one name share it, however many they are.
        let (start, end) = match self.entries.last() {
            Some(&(_, start, end, _)) if shadowed => (start, end),
            _ => {
                let start = self.names.len();
                self.names.push_str(name);
                let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                (place(start), place(self.names.len()))
            }
        };
        self.entries.push((draft, start, end, shadowed));
    }

    fn freeze(&mut self) -> Block {
        let names: Arc<str> = self.names.as_str().into();
        self.names.clear();
        let entry = |(draft, start, end, shadowed): (Draft, u32, u32, bool)| Entry {
            skill: draft.skill,
            shadowed,
            has_alias: draft.has_alias,
            name: Name {
                names: Arc::clone(&names),
                start,
                end,
            },
        };
        self.entries.drain(..).map(entry).collect()
    }
}

/// The entries of a name: where the first stands, and all of them.
pub(crate) fn group<'c>(blocks: &'c [Block], name: &str) -> (Spot, &'c [Entry]) {
    let after = blocks.partition_point(|block| block.first().is_some_and(|e| e.name() <= name));
    let block = after.saturating_sub(1);
    let entries = blocks.get(block).map_or(&[][..], |block| &**block);
    let at = entries.partition_point(|entry| entry.name() < name);
    let length = entries[at..].partition_point(|entry| entry.name() == name);
    (Spot { block, at }, &entries[at..at + length])
}
