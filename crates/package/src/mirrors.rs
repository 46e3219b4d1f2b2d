//! Repositories on disk that a person named for a project. The manifest of a project may name those
//! outside of it only if they are recorded here: the file of another person must not read them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::fault::FaultPoints;
use crate::project::{read_text, write_new};

/// Most repositories of a project.
const MAX_MIRRORS: usize = 1_000;

/// The record of a scope.
#[derive(Clone, Debug)]
pub(crate) struct NamedMirrors {
    path: PathBuf,
}

impl NamedMirrors {
    /// Opens the record in the state folder of a scope.
    pub(crate) fn new(state: &Path) -> Self {
        Self {
            path: state.join("mirrors"),
        }
    }

    /// Returns the addresses. A record that cannot be read has none.
    pub(crate) fn urls(&self) -> Vec<String> {
        let text = read_text(&self.path).ok().flatten().unwrap_or_default();
        text.lines().take(MAX_MIRRORS).map(str::to_owned).collect()
    }

    /// Records an address.
    pub(crate) fn add(&self, url: &str, faults: &FaultPoints) -> io::Result<()> {
        let mut urls: BTreeSet<String> = self.urls().into_iter().collect();
        if !urls.insert(url.to_owned()) {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let text: String = urls.iter().map(|url| format!("{url}\n")).collect();
        write_new(&self.path, text.as_bytes(), faults)
    }
}
