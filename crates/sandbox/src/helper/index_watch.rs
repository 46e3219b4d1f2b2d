//! Keeps a git command from adding a repository of its own as a submodule.
//!
//! `git status` enters every submodule of the index, and obeys the configuration that it finds
//! there. A command that may write files can create a repository, and `git add` would make a
//! submodule of it. So if the index names a new submodule after the run whose repository is already
//! there, the index is restored. `HEAD` and its branch are restored as well, because `git restore
//! --staged` would take the submodule from the commit.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, readlinkat, renameat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::stubs::open_folder;
use crate::git::{MAX_POINTER, pointer_target};
use crate::git_index::{self, MAX_INDEX};
use crate::protocol::{self, Written};

/// Most symbolic references from `HEAD` to a commit. Git follows fewer.
const MAX_REFERENCES: usize = 8;

/// The references that each working tree has of its own.
const OWN_REFERENCES: &[&str] = &["refs/bisect", "refs/rewritten", "refs/worktree"];

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
    /// The innermost folder of its path that existed.
    folder: OwnedFd,
    /// The rest of its path: its name, after the folders that did not exist.
    rest: Vec<OsString>,
    content: Content,
}

/// The content of a path.
enum Content {
    Absent,
    File(File, Vec<u8>),
    /// A link, which git used to write for a symbolic reference.
    Link(OsString),
}

impl IndexWatch {
    /// Reads the index, `HEAD` and the branch. Fails if one of them could not be restored.
    pub(super) fn new(written: &Written) -> io::Result<Self> {
        let own = protocol::path(&written.own);
        let hash = written.hash as usize;
        let common = protocol::path(&written.common);
        let index = Saved::new(&own.join("index"), MAX_INDEX)?;
        if let Content::Link(_) = index.content {
            return Err(io::Error::other("the index is a link"));
        }
        let mut saved = vec![index];
        let mut next = Some(own.join("HEAD"));
        while let Some(path) = next {
            if saved.len() > MAX_REFERENCES {
                return Err(io::Error::other("`HEAD` has too many symbolic references"));
            }
            let reference = Saved::new(&path, MAX_POINTER)?;
            next = reference.next(&own, &common)?;
            saved.push(reference);
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
        // One that cannot be restored does not keep the others as they are.
        let restored = self.saved.iter().map(Saved::restore);
        let restored = restored.fold(Ok(()), |all, one| all.and(one));
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
    /// Reads a file of at most `most` bytes.
    fn new(path: &Path, most: u64) -> io::Result<Self> {
        let Some(name) = path.file_name() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut rest = vec![name.to_owned()];
        let mut parent = path.parent();
        // The folder of a branch that was packed may not exist.
        let folder = loop {
            let Some(folder) = parent else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            match open_folder(folder) {
                Ok(folder) => break folder,
                Err(Errno::NOENT) => rest.extend(folder.file_name().map(OsStr::to_owned)),
                Err(error) => return Err(error.into()),
            }
            parent = folder.parent();
        };
        rest.reverse();
        let content = match rest.as_slice() {
            [name] => Content::read(&folder, name, most)?,
            _ => Content::Absent,
        };
        Ok(Self {
            folder,
            rest,
            content,
        })
    }

    /// Returns the path of the reference that a symbolic reference names.
    fn next(&self, own: &Path, common: &Path) -> io::Result<Option<PathBuf>> {
        let name = match &self.content {
            Content::Absent => None,
            Content::File(_, text) => text.trim_ascii().strip_prefix(b"ref:"),
            Content::Link(target) => Some(target.as_bytes()),
        };
        let Some(name) = name else { return Ok(None) };
        let place = git_index::place(name.trim_ascii()).filter(|name| name.starts_with("refs"));
        let place = place.ok_or_else(|| io::Error::other("`HEAD` names no branch"))?;
        let is_own = OWN_REFERENCES.iter().any(|of| place.starts_with(of));
        Ok(Some(if is_own { own } else { common }.join(place)))
    }

    fn restore(&self) -> io::Result<()> {
        let (folder, name) = match self.rest.as_slice() {
            [name] => (&self.folder, name),
            rest => return remove(&self.folder, rest),
        };
        let new = format!("restored.prowess-{}", std::process::id());
        let written = match &self.content {
            Content::Absent => return remove(folder, &self.rest),
            Content::Link(target) => symlinkat(&**target, folder, &*new).map_err(io::Error::from),
            Content::File(saved, content) => write(folder, &new, saved, content),
        };
        let written = written.and_then(|()| Ok(renameat(folder, &*new, folder, &**name)?));
        if written.is_err() {
            let _ = unlinkat(folder, &*new, AtFlags::empty());
        }
        written
    }
}

impl Content {
    fn read(folder: &OwnedFd, name: &OsStr, most: u64) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => {
                let (file, mut content) = (File::from(file), Vec::new());
                let mut read = (&file).take(most.saturating_add(1));
                if read.read_to_end(&mut content)? as u64 > most {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                Ok(Self::File(file, content))
            }
            Err(Errno::NOENT) => Ok(Self::Absent),
            Err(Errno::LOOP) => {
                let target = readlinkat(folder, name, Vec::new())?;
                Ok(Self::Link(OsString::from_vec(target.into_bytes())))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes a new file with the content, the owner and the mode of a saved one.
fn write(folder: &OwnedFd, name: &str, saved: &File, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    let facts = rustix::fs::fstat(saved)?;
    let mut file = File::from(file);
    file.write_all(content)?;
    // Root keeps the owner; others are the owner.
    let (user, group) = (Uid::from_raw(facts.st_uid), Gid::from_raw(facts.st_gid));
    let _ = fchown(&file, Some(user), Some(group));
    Ok(fchmod(&file, Mode::from_raw_mode(facts.st_mode))?)
}

/// Removes a file that did not exist, and the folders on the way to it that did not exist and are
/// empty. No link is followed.
fn remove(folder: &OwnedFd, path: &[OsString]) -> io::Result<()> {
    let Some((name, above)) = path.split_last() else {
        return Ok(());
    };
    let mut opened: Vec<(OwnedFd, &OsString)> = Vec::new();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let gone = |result| match result {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(io::Error::from(error)),
    };
    for part in above {
        let inside = opened.last().map_or(folder, |(folder, _)| folder);
        match openat(inside, &**part, flags, Mode::empty()) {
            Ok(found) => opened.push((found, part)),
            Err(Errno::NOENT) => return Ok(()),
            // A file or a link is in the place of a folder that did not exist either.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return gone(unlinkat(inside, &**part, AtFlags::empty()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let inside = opened.last().map_or(folder, |(folder, _)| folder);
    gone(unlinkat(inside, &**name, AtFlags::empty()))?;
    while let Some((_, part)) = opened.pop() {
        let inside = opened.last().map_or(folder, |(folder, _)| folder);
        if unlinkat(inside, &**part, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}
