//! The repositories in the folders of a profile: what git reads from them, and what it executes.
//!
//! Write access to `.git/config`, a hook, `.git/commondir` or a `.git` file decides what the next
//! `git status` executes outside of the sandbox. So all of `.git` is read-only, and stays absent
//! where it is absent. The same holds for every place that the index of a repository names as a
//! submodule, because git enters it, and for files that the configuration of a repository names. A
//! checked git command ([`GitAccess::Record`]) may write the rest of the one repository that it runs
//! in.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use prowess_policy::profile::{
    GIT_EXECUTED, GIT_HEAD, GIT_STORES, GitAccess, PROTECTED_IN_PROJECT, PROTECTED_IN_SUBFOLDERS,
};
use prowess_shell::programs::git_setting_runs;

use crate::bounded_read::bounded_read;
use crate::git_config::{self, Entry};
use crate::git_index::{self, Tracked};
use crate::granted_paths::within;
use crate::granted_paths::{Guard, real};
use crate::helper::place_id;
use crate::on_disk::{self, Kind, Unknown, exists};
use crate::outcome::Note;
use crate::protocol::{Inspected, Written, bytes};

/// Depth below a writable root down to which repositories are looked for.
pub(crate) const MAX_DEPTH: usize = 4;

/// Folders that are read in that search. Where there are more, nothing is writable.
pub(crate) const MAX_FOLDERS: usize = 100_000;

/// Repositories of one run.
const MAX_REPOSITORIES: usize = 10_000;

/// Folders that are not searched: they are large and contain no repository to work on.
pub(crate) const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv"];

/// Bytes that are read of a file that points to another folder.
pub(crate) const MAX_POINTER: u64 = 8 << 10;

/// Bytes that are read of a configuration file.
const MAX_CONFIG: u64 = 1 << 20;

/// Configuration files that are read of one repository.
const MAX_CONFIGS: usize = 100;

/// Returns the protection of a part of a git folder.
fn guard(name: &str) -> (&str, Guard) {
    match name.strip_suffix('/') {
        Some(name) => (name, Guard::Folder),
        // No placeholder can keep these absent: git fails if they exist and are empty.
        None if matches!(name, "commondir" | "gitdir") => (name, Guard::Watch),
        None => (name, Guard::File),
    }
}

/// Parts of a git folder in which git finds commands and addresses, and which no plain git command
/// creates. No placeholder is possible: git takes them for an operation in progress.
const GIT_OPERATIONS: &[&str] = &[
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "remotes",
    "branches",
];

/// Paths that are inspected for one run because files of a repository name them.
const MAX_INSPECTED: usize = 200_000;

/// Bytes of configuration files and indexes that are read for one run.
const MAX_BYTES: u64 = 1 << 30;

/// The work that is left for one run. Files of a repository decide how much there is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    paths: usize,
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        let (paths, bytes) = (MAX_INSPECTED, MAX_BYTES);
        Self { paths, bytes }
    }
}

impl Budget {
    /// Returns `false` if no more paths may be inspected.
    pub(crate) fn inspect(&mut self, paths: usize) -> bool {
        let left = self.paths.checked_sub(paths);
        self.paths = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns `false` if no more bytes may be read.
    fn read(&mut self, bytes: u64) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.is_some()
    }
}

/// Paths that the repositories add to a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Git {
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<(PathBuf, Guard)>,
    /// Git folders outside of the writable folders, in which links are followed.
    pub(super) followed: Vec<PathBuf>,
    /// Files and folders that could not be read, so that paths to protect may be missing.
    pub(super) unknown: Vec<Unknown>,
    /// The repository that the command may write.
    pub(super) written: Option<Written>,
    /// The submodules of that repository for which a file says when they count as changed.
    pub(super) ignoring: BTreeSet<Vec<u8>>,
    /// The ignore file that the configuration of that repository names.
    pub(super) excludes: Vec<PathBuf>,
    /// The repositories that are inspected after the run.
    pub(super) inspected: Vec<Inspected>,
    /// Notes for the record of the run.
    pub(super) notes: Vec<Note>,
    /// The working trees of each git folder.
    trees: Vec<(PathBuf, Vec<PathBuf>)>,
    /// The common folders whose working trees are known.
    commons: BTreeSet<PathBuf>,
    left: Budget,
}

/// The folders to which a `.git` file points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linked {
    /// The folder of this working tree: `HEAD`, `index`.
    pub(super) own: PathBuf,
    /// The folder that all working trees share: `config`, `objects`, `refs`.
    pub(super) common: PathBuf,
}

/// The folders of a profile, which exist and have no links.
#[derive(Clone, Copy)]
pub(super) struct Granted<'a> {
    pub(super) cwd: &'a Path,
    pub(super) readable: &'a [PathBuf],
    pub(super) writable: &'a [PathBuf],
}

