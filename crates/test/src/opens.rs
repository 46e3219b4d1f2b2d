//! Counts how often files are opened, by this process or any other.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Counts how often each file below a folder is opened. The kernel counts, so that no code path can
/// be missed.
#[derive(Debug)]
pub struct Opens {
    handle: OwnedFd,
    folders: BTreeMap<i32, PathBuf>,
    root: PathBuf,
}

impl Opens {
    /// Starts to count below a folder.
    pub fn below(root: &Path) -> io::Result<Self> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let mut opens = Self {
            handle: inotify::init(flags)?,
            folders: BTreeMap::new(),
            root: root.to_owned(),
        };
        opens.watch(root)?;
        opens.take();
        Ok(opens)
    }

    fn watch(&mut self, folder: &Path) -> io::Result<()> {
        // Without the second flag the kernel would merge two opens in a row.
        let flags = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE;
        let watch = inotify::add_watch(&self.handle, folder, flags)?;
        self.folders.insert(watch, folder.to_owned());
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.watch(&path)?;
            }
        }
        Ok(())
    }

    /// Returns the files that were opened since the last call, each with how often. Paths are
    /// relative to the folder.
    pub fn take(&self) -> BTreeMap<String, usize> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.handle, &mut buffer);
        let mut found = BTreeMap::new();
        while let Ok(event) = reader.next() {
            let is_file = !event.events().contains(ReadFlags::ISDIR);
            if !is_file || !event.events().contains(ReadFlags::OPEN) {
                continue;
            }
            let name = event.file_name().and_then(|name| name.to_str().ok());
            let folder = self.folders.get(&event.wd());
            let path = folder.zip(name).map(|(folder, name)| folder.join(name));
            let Some(path) = path else { continue };
            let path = path.strip_prefix(&self.root).unwrap_or(&path);
            *found.entry(path.display().to_string()).or_default() += 1;
        }
        found
    }
}
