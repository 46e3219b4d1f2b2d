//! Finds and reads the mission files of a project: Squadron's `.hcl` files.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_diag::FileReport;
use prowess_flow::ProjectFiles;
use prowess_flow::mission::{MissionProject, MissionSettings, MissionText, is_mission_file};
use prowess_spec::ReadFault;

use crate::agent_files::{MAX_BYTES, ProjectFolder};
use crate::fs::skill_folders::repository;

/// Maximum number of files of a project. One more is read, so that the reader reports it.
const MAX_FILES: usize = 1_001;
/// Maximum number of files whose path is not UTF-8 that are reported.
const MAX_UNNAMED: usize = 16;
/// Maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 16;
/// Maximum number of bytes that are read to find the folder of a project. A project has at most as
/// many.
const MAX_SEARCHED: usize = 8 * 1024 * 1024;
/// Maximum number of folders above the current one that are looked at.
const MAX_PARENTS: usize = 64;

/// The files of a mission project.
#[derive(Clone, Debug)]
pub struct MissionFiles {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// The files, by path.
    pub files: Vec<MissionText>,
}

impl MissionFiles {
    /// Reads the `.hcl` files at a path: one file, or all below a folder. Hidden folders and links to
    /// folders are skipped.
    pub fn read(path: &Path) -> Result<Self, ReadFault> {
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadFault::Missing,
            _ => ReadFault::Unreadable(prowess_diag::io_reason(error).to_lowercase()),
        };
        let full = path.canonicalize().map_err(unreadable)?;
        let mut unnamed = Vec::new();
        let (root, paths) = if full.is_dir() {
            let (mut paths, mut odd) = (Vec::new(), Vec::new());
            collect(&full, "", 0, &mut 0, &is_hcl, &mut paths);
            odd_names(&full, 0, &mut 0, false, &mut odd);
            unnamed = odd;
            paths.sort();
            (full, paths)
        } else {
            let name = full.file_name().and_then(|name| name.to_str());
            let (Some(parent), Some(name)) = (full.parent(), name) else {
                return Err(ReadFault::Missing);
            };
            (parent.to_owned(), vec![name.to_owned()])
        };
        let left = Cell::new(MAX_BYTES);
        let folder = ProjectFolder::open(&root, &left)?;
        let read = |path: String| MissionText {
            bytes: folder.read(&path),
            path,
        };
        // Text cannot name them, so none of them is read.
        let unnamed = unnamed.into_iter().map(|path| MissionText {
            bytes: Err(ReadFault::Unreadable("its path is not UTF-8".to_owned())),
            path,
        });
        Ok(Self {
            files: paths.into_iter().map(read).chain(unnamed).collect(),
            root,
        })
    }

    /// Turns the files into a project and findings. Nothing is run.
    pub fn project(
        &self,
        settings: &MissionSettings<'_>,
    ) -> Result<(MissionProject, Vec<FileReport>), ReadFault> {
        let left = Cell::new(MAX_BYTES);
        let folder = ProjectFolder::open(&self.root, &left)?;
        Ok(MissionProject::read(&self.files, &folder, settings))
    }
}

/// Returns the times and sizes of the files of a mission project: its `.hcl` files, and the texts that
/// they may load. Empty if a folder has no `.hcl` file. A file stands for the project around it.
pub fn mission_file_stamps(path: &Path) -> BTreeMap<PathBuf, (Option<SystemTime>, u64)> {
    let mut folder = path.to_owned();
    if path.is_file() {
        let above = path.parent().unwrap_or(path);
        folder = mission_folder(above, None).unwrap_or_else(|| above.to_owned());
    }
    let is_text = |path: &Path| {
        path.extension()
            .is_some_and(|end| end == "md" || end == "txt")
    };
    let is_wanted = |path: &Path| is_hcl(path) || is_text(path);
    let mut paths = Vec::new();
    collect(&folder, "", 0, &mut 0, &is_wanted, &mut paths);
    if !paths.iter().any(|path| is_hcl(Path::new(path))) {
        return BTreeMap::new();
    }
    let stamp = |path: String| {
        let path = folder.join(path);
        let about = path.metadata().ok()?;
        Some((path, (about.modified().ok(), about.len())))
    };
    paths.into_iter().filter_map(stamp).collect()
}

