//! Finds every skill below a set of folders, with several threads and bounded memory.

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, Once, PoisonError};

use prowess_catalog::FileStamp;
use prowess_spec::ReadFault;
use prowess_spec::sidecar::SIDECAR_PATH;
use rustix::fs::{FileType, Mode, OFlags};

use super::entries::{self, Entry};
use super::package::OnDisk;
use super::read::{self, Found};

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

/// How many folders one piece of work holds.
const CHUNK: usize = 32;
/// How many folders behind one link are opened.
const MAX_LINKED_FOLDERS: usize = 20_000;
/// How many pieces may wait. Above that, whoever finds more does the work itself, so that memory
/// does not grow with the number of skills.
const MAX_WAITING: usize = 256;

/// Device and inode of a folder.
type Id = (u64, u64);

/// How to walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// How many threads work.
    pub threads: usize,
    /// How deep below a root skills are looked for.
    pub max_depth: usize,
    /// How many folders of one root are opened.
    pub max_folders: usize,
}

/// How many threads work, if nobody says otherwise. Asked once: the system has it in files.
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
            max_folders: 20_000,
        }
    }
}

/// Something that was not looked at, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// A folder that cannot be read.
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Folders below this one are too deep.
    TooDeep {
        /// The folder.
        path: PathBuf,
    },
    /// A root with more folders than are opened.
    TooMany {
        /// The root.
        root: PathBuf,
        /// The limit that was reached.
        limit: usize,
    },
    /// A name that Claude Code keeps for itself.
    Reserved {
        /// The folder.
        path: PathBuf,
    },
    /// A link to a folder that was already seen.
    SeenBefore {
        /// The link.
        path: PathBuf,
    },
}

impl Notice {
    /// Says what was not looked at, with paths as `show` writes them.
    pub fn explain(&self, show: &dyn Fn(&Path) -> String) -> String {
        match self {
            Self::Unreadable { path, reason } => format!("cannot read `{}`: {reason}", show(path)),
            Self::TooDeep { path } => {
                format!(
                    "folders below `{}` are too deep and were not searched",
                    show(path)
                )
            }
            Self::TooMany { root, limit } => {
                let limit = prowess_diag::wording::count(*limit, "folder");
                format!("only {limit} of `{}` were searched", show(root))
            }
            Self::Reserved { path } => {
                format!(
                    "`{}` was left out: Claude Code keeps this name for itself",
                    show(path)
                )
            }
            Self::SeenBefore { path } => {
                format!("`{}` leads to a folder that was seen before", show(path))
            }
        }
    }
}

/// What a walk did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many skills were found.
    pub skills: usize,
    /// How many were found below each root, in the order in which the roots were named.
    pub by_root: Vec<usize>,
    /// What was left out, in order.
    pub notices: Vec<Notice>,
}

/// Who is told of the skills.
pub trait Visit: Sync {
    /// Tells whether a skill is known in this very version, so that it need not be read. Asked
    /// only where [`Visit::knows_some`] says so.
    fn is_known(&self, _seen: &Seen<'_>) -> bool {
        false
    }

    /// Tells whether any skill may be known at all.
    fn knows_some(&self) -> bool {
        false
    }

    /// Takes a skill that was read.
    fn visit(&self, found: Found<'_>);
}

/// A skill that was seen and not read yet.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The path of its file.
    pub path: &'a Path,
    /// Which of the walked roots it was found under.
    pub root: usize,
    /// Which of the walking threads saw it, counted from 0.
    pub thread: usize,
    /// Which version of the file there is.
    pub stamp: FileStamp,
    /// Which version of `agents/openai.yaml` there is.
    pub sidecar: Option<FileStamp>,
}

