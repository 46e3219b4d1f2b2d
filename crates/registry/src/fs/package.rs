//! Lists the files of a skill.

use std::cell::OnceCell;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;

use prowess_spec::sidecar::{MAX_SIDECAR, SIDECAR_PATH};
use prowess_spec::vocabulary::SCRIPT_ENDINGS;
use prowess_spec::{Facts, FileKind, Look, Package, PackageFile};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::entries::{self, Entry};
use super::walk::SKIPPED;

/// How deep a skill's folder is listed.
const MAX_DEPTH: usize = 6;
/// How many entries of a skill's folder are listed.
const MAX_ENTRIES: usize = 4096;

/// A skill's folder on disk. It is looked at when a question comes, not before: most skills are
/// one file, and most questions are never asked.
#[derive(Debug)]
pub struct OnDisk<'f> {
    handle: BorrowedFd<'f>,
    /// The folder seen from the handle: empty, or a name with a slash behind it.
    prefix: CString,
    folder: Option<String>,
    file_name: &'static str,
    listing: OnceCell<Package>,
    folders: OnceCell<bool>,
}

impl<'f> OnDisk<'f> {
    /// Describes the open folder itself.
    pub(super) fn of(
        handle: BorrowedFd<'f>,
        folder: Option<String>,
        file_name: &'static str,
    ) -> Self {
        Self {
            handle,
            prefix: CString::default(),
            folder,
            file_name,
            listing: OnceCell::new(),
            folders: OnceCell::new(),
        }
    }

    /// Describes a folder of the open folder.
    pub(super) fn inside(handle: BorrowedFd<'f>, name: &CStr) -> Self {
        let folder = Some(name.to_string_lossy().into_owned());
        // A name that comes from the system has no NUL in it.
        let prefix = CString::new([name.to_bytes(), b"/"].concat()).unwrap_or_default();
        Self {
            prefix,
            ..Self::of(handle, folder, "SKILL.md")
        }
    }

    fn path(&self, path: &str) -> OsString {
        OsString::from_vec([self.prefix.as_bytes(), path.as_bytes()].concat())
    }

    /// Whether there may be folders inside. On most file systems the number of links tells: each
    /// folder inside links back.
    fn has_folders(&self) -> bool {
        *self.folders.get_or_init(|| {
            let stat = rustix::fs::statat(self.handle, self.path("."), AtFlags::empty());
            !stat.is_ok_and(|stat| stat.st_nlink == 2)
        })
    }

    /// Everything in the folder, listed on first use.
    pub fn listing(&self) -> &Package {
        self.listing.get_or_init(|| {
            let mut package = Package {
                folder: self.folder.clone(),
                file_name: Some(self.file_name.to_owned()),
                ..Package::default()
            };
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
            if let Ok(folder) =
                rustix::fs::openat(self.handle, self.path("."), flags, Mode::empty())
            {
                let mut lister = Lister::default();
                if lister.list(folder.as_fd(), 0).is_some() {
                    lister.finish(folder.as_fd(), &mut package);
                }
            }
            package
        })
    }
}

impl Facts for OnDisk<'_> {
    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    fn file_name(&self) -> Option<&str> {
        Some(self.file_name)
    }

    fn look(&self, path: &str) -> Look {
        if let Some(listing) = self.listing.get() {
            return listing.look(path);
        }
        match rustix::fs::statat(self.handle, self.path(path), AtFlags::empty()) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Look::File(Some(stat.st_mode & 0o111 != 0))
            }
            Ok(_) => Look::Other,
            Err(Errno::NOENT | Errno::NOTDIR) => Look::Missing,
            Err(_) => Look::Unknown,
        }
    }

    fn paths(&self) -> Vec<&str> {
        self.listing().paths()
    }

    fn nested_skills(&self) -> Vec<&str> {
        if self.has_folders() {
            self.listing().nested_skills()
        } else {
            Vec::new()
        }
    }

    fn sidecar(&self) -> Option<&str> {
        if self.has_folders() {
            self.listing().sidecar()
        } else {
            None
        }
    }
}

/// Collects the files of a skill.
#[derive(Default)]
struct Lister {
    files: Vec<PackageFile>,
    /// Places in `files` of folders that are still to be listed.
    folders: Vec<usize>,
    truncated: bool,
    prefix: String,
}

impl Lister {
    /// Takes note of one entry of the folder that is being listed.
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
            // Links to folders are shown and not entered: what lies behind them is not ours.
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

    /// Lists a folder and what is below it; nothing if it cannot be read.
    fn list(&mut self, folder: BorrowedFd<'_>, depth: usize) -> Option<()> {
        let waiting = self.folders.len();
        entries::for_each(folder, &mut |entry| self.add(folder, entry)).ok()?;
        self.descend(folder, waiting, depth);
        Some(())
    }

    /// Lists the folders that were noted since `waiting`.
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
            // A folder that cannot be read may hold anything: nothing in it counts as missing.
            if listed.is_none() {
                self.truncated = true;
            }
        }
    }

    fn finish(mut self, folder: BorrowedFd<'_>, package: &mut Package) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        package.truncated = self.truncated;
        package.files = Some(self.files);
        if package.entry(SIDECAR_PATH).is_some() {
            package.sidecar = read_sidecar(folder);
        }
    }
}

fn read_sidecar(folder: BorrowedFd<'_>) -> Option<String> {
    let mut bytes = Vec::new();
    super::read::read_file(folder, OsStr::new(SIDECAR_PATH), &mut bytes).ok()?;
    bytes.truncate(MAX_SIDECAR + 1);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What an entry is, and whether it may be executed where that matters. Most entries need no
/// further question to the system.
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
