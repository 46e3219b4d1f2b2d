//! Skills in folders on disk.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_catalog::{
    Location, Scope, Skill, SkillForm, SkillId, SkillLocation as SkillPlace, SkillOrigin,
};
use prowess_diag::wording::io_reason;
use prowess_spec::sidecar::{SIDECAR_PATH, Sidecar};
use prowess_spec::{NotASkill, ReadFault, parse};

use super::broken_edit::is_usable;
use super::location::{below, escape, folder_of, id_path, plain_path, unescape};
use super::read::{self, FoundSkill, read_path};
use super::skill_folders::{self, LinkBounds, Place, RootContents, SkillRoot};
use super::walk::{FollowedLink, ScanNotice, Seen, Visit, WalkOptions, walk_with};
use super::{nested, slash_commands};
use crate::cache::{Cache, was_at_rest};
use crate::digest::FactKind;
use crate::resource::{Resource, ResourceError, SkillFolder};
use crate::source::{
    Known, Places, Scan, SearchedFolder, SkillSource, SourceFault, SourceFaultKind, fingerprint,
};

/// A file that did not change for this many nanoseconds is not being written.
const AT_REST: i64 = 2_000_000_000;

/// Options of a [`FileSource`].
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// Options of the walk of each root.
    pub walk: WalkOptions,
    /// Searches nested folders of the project.
    pub nested: bool,
    /// Skips names that Claude Code reserves.
    pub claude_names: bool,
    /// Cache folder; `None` disables the cache.
    pub cache: Option<PathBuf>,
    /// Order of the first root among the roots of all sources; a lower order takes precedence.
    pub first_order: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            walk: WalkOptions::default(),
            nested: true,
            claude_names: false,
            cache: None,
            first_order: 0,
        }
    }
}

/// Skills in the folders of a project, in the user's home, and in explicitly named folders.
#[derive(Debug)]
pub struct FileSource {
    place: Place,
    options: FileOptions,
    /// The roots that existed at the last scan.
    last: Mutex<LastScan>,
    /// Start of the last scan.
    began: AtomicI64,
}

/// Result of reading some skills again.
#[derive(Debug, Default)]
pub(crate) struct Rescan {
    /// Positions among the known skills, with their new versions.
    pub(crate) skills: Vec<(usize, Arc<Skill>)>,
    /// Skills that could not be read.
    pub(crate) faults: Vec<SourceFault>,
}

/// A root that exists.
#[derive(Debug)]
struct Prepared {
    root: SkillRoot,
    origin: Arc<SkillOrigin>,
    real: PathBuf,
}

impl Prepared {
    /// Returns `true` if a link below the root may be followed.
    fn may_follow(&self, link: &Path, bounds: &LinkBounds) -> bool {
        self.root.scope != Scope::Project
            || std::fs::canonicalize(link).is_ok_and(|real| bounds.contain(&real))
    }
}

impl FileSource {
    /// Creates a source of the folders visible from `place`.
    pub fn new(place: Place, options: FileOptions) -> Self {
        Self {
            place,
            options,
            last: Mutex::default(),
            began: AtomicI64::new(i64::MIN),
        }
    }

    /// Creates a source of a single folder.
    pub fn of_folder(folder: PathBuf, options: FileOptions) -> Self {
        let place = Place {
            only: Some(folder),
            ..Place::default()
        };
        Self::new(
            place,
            FileOptions {
                nested: false,
                ..options
            },
        )
    }

