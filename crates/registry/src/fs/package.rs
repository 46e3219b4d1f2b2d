//! Lists the files of a skill.

use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use prowess_spec::sidecar::{MAX_SIDECAR, SIDECAR_PATH};
use prowess_spec::vocabulary::SCRIPT_ENDINGS;
use prowess_spec::{FileKind, Package, PackageFile};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::entries::{self, Entry};
use super::walk::SKIPPED;

/// How deep a skill's folder is listed.
const MAX_DEPTH: usize = 6;
/// How many entries of a skill's folder are listed.
pub(super) const MAX_ENTRIES: usize = 4096;

/// Whether the files of a skill are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Names, kinds, and which scripts are executable.
    Files,
    /// Nothing but the skill's own file.
    None,
}

/// Gathers what is known of an open skill folder.
pub(super) fn describe(
    folder: BorrowedFd<'_>,
    name: Option<String>,
    file: &str,
    listing: Listing,
) -> Package {
    let mut package = Package {
        folder: name,
        file_name: Some(file.to_owned()),
        ..Package::default()
    };
    if listing == Listing::Files {
        let mut lister = Lister::default();
        if lister.list(folder, 0).is_some() {
            lister.finish(folder, &mut package);
        }
    }
    package
}

/// Collects the files of a skill.
#[derive(Default)]
pub(super) struct Lister {
    files: Vec<PackageFile>,
    /// Places in `files` of folders that are still to be listed.
    folders: Vec<usize>,
    truncated: bool,
    prefix: String,
}

impl Lister {
    /// Takes note of one entry of the folder that is being listed.
    pub(super) fn add(&mut self, folder: BorrowedFd<'_>, entry: Entry<'_>) -> ControlFlow<()> {
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

    /// Lists what is below the folders noted so far, and hands everything over.
    pub(super) fn finish_top(mut self, folder: BorrowedFd<'_>, package: &mut Package) {
        self.descend(folder, 0, 0);
        self.finish(folder, package);
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