impl Granted<'_> {
    fn contains(&self, path: &Path) -> bool {
        within(path, self.readable) || within(path, self.writable)
    }

    /// Returns the working tree in which the command starts, and its git folders, if they may be
    /// written.
    pub(super) fn own(&self, access: GitAccess) -> Option<(&Path, Option<Linked>)> {
        if access == GitAccess::Read {
            return None;
        }
        let mut folders = self.cwd.ancestors();
        let folder = folders.find(|folder| exists(&folder.join(".git")))?;
        if !self.contains(folder) {
            return None;
        }
        let pointer = folder.join(".git");
        let linked = if pointer.is_dir() && !pointer.is_symlink() {
            let (own, common) = (pointer.clone(), pointer);
            Some(Linked { own, common })
        } else {
            linked(folder).or_else(|| self.separate(folder))
        };
        Some((folder, linked))
    }

    /// Follows the `.git` file of a working tree to a git folder that is granted anyway, so that it
    /// need not point back.
    fn separate(&self, folder: &Path) -> Option<Linked> {
        let pointer = folder.join(".git");
        let own = folder.join(pointer_target(&pointer)?).canonicalize().ok()?;
        // Other working trees have their own pointers, and git would use the index of another tree.
        let is_shared = common(&own) != own;
        let is_of_parent = own.file_name() == Some(OsStr::new(".git"));
        let is_inside = self.contains(&own) && !folder.starts_with(&own);
        let is_ours = is_inside && !is_shared && !is_of_parent && looks_like_git_folder(&own);
        let config = bounded_read(&own.join("config"), MAX_CONFIG).ok()?;
        let config = git_config::entries(&config);
        let is_named = |entry: &Entry| entry.key == "core.worktree";
        let is_other = config.iter().any(is_named) && work_tree(&own)? != folder;
        let common = own.clone();
        (is_ours && !is_other).then_some(Linked { own, common })
    }
}

/// Looks for repositories in and around the granted folders.
///
/// With `settings`, settings of editors and agents in subfolders are protected as well.
pub(super) fn look(granted: Granted<'_>, access: GitAccess, settings: bool) -> Git {
    let mut git = Git::default();
    let writable = granted.writable;
    let own = granted.own(access);
    // A working tree whose repository is elsewhere can be read like any other.
    for folder in granted.readable.iter().chain(writable) {
        git.readable
            .extend(linked(folder).into_iter().flat_map(both));
    }
    let own_tree = own.as_ref().map(|(folder, _)| *folder);
    let opened = own.as_ref().and_then(|(_, linked)| linked.clone());
    let opened: Vec<PathBuf> = opened.into_iter().flat_map(both).collect();
    // Folders that are repositories, or would be entered as one.
    let mut todo: Vec<PathBuf> = own_tree.map(Path::to_owned).into_iter().collect();
    for root in writable {
        let found = Nested::below(root, MAX_FOLDERS);
        git.unknown.extend(found.unknown);
        if settings {
            let found = found.settings.into_iter();
            git.protected.extend(found.map(|path| (path, Guard::File)));
        }
        todo.extend(found.repositories);
        for place in git.submodules(root) {
            git.protect_submodule(place, &mut todo);
        }
        todo.push(root.clone());
        // A repository around the project enters its submodules in the project too.
        let around = root.ancestors().skip(1);
        todo.extend(around.filter(|it| has_repository(it)).map(Path::to_owned));
    }
    let mut seen = BTreeSet::new();
    while let Some(folder) = todo.pop() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        if seen.len() > MAX_REPOSITORIES {
            let why =
                format!("more than {MAX_REPOSITORIES} repositories were found in the project");
            git.unknown.push(Unknown::new(folder, why));
            break;
        }
        let is_git_folder = looks_like_git_folder(&folder);
        if own_tree != Some(&folder) && within(&folder, writable) && !opened.contains(&folder) {
            let git_folder = folder.join(".git");
            // It can be the common folder of the working tree in which the command runs.
            if !opened.contains(&git_folder) {
                git.protected.push((git_folder, Guard::Folder));
            }
            // Without a repository of its own, a folder becomes one with the file `HEAD`.
            if is_git_folder || !has_repository(&folder) {
                git.protected.push((folder.join(GIT_HEAD), Guard::File));
            }
        }
        let granted = Opened {
            writable,
            folders: &opened,
            is_own: own_tree == Some(&folder),
        };
        if let Err(unknown) = git.examine(&folder, is_git_folder, granted, &mut todo) {
            git.unknown.push(unknown);
        }
    }
    if let Some((folder, linked)) = own {
        git.open(folder, linked);
    }
    git
}

/// What a command may write, as far as it matters to one repository.
#[derive(Clone, Copy)]
struct Opened<'a> {
    writable: &'a [PathBuf],
    /// The git folders that it may write.
    folders: &'a [PathBuf],
    /// It is the repository that it may write.
    is_own: bool,
}

