//! Lists the files of a skill.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::{CStr, OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use prowess_catalog::FileStamp;
use prowess_spec::sidecar::{MAX_SIDECAR, SIDECAR_PATH};
use prowess_spec::vocabulary::SCRIPT_ENDINGS;
use prowess_spec::{FileKind, PackageFacts, PackageFile, PackageListing, PathStatus};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::entries::{self, Entry};
use super::walk::SKIPPED;

/// Maximum depth that is listed.
const MAX_DEPTH: usize = 6;
/// Maximum number of entries that are listed.
const MAX_ENTRIES: usize = 4096;

/// The most common folders in skills.
const USUAL_FOLDERS: [&str; 8] = [
    "references",
    "scripts",
    "assets",
    "agents",
    ".claude-plugin",
    "examples",
    "resources",
    "templates",
];

/// A skill's folder on disk. Evaluated lazily: most skills are a single file, and most properties
/// are never needed.
#[derive(Debug)]
pub struct PackageOnDisk<'f> {
    handle: BorrowedFd<'f>,
    /// Name of the folder inside the open one; `None` if it is the open folder itself.
    name: Option<&'f CStr>,
    folder: OnceCell<Option<Cow<'f, str>>>,
    file_name: &'static str,
    listing: OnceCell<PackageListing>,
    folders: OnceCell<Inner>,
    sidecar: OnceCell<Option<String>>,
}

/// Possible content of the subfolders of a skill, judging by their names.
#[derive(Clone, Copy, Debug)]
struct Inner {
    /// `true` if a subfolder may contain a SKILL.md at any depth.
    may_nest: bool,
    /// `true` if there may be a sidecar.
    may_have_sidecar: bool,
}

impl Inner {
    const UNKNOWN: Self = Self {
        may_nest: true,
        may_have_sidecar: true,
    };
}

impl<'f> PackageOnDisk<'f> {
    /// Describes the open folder itself.
    pub(super) fn of(
        handle: BorrowedFd<'f>,
        folder: Option<String>,
        file_name: &'static str,
    ) -> Self {
        Self {
            handle,
            name: None,
            folder: OnceCell::from(folder.map(Cow::Owned)),
            file_name,
            listing: OnceCell::new(),
            folders: OnceCell::new(),
            sidecar: OnceCell::new(),
        }
    }

    /// Describes a subfolder of the open folder.
    pub(super) fn inside(handle: BorrowedFd<'f>, name: &'f CStr) -> Self {
        Self {
            name: Some(name),
            folder: OnceCell::new(),
            ..Self::of(handle, None, "SKILL.md")
        }
    }

    /// Returns the version of `agents/openai.yaml`, if it exists.
    pub fn sidecar_stamp(&self) -> Option<FileStamp> {
        // Called for every skill, so build the path without allocating.
        let mut room = [0; 256 + SIDECAR_PATH.len()];
        let name = self.name.map_or(&b"."[..], CStr::to_bytes);
        match room.get_mut(..name.len() + 1 + SIDECAR_PATH.len()) {
            Some(path) => {
                let (folder, file) = path.split_at_mut(name.len());
                folder.copy_from_slice(name);
                file[0] = b'/';
                file[1..].copy_from_slice(SIDECAR_PATH.as_bytes());
                super::read::stamp(self.handle, OsStr::from_bytes(path))
            }
            None => super::read::stamp(self.handle, &self.path(SIDECAR_PATH)),
        }
    }

    /// Reads `agents/openai.yaml` and its version, without listing the folder.
    pub fn read_sidecar(&self) -> Option<(FileStamp, String)> {
        // Few skills have one, and a `stat` is the cheapest way to find out.
        let stamp = self.sidecar_stamp()?;
        Some((stamp, read_sidecar(self.handle, &self.path(SIDECAR_PATH))?))
    }

