//! Keeps a registry in sync with the disk.
//!
//! File system events only say *that* and roughly *where* something happened; a scan finds out what
//! changed. A lost or duplicate event can therefore delay an update, but never make it wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKindMask, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use prowess_catalog::{CatalogEntry, ChangeKind, SkillForm};
use prowess_spec::sidecar::SIDECAR_PATH;

use super::read::SKILL_FILES;
use super::walk::SKIPPED;
use crate::registry::Registry;
use crate::source::SourceFaultKind;

/// Maximum number of changed files that are handled one by one.
const MAX_FILES: usize = 128;
/// Maximum number of linked skills watched per root.
const MAX_LINKED: usize = 1000;
/// Delay before a file that is being written is read again.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Event types to watch. Reads are excluded, because our own scans would trigger them.
const EVENT_MASK: EventKindMask = EventKindMask::CORE.union(EventKindMask::ACCESS_CLOSE);
/// Maximum depth below a root at which an event can concern a skill.
const MAX_DEPTH: usize = 12;
/// A scan takes at most one part in this many of the time between regular scans.
const SCAN_SHARE: u32 = 20;
/// Maximum time that [`Registry::settle`] waits for the watches to be set up, once.
const SETUP_WAIT: Duration = Duration::from_secs(1);
/// Maximum time that [`Registry::settle`] waits for the event of a marker.
const MARKER_WAIT: Duration = Duration::from_secs(2);
/// Maximum time that [`Registry::settle`] waits for a scan.
const SCAN_WAIT: Duration = Duration::from_secs(2);
/// Number of lost markers after which markers are no longer used.
const MAX_LOST: u32 = 3;

/// Options of a watcher.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// Quiet period before a rescan.
    pub quiet: Duration,
    /// Maximum delay of a rescan.
    pub longest: Duration,
    /// Interval of rescans without any event, for lost events and for folders that cannot be
    /// watched.
    pub net: Duration,
    /// Polling interval if events are not available.
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

/// Method of change detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// By file system events.
    Events,
    /// By polling, because events are not available.
    Polling {
        /// System error.
        reason: String,
    },
}

/// A running watcher. Dropping it stops watching.
#[derive(Debug)]
pub struct WatchHandle {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

/// Events not yet handled. Bounded: beyond a limit, the details are dropped and everything is
/// rescanned.
#[derive(Debug, Default)]
struct Pending {
    files: BTreeSet<PathBuf>,
    everything: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    stop: bool,
    /// `true` once the watches are set up.
    ready: bool,
    /// `true` if a caller has waited for the watches in vain. The others do not wait.
    waited: bool,
    /// `true` during a scan.
    busy: bool,
    /// Markers whose event has not arrived yet.
    markers: BTreeSet<PathBuf>,
    /// Number of the last marker.
    marked: u64,
    /// Number of consecutive markers whose event never arrived.
    lost: u32,
    /// Number of scans.
    looks: u64,
    mode: Option<WatchMode>,
}

/// Events of one watcher.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pending: Mutex<Pending>,
    wake: Condvar,
    /// All roots, including ones that do not exist.
    roots: Mutex<Arc<[PathBuf]>>,
    /// The folder of markers. See [`Registry::settle`].
    markers: Option<PathBuf>,
}

/// Effect of an event.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Nothing,
    File(PathBuf),
    Everything,
}

impl Registry {
    /// Watches the folders of this registry until the result is dropped.
    pub fn watch(&self, options: WatchOptions) -> WatchHandle {
        let inbox = Arc::<Inbox>::default();
        let mut watch = Watch::new(self, &inbox, options);
        // Set up the watches here, so that everything after this call is noticed.
        watch.start();
        // Catch changes between the last scan and the first watch.
        inbox.tell(Meaning::Everything);
        inbox.update(|pending| pending.ready = true);
        self.run_watch(&inbox, move || watch.run())
    }

