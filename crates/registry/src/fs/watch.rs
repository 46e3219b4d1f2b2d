//! Keeps a registry in step with the disk.
//!
//! The system's events only say *that* and roughly *where* something happened; what there is, a scan
//! finds out. So a lost or doubled event can make us late, never wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKindMask, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use prowess_catalog::{CatalogEntry, ChangeKind, SkillForm};
use prowess_spec::sidecar::SIDECAR_PATH;

use super::read::SKILL_FILES;
use super::walk::SKIPPED;
use crate::registry::Registry;
use crate::source::FaultKind;

/// More changed files than this are no longer looked at one by one.
const MOST_FILES: usize = 128;
/// Most linked skills of one root that are watched.
const MOST_LINKED: usize = 1000;
/// A file that is still being written is looked at again after this long.
const AGAIN: Duration = Duration::from_millis(500);
/// Reading is no event: we read more than anybody, and would hear of nothing but ourselves.
const HEARD: EventKindMask = EventKindMask::CORE.union(EventKindMask::ACCESS_CLOSE);
/// How deep below a root an event may be about a skill.
const MAX_DEPTH: usize = 12;

/// How the disk is watched.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// How long it must be quiet before we look.
    pub quiet: Duration,
    /// How long we wait for quiet at most.
    pub longest: Duration,
    /// How often we look without any event: a net under the system's events, some of which get
    /// lost, and under folders that cannot be watched.
    pub net: Duration,
    /// How often we look where the system cannot watch at all.
    pub poll: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            longest: Duration::from_secs(1),
            net: Duration::from_secs(30),
            poll: Duration::from_secs(2),
        }
    }
}

/// How changes are noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// The system says when something happens.
    Events,
    /// We look again and again; the system said why it cannot do better.
    Polling {
        /// What the system said.
        reason: String,
    },
}

/// A running watch. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watching {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

/// What events told and nobody has looked at yet. It cannot grow: past a limit, details are given
/// up and everything is looked at.
#[derive(Debug, Default)]
struct Pending {
    files: BTreeSet<PathBuf>,
    everything: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    stop: bool,
    /// How often the disk was looked at.
    looks: u64,
    mode: Option<WatchMode>,
}

#[derive(Debug, Default)]
struct Inbox {
    pending: Mutex<Pending>,
    wake: Condvar,
    /// Every root, whether it exists or not.
    roots: Mutex<Vec<PathBuf>>,
}

/// What an event means to us.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Nothing,
    File(PathBuf),
    Everything,
}

impl Registry {
    /// Watches the folders of this registry until the result is dropped.
    pub fn watch(&self, options: WatchOptions) -> Watching {
        let inbox = Arc::<Inbox>::default();
        let mut watch = Watch {
            registry: self.clone(),
            inbox: Arc::clone(&inbox),
            watcher: None,
            watched: BTreeMap::new(),
            options,
        };
        // Set up here, so that whatever happens after this call is noticed.
        watch.start();
        let thread = std::thread::Builder::new().name("skill-watch".to_owned());
        let thread = thread.spawn(move || watch.run()).ok();
        if thread.is_none() {
            let reason = "no thread could be started".to_owned();
            inbox.lock().mode = Some(WatchMode::Polling { reason });
        }
        Watching { inbox, thread }
    }
}

impl Watching {
    /// Returns how changes are noticed.
    pub fn mode(&self) -> WatchMode {
        self.inbox.lock().mode.clone().unwrap_or(WatchMode::Events)
    }

    /// Returns how often the disk was looked at since the watch began.
    pub fn looks(&self) -> u64 {
        self.inbox.lock().looks
    }

    /// Acts as if the system had lost events: everything is looked at.
    pub fn look_again(&self) {
        self.inbox.tell(Meaning::Everything);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.inbox.lock().stop = true;
        self.inbox.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // A watch that panicked has nothing more to tell.
            let _ = thread.join();
        }
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roots(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, meaning: Meaning) {
        let mut pending = self.lock();
        match meaning {
            Meaning::Nothing => return,
            Meaning::Everything => pending.everything = true,
            Meaning::File(path) => {
                pending.files.insert(path);
            }
        }
        if pending.files.len() > MOST_FILES {
            pending.files.clear();
            pending.everything = true;
        }
        let now = Instant::now();
        pending.first.get_or_insert(now);
        pending.last = Some(now);
        drop(pending);
        self.wake.notify_all();
    }

