//! The live registry of skills.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use prowess_catalog::{
    Catalog, CatalogPart, Precedence, Scope, Skill, SkillId, SkillNotFound, SkillOrigin, changes,
};
use prowess_spec::ReadFault;

use crate::fs::skill_folders::Place;
use crate::fs::source::{FileOptions, FileSource};
use crate::fs::walk::ScanNotice;
use crate::fs::watch::Inbox;
use crate::memory::{MemorySource, NewSkill};
use crate::resource::{Resource, ResourceError};
use crate::search_index::Searching;
use crate::source::{Known, Places, Scan, SearchedFolder, SkillSource, SourceFault};
use crate::subscribe::{ChangeSet, Subscribers, Subscription};

/// Maximum number of roots per source, to number the roots of all sources in order.
const ROOTS_PER_SOURCE: usize = 1_000_000;
/// Minimum number of skills that are sorted by two threads.
const MIN_TWO_THREADS: usize = 4096;

/// The live registry of skills: several sources, one catalogue.
///
/// Readers get an immutable [`Catalog`] and never wait for a writer. Clones share the same
/// registry.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    precedence: Precedence,
    program: Arc<MemorySource>,
    /// All sources, for readers that must not wait for a scan.
    sources: RwLock<Vec<Arc<dyn SkillSource>>>,
    /// Serializes writers; required to publish.
    writer: Mutex<Writer>,
    current: RwLock<Arc<Catalog>>,
    report: RwLock<Arc<Report>>,
    subscribers: Subscribers,
    searching: Searching,
    /// The latest watcher.
    watched_by: RwLock<Weak<Inbox>>,
}

/// State of the writer.
#[derive(Debug, Default)]
struct Writer {
    sources: Vec<SourceState>,
}

/// A source with the result of its last scan.
#[derive(Debug)]
struct SourceState {
    source: Arc<dyn SkillSource>,
    /// The same source, if it is a [`FileSource`].
    files: Option<Arc<FileSource>>,
    skills: Vec<Arc<Skill>>,
    /// Positions of the skills by location.
    places: Places,
    faults: Vec<SourceFault>,
    notices: Vec<ScanNotice>,
    scanned: bool,
}

/// Problems found by the last scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Skills that could not be read.
    pub faults: Vec<SourceFault>,
    /// Folders that were skipped.
    pub notices: Vec<ScanNotice>,
}

/// Error from registering a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is already registered.
    #[error("a skill named `{name}` is already registered")]
    Taken {
        /// The name.
        name: Box<str>,
    },
}

/// Error from loading a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The folder cannot be read.
    #[error("cannot load skills from `{}`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// Result of loading a folder.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// The skills, sorted by name.
    pub loaded: Vec<Arc<Skill>>,
    /// Skills that could not be read.
    pub faults: Vec<SourceFault>,
}

/// Error from reading the text or a file of a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No source has the skill.
    #[error("the skill no longer exists")]
    Gone,
    /// Its text cannot be read.
    #[error("{0}")]
    Text(crate::source::SourceFaultKind),
    /// One of its files cannot be read.
    #[error(transparent)]
    File(#[from] ResourceError),
}

impl Default for Registry {
    fn default() -> Self {
        Self::new(Precedence::default())
    }
}

impl Registry {
    /// Creates an empty registry.
    pub fn new(precedence: Precedence) -> Self {
        let program = Arc::new(MemorySource::new(SkillOrigin::new(
            Scope::Program,
            0,
            "program",
        )));
        let shared = Shared {
            precedence,
            program: Arc::clone(&program),
            sources: RwLock::default(),
            writer: Mutex::default(),
            current: RwLock::default(),
            report: RwLock::default(),
            subscribers: Subscribers::default(),
            searching: Searching::default(),
            watched_by: RwLock::default(),
        };
        let registry = Self {
            shared: Arc::new(shared),
        };
        registry.add_source(program);
        registry
    }

    /// Creates a registry with the folders visible from `place` and the bundled skills, and scans
    /// them.
    pub fn open(place: Place, options: FileOptions, precedence: Precedence) -> Self {
        let registry = Self::new(precedence);
        registry.add_files(FileSource::new(place, options));
        registry.add_source(Arc::new(crate::bundled::bundled()));
        registry.refresh();
        registry
    }