impl Git {
    /// Protects the git folders of a repository, and what its index and configuration name.
    fn examine(
        &mut self,
        folder: &Path,
        is_git_folder: bool,
        opened: Opened<'_>,
        todo: &mut Vec<PathBuf>,
    ) -> Result<(), Unknown> {
        let writable = opened.writable;
        let own = match git_folder(folder)? {
            Some(own) => own,
            None if is_git_folder => folder.to_owned(),
            None => return Ok(()),
        };
        let own = real(&own);
        let common = real(&common(&own));
        let pointer = folder.join(".git");
        for git_folder in [&own, &common] {
            if opened.folders.contains(git_folder) {
                continue;
            }
            if within(git_folder, writable) {
                let is_other = git_folder.is_dir() && *git_folder != pointer;
                if is_other && !looks_like_git_folder(git_folder) {
                    let (path, by) = (git_folder.clone(), pointer.clone());
                    let note = Note::ClosedBy { path, by };
                    let is_new = !self.notes.contains(&note);
                    self.notes.extend(is_new.then_some(note));
                }
                self.protect_git_folder(git_folder, writable);
            } else {
                self.followed.push(git_folder.clone());
            }
        }
        if self.commons.insert(common.clone()) {
            self.follow_worktrees(&common, writable, todo)?;
        }
        let settings = self.settings(
            folder,
            &[common.join("config"), own.join("config.worktree")],
        )?;
        let is_ours = within(folder, writable);
        let hash = hash_length(&settings);
        // The working tree is usually the folder, but the configuration can name another one.
        let named = settings.iter().filter(|it| it.key == "core.worktree");
        let named = named.map(|entry| real(&own.join(entry.path())));
        let trees: BTreeSet<PathBuf> = named.chain([folder.to_owned()]).collect();
        let trees: Vec<PathBuf> = trees.into_iter().collect();
        self.trees.push((own.clone(), trees.clone()));
        let is_around = |tree: &Path| writable.iter().any(|root| root.starts_with(tree));
        let is_inspected = trees
            .iter()
            .any(|tree| within(tree, writable) || is_around(tree));
        let tracked = Tracked {
            trees: &trees,
            inside: (!opened.is_own).then_some(writable),
            linked_since: None,
        };
        let tracked = Some(tracked).filter(|_| opened.is_own || is_inspected);
        let places = match git_index::places(&own, hash.into(), tracked) {
            Ok(places) => places,
            // A repository around the project that belongs to another user cannot be used either.
            Err(error)
                if !is_ours
                    && error.kind() == io::ErrorKind::PermissionDenied
                    && on_disk::kind(&own.join("index")) == Ok(Kind::Closed) =>
            {
                return Ok(());
            }
            Err(error) => {
                let why = format!("{error}, so the submodules are not known");
                return Err(Unknown::new(own.join("index"), why));
            }
        };
        if let Some(path) = places.replaced.first().filter(|_| opened.is_own) {
            let why = "it is a repository in the place of a tracked file, and git would enter it; \
                       move it away";
            return Err(Unknown::new(path, why));
        }
        let count = places.links.len() + places.sparse.len() + places.replaced.len();
        if !self.left.read(places.bytes) || !self.left.inspect(count) {
            return Err(too_much(own.join("index")));
        }
        for path in &places.replaced {
            // A killed run may have left it. It must not change either.
            self.notes.push(Note::InPlaceOfFile { path: path.clone() });
            todo.push(path.clone());
        }
        if is_inspected {
            let replaced = places.replaced.iter();
            self.inspected.push(Inspected {
                own: bytes(&own),
                hash,
                trees: trees.iter().map(bytes).collect(),
                writable: writable.iter().map(bytes).collect(),
                links: places.links.iter().map(bytes).collect(),
                replaced: replaced.map(|path| (bytes(path), place_id(path))).collect(),
                is_written: opened.is_own,
            });
        }
        for tree in trees {
            for place in &places.links {
                self.protect_submodule(tree.join(place), todo);
            }
            let sparse = places.sparse.iter();
            self.protected
                .extend(sparse.map(|place| (tree.join(place), Guard::Folder)));
        }
        Ok(())
    }

    /// Protects a git folder as a whole: configuration, hooks, every index, every pointer.
    ///
    /// Of a git folder that is itself a writable root, only the parts can be protected.
    fn protect_git_folder(&mut self, folder: &Path, writable: &[PathBuf]) {
        if writable.iter().any(|root| root.starts_with(folder)) {
            self.protect_executed(folder);
            self.protected
                .push((folder.join("worktrees"), Guard::Folder));
            self.protected.push((folder.join("index"), Guard::Watch));
        } else {
            self.protected.push((folder.to_owned(), Guard::Folder));
        }
    }

    /// Protects the place of a submodule, which git enters as soon as there is a repository.
    ///
    /// A placeholder for `.git` would be fatal to git. So one that was not fetched is protected as a
    /// whole; it is an empty folder.
    fn protect_submodule(&mut self, place: PathBuf, todo: &mut Vec<PathBuf>) {
        let there = real(&place);
        if exists(&there.join(".git")) {
            // Git does not follow a link on the way, which must not be replaced by a folder.
            if there != place {
                self.protected.push((place.join(".git"), Guard::Folder));
            }
            todo.push(there);
        } else {
            self.protected.push((place, Guard::Folder));
        }
    }

