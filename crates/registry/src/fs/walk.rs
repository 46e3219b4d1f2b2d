//! Finds all skills below a set of folders, with several threads and bounded memory.

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, Once, PoisonError};

use prowess_catalog::FileStamp;
use prowess_diag::wording::io_reason;
use prowess_spec::ReadFault;
use prowess_spec::sidecar::SIDECAR_PATH;
use rustix::fs::{FileType, Mode, OFlags};

use super::entries::{self, Entry};
use super::package::PackageOnDisk;
use super::read::{self, FoundSkill};

/// Folders that are never entered.
pub const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
];

/// Default of the limits of folders.
pub const MAX_FOLDERS: usize = 20_000;
/// Number of folders per job.
const CHUNK: usize = 32;
/// Maximum number of queued jobs. Above that, a thread does its jobs itself, so that memory does
/// not grow with the number of skills.
const MAX_WAITING: usize = 256;

/// Device and inode of a folder.
type Id = (u64, u64);

/// Options of a walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// Number of threads.
    pub threads: usize,
    /// Maximum depth below a root.
    pub max_depth: usize,
    /// Maximum number of folders opened per root.
    pub max_folders: usize,
    /// Maximum number of folders opened through one link, which may lead to a home folder or the
    /// whole disk.
    pub max_linked_folders: usize,
}

/// Default number of threads. Computed once, because it reads system files.
static THREADS: LazyLock<usize> = LazyLock::new(|| {
    std::thread::available_parallelism()
        .map_or(1, std::num::NonZero::get)
        .min(16)
});

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            threads: *THREADS,
            max_depth: 6,
            max_folders: MAX_FOLDERS,
            max_linked_folders: MAX_FOLDERS,
        }
    }
}

/// Something that was skipped, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanNotice {
    /// A folder that cannot be read.
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// System error.
        reason: String,
    },
    /// Folders below this one exceed the depth limit.
    TooDeep {
        /// The folder.
        path: PathBuf,
    },
    /// The root has more folders than [`WalkOptions`] allow.
    TooMany {
        /// The root.
        root: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The root has more files or folders than are searched for commands or nested roots.
    TooManyEntries {
        /// The root.
        root: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The name is reserved by Claude Code.
    Reserved {
        /// The folder.
        path: PathBuf,
    },
    /// A link to a folder that was already visited.
    SeenBefore {
        /// The link.
        path: PathBuf,
    },
    /// A folder of a project that is outside the project, because it is a link or below one.
    Outside {
        /// The folder as the project names it.
        path: PathBuf,
        /// The folder without links.
        target: PathBuf,
    },
}

impl ScanNotice {
    /// Returns the setting with which a registry of the command line searches everything, if there
    /// is one.
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::TooMany { .. })
            .then_some("to search more, set `max-folders` under `[skills]` in your own settings")
    }

    /// Formats the notice; `show` formats paths.
    pub fn explain(&self, show: &dyn Fn(&Path) -> String) -> String {
        match self {
            Self::Unreadable { path, reason } => format!("cannot read `{}`: {reason}", show(path)),
            Self::TooDeep { path } => {
                format!(
                    "folders below `{}` are nested too deeply and were not searched",
                    show(path)
                )
            }
            Self::TooMany { root, limit } => {
                let limit = prowess_diag::wording::count(*limit, "folder");
                format!("only the first {limit} of `{}` were searched", show(root))
            }
            Self::TooManyEntries { root, limit } => {
                let limit = prowess_diag::wording::thousands(*limit);
                let root = show(root);
                format!("only the first {limit} files and folders of `{root}` were searched")
            }
            Self::Reserved { path } => {
                format!("skipped `{}`: Claude Code reserves this name", show(path))
            }
            Self::SeenBefore { path } => {
                format!(
                    "skipped `{}`: it links to a folder that was already searched",
                    show(path)
                )
            }
            Self::Outside { path, target } => {
                let target = show(target);
                format!(
                    "skipped `{}`: it links to `{target}`, outside the project; if you want its \
                     skills, pass {} or add it to `dirs` of `[skills]` in your own settings",
                    show(path),
                    prowess_diag::wording::command(["--skills-dir", &*target])
                )
            }
        }
    }
}