    /// Reads the skill at a path: a folder with a `SKILL.md`, the `SKILL.md` itself, or another
    /// Markdown file. Returns it with a source for its files, or `None` if the path is neither.
    pub(crate) fn of_skill(path: &Path) -> Result<Option<(Self, Arc<Skill>)>, SourceFault> {
        let fault = |why: ReadFault| SourceFault {
            location: Location::of_path(path),
            why: SourceFaultKind::Read(why),
            kept: false,
        };
        let file = path.file_name().unwrap_or_default();
        let is_text = read::SKILL_FILES
            .iter()
            .any(|name| file == OsStr::new(name));
        let folder = path.parent().filter(|_| is_text).unwrap_or(path);
        // The parent of a bare file name is an empty path.
        let folder = std::path::absolute(Path::new(".").join(folder))
            .map_err(|error| fault(ReadFault::Unreadable(io_reason(error))))?;
        let folder = Place::default().resolve(&folder);
        let source = Self::of_folder(folder, FileOptions::default());
        let (roots, notices) = source.prepare();
        let Some(prepared) = roots.first() else {
            let reason = notices.into_iter().find_map(|notice| match notice {
                ScanNotice::Unreadable { reason, .. } => Some(reason),
                _ => None,
            });
            return Err(fault(
                reason.map_or(ReadFault::Missing, ReadFault::Unreadable),
            ));
        };
        let collector = Collector::of_one(&roots, HashMap::new(), false);
        let path = &prepared.root.path;
        let ending = path.extension().unwrap_or_default();
        if path.is_dir() {
            if !read_path(path, &mut |found| collector.skill(0, &found)) {
                return Ok(None);
            }
        } else if ending.eq_ignore_ascii_case("md") {
            let stem = path.file_stem().map(OsStr::to_string_lossy);
            collector.single_file(0, path, SkillForm::File, stem.as_deref());
        } else {
            return Ok(None);
        }
        let (mut scan, _) = collector.finish();
        match (scan.skills.pop(), scan.faults.pop()) {
            (Some(skill), _) => Ok(Some((source, skill))),
            (None, found) => Err(found.unwrap_or_else(|| fault(ReadFault::Missing))),
        }
    }

    /// Returns the cache folder.
    pub(crate) fn cache_folder(&self) -> Option<&Path> {
        self.options.cache.as_deref()
    }

    /// Returns `true` if this is the source of this single folder.
    pub(crate) fn is_only(&self, folder: &Path) -> bool {
        self.place.only.as_deref() == Some(folder)
    }

    /// Returns `true` if a file is below one of the roots.
    pub(crate) fn has_root_of(&self, file: &Path) -> bool {
        let last = self.last();
        last.roots.iter().any(|root| file.starts_with(&root.path))
    }

    /// Returns all roots, including ones that do not exist.
    pub fn roots(&self) -> Vec<SkillRoot> {
        self.all_roots().0
    }

    fn all_roots(&self) -> (Vec<SkillRoot>, Vec<ScanNotice>) {
        let mut roots = skill_folders::roots(&self.place);
        let is_fixed = self.place.only.is_some() || self.place.agent_folders.is_some();
        if !self.options.nested || is_fixed {
            return (roots, Vec::new());
        }
        let (found, notices) = nested::nested_roots(&self.place);
        let after_project = roots.iter().position(|root| root.scope != Scope::Project);
        let at = after_project.unwrap_or(roots.len());
        let new = found
            .into_iter()
            .filter(|new| !skill_folders::contains(&roots, &new.path));
        let new: Vec<SkillRoot> = new.collect();
        roots.splice(at..at, new);
        (roots, notices)
    }

    /// Returns the roots that exist, each real folder once. Missing roots are not reported.
    fn prepare(&self) -> (Vec<Prepared>, Vec<ScanNotice>) {
        let (roots, mut notices) = self.all_roots();
        let bounds = LinkBounds::new(&self.place, &roots);
        let searched = roots.iter().map(|root| SearchedFolder {
            scope: root.scope,
            path: root.path.clone(),
        });
        let searched = searched.collect();
        let mut prepared: Vec<Prepared> = Vec::new();
        let mut orders = Orders::default();
        for root in roots {
            let order = orders.of(&root);
            if root.path.symlink_metadata().is_err() {
                continue;
            }
            let real = match std::fs::canonicalize(&root.path) {
                Ok(real) => real,
                Err(error) => {
                    let (path, reason) = (root.path, io_reason(error).to_lowercase());
                    notices.push(ScanNotice::Unreadable { path, reason });
                    continue;
                }
            };
            let of_project = root.scope == Scope::Project;
            if of_project && !bounds.contain(&real) {
                let (path, target) = (root.path, real);
                notices.push(ScanNotice::Outside { path, target });
                continue;
            }
            // A link to the user's own skills does not make them skills of the project.
            let is_own = of_project && bounds.is_own(&real);
            let mut others = prepared.iter();
            if is_own || others.any(|o| o.real == real && o.root.holds == root.holds) {
                notices.push(ScanNotice::SeenBefore { path: root.path });
                continue;
            }
            let origin = root.origin(self.options.first_order + order);
            prepared.push(Prepared {
                root,
                origin: self.shared(origin),
                real,
            });
        }
        let roots = prepared.iter().map(|root| LastRoot {
            path: root.root.path.clone(),
            real: root.real.clone(),
            origin: Arc::clone(&root.origin),
        });
        let mut last = self.last();
        last.roots = roots.collect();
        last.bounds = bounds;
        last.searched = searched;
        drop(last);
        (prepared, notices)
    }

