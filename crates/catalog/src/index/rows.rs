//! What became of each skill of an index.
//!
//! There may be a hundred thousand rows, most of which nobody reads. So all names are one text, and
//! a row is made when somebody looks at it.

use super::Fate;

/// What became of each entry, in the order of the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// All names, one behind the other, and where each of them ends.
    names: String,
    ends: Vec<usize>,
    pub(super) fates: Vec<Fate>,
}

/// What became of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'r> {
    /// Its name, as the entry has it.
    pub name: &'r str,
    /// What became of it.
    pub fate: Fate,
}

impl Rows {
    pub(super) fn with_capacity(count: usize) -> Self {
        let (ends, fates) = (Vec::with_capacity(count), Vec::with_capacity(count));
        Self {
            names: String::new(),
            ends,
            fates,
        }
    }

    pub(super) fn push(&mut self, name: &str, fate: Fate) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.fates.push(fate);
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.fates.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.fates.is_empty()
    }

    /// Returns the row of an entry.
    pub fn get(&self, at: usize) -> Option<Row<'_>> {
        let start = at
            .checked_sub(1)
            .map_or(Some(&0), |before| self.ends.get(before))?;
        let name = self.names.get(*start..*self.ends.get(at)?)?;
        Some(Row {
            name,
            fate: *self.fates.get(at)?,
        })
    }

    /// Goes over all rows.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}
