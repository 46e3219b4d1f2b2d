//! Reads one skill.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use prowess_catalog::FileStamp;
use prowess_diag::wording::io_reason;
use prowess_spec::parse::MAX_FILE;
use prowess_spec::{PackageFacts, PackageListing, ReadFault};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::package::PackageOnDisk;
use crate::resource::SkillFolder;

/// File names of a skill, the canonical one first.
pub const SKILL_FILES: [&str; 2] = prowess_catalog::skill::MAIN_FILES;

/// A skill that was found.
#[derive(Debug)]
pub struct FoundSkill<'a> {
    /// Path of its file, or of its folder if the file is missing.
    pub path: &'a Path,
    /// The content, or the reason why it could not be read.
    pub bytes: Result<&'a [u8], ReadFault>,
    /// Version of the file that was read.
    pub stamp: Option<FileStamp>,
    /// Index of the walked root.
    pub root: usize,
    /// Index of the walking thread.
    pub thread: usize,
    /// The skill's folder.
    pub package: &'a dyn PackageFacts,
    /// The same folder, if it is on disk.
    pub disk: Option<&'a PackageOnDisk<'a>>,
}

impl<'a> FoundSkill<'a> {
    /// Creates a skill from a path given by the caller, not found by a walk.
    pub fn named(
        path: &'a Path,
        bytes: Result<&'a [u8], ReadFault>,
        package: &'a dyn PackageFacts,
    ) -> Self {
        Self {
            path,
            bytes,
            stamp: None,
            root: 0,
            thread: 0,
            package,
            disk: None,
        }
    }
}

/// Reads the skill at a path and passes it to `visit`: a folder with SKILL.md, a SKILL.md itself,
/// or a single Markdown file.
///
/// Returns `false` if the path is a folder without SKILL.md, which may contain skills.
pub fn read_path(path: &Path, visit: &mut dyn FnMut(FoundSkill<'_>)) -> bool {
    let mut buffer = Vec::new();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let file = SKILL_FILES
        .into_iter()
        .find(|file| name == OsStr::new(file));
    if let Some(file) = file
        && let Ok(folder) = rustix::fs::open(parent, flags, Mode::empty())
    {
        read_named(
            folder.as_fd(),
            parent,
            folder_name(parent),
            file,
            &mut buffer,
            visit,
        );
        return true;
    }
    if let Ok(folder) = rustix::fs::open(path, flags, Mode::empty()) {
        let Some(file) = skill_file(folder.as_fd()) else {
            return false;
        };
        read_named(
            folder.as_fd(),
            path,
            folder_name(path),
            file,
            &mut buffer,
            visit,
        );
        return true;
    }
    let bytes = read_file(rustix::fs::CWD, path.as_os_str(), &mut buffer);
    let package = PackageListing {
        file_name: Some(name.to_string_lossy().into_owned()),
        ..PackageListing::default()
    };
    let (bytes, stamp) = split(bytes, &buffer);
    visit(FoundSkill {
        stamp,
        ..FoundSkill::named(path, bytes, &package)
    });
    true
}

/// Reads the skill in an open folder and passes it to `visit`, like [`read_path`].
pub fn read_folder(folder: &SkillFolder, visit: &mut dyn FnMut(FoundSkill<'_>)) -> bool {
    let Some(file) = skill_file(folder.handle()) else {
        return false;
    };
    let mut buffer = Vec::new();
    let bytes = read_checked(folder, OsStr::new(file), &mut buffer);
    let package = PackageOnDisk::of(folder.handle(), folder_name(folder.path()), file);
    let (bytes, stamp) = split(bytes, &buffer);
    visit(FoundSkill {
        stamp,
        disk: Some(&package),
        ..FoundSkill::named(&folder.path().join(file), bytes, &package)
    });
    true
}

/// Returns the name of the skill file in an open folder.
pub(super) fn skill_file(folder: BorrowedFd<'_>) -> Option<&'static str> {
    SKILL_FILES.into_iter().find(|file| exists(folder, file))
}

pub(super) fn read_named(
    folder: BorrowedFd<'_>,
    path: &Path,
    name: Option<String>,
    file: &'static str,
    buffer: &mut Vec<u8>,
    visit: &mut dyn FnMut(FoundSkill<'_>),
) {
    let bytes = read_file(folder, OsStr::new(file), buffer);
    let package = PackageOnDisk::of(folder, name, file);
    let (bytes, stamp) = split(bytes, buffer);
    let path = &path.join(file);
    visit(FoundSkill {
        stamp,
        disk: Some(&package),
        ..FoundSkill::named(path, bytes, &package)
    });
}

/// Splits a read result into the content and the version.
pub(super) fn split(
    read: Result<FileStamp, ReadFault>,
    buffer: &[u8],
) -> (Result<&[u8], ReadFault>, Option<FileStamp>) {
    let stamp = read.as_ref().ok().copied();
    (read.map(|_| buffer), stamp)
}

/// Returns the version of a file, or `None` if it is not a regular file.
pub(crate) fn stamp(folder: BorrowedFd<'_>, name: &OsStr) -> Option<FileStamp> {
    let stat = rustix::fs::statat(folder, name, rustix::fs::AtFlags::empty()).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| stamp_of(&stat))
}

/// Converts the result of `stat` to a [`FileStamp`].
pub(super) fn stamp_of(stat: &rustix::fs::Stat) -> FileStamp {
    let time = |seconds: i64, nanoseconds: u64| {
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add_unsigned(nanoseconds)
    };
    FileStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
    }
}

/// Returns the name of a folder, also for paths that end in `.` or `..`. For a link, its own name.
pub(super) fn folder_name(path: &Path) -> Option<String> {
    let lossy = |name: &OsStr| name.to_string_lossy().into_owned();
    match path.file_name() {
        Some(name) => Some(lossy(name)),
        None => std::path::absolute(path)
            .ok()
            .and_then(|path| clean(&path))
            .map(|name| lossy(&name)),
    }
}

/// Returns the last component of a path after removing `..` lexically.
fn clean(path: &Path) -> Option<OsString> {
    let mut parts: Vec<OsString> = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            std::path::Component::Normal(name) => parts.push(name.to_owned()),
            _ => {}
        }
    }
    parts.pop()
}