    /// Takes an event of the system.
    fn hear(&self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.tell(Meaning::Everything),
            Ok(event) => {
                let roots = self.roots().clone();
                for path in &event.paths {
                    self.tell(meaning(event.kind, path, &roots));
                }
            }
            Err(error) => {
                self.lock().mode = Some(WatchMode::Polling {
                    reason: error.to_string(),
                });
                self.tell(Meaning::Everything);
            }
        }
    }
}

/// What an event at a path means: only skill files, and folders that may hold some, count.
fn meaning(kind: EventKind, path: &Path, roots: &[PathBuf]) -> Meaning {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return Meaning::Nothing,
        _ => {}
    }
    let Some(root) = roots.iter().find(|root| path.starts_with(root)) else {
        // A folder on the way to a root that may come to exist, or cease to.
        let on_the_way = roots.iter().any(|root| root.starts_with(path));
        return if on_the_way {
            Meaning::Everything
        } else {
            Meaning::Nothing
        };
    };
    let inner = path.strip_prefix(root).unwrap_or(path);
    let is_skipped = |part: &std::ffi::OsStr| SKIPPED.iter().any(|skipped| part == *skipped);
    if inner.iter().count() > MAX_DEPTH || inner.iter().any(is_skipped) {
        return Meaning::Nothing;
    }
    if inner.as_os_str().is_empty() {
        return if is_markdown(path) {
            Meaning::File(path.to_owned())
        } else {
            Meaning::Everything
        };
    }
    let name = path.file_name().unwrap_or_default();
    let is_skill_file = SKILL_FILES.iter().any(|file| name == *file);
    let is_command = is_markdown(path) && root.ends_with("commands");
    if is_skill_file || is_command || path.ends_with(SIDECAR_PATH) {
        return Meaning::File(path.to_owned());
    }
    let may_be_folder = match kind {
        EventKind::Modify(ModifyKind::Name(_)) => true,
        EventKind::Modify(ModifyKind::Metadata(_)) => path.is_dir(),
        EventKind::Create(CreateKind::File)
        | EventKind::Remove(RemoveKind::File)
        | EventKind::Access(_)
        | EventKind::Modify(_) => false,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Any | EventKind::Other => true,
    };
    if !may_be_folder {
        return Meaning::Nothing;
    }
    // Inside a skill, no folder matters but the one of the sidecar.
    let above = path
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(root));
    let inside_skill = above
        .into_iter()
        .any(|folder| folder.join(SKILL_FILES[0]).exists());
    if inside_skill && name != "agents" {
        Meaning::Nothing
    } else {
        Meaning::Everything
    }
}

/// Skills of a root that are links, which the system does not watch with it.
fn linked_folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let folders = links
        .map(|link| link.path())
        .filter(|path| path.join(SKILL_FILES[0]).is_file());
    folders.take(MOST_LINKED).collect()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// The thread's own.
struct Watch {
    registry: Registry,
    inbox: Arc<Inbox>,
    watcher: Option<RecommendedWatcher>,
    /// What is watched, how deep, and which folder it was: a name may come to mean another one.
    watched: BTreeMap<PathBuf, (bool, u64)>,
    options: WatchOptions,
}

