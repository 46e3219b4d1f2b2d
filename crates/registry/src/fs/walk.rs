//! Finds every skill below a set of folders, with several threads and bounded memory.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::package::Listing;
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
/// How many pieces may wait. Above that, whoever finds more does the work itself, so that memory
/// does not grow with the number of skills.
const MAX_WAITING: usize = 256;

/// How to walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// How many threads work.
    pub threads: usize,
    /// How deep below a root skills are looked for.
    pub max_depth: usize,
    /// How many folders of one root are opened.
    pub max_folders: usize,
    /// Whether the files of each skill are listed.
    pub listing: Listing,
}

impl Default for WalkOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            threads: threads.min(16),
            max_depth: 6,
            max_folders: 20_000,
            listing: Listing::Files,
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
    /// A link to a folder that was already seen.
    SeenBefore {
        /// The link.
        path: PathBuf,
    },
}

/// What a walk did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many skills were found.
    pub skills: usize,
    /// What was left out, in order.
    pub notices: Vec<Notice>,
}

/// Calls `visit` for every skill below the roots, from several threads, in no particular order.
/// A folder with SKILL.md is a leaf: nothing below it is searched.
pub fn walk(
    roots: &[PathBuf],
    options: WalkOptions,
    visit: &(dyn Fn(Found<'_>) + Sync),
) -> Summary {
    let walker = Walker {
        options,
        visit,
        queue: Mutex::new(Queue {
            jobs: Vec::new(),
            working: 0,
        }),
        wake: Condvar::new(),
        skills: AtomicUsize::new(0),
        late: Mutex::new(Late::default()),
    };
    for root in roots {
        let budget = Arc::new(Budget {
            left: AtomicUsize::new(options.max_folders),
            root: root.clone(),
        });
        walker.push(Job {
            parent: None,
            path: root.clone(),
            names: Vec::new(),
            depth: 0,
            budget,
        });
    }
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(|| walker.work());
        }
        walker.work();
    });
    walker.follow_links();
    walker.finish()
}

/// Folders waiting to be looked at: the root itself, or some of the entries of a folder.
struct Job {
    parent: Option<Arc<OwnedFd>>,
    path: PathBuf,
    names: Vec<CString>,
    depth: usize,
    budget: Arc<Budget>,
}

/// How many folders of a root may still be opened.
struct Budget {
    left: AtomicUsize,
    root: PathBuf,
}

impl Budget {
    fn take(&self) -> bool {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }
}

struct Queue {
    jobs: Vec<Job>,
    working: usize,
}

/// What is put off, or kept, until all threads are done.
#[derive(Default)]
struct Late {
    notices: Vec<Notice>,
    links: Vec<(PathBuf, usize, Option<Arc<Budget>>)>,
    /// Device and inode of every skill folder found, to recognise one that a link leads to.
    seen: BTreeSet<(u64, u64)>,
}

struct Walker<'v> {
    options: WalkOptions,
    visit: &'v (dyn Fn(Found<'_>) + Sync),
    queue: Mutex<Queue>,
    wake: Condvar,
    skills: AtomicUsize,
    late: Mutex<Late>,
}

/// What one thread keeps to itself.
#[derive(Default)]
struct Worker {
    buffer: Vec<u8>,
    late: Late,
}

