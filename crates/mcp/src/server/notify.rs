//! Notifies clients of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use prowess_registry::WatchOptions;
use prowess_tools::{ToolContext, Toolset};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};

use super::resource_index::ResourceIndex;
use super::session::Session;
use super::tools;

/// Maximum number of queued notifications per client. A slower client is told that everything
/// changed.
const MOST_WAITING: usize = 256;
/// Interval for checking whether the server ended.
const TICK: Duration = Duration::from_millis(250);
/// Interval for checking subscribed files.
const LOOK: Duration = Duration::from_secs(1);

/// A change that clients may be notified of.
#[derive(Clone, Debug)]
pub(crate) enum News {
    /// Skills were added, removed or changed.
    Skills {
        /// `true` if the list of tools also changed.
        tools: bool,
    },
    /// A file changed.
    File(Arc<str>),
}

/// Distributes notifications.
#[derive(Debug)]
pub(crate) struct Hub {
    sender: Sender<News>,
    begun: Once,
    /// Subscribed files, with the number of subscribers and the last known version.
    followed: Mutex<BTreeMap<String, (usize, Option<String>)>>,
}

/// State of the watcher thread.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) tool_context: Arc<ToolContext>,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) resource_index: Arc<ResourceIndex>,
    /// If `true`, folders are watched here; otherwise the caller refreshes the registry.
    pub(crate) folders: bool,
}

impl Hub {
    pub(crate) fn new() -> Self {
        let (sender, _) = broadcast::channel(MOST_WAITING);
        Self {
            sender,
            begun: Once::new(),
            followed: Mutex::default(),
        }
    }

    /// Subscribes to notifications. The first subscriber starts the watcher.
    pub(crate) fn listen(self: &Arc<Self>, watched: impl FnOnce() -> Watched) -> Receiver<News> {
        let receiver = self.sender.subscribe();
        self.begun.call_once(|| {
            let (hub, watched) = (Arc::downgrade(self), watched());
            let subscription = watched.tool_context.services.registry.subscribe();
            let thread = std::thread::Builder::new().name("mcp-news".to_owned());
            // Without the thread there are no notifications, but everything else works.
            let _ = thread.spawn(move || watch(&hub, &watched, &subscription));
        });
        receiver
    }

    fn followed(&self) -> MutexGuard<'_, BTreeMap<String, (usize, Option<String>)>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to a file.
    pub(crate) fn follow(&self, resource_index: &ResourceIndex, uri: &str) {
        let version = resource_index.version(uri);
        let mut followed = self.followed();
        followed.entry(uri.to_owned()).or_insert((0, version)).0 += 1;
    }

    /// Unsubscribes from a file.
    pub(crate) fn leave(&self, uri: &str) {
        let mut followed = self.followed();
        if let Some((count, _)) = followed.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                followed.remove(uri);
            }
        }
    }

    /// Checks the subscribed files for changes.
    fn look(&self, resource_index: &ResourceIndex) {
        let uris: Vec<String> = self.followed().keys().cloned().collect();
        for uri in uris {
            let now = resource_index.version(&uri);
            let mut followed = self.followed();
            let Some((_, known)) = followed.get_mut(&uri) else {
                continue;
            };
            if *known != now {
                *known = now;
                drop(followed);
                let _ = self.sender.send(News::File(uri.into()));
            }
        }
    }
}

fn watch(hub: &Weak<Hub>, watched: &Watched, subscription: &prowess_registry::Subscription) {
    let Watched {
        tool_context,
        tools,
        resource_index,
        folders,
    } = watched;
    let mut names = tools::names(tools, tool_context);
    let _watching = folders.then(|| {
        let watching = tool_context
            .services
            .registry
            .watch(WatchOptions::default());
        // Catch changes from before the watcher started.
        tool_context.services.registry.refresh();
        watching
    });
    let mut looked = Instant::now();
    loop {
        let change = subscription.next_within(TICK);
        let Some(hub) = hub.upgrade() else { return };
        if change.is_some() {
            while subscription.try_next().is_some() {}
            let now = tools::names(tools, tool_context);
            let tools = now != names;
            names = now;
            let _ = hub.sender.send(News::Skills { tools });
        }
        if change.is_some() || looked.elapsed() >= LOOK {
            hub.look(resource_index);
            looked = Instant::now();
        }
    }
}

/// Sends notifications to a client while it is connected.
pub(crate) async fn tell(peer: Peer<RoleServer>, session: Weak<Session>, mut news: Receiver<News>) {
    loop {
        let heard = match news.recv().await {
            Ok(news) => news,
            Err(RecvError::Lagged(_)) => News::Skills { tools: true },
            Err(RecvError::Closed) => return,
        };
        let Some(session) = session.upgrade() else {
            return;
        };
        let sent = match heard {
            News::Skills { tools } => {
                let mut sent = peer.notify_resource_list_changed().await;
                if sent.is_ok() {
                    sent = peer.notify_prompt_list_changed().await;
                }
                if sent.is_ok() && tools {
                    sent = peer.notify_tool_list_changed().await;
                }
                sent
            }
            News::File(uri) => {
                if !session.followed().contains(&*uri) {
                    continue;
                }
                let changed = ResourceUpdatedNotificationParam::new(&*uri);
                peer.notify_resource_updated(changed).await
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Like [`tell`], for clients of protocol 2026-07-28 and later, which select what they want.
pub(crate) async fn stream(
    context: SubscriptionContext,
    hub: &Hub,
    resource_index: &ResourceIndex,
    mut news: Receiver<News>,
) -> Result<(), ErrorData> {
    let wanted = context.accepted().clone();
    let files = wanted.resource_subscriptions.clone().unwrap_or_default();
    for uri in &files {
        hub.follow(resource_index, uri);
    }
    let sink = context.sink();
    loop {
        let heard = tokio::select! {
            () = context.cancelled() => break,
            heard = news.recv() => heard,
        };
        let heard = match heard {
            Ok(news) => news,
            Err(RecvError::Lagged(_)) => News::Skills { tools: true },
            Err(RecvError::Closed) => break,
        };
        let mut sent = Ok(());
        match heard {
            News::Skills { tools } => {
                if wanted.resources_list_changed == Some(true) {
                    sent = sink.notify_resource_list_changed().await;
                }
                if wanted.prompts_list_changed == Some(true) && sent.is_ok() {
                    sent = sink.notify_prompt_list_changed().await;
                }
                if wanted.tools_list_changed == Some(true) && tools && sent.is_ok() {
                    sent = sink.notify_tool_list_changed().await;
                }
            }
            News::File(uri) => {
                if files.iter().any(|file| **file == *uri) {
                    sent = sink.notify_resource_updated(&*uri).await;
                }
            }
        }
        if sent.is_err() {
            break;
        }
    }
    for uri in &files {
        hub.leave(uri);
    }
    Ok(())
}