/// Returns the folder of the mission project around a folder: the folder itself if it has mission
/// files, or the nearest one above that has, and from there up as long as the next one has some too.
/// A repository is not left.
pub fn mission_folder(current: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let current = current.canonicalize().ok()?;
    let limit = repository(&current).map(Path::to_owned);
    let is_inside = |folder: &&Path| {
        let is_home = Some(*folder) == home && **folder != *current;
        let is_above = limit
            .as_deref()
            .is_some_and(|limit| !folder.starts_with(limit));
        !is_home && !is_above
    };
    let folders: Vec<&Path> = current
        .ancestors()
        .take(MAX_PARENTS)
        .take_while(is_inside)
        .collect();
    // All files of the search together have a limit. A folder that exceeds it counts as a project,
    // so that its reader reports what is too large.
    let left = Cell::new(MAX_SEARCHED);
    let has_any = |(at, folder): (usize, &&Path)| {
        has_mission_files(folder, &left)
            || at == 0 && has_mission_files_below(folder, &left)
            || left.get() == 0
    };
    let first = folders.iter().enumerate().position(has_any)?;
    let above = folders.iter().skip(first + 1);
    let more = above.take_while(|folder| has_mission_files(folder, &left));
    let more = more.count();
    folders.get(first + more).map(|folder| (*folder).to_owned())
}

/// Returns `true` if a folder itself contains a mission file.
fn has_mission_files(folder: &Path, left: &Cell<usize>) -> bool {
    let Ok(listing) = std::fs::read_dir(folder) else {
        return false;
    };
    let is_mission = |entry: std::fs::DirEntry| {
        let path = entry.path();
        is_hcl(&path) && is_mission(folder, &path, left)
    };
    listing.flatten().take(MAX_ENTRIES).any(is_mission)
}

fn has_mission_files_below(folder: &Path, left: &Cell<usize>) -> bool {
    let mut paths = Vec::new();
    collect(folder, "", 0, &mut 0, &is_hcl, &mut paths);
    paths
        .iter()
        .any(|path| is_mission(folder, &folder.join(path), left))
}

/// Returns `true` for a mission file. Nothing is read any more once the limit is reached.
fn is_mission(root: &Path, path: &Path, left: &Cell<usize>) -> bool {
    let inner = path.strip_prefix(root).ok().and_then(Path::to_str);
    let (Some(inner), 1..) = (inner, left.get()) else {
        return false;
    };
    let own = Cell::new(MAX_BYTES);
    let read = ProjectFolder::open(root, &own).and_then(|folder| folder.read(inner));
    read.is_ok_and(|bytes| {
        left.set(left.get().saturating_sub(bytes.len()));
        is_mission_file(&bytes)
    })
}

fn is_hcl(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "hcl")
}

/// Collects the `.hcl` files whose path is not UTF-8, as text with replacement characters. `is_odd` is
/// `true` if the folder is below one with such a name.
fn odd_names(
    folder: &Path,
    depth: usize,
    entries: &mut usize,
    is_odd: bool,
    paths: &mut Vec<String>,
) {
    let Ok(listing) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in listing.flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES || paths.len() >= MAX_UNNAMED {
            return;
        }
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
            continue;
        };
        let is_odd = is_odd || name.to_str().is_none();
        let start = paths.len();
        if kind.is_dir() {
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if !is_hidden && depth < MAX_DEPTH {
                odd_names(&entry.path(), depth + 1, entries, is_odd, paths);
            }
        } else if is_odd && is_hcl(Path::new(&name)) {
            paths.push(name.to_string_lossy().into_owned());
            continue;
        }
        for path in paths.iter_mut().skip(start) {
            *path = format!("{}/{path}", name.to_string_lossy());
        }
    }
}

/// Collects the `.hcl` files below a folder, relative to it.
fn collect(
    root: &Path,
    path: &str,
    depth: usize,
    entries: &mut usize,
    is_wanted: &dyn Fn(&Path) -> bool,
    paths: &mut Vec<String>,
) {
    let Ok(listing) = std::fs::read_dir(root.join(path)) else {
        return;
    };
    for entry in listing.flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES || paths.len() >= MAX_FILES {
            return;
        }
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            continue;
        };
        let inner = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}/{name}")
        };
        if kind.is_dir() {
            if !name.starts_with('.') && depth < MAX_DEPTH {
                collect(root, &inner, depth + 1, entries, is_wanted, paths);
            }
        } else if is_wanted(Path::new(name)) {
            paths.push(inner);
        }
    }
}