    fn folder_name(&self) -> Option<&str> {
        // Nearly all names are UTF-8, which is fast to check.
        let text = |name: &'f CStr| {
            name.to_str()
                .map_or_else(|_| name.to_string_lossy(), Cow::from)
        };
        let name = || self.name.map(text);
        self.folder.get_or_init(name).as_deref()
    }

    fn path(&self, path: &str) -> OsString {
        match self.name {
            Some(name) => OsString::from_vec([name.to_bytes(), b"/", path.as_bytes()].concat()),
            None => path.into(),
        }
    }

    /// Inspects the subfolders, on first use. Listing a folder costs as much as reading several
    /// files, so the common names are checked first; usually there are no others.
    fn inner(&self) -> Inner {
        *self.folders.get_or_init(|| {
            let own = self.name.map_or(c".", |name| name);
            let Some(mut left) = folders_inside(self.handle, own) else {
                return Inner::UNKNOWN;
            };
            if left == 0 {
                return Inner {
                    may_nest: false,
                    may_have_sidecar: false,
                };
            }
            let mut may_have_sidecar = false;
            let mut path = self.path("").into_vec();
            let base = path.len();
            for name in USUAL_FOLDERS {
                if left == 0 {
                    break;
                }
                path.truncate(base);
                path.extend_from_slice(name.as_bytes());
                let Some(inside) = folders_inside(self.handle, path.as_slice()) else {
                    continue;
                };
                path.extend_from_slice(b"/SKILL.md");
                if inside > 0 || exists(self.handle, path.as_slice()) {
                    return Inner::UNKNOWN;
                }
                may_have_sidecar |= is_sidecar_folder(name.as_bytes());
                left -= 1;
            }
            if left == 0 {
                return Inner {
                    may_nest: false,
                    may_have_sidecar,
                };
            }
            self.open()
                .map_or(Inner::UNKNOWN, |folder| glance(folder.as_fd()))
        })
    }

    fn open(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        rustix::fs::openat(
            self.handle,
            self.path(".").as_os_str(),
            flags,
            Mode::empty(),
        )
        .ok()
    }

    /// Returns everything in the folder, listed on first use.
    pub fn listing(&self) -> &PackageListing {
        self.listing.get_or_init(|| {
            let mut package = PackageListing {
                folder: self.folder_name().map(str::to_owned),
                file_name: Some(self.file_name.to_owned()),
                ..PackageListing::default()
            };
            if let Some(folder) = self.open() {
                let mut lister = Lister::default();
                if lister.list(folder.as_fd(), 0).is_some() {
                    lister.finish(folder.as_fd(), &mut package);
                }
            }
            package
        })
    }
}

impl PackageFacts for PackageOnDisk<'_> {
    fn folder(&self) -> Option<&str> {
        self.folder_name()
    }

    fn file_name(&self) -> Option<&str> {
        Some(self.file_name)
    }

    fn look(&self, path: &str) -> PathStatus {
        match rustix::fs::statat(self.handle, self.path(path).as_os_str(), AtFlags::empty()) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                PathStatus::File(Some(stat.st_mode & 0o111 != 0))
            }
            Ok(_) => PathStatus::Other,
            Err(Errno::NOENT | Errno::NOTDIR) => PathStatus::Missing,
            Err(_) => PathStatus::Unknown,
        }
    }

    fn paths(&self) -> Vec<&str> {
        self.listing().paths()
    }

    fn nested_skills(&self) -> Vec<&str> {
        let may_nest = self.listing.get().is_some() || self.inner().may_nest;
        if may_nest {
            self.listing().nested_skills()
        } else {
            Vec::new()
        }
    }

    fn sidecar(&self) -> Option<&str> {
        if self.listing.get().is_some() || self.inner().may_nest {
            return self.listing().sidecar();
        }
        let read = || read_sidecar(self.handle, &self.path(SIDECAR_PATH));
        self.sidecar
            .get_or_init(|| self.inner().may_have_sidecar.then(read)?)
            .as_deref()
    }
}

/// Collects the files of a skill.
#[derive(Default)]
struct Lister {
    files: Vec<PackageFile>,
    /// Indices in `files` of folders that are still to be listed.
    folders: Vec<usize>,
    truncated: bool,
    prefix: String,
}

impl Lister {
    /// Adds one entry of the folder that is being listed.
    fn add(&mut self, folder: BorrowedFd<'_>, entry: Entry<'_>) -> ControlFlow<()> {
        if self.files.len() >= MAX_ENTRIES {
            self.truncated = true;
            return ControlFlow::Break(());
        }
        let (kind, executable) = look(folder, entry.name, entry.file_type);
        if kind == FileKind::Folder {
            if SKIPPED
                .iter()
                .any(|skipped| skipped.as_bytes() == entry.name.to_bytes())
            {
                return ControlFlow::Continue(());
            }
            // Links to folders are shown but not entered: their content is not part of the skill.
            if entry.file_type != FileType::Symlink {
                self.folders.push(self.files.len());
            }
        }
        let name = entry.name.to_string_lossy();
        let path = if self.prefix.is_empty() {
            name.into()
        } else {
            format!("{}{name}", self.prefix).into()
        };
        self.files.push(PackageFile {
            path,
            kind,
            executable,
        });
        ControlFlow::Continue(())
    }

