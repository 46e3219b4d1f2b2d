//! Opens and replaces exactly the file that was judged.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{ToolError, Why};
use prowess_diag::suggest;
use prowess_diag::wording::tick;
use prowess_registry::fs::read::describe_kind;
use prowess_registry::nofollow;
use prowess_registry::resource::read_at;
use rustix::fs::{Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::files::path_guard::{PathGuard, ResolvedPath, shown};

/// Largest file that is written or edited, in bytes.
pub(crate) const MAX_WRITTEN: usize = 10 * 1024 * 1024;
/// Most names that are looked at for a file that may have been meant.
const MAX_NAMES: usize = 2_000;
/// Most names that are tried for a new file beside the one to replace.
const MAX_TRIES: usize = 16;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Something that is open, and what the system says of it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) handle: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) is_folder: bool,
}

impl Opened {
    /// Its size in bytes.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// All of it; nothing where it is larger than `most`.
    pub(crate) fn whole(&self, most: usize) -> Result<Option<Vec<u8>>, Errno> {
        let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
        if size > most {
            return Ok(None);
        }
        // One byte more tells whether it grew meanwhile.
        let bytes = read_at(&self.handle, 0, size + 1)?;
        Ok((bytes.len() <= size).then_some(bytes))
    }
}

/// Opens a file or a folder for reading. Never waits for anybody.
pub(crate) fn open(real: &Path) -> Result<Opened, Fault> {
    let handle = nofollow::open(real, LOOK, Mode::empty()).map_err(Fault::of)?;
    let stat = rustix::fs::fstat(&handle).map_err(Fault::of)?;
    let is_folder = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => false,
        FileType::Directory => true,
        kind => return Err(Fault::NotAFile(describe_kind(kind))),
    };
    if is_kernels(&handle) {
        return Err(Fault::NotAFile("a part of the kernel"));
    }
    Ok(Opened {
        handle,
        stat,
        is_folder,
    })
}

/// Tells whether a file system has no disk behind it, but the kernel: reading may wait or never end.
#[cfg(target_os = "linux")]
fn is_kernels(handle: &OwnedFd) -> bool {
    /// proc, sysfs, debugfs, tracefs, securityfs, both cgroups, selinux, bpf.
    const MAGIC: &[rustix::fs::FsWord] = &[
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0xf97c_ff8c,
        0xcafe_4a11,
    ];
    rustix::fs::fstatfs(handle).is_ok_and(|found| MAGIC.contains(&found.f_type))
}

#[cfg(not(target_os = "linux"))]
fn is_kernels(_handle: &OwnedFd) -> bool {
    false
}

/// What must still be there when a file is replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected<'a> {
    /// Nothing.
    Absent,
    /// The file that was looked at.
    Same(&'a Stat),
    /// The file with this content.
    Content(&'a [u8]),
}

/// Puts a content in the place of a file, whole or not at all; makes the folders before it. What
/// was there keeps its permissions.
pub(crate) fn put(
    resolved: &ResolvedPath,
    expected: Expected<'_>,
    content: &[u8],
) -> Result<(), Fault> {
    let folder = folder_of(resolved)?;
    let name = resolved.last();
    let old = match expected {
        Expected::Absent => None,
        Expected::Same(_) | Expected::Content(_) => {
            rustix::fs::accessat(&folder, name, Access::WRITE_OK, AtFlags::empty())
                .map_err(Fault::of)?;
            Some(rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(Fault::of)?)
        }
    };
    let mut beside = Beside::new(&folder, old.as_ref())?;
    beside.file.write_all(content).map_err(Fault::Io)?;
    if let Some(old) = &old {
        let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only the superuser may give files away; for everybody else it is their own anyway.
        let _ = rustix::fs::fchown(&beside.file, Some(uid), Some(gid));
        let mode = Mode::from_raw_mode(old.st_mode & 0o777);
        rustix::fs::fchmod(&beside.file, mode).map_err(Fault::of)?;
    }
    beside.file.sync_all().map_err(Fault::Io)?;
    // As late as can be.
    match expected {
        Expected::Absent => {}
        Expected::Same(stat) => {
            let now = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            if !now.is_ok_and(|now| is_same(stat, &now)) {
                return Err(Fault::Changed);
            }
        }
        Expected::Content(content) => {
            let handle = rustix::fs::openat(&folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty());
            let handle = handle.map_err(|_| Fault::Changed)?;
            if read_at(&handle, 0, content.len() + 1).map_err(Fault::of)? != content {
                return Err(Fault::Changed);
            }
        }
    }
    beside.rename(name, old.is_some())?;
    match rustix::fs::fsync(&folder) {
        // Not every file system can do that with folders.
        Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(error) => Err(Fault::of(error)),
    }
}

/// Opens the folder of a file, and makes what is missing of it.
fn folder_of(resolved: &ResolvedPath) -> Result<OwnedFd, Fault> {
    let parent = resolved.real.parent().unwrap_or(Path::new("/"));
    let make = resolved.missing.saturating_sub(1);
    let parts: Vec<&OsStr> = parent.iter().collect();
    let (there, missing) = parts.split_at(parts.len().saturating_sub(make));
    let there: std::path::PathBuf = there.iter().collect();
    let mut folder = nofollow::open(&there, FOLDER, Mode::empty()).map_err(Fault::of)?;
    for name in missing {
        match rustix::fs::mkdirat(&folder, *name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Fault::of(error)),
        }
        let flags = FOLDER | OFlags::NOFOLLOW;
        folder = rustix::fs::openat(&folder, *name, flags, Mode::empty()).map_err(Fault::of)?;
    }
    Ok(folder)
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    let key = |stat: &Stat| {
        let times = (
            stat.st_mtime,
            stat.st_mtime_nsec,
            stat.st_ctime,
            stat.st_ctime_nsec,
        );
        (stat.st_dev, stat.st_ino, stat.st_size, times)
    };
    key(a) == key(b)
}