impl Walker<'_> {
    fn push(&self, job: Job) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push(job);
        drop(queue);
        self.wake.notify_one();
    }

    fn is_full(&self) -> bool {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .jobs
            .len()
            >= MAX_WAITING
    }

    fn work(&self) {
        let mut worker = Worker::default();
        while let Some(job) = self.next_job() {
            // The count must go down even if a visitor panics, or the others would wait for ever.
            let _guard = Working(self);
            self.run(&mut worker, job);
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
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, worker: &mut Worker, job: Job) {
        let Some(parent) = &job.parent else {
            match rustix::fs::open(&job.path, OPEN_FOLDER, Mode::empty()) {
                Ok(folder) => self.folder(worker, folder, &job.path, job.depth, &job.budget),
                Err(error) => worker.late.notices.push(unreadable(&job.path, error)),
            }
            return;
        };
        for name in &job.names {
            let path = job.path.join(OsStr::from_bytes(name.to_bytes()));
            if !job.budget.take() {
                let notice = Notice::TooMany {
                    root: job.budget.root.clone(),
                    limit: self.options.max_folders,
                };
                worker.late.notices.push(notice);
                return;
            }
            match rustix::fs::openat(
                parent,
                name.as_c_str(),
                OPEN_FOLDER | OFlags::NOFOLLOW,
                Mode::empty(),
            ) {
                Ok(folder) => self.folder(worker, folder, &path, job.depth, &job.budget),
                Err(error) => worker.late.notices.push(unreadable(&path, error)),
            }
        }
    }

    /// Looks at an open folder: it is a skill, or its folders may hold some.
    fn folder(
        &self,
        worker: &mut Worker,
        folder: OwnedFd,
        path: &Path,
        depth: usize,
        budget: &Arc<Budget>,
    ) {
        let name = read::folder_name(path);
        if let Some(found) = read::read_folder(
            &folder,
            path,
            name,
            &mut worker.buffer,
            self.options.listing,
        ) {
            if let Ok(stat) = rustix::fs::fstat(&folder) {
                worker.late.seen.insert((stat.st_dev, stat.st_ino));
            }
            self.skills.fetch_add(1, Ordering::Relaxed);
            (self.visit)(found);
            return;
        }
        let folder = Arc::new(folder);
        let entries = match Dir::read_from(folder.as_fd()) {
            Ok(entries) => entries,
            Err(error) => {
                worker.late.notices.push(unreadable(path, error));
                return;
            }
        };
        let new_job = |names| Job {
            parent: Some(Arc::clone(&folder)),
            path: path.to_owned(),
            names,
            depth: depth + 1,
            budget: Arc::clone(budget),
        };
        let mut names = Vec::with_capacity(CHUNK);
        for entry in entries {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            if name == c"."
                || name == c".."
                || SKIPPED
                    .iter()
                    .any(|skipped| skipped.as_bytes() == name.to_bytes())
            {
                continue;
            }
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                FileType::Symlink => {
                    let link = path.join(OsStr::from_bytes(name.to_bytes()));
                    worker
                        .late
                        .links
                        .push((link, depth + 1, Some(Arc::clone(budget))));
                    false
                }
                FileType::Unknown => {
                    rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| {
                            FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                        })
                }
                _ => false,
            };
            if !is_folder {
                continue;
            }
            if depth >= self.options.max_depth {
                worker.late.notices.push(Notice::TooDeep {
                    path: path.to_owned(),
                });
                return;
            }
            names.push(name.to_owned());
            if names.len() == CHUNK {
                let job = new_job(std::mem::take(&mut names));
                if self.is_full() {
                    self.run(worker, job);
                } else {
                    self.push(job);
                }
            }
        }
        if !names.is_empty() {
            self.run(worker, new_job(names));
        }
    }

    /// Links come last, in order of their paths, so that which of two ways to a skill counts does
    /// not depend on timing: the direct one does, then the first link.
    fn follow_links(&self) {
        let mut worker = Worker::default();
        let mut entered: BTreeSet<(u64, u64)> = BTreeSet::new();
        loop {
            let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.links.append(&mut worker.late.links);
            late.notices.append(&mut worker.late.notices);
            late.seen.append(&mut worker.late.seen);
            late.links.sort_by(|a, b| b.0.cmp(&a.0));
            let Some((path, depth, budget)) = late.links.pop() else {
                return;
            };
            let Ok(stat) = rustix::fs::stat(&path) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                continue;
            }
            let id = (stat.st_dev, stat.st_ino);
            if late.seen.contains(&id) || !entered.insert(id) {
                late.notices.push(Notice::SeenBefore { path });
                continue;
            }
            drop(late);
            let Some(budget) = budget.filter(|budget| budget.take()) else {
                continue;
            };
            match rustix::fs::open(&path, OPEN_FOLDER, Mode::empty()) {
                Ok(folder) => self.folder(&mut worker, folder, &path, depth, &budget),
                Err(error) => worker.late.notices.push(unreadable(&path, error)),
            }
            // What the folder pushed for others to do is ours to do now.
            while let Some(job) = self.next_job() {
                let _guard = Working(self);
                self.run(&mut worker, job);
            }
        }
    }

    fn finish(self) -> Summary {
        let late = self
            .late
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut notices = late.notices;
        notices.sort();
        notices.dedup();
        Summary {
            skills: self.skills.into_inner(),
            notices,
        }
    }
}

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

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