/// Summary of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkSummary {
    /// Number of skills found.
    pub skills: usize,
    /// Number of skills found below each root, in the order of the roots.
    pub by_root: Vec<usize>,
    /// Skipped folders, sorted.
    pub notices: Vec<ScanNotice>,
    /// Links to folders that were searched.
    pub links: Vec<FollowedLink>,
}

/// A link to a folder that was searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedLink {
    /// The link.
    pub path: PathBuf,
    /// Device and inode of the folder that it led to.
    pub id: (u64, u64),
}

/// Receives each skill found by a walk.
pub trait Visit: Sync {
    /// Returns `true` if this version of a skill is already known and need not be read. Called only
    /// if [`Visit::knows_some`] returns `true`.
    fn is_known(&self, _seen: &Seen<'_>) -> bool {
        false
    }

    /// Returns `true` if any skill may already be known.
    fn knows_some(&self) -> bool {
        false
    }

    /// Returns `true` if a link to a folder may be followed. `root` is the index of the walked root.
    fn may_follow(&self, _root: usize, _link: &Path) -> bool {
        true
    }

    /// Returns `true` if a file of this name, which belongs to no skill, is reported to
    /// [`Visit::file`].
    fn wants_file(&self, _name: &[u8]) -> bool {
        false
    }

    /// Receives the path of a file, or of a link, that belongs to no skill. `root` is the index of
    /// the walked root.
    fn file(&self, _root: usize, _path: PathBuf) {}

    /// Receives a skill that was read.
    fn visit(&self, found: FoundSkill<'_>);
}

/// A skill that was found but not read yet.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Path of its file.
    pub path: &'a Path,
    /// Index of the walked root.
    pub root: usize,
    /// Index of the walking thread.
    pub thread: usize,
    /// Version of the file.
    pub stamp: FileStamp,
    /// Version of `agents/openai.yaml`.
    pub sidecar: Option<FileStamp>,
}

