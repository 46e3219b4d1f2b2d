//! Keeps a git command from adding a repository of its own as a submodule.
//!
//! `git status` enters every submodule of the index, and obeys the configuration that it finds
//! there. A command that may write files can create a repository, and `git add` would make a
//! submodule of it. So if the index names a new submodule after the run whose repository is already
//! there, the index is restored.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, renameat, unlinkat};

use super::stubs::open_folder;
use crate::git::pointer_target;
use crate::git_index::{self, MAX_INDEX};
use crate::protocol::{self, Written};

/// The index of a repository before the run.
pub(super) struct IndexWatch {
    tree: PathBuf,
    own: PathBuf,
    modules: PathBuf,
    hash: usize,
    folder: OwnedFd,
    links: BTreeSet<PathBuf>,
    saved: Option<File>,
    content: Vec<u8>,
}

impl IndexWatch {
    /// Reads the index.
    pub(super) fn new(written: &Written) -> io::Result<Self> {
        let own = protocol::path(&written.own);
        let hash = written.hash as usize;
        let folder = open_folder(&own)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let saved = match openat(&folder, "index", flags, Mode::empty()) {
            Ok(file) => Some(File::from(file)),
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        let mut content = Vec::new();
        if let Some(file) = &saved {
            file.take(MAX_INDEX).read_to_end(&mut content)?;
        }
        Ok(Self {
            links: git_index::places(&own, hash)?.links,
            tree: protocol::path(&written.tree),
            modules: protocol::path(&written.common).join("modules"),
            hash,
            own,
            folder,
            saved,
            content,
        })
    }

    /// Restores the index if it names a repository that it did not name before. Returns the first of
    /// these, or the index itself if it cannot be read any more.
    pub(super) fn check(&self) -> Option<(PathBuf, io::Result<()>)> {
        let found = match git_index::places(&self.own, self.hash) {
            Ok(now) => {
                let new = now.links.difference(&self.links);
                new.map(|link| self.tree.join(link))
                    .find(|place| self.is_foreign(place))?
            }
            Err(_) => self.own.join("index"),
        };
        Some((found, self.restore()))
    }

    /// Returns `true` if there is a repository that the command may have created: any but those in
    /// `.git/modules`, which is read-only.
    fn is_foreign(&self, place: &Path) -> bool {
        let pointer = place.join(".git");
        let Ok(facts) = pointer.symlink_metadata() else {
            return false;
        };
        let target = || place.join(pointer_target(&pointer)?).canonicalize().ok();
        let modules = || self.modules.canonicalize().ok();
        let is_module = facts.is_file()
            && target()
                .zip(modules())
                .is_some_and(|(target, modules)| target.starts_with(modules));
        !is_module
    }

    fn restore(&self) -> io::Result<()> {
        let Some(saved) = &self.saved else {
            return Ok(unlinkat(&self.folder, "index", AtFlags::empty())?);
        };
        let name = format!("index.prowess-{}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.folder, &*name, flags, Mode::from_raw_mode(0o600))?;
        let facts = rustix::fs::fstat(saved)?;
        let mut file = File::from(file);
        let written = file.write_all(&self.content).and_then(|()| {
            // Root keeps the owner; others are the owner.
            let (user, group) = (Uid::from_raw(facts.st_uid), Gid::from_raw(facts.st_gid));
            let _ = fchown(&file, Some(user), Some(group));
            fchmod(&file, Mode::from_raw_mode(facts.st_mode))?;
            Ok(renameat(&self.folder, &*name, &self.folder, "index")?)
        });
        if written.is_err() {
            let _ = unlinkat(&self.folder, &*name, AtFlags::empty());
        }
        written
    }
}