    /// Reads configuration files and those that they include, and protects what they name.
    fn settings(&mut self, folder: &Path, files: &[PathBuf]) -> Result<Vec<Entry>, Unknown> {
        let mut all = Vec::new();
        let mut todo = files.to_vec();
        let mut seen = BTreeSet::new();
        while let Some(file) = todo.pop() {
            if !seen.insert(file.clone()) {
                continue;
            }
            let Some(text) = on_disk::read(&file, MAX_CONFIG)? else {
                continue;
            };
            if seen.len() > MAX_CONFIGS {
                return Err(Unknown::new(file, "too many files are included"));
            }
            if !self.left.read(text.len() as u64) {
                return Err(too_much(file));
            }
            let entries = git_config::entries(&text);
            for entry in entries.iter().filter(|entry| !entry.value.is_empty()) {
                match &*entry.key {
                    "include.path" | "includeif.path" => {
                        let included = file.parent().unwrap_or(folder).join(entry.path());
                        self.protected.push((included.clone(), Guard::File));
                        todo.push(included);
                    }
                    "core.hookspath" | "init.templatedir" => {
                        let path = folder.join(entry.path());
                        self.protected.push((path, Guard::Folder));
                    }
                    "core.attributesfile" => {
                        self.protected
                            .push((folder.join(entry.path()), Guard::File));
                    }
                    key if git_setting_runs(key) => {
                        let named = git_config::named_files(folder, &entry.value, &mut self.left);
                        let named = named.ok_or_else(|| too_much(file.clone()))?;
                        let files = named.files.into_iter().map(|path| (path, Guard::File));
                        let absent = named.absent.into_iter().map(|path| (path, Guard::Watch));
                        self.protected.extend(files.chain(absent));
                    }
                    _ => {}
                }
            }
            all.extend(entries);
        }
        Ok(all)
    }

    /// Adds the linked working trees of a git folder that are in the project.
    fn follow_worktrees(
        &mut self,
        common: &Path,
        writable: &[PathBuf],
        todo: &mut Vec<PathBuf>,
    ) -> Result<(), Unknown> {
        for entry in on_disk::entries(&common.join("worktrees"))? {
            let own = entry.path();
            if !self.left.inspect(1) {
                return Err(too_much(own));
            }
            let Some(back) = on_disk::read(&own.join("gitdir"), MAX_POINTER)? else {
                continue;
            };
            let pointer = own.join(trimmed(&back));
            let tree = pointer.parent().map(real);
            todo.extend(tree.filter(|tree| within(tree, writable)));
        }
        Ok(())
    }

    /// Makes the repository of a working tree writable, but for what git executes.
    fn open(&mut self, folder: &Path, linked: Option<Linked>) {
        let pointer = folder.join(".git");
        let is_pointer = linked.as_ref().is_none_or(|linked| linked.own != pointer);
        if is_pointer {
            self.protected.push((pointer, Guard::File));
        }
        let Some(linked) = linked else { return };
        for git_folder in BTreeSet::from([&linked.own, &linked.common]) {
            let operations = GIT_OPERATIONS.iter().map(|name| git_folder.join(name));
            self.protected
                .extend(operations.map(|path| (path, Guard::Watch)));
        }
        self.protect_executed(&linked.common);
        if linked.own == linked.common {
            let worktrees = linked.common.join("worktrees");
            self.protected.push((worktrees, Guard::Folder));
        } else {
            self.protect_executed(&linked.own);
            // Parts of the main working tree and of the other linked ones.
            for name in ["HEAD", "index"] {
                self.protected
                    .push((linked.common.join(name), Guard::Watch));
            }
            match on_disk::entries(&linked.common.join("worktrees")) {
                Ok(others) => {
                    let others = others.iter().map(std::fs::DirEntry::path);
                    let others = others.filter(|other| *other != linked.own);
                    self.protected
                        .extend(others.map(|other| (other, Guard::Folder)));
                }
                Err(unknown) => self.unknown.push(unknown),
            }
        }
        self.write(folder, &linked.own, &linked.common);
        if is_pointer {
            self.writable.extend(both(linked));
        } else {
            self.writable.push(linked.own);
        }
    }

    fn write(&mut self, folder: &Path, own: &Path, common: &Path) {
        let text = bounded_read(&common.join("config"), MAX_CONFIG).unwrap_or_default();
        let settings = git_config::entries(&text);
        let is_store = |entry: &Entry| entry.key == "extensions.refstorage";
        let is_other = |entry: &Entry| is_store(entry) && entry.value != b"files";
        if settings.iter().any(is_other) {
            let why = "its references are not files (`reftable`), so a change to its branch could not \
                       be undone; run this git command yourself";
            self.unknown.push(Unknown::new(common, why));
        }
        let modules = bounded_read(&folder.join(".gitmodules"), MAX_CONFIG).unwrap_or_default();
        let modules = git_config::entries(&modules);
        let ignoring = settings.iter().chain(&modules);
        let ignoring = ignoring.filter(|it| it.key == "submodule.ignore");
        self.ignoring = ignoring.map(|it| it.subsection.clone()).collect();
        let excludes = settings.iter().rev();
        let excludes = excludes.filter(|it| it.key == "core.excludesfile");
        let excludes = excludes.map(|it| folder.join(it.path()));
        self.excludes = excludes.take(1).collect();
        let own = real(own);
        let others = self.trees.iter().filter(|(of, _)| *of == own);
        let others = others.flat_map(|(_, trees)| trees);
        self.written = Some(Written {
            tree: bytes(folder),
            others: others.filter(|it| *it != folder).map(bytes).collect(),
            own: bytes(own),
            common: bytes(common),
            hash: hash_length(&settings),
        });
    }