    fn last(&self) -> std::sync::MutexGuard<'_, LastScan> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the equal origin of the last scan, if there is one: ids are compared by pointer
    /// first.
    fn shared(&self, origin: SkillOrigin) -> Arc<SkillOrigin> {
        let last = self.last();
        let same = last
            .roots
            .iter()
            .map(|root| &root.origin)
            .find(|known| ***known == origin);
        same.map_or_else(|| Arc::new(origin), Arc::clone)
    }

    /// Reads only the skills that these files belong to, and returns their positions among the
    /// known ones. Returns `None` if more than the text of known skills may have changed; the
    /// caller must then scan everything.
    pub(crate) fn rescan(
        &self,
        known: &[Arc<Skill>],
        places: &mut Places,
        files: &[PathBuf],
    ) -> Option<Rescan> {
        let (roots, bounds) = {
            let last = self.last();
            (last.roots.clone(), last.bounds.clone())
        };
        let mut rescan = Rescan::default();
        for file in files {
            let is_sidecar = file.ends_with(SIDECAR_PATH);
            let folder = file.ancestors().nth(2).filter(|_| is_sidecar);
            let file = folder.map_or_else(|| file.clone(), |folder| folder.join("SKILL.md"));
            let location = plain_path(&file)?;
            let place = places.find(known, location)?;
            let skill = &known[place];
            let root = roots.iter().find(|root| root.origin == skill.id.origin)?;
            let prepared = [Prepared {
                root: SkillRoot::bare(skill.id.origin.scope, root.path.clone()),
                origin: Arc::clone(&root.origin),
                real: root.real.clone(),
            }];
            // A folder around the file may have become a link.
            if !prepared[0].may_follow(folder_of(&file), &bounds) {
                return None;
            }
            let known = HashMap::from([(skill.location.text(), skill)]);
            let collector = Collector::of_one(&prepared, known, true);
            match skill.form {
                SkillForm::Folder => {
                    read_path(&file, &mut |found| collector.skill(0, &found));
                }
                SkillForm::File => {
                    let stem = file
                        .file_stem()
                        .map(|stem| stem.to_string_lossy().into_owned());
                    collector.single_file(0, &file, SkillForm::File, stem.as_deref());
                }
                form => collector.single_file(0, &file, form, Some(&skill.name)),
            }
            let (scan, _) = collector.finish();
            let gone = |fault: &SourceFault| fault.why == SourceFaultKind::Read(ReadFault::Missing);
            if scan.faults.iter().any(gone) {
                return None;
            }
            rescan.faults.extend(scan.faults);
            rescan.skills.push((place, scan.skills.into_iter().next()?));
        }
        Some(rescan)
    }

    fn collect(&self, collector: &Collector<'_>) -> Vec<ScanNotice> {
        let mut notices = Vec::new();
        let mut folders = Vec::new();
        let mut indices = Vec::new();
        let bounds = self.last().bounds.clone();
        for (index, prepared) in collector.roots.iter().enumerate() {
            let path = &prepared.root.path;
            match prepared.root.holds {
                RootContents::Commands => {
                    let (files, mut found) = slash_commands::command_files(path, &|link| {
                        prepared.may_follow(link, &bounds)
                    });
                    notices.append(&mut found);
                    for (file, name) in files {
                        collector.single_file(index, &file, SkillForm::Command, Some(&name));
                    }
                }
                RootContents::Skills if path.is_dir() => {
                    folders.push(path.clone());
                    indices.push(index);
                }
                // An explicitly named Markdown file is a skill.
                RootContents::Skills => {
                    let stem = path
                        .file_stem()
                        .map(|stem| stem.to_string_lossy().into_owned());
                    collector.single_file(index, path, SkillForm::File, stem.as_deref());
                }
            }
        }
        let walker = Walking {
            collector,
            indices,
            bounds: &bounds,
        };
        let mut walked = walk_with(&folders, self.options.walk, &walker);
        notices.append(&mut walked.notices);
        self.last().links = walked.links;
        notices
    }
}

