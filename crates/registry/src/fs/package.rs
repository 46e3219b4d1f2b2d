//! Lists the files of a skill.

use std::ffi::{CStr, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use prowess_spec::sidecar::{MAX_SIDECAR, SIDECAR_PATH};
use prowess_spec::vocabulary::SCRIPT_ENDINGS;
use prowess_spec::{FileKind, Package, PackageFile};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::walk::SKIPPED;

/// How deep a skill's folder is listed.
const MAX_DEPTH: usize = 6;
/// How many entries of a skill's folder are listed.
const MAX_ENTRIES: usize = 4096;

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
        let mut lister = Lister {
            files: Vec::new(),
            truncated: false,
            path: String::new(),
        };
        let listed = reopen(folder).is_some_and(|folder| lister.list(folder, 0).is_some());
        if listed {
            lister.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            package.truncated = lister.truncated;
            package.files = Some(lister.files);
            if package.entry(SIDECAR_PATH).is_some() {
                package.sidecar = read_sidecar(folder);
            }
        }
    }
    package
}

fn reopen(folder: BorrowedFd<'_>) -> Option<OwnedFd> {
    rustix::fs::openat(
        folder,
        c".",
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY,
        Mode::empty(),
    )
    .ok()
}

fn read_sidecar(folder: BorrowedFd<'_>) -> Option<String> {
    let mut bytes = Vec::new();
    super::read::read_file(folder, OsStr::new(SIDECAR_PATH), &mut bytes).ok()?;
    bytes.truncate(MAX_SIDECAR + 1);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

struct Lister {
    files: Vec<PackageFile>,
    truncated: bool,
    path: String,
}

impl Lister {
    /// Lists a folder and what is below it; nothing if it cannot be read.
    fn list(&mut self, folder: OwnedFd, depth: usize) -> Option<()> {
        let mut dir = Dir::new(folder).ok()?;
        let mut folders: Vec<String> = Vec::new();
        while let Some(entry) = dir.read() {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if self.files.len() >= MAX_ENTRIES {
                self.truncated = true;
                return Some(());
            }
            let Ok(handle) = dir.fd() else { break };
            let (kind, executable) = look(handle, name, entry.file_type());
            let name = name.to_string_lossy();
            if kind == FileKind::Folder {
                if SKIPPED.contains(&&*name) {
                    continue;
                }
                // Links to folders are shown and not entered: what lies behind them is not ours.
                if entry.file_type() != FileType::Symlink {
                    folders.push(name.clone().into_owned());
                }
            }
            self.files.push(PackageFile {
                path: format!("{}{name}", self.path).into(),
                kind,
                executable,
            });
        }
        for name in folders {
            if depth + 1 >= MAX_DEPTH {
                self.truncated = true;
                break;
            }
            let Ok(handle) = dir.fd() else { break };
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let inner = rustix::fs::openat(handle, name.as_str(), flags, Mode::empty());
            let length = self.path.len();
            self.path.push_str(&name);
            self.path.push('/');
            let listed = inner.ok().and_then(|inner| self.list(inner, depth + 1));
            self.path.truncate(length);
            // A folder that cannot be read may hold anything: nothing in it counts as missing.
            if listed.is_none() {
                self.truncated = true;
            }
        }
        Some(())
    }
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
            match rustix::fs::statat(folder, OsStr::from_bytes(name.to_bytes()), AtFlags::empty()) {
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