    fn protect_executed(&mut self, folder: &Path) {
        let parts = GIT_EXECUTED.iter().map(|name| guard(name));
        self.protected
            .extend(parts.map(|(name, guard)| (folder.join(name), guard)));
    }

    /// Returns the folders of the submodules that `.gitmodules` names: `git submodule` enters each
    /// that is a repository, also if the index does not name it.
    fn submodules(&mut self, root: &Path) -> Vec<PathBuf> {
        let text = match on_disk::read(&root.join(".gitmodules"), MAX_CONFIG) {
            Ok(text) => text.unwrap_or_default(),
            Err(unknown) => {
                self.unknown.push(unknown);
                return Vec::new();
            }
        };
        let entries = git_config::entries(&text);
        let paths = entries.iter().filter(|it| it.key == "submodule.path");
        if paths.clone().count() > MAX_REPOSITORIES {
            self.unknown.push(too_much(root.join(".gitmodules")));
        }
        paths
            .filter_map(|entry| Some(real(&root.join(git_index::place(&entry.value)?))))
            .filter(|path| {
                let inside = path.strip_prefix(root).map(Path::as_os_str);
                inside.is_ok_and(|inside| git_index::place(inside.as_bytes()).is_some())
                    && exists(path)
            })
            .take(MAX_REPOSITORIES)
            .collect()
    }
}

/// Returns the reason for a file that names more than can be inspected.
fn too_much(file: PathBuf) -> Unknown {
    Unknown::new(
        file,
        "the files of this repository name too many paths to protect them",
    )
}

/// Returns the length of an object's name in bytes.
fn hash_length(settings: &[Entry]) -> u8 {
    let is_long = |entry: &Entry| {
        entry.key == "extensions.objectformat" && entry.value.eq_ignore_ascii_case(b"sha256")
    };
    if settings.iter().any(is_long) { 32 } else { 20 }
}

fn both(linked: Linked) -> [PathBuf; 2] {
    [linked.common, linked.own]
}

/// Returns `true` if git finds a repository in the folder. An empty `.git`, such as a placeholder of
/// another run, is none.
fn has_repository(folder: &Path) -> bool {
    let pointer = folder.join(".git");
    pointer.is_file() || exists(&pointer.join("HEAD"))
}

/// Returns `true` if git would take the folder itself for a repository.
fn looks_like_git_folder(folder: &Path) -> bool {
    let has_stores = || GIT_STORES.iter().all(|name| folder.join(name).is_dir());
    exists(&folder.join(GIT_HEAD)) && (exists(&folder.join("commondir")) || has_stores())
}

/// Returns the git folder of a working tree as git finds it, wherever it is.
fn git_folder(folder: &Path) -> Result<Option<PathBuf>, Unknown> {
    let pointer = folder.join(".git");
    if pointer.is_dir() {
        return Ok(Some(pointer));
    }
    let text = on_disk::read(&pointer, MAX_POINTER)?;
    Ok(text.and_then(|text| Some(folder.join(target(&text)?))))
}

/// Returns the folder that a git folder shares with its other working trees, or itself.
fn common(own: &Path) -> PathBuf {
    match read(&own.join("commondir")) {
        Some(common) => own.join(trimmed(&common)),
        None => own.to_owned(),
    }
}

/// Returns the path in a `.git` file.
pub(crate) fn pointer_target(pointer: &Path) -> Option<PathBuf> {
    target(&read(pointer)?)
}

fn target(text: &[u8]) -> Option<PathBuf> {
    Some(trimmed(text.strip_prefix(b"gitdir:")?).to_owned())
}

fn trimmed(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}

/// Follows the `.git` file of a linked working tree or a submodule.
///
/// The folder it names must point back, and have the place that git gives it. Otherwise a project
/// could name any repository of the person and have it mounted.
fn linked(folder: &Path) -> Option<Linked> {
    let pointer = folder.join(".git");
    if !pointer
        .symlink_metadata()
        .is_ok_and(|facts| facts.is_file())
    {
        return None;
    }
    let own = folder.join(pointer_target(&pointer)?).canonicalize().ok()?;
    let Some(common) = read(&own.join("commondir")) else {
        let is_theirs = looks_like_git_folder(&own) && work_tree(&own)? == folder;
        return is_theirs.then(|| Linked {
            common: own.clone(),
            own,
        });
    };
    let common = own.join(trimmed(&common)).canonicalize().ok()?;
    let back = read(&own.join("gitdir"))?;
    let back = own.join(trimmed(&back));
    let is_theirs = own.parent() == Some(&common.join("worktrees"));
    // A folder around the project may be called `worktrees`, and the project can have any files.
    let is_theirs = is_theirs && !own.starts_with(folder) && looks_like_git_folder(&common);
    (is_theirs && real(&back) == pointer).then_some(Linked { own, common })
}

