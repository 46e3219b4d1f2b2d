//! Placeholders for protected paths that do not exist.
//!
//! A mount needs something to cover. So an empty file or folder is created where a protected path is
//! missing, covered read-only inside, and removed afterwards. Two runs can share one: each holds a
//! shared lock while it needs it, and the one that gets an exclusive lock removes it. Removing it
//! under another run would uncover the path there.
//!
//! The helper is not in the sandbox, and commands of other runs may replace folders by links
//! meanwhile. So every path is reached without following a link, and what was created is removed
//! through the same open folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, mkdirat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::on_disk::{self, Kind};
use crate::protocol::{self, Report, Stub, StubKind};

/// The modes of placeholders. A command can give them to anything else, so that only what is empty as
/// well is removed, and nothing is protected less because of its mode.
const FILE_MODE: u32 = 0o404;
const FOLDER_MODE: u32 = 0o505;

/// Placeholders in use.
#[derive(Default)]
pub(super) struct Held {
    stubs: Vec<(Place, File)>,
    /// Paths that must not exist after the run.
    absent: Vec<Absent>,
    /// Paths that neither exist nor can be created by this user, and need no cover.
    impossible: Vec<PathBuf>,
    /// The folders that were opened, by their paths.
    folders: BTreeMap<PathBuf, Rc<OwnedFd>>,
}

/// A path that must not exist after the run.
struct Absent {
    path: PathBuf,
    /// The same path in the folder around it, if that exists. The command can move the folder.
    place: Option<Place>,
}

/// A path in an open folder.
#[derive(Clone)]
struct Place {
    folder: Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// Returns what is there now.
    fn facts(&self) -> rustix::io::Result<Stat> {
        statat(&*self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns `true` if it is the file that was opened.
    fn is(&self, file: &Stat) -> bool {
        self.facts()
            .is_ok_and(|now| (now.st_dev, now.st_ino) == (file.st_dev, file.st_ino))
    }

    /// Removes a placeholder that is empty, and that no other run needs.
    fn remove_if_unused(&self, file: &File) {
        let Ok(facts) = fstat(file) else { return };
        let alone = flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let length = u64::try_from(facts.st_size).unwrap_or(u64::MAX);
        if !alone || !self.is(&facts) || !is_placeholder(facts.st_mode as _, length) {
            return;
        }
        // A folder with content stays.
        let _ = match FileType::from_raw_mode(facts.st_mode) {
            FileType::Directory => self.remove(AtFlags::REMOVEDIR),
            _ => self.remove(AtFlags::empty()),
        };
    }

    fn remove(&self, flags: AtFlags) -> rustix::io::Result<()> {
        let _writable = WritableFolder::new(&self.folder);
        unlinkat(&*self.folder, &*self.name, flags)
    }
}

/// Makes a folder of this user writable until it is dropped: a command can remove the permissions of
/// its folders, so that what it created could not be removed.
pub(super) struct WritableFolder<'a> {
    folder: &'a OwnedFd,
    mode: Option<Mode>,
}

impl<'a> WritableFolder<'a> {
    pub(super) fn new(folder: &'a OwnedFd) -> Self {
        let facts = fstat(folder).ok().filter(|_| is_own(folder));
        let mode = facts.map(|facts| Mode::from_raw_mode(facts.st_mode));
        let needed = raw(0o300);
        let mode = mode.filter(|mode| !mode.contains(needed));
        let mode = mode.filter(|mode| set_mode(folder, *mode | needed).is_ok());
        Self { folder, mode }
    }
}

impl Drop for WritableFolder<'_> {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            let _ = set_mode(self.folder, mode);
        }
    }
}

/// Sets the mode of a folder that may be open only as a path.
fn set_mode(folder: &OwnedFd, mode: Mode) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode)
    }
    #[cfg(not(target_os = "linux"))]
    fchmod(folder, mode)
}

/// Creates and locks the placeholders.
pub(super) fn hold(stubs: &[Stub]) -> io::Result<Held> {
    let mut held = Held::default();
    for stub in stubs {
        let path = protocol::path(&stub.path);
        if stub.kind == StubKind::Absent {
            let place = held.place(&path)?;
            // Another run may have created it meanwhile; then it is not this run's to remove. The
            // command can create the folder as well, unless it belongs to another user.
            let is_free = match &place {
                Some(place) => place.facts().is_err(),
                None => on_disk::kind(&path) == Ok(Kind::Absent),
            };
            if is_free {
                held.absent.push(Absent { path, place });
            }
            continue;
        }
        // A folder above may have been the placeholder of another run, which removes it at its end.
        let mut above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|&it| may_go(it))
            .collect();
        while let Some(folder) = above.pop() {
            held.add(folder, true)?;
        }
        held.add(&path, stub.kind == StubKind::Folder)?;
    }
    Ok(held)
}