/// A new file beside the one to replace; gone again unless it takes its place.
struct Beside<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    file: File,
    kept: bool,
}

impl<'f> Beside<'f> {
    fn new(folder: &'f OwnedFd, old: Option<&Stat>) -> Result<Self, Fault> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // What replaces a private file is private from the beginning.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..MAX_TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".prowess-{}-{number}", std::process::id()));
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(handle) => {
                    return Ok(Self {
                        folder,
                        name,
                        file: File::from(handle),
                        kept: false,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        Err(Fault::of(last))
    }

    fn rename(mut self, name: &OsStr, replaces: bool) -> Result<(), Fault> {
        let folder = self.folder.as_fd();
        let renamed = if replaces {
            rustix::fs::renameat(folder, &self.name, folder, name)
        } else {
            fresh(self.folder, &self.name, name)
        };
        match renamed {
            Ok(()) => self.kept = true,
            Err(Errno::EXIST) => return Err(Fault::Changed),
            Err(error) => return Err(Fault::of(error)),
        }
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Renames to a name that nobody has; fails where somebody was faster.
fn fresh(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // Not every file system can.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            result => return result,
        }
    }
    match rustix::fs::statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(folder, from, folder, to),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Why a file was not opened or replaced.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not there.
    Missing,
    /// It is something else.
    NotAFile(&'static str),
    /// A link stands where none was.
    Moved,
    /// It is not what was looked at.
    Changed,
    /// The system says no.
    System(Errno),
    /// The system says no while writing.
    Io(std::io::Error),
}

impl Fault {
    pub(crate) fn of(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            Errno::LOOP | Errno::XDEV => Self::Moved,
            Errno::NXIO => Self::NotAFile("a socket or a FIFO"),
            error => Self::System(error),
        }
    }

    /// What a model reads. `verb` is what was tried: `read`, `write`.
    pub(crate) fn told(
        self,
        guard: &PathGuard<'_>,
        resolved: &ResolvedPath,
        verb: &str,
    ) -> ToolError {
        let name = tick(shown(&resolved.name));
        match self {
            Self::Missing if verb == "write" => ToolError::new(
                Why::Failed,
                format!("{name} has no folder to be written to."),
            ),
            Self::Missing => {
                let near = near(guard, resolved)
                    .map(|near| format!(" Did you mean {}?", tick(shown(&near))))
                    .unwrap_or_default();
                ToolError::new(Why::NoFile, format!("There is no file {name}.{near}"))
            }
            Self::NotAFile(kind) => {
                ToolError::new(Why::NoFile, format!("{name} is {kind}, not a file."))
            }
            Self::Moved => ToolError::new(
                Why::Denied,
                format!("{name} was not touched: a link was put in its way while it was judged."),
            ),
            Self::Changed => ToolError::new(
                Why::Failed,
                format!("{name} changed meanwhile, so it was left alone. Read it again."),
            ),
            Self::System(error) => {
                let error = std::io::Error::from(error);
                ToolError::new(Why::Failed, format!("Cannot {verb} {name}: {error}."))
            }
            Self::Io(error) => {
                ToolError::new(Why::Failed, format!("Cannot {verb} {name}: {error}."))
            }
        }
    }
}

/// A file in the project that may have been meant.
fn near(guard: &PathGuard<'_>, resolved: &ResolvedPath) -> Option<String> {
    let parent = resolved
        .real
        .parent()
        .filter(|parent| guard.is_inside(parent))?;
    let mut names: Vec<String> = std::fs::read_dir(parent)
        .ok()?
        .take(MAX_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    let wanted = resolved.last().to_str()?;
    let near = suggest::nearest(wanted, names.iter().map(String::as_str))?;
    Some(guard.name(&parent.join(near)))
}