    /// Lists a folder recursively. Returns `None` if it cannot be read.
    fn list(&mut self, folder: BorrowedFd<'_>, depth: usize) -> Option<()> {
        let waiting = self.folders.len();
        entries::for_each(folder, &mut |entry| self.add(folder, entry)).ok()?;
        self.descend(folder, waiting, depth);
        Some(())
    }

    /// Lists the folders that were added since `waiting`.
    fn descend(&mut self, folder: BorrowedFd<'_>, waiting: usize, depth: usize) {
        let inner = self.folders.split_off(waiting);
        for index in inner {
            if depth + 1 >= MAX_DEPTH {
                self.truncated = true;
                break;
            }
            let length = self.prefix.len();
            let path = self.files[index].path.clone();
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let opened = rustix::fs::openat(folder, &path[length..], flags, Mode::empty());
            self.prefix.clear();
            self.prefix.push_str(&path);
            self.prefix.push('/');
            let listed = opened
                .ok()
                .and_then(|inner| self.list(inner.as_fd(), depth + 1));
            self.prefix.truncate(length);
            // An unreadable folder may contain anything, so nothing in it counts as missing.
            if listed.is_none() {
                self.truncated = true;
            }
        }
    }

    fn finish(mut self, folder: BorrowedFd<'_>, package: &mut PackageListing) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        package.truncated = self.truncated;
        package.files = Some(self.files);
        if package.entry(SIDECAR_PATH).is_some() {
            package.sidecar = read_sidecar(folder, OsStr::new(SIDECAR_PATH));
        }
    }
}

/// Inspects the subfolders of an open folder without entering them.
fn glance(folder: BorrowedFd<'_>) -> Inner {
    let mut seen = Inner {
        may_nest: false,
        may_have_sidecar: false,
    };
    let result = entries::for_each(folder, &mut |entry| {
        let name = entry.name.to_bytes();
        match entry.file_type {
            FileType::Directory if SKIPPED.iter().any(|skipped| skipped.as_bytes() == name) => {}
            FileType::Directory => {
                seen.may_have_sidecar |= is_sidecar_folder(name);
                let file = [name, b"/SKILL.md"].concat();
                seen.may_nest |= folders_inside(folder, entry.name) != Some(0)
                    || exists(folder, file.as_slice());
            }
            FileType::Unknown => seen = Inner::UNKNOWN,
            _ => {}
        }
        if seen.may_nest {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    // Then everything is listed, which answers the rest.
    if result.is_err() || seen.may_nest {
        Inner::UNKNOWN
    } else {
        seen
    }
}

fn exists(folder: BorrowedFd<'_>, path: impl Arg) -> bool {
    rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Returns the number of subfolders. On most file systems it follows from the number of hard links:
/// one for the name, one for `.`, and one for the `..` of each subfolder. Other file systems always
/// report 1.
fn folders_inside(folder: BorrowedFd<'_>, path: impl Arg) -> Option<u64> {
    let stat = rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return None;
    }
    stat.st_nlink.checked_sub(2)
}

fn is_sidecar_folder(name: &[u8]) -> bool {
    SIDECAR_PATH
        .as_bytes()
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(b"/"))
}

fn read_sidecar(folder: BorrowedFd<'_>, path: &OsStr) -> Option<String> {
    let mut bytes = Vec::new();
    super::read::read_file(folder, path, &mut bytes).ok()?;
    bytes.truncate(MAX_SIDECAR + 1);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the type of an entry, and whether it is executable if that matters. Most entries need no
/// extra system call.
fn look(folder: BorrowedFd<'_>, name: &CStr, file_type: FileType) -> (FileKind, Option<bool>) {
    let is_script = || {
        let ending = name
            .to_bytes()
            .rsplit(|&byte| byte == b'.')
            .next()
            .unwrap_or_default();
        SCRIPT_ENDINGS
            .iter()
            .any(|known| known.as_bytes() == ending)
    };
    match file_type {
        FileType::Directory => (FileKind::Folder, None),
        FileType::RegularFile if !is_script() => (FileKind::File, None),
        FileType::RegularFile | FileType::Symlink | FileType::Unknown => {
            match rustix::fs::statat(folder, name, AtFlags::empty()) {
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile => (FileKind::File, Some(stat.st_mode & 0o111 != 0)),
                    FileType::Directory => (FileKind::Folder, None),
                    _ => (FileKind::Other, None),
                },
                Err(_) => (FileKind::Other, None),
            }
        }
        _ => (FileKind::Other, None),
    }
}