fn exists(folder: BorrowedFd<'_>, name: &str) -> bool {
    // A broken link exists too: it is reported, not skipped.
    rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Reads a regular file into `buffer`, up to the size limit. Does not block on a FIFO.
pub(crate) fn read_file(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    buffer: &mut Vec<u8>,
) -> Result<FileStamp, ReadFault> {
    read_if(folder, name, buffer, |_| true)
}

/// Like [`read_file`], for the text of a skill. Fails if it is a link to a file that the skill may
/// not show.
pub(super) fn read_checked(
    folder: &SkillFolder,
    name: &OsStr,
    buffer: &mut Vec<u8>,
) -> Result<FileStamp, ReadFault> {
    read_if(folder.handle(), name, buffer, |file| {
        folder.may_link_to(file)
    })
}

fn read_if(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    buffer: &mut Vec<u8>,
    may_read: impl FnOnce(&OwnedFd) -> bool,
) -> Result<FileStamp, ReadFault> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())
        .map_err(|error| open_fault(folder, name, error))?;
    let stat = rustix::fs::fstat(&file).map_err(unreadable)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(ReadFault::NotAFile(describe_kind(kind)));
    }
    if !may_read(&file) {
        let why = "it is a link to a file outside the project";
        return Err(ReadFault::Unreadable(why.to_owned()));
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > MAX_FILE as u64 {
        return Err(ReadFault::TooLarge { bytes: size });
    }
    read_all(&file, usize::try_from(size).unwrap_or(0), buffer)?;
    Ok(stamp_of(&stat))
}

/// Reads the file as it is now. If it shrank meanwhile, returns less; if it grew beyond the limit,
/// fails.
fn read_all(file: &OwnedFd, size: usize, buffer: &mut Vec<u8>) -> Result<(), ReadFault> {
    buffer.clear();
    buffer.reserve(size + 1);
    loop {
        if buffer.spare_capacity_mut().is_empty() {
            buffer.reserve(buffer.len().max(4096));
        }
        let room = rustix::buffer::spare_capacity(buffer);
        match rustix::io::read(file, room) {
            Ok(0) => return Ok(()),
            Ok(count) if count == size && buffer.len() == size => return Ok(()),
            Ok(_) if buffer.len() > MAX_FILE => {
                return Err(ReadFault::TooLarge {
                    bytes: buffer.len() as u64,
                });
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}

fn open_fault(folder: BorrowedFd<'_>, name: &OsStr, error: Errno) -> ReadFault {
    match error {
        Errno::NOENT => {
            let is_link =
                rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if is_link {
                ReadFault::NotAFile("a broken link")
            } else {
                ReadFault::Missing
            }
        }
        Errno::LOOP => ReadFault::NotAFile("a circular link"),
        Errno::ISDIR => ReadFault::NotAFile("a folder"),
        Errno::NXIO => ReadFault::NotAFile("a socket"),
        error => unreadable(error),
    }
}

fn unreadable(error: Errno) -> ReadFault {
    ReadFault::Unreadable(io_reason(std::io::Error::from(error)).to_lowercase())
}

/// Describes the type of something that is not a regular file.
pub fn describe_kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        _ => "a special file",
    }
}
