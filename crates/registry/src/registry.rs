//! The live set of skills.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use prowess_catalog::{
    Catalog, NotFound, Origin, Part, Precedence, Scope, Skill, SkillId, changes,
};
use prowess_spec::ReadFault;

use crate::fs::scopes::Place;
use crate::fs::source::{FileOptions, FileSource};
use crate::fs::walk::Notice;
use crate::memory::{MemorySource, NewSkill};
use crate::resource::{Error, Resource};
use crate::searching::Searching;
use crate::source::{Fault, Known, Places, Scan, SkillSource};
use crate::subscribe::{ChangeSet, Subscribers, Subscription};

/// Roots of one source are numbered below this, so that those of the next come after.
const ORDERS: usize = 1_000_000;
/// From so many skills on, a thread is worth its start.
const MANY: usize = 4096;

/// The live set of skills: several sources, one catalogue.
///
/// Readers take an immutable [`Catalog`] and never wait for a writer. A clone is the same registry.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    precedence: Precedence,
    program: Arc<MemorySource>,
    /// Every source, for those who read and must not wait for a scan.
    sources: RwLock<Vec<Arc<dyn SkillSource>>>,
    /// One writer at a time; whoever holds this may publish.
    writer: Mutex<Writer>,
    current: RwLock<Arc<Catalog>>,
    report: RwLock<Arc<Report>>,
    subscribers: Subscribers,
    searching: Searching,
}

/// What only writers touch.
#[derive(Debug, Default)]
struct Writer {
    sources: Vec<SourceState>,
}

/// A source and what it held at the last scan.
#[derive(Debug)]
struct SourceState {
    source: Arc<dyn SkillSource>,
    /// The same source, where it is one of folders.
    files: Option<Arc<FileSource>>,
    skills: Vec<Arc<Skill>>,
    /// Where each of them stands.
    places: Places,
    faults: Vec<Fault>,
    notices: Vec<Notice>,
    scanned: bool,
}

/// What could not be read, and what was not looked at, at the last scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Skills that could not be read.
    pub faults: Vec<Fault>,
    /// What was not looked at.
    pub notices: Vec<Notice>,
}

/// Why a skill was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is a skill of this name already.
    #[error("a skill named `{name}` is registered already")]
    Taken {
        /// The name.
        name: Box<str>,
    },
}

/// Why a folder was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The folder cannot be read.
    #[error("cannot load skills from {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What loading a folder gave.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// The skills, in order of name.
    pub loaded: Vec<Arc<Skill>>,
    /// Skills that could not be read.
    pub faults: Vec<Fault>,
}

/// Why the text or a file of a skill could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No source has the skill.
    #[error("the skill is not there any more")]
    Gone,
    /// Its text cannot be read.
    #[error("{0}")]
    Text(crate::source::FaultKind),
    /// One of its files cannot be read.
    #[error(transparent)]
    File(#[from] Error),
}

impl Default for Registry {
    fn default() -> Self {
        Self::new(Precedence::default())
    }
}

impl Registry {
    /// Makes an empty registry.
    pub fn new(precedence: Precedence) -> Self {
        let program = Arc::new(MemorySource::new(Origin::new(Scope::Program, 0, "program")));
        let shared = Shared {
            precedence,
            program: Arc::clone(&program),
            sources: RwLock::default(),
            writer: Mutex::default(),
            current: RwLock::default(),
            report: RwLock::default(),
            subscribers: Subscribers::default(),
            searching: Searching::default(),
        };
        let registry = Self {
            shared: Arc::new(shared),
        };
        registry.add_source(program);
        registry
    }

    /// Makes a registry of the folders seen from a place and of the bundled skills, and reads them.
    pub fn open(place: Place, options: FileOptions, precedence: Precedence) -> Self {
        let registry = Self::new(precedence);
        registry.add_files(FileSource::new(place, options));
        registry.add_source(Arc::new(crate::bundled::bundled()));
        registry.refresh();
        registry
    }

    /// Adds a source; [`Registry::refresh`] reads it.
    pub fn add_source(&self, source: Arc<dyn SkillSource>) {
        self.add(&mut self.writer(), SourceState::new(source, None));
    }

