//! The entries of a catalogue, in blocks that catalogues share.
//!
//! An edit changes one skill of many thousands. The new catalogue has a new block for that skill
//! and shares all others with its predecessor, so creating, comparing and dropping a catalogue do
//! not touch every skill.

use std::ops::Index;
use std::sync::Arc;

use crate::catalog::CatalogEntry;
use crate::sorted_part::{Draft, Merged};

/// Number of entries per block. Entries of one name always share a block, even if there are more.
const BLOCK: usize = 128;

/// Consecutive entries. Never empty.
pub(crate) type Block = Arc<[CatalogEntry]>;

/// The position of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryPosition {
    pub(crate) block: usize,
    pub(crate) at: usize,
}

/// Every entry of a catalogue, grouped by name, the winner of each name first.
#[derive(Clone, Copy)]
pub struct Entries<'c> {
    blocks: &'c [Block],
    count: usize,
}

/// An iterator over entries.
#[derive(Clone, Debug)]
pub struct EntryIter<'c> {
    blocks: std::slice::Iter<'c, Block>,
    block: std::slice::Iter<'c, CatalogEntry>,
    left: usize,
}

impl<'c> Entries<'c> {
    pub(crate) fn new(blocks: &'c [Block], count: usize) -> Self {
        Self { blocks, count }
    }

    /// Returns the number of entries.
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns `true` if there are no entries.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns an iterator over all entries.
    pub fn iter(self) -> EntryIter<'c> {
        EntryIter {
            blocks: self.blocks.iter(),
            block: [].iter(),
            left: self.count,
        }
    }
}

impl<'c> Iterator for EntryIter<'c> {
    type Item = &'c CatalogEntry;

    fn next(&mut self) -> Option<&'c CatalogEntry> {
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

    fn fold<B, F: FnMut(B, &'c CatalogEntry) -> B>(self, first: B, mut f: F) -> B {
        let first = self.block.fold(first, &mut f);
        self.blocks
            .fold(first, |sum, block| block.iter().fold(sum, &mut f))
    }
}

impl ExactSizeIterator for EntryIter<'_> {}

impl<'c> IntoIterator for Entries<'c> {
    type Item = &'c CatalogEntry;
    type IntoIter = EntryIter<'c>;

    fn into_iter(self) -> EntryIter<'c> {
        self.iter()
    }
}

impl Index<usize> for Entries<'_> {
    type Output = CatalogEntry;

    /// Returns the entry at an index.
    ///
    /// # Panics
    ///
    /// Panics if the index is out of bounds.
    fn index(&self, mut at: usize) -> &CatalogEntry {
        for block in self.blocks {
            match block.get(at) {
                Some(entry) => return entry,
                None => at -= block.len(),
            }
        }
        // Panics like a slice.
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

/// An iterator over winners.
#[derive(Clone, Debug)]
pub(crate) struct Listed<'c> {
    pub(crate) entries: EntryIter<'c>,
    pub(crate) left: usize,
}

impl<'c> Iterator for Listed<'c> {
    type Item = &'c CatalogEntry;

    fn next(&mut self) -> Option<&'c CatalogEntry> {
        let next = self.entries.find(|entry| !entry.is_shadowed())?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Listed<'_> {}

/// A name, as a slice of the concatenated names of its block. Names are stored in iteration order
/// for locality.
#[derive(Clone, Debug)]
pub(crate) struct EntryName {
    names: Arc<str>,
    start: u32,
    end: u32,
}

impl EntryName {
    pub(crate) fn as_str(&self) -> &str {
        self.names
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Splits sorted skills into blocks, keeping those of one name together. All but the first of a
/// name are shadowed.
pub(crate) fn blocks(mut sorted: Merged) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block = BlockBuilder::default();
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

/// A block under construction.
#[derive(Default)]
struct BlockBuilder {
    /// Names are cut to a few thousand bytes, and a block has few distinct ones.
    names: String,
    entries: Vec<(Draft, u32, u32, bool)>,
}

impl BlockBuilder {
    fn last_name(&self) -> Option<&str> {
        let (_, start, end, _) = self.entries.last()?;
        self.names.get(*start as usize..*end as usize)
    }

    fn push(&mut self, name: &str, draft: Draft, shadowed: bool) {
        // Entries of one name share its text.
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
        let entry = |(draft, start, end, shadowed): (Draft, u32, u32, bool)| CatalogEntry {
            skill: draft.skill,
            shadowed,
            has_alias: draft.has_alias,
            name: EntryName {
                names: Arc::clone(&names),
                start,
                end,
            },
        };
        self.entries.drain(..).map(entry).collect()
    }
}

/// Returns the position of the first entry of a name, and all its entries.
pub(crate) fn group<'c>(blocks: &'c [Block], name: &str) -> (EntryPosition, &'c [CatalogEntry]) {
    let after = blocks.partition_point(|block| block.first().is_some_and(|e| e.name() <= name));
    let block = after.saturating_sub(1);
    let entries = blocks.get(block).map_or(&[][..], |block| &**block);
    let at = entries.partition_point(|entry| entry.name() < name);
    let length = entries[at..].partition_point(|entry| entry.name() == name);
    (EntryPosition { block, at }, &entries[at..at + length])
}