impl SkillSource for FileSource {
    fn scan(&self, known: Known<'_>) -> Scan {
        let began = crate::cache::now();
        let before = self.began.swap(began, Ordering::Relaxed);
        let (roots, mut notices) = self.prepare();
        let cache = self
            .options
            .cache
            .as_ref()
            .filter(|_| known.skills.is_empty());
        let load = |folder: &PathBuf| {
            let threads = self.options.walk.threads;
            let load = |root: &Prepared| {
                Cache::load(folder, &root.real, &root.root.path, &root.origin, threads)
            };
            roots.iter().map(load).collect()
        };
        let mut caches: Vec<Cache> = cache.map_or_else(Vec::new, load);
        let collector = Collector {
            roots: &roots,
            known: known_by_root(&roots, known.skills.iter()),
            caches: &caches,
            at_rest_before: before,
            keep_last_good: known.keep_last_good,
            claude_names: self.options.claude_names,
            scan: Mutex::default(),
            results: (0..self.options.walk.threads.max(1))
                .map(|_| Mutex::default())
                .collect(),
        };
        notices.append(&mut self.collect(&collector));
        let (mut scan, fresh) = collector.finish();
        for cache in &mut caches {
            scan.skills.extend(cache.take_kept());
        }
        notices.append(&mut scan.notices);
        notices.sort();
        notices.dedup();
        scan.notices = notices;
        scan.faults.sort_by(|a, b| a.location.cmp(&b.location));
        if overlap(&roots) {
            scan.faults.dedup();
            scan.skills = each_folder_once(&roots, scan.skills);
        }
        self.last().note_links(&scan.skills);
        if let Some(folder) = cache {
            for ((root, cache), fresh) in roots.iter().zip(&caches).zip(fresh) {
                let found = (began, scan.skills.as_slice());
                cache.save(folder, &root.real, &root.origin, found, fresh);
            }
        }
        scan
    }

    fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault> {
        let path = self.path_of(id).ok_or(ReadFault::Missing)?;
        if path.symlink_metadata().is_ok_and(|facts| !facts.is_file()) {
            return self.text_in_folder(id);
        }
        let mut result = Err(ReadFault::Missing);
        read_path(&path, &mut |found| result = found.bytes.map(<[u8]>::to_vec));
        result
    }

    fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, ResourceError> {
        self.folder_for(id, path)?.read(path, offset, limit)
    }

    fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, ResourceError> {
        self.folder_for(id, path)?.bytes(path, most)
    }

    fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>> {
        let held = self.open_folder(id)?.ok()?;
        let mut files = Vec::new();
        for fact in held.files().ok()? {
            let path = fact.path.into_os_string().into_string().ok()?;
            match fact.kind {
                // A link counts as its target, if that is inside the skill.
                FactKind::Link => files.extend(held.size(&path).ok().map(|size| (path, size))),
                FactKind::File | FactKind::Executable => files.push((path, fact.size)),
            }
        }
        Some(files)
    }

    fn open_folder(&self, id: &SkillId) -> Option<Result<SkillFolder, ResourceError>> {
        let path = self.path_of(id)?;
        let last = self.last();
        let root = last.root_of(id)?;
        let within = (id.origin.scope == Scope::Project).then(|| {
            let project = skill_folders::repository(&root.real).unwrap_or(&root.real);
            project.to_owned()
        });
        let link = last.linked.get(&path).cloned();
        let inner = path.strip_prefix(&root.path).unwrap_or(Path::new(""));
        let real = if inner.as_os_str().is_empty() {
            root.real.clone()
        } else {
            root.real.join(inner)
        };
        drop(last);
        // A single file has no folder.
        if path.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
            return None;
        }
        let opened = match link {
            Some(link) => {
                let inner = path.strip_prefix(&link.path).unwrap_or(Path::new(""));
                SkillFolder::open_linked(&link.path, link.id, inner, &path)
            }
            None => SkillFolder::open_real(&real, &path),
        };
        // A folder without a text is none that a scan found: the id is from before the last one.
        let is_skill = |folder: SkillFolder| match read::skill_file(folder.handle()) {
            Some(_) => Ok(folder.with_links_within(within)),
            None => Err(ResourceError::Missing {
                path: read::SKILL_FILES[0].to_owned(),
            }),
        };
        Some(opened.and_then(is_skill))
    }

    fn owns(&self, id: &SkillId) -> bool {
        self.last().root_of(id).is_some()
    }

    fn searched(&self) -> Vec<SearchedFolder> {
        // Not looked up again: nested roots are found by a walk through the whole project.
        self.last().searched.clone()
    }
}

