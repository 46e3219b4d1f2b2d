//! The outcome for each skill of an index.
//!
//! There may be a hundred thousand rows, most of which are never read. So all names are one string,
//! and rows are built on access.

use super::EntryOutcome;

/// The outcome for each entry, in the order of the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexRows {
    /// All names, concatenated, and the end of each.
    names: String,
    ends: Vec<usize>,
    pub(super) fates: Vec<EntryOutcome>,
}

/// The outcome for one skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRow<'r> {
    /// The name of the entry.
    pub name: &'r str,
    /// The outcome.
    pub fate: EntryOutcome,
}

impl IndexRows {
    pub(super) fn with_capacity(count: usize) -> Self {
        let (ends, fates) = (Vec::with_capacity(count), Vec::with_capacity(count));
        Self {
            names: String::new(),
            ends,
            fates,
        }
    }

    pub(super) fn push(&mut self, name: &str, fate: EntryOutcome) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.fates.push(fate);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.fates.len()
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.fates.is_empty()
    }

    /// Returns the row of an entry.
    pub fn get(&self, at: usize) -> Option<IndexRow<'_>> {
        let start = at
            .checked_sub(1)
            .map_or(Some(&0), |before| self.ends.get(before))?;
        let name = self.names.get(*start..*self.ends.get(at)?)?;
        Some(IndexRow {
            name,
            fate: *self.fates.get(at)?,
        })
    }

    /// Returns an iterator over all rows.
    pub fn iter(&self) -> impl Iterator<Item = IndexRow<'_>> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}