    /// Creates a registry with the same sources, to which other skills can be added. Changes of files
    /// reach it when it is refreshed.
    #[must_use]
    pub fn derived(&self) -> Self {
        let registry = Self::new(self.shared.precedence);
        let program = &self.shared.program;
        for live in &self.writer().sources {
            let is_program = std::ptr::addr_eq(Arc::as_ptr(&live.source), Arc::as_ptr(program));
            if is_program {
                continue;
            }
            let source = SourceState::new(Arc::clone(&live.source), live.files.clone());
            registry.add(&mut registry.writer(), source);
        }
        registry.refresh();
        registry
    }

    /// Creates a registry with the folders visible from `place` and nothing else, and scans them.
    pub fn of_place(place: Place) -> Self {
        let registry = Self::new(Precedence::default());
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        registry
    }

    /// Adds a source. Call [`Registry::refresh`] to scan it.
    pub fn add_source(&self, source: Arc<dyn SkillSource>) {
        self.add(&mut self.writer(), SourceState::new(source, None));
    }

    /// Adds a source of folders. Call [`Registry::refresh`] to scan it; [`Registry::watch`] watches
    /// it.
    pub fn add_files(&self, source: FileSource) {
        let source = Arc::new(source);
        let live = SourceState::new(Arc::clone(&source) as Arc<dyn SkillSource>, Some(source));
        self.add(&mut self.writer(), live);
    }

    fn add(&self, writer: &mut Writer, live: SourceState) {
        let mut sources = self
            .shared
            .sources
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        sources.push(Arc::clone(&live.source));
        writer.sources.push(live);
    }