    /// Watches the folders of this registry like [`Registry::watch`], but returns at once: the
    /// watches are set up on the thread of the watcher, followed by a scan that finds what changed
    /// before. [`Registry::settle`] creates short-lived files in the folder `markers`.
    pub fn watch_in_background(
        &self,
        options: WatchOptions,
        markers: Option<PathBuf>,
    ) -> WatchHandle {
        // The folder may be the first one inside the state folder of the user.
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let markers = markers.filter(|folder| builder.create(folder).is_ok());
        let inbox = Arc::new(Inbox {
            markers,
            ..Inbox::default()
        });
        let mut watch = Watch::new(self, &inbox, options);
        self.run_watch(&inbox, move || {
            watch.start();
            watch.scan(None);
            watch.inbox.update(|pending| pending.ready = true);
            watch.run();
        })
    }

    fn run_watch(&self, inbox: &Arc<Inbox>, run: impl FnOnce() + Send + 'static) -> WatchHandle {
        let thread = std::thread::Builder::new().name("skill-watch".to_owned());
        let thread = thread.spawn(run).ok();
        if thread.is_none() {
            let reason = "cannot start a thread".to_owned();
            inbox.update(|pending| {
                pending.mode = Some(WatchMode::Polling { reason });
                pending.stop = true;
            });
        }
        self.set_watched_by(inbox);
        let inbox = Arc::clone(inbox);
        WatchHandle { inbox, thread }
    }

    /// Waits until changes that were made before this call are in the catalogue. Returns without a
    /// scan if nothing changed. Returns `false` if changes may follow later: no watcher runs, it
    /// polls, it was started without a folder for markers, or the wait took too long.
    pub fn settle(&self) -> bool {
        self.watched_by().is_some_and(|inbox| inbox.settle())
    }
}

impl WatchHandle {
    /// Returns how changes are detected.
    pub fn mode(&self) -> WatchMode {
        self.inbox.lock().mode.clone().unwrap_or(WatchMode::Events)
    }

    /// Returns the number of scans since the watcher started.
    pub fn looks(&self) -> u64 {
        self.inbox.lock().looks
    }

    /// Rescans everything, as after lost events.
    pub fn look_again(&self) {
        self.inbox.tell(Meaning::Everything);
    }

    /// Stops watching without waiting for a scan in progress. For programs that are about to exit.
    pub fn detach(mut self) {
        self.thread = None;
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.inbox.update(|pending| pending.stop = true);
        if let Some(thread) = self.thread.take() {
            // Ignore a panic of the watcher thread.
            let _ = thread.join();
        }
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roots(&self) -> MutexGuard<'_, Arc<[PathBuf]>> {
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
        if pending.files.len() > MAX_FILES {
            pending.files.clear();
            pending.everything = true;
        }
        let now = Instant::now();
        pending.first.get_or_insert(now);
        pending.last = Some(now);
        drop(pending);
        self.wake.notify_all();
    }