impl FileSource {
    /// Returns the folder or file of a skill.
    pub fn path_of(&self, id: &SkillId) -> Option<PathBuf> {
        let last = self.last();
        let root = &last.root_of(id)?.path;
        let inner = unescape(&id.path);
        // Reject ids that were made up and point outside the root.
        let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_inside = inner.components().all(stays);
        is_inside.then(|| {
            if &*id.path == "." {
                root.clone()
            } else {
                root.join(inner)
            }
        })
    }
}

/// Roots and links of the last scan.
#[derive(Debug, Default)]
struct LastScan {
    roots: Vec<LastRoot>,
    /// Bounds of links in the project.
    bounds: LinkBounds,
    /// All roots, including ones that do not exist.
    searched: Vec<SearchedFolder>,
    /// Links to folders that were searched.
    links: Vec<FollowedLink>,
    /// The folders of skills that were found through a link, with the nearest one.
    linked: HashMap<PathBuf, FollowedLink>,
}

/// A root of the last scan.
#[derive(Clone, Debug)]
struct LastRoot {
    path: PathBuf,
    /// The path without links.
    real: PathBuf,
    origin: Arc<SkillOrigin>,
}

impl LastScan {
    /// Notes which skills were found through a link.
    fn note_links(&mut self, skills: &[Arc<Skill>]) {
        self.linked.clear();
        let links: HashMap<&Path, &FollowedLink> = (self.links.iter())
            .map(|link| (&*link.path, link))
            .collect();
        if links.is_empty() {
            return;
        }
        for skill in skills {
            let file = skill.location.path();
            let Some(folder) = file.parent() else {
                continue;
            };
            let link = folder.ancestors().find_map(|above| links.get(above));
            if let Some(link) = link {
                self.linked.insert(folder.to_owned(), (*link).clone());
            }
        }
    }

    fn root_of(&self, id: &SkillId) -> Option<&LastRoot> {
        self.roots.iter().find(|root| root.origin == id.origin)
    }
}

impl FileSource {
    /// Opens the folder of a skill to read one of its files.
    fn folder_for(&self, id: &SkillId, file: &str) -> Result<SkillFolder, ResourceError> {
        let missing = || ResourceError::Missing {
            path: file.to_owned(),
        };
        match self.open_folder(id) {
            Some(Err(ResourceError::Read { source, .. }))
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Err(missing())
            }
            Some(folder) => folder,
            None => Err(missing()),
        }
    }

    /// Reads the text of a skill that is a folder.
    fn text_in_folder(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault> {
        let unreadable = |error: ResourceError| match error {
            ResourceError::Missing { .. } => ReadFault::Missing,
            ResourceError::Read { source, .. } => {
                ReadFault::Unreadable(io_reason(source).to_lowercase())
            }
            error => ReadFault::Unreadable(error.to_string()),
        };
        let folder = self.folder_for(id, "SKILL.md").map_err(unreadable)?;
        let file = read::skill_file(folder.handle()).ok_or(ReadFault::Missing)?;
        let mut text = Vec::new();
        read::read_checked(&folder, OsStr::new(file), &mut text)?;
        Ok(text)
    }
}

/// Numbers roots so that adding or removing one does not change the numbers of the others, which
/// are part of skill ids.
#[derive(Default)]
struct Orders {
    scopes: [usize; Scope::ALL.len()],
}

impl Orders {
    /// Maximum number of roots per scope.
    const ROOM: usize = 100_000;

    fn of(&mut self, root: &SkillRoot) -> usize {
        if !root.nested.is_empty() {
            // Skills of different nested folders never share a name; within one folder the table
            // decides.
            let vendors = skill_folders::SKILL_FOLDERS
                .iter()
                .map(|folder| &folder[1..]);
            let mut vendors = vendors.map(|folder| folder.split('/').next());
            let vendor = vendors.position(|vendor| vendor == Some(&root.vendor));
            return Self::ROOM * Scope::ALL.len() + vendor.unwrap_or_default();
        }
        let scope = root.scope as usize;
        self.scopes[scope] += 1;
        Self::ROOM * scope + self.scopes[scope] - 1
    }
}