    /// Returns the folders that are searched for skills, including ones that do not exist.
    pub fn searched_folders(&self) -> Vec<SearchedFolder> {
        let sources = self.shared.sources.read();
        let sources = sources.unwrap_or_else(PoisonError::into_inner);
        sources
            .iter()
            .flat_map(|source| source.searched())
            .collect()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.shared
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current catalogue. It is immutable; later ones have a higher generation.
    pub fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(
            &self
                .shared
                .current
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Returns the problems found by the last scan.
    pub fn report(&self) -> Arc<Report> {
        Arc::clone(
            &self
                .shared
                .report
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.subscribers.subscribe()
    }

    /// Scans all sources again. Unchanged files are not read.
    pub fn refresh(&self) -> Arc<Catalog> {
        let mut writer = self.writer();
        for live in &mut writer.sources {
            live.scan();
        }
        self.publish(&writer, None)
    }

    /// Reads the skills that these files belong to again, or scans everything if needed.
    pub(crate) fn refresh_files(&self, files: &[PathBuf]) -> Arc<Catalog> {
        let mut writer = self.writer();
        let mut texts: Option<Vec<Arc<Skill>>> = Some(Vec::new());
        for live in &mut writer.sources {
            let Some(source) = live.files.clone() else {
                continue;
            };
            let mine: Vec<PathBuf> = files
                .iter()
                .filter(|file| source.has_root_of(file))
                .cloned()
                .collect();
            if mine.is_empty() {
                continue;
            }
            let Some(rescan) = source.rescan(&live.skills, &mut live.places, &mine) else {
                live.scan();
                texts = None;
                continue;
            };
            let again = |fault: &SourceFault| mine.iter().any(|file| fault.is_about(file));
            live.faults.retain(|fault| !again(fault));
            live.faults.extend(rescan.faults);
            for (place, skill) in rescan.skills {
                if let Some(texts) = &mut texts {
                    texts.push(Arc::clone(&skill));
                }
                live.skills[place] = skill;
            }
        }
        self.publish(&writer, texts.as_deref())
    }

    /// Builds a catalogue of all sources and notifies subscribers if it changed. If only the texts
    /// of some skills changed, the order of the previous one is reused.
    fn publish(&self, writer: &Writer, texts: Option<&[Arc<Skill>]>) -> Arc<Catalog> {
        let shared = &*self.shared;
        let before = self.snapshot();
        let generation = before.generation() + 1;
        let kept = texts.and_then(|texts| before.with_texts(texts, generation));
        let after = Arc::new(kept.unwrap_or_else(|| {
            let all = writer.sources.iter().flat_map(|live| &live.skills);
            Catalog::of_parts(
                parts(&all.collect::<Vec<_>>(), shared.precedence),
                generation,
            )
        }));
        let mut report = Report::default();
        for live in &writer.sources {
            report.faults.extend(live.faults.iter().cloned());
            report.notices.extend(live.notices.iter().cloned());
        }
        *shared
            .report
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(report);
        let is_first = before.generation() == 0;
        let changes = if is_first && shared.subscribers.is_empty() {
            Vec::new()
        } else {
            changes(&before, &after)
        };
        if changes.is_empty() && !is_first {
            return before;
        }
        *shared
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::clone(&after);
        if !changes.is_empty() {
            shared.subscribers.announce(ChangeSet {
                generation,
                changes,
                lagged: false,
            });
        }
        after
    }

    /// Registers a skill built in code. Fails if the name is already registered.
    pub fn register(&self, skill: NewSkill) -> Result<(), RegisterError> {
        let name: Box<str> = skill.name().into();
        if !self.shared.program.add(skill) {
            return Err(RegisterError::Taken { name });
        }
        self.refresh_program();
        Ok(())
    }

    /// Registers a skill built in code, replacing one of the same name. Returns `true` if there was
    /// one.
    pub fn replace(&self, skill: NewSkill) -> bool {
        let was_there = self.shared.program.replace(skill);
        self.refresh_program();
        was_there
    }

    /// Removes a skill built in code. Returns `true` if there was one.
    pub fn remove(&self, name: &str) -> bool {
        let was_there = self.shared.program.remove(name);
        self.refresh_program();
        was_there
    }

    /// Removes all skills built in code. Returns `true` if there was one.
    pub fn clear(&self) -> bool {
        let had_some = self.shared.program.clear();
        self.refresh_program();
        had_some
    }

    /// Updates the skills built in code without scanning folders.
    fn refresh_program(&self) {
        let mut writer = self.writer();
        let program = writer
            .sources
            .iter_mut()
            .filter(|live| live.holds(&self.shared.program));
        program.for_each(SourceState::scan);
        self.publish(&writer, None);
    }

    /// Resolves a name to a skill.
    pub fn get(&self, name: &str) -> Result<Arc<Skill>, SkillNotFound> {
        self.snapshot()
            .resolve(name)
            .map(|entry| Arc::clone(&entry.skill))
    }

    /// Returns all skills that are not shadowed, sorted by name.
    pub fn list(&self) -> Vec<Arc<Skill>> {
        self.snapshot()
            .listed()
            .map(|entry| Arc::clone(&entry.skill))
            .collect()
    }

    /// Loads all skills below a folder. Invalid skills are reported and do not affect the others.
    /// Loading the same folder again rescans it.
    pub fn load_dir(&self, folder: &Path) -> Result<LoadReport, LoadError> {
        let failed = |source| LoadError::Folder {
            path: folder.to_owned(),
            source,
        };
        let real = std::fs::canonicalize(folder).map_err(failed)?;
        std::fs::read_dir(&real).map_err(failed)?;
        let mut writer = self.writer();
        let has_it = |live: &SourceState| {
            live.files
                .as_ref()
                .is_some_and(|files| files.is_only(&real))
        };
        let known = writer.sources.iter().position(has_it);
        let index = known.unwrap_or(writer.sources.len());
        if known.is_none() {
            let options = FileOptions {
                first_order: index * ROOTS_PER_SOURCE,
                ..FileOptions::default()
            };
            let source = Arc::new(FileSource::of_folder(real, options));
            self.add(
                &mut writer,
                SourceState::new(Arc::clone(&source) as _, Some(source)),
            );
        }
        let live = &mut writer.sources[index];
        live.scan();
        let mut report = LoadReport {
            loaded: live.skills.clone(),
            faults: live.faults.clone(),
        };
        report
            .loaded
            .sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        self.publish(&writer, None);
        Ok(report)
    }

    /// Reads the text of a skill from its source.
    pub fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadError> {
        let fault = |fault: ReadFault| ReadError::Text(crate::source::SourceFaultKind::Read(fault));
        self.source_of(id)?.text(id).map_err(fault)
    }

    /// Reads a part of one of a skill's files from its source.
    pub fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, ReadError> {
        let read = self.source_of(id)?.file(id, path, offset, limit);
        read.map_err(|error| self.unread(error))
    }

    /// Reads all of one of a skill's files from its source.
    pub fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, ReadError> {
        let read = self.source_of(id)?.bytes(id, path, most);
        read.map_err(|error| self.unread(error))
    }

    /// Lists a skill's files with their sizes, including SKILL.md, sorted by path. Returns `None`
    /// if the skill is a single file, has too many files, or has a file name that is not UTF-8.
    pub fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>> {
        self.source_of(id).ok()?.files(id)
    }

    /// Returns the JSON Schema of a skill's arguments, if the program that defined it gave one.
    pub fn input_schema(&self, id: &SkillId) -> Option<Arc<serde_json::Value>> {
        self.source_of(id).ok()?.input_schema(id)
    }

    /// Converts an error from reading a file. If the folder of a skill was replaced, the folders are
    /// scanned again, because no event may tell of it.
    pub(crate) fn unread(&self, error: ResourceError) -> ReadError {
        if matches!(error, ResourceError::Replaced { .. }) {
            self.refresh();
        }
        ReadError::File(error)
    }

    pub(crate) fn source_of(&self, id: &SkillId) -> Result<Arc<dyn SkillSource>, ReadError> {
        let sources = self
            .shared
            .sources
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        sources
            .iter()
            .find(|source| source.owns(id))
            .map(Arc::clone)
            .ok_or(ReadError::Gone)
    }

    /// Returns the cache folder of the first source of folders.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.file_sources()
            .iter()
            .find_map(|source| source.cache_folder().map(Path::to_owned))
    }

    pub(crate) fn watched_by(&self) -> Option<Arc<Inbox>> {
        self.shared
            .watched_by
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade()
    }

    pub(crate) fn set_watched_by(&self, inbox: &Arc<Inbox>) {
        *self
            .shared
            .watched_by
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(inbox);
    }

    pub(crate) fn searching(&self) -> &Searching {
        &self.shared.searching
    }

    /// Returns the sources of folders, for the watcher.
    pub(crate) fn file_sources(&self) -> Vec<Arc<FileSource>> {
        self.writer()
            .sources
            .iter()
            .filter_map(|live| live.files.clone())
            .collect()
    }
}

impl SourceState {
    fn new(source: Arc<dyn SkillSource>, files: Option<Arc<FileSource>>) -> Self {
        let (skills, places, faults, notices) = Default::default();
        Self {
            source,
            files,
            skills,
            places,
            faults,
            notices,
            scanned: false,
        }
    }

    fn scan(&mut self) {
        // The first scan accepts everything; later ones keep the last good versions.
        let known = Known {
            skills: &self.skills,
            keep_last_good: self.scanned,
        };
        let Scan {
            skills,
            faults,
            notices,
        } = self.source.scan(known);
        (self.skills, self.faults, self.notices) = (skills, faults, notices);
        self.places = Places::default();
        self.scanned = true;
    }

    fn holds(&self, source: &Arc<MemorySource>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.source), Arc::as_ptr(source))
    }
}

/// Sorts skills. If there are many, two threads sort one half each: the time goes into cache
/// misses, because skills are scattered in memory.
fn parts(skills: &[&Arc<Skill>], precedence: Precedence) -> Vec<CatalogPart> {
    let part =
        |skills: &[&Arc<Skill>]| CatalogPart::new(skills.iter().copied().cloned(), precedence);
    if skills.len() < MIN_TWO_THREADS {
        return vec![part(skills)];
    }
    let (first, second) = skills.split_at(skills.len() / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| part(second));
        let first = part(first);
        let second = second
            .join()
            .unwrap_or_else(|fault| std::panic::resume_unwind(fault));
        vec![first, second]
    })
}