    /// Changes the state and wakes all threads that wait for it.
    fn update(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.lock());
        self.wake.notify_all();
    }

    /// Waits while the state satisfies `waits`, up to a limit. Returns `true` if it no longer does.
    fn wait_while(&self, limit: Duration, mut waits: impl FnMut(&Pending) -> bool) -> bool {
        let goes_on = |pending: &mut Pending| !pending.stop && waits(pending);
        let waited = self.wake.wait_timeout_while(self.lock(), limit, goes_on);
        let (pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !pending.stop && !waits(&pending)
    }

    fn settle(&self) -> bool {
        if !self.wait_while(SETUP_WAIT, |pending| !pending.ready && !pending.waited) {
            self.lock().waited = true;
        }
        if !self.lock().ready {
            return false;
        }
        let is_marked = self.wait_for_marker();
        let is_idle = self.wait_while(SCAN_WAIT, |pending| pending.first.is_some() || pending.busy);
        is_marked && is_idle
    }

    /// Creates a file and waits for its event. Events arrive in order, so those of earlier changes
    /// have arrived as well. Returns `false` if the event did not arrive.
    fn wait_for_marker(&self) -> bool {
        let Some(folder) = &self.markers else {
            return false;
        };
        let marker = {
            let mut pending = self.lock();
            if pending.lost >= MAX_LOST {
                return false;
            }
            pending.marked += 1;
            let name = format!("{}-{}", std::process::id(), pending.marked);
            let marker = folder.join(name);
            pending.markers.insert(marker.clone());
            marker
        };
        if std::fs::File::create_new(&marker).is_ok() {
            self.wait_while(MARKER_WAIT, |pending| pending.markers.contains(&marker));
            // Ignore errors: an empty file that stays behind does no harm.
            let _ = std::fs::remove_file(&marker);
        }
        let mut pending = self.lock();
        let is_lost = pending.markers.remove(&marker);
        pending.lost = if is_lost { pending.lost + 1 } else { 0 };
        !is_lost
    }

    /// Handles a file system event.
    fn hear(&self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.tell(Meaning::Everything),
            Ok(event) => {
                if let Some(folder) = &self.markers
                    && event.paths.iter().any(|path| path.starts_with(folder))
                {
                    self.update(|pending| {
                        pending
                            .markers
                            .retain(|marker| !event.paths.contains(marker));
                    });
                }
                let roots = Arc::clone(&self.roots());
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

/// Returns the effect of an event at a path. Only skill files and folders that may contain them
/// matter.
fn meaning(kind: EventKind, path: &Path, roots: &[PathBuf]) -> Meaning {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return Meaning::Nothing,
        _ => {}
    }
    let Some(root) = roots.iter().find(|root| path.starts_with(root)) else {
        // A parent of a root that does not exist yet, or may be removed.
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
    // Inside a skill, only the folder of the sidecar matters.
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

/// Returns the linked skills of a root, which are not watched together with it.
fn linked_folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let folders = links
        .map(|link| link.path())
        .filter(|path| path.join(SKILL_FILES[0]).is_file());
    folders.take(MAX_LINKED).collect()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// The inode and the time of creation of a folder. Both, because a new folder may get the inode of
/// one that was just removed.
type FolderIdentity = (u64, Option<SystemTime>);

fn identity(path: &Path) -> Option<FolderIdentity> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.ino(), facts.created().ok()))
}

/// State of the watcher thread.
struct Watch {
    registry: Registry,
    inbox: Arc<Inbox>,
    watcher: Option<RecommendedWatcher>,
    /// Watched paths, with the recursion flag and the identity of the folder: a path may be replaced
    /// by another folder.
    watched: BTreeMap<PathBuf, (bool, FolderIdentity)>,
    options: WatchOptions,
}

impl Watch {
    fn new(registry: &Registry, inbox: &Arc<Inbox>, options: WatchOptions) -> Self {
        Self {
            registry: registry.clone(),
            inbox: Arc::clone(inbox),
            watcher: None,
            watched: BTreeMap::new(),
            options,
        }
    }

    fn start(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        // Do not follow links inside a skill: they may lead to the whole disk.
        let config = notify::Config::default()
            .with_follow_symlinks(false)
            .with_event_kinds(EVENT_MASK);
        match RecommendedWatcher::new(move |event| inbox.hear(event), config) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                self.inbox.lock().mode = Some(WatchMode::Polling {
                    reason: error.to_string(),
                });
            }
        }
        self.rewatch();
    }

    /// Scans these files, or everything.
    fn scan(&mut self, files: Option<&[PathBuf]>) {
        match files {
            Some(files) => {
                self.registry.refresh_files(files);
            }
            None => self.look_at_everything(),
        }
        self.inbox.update(|pending| {
            pending.looks += 1;
            pending.busy = false;
        });
    }

    fn run(mut self) {
        let mut next_net = Instant::now() + self.interval();
        loop {
            let Some((files, everything)) = self.wait(next_net) else {
                return;
            };
            let began = Instant::now();
            let files: Vec<PathBuf> = files.into_iter().collect();
            self.scan((!everything && !files.is_empty()).then_some(&files));
            // Large libraries are scanned less often.
            let pause = began.elapsed().saturating_mul(SCAN_SHARE);
            next_net = Instant::now() + self.interval().max(pause);
            // Retry files that were being written: their last event may already be consumed.
            let moving = |fault: &crate::source::SourceFault| fault.why == SourceFaultKind::Moving;
            if self.registry.report().faults.iter().any(moving) {
                next_net = next_net.min(Instant::now() + self.options.quiet.max(RETRY_DELAY));
            }
        }
    }

    fn interval(&self) -> Duration {
        match self.inbox.lock().mode {
            Some(WatchMode::Polling { .. }) => self.options.poll,
            _ => self.options.net,
        }
    }

    /// Waits for an event and a quiet period, or until the next regular rescan. Returns `None` when
    /// the watcher is stopped.
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
                pending.busy = true;
                let everything = std::mem::take(&mut pending.everything);
                return Some((std::mem::take(&mut pending.files), everything));
            }
            let waited = self.inbox.wake.wait_timeout(pending, due - now);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Scans all folders, and scans newly watched ones again to catch changes made before they were
    /// watched.
    fn look_at_everything(&mut self) {
        let before = self.registry.snapshot();
        let after = self.registry.refresh();
        let mut new_folders = self.rewatch();
        let mut edited: Vec<PathBuf> = Vec::new();
        for change in prowess_catalog::changes(&before, &after) {
            let mut same_name = after.group(&change.name).iter();
            let entry = same_name.find(|entry| entry.skill.id == change.id);
            let is_folder = |entry: &&CatalogEntry| entry.skill.form == SkillForm::Folder;
            let file = entry.filter(is_folder).and_then(|entry| entry.skill.file());
            if let (Some(file), Some(watcher)) = (file.as_deref(), &mut self.watcher)
                && let Some(folder) = file.parent().filter(|folder| folder.is_dir())
                && watcher.watch(folder, RecursiveMode::Recursive).is_ok()
            {
                // A changed skill adds no new folder to watch.
                new_folders |= change.kind != ChangeKind::Changed;
                edited.push(file.to_owned());
            }
        }
        if new_folders || edited.len() > MAX_FILES {
            self.registry.refresh();
        } else if !edited.is_empty() {
            self.registry.refresh_files(&edited);
        }
    }

    /// Watches every existing root, and the nearest existing parent of every missing one. Returns
    /// `true` if anything new is watched.
    fn rewatch(&mut self) -> bool {
        let sources = self.registry.file_sources();
        let roots: BTreeSet<PathBuf> = sources
            .iter()
            .flat_map(|source| crate::SkillSource::searched(&**source))
            .map(|folder| folder.path)
            .collect();
        *self.inbox.roots() = roots.iter().cloned().collect();
        let mut wanted: BTreeMap<PathBuf, (bool, FolderIdentity)> = BTreeMap::new();
        for root in roots {
            if let Some(found) = identity(&root) {
                for linked in linked_folders(&root) {
                    let id = identity(&linked).unwrap_or_default();
                    wanted.insert(linked, (true, id));
                }
                // A single-file skill is watched through its folder.
                let folder = root.parent().filter(|_| root.is_file()).map(Path::to_owned);
                let deep = folder.is_none();
                wanted.insert(folder.unwrap_or(root), (deep, found));
            } else if let Some((above, found)) = root
                .ancestors()
                .skip(1)
                .find_map(|above| identity(above).map(|found| (above, found)))
            {
                wanted.entry(above.to_owned()).or_insert((false, found));
            }
        }
        if let Some(folder) = &self.inbox.markers
            && let Some(found) = identity(folder)
        {
            wanted.entry(folder.clone()).or_insert((false, found));
        }
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        for (path, old) in &self.watched {
            if wanted.get(path) != Some(old) {
                // Ignore errors: the path may be gone, and its watch with it.
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
