//! Differences between two catalogues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::{Catalog, CatalogEntry};
use crate::entries::Block;
use crate::skill::SkillId;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogChange {
    /// The skill.
    pub id: SkillId,
    /// The skill's name.
    pub name: Box<str>,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The skill is new or no longer shadowed.
    Added,
    /// The text changed.
    Changed,
    /// The name changed.
    Renamed {
        /// The previous name.
        from: Box<str>,
    },
    /// The skill was removed.
    Removed,
    /// Another skill of the same name now wins.
    Shadowed {
        /// Location of the other skill.
        by: Box<str>,
    },
}

impl ChangeKind {
    /// Returns the name used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Renamed { .. } => "renamed",
            Self::Removed => "removed",
            Self::Shadowed { .. } => "shadowed",
        }
    }
}

/// Returns the differences, sorted by name, one per skill.
pub fn changes(before: &Catalog, after: &Catalog) -> Vec<CatalogChange> {
    let mut found = Vec::new();
    let (mut olds, mut news) = (BlockCursor::of(before), BlockCursor::of(after));
    // Both are sorted by name, so entries of the same name can be compared group by group.
    loop {
        skip_shared(&mut olds, &mut news);
        let firsts = [olds.block.first(), news.block.first()];
        let Some(name) = firsts.into_iter().flatten().map(CatalogEntry::name).min() else {
            break;
        };
        match (olds.take(name), news.take(name)) {
            ([a], [b]) if Arc::ptr_eq(&a.skill, &b.skill) => {}
            (olds, news) => compare(after, name, olds, news, &mut found),
        }
    }
    join_renamed(found)
}

/// A cursor over the entries of a catalogue.
struct BlockCursor<'c> {
    /// The current block; empty only at the end.
    block: &'c [CatalogEntry],
    blocks: &'c [Block],
}

impl<'c> BlockCursor<'c> {
    fn of(catalog: &'c Catalog) -> Self {
        let mut rest = Self {
            block: &[],
            blocks: catalog.blocks(),
        };
        rest.next_block();
        rest
    }

    fn next_block(&mut self) {
        let next = self.blocks.split_first();
        self.block = next.map_or(&[], |(block, _)| block);
        self.blocks = next.map_or(&[], |(_, blocks)| blocks);
    }

    /// Takes the entries of a name if it is the next one. They are all in one block.
    fn take(&mut self, name: &str) -> &'c [CatalogEntry] {
        let count = self
            .block
            .iter()
            .take_while(|entry| entry.name() == name)
            .count();
        let (taken, rest) = self.block.split_at(count);
        self.block = rest;
        if rest.is_empty() {
            self.next_block();
        }
        taken
    }
}

/// Skips blocks that both catalogues share; they contain no differences.
fn skip_shared(olds: &mut BlockCursor<'_>, news: &mut BlockCursor<'_>) {
    while !olds.block.is_empty() && std::ptr::eq(olds.block, news.block) {
        olds.next_block();
        news.next_block();
    }
}

/// Merges the removal and addition of one skill under two names into a rename.
fn join_renamed(found: Vec<CatalogChange>) -> Vec<CatalogChange> {
    let is_gone = |change: &&CatalogChange| change.kind == ChangeKind::Removed;
    let gone: BTreeMap<SkillId, Box<str>> = found
        .iter()
        .filter(is_gone)
        .map(|change| (change.id.clone(), change.name.clone()))
        .collect();
    let here = found
        .iter()
        .filter(|change| !is_gone(change) && gone.contains_key(&change.id));
    let renamed: BTreeSet<SkillId> = here.map(|change| change.id.clone()).collect();
    if renamed.is_empty() {
        return found;
    }
    let join = |mut change: CatalogChange| {
        if change.kind == ChangeKind::Removed {
            return (!renamed.contains(&change.id)).then_some(change);
        }
        if let (ChangeKind::Added, Some(from)) = (&change.kind, gone.get(&change.id)) {
            change.kind = ChangeKind::Renamed { from: from.clone() };
        }
        Some(change)
    };
    found.into_iter().filter_map(join).collect()
}

/// Compares the skills of one name.
fn compare(
    after: &Catalog,
    name: &str,
    olds: &[CatalogEntry],
    news: &[CatalogEntry],
    found: &mut Vec<CatalogChange>,
) {
    let known: BTreeMap<&SkillId, &CatalogEntry> =
        olds.iter().map(|entry| (&entry.skill.id, entry)).collect();
    let mut here: Vec<CatalogChange> = Vec::new();
    let mut add = |id: &SkillId, kind| {
        here.push(CatalogChange {
            id: id.clone(),
            name: name.into(),
            kind,
        });
    };
    let mut still = BTreeSet::new();
    for entry in news {
        let id = &entry.skill.id;
        let old = known.get(id).inspect(|_| {
            still.insert(id);
        });
        match (old, after.winner_over(entry)) {
            (None, None) => add(id, ChangeKind::Added),
            (Some(old), None) if old.is_shadowed() => add(id, ChangeKind::Added),
            (None, Some(by)) => add(
                id,
                ChangeKind::Shadowed {
                    by: by.skill.location.text().into(),
                },
            ),
            (Some(old), Some(by)) if !old.is_shadowed() => {
                add(
                    id,
                    ChangeKind::Shadowed {
                        by: by.skill.location.text().into(),
                    },
                );
            }
            (Some(old), _) if Arc::ptr_eq(&old.skill, &entry.skill) => {}
            (Some(old), _) if old.skill.says_the_same(&entry.skill) => {}
            (Some(_), _) => add(id, ChangeKind::Changed),
        }
    }
    for id in known.keys().filter(|id| !still.contains(*id)) {
        add(id, ChangeKind::Removed);
    }
    here.sort_by(|a, b| (&a.kind, &a.id).cmp(&(&b.kind, &b.id)));
    found.append(&mut here);
}
