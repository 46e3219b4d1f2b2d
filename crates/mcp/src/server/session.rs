//! What is remembered of one client.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use prowess_catalog::SkillId;
use prowess_tools::Loaded;

use super::notify::Hub;
use super::resource_index::ServedFiles;

/// Most files that one client follows.
pub(crate) const MAX_FOLLOWED: usize = 1_000;

/// What is remembered of one client: what it was told about skills, so that it gets exactly the
/// bytes that it was told of, and which skills it loaded.
#[derive(Debug)]
pub(crate) struct Session {
    held: Mutex<HashMap<SkillId, (Arc<ServedFiles>, Instant)>>,
    /// How long that counts; nothing for as long as the client stays.
    fresh: Option<Duration>,
    loaded: Mutex<Loaded>,
    /// Addresses that the client follows.
    followed: Mutex<BTreeSet<String>>,
    hub: Weak<Hub>,
}

impl Session {
    pub(crate) fn new(hub: &Arc<Hub>, fresh: Option<Duration>) -> Self {
        let (held, loaded, followed) = Default::default();
        Self {
            held,
            fresh,
            loaded,
            followed,
            hub: Arc::downgrade(hub),
        }
    }

    /// Remembers what a client was told about a skill.
    pub(crate) fn hold(&self, id: &SkillId, contents: Arc<ServedFiles>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fresh) = self.fresh {
            held.retain(|_, (_, since)| since.elapsed() < fresh);
        }
        held.insert(id.clone(), (contents, Instant::now()));
    }

    /// What a client was told about a skill, if that still counts.
    pub(crate) fn held(&self, id: &SkillId) -> Option<Arc<ServedFiles>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (contents, since) = held.get(id)?;
        let counts = self.fresh.is_none_or(|fresh| since.elapsed() < fresh);
        counts.then(|| Arc::clone(contents))
    }

    /// The skills that it loaded.
    pub(crate) fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses that it follows.
    pub(crate) fn followed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        for uri in &*self.followed() {
            hub.leave(uri);
        }
    }
}