    /// Adds a source of folders; [`Registry::refresh`] reads it, and a watcher watches it.
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

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.shared
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the catalogue as it is now. It never changes; a later one has a higher generation.
    pub fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(
            &self
                .shared
                .current
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Returns what the last scan could not read or did not look at.
    pub fn report(&self) -> Arc<Report> {
        Arc::clone(
            &self
                .shared
                .report
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Announces every change from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.subscribers.subscribe()
    }

    /// Looks at every source again. Files that did not change are not read.
    pub fn refresh(&self) -> Arc<Catalog> {
        let mut writer = self.writer();
        for live in &mut writer.sources {
            live.scan();
        }
        self.publish(&writer, None)
    }

    /// Looks again at the skills that these files belong to, and at everything if need be.
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
            let again = |fault: &Fault| mine.iter().any(|file| fault.is_about(file));
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

    /// Makes a catalogue of what the sources hold and lets everybody know, if it is another one.
    /// Where only the texts of some skills are new, the order of the last one is kept.
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

    /// Adds a skill built in code, unless one of its name was added before.
    pub fn register(&self, skill: NewSkill) -> Result<(), RegisterError> {
        let name: Box<str> = skill.name().into();
        if !self.shared.program.add(skill) {
            return Err(RegisterError::Taken { name });
        }
        self.refresh_program();
        Ok(())
    }

    /// Adds a skill built in code in place of one of its name; tells whether there was one.
    pub fn replace(&self, skill: NewSkill) -> bool {
        let was_there = self.shared.program.replace(skill);
        self.refresh_program();
        was_there
    }

    /// Takes away a skill that was built in code; tells whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let was_there = self.shared.program.remove(name);
        self.refresh_program();
        was_there
    }

    /// Takes away every skill that was built in code; tells whether there was one.
    pub fn clear(&self) -> bool {
        let had_some = self.shared.program.clear();
        self.refresh_program();
        had_some
    }

    /// Only the skills built in code changed; no folder is looked at.
    fn refresh_program(&self) {
        let mut writer = self.writer();
        let program = writer
            .sources
            .iter_mut()
            .filter(|live| live.holds(&self.shared.program));
        program.for_each(SourceState::scan);
        self.publish(&writer, None);
    }

    /// Returns the skill that a name means.
    pub fn get(&self, name: &str) -> Result<Arc<Skill>, NotFound> {
        self.snapshot()
            .resolve(name)
            .map(|entry| Arc::clone(&entry.skill))
    }

    /// Returns every skill that is not shadowed, in order of name.
    pub fn list(&self) -> Vec<Arc<Skill>> {
        self.snapshot()
            .listed()
            .map(|entry| Arc::clone(&entry.skill))
            .collect()
    }

    /// Loads every skill below a folder. One that is bad does not keep the others away; loading a
    /// folder again reads it again.
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
                first_order: index * ORDERS,
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

    /// Reads the text of a skill through the source that listed it.
    pub fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadError> {
        let fault = |fault: ReadFault| ReadError::Text(crate::source::FaultKind::Read(fault));
        self.source_of(id)?.text(id).map_err(fault)
    }

    /// Reads a part of one of a skill's files through the source that listed it.
    pub fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, ReadError> {
        Ok(self.source_of(id)?.file(id, path, offset, limit)?)
    }

    /// Reads the whole of one of a skill's files through the source that listed it.
    pub fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, ReadError> {
        Ok(self.source_of(id)?.bytes(id, path, most)?)
    }

    /// Lists a skill's files with their sizes, SKILL.md included, in order of path. Nothing where
    /// the skill is a file alone, or has too many files, or one whose name is not text.
    pub fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>> {
        self.source_of(id).ok()?.files(id)
    }

    fn source_of(&self, id: &SkillId) -> Result<Arc<dyn SkillSource>, ReadError> {
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

    /// Where the first source of folders keeps its cache.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.file_sources()
            .iter()
            .find_map(|source| source.cache_folder().map(Path::to_owned))
    }

    pub(crate) fn searching(&self) -> &Searching {
        &self.shared.searching
    }

    /// The sources of folders, for whoever watches them.
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
        // The first scan takes what it finds; later ones keep what was good.
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

/// Brings skills into order. Where there are many, a second thread does one half: they are all over
/// the memory, and going there is what takes the time.
fn parts(skills: &[&Arc<Skill>], precedence: Precedence) -> Vec<Part> {
    let part = |skills: &[&Arc<Skill>]| Part::new(skills.iter().copied().cloned(), precedence);
    if skills.len() < MANY {
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
