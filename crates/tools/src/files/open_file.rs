//! Opens and replaces exactly the file that the gate checked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{ToolError, ToolErrorKind};
use prowess_diag::suggest;
use prowess_diag::wording::tick;
use prowess_registry::fs::read::describe_kind;
use prowess_registry::nofollow;
use prowess_registry::resource::read_at;
use rustix::fs::{Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::files::path_guard::{PathGuard, ResolvedPath, shown};

/// Maximum size of a file that is written or edited, in bytes.
pub(crate) const MAX_WRITTEN: usize = 10 * 1024 * 1024;
/// Maximum number of directory entries searched for a similar file name.
const MAX_NAMES: usize = 2_000;
/// Maximum number of names tried for a temporary file.
const MAX_TRIES: usize = 16;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open file or folder with its metadata.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) handle: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) is_folder: bool,
}

impl Opened {
    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Reads the whole file. Returns `None` if it is larger than `most`.
    pub(crate) fn whole(&self, most: usize) -> Result<Option<Vec<u8>>, Errno> {
        let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
        if size > most {
            return Ok(None);
        }
        // Read one byte more to detect that the file grew.
        let bytes = read_at(&self.handle, 0, size + 1)?;
        Ok((bytes.len() <= size).then_some(bytes))
    }
}

/// Opens a file or folder for reading without blocking.
pub(crate) fn open(real: &Path) -> Result<Opened, Fault> {
    let handle = nofollow::open(real, LOOK, Mode::empty()).map_err(Fault::of)?;
    let stat = rustix::fs::fstat(&handle).map_err(Fault::of)?;
    let is_folder = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => false,
        FileType::Directory => true,
        kind => return Err(Fault::NotAFile(describe_kind(kind))),
    };
    if is_kernels(&handle) {
        return Err(Fault::NotAFile("a kernel file"));
    }
    Ok(Opened {
        handle,
        stat,
        is_folder,
    })
}

/// Returns `true` for a file system that is served by the kernel, such as `/proc`: reads from it
/// may block or never end.
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

/// Expected state of a file that is about to be replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected<'a> {
    /// The file does not exist.
    Absent,
    /// The file is the one with this metadata.
    Same(&'a Stat),
    /// The file has this content.
    Content(&'a [u8]),
}

/// Replaces a file atomically, creating missing parent folders. An existing file keeps its
/// permissions.
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
    let mut temp = TempFile::new(&folder, old.as_ref())?;
    temp.file.write_all(content).map_err(Fault::Io)?;
    if let Some(old) = &old {
        let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only root can change the owner; for other users the owner is already right.
        let _ = rustix::fs::fchown(&temp.file, Some(uid), Some(gid));
        let mode = Mode::from_raw_mode(old.st_mode & 0o777);
        rustix::fs::fchmod(&temp.file, mode).map_err(Fault::of)?;
    }
    temp.file.sync_all().map_err(Fault::Io)?;
    // Check as late as possible.
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
    temp.rename(name, old.is_some())?;
    match rustix::fs::fsync(&folder) {
        // Some file systems cannot sync folders.
        Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(error) => Err(Fault::of(error)),
    }
}

/// Opens the parent folder of a file, creating it if it is missing.
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

/// A temporary file next to the one to replace; removed on drop unless it was renamed.
struct TempFile<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    file: File,
    kept: bool,
}

impl<'f> TempFile<'f> {
    fn new(folder: &'f OwnedFd, old: Option<&Stat>) -> Result<Self, Fault> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // The replacement of a private file must never be readable by other users.
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

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Renames a file to a name that does not exist yet. Fails if the name exists by then.
fn fresh(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // Not supported by every file system.
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

/// Error from opening or replacing a file.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file does not exist.
    Missing,
    /// The path is not a regular file.
    NotAFile(&'static str),
    /// The path goes through a link that was not there when it was checked.
    Moved,
    /// The file changed since it was checked.
    Changed,
    /// A system call failed.
    System(Errno),
    /// Writing failed.
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

    /// Converts the error to a tool error. `verb` is the attempted operation: `read`, `write`.
    pub(crate) fn told(
        self,
        guard: &PathGuard<'_>,
        resolved: &ResolvedPath,
        verb: &str,
    ) -> ToolError {
        let name = tick(shown(&resolved.name));
        match self {
            Self::Missing if verb == "write" => ToolError::new(
                ToolErrorKind::Failed,
                format!("Cannot write {name}: no such folder."),
            ),
            Self::Missing => {
                let near = near(guard, resolved)
                    .map(|near| format!(" Did you mean {}?", tick(shown(&near))))
                    .unwrap_or_default();
                ToolError::new(
                    ToolErrorKind::NoFile,
                    format!("File not found: {name}.{near}"),
                )
            }
            Self::NotAFile(kind) => ToolError::new(
                ToolErrorKind::NoFile,
                format!("{name} is {kind}, not a file."),
            ),
            Self::Moved => ToolError::new(
                ToolErrorKind::Denied,
                format!(
                    "Access to {name} denied: its path was replaced by a link during the check."
                ),
            ),
            Self::Changed => ToolError::new(
                ToolErrorKind::Failed,
                format!(
                    "{name} was not written, because it changed during this call. Read it again."
                ),
            ),
            Self::System(error) => {
                let error = std::io::Error::from(error);
                ToolError::new(
                    ToolErrorKind::Failed,
                    format!("Cannot {verb} {name}: {error}."),
                )
            }
            Self::Io(error) => ToolError::new(
                ToolErrorKind::Failed,
                format!("Cannot {verb} {name}: {error}."),
            ),
        }
    }
}

/// Returns the path of a file in the project with a similar name.
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