impl Watch {
    fn start(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        // What lies behind a link inside a skill is none of ours, and may be the whole disk.
        let config = notify::Config::default()
            .with_follow_symlinks(false)
            .with_event_kinds(HEARD);
        match RecommendedWatcher::new(move |event| inbox.hear(event), config) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                self.inbox.lock().mode = Some(WatchMode::Polling {
                    reason: error.to_string(),
                });
            }
        }
        self.rewatch();
        // What changed between the last scan and the first watch.
        self.inbox.tell(Meaning::Everything);
    }

    fn run(mut self) {
        let mut next_net = Instant::now() + self.interval();
        loop {
            let Some((files, everything)) = self.wait(next_net) else {
                return;
            };
            if everything || files.is_empty() {
                self.look_at_everything();
            } else {
                let files: Vec<PathBuf> = files.into_iter().collect();
                self.registry.refresh_files(&files);
            }
            self.inbox.lock().looks += 1;
            next_net = Instant::now() + self.interval();
            // A file that was being written when we came: its last event may be behind us.
            let moving = |fault: &crate::source::Fault| fault.why == FaultKind::Moving;
            if self.registry.report().faults.iter().any(moving) {
                next_net = next_net.min(Instant::now() + self.options.quiet.max(AGAIN));
            }
        }
    }

    fn interval(&self) -> Duration {
        match self.inbox.lock().mode {
            Some(WatchMode::Polling { .. }) => self.options.poll,
            _ => self.options.net,
        }
    }

    /// Waits until something happened and it is quiet again, or until the net is due. Nothing
    /// means that the watch is over.
    fn wait(&self, net: Instant) -> Option<(BTreeSet<PathBuf>, bool)> {
        let mut pending = self.inbox.lock();
        loop {
            if pending.stop {
                return None;
            }
            let due = match (pending.first, pending.last) {
                (Some(first), Some(last)) => (last + self.options.quiet)
                    .min(first + self.options.longest)
                    .min(net),
                _ => net,
            };
            let now = Instant::now();
            if now >= due {
                pending.first = None;
                pending.last = None;
                let everything = std::mem::take(&mut pending.everything);
                return Some((std::mem::take(&mut pending.files), everything));
            }
            let waited = self.inbox.wake.wait_timeout(pending, due - now);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Scans all folders, and again those that were not watched before: what happened in them until
    /// then, nobody told us.
    fn look_at_everything(&mut self) {
        let before = self.registry.snapshot();
        let after = self.registry.refresh();
        let mut new_folders = self.rewatch();
        let mut edited: Vec<PathBuf> = Vec::new();
        for change in prowess_catalog::changes(&before, &after) {
            let mut same_name = after.group(&change.name).iter();
            let entry = same_name.find(|entry| entry.skill.id == change.id);
            let is_folder = |entry: &&CatalogEntry| entry.skill.form == SkillForm::Folder;
            let file = entry
                .filter(is_folder)
                .map(|entry| Path::new(&*entry.skill.location));
            if let (Some(file), Some(watcher)) = (file, &mut self.watcher)
                && let Some(folder) = file.parent().filter(|folder| folder.is_dir())
                && watcher.watch(folder, RecursiveMode::Recursive).is_ok()
            {
                // Beside a skill that was there before, nothing new can have come unseen.
                new_folders |= change.kind != ChangeKind::Changed;
                edited.push(file.to_owned());
            }
        }
        if new_folders || edited.len() > MOST_FILES {
            self.registry.refresh();
        } else if !edited.is_empty() {
            self.registry.refresh_files(&edited);
        }
    }

    /// Watches every root that exists, and the nearest folder above every one that does not. Tells
    /// whether anything is watched now that was not before.
    fn rewatch(&mut self) -> bool {
        let sources = self.registry.file_sources();
        let roots: BTreeSet<PathBuf> = sources
            .iter()
            .flat_map(|source| crate::SkillSource::watched(&**source))
            .collect();
        *self.inbox.roots() = roots.iter().cloned().collect();
        let mut wanted: BTreeMap<PathBuf, (bool, u64)> = BTreeMap::new();
        for root in roots {
            let inode = |path: &Path| std::fs::metadata(path).ok().map(|facts| facts.ino());
            if let Some(inode) = inode(&root) {
                for linked in linked_folders(&root) {
                    let id = std::fs::metadata(&linked).map_or(0, |facts| facts.ino());
                    wanted.insert(linked, (true, id));
                }
                // A file that is a skill on its own is watched through its folder.
                let folder = root.parent().filter(|_| root.is_file()).map(Path::to_owned);
                let deep = folder.is_none();
                wanted.insert(folder.unwrap_or(root), (deep, inode));
            } else if let Some((above, inode)) = root
                .ancestors()
                .skip(1)
                .find_map(|above| inode(above).map(|inode| (above, inode)))
            {
                wanted.entry(above.to_owned()).or_insert((false, inode));
            }
        }
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        for (path, old) in &self.watched {
            if wanted.get(path) != Some(old) {
                // It may be gone already; then so is its watch.
                let _ = watcher.unwatch(path);
            }
        }
        let mut new = false;
        let mut failed = None;
        for (path, wish) in &wanted {
            if self.watched.get(path) == Some(wish) {
                continue;
            }
            let mode = if wish.0 {
                RecursiveMode::Recursive
            } else {
                RecursiveMode::NonRecursive
            };
            match watcher.watch(path, mode) {
                Ok(()) => new = true,
                Err(error) => failed = Some(error.to_string()),
            }
        }
        self.watched = wanted;
        if let Some(reason) = failed {
            self.inbox.lock().mode = Some(WatchMode::Polling { reason });
        }
        new
    }
}
