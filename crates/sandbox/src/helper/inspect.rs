//! Inspects the working trees in and around writable folders after a run.
//!
//! `git commit -a` and `git add -u` make a submodule of a tracked file that has become a repository,
//! and git enters submodules. The helper inspects the trees, so that it happens also if the host was
//! killed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stubs::{OpenWay, move_away};
use crate::git_index::{self, Tracked};
use crate::granted_paths::{follow, within};
use crate::protocol::{Inspected, PlaceId, Report, bytes, path};

/// Returns the identity of a folder and of the `.git` in it, or `None` if it cannot be inspected.
pub(crate) fn place_id(folder: &Path) -> Option<PlaceId> {
    let id = |path: &Path| {
        let facts = path.symlink_metadata().ok()?;
        Some((facts.dev(), facts.ino()))
    };
    Some([id(folder)?, id(&folder.join(".git"))?])
}

/// Moves the git folders of repositories away that are in the place of tracked files and were not
/// there before the run. Returns the reports about them, and about tracked files that have become links
/// which leave the writable folders since a time in seconds.
pub(super) fn inspect(tree: &Inspected, since: i64) -> Vec<Report> {
    let own = path(&tree.own);
    let trees: Vec<PathBuf> = tree.trees.iter().map(|it| path(it)).collect();
    let writable: Vec<PathBuf> = tree.writable.iter().map(|it| path(it)).collect();
    let tracked = Tracked {
        trees: &trees,
        inside: Some(&writable),
        linked_since: Some(since),
    };
    // An index that cannot be read refuses the next run.
    let Ok(now) = git_index::places(&own, tree.hash.into(), Some(tracked)) else {
        return Vec::new();
    };
    let before = tree.replaced.iter();
    let before: BTreeMap<PathBuf, Option<PlaceId>> =
        before.map(|(place, id)| (path(place), *id)).collect();
    let mut reports = Vec::new();
    for folder in now.replaced {
        let known = before.get(&folder).copied().flatten();
        if known.is_some() && known == place_id(&folder) {
            continue;
        }
        let pointer = folder.join(".git");
        // The command can deny the access to its folders.
        let _way = OpenWay::new(&pointer);
        if !git_index::is_repository(&folder) {
            continue;
        }
        let moved = move_away(&pointer).or_else(|error| move_away(&folder).map_err(|_| error));
        reports.push(match moved {
            Ok(()) => Report::Removed(bytes(pointer)),
            Err(error) => Report::NotRemoved(bytes(pointer), error.to_string().into()),
        });
    }
    for link in now.linked {
        let (_, target) = follow(&link);
        if !within(&target, &writable) {
            reports.push(Report::LinkedOut(bytes(link), bytes(target)));
        }
    }
    // The index of a command that may write it is checked on its own.
    if !tree.is_written {
        let known: BTreeSet<PathBuf> = tree.links.iter().map(|it| path(it)).collect();
        let new = now.links.difference(&known);
        let new = new.flat_map(|link| trees.iter().map(move |tree| tree.join(link)));
        let new = new.filter(|it| within(it, &writable) && git_index::is_repository(it));
        reports.extend(new.map(|it| Report::Added(bytes(it))));
    }
    reports
}

/// The names in a home folder that begin with a dot, before the run. No placeholder can keep the
/// others absent, because any program can have its own.
pub(super) struct HomeWatch {
    folder: PathBuf,
    names: BTreeSet<OsString>,
}

impl HomeWatch {
    pub(super) fn new(folder: &[u8]) -> io::Result<Self> {
        let folder = path(folder);
        let names = settings_in(&folder)?;
        Ok(Self { folder, names })
    }

    /// Moves new names away. Returns the reports.
    pub(super) fn check(&self) -> Vec<Report> {
        let now = match settings_in(&self.folder) {
            Ok(now) => now,
            Err(error) => {
                let why = error.to_string().into();
                return vec![Report::NotRemoved(bytes(&self.folder), why)];
            }
        };
        let new = now.difference(&self.names);
        let new = new.map(|name| self.folder.join(name));
        new.map(|it| match move_away(&it) {
            Ok(()) => Report::Removed(bytes(it)),
            Err(error) => Report::NotRemoved(bytes(it), error.to_string().into()),
        })
        .collect()
    }
}

fn settings_in(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let names = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?.into_iter();
    let is_setting = |name: &OsString| name.as_encoded_bytes().starts_with(b".");
    Ok(names.filter(is_setting).collect())
}