/// Adapts a closure to a visitor that knows no skills.
struct ClosureVisitor<'v>(&'v (dyn Fn(FoundSkill<'_>) + Sync));

impl Visit for ClosureVisitor<'_> {
    fn visit(&self, found: FoundSkill<'_>) {
        (self.0)(found);
    }
}

/// Calls `visit` for every skill below the roots, from several threads, in no particular order.
/// Folders below a folder with SKILL.md are not searched.
pub fn walk(
    roots: &[PathBuf],
    options: WalkOptions,
    visit: &(dyn Fn(FoundSkill<'_>) + Sync),
) -> WalkSummary {
    visit_all(roots, options, &ClosureVisitor(visit))
}

/// Like [`walk`], for a visitor.
pub fn visit_all(roots: &[PathBuf], options: WalkOptions, visit: &dyn Visit) -> WalkSummary {
    start(roots, options, visit, false)
}

/// Like [`walk`], for a visitor that may already know some skills and that keeps the skills.
pub fn walk_with(roots: &[PathBuf], options: WalkOptions, visit: &dyn Visit) -> WalkSummary {
    start(roots, options, visit, true)
}

fn start(roots: &[PathBuf], options: WalkOptions, visit: &dyn Visit, keeps: bool) -> WalkSummary {
    let walker = Walker {
        options,
        visit,
        asks: visit.knows_some(),
        keeps,
        queue: Mutex::new(Queue {
            jobs: Vec::new(),
            working: 0,
            waiting: 0,
        }),
        wake: Condvar::new(),
        late: Mutex::new(Late::default()),
    };
    let found: Vec<Arc<AtomicUsize>> = roots.iter().map(|_| Arc::default()).collect();
    for (index, (root, skills)) in roots.iter().zip(&found).enumerate() {
        let budget = Arc::new(Budget {
            index,
            left: AtomicUsize::new(options.max_folders),
            limit: options.max_folders,
            root: root.clone(),
            skills: Arc::clone(skills),
        });
        let (path, names) = (root.clone(), Names::default());
        walker.push(Job {
            parent: None,
            path,
            names,
            depth: 0,
            budget,
        });
    }
    std::thread::scope(|scope| {
        let walker = &walker;
        for thread in 1..options.threads {
            scope.spawn(move || walker.work(thread));
        }
        walker.work(0);
    });
    walker.follow_links();
    let by_root = found
        .iter()
        .map(|skills| skills.load(Ordering::Relaxed))
        .collect();
    walker.finish(by_root)
}

/// Folders to visit: the root itself, or some entries of a folder.
struct Job {
    parent: Option<Arc<Folder>>,
    path: PathBuf,
    names: Names,
    depth: usize,
    budget: Arc<Budget>,
}

impl Job {
    /// Returns the path of a file below the folder, in a reused buffer.
    fn join<'p>(&self, room: &'p mut Vec<u8>, file: &[u8]) -> &'p Path {
        let folder = self.path.as_os_str().as_bytes();
        room.clear();
        room.extend_from_slice(folder);
        if !folder.ends_with(b"/") {
            room.push(b'/');
        }
        room.extend_from_slice(file);
        Path::new(OsStr::from_bytes(room))
    }
}

/// An open folder whose subfolders are visited.
struct Folder {
    handle: OwnedFd,
    device: u64,
}

/// Names of folders in one buffer, with the end of each.
#[derive(Default)]
struct Names {
    text: Vec<u8>,
    ends: Vec<(usize, u64)>,
}

impl Names {
    fn with_room() -> Self {
        Self {
            text: Vec::with_capacity(CHUNK * 32),
            ends: Vec::with_capacity(CHUNK),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&CStr, u64)> {
        let mut start = 0;
        self.ends.iter().filter_map(move |&(end, inode)| {
            let name = self.text.get(std::mem::replace(&mut start, end)..end)?;
            Some((CStr::from_bytes_with_nul(name).ok()?, inode))
        })
    }
}

/// Number of folders of a root that may still be opened.
struct Budget {
    /// Index of the root.
    index: usize,
    left: AtomicUsize,
    limit: usize,
    root: PathBuf,
    skills: Arc<AtomicUsize>,
}

impl Budget {
    /// Takes up to `wanted` folders.
    fn take(&self, wanted: usize) -> usize {
        let any = Ordering::Relaxed;
        let before = self
            .left
            .fetch_update(any, any, |left| Some(left.saturating_sub(wanted)));
        before.map_or(0, |before| before.min(wanted))
    }
}

struct Queue {
    jobs: Vec<Job>,
    working: usize,
    /// Number of threads waiting for a job. Avoids a system call if there is none to wake.
    waiting: usize,
}

/// Results and links that are handled after all threads are done.
#[derive(Default)]
struct Late {
    notices: Vec<ScanNotice>,
    links: Vec<(PathBuf, usize, Arc<Budget>)>,
    /// Device and inode of every skill folder found, to recognize links to them.
    seen: Vec<Id>,
    followed: Vec<FollowedLink>,
}

struct Walker<'v> {
    options: WalkOptions,
    visit: &'v dyn Visit,
    /// `true` if the visitor may know skills.
    asks: bool,
    /// `true` if the visitor keeps the skills; then memory is reserved in advance.
    keeps: bool,
    queue: Mutex<Queue>,
    wake: Condvar,
    late: Mutex<Late>,
}

/// State of one thread.
#[derive(Default)]
struct Worker {
    /// Index of the thread.
    thread: usize,
    /// Number of finished jobs.
    jobs: usize,
    /// Number of skills not yet added to the count of their root.
    skills: usize,
    buffer: Vec<u8>,
    /// Reused buffers for names and paths.
    name: Vec<u8>,
    sidecar: Vec<u8>,
    path: Vec<u8>,
    late: Late,
    /// While following links: all folders visited so far, to visit each once.
    known: Option<BTreeSet<Id>>,
}

impl Worker {
    /// Adds the skills found to the count of their root. Done once per job, because the counter is
    /// shared between threads.
    fn count(&mut self, budget: &Budget) {
        budget
            .skills
            .fetch_add(std::mem::take(&mut self.skills), Ordering::Relaxed);
    }
}

/// Collects the subfolders of a folder into jobs.
struct Folders<'w> {
    walker: &'w Walker<'w>,
    path: &'w Path,
    depth: usize,
    budget: &'w Arc<Budget>,
    parent: Option<Arc<Folder>>,
    names: Names,
}

