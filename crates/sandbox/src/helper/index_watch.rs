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

use super::stubs::{WritableFolder, open_folder, unused_name};
use crate::git::{MAX_POINTER, pointer_target, work_tree};
use crate::git_index::{self, MAX_INDEX};
use crate::on_disk::is_absent;
use crate::protocol::{self, Written};

/// Most symbolic references from `HEAD` to a commit. Git follows fewer.
const MAX_REFERENCES: usize = 8;

/// Files of the git folders that are looked at, without objects.
const MAX_ENTRIES: usize = 200_000;

/// The references that each working tree has of its own.
const OWN_REFERENCES: &[&str] = &["refs/bisect", "refs/rewritten", "refs/worktree"];

/// The index of a repository before the run.
pub(super) struct IndexWatch {
    /// The working trees of the index. Git enters the submodules of the one in which it runs.
    trees: Vec<PathBuf>,
    own: PathBuf,
    modules: PathBuf,
    hash: usize,
    links: BTreeSet<PathBuf>,
    /// `index`, `HEAD` and the file of the branch.
    saved: Vec<Saved>,
    /// The git folders, and the links in them.
    folders: BTreeSet<PathBuf>,
    own_links: BTreeSet<PathBuf>,
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
        let folders = BTreeSet::from([own.clone(), common.clone()]);
        let trees = written.others.iter().chain([&written.tree]);
        Ok(Self {
            own_links: links_in(&folders)?,
            folders,
            links: git_index::places(&own, hash, None)?.links,
            trees: trees.map(|tree| protocol::path(tree)).collect(),
            modules: common.join("modules"),
            hash,
            own,
            saved,
        })
    }

    /// Restores the index if it names a repository that it did not name before. Returns the first of
    /// these, or the index itself if it cannot be read any more.
    pub(super) fn check(&self) -> Option<(PathBuf, io::Result<()>)> {
        let found = match git_index::places(&self.own, self.hash, None) {
            Ok(now) => {
                let new = now.links.difference(&self.links);
                new.flat_map(|link| self.trees.iter().map(move |tree| tree.join(link)))
                    .find(|place| self.is_foreign(place))?
            }
            Err(_) => self.own.join("index"),
        };
        // One that cannot be restored does not keep the others as they are.
        let restored: Vec<io::Result<()>> = self.saved.iter().map(Saved::restore).collect();
        Some((found, restored.into_iter().collect()))
    }

    /// The git folder of the working tree.
    pub(super) fn folder(&self) -> &Path {
        &self.own
    }

    /// Removes links that were created in the git folders: git would write through them. Returns the
    /// removed ones.
    pub(super) fn remove_links(&self) -> io::Result<Vec<PathBuf>> {
        let now = links_in(&self.folders)?;
        let mut removed = Vec::new();
        for link in now.difference(&self.own_links) {
            let (Some(parent), Some(name)) = (link.parent(), link.file_name()) else {
                continue;
            };
            let folder = open_folder(parent)?;
            let _writable = WritableFolder::new(&folder);
            unlinkat(&folder, name, AtFlags::empty())?;
            removed.push(link.clone());
        }
        Ok(removed)
    }

    /// Returns `true` if there is a repository that the command may have created: any but the one in
    /// `.git/modules`, which is read-only, that belongs to this place.
    fn is_foreign(&self, place: &Path) -> bool {
        let pointer = place.join(".git");
        match pointer.symlink_metadata() {
            Ok(facts) => !(facts.is_file() && self.is_module(place).unwrap_or(false)),
            Err(error) => !is_absent(&pointer, &error),
        }
    }

    /// Returns `true` if the `.git` file of a place names a git folder in `.git/modules` that names
    /// the place.
    fn is_module(&self, place: &Path) -> Option<bool> {
        let target = place.join(pointer_target(&place.join(".git"))?);
        let target = target.canonicalize().ok()?;
        let is_inside = target.starts_with(self.modules.canonicalize().ok()?);
        Some(is_inside && work_tree(&target)? == place.canonicalize().ok()?)
    }
}

/// Returns the links in git folders, except among their objects.
fn links_in(folders: &BTreeSet<PathBuf>) -> io::Result<BTreeSet<PathBuf>> {
    let mut links = BTreeSet::new();
    let mut seen = 0;
    let mut todo: Vec<PathBuf> = folders.iter().cloned().collect();
    while let Some(folder) = todo.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if is_absent(&folder, &error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(io::Error::other("the git folder has too many files"));
            }
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_symlink() {
                links.insert(path);
            } else if kind.is_dir() && !(folders.contains(&folder) && is_closed(&entry.file_name()))
            {
                todo.push(path);
            }
        }
    }
    Ok(links)
}

