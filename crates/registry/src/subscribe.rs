//! Tells whoever wants to know that the catalogue changed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use prowess_catalog::CatalogChange;

/// How many announcements wait for a reader. One that is slower is told so, and looks itself.
const MOST_WAITING: usize = 256;

/// One change of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    /// The catalogue that it led to.
    pub generation: u64,
    /// What is different, in order of name.
    pub changes: Vec<CatalogChange>,
    /// Whether announcements before this one were lost: compare with the snapshot instead.
    pub lagged: bool,
}

#[derive(Debug, Default)]
struct Mailbox {
    waiting: Mutex<VecDeque<Arc<ChangeSet>>>,
    wake: Condvar,
}

/// Announcements of changes, from the moment of subscribing on. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    mailbox: Arc<Mailbox>,
}

impl Subscription {
    /// Returns the next announcement, if there is one.
    pub fn try_next(&self) -> Option<Arc<ChangeSet>> {
        self.mailbox
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    /// Waits for the next announcement, but not for ever.
    pub fn next_within(&self, patience: Duration) -> Option<Arc<ChangeSet>> {
        let waiting = self
            .mailbox
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .mailbox
            .wake
            .wait_timeout_while(waiting, patience, |queue| queue.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

/// Everybody who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
}

impl Subscribers {
    pub(crate) fn subscribe(&self) -> Subscription {
        let mailbox = Arc::<Mailbox>::default();
        let mut mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mailboxes.push(Arc::downgrade(&mailbox));
        Subscription { mailbox }
    }

    /// Whether nobody wants to know.
    pub(crate) fn is_empty(&self) -> bool {
        let mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mailboxes.iter().all(|mailbox| mailbox.strong_count() == 0)
    }

    pub(crate) fn announce(&self, set: ChangeSet) {
        let generation = set.generation;
        let set = Arc::new(set);
        let mut mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mailboxes.retain(|mailbox| mailbox.strong_count() > 0);
        for mailbox in mailboxes.iter().filter_map(Weak::upgrade) {
            let mut waiting = mailbox
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST_WAITING {
                waiting.clear();
                let changes = Vec::new();
                waiting.push_back(Arc::new(ChangeSet {
                    generation,
                    changes,
                    lagged: true,
                }));
            } else {
                waiting.push_back(Arc::clone(&set));
            }
            drop(waiting);
            mailbox.wake.notify_all();
        }
    }
}