impl Folders<'_> {
    fn add(&mut self, worker: &mut Worker, entry: Entry<'_>) -> ControlFlow<()> {
        let name = entry.name;
        if SKIPPED
            .iter()
            .any(|skipped| skipped.as_bytes() == name.to_bytes())
        {
            return ControlFlow::Continue(());
        }
        if entry.file_type != FileType::Directory && self.walker.visit.wants_file(name.to_bytes()) {
            let path = self.path.join(OsStr::from_bytes(name.to_bytes()));
            self.walker.visit.file(self.budget.index, path);
        }
        let is_folder = match entry.file_type {
            FileType::Directory => true,
            FileType::Symlink if self.depth >= self.walker.options.max_depth => false,
            FileType::Symlink => {
                let link = self.path.join(OsStr::from_bytes(name.to_bytes()));
                worker
                    .late
                    .links
                    .push((link, self.depth + 1, Arc::clone(self.budget)));
                false
            }
            FileType::Unknown => self.parent.as_ref().is_some_and(|parent| {
                rustix::fs::statat(&parent.handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
            }),
            _ => false,
        };
        if !is_folder {
            return ControlFlow::Continue(());
        }
        if self.depth >= self.walker.options.max_depth {
            worker.late.notices.push(ScanNotice::TooDeep {
                path: self.path.to_owned(),
            });
            return ControlFlow::Break(());
        }
        self.names.text.extend_from_slice(name.to_bytes_with_nul());
        self.names.ends.push((self.names.text.len(), entry.inode));
        if self.names.ends.len() >= CHUNK {
            self.flush(worker, false);
        }
        ControlFlow::Continue(())
    }

    /// Queues the collected folders, or visits them on this thread: always for the last ones, and
    /// for all of them if the queue is full.
    fn flush(&mut self, worker: &mut Worker, last: bool) {
        if self.names.ends.is_empty() {
            return;
        }
        let job = Job {
            parent: self.parent.clone(),
            path: self.path.to_owned(),
            names: std::mem::replace(&mut self.names, Names::with_room()),
            depth: self.depth + 1,
            budget: Arc::clone(self.budget),
        };
        if last || self.walker.is_full() {
            self.walker.run(worker, &job);
        } else {
            self.walker.push(job);
        }
    }
}