/// A visitor that knows nothing.
struct Stranger<'v>(&'v (dyn Fn(Found<'_>) + Sync));

impl Visit for Stranger<'_> {
    fn visit(&self, found: Found<'_>) {
        (self.0)(found);
    }
}

/// Calls `visit` for every skill below the roots, from several threads, in no particular order.
/// A folder with SKILL.md is a leaf: nothing below it is searched.
pub fn walk(
    roots: &[PathBuf],
    options: WalkOptions,
    visit: &(dyn Fn(Found<'_>) + Sync),
) -> Summary {
    start(roots, options, &Stranger(visit), false)
}

/// Like [`walk`], for a visitor that may know some of the skills already, and that keeps something
/// of each.
pub fn walk_with(roots: &[PathBuf], options: WalkOptions, visit: &dyn Visit) -> Summary {
    start(roots, options, visit, true)
}

fn start(roots: &[PathBuf], options: WalkOptions, visit: &dyn Visit, keeps: bool) -> Summary {
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

/// Folders waiting to be looked at: the root itself, or some of the entries of a folder.
struct Job {
    parent: Option<Arc<Folder>>,
    path: PathBuf,
    names: Names,
    depth: usize,
    budget: Arc<Budget>,
}

impl Job {
    /// The path of a file below the folder, in memory that is used again and again.
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

/// A folder that others are opened from.
struct Folder {
    handle: OwnedFd,
    device: u64,
}

/// Names of folders in another one, in one piece of memory, and where each ends.
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

/// How many folders of a root may still be opened.
struct Budget {
    /// Which root it is, in the order in which they were named.
    index: usize,
    left: AtomicUsize,
    limit: usize,
    root: PathBuf,
    skills: Arc<AtomicUsize>,
}

impl Budget {
    /// Takes as many as there are, up to so many.
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
    /// How many threads wait for work: nobody else need be woken, which is a call of the system.
    waiting: usize,
}

/// What is put off, or kept, until all threads are done.
#[derive(Default)]
struct Late {
    notices: Vec<Notice>,
    links: Vec<(PathBuf, usize, Arc<Budget>)>,
    /// Device and inode of every skill folder found, to recognise one that a link leads to.
    seen: Vec<Id>,
}

struct Walker<'v> {
    options: WalkOptions,
    visit: &'v dyn Visit,
    /// Whether the visitor is asked what it knows.
    asks: bool,
    /// Whether the visitor keeps memory, which is asked for ahead then.
    keeps: bool,
    queue: Mutex<Queue>,
    wake: Condvar,
    late: Mutex<Late>,
}

/// What one thread keeps to itself.
#[derive(Default)]
struct Worker {
    /// Which thread it is.
    thread: usize,
    /// How many pieces of work it has done.
    jobs: usize,
    /// How many skills it found and did not count with those of their root yet.
    skills: usize,
    buffer: Vec<u8>,
    /// Scratch for names and paths, so that a skill costs no memory of its own.
    name: Vec<u8>,
    sidecar: Vec<u8>,
    path: Vec<u8>,
    late: Late,
    /// While links are followed: every folder that was seen, so that none is seen twice.
    known: Option<BTreeSet<Id>>,
}

impl Worker {
    /// Counts what was found with the skills of its root. Threads share that number, and one that
    /// another has just changed is slow to come by.
    fn count(&mut self, budget: &Budget) {
        budget
            .skills
            .fetch_add(std::mem::take(&mut self.skills), Ordering::Relaxed);
    }
}

/// Collects the folders of a folder into pieces of work.
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
            worker.late.notices.push(Notice::TooDeep {
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

    /// Hands the collected folders to another thread, or looks at them here: always the last ones,
    /// and all of them when too many wait already.
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
        let somebody_waits = queue.waiting > 0;
        drop(queue);
        if somebody_waits {
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
            // The count must go down even if a visitor panics, or the others would wait for ever.
            let _guard = Working(self);
            self.run(&mut worker, &job);
        }
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.notices.append(&mut worker.late.notices);
        late.links.append(&mut worker.late.links);
        late.seen.append(&mut worker.late.seen);
    }

    /// Waits for work; nothing once no thread can produce any more.
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

    /// Looks at some of the folders of a folder.
    fn inside(&self, worker: &mut Worker, job: &Job, parent: &Folder) {
        if self.keeps && worker.jobs.is_multiple_of(JOBS_PER_ROOM) {
            make_room();
        }
        worker.jobs += 1;
        let granted = job.budget.take(job.names.ends.len());
        if granted < job.names.ends.len() {
            let root = job.budget.root.clone();
            worker.late.notices.push(Notice::TooMany {
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

    /// Reads `NAME/SKILL.md` without opening the folder. False means: no such file, look closer.
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
        // A folder that may not be entered says the same of its files; look at the folder then.
        if matches!(bytes, Err(ReadFault::Missing | ReadFault::Unreadable(_))) {
            return false;
        }
        if !is_new(known, id) {
            return true;
        }
        let path = job.join(path, file);
        late.seen.extend(id);
        *skills += 1;
        let package = OnDisk::inside(parent, name);
        let (bytes, stamp) = read::split(bytes, buffer);
        let (root, thread, disk) = (job.budget.index, *thread, Some(&package));
        self.visit.visit(Found {
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

    /// Looks at an open folder: it is a skill, or its folders may hold some.
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
                    self.visit.visit(Found {
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

    /// Links come last, in order of their paths, so that which of two ways to a skill counts does
    /// not depend on timing: the direct one does, then the first link.
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
                late.notices.push(Notice::SeenBefore { path });
                continue;
            }
            drop(late);
            // Behind a link may lie anything: a home folder, the whole disk.
            let budget = Arc::new(Budget {
                index: budget.index,
                left: AtomicUsize::new(budget.limit.min(MAX_LINKED_FOLDERS)),
                limit: budget.limit.min(MAX_LINKED_FOLDERS),
                root: path.clone(),
                skills: Arc::clone(&budget.skills),
            });
            match rustix::fs::open(&path, OPEN_FOLDER, Mode::empty()) {
                Ok(folder) => self.folder(&mut worker, folder, &path, Some(id), depth, &budget),
                Err(error) => worker.late.notices.push(unreadable(&path, error)),
            }
            worker.count(&budget);
            // What the folder pushed for others to do is ours to do now.
            while let Some(job) = self.next_job() {
                let _guard = Working(self);
                self.run(&mut worker, &job);
            }
        }
    }

    fn finish(self, by_root: Vec<usize>) -> Summary {
        let late = self
            .late
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut notices = late.notices;
        notices.sort();
        notices.dedup();
        Summary {
            skills: by_root.iter().sum(),
            by_root,
            notices,
        }
    }
}

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

/// Whether a folder is seen for the first time, as far as that is kept.
fn is_new(known: &mut Option<BTreeSet<Id>>, id: Option<Id>) -> bool {
    match (known, id) {
        (Some(known), Some(id)) => known.insert(id),
        _ => true,
    }
}

/// How many pieces of work share what [`make_room`] asks for.
const JOBS_PER_ROOM: usize = 32;
/// What heads of that many skills need.
const ROOM: usize = 1024 * 1024;

/// Has the allocator get memory for many heads at once. That of the usual Linux asks the system for
/// every single page on all threads but the first, and for a few dozen on that one.
pub(crate) fn make_room() {
    // What is large comes from the system each time and goes back to it. How large that is, the
    // allocator learns from the largest such piece it was given back.
    static LEARN: Once = Once::new();
    LEARN.call_once(|| ask_for(2 * ROOM));
    ask_for(ROOM);
}

fn ask_for(bytes: usize) {
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

fn unreadable(path: &Path, error: rustix::io::Errno) -> Notice {
    let reason = std::io::Error::from(error).to_string();
    let reason = reason
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase();
    Notice::Unreadable {
        path: path.to_owned(),
        reason,
    }
}
