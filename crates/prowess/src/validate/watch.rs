//! Watches the checked paths for changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use prowess_registry::{
    FileOptions, FileSource, Registry, Subscription, WalkOptions, WatchHandle, WatchOptions,
    mission_file_stamps,
};

use crate::validate::job::MAX_DEPTH;

/// The interval at which mission files are looked at: the registry watches skills only.
const MISSION_INTERVAL: Duration = Duration::from_millis(500);

/// The times and sizes of files.
type FileStamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Watches paths until it is dropped.
#[derive(Debug)]
pub struct PathWatch {
    /// The paths with mission files.
    missions: Vec<PathBuf>,
    stamps: RefCell<FileStamps>,
    changes: Subscription,
    _watching: WatchHandle,
    _registry: Registry,
}

impl PathWatch {
    /// Starts watching.
    pub fn start(paths: Vec<PathBuf>, current: &Path) -> Self {
        let registry = Registry::default();
        let missions = paths.iter().map(|path| current.join(path));
        let missions: Vec<PathBuf> = missions
            .filter(|path| !mission_file_stamps(path).is_empty())
            .collect();
        for path in paths {
            // A SKILL.md is watched with its folder.
            let folder = path.parent().filter(|_| path.is_file()).map(Path::to_owned);
            let folder = current.join(folder.unwrap_or(path));
            let walk = WalkOptions {
                max_depth: MAX_DEPTH,
                ..WalkOptions::default()
            };
            let options = FileOptions {
                walk,
                ..FileOptions::default()
            };
            registry.add_files(FileSource::of_folder(folder, options));
        }
        let watching = registry.watch(WatchOptions::default());
        registry.refresh();
        let changes = registry.subscribe();
        Self {
            stamps: RefCell::new(stamps(&missions)),
            missions,
            changes,
            _watching: watching,
            _registry: registry,
        }
    }

    /// Waits for a change until the timeout. Returns `true` if there was one.
    pub fn changed_within(&self, timeout: Duration) -> bool {
        if self.missions.is_empty() {
            return self.changes.next_within(timeout).is_some();
        }
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_changed = self
                .changes
                .next_within(left.min(MISSION_INTERVAL))
                .is_some();
            let now = stamps(&self.missions);
            let before = self.stamps.replace(now.clone());
            if is_changed || before != now {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }
}

fn stamps(paths: &[PathBuf]) -> FileStamps {
    let all = paths.iter();
    all.flat_map(|path| mission_file_stamps(path)).collect()
}