impl Walker<'_> {
    fn push(&self, job: Job) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push(job);
        let has_waiting = queue.waiting > 0;
        drop(queue);
        if has_waiting {
            self.wake.notify_one();
        }
    }

    fn is_full(&self) -> bool {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .jobs
            .len()
            >= MAX_WAITING
    }

    fn work(&self, thread: usize) {
        let mut worker = Worker {
            thread,
            ..Worker::default()
        };
        while let Some(job) = self.next_job() {
            // Decrement the count even if a visitor panics; otherwise the other threads would wait
            // forever.
            let _guard = Working(self);
            self.run(&mut worker, &job);
        }
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.notices.append(&mut worker.late.notices);
        late.links.append(&mut worker.late.links);
        late.seen.append(&mut worker.late.seen);
    }

    /// Waits for a job. Returns `None` when no thread can produce any more.
    fn next_job(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = queue.jobs.pop() {
                queue.working += 1;
                return Some(job);
            }
            if queue.working == 0 {
                return None;
            }
            queue.waiting += 1;
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
        }
    }

    fn run(&self, worker: &mut Worker, job: &Job) {
        match &job.parent {
            Some(parent) => self.inside(worker, job, parent),
            None => match rustix::fs::open(&job.path, OPEN_FOLDER, Mode::empty()) {
                Ok(folder) => self.folder(worker, folder, &job.path, None, job.depth, &job.budget),
                Err(error) => worker.late.notices.push(unreadable(&job.path, error)),
            },
        }
        worker.count(&job.budget);
    }

    /// Visits some subfolders of a folder.
    fn inside(&self, worker: &mut Worker, job: &Job, parent: &Folder) {
        if self.keeps && worker.jobs.is_multiple_of(JOBS_PER_RESERVE) {
            reserve_heap();
        }
        worker.jobs += 1;
        let granted = job.budget.take(job.names.ends.len());
        if granted < job.names.ends.len() {
            let root = job.budget.root.clone();
            worker.late.notices.push(ScanNotice::TooMany {
                root,
                limit: job.budget.limit,
            });
        }
        let handle = parent.handle.as_fd();
        for (name, inode) in job.names.iter().take(granted) {
            let id = Some((parent.device, inode));
            if self.file_only(worker, handle, name, job, id) {
                continue;
            }
            let path = job.path.join(OsStr::from_bytes(name.to_bytes()));
            let flags = OPEN_FOLDER | OFlags::NOFOLLOW;
            match rustix::fs::openat(handle, name, flags, Mode::empty()) {
                Ok(folder) => self.folder(worker, folder, &path, id, job.depth, &job.budget),
                Err(error) => worker.late.notices.push(unreadable(&path, error)),
            }
        }
    }

    /// Reads `NAME/SKILL.md` without opening the folder. Returns `false` if there is no such file
    /// and the folder must be opened.
    fn file_only(
        &self,
        worker: &mut Worker,
        parent: BorrowedFd<'_>,
        name: &CStr,
        job: &Job,
        id: Option<Id>,
    ) -> bool {
        let Worker {
            thread,
            skills,
            buffer,
            name: file,
            sidecar,
            path,
            late,
            known,
            ..
        } = worker;
        if id.is_some_and(|id| known.as_ref().is_some_and(|known| known.contains(&id))) {
            return true;
        }
        file.clear();
        file.extend_from_slice(name.to_bytes());
        file.extend_from_slice(b"/SKILL.md");
        if self.asks {
            let stamp = |path: &[u8]| read::stamp(parent, OsStr::from_bytes(path));
            if let Some(now) = stamp(file) {
                sidecar.clear();
                sidecar.extend_from_slice(name.to_bytes());
                sidecar.push(b'/');
                sidecar.extend_from_slice(SIDECAR_PATH.as_bytes());
                let seen = Seen {
                    path: job.join(path, file),
                    root: job.budget.index,
                    thread: *thread,
                    stamp: now,
                    sidecar: stamp(sidecar),
                };
                if self.visit.is_known(&seen) {
                    if is_new(known, id) {
                        late.seen.extend(id);
                        *skills += 1;
                    }
                    return true;
                }
            }
        }
        let bytes = read::read_file(parent, OsStr::from_bytes(file), buffer);
        // An unreadable folder gives the same error for its files; open the folder to find out.
        if matches!(bytes, Err(ReadFault::Missing | ReadFault::Unreadable(_))) {
            return false;
        }
        if !is_new(known, id) {
            return true;
        }
        let path = job.join(path, file);
        late.seen.extend(id);
        *skills += 1;
        let package = PackageOnDisk::inside(parent, name);
        let (bytes, stamp) = read::split(bytes, buffer);
        let (root, thread, disk) = (job.budget.index, *thread, Some(&package));
        self.visit.visit(FoundSkill {
            path,
            bytes,
            stamp,
            root,
            thread,
            package: &package,
            disk,
        });
        true
    }

    /// Visits an open folder: a skill, or a folder that may contain skills.
    fn folder(
        &self,
        worker: &mut Worker,
        handle: OwnedFd,
        path: &Path,
        id: Option<Id>,
        depth: usize,
        budget: &Arc<Budget>,
    ) {
        if !is_new(&mut worker.known, id) {
            return;
        }
        if let Some(file) = read::skill_file(handle.as_fd()) {
            let id = id.or_else(|| {
                rustix::fs::fstat(&handle)
                    .ok()
                    .map(|stat| (stat.st_dev, stat.st_ino))
            });
            worker.late.seen.extend(id);
            worker.skills += 1;
            let name = read::folder_name(path);
            let (root, thread) = (budget.index, worker.thread);
            read::read_named(
                handle.as_fd(),
                path,
                name,
                file,
                &mut worker.buffer,
                &mut |found| {
                    self.visit.visit(FoundSkill {
                        root,
                        thread,
                        ..found
                    });
                },
            );
            return;
        }
        let device = rustix::fs::fstat(&handle).map_or(0, |stat| stat.st_dev);
        let folder = Arc::new(Folder { handle, device });
        let (parent, names) = (Some(Arc::clone(&folder)), Names::with_room());
        let mut folders = Folders {
            walker: self,
            path,
            depth,
            budget,
            parent,
            names,
        };
        let result = entries::for_each(folder.handle.as_fd(), &mut |entry| {
            folders.add(worker, entry)
        });
        if let Err(error) = result {
            worker.late.notices.push(unreadable(path, error));
        }
        folders.flush(worker, true);
    }

    /// Follows links last, sorted by path, so that the result does not depend on timing: a direct
    /// path takes precedence over a link, and then the first link.
    fn follow_links(&self) {
        let mut worker = Worker {
            known: Some(BTreeSet::new()),
            ..Worker::default()
        };
        loop {
            let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.links.append(&mut worker.late.links);
            late.notices.append(&mut worker.late.notices);
            late.links.sort_by(|a, b| b.0.cmp(&a.0));
            let Some((path, depth, budget)) = late.links.pop() else {
                return;
            };
            if let Some(known) = &mut worker.known {
                known.extend(late.seen.drain(..));
            }
            let Ok(stat) = rustix::fs::stat(&path) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                continue;
            }
            let id = (stat.st_dev, stat.st_ino);
            if worker
                .known
                .as_ref()
                .is_some_and(|known| known.contains(&id))
            {
                late.notices.push(ScanNotice::SeenBefore { path });
                continue;
            }
            if !self.visit.may_follow(budget.index, &path) {
                let target = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                late.notices.push(ScanNotice::Outside { path, target });
                continue;
            }
            drop(late);
            let limit = budget.limit.min(self.options.max_linked_folders);
            let budget = Arc::new(Budget {
                index: budget.index,
                left: AtomicUsize::new(limit),
                limit,
                root: path.clone(),
                skills: Arc::clone(&budget.skills),
            });
            match rustix::fs::open(&path, OPEN_FOLDER, Mode::empty()) {
                Ok(folder) => {
                    self.folder(&mut worker, folder, &path, Some(id), depth, &budget);
                    let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
                    late.followed.push(FollowedLink { path, id });
                }
                Err(error) => worker.late.notices.push(unreadable(&path, error)),
            }
            worker.count(&budget);
            // Run the jobs that the folder queued.
            while let Some(job) = self.next_job() {
                let _guard = Working(self);
                self.run(&mut worker, &job);
            }
        }
    }

    fn finish(self, by_root: Vec<usize>) -> WalkSummary {
        let late = self
            .late
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut notices = late.notices;
        notices.sort();
        notices.dedup();
        WalkSummary {
            skills: by_root.iter().sum(),
            by_root,
            notices,
            links: late.followed,
        }
    }
}

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

