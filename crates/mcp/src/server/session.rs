//! State of one client.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use prowess_catalog::SkillId;
use prowess_tools::Loaded;

use super::notify::Hub;
use super::resource_index::ServedFiles;

/// Maximum number of subscriptions of a client.
pub(crate) const MAX_FOLLOWED: usize = 1_000;

/// State of one client: the listed content of skills, so that reads return exactly that content,
/// and the loaded skills.
#[derive(Debug)]
pub(crate) struct Session {
    held: Mutex<HashMap<SkillId, (Arc<ServedFiles>, Instant)>>,
    /// Validity of the listed content; `None` for the lifetime of the session.
    fresh: Option<Duration>,
    loaded: Mutex<Loaded>,
    /// URIs that the client subscribed to.
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

    /// Stores the listed content of a skill.
    pub(crate) fn hold(&self, id: &SkillId, contents: Arc<ServedFiles>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fresh) = self.fresh {
            held.retain(|_, (_, since)| since.elapsed() < fresh);
        }
        held.insert(id.clone(), (contents, Instant::now()));
    }

    /// Returns the listed content of a skill, if it is still valid.
    pub(crate) fn held(&self, id: &SkillId) -> Option<Arc<ServedFiles>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (contents, since) = held.get(id)?;
        let counts = self.fresh.is_none_or(|fresh| since.elapsed() < fresh);
        counts.then(|| Arc::clone(contents))
    }

    /// Returns the loaded skills.
    pub(crate) fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the subscribed URIs.
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