/// Skills by location.
type ByLocation<'s> = HashMap<&'s str, &'s Arc<Skill>>;

/// Returns the known skills of each root. A file may be below two roots.
fn known_by_root<'s>(
    roots: &[Prepared],
    skills: impl Iterator<Item = &'s Arc<Skill>>,
) -> Vec<ByLocation<'s>> {
    let indices = roots
        .iter()
        .enumerate()
        .map(|(index, root)| (&*root.origin.root, index));
    let indices: HashMap<&str, usize> = indices.collect();
    let mut known = vec![ByLocation::new(); roots.len()];
    for skill in skills {
        if let Some(&index) = indices.get(&*skill.id.origin.root) {
            known[index].insert(skill.location.text(), skill);
        }
    }
    known
}

/// Returns `true` if a root is below another one.
fn overlap(roots: &[Prepared]) -> bool {
    let below = |root: &Prepared| roots.iter().any(|other| is_below(&root.real, &other.real));
    roots.iter().any(below)
}

fn is_below(path: &Path, other: &Path) -> bool {
    path != other && path.starts_with(other)
}

/// Assigns each skill to the highest of the roots that contain it.
fn each_folder_once(roots: &[Prepared], skills: Vec<Arc<Skill>>) -> Vec<Arc<Skill>> {
    let reals: HashMap<&str, &Path> = roots
        .iter()
        .map(|root| (&*root.origin.root, &*root.real))
        .collect();
    let mut placed: Vec<(PathBuf, Arc<Skill>)> = skills
        .into_iter()
        .map(|skill| {
            let real = reals
                .get(&*skill.id.origin.root)
                .copied()
                .unwrap_or(Path::new(""));
            let folder = match &*skill.id.path {
                "." => real.to_owned(),
                path => real.join(unescape(path)),
            };
            (folder, skill)
        })
        .collect();
    placed.sort_by(|a, b| (&a.0, &a.1.id).cmp(&(&b.0, &b.1.id)));
    placed.dedup_by(|a, b| a.0 == b.0);
    placed.into_iter().map(|(_, skill)| skill).collect()
}

/// Collects the skills of a scan.
struct Collector<'s> {
    roots: &'s [Prepared],
    /// Known skills of each root.
    known: Vec<ByLocation<'s>>,
    /// Start of the scan that the known skills are from.
    at_rest_before: i64,
    /// Cache of each root; empty if all skills are in memory.
    caches: &'s [Cache],
    keep_last_good: bool,
    claude_names: bool,
    scan: Mutex<Scan>,
    /// One list per thread, to avoid contention.
    results: Vec<Mutex<ThreadResult>>,
}

/// Skills found by one thread.
#[derive(Default)]
struct ThreadResult {
    skills: Vec<Arc<Skill>>,
    /// Number of usable skills read (not cached) per root. Unusable ones are not cached, so they do
    /// not make the cache outdated.
    fresh: Vec<usize>,
}

impl ThreadResult {
    fn count(&mut self, root: usize) {
        if self.fresh.len() <= root {
            self.fresh.resize(root + 1, 0);
        }
        self.fresh[root] += 1;
    }
}

/// Maps the roots of a walk to the roots of the collector.
struct Walking<'c> {
    collector: &'c Collector<'c>,
    indices: Vec<usize>,
    bounds: &'c LinkBounds,
}

