//! What is different between two catalogues.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Entry};
use crate::skill::SkillId;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The skill.
    pub id: SkillId,
    /// What it is called.
    pub name: Box<str>,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a skill.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new, or nothing shadows it any more.
    Added,
    /// Its text is different.
    Changed,
    /// It is gone.
    Removed,
    /// Another skill took its name.
    Shadowed {
        /// Where the other one is.
        by: Box<str>,
    },
}

impl ChangeKind {
    /// Returns the word used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Shadowed { .. } => "shadowed",
        }
    }
}

/// Returns what is different, in order of name.
pub fn changes(before: &Catalog, after: &Catalog) -> Vec<Change> {
    let known: BTreeMap<&SkillId, &Entry> =
        before.entries().iter().map(|entry| (&entry.skill.id, entry)).collect();
    let mut found = Vec::new();
    let mut still = std::collections::BTreeSet::new();
    for entry in after.entries() {
        let id = &entry.skill.id;
        let old = known.get(id);
        if old.is_some() {
            still.insert(id);
        }
        let kind = match (old, after.winner_over(entry)) {
            (None, None) => ChangeKind::Added,
            (Some(old), None) if old.is_shadowed() || old.name() != entry.name() => {
                ChangeKind::Added
            }
            (Some(old), Some(by)) if !old.is_shadowed() => {
                ChangeKind::Shadowed { by: by.skill.location.clone() }
            }
            (None, Some(by)) => ChangeKind::Shadowed { by: by.skill.location.clone() },
            (Some(old), _) if Arc::ptr_eq(&old.skill, &entry.skill) => continue,
            (Some(old), _) if old.skill.says_the_same(&entry.skill) => continue,
            (Some(_), _) => ChangeKind::Changed,
        };
        found.push(Change { id: id.clone(), name: entry.name().into(), kind });
    }
    for (id, entry) in known {
        if !still.contains(id) {
            let kind = ChangeKind::Removed;
            found.push(Change { id: id.clone(), name: entry.name().into(), kind });
        }
    }
    found.sort_by(|a, b| (&a.name, &a.kind, &a.id).cmp(&(&b.name, &b.kind, &b.id)));
    found
}