/// Returns `true` if a folder is missing or is the placeholder of a run that may end.
fn may_go(folder: &Path) -> bool {
    match folder.symlink_metadata() {
        Ok(facts) => facts.is_dir() && facts.mode() & 0o7777 == FOLDER_MODE,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns `true` if a folder is absent, or only another user can open the way to it.
fn is_out_of_reach(folder: &Path) -> bool {
    matches!(on_disk::kind(folder), Ok(Kind::Absent | Kind::Closed))
}

/// Opens a folder without following a link anywhere in its path.
pub(super) fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let flags = flags | OFlags::PATH;
        openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let mut folder = openat(CWD, "/", flags, Mode::empty())?;
        for part in path.components().skip(1) {
            folder = openat(&folder, part.as_os_str(), flags, Mode::empty())?;
        }
        Ok(folder)
    }
}

/// Returns a name that a command cannot have guessed.
pub(crate) fn unused_name(purpose: &str) -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{purpose}.prowess-{random:016x}")
}

/// Gives a file or folder a name that has no meaning. No link is followed.
pub(super) fn move_away(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = open_folder(parent)?;
    let _writable = WritableFolder::new(&folder);
    Ok(renameat(&folder, name, &folder, unused_name("removed"))?)
}

/// Folders above a path that this user makes accessible until they are dropped.
pub(super) struct OpenWay {
    folders: Vec<(OwnedFd, Mode)>,
}

impl OpenWay {
    /// Opens the folders of this user that deny the access to a path. No link is followed.
    pub(super) fn new(path: &Path) -> Self {
        let mut way = Self {
            folders: Vec::new(),
        };
        while let Err(unknown) = on_disk::kind(path) {
            let Ok(folder) = open_folder(&unknown.path) else {
                break;
            };
            let Some(mode) = fstat(&folder).ok().filter(|_| is_own(&folder)) else {
                break;
            };
            let mode = Mode::from_raw_mode(mode.st_mode);
            let needed = raw(0o700);
            if mode.contains(needed) || set_mode(&folder, mode | needed).is_err() {
                break;
            }
            way.folders.push((folder, mode));
        }
        way
    }
}

impl Drop for OpenWay {
    fn drop(&mut self) {
        // The innermost first: the others lead to it.
        for (folder, mode) in self.folders.iter().rev() {
            let _ = set_mode(folder, *mode);
        }
    }
}

/// Removes a file or link, or moves a folder away. If the command put a link on the way to it, the
/// link is removed. Returns the path that was removed.
fn take_away(path: &Path) -> io::Result<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let link = above.into_iter().find(|folder| folder.is_symlink());
    let path = link.unwrap_or(path);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = open_folder(parent)?;
    let _writable = WritableFolder::new(&folder);
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) => {}
        // A folder is moved away, and not removed with all that is in it.
        Err(Errno::ISDIR | Errno::PERM) => {
            renameat(&folder, name, &folder, unused_name("removed"))?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(path.to_owned())
}

/// Returns a mode in the type that the system uses.
fn raw(mode: u32) -> Mode {
    Mode::from_bits_truncate(mode as _)
}

/// Changes the content of a folder. If it is a placeholder, its owner makes it writable meanwhile.
fn in_placeholder<T>(
    folder: &OwnedFd,
    change: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match change() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(folder, ".", flags, Mode::empty())?;
    if !is_placeholder(fstat(&opened)?.st_mode as _, 0) {
        return Err(Errno::ACCESS);
    }
    fchmod(&opened, raw(FOLDER_MODE | 0o200)).map_err(|_| Errno::ACCESS)?;
    let done = change();
    let _ = fchmod(&opened, raw(FOLDER_MODE));
    done
}

/// Returns `true` if a folder belongs to this user, who can change its mode.
fn is_own(folder: &OwnedFd) -> bool {
    let user = rustix::process::geteuid();
    fstat(folder).map_or(true, |facts| facts.st_uid == user.as_raw())
}