/// Returns `true` for a folder of a git folder that is read-only or has objects only.
fn is_closed(name: &OsStr) -> bool {
    let names = ["objects", "lfs", "hooks", "info", "modules", "worktrees"];
    names.iter().any(|closed| name == *closed)
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
        let _writable = WritableFolder::new(folder);
        let new = unused_name("restored");
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
    let writable = WritableFolder::new(inside);
    gone(unlinkat(inside, &**name, AtFlags::empty()))?;
    drop(writable);
    while let Some((_, part)) = opened.pop() {
        let inside = opened.last().map_or(folder, |(folder, _)| folder);
        if unlinkat(inside, &**part, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn git(&self, arguments: &[&str]) -> String {
            let output = std::process::Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@a"])
                .args(arguments)
                .current_dir(self.0.path())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        }

        /// A repository with the branch `feature/x`.
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.git(&["init", "-q", "-b", "main"]);
            repository.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
            repository.git(&["switch", "-q", "-c", "feature/x"]);
            repository
        }

        fn watch(&self) -> IndexWatch {
            let tree = self.0.path().canonicalize().unwrap();
            let git = protocol::bytes(tree.join(".git"));
            IndexWatch::new(&Written {
                tree: protocol::bytes(tree),
                others: Vec::new(),
                own: git.clone(),
                common: git,
                hash: 20,
            })
            .unwrap()
        }

        /// Commits a repository as a submodule.
        fn commit_a_repository(&self) {
            self.git(&["init", "-q", "sub"]);
            self.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]);
            self.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
            self.git(&["commit", "-q", "-m", "sub"]);
        }
    }

    #[test]
    fn undone_commit_restores_the_branch() {
        for layout in ["file", "packed", "link", "symbolic"] {
            let repository = Repository::new();
            let git = repository.0.path().join(".git");
            match layout {
                // Git removes the folder of the branch.
                "packed" => drop(repository.git(&["pack-refs", "--all"])),
                "link" => {
                    std::fs::remove_file(git.join("HEAD")).unwrap();
                    std::os::unix::fs::symlink("refs/heads/feature/x", git.join("HEAD")).unwrap();
                }
                "symbolic" => {
                    repository.git(&["symbolic-ref", "refs/heads/y", "refs/heads/feature/x"]);
                    repository.git(&["symbolic-ref", "HEAD", "refs/heads/y"]);
                }
                _ => {}
            }
            let has_folder = git.join("refs/heads/feature").exists();
            assert_eq!(has_folder, layout != "packed", "{layout}");
            let head = || repository.git(&["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
            let before = head();
            let watch = repository.watch();
            repository.commit_a_repository();
            assert_ne!(head(), before, "{layout}: the control");
            let (path, restored) = watch.check().unwrap();
            restored.unwrap();
            assert!(path.ends_with("sub"), "{layout}: {path:?}");
            assert_eq!(head(), before, "{layout}");
            assert_eq!(repository.git(&["ls-files"]), "", "{layout}");
            assert_eq!(git.join("HEAD").is_symlink(), layout == "link");
            assert_eq!(git.join("refs/heads/feature").exists(), has_folder);
        }
    }

    #[test]
    fn names_of_an_earlier_run_do_not_stop_a_restore() {
        let repository = Repository::new();
        let watch = repository.watch();
        repository.commit_a_repository();
        let name = format!(".git/restored.prowess-{}", std::process::id());
        std::fs::write(repository.0.path().join(name), "").unwrap();
        watch.check().unwrap().1.unwrap();
        assert_eq!(repository.git(&["ls-files"]), "");
    }

    #[test]
    fn folder_that_cannot_be_entered_may_be_a_repository() {
        let repository = Repository::new();
        let watch = repository.watch();
        let at = |path: &str| repository.0.path().join(path);
        std::fs::create_dir_all(at("plain")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        assert!(!watch.is_foreign(&at("plain")) && !watch.is_foreign(&at("absent")));
        // Any error but that of an absent file: here, a link to itself.
        assert!(watch.is_foreign(&at("loop")));
    }

    #[test]
    fn reference_that_cannot_be_saved_is_an_error() {
        for head in [&b"ref: ../outside\n"[..], b"ref: main\n", &[b'x'; 9000]] {
            let repository = Repository::new();
            std::fs::write(repository.0.path().join(".git/HEAD"), head).unwrap();
            let tree = repository.0.path().canonicalize().unwrap();
            let git = protocol::bytes(tree.join(".git"));
            let written = Written {
                tree: protocol::bytes(tree),
                others: Vec::new(),
                own: git.clone(),
                common: git,
                hash: 20,
            };
            assert!(IndexWatch::new(&written).is_err(), "{head:?}");
        }
    }
}
