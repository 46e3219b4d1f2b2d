//! Keeps a git command from adding a repository of its own as a submodule.
//!
//! `git status` enters every submodule of the index, and obeys the configuration that it finds
//! there. A command that may write files can create a repository, and `git add` would make a
//! submodule of it. So if the index names a new submodule after the run whose repository is already
//! there, the index is restored. `HEAD` and its branch are restored as well, because `git restore
//! --staged` would take the submodule from the commit.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, renameat, unlinkat};

use super::stubs::open_folder;
use crate::git::{MAX_POINTER, pointer_target};
use crate::git_index::{self, MAX_INDEX};
use crate::protocol::{self, Written};

/// The index of a repository before the run.
pub(super) struct IndexWatch {
    tree: PathBuf,
    own: PathBuf,
    modules: PathBuf,
    hash: usize,
    links: BTreeSet<PathBuf>,
    /// `index`, `HEAD` and the file of the branch.
    saved: Vec<Saved>,
}

/// A file before the run.
struct Saved {
    folder: OwnedFd,
    name: OsString,
    /// The file and its content, if there was one.
    content: Option<(File, Vec<u8>)>,
}

impl IndexWatch {
    /// Reads the index.
    pub(super) fn new(written: &Written) -> io::Result<Self> {
        let own = protocol::path(&written.own);
        let hash = written.hash as usize;
        let common = protocol::path(&written.common);
        let mut saved = vec![Saved::new(&own.join("index"), MAX_INDEX)?];
        // `HEAD` can be a link, and the folder of a branch that was packed may not exist.
        if let Ok(head) = Saved::new(&own.join("HEAD"), MAX_POINTER) {
            let branch = head.content.as_ref().and_then(|(_, text)| {
                let name = text.trim_ascii().strip_prefix(b"ref: ")?;
                Saved::new(&common.join(git_index::place(name)?), MAX_POINTER).ok()
            });
            saved.push(head);
            saved.extend(branch);
        }
        Ok(Self {
            links: git_index::places(&own, hash)?.links,
            tree: protocol::path(&written.tree),
            modules: common.join("modules"),
            hash,
            own,
            saved,
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
        let restored = self.saved.iter().try_for_each(Saved::restore);
        Some((found, restored))
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
}

impl Saved {
    fn new(path: &Path, most: u64) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = open_folder(parent)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let content = match openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => {
                let (file, mut content) = (File::from(file), Vec::new());
                (&file).take(most).read_to_end(&mut content)?;
                Some((file, content))
            }
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        let name = name.to_owned();
        Ok(Self {
            folder,
            name,
            content,
        })
    }

    fn restore(&self) -> io::Result<()> {
        let Some((saved, content)) = &self.content else {
            return match unlinkat(&self.folder, &*self.name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
                Err(error) => Err(error.into()),
            };
        };
        let name = format!("restored.prowess-{}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.folder, &*name, flags, Mode::from_raw_mode(0o600))?;
        let facts = rustix::fs::fstat(saved)?;
        let mut file = File::from(file);
        let written = file.write_all(content).and_then(|()| {
            // Root keeps the owner; others are the owner.
            let (user, group) = (Uid::from_raw(facts.st_uid), Gid::from_raw(facts.st_gid));
            let _ = fchown(&file, Some(user), Some(group));
            fchmod(&file, Mode::from_raw_mode(facts.st_mode))?;
            Ok(renameat(&self.folder, &*name, &self.folder, &*self.name)?)
        });
        if written.is_err() {
            let _ = unlinkat(&self.folder, &*name, AtFlags::empty());
        }
        written
    }
}