/// Removes placeholders that a killed run left behind, at a path and on the way to it.
pub(crate) fn remove_leftover(path: &Path, writable: &[PathBuf]) {
    let is_inside = |path: &Path| {
        writable
            .iter()
            .any(|root| path.starts_with(root) && path != root)
    };
    for path in path.ancestors().take_while(|path| is_inside(path)) {
        let Ok(facts) = path.symlink_metadata() else {
            continue;
        };
        if !is_placeholder(facts.mode(), facts.len()) {
            return;
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let Ok(folder) = open_folder(parent) else {
            return;
        };
        let place = Place {
            folder: Rc::new(folder),
            name: name.to_owned(),
            path: path.to_owned(),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(&*place.folder, name, flags, Mode::empty()) else {
            return;
        };
        place.remove_if_unused(&file.into());
    }
}

/// Returns `true` if a file or folder looks like a placeholder. A folder can still have content.
fn is_placeholder(mode: u32, length: u64) -> bool {
    let bits = mode & 0o7777;
    match FileType::from_raw_mode(mode as _) {
        FileType::Directory => bits == FOLDER_MODE,
        FileType::RegularFile => bits == FILE_MODE && length == 0,
        _ => false,
    }
}

/// Locks a placeholder. Another run has an exclusive lock on it for a moment, if at all.
fn share(file: &File) -> io::Result<()> {
    for _ in 0..200 {
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(Duration::from_millis(10)),
            done => return Ok(done?),
        }
    }
    Err(io::Error::other("another process has locked it"))
}

fn hold_one(place: &Place, folder: bool) -> io::Result<Option<File>> {
    let (at, name): (&OwnedFd, &OsStr) = (&place.folder, &place.name);
    let mode = raw(if folder { FOLDER_MODE } else { FILE_MODE });
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Another run may remove it between two steps, once.
    for _ in 0..100 {
        let made = in_placeholder(at, || {
            if folder {
                return mkdirat(at, name, mode);
            }
            let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | flags;
            openat(at, name, create, mode).map(drop)
        });
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            // The owner of the folder could make it writable, and so could the command.
            Err(Errno::ACCESS) if is_own(at) => {
                let folder = place.path.parent().unwrap_or(&place.path);
                let why = format!(
                    "`{}` cannot be created, because `{}` is not writable; run {}",
                    place.path.display(),
                    folder.display(),
                    on_disk::chmod("u+rwx", folder)
                );
                return Err(io::Error::other(why));
            }
            // Where the helper cannot create it, the command of the same user cannot either.
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NAMETOOLONG) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
        let file = match openat(at, name, OFlags::RDONLY | flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => continue,
            // It belongs to another user and is not readable; it exists, so it will be covered.
            Err(_) => return Ok(None),
        };
        if made.is_ok() {
            // The mode above passed through the umask.
            let _ = fchmod(&file, mode);
        }
        share(&file)?;
        if place.is(&fstat(&file)?) {
            return Ok(Some(file));
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl Held {
    /// Opens the folder of a path. Returns `None` if there is none.
    fn place(&mut self, path: &Path) -> io::Result<Option<Place>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = match self.folders.get(parent) {
            Some(folder) => Rc::clone(folder),
            None => match open_folder(parent) {
                Ok(folder) => Rc::new(folder),
                Err(Errno::NOENT | Errno::ACCESS | Errno::NAMETOOLONG)
                    if is_out_of_reach(parent) =>
                {
                    return Ok(None);
                }
                // Below a file, nothing can exist. A link is not followed.
                Err(Errno::NOTDIR) if !parent.is_symlink() && is_out_of_reach(path) => {
                    return Ok(None);
                }
                Err(error) => {
                    let why = format!("`{}`: {}", path.display(), io::Error::from(error));
                    return Err(io::Error::other(why));
                }
            },
        };
        self.folders.insert(parent.to_owned(), Rc::clone(&folder));
        Ok(Some(Place {
            folder,
            name: name.to_owned(),
            path: path.to_owned(),
        }))
    }

    /// Creates and locks one placeholder, once: two locks of one run would block each other.
    fn add(&mut self, path: &Path, folder: bool) -> io::Result<()> {
        if self.stubs.iter().any(|(known, _)| known.path == path) {
            return Ok(());
        }
        let Some(place) = self.place(path)? else {
            self.impossible.push(path.to_owned());
            return Ok(());
        };
        match hold_one(&place, folder)? {
            Some(file) => self.stubs.push((place, file)),
            None if place.facts().is_err() => self.impossible.push(path.to_owned()),
            None => {}
        }
        Ok(())
    }

    /// Returns `true` if a path can be covered, because it exists or has a placeholder.
    pub(super) fn covers(&self, path: &Path) -> bool {
        !self.impossible.iter().any(|known| known == path)
    }

    /// Removes the placeholders, and what was created where nothing may be. Returns the reports about
    /// the latter.
    pub(super) fn release(mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        for Absent { path, place } in std::mem::take(&mut self.absent) {
            // In a folder that was moved, the name has no meaning yet.
            if let Some(place) = place
                && place.remove(AtFlags::empty()).is_ok()
            {
                reports.push(Report::Removed(protocol::bytes(&path)));
            }
            let _way = OpenWay::new(&path);
            let removed = match on_disk::kind(&path) {
                Ok(Kind::Absent | Kind::Closed) => continue,
                Ok(_) => take_away(&path).map_err(|error| error.to_string().into()),
                Err(unknown) => Err(unknown.why),
            };
            reports.push(match removed {
                Ok(path) => Report::Removed(protocol::bytes(path)),
                Err(why) => Report::NotRemoved(protocol::bytes(&path), why),
            });
        }
        reports
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Deepest first, so that a folder is empty when its turn comes.
        for (place, file) in self.stubs.iter().rev() {
            place.remove_if_unused(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn stub(path: &Path, folder: bool) -> Stub {
        let kind = if folder {
            StubKind::Folder
        } else {
            StubKind::File
        };
        Stub {
            path: protocol::bytes(path),
            kind,
        }
    }

    #[test]
    fn last_run_removes_the_placeholders() {
        let root = tempfile::tempdir().unwrap();
        let (file, folder) = (root.path().join("file"), root.path().join("folder"));
        let stubs = [stub(&file, false), stub(&folder, true)];
        let first = hold(&stubs).unwrap();
        assert!(file.is_file() && folder.is_dir());
        let second = hold(&stubs).unwrap();
        drop(first);
        assert!(
            file.is_file() && folder.is_dir(),
            "the second run still needs them"
        );
        drop(second);
        assert!(!file.exists() && !folder.exists());
    }

    #[test]
    fn folder_of_another_run_may_disappear() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        let inner = ["folder/a", "folder/b/c"].map(|path| root.path().join(path));
        let planned = [stub(&inner[0], false), stub(&inner[1], true)];
        // Before the second run begins.
        drop(hold(&[stub(&folder, true)]).unwrap());
        let is_there = || inner[0].is_file();
        let second = hold(&planned).unwrap();
        assert!(folder.is_dir() && is_there());
        drop(second);
        assert!(!folder.exists());
        // While it runs.
        let first = hold(&[stub(&folder, true)]).unwrap();
        let second = hold(&planned).unwrap();
        drop(first);
        assert!(folder.is_dir() && is_there());
        drop(second);
        assert!(!folder.exists(), "nothing is left behind");
    }

    /// A command of another run replaces the folder by a link meanwhile.
    #[test]
    fn links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        for folder in ["outside", "work/sub"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let absent = Stub {
            path: protocol::bytes(at("work/sub/commondir")),
            kind: StubKind::Absent,
        };
        let planned = [
            stub(&at("work/sub/file"), false),
            stub(&at("work/sub/folder"), true),
            absent,
        ];
        // After the placeholders were created: they are removed where they are, and nothing else.
        let held = hold(&planned).unwrap();
        std::fs::rename(at("work/sub"), at("work/moved")).unwrap();
        std::os::unix::fs::symlink(at("outside"), at("work/sub")).unwrap();
        let theirs = ["file", "commondir"].map(|name| at("outside").join(name));
        for path in &theirs {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(FILE_MODE)).unwrap();
        }
        std::fs::write(at("work/moved/commondir"), "").unwrap();
        let removed = [at("work/sub/commondir"), at("work/sub")];
        let removed = removed.map(|path| Report::Removed(protocol::bytes(path)));
        assert_eq!(held.release(), removed);
        assert!(theirs.iter().all(|path| path.exists()));
        assert_eq!(std::fs::read_dir(at("work/moved")).unwrap().count(), 0);
        std::os::unix::fs::symlink(at("outside"), at("work/sub")).unwrap();
        // Before: nothing is created outside, and the run is refused.
        for path in &theirs {
            std::fs::remove_file(path).unwrap();
        }
        for stub in &planned {
            assert!(hold(std::slice::from_ref(stub)).is_err(), "{stub:?}");
        }
        assert_eq!(std::fs::read_dir(at("outside")).unwrap().count(), 0);
    }

    #[test]
    fn files_of_a_person_stay() {
        let root = tempfile::tempdir().unwrap();
        let (theirs, filled) = (root.path().join("theirs"), root.path().join("filled"));
        std::fs::write(&theirs, "").unwrap();
        let held = hold(&[stub(&theirs, false), stub(&filled, false)]).unwrap();
        std::fs::set_permissions(&filled, PermissionsExt::from_mode(0o644)).unwrap();
        std::fs::write(&filled, "x").unwrap();
        drop(held);
        assert!(theirs.exists() && filled.exists());
    }
}
