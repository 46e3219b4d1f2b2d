//! Notifies subscribers of changes of the catalogue.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use prowess_catalog::CatalogChange;

/// Maximum number of queued notifications per subscriber. A slower one is told that it lagged.
const MAX_QUEUED: usize = 256;

/// A change of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    /// Generation of the new catalogue.
    pub generation: u64,
    /// Changes, sorted by name.
    pub changes: Vec<CatalogChange>,
    /// `true` if earlier notifications were lost: compare with the snapshot instead.
    pub lagged: bool,
}

#[derive(Debug, Default)]
struct Mailbox {
    waiting: Mutex<VecDeque<Arc<ChangeSet>>>,
    wake: Condvar,
}

/// A subscription to changes. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    mailbox: Arc<Mailbox>,
}

impl Subscription {
    /// Returns the next notification, if there is one.
    pub fn try_next(&self) -> Option<Arc<ChangeSet>> {
        self.mailbox
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    /// Waits for the next notification, up to a timeout.
    pub fn next_within(&self, timeout: Duration) -> Option<Arc<ChangeSet>> {
        let waiting = self
            .mailbox
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .mailbox
            .wake
            .wait_timeout_while(waiting, timeout, |queue| queue.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

/// All subscribers.
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

    /// Returns `true` if there are no subscribers.
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
            if waiting.len() >= MAX_QUEUED {
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