/// Returns the working tree that the configuration of a git folder names.
pub(crate) fn work_tree(git_folder: &Path) -> Option<PathBuf> {
    let config = bounded_read(&git_folder.join("config"), MAX_CONFIG).ok()?;
    let config = git_config::entries(&config);
    let named = config.iter().find(|entry| entry.key == "core.worktree")?;
    git_folder.join(named.path()).canonicalize().ok()
}

/// Reads a small file.
fn read(path: &Path) -> Option<Vec<u8>> {
    bounded_read(path, MAX_POINTER).ok()
}

/// Paths that were found below a root.
#[derive(Debug, Default)]
struct Nested {
    /// Folders that are repositories.
    repositories: BTreeSet<PathBuf>,
    /// Settings of editors and agents.
    settings: Vec<PathBuf>,
    /// Folders that could not be searched.
    unknown: Vec<Unknown>,
}

impl Nested {
    /// Searches the folders below a root, the outer ones first.
    fn below(root: &Path, most: usize) -> Self {
        let mut found = Self::default();
        let mut todo = std::collections::VecDeque::from([(root.to_owned(), 0)]);
        let mut seen = 1;
        let names = SettingNames::new();
        while let Some((folder, depth)) = todo.pop_front() {
            let entries = match on_disk::entries(&folder) {
                Ok(entries) => entries,
                Err(unknown) => {
                    found.unknown.push(unknown);
                    continue;
                }
            };
            for entry in entries {
                let name = entry.file_name();
                let is_repository =
                    name == ".git" || (name == "HEAD" && looks_like_git_folder(&folder));
                if is_repository && folder != root {
                    found.repositories.insert(folder.clone());
                }
                found
                    .settings
                    .extend(names.settings(&name, &entry.path(), depth == 0));
                if depth == MAX_DEPTH || SKIPPED.iter().any(|skipped| name == *skipped) {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if seen == most {
                        let why = format!(
                            "it has more than {most} folders, so not every repository in it can be \
                             found; use a subfolder as the project"
                        );
                        found.unknown.push(Unknown::new(root, why));
                        return found;
                    }
                    seen += 1;
                    todo.push_back((entry.path(), depth + 1));
                }
            }
        }
        found
    }
}

/// The names of settings that are protected in subfolders that have them. At the top of a project, the
/// profile names them.
struct SettingNames {
    /// What is protected below each first part of a path.
    below: BTreeMap<&'static [u8], Vec<&'static str>>,
    ends: Vec<&'static [u8]>,
}

impl SettingNames {
    fn new() -> Self {
        let mut below: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
        let mut ends = Vec::new();
        // A subfolder can be the top of a repository. Folders with ordinary names are more often code.
        let in_project = PROTECTED_IN_PROJECT.iter();
        let in_project = in_project.filter(|it| it.starts_with('.') || !it.ends_with('/'));
        for path in in_project.chain(PROTECTED_IN_SUBFOLDERS) {
            let path = path.trim_end_matches('/');
            if let Some(end) = path.strip_prefix('*') {
                ends.push(end.as_bytes());
                continue;
            }
            let (name, rest) = path.split_once('/').unwrap_or((path, ""));
            let inner = below.entry(name.as_bytes()).or_default();
            if !inner.contains(&rest) {
                inner.push(rest);
            }
        }
        Self { below, ends }
    }

