//! Watches the checked paths for changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_registry::{
    FileOptions, FileSource, Registry, Subscription, WalkOptions, WatchHandle, WatchOptions,
};

use crate::validate::job::MAX_DEPTH;

/// Watches paths until it is dropped.
#[derive(Debug)]
pub struct PathWatch {
    changes: Subscription,
    _watching: WatchHandle,
    _registry: Registry,
}

impl PathWatch {
    /// Starts watching.
    pub fn start(paths: Vec<PathBuf>, current: &Path) -> Self {
        let registry = Registry::default();
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
            changes,
            _watching: watching,
            _registry: registry,
        }
    }

    /// Waits for a change until the timeout. Returns `true` if there was one.
    pub fn changed_within(&self, timeout: Duration) -> bool {
        self.changes.next_within(timeout).is_some()
    }
}