/// Returns `true` if a folder is visited for the first time, if that is tracked.
fn is_new(known: &mut Option<BTreeSet<Id>>, id: Option<Id>) -> bool {
    match (known, id) {
        (Some(known), Some(id)) => known.insert(id),
        _ => true,
    }
}

/// Number of jobs per call of [`reserve_heap`].
const JOBS_PER_RESERVE: usize = 32;
/// Memory for the skills of that many jobs, in bytes.
const RESERVE_BYTES: usize = 1024 * 1024;

/// Makes the allocator reserve memory for many skills at once, by allocating and freeing a large
/// block. Otherwise glibc's malloc grows the heap in small steps, each with a system call: by one
/// page on all threads but the main one, by a few dozen pages on that one.
pub(crate) fn reserve_heap() {
    // Blocks above the mmap threshold are returned to the system when freed, but freeing one raises
    // the threshold to its size. Free a larger block once, so that later ones stay in the heap.
    static RAISE_THRESHOLD: Once = Once::new();
    RAISE_THRESHOLD.call_once(|| allocate_and_free(2 * RESERVE_BYTES));
    allocate_and_free(RESERVE_BYTES);
}

fn allocate_and_free(bytes: usize) {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
}

/// Counts a thread as busy.
struct Working<'w>(&'w Walker<'w>);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.working -= 1;
        if queue.working == 0 && queue.jobs.is_empty() {
            self.0.wake.notify_all();
        }
    }
}

fn unreadable(path: &Path, error: rustix::io::Errno) -> ScanNotice {
    ScanNotice::Unreadable {
        path: path.to_owned(),
        reason: io_reason(std::io::Error::from(error)).to_lowercase(),
    }
}