impl Visit for Walking<'_> {
    fn knows_some(&self) -> bool {
        let collector = self.collector;
        collector.known.iter().any(|known| !known.is_empty())
            || collector.caches.iter().any(|cache| !cache.is_empty())
    }

    fn is_known(&self, seen: &Seen<'_>) -> bool {
        let collector = self.collector;
        let root = self.root(seen.root);
        // A path that needs escapes is read again.
        let Some(path) = plain_path(seen.path) else {
            return false;
        };
        let not_reserved = |skill: &Skill| !collector.is_reserved(root, &unescape(&skill.id.path));
        if let Some(&skill) = collector.known[root].get(path) {
            let same = skill.stamp == seen.stamp
                && skill.sidecar == seen.sidecar
                && was_at_rest(skill, collector.at_rest_before);
            if !same || !not_reserved(skill) {
                return false;
            }
            let skill = collector.with_current_origin(root, skill);
            collector.results(seen.thread).skills.push(skill);
            return true;
        }
        let Some(cache) = collector.caches.get(root) else {
            return false;
        };
        let number = cache.find(path, seen.stamp, seen.sidecar);
        let number = number.filter(|number| cache.skill(*number).is_some_and(not_reserved));
        number.inspect(|number| cache.keep(*number)).is_some()
    }

    fn may_follow(&self, root: usize, link: &Path) -> bool {
        self.collector.roots[self.root(root)].may_follow(link, self.bounds)
    }

    fn visit(&self, found: FoundSkill<'_>) {
        self.collector.skill(self.root(found.root), &found);
    }
}

impl Walking<'_> {
    fn root(&self, walked: usize) -> usize {
        self.indices.get(walked).copied().unwrap_or_default()
    }
}

impl<'s> Collector<'s> {
    /// Creates a collector for skills of one root that are read again, or on their own.
    fn of_one(roots: &'s [Prepared], known: ByLocation<'s>, keep_last_good: bool) -> Self {
        Self {
            roots,
            known: vec![known],
            caches: &[],
            at_rest_before: i64::MIN,
            keep_last_good,
            claude_names: false,
            scan: Mutex::default(),
            results: vec![Mutex::default()],
        }
    }
}

impl Collector<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Scan> {
        self.scan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn results(&self, thread: usize) -> std::sync::MutexGuard<'_, ThreadResult> {
        let mine = &self.results[thread % self.results.len()];
        mine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the scan, and the number of skills read per root.
    fn finish(self) -> (Scan, Vec<usize>) {
        let mut scan = self
            .scan
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut fresh = vec![0; self.roots.len()];
        for results in self.results {
            let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
            scan.skills.append(&mut results.skills);
            fresh
                .iter_mut()
                .zip(results.fresh)
                .for_each(|(sum, count)| *sum += count);
        }
        (scan, fresh)
    }

    /// Returns a known skill with the current origin of its root: the order of the roots may have
    /// changed.
    fn with_current_origin(&self, root: usize, skill: &Arc<Skill>) -> Arc<Skill> {
        let origin = &self.roots[root].origin;
        if skill.id.origin == *origin {
            return Arc::clone(skill);
        }
        let id = SkillId {
            origin: Arc::clone(origin),
            path: skill.id.path.clone(),
        };
        Arc::new(Skill {
            id,
            ..Skill::clone(skill)
        })
    }

    /// Returns `true` for `~/.claude/skills/synced`, in any letter case, which Claude Code
    /// reserves.
    fn is_reserved(&self, root: usize, inner: &Path) -> bool {
        if !self.claude_names {
            return false;
        }
        let root = &self.roots[root].root;
        let first = inner
            .iter()
            .next()
            .and_then(|part| part.to_str())
            .unwrap_or_default();
        let is_theirs = root.scope == Scope::User && root.vendor == "claude";
        is_theirs && first.eq_ignore_ascii_case("synced")
    }

    fn skill(&self, root: usize, found: &FoundSkill<'_>) {
        let prepared = &self.roots[root];
        let folder = folder_of(found.path);
        let inner = below(folder, &prepared.root.path);
        let location = Location::of_path(found.path);
        if self.is_reserved(root, inner) {
            let path = folder.to_owned();
            return self.lock().notices.push(ScanNotice::Reserved { path });
        }
        if self.is_link_to_outside(root, found.path) {
            return self.fault(root, location, SourceFaultKind::Outside);
        }
        let bytes = match &found.bytes {
            Ok(bytes) => *bytes,
            Err(fault) => return self.fault(root, location, SourceFaultKind::Read(fault.clone())),
        };
        let sidecar = found
            .disk
            .and_then(super::package::PackageOnDisk::read_sidecar);
        let place = SkillPlace {
            id: SkillId {
                origin: Arc::clone(&prepared.origin),
                path: id_path(location.text(), found.path, folder, inner),
            },
            form: SkillForm::Folder,
            location,
            given: found.package.folder(),
            stamp: found.stamp.unwrap_or_default(),
            sidecar: sidecar.as_ref().map(|(stamp, _)| *stamp),
            fingerprint: fingerprint(bytes),
        };
        let sidecar = sidecar.map(|(_, text)| Sidecar::parse(&text));
        if self.add((root, found.thread), place, bytes, sidecar.as_ref()) {
            self.results(found.thread).count(root);
        }
    }