    /// Returns the settings that an entry of a folder is or contains.
    fn settings(&self, name: &OsStr, path: &Path, is_top: bool) -> Vec<PathBuf> {
        let name = name.as_encoded_bytes();
        let is_end = self.ends.iter().any(|end| name.ends_with(end));
        let mut found: Vec<PathBuf> = is_end.then(|| path.to_owned()).into_iter().collect();
        let inner = self.below.get(name).filter(|_| !is_top);
        for rest in inner.into_iter().flatten() {
            if rest.is_empty() {
                found.push(path.to_owned());
            } else if exists(&path.join(rest)) {
                found.push(path.join(rest));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(folders: &[&str], files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for folder in folders {
                std::fs::create_dir_all(tree.at(folder)).unwrap();
            }
            for (file, text) in files {
                let text = text.replace("{}", tree.at("").to_str().unwrap().trim_end_matches('/'));
                std::fs::write(tree.at(file), text).unwrap();
            }
            tree
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn look(&self, cwd: &str, writable: &[&str], access: GitAccess) -> Vec<String> {
            let writable: Vec<PathBuf> = writable.iter().map(|path| self.at(path)).collect();
            let granted = Granted {
                cwd: &self.at(cwd),
                readable: &[self.at(cwd)],
                writable: &writable,
            };
            let git = look(granted, access, true);
            let short = |path: &Path| {
                path.strip_prefix(self.at(""))
                    .unwrap()
                    .display()
                    .to_string()
            };
            let mut lines: Vec<String> = Vec::new();
            lines.extend(git.readable.iter().map(|path| format!("r {}", short(path))));
            lines.extend(git.writable.iter().map(|path| format!("w {}", short(path))));
            let protected = git.protected.iter();
            lines.extend(protected.map(|(path, guard)| format!("{guard:?} {}", short(path))));
            lines.sort();
            lines.dedup();
            lines
        }
    }

    #[test]
    fn every_repository_in_a_writable_folder_is_protected() {
        let tree = Tree::new(
            &[
                "w/.git",
                "w/a/b/.git",
                "w/node_modules/x/.git",
                "w/sub",
                "w/bare/objects",
                "w/bare/refs",
            ],
            &[
                (
                    "w/.gitmodules",
                    "[submodule \"s\"]\n\tpath = sub\n\turl = x\n",
                ),
                ("w/bare/HEAD", "ref: refs/heads/main\n"),
                ("w/.git/HEAD", "ref: refs/heads/main\n"),
            ],
        );
        let found = tree.look("w", &["w"], GitAccess::Read);
        for line in [
            "Folder w/.git",
            "Folder w/a/b/.git",
            "Folder w/sub",
            "File w/bare/HEAD",
            "Folder w/bare",
        ] {
            assert!(found.contains(&line.to_owned()), "{line}: {found:#?}");
        }
        assert!(!found.iter().any(|line| line.contains("node_modules")));
        assert!(!found.contains(&"File w/HEAD".to_owned()));
        let none = Tree::new(&["w/sub"], &[]);
        assert_eq!(
            none.look("w", &["w"], GitAccess::Read),
            ["File w/HEAD", "Folder w/.git"]
        );
        assert_eq!(none.look("w", &[], GitAccess::Read), [] as [&str; 0]);
    }

    #[test]
    fn search_that_is_cut_is_reported() {
        let tree = Tree::new(&["w/a", "w/b", "w/c", "w/z/.git"], &[]);
        let found = Nested::below(&tree.at("w"), 5);
        assert!(
            found.unknown.is_empty() && found.repositories.len() == 1,
            "{found:?}"
        );
        assert_eq!(Nested::below(&tree.at("w"), 4).unknown.len(), 1);
    }

    fn unknown(tree: &Tree) -> Vec<Unknown> {
        let granted = Granted {
            cwd: &tree.at("w"),
            readable: &[],
            writable: &[tree.at("w")],
        };
        look(granted, GitAccess::Read, true).unknown
    }

    /// A committed bare repository could otherwise keep a run from starting for hours.
    #[test]
    fn configuration_that_names_too_much_is_reported() {
        let word = |at: usize| format!(" d{at}/").repeat(60);
        let words: String = (0..60).map(word).collect();
        let alias = format!("[alias]\n x = !{words}\n");
        let names: Vec<String> = (0..60).map(|at| format!("w/x/d{at}")).collect();
        let mut folders: Vec<&str> = names.iter().map(String::as_str).collect();
        folders.extend(["w/x/objects", "w/x/refs"]);
        let tree = |config: &str| Tree::new(&folders, &[("w/x/HEAD", ""), ("w/x/config", config)]);
        let found = unknown(&tree(&alias));
        assert!(
            matches!(&*found, [found] if found.path.ends_with("config")),
            "{found:?}"
        );
        // More than 64 words are not too much.
        let long = format!("[alias]\n x = !{}tools/a\n", "echo ".repeat(500));
        assert_eq!(unknown(&tree(&long)), []);
    }

    /// Each of them names the others.
    #[test]
    fn worktrees_of_one_repository_are_listed_once() {
        let tree = Tree::new(&["w/.git/worktrees"], &[("w/.git/HEAD", "")]);
        for at in 0..600 {
            let own = tree.at(&format!("w/.git/worktrees/t{at}"));
            let folder = tree.at(&format!("w/t{at}"));
            for path in [&own, &folder] {
                std::fs::create_dir(path).unwrap();
            }
            let back = folder.join(".git").display().to_string();
            std::fs::write(own.join("gitdir"), back).unwrap();
            std::fs::write(own.join("commondir"), "../..\n").unwrap();
            let pointer = format!("gitdir: {}\n", own.display());
            std::fs::write(folder.join(".git"), pointer).unwrap();
        }
        assert_eq!(unknown(&tree), []);
    }

    #[test]
    fn settings_in_subfolders_are_found() {
        let files = [
            "w/a/CLAUDE.md",
            "w/a/x.code-workspace",
            "w/CLAUDE.md",
            "w/a/.github/workflows/x.yml",
            "w/a/.github/other",
            "w/a/mise/main.rs",
        ];
        let folders = [
            "w/a/b/.vscode",
            "w/a/.husky/_",
            "w/a/.github/workflows",
            "w/a/mise",
        ];
        let tree = Tree::new(&folders, &files.map(|file| (file, "")));
        let found = tree.look("w", &["w"], GitAccess::Read);
        let settings = found.iter().filter(|line| line.contains("w/a/"));
        assert_eq!(
            settings.collect::<Vec<_>>(),
            [
                "File w/a/.github/workflows",
                "File w/a/.husky",
                "File w/a/CLAUDE.md",
                "File w/a/b/.vscode",
                "File w/a/x.code-workspace"
            ]
        );
    }

    #[test]
    fn configuration_names_what_is_protected() {
        let config = "[core]\n hooksPath = scripts/hooks\n fsmonitor = \"sh tools/m -x\"\n\
            attributesFile = attrs\n[include]\n path = ../one.inc\n[alias]\n x = !tools/alias\n\
            [remote \"o\"]\n url = tools/m2\n[tar \"x\"]\n command = tools/tar\n\
            [gc]\n recentObjectsHook = tools/recent\n";
        let tree = Tree::new(
            &["w/.git", "w/tools"],
            &[
                ("w/.git/HEAD", "ref: refs/heads/main\n"),
                ("w/.git/config", config),
                ("w/one.inc", "[includeIf \"gitdir:x\"]\n path = two.inc\n"),
                ("w/two.inc", "[filter \"f\"]\n clean = tools/clean %f\n"),
                ("w/tools/m", ""),
                ("w/tools/m2", ""),
                ("w/tools/alias", ""),
                ("w/tools/clean", ""),
                ("w/tools/tar", ""),
                ("w/tools/recent", ""),
            ],
        );
        let found = tree.look("w", &["w"], GitAccess::Read);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(
            found,
            [
                "File w/.git/../one.inc",
                "File w/.git/../two.inc",
                "File w/attrs",
                "File w/tools/alias",
                "File w/tools/clean",
                "File w/tools/m",
                "File w/tools/recent",
                "File w/tools/tar",
                "Folder w/.git",
                "Folder w/scripts/hooks"
            ]
        );
    }

    #[test]
    fn git_commands_may_write_what_git_does_not_execute() {
        let tree = Tree::new(&["w/.git", "w/src"], &[]);
        let found = tree.look("w/src", &["w"], GitAccess::Write);
        let expected = [
            "File w/.git/config",
            "File w/.git/config.worktree",
            "Folder w/.git/hooks",
            "Folder w/.git/info",
            "Folder w/.git/modules",
            "Folder w/.git/worktrees",
            "Watch w/.git/branches",
            "Watch w/.git/commondir",
            "Watch w/.git/gitdir",
            "Watch w/.git/rebase-apply",
            "Watch w/.git/rebase-merge",
            "Watch w/.git/remotes",
            "Watch w/.git/sequencer",
            "w w/.git",
        ];
        assert_eq!(found, expected);
        // A repository that contains the project stays read-only.
        let outer = Tree::new(&[".git", "w/src"], &[]);
        let found = outer.look("w/src", &["w"], GitAccess::Write);
        assert_eq!(found, ["File w/HEAD", "Folder w/.git"]);
    }

    fn worktree(back: &str) -> Tree {
        Tree::new(
            &[
                "main/.git/worktrees/w",
                "main/.git/worktrees/other",
                "main/.git/objects",
                "main/.git/refs",
                "w",
            ],
            &[
                ("main/.git/HEAD", "ref: refs/heads/main\n"),
                ("w/.git", "gitdir: {}/main/.git/worktrees/w\n"),
                ("main/.git/worktrees/w/commondir", "../..\n"),
                ("main/.git/worktrees/w/gitdir", back),
            ],
        )
    }

    #[test]
    fn linked_worktrees_are_followed_if_they_point_back() {
        let tree = worktree("{}/w/.git\n");
        let found = tree.look("w", &["w"], GitAccess::Read);
        assert_eq!(
            found,
            ["Folder w/.git", "r main/.git", "r main/.git/worktrees/w"]
        );
        let found = tree.look("w", &["w"], GitAccess::Write);
        for line in [
            "w main/.git",
            "w main/.git/worktrees/w",
            "File w/.git",
            "Folder main/.git/hooks",
            "Folder main/.git/worktrees/other",
            "Watch main/.git/HEAD",
            "Watch main/.git/worktrees/w/commondir",
        ] {
            assert!(found.contains(&line.to_owned()), "{line}: {found:#?}");
        }
        let stranger = worktree("{}/elsewhere/.git\n");
        assert_eq!(
            stranger.look("w", &["w"], GitAccess::Read),
            ["Folder w/.git"]
        );
    }

    #[test]
    fn project_in_a_folder_called_worktrees_names_no_folder_around_it() {
        let tree = Tree::new(
            &["x/worktrees/w"],
            &[
                ("x/worktrees/w/.git", "gitdir: .\n"),
                ("x/worktrees/w/commondir", "../..\n"),
                ("x/worktrees/w/gitdir", ".git\n"),
            ],
        );
        let found = tree.look("x/worktrees/w", &["x/worktrees/w"], GitAccess::Read);
        assert!(
            !found.iter().any(|line| line.starts_with("r ")),
            "{found:?}"
        );
    }

    #[test]
    fn a_project_cannot_name_the_repository_of_another() {
        let tree = Tree::new(
            &["secret/.git", "w/fake"],
            &[
                ("w/.git", "gitdir: fake\n"),
                ("w/fake/commondir", "{}/secret/.git\n"),
                ("w/fake/gitdir", "{}/w/.git\n"),
            ],
        );
        let found = tree.look("w", &["w"], GitAccess::Read);
        assert_eq!(found, ["Folder w/.git", "Folder w/fake"]);
        let tree = Tree::new(
            &["secret/.git", "w"],
            &[
                ("w/.git", "gitdir: ../secret/.git\n"),
                ("secret/.git/config", "[core]\n\tbare = false\n"),
            ],
        );
        assert_eq!(tree.look("w", &["w"], GitAccess::Write), ["File w/.git"]);
    }
}