    fn single_file(&self, root: usize, path: &Path, form: SkillForm, name: Option<&str>) {
        let prepared = &self.roots[root];
        let location = Location::of_path(path);
        if self.is_link_to_outside(root, path) {
            return self.fault(root, location, SourceFaultKind::Outside);
        }
        let mut buffer = Vec::new();
        let stamp = match read::read_file(rustix::fs::CWD, path.as_os_str(), &mut buffer) {
            Ok(stamp) => stamp,
            Err(fault) => return self.fault(root, location, SourceFaultKind::Read(fault)),
        };
        let inner = path.strip_prefix(&prepared.root.path).unwrap_or(path);
        let place = SkillPlace {
            id: SkillId {
                origin: Arc::clone(&prepared.origin),
                path: if inner.as_os_str().is_empty() {
                    ".".into()
                } else {
                    escape(inner)
                },
            },
            form,
            location,
            given: name,
            stamp,
            sidecar: None,
            fingerprint: fingerprint(&buffer),
        };
        self.add((root, 0), place, &buffer, None);
    }

    /// Adds the text of a skill. Returns `false` if it is not usable.
    fn add(
        &self,
        (root, thread): (usize, usize),
        place: SkillPlace<'_>,
        bytes: &[u8],
        sidecar: Option<&Sidecar>,
    ) -> bool {
        let parsed = parse(bytes);
        // During edits, accept only complete files that are not being written. At the start there
        // is no previous version to keep, so everything readable is accepted.
        if self.keep_last_good {
            let now = read::stamp(rustix::fs::CWD, place.location.path().as_os_str());
            if now != Some(place.stamp) || place.stamp.size != bytes.len() as u64 {
                self.fault(root, place.location, SourceFaultKind::Moving);
                return false;
            }
            if !is_usable(&parsed) {
                // A new file that is not being written any more stays broken: accept it, as at a
                // fresh start.
                let latest = place.stamp.modified.max(place.stamp.changed);
                if self.known[root].contains_key(place.location.text()) {
                    self.fault(root, place.location, SourceFaultKind::Broken);
                    return false;
                } else if latest > crate::cache::now().saturating_sub(AT_REST) {
                    self.fault(root, place.location, SourceFaultKind::Moving);
                    return false;
                }
            }
        }
        if let Some(why) = NotASkill::of(&parsed) {
            self.fault(root, place.location, SourceFaultKind::NotASkill(why));
            return false;
        }
        let skill = Arc::new(Skill::from_text(place, &parsed, sidecar));
        let last = self.known[root]
            .get(skill.location.text())
            .filter(|last| ***last == skill);
        let skill = last.map_or(skill, |last| Arc::clone(last));
        self.results(thread).skills.push(skill);
        true
    }

    /// Returns `true` if a file of the project is a link to the outside. A repository must not be
    /// able to expose the user's files to a model.
    fn is_link_to_outside(&self, root: usize, path: &Path) -> bool {
        let prepared = &self.roots[root];
        if prepared.root.scope != Scope::Project {
            return false;
        }
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|facts| facts.is_symlink());
        let is_inside = |real: PathBuf| {
            let project = skill_folders::repository(&prepared.real).unwrap_or(&prepared.real);
            let folder = path
                .parent()
                .and_then(|folder| std::fs::canonicalize(folder).ok());
            real.starts_with(project) || folder.is_some_and(|folder| real.starts_with(folder))
        };
        is_link && !std::fs::canonicalize(path).is_ok_and(is_inside)
    }

    /// Reports an unusable skill. The last good version is kept, if there is one.
    fn fault(&self, root: usize, location: Location, why: SourceFaultKind) {
        let gone = matches!(why, SourceFaultKind::Read(ReadFault::Missing));
        let last = self.known[root]
            .get(location.text())
            .filter(|_| self.keep_last_good && !gone);
        let mut scan = self.lock();
        scan.skills
            .extend(last.map(|skill| self.with_current_origin(root, skill)));
        scan.faults.push(SourceFault {
            location,
            why,
            kept: last.is_some(),
        });
    }
}
