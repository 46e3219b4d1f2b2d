//! One server: started when it is needed, started again when it ended, never in a hurry.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use futures_util::future::BoxFuture;
use prowess_config::{McpServer, Reach};
use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use prowess_http::innermost;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, Implementation, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, RoleClient,
    RunningService, ServiceError,
};
use rmcp::{ClientHandler, serve_client};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::guard::Guarded;
use super::program::{self, Program};
use super::{ClientPlace, http};
use crate::wire::EXTENSION;

/// How long a server has until it is ready.
const START: Duration = Duration::from_secs(30);
/// How long a call has, unless the settings say otherwise.
const CALL: Duration = Duration::from_mins(1);
/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// A server that ends sooner than this has failed.
const SHORT_LIFE: Duration = Duration::from_secs(10);
/// How long a connection has to end in good order.
const GOODBYE: Duration = Duration::from_millis(500);
/// How long changes are collected before the skills are looked at again.
const COLLECT: Duration = Duration::from_millis(250);
/// How long at least between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// So many calls without an answer, one after the other, and a server is started anew.
const PATIENCE: u32 = 3;
/// Most characters of what a server says in an error.
const MAX_SAID: usize = 500;

/// Why a server did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// It could not be started or reached.
    #[error("the server `{server}` cannot be used: {why}")]
    Down {
        /// The server.
        server: Box<str>,
        /// Why not.
        why: String,
    },
    /// It failed a moment ago, and is left alone for a while.
    #[error("the server `{server}` failed, and is tried again in {seconds} s: {why}")]
    Paused {
        /// The server.
        server: Box<str>,
        /// How long.
        seconds: u64,
        /// Why it failed.
        why: String,
    },
    /// It did not answer in time.
    #[error("the server `{server}` did not answer within {seconds} s")]
    Late {
        /// The server.
        server: Box<str>,
        /// How long it had.
        seconds: u64,
    },
    /// It ended before it answered. Nobody knows what it did.
    #[error("the server `{server}` ended before it answered")]
    Ended {
        /// The server.
        server: Box<str>,
    },
    /// It says no.
    #[error("the server `{server}` says: {message}")]
    Refused {
        /// The server.
        server: Box<str>,
        /// The code of JSON-RPC.
        code: i32,
        /// What it says.
        message: String,
    },
    /// It answered what nobody can read.
    #[error("the server `{server}` gave an answer that does not fit: {why}")]
    Odd {
        /// The server.
        server: Box<str>,
        /// What is wrong with it.
        why: String,
    },
}

/// One server.
pub(crate) struct Link {
    server: McpServer,
    place: ClientPlace,
    handle: Handle,
    state: Mutex<State>,
    /// How often it was connected.
    generation: AtomicU64,
    /// How many calls in a row it did not answer.
    late: AtomicU32,
    news: Arc<News>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    not_before: Option<Instant>,
    last: String,
}

struct Running {
    service: RunningService<RoleClient, Handler>,
    program: Option<Program>,
    since: Instant,
}

/// Looks at the skills of a server again, and lets everybody know. Tells whether the server answered.
pub(crate) type Looker = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// What a server said of its own accord.
#[derive(Default)]
struct News {
    /// Whether its resources changed since somebody looked.
    stale: AtomicBool,
    /// Whether somebody is about to look.
    waiting: AtomicBool,
    /// Who looks again. Forgotten at the end: the registry holds the link, too.
    looker: std::sync::Mutex<Option<Looker>>,
}

impl News {
    fn looker(&self) -> MutexGuard<'_, Option<Looker>> {
        self.looker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something changed: one look for all that comes in the meantime, however much that is, and
    /// none too soon after the last.
    fn changed(self: &Arc<Self>) {
        self.stale.store(true, Ordering::Release);
        if self.looker().is_none() || self.waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let news = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(COLLECT).await;
            while news.stale.load(Ordering::Acquire) {
                let looker = news.looker().clone();
                let Some(looker) = looker else { break };
                if !looker().await {
                    break;
                }
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            news.waiting.store(false, Ordering::Release);
        });
    }
}

impl Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Link {
    pub(crate) fn new(server: McpServer, place: ClientPlace, handle: Handle) -> Self {
        let (state, generation, late) = (Mutex::default(), AtomicU64::new(0), AtomicU32::new(0));
        Self {
            server,
            place,
            handle,
            state,
            generation,
            late,
            news: Arc::default(),
        }
    }

    /// What the server is called here.
    pub(crate) fn name(&self) -> &str {
        &self.server.name
    }

    /// How often it was connected: what was known before counts no more.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether its resources changed since the last time this was asked.
    pub(crate) fn take_stale(&self) -> bool {
        self.news.stale.swap(false, Ordering::AcqRel)
    }

    /// The next look must ask.
    pub(crate) fn mark_stale(&self) {
        self.news.stale.store(true, Ordering::Release);
    }

    /// What was read does not fit what was listed: the list is old, or a lie.
    pub(crate) fn look_again(&self) {
        let _inside = self.handle.enter();
        self.news.changed();
    }

    /// Looks again whenever the server says that its skills changed.
    pub(crate) fn follow(&self, looker: Looker) {
        *self.news.looker() = Some(looker);
    }

    /// How long a call may take.
    fn deadline(&self) -> Duration {
        self.server.timeout.map_or(CALL, Duration::from_secs)
    }

    /// Does something with the server from a thread that may wait.
    pub(crate) fn wait<T, F>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, LinkError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LinkError>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::sync_channel(1);
        let work = work(Arc::clone(self));
        self.handle.spawn(async move {
            let _ = sender.send(work.await);
        });
        receiver.recv().unwrap_or_else(|_| {
            Err(LinkError::Ended {
                server: self.name().into(),
            })
        })
    }

    /// Asks for a result by the name of a method, for those that the library does not know.
    pub(crate) async fn custom(&self, method: &str, params: Value) -> Result<Value, LinkError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        match self.request(request).await? {
            ServerResult::CustomResult(result) => Ok(result.0),
            other => serde_json::to_value(other).map_err(|error| self.odd(error)),
        }
    }

    /// Asks, and waits for the answer as long as a call may take. It is never asked twice.
    pub(crate) async fn request(&self, request: ClientRequest) -> Result<ServerResult, LinkError> {
        let peer = self.peer().await?;
        let deadline = self.deadline();
        let server = || self.name().into();
        let asked = async {
            let options = PeerRequestOptions::with_timeout(deadline);
            peer.send_cancellable_request(request, options)
                .await?
                .await_response()
                .await
        };
        // The queue to a server that takes nothing counts too.
        let answer = tokio::time::timeout(deadline + GOODBYE, asked).await;
        let seconds = deadline.as_secs();
        match answer {
            Err(_) | Ok(Err(ServiceError::Timeout { .. })) => {
                if self.late.fetch_add(1, Ordering::AcqRel) + 1 >= PATIENCE {
                    self.late.store(0, Ordering::Release);
                    let running = self.state.lock().await.running.take();
                    if let Some(running) = running {
                        running.end().await;
                    }
                }
                Err(LinkError::Late {
                    server: server(),
                    seconds,
                })
            }
            Ok(Ok(result)) => {
                self.late.store(0, Ordering::Release);
                Ok(result)
            }
            Ok(Err(ServiceError::McpError(error))) => Err(LinkError::Refused {
                server: server(),
                code: error.code.0,
                message: said(&error.message),
            }),
            Ok(Err(ServiceError::TransportClosed | ServiceError::Cancelled { .. })) => {
                Err(LinkError::Ended { server: server() })
            }
            Ok(Err(error)) => Err(self.odd(error)),
        }
    }

    pub(crate) fn odd(&self, why: impl std::fmt::Display) -> LinkError {
        LinkError::Odd {
            server: self.name().into(),
            why: said(&why.to_string()),
        }
    }

    /// Whether the server has tools to list, and whether it has skills.
    pub(crate) async fn offers(&self) -> Result<(bool, bool), LinkError> {
        let Some(info) = self.peer().await?.peer_info() else {
            return Ok((false, false));
        };
        let extensions = info.capabilities.extensions.as_ref();
        let skills = extensions.is_some_and(|extensions| extensions.contains_key(EXTENSION));
        Ok((info.capabilities.tools.is_some(), skills))
    }

    /// The connection; made anew where there is none, unless it failed a moment ago.
    async fn peer(&self) -> Result<Peer<RoleClient>, LinkError> {
        let mut state = self.state.lock().await;
        if let Some(running) = &state.running
            && !running.service.is_closed()
            && !running.service.peer().is_transport_closed()
        {
            return Ok(running.service.peer().clone());
        }
        if let Some(ended) = state.running.take() {
            let is_short = ended.since.elapsed() < SHORT_LIFE;
            let said = ended.end().await;
            if is_short {
                state.failed(said.unwrap_or_else(|| "it ended".to_owned()));
            } else {
                state.failures = 0;
            }
        }
        if let Some(not_before) = state.not_before {
            let left = not_before.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Err(LinkError::Paused {
                    server: self.name().into(),
                    seconds: left.as_secs() + 1,
                    why: state.last.clone(),
                });
            }
        }
        match self.connect().await {
            Ok(running) => {
                let peer = running.service.peer().clone();
                state.running = Some(running);
                if self.generation.fetch_add(1, Ordering::AcqRel) > 0 {
                    // It may have other skills now.
                    self.news.changed();
                }
                Ok(peer)
            }
            Err(why) => {
                state.failed(why.clone());
                Err(LinkError::Down {
                    server: self.name().into(),
                    why,
                })
            }
        }
    }

    async fn connect(&self) -> Result<Running, String> {
        let handler = Handler {
            news: Arc::clone(&self.news),
        };
        if let Reach::Web { url, headers } = &self.server.reach {
            let transport = http::transport(url, headers, &self.place, self.deadline())?;
            return Ok(Running::new(
                begun(Box::pin(serve_client(handler, Guarded::new(transport)))).await?,
                None,
            ));
        }
        let (mut program, transport) = program::start(&self.server, &self.place)?;
        match begun(Box::pin(serve_client(handler, Guarded::new(transport)))).await {
            Ok(service) => Ok(Running::new(service, Some(program))),
            Err(why) => Err(match program.last_words().await {
                Some(words) => format!("{why}; it said: {}", said(&words)),
                None => why,
            }),
        }
    }

    /// Ends the connection and the program.
    pub(crate) async fn close(&self) {
        self.news.looker().take();
        let mut state = self.state.lock().await;
        // Nothing starts it again.
        state.not_before = Some(Instant::now() + LONGEST_PAUSE);
        "it was ended".clone_into(&mut state.last);
        if let Some(running) = state.running.take() {
            running.end().await;
        }
    }
}

impl State {
    fn failed(&mut self, why: String) {
        let pause = FIRST_PAUSE
            .saturating_mul(1 << self.failures.min(10))
            .min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        self.last = why;
    }
}

impl Running {
    fn new(service: RunningService<RoleClient, Handler>, program: Option<Program>) -> Self {
        Self {
            service,
            program,
            since: Instant::now(),
        }
    }

    /// Ends it; what it said last, if anything.
    async fn end(mut self) -> Option<String> {
        let _ = self.service.close_with_timeout(GOODBYE).await;
        let mut program = self.program?;
        program
            .last_words()
            .await
            .map(|words| format!("it ended; it said: {}", said(&words)))
    }
}

/// What a server says, as one line that is not too long.
fn said(text: &str) -> String {
    shorten(&sanitize::line(text.trim()), MAX_SAID)
}

/// Waits for the handshake, but not for ever.
async fn begun<T>(
    handshake: impl Future<Output = Result<T, ClientInitializeError>>,
) -> Result<T, String> {
    match tokio::time::timeout(START, handshake).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(ClientInitializeError::ConnectionClosed(_))) => {
            Err("it ended before it was ready".to_owned())
        }
        Ok(Err(error)) => Err(said(&innermost(&error))),
        Err(_) => Err(format!("it was not ready within {} s", START.as_secs())),
    }
}

/// What servers may ask of us: nothing. They may say that something changed.
pub(crate) struct Handler {
    news: Arc<News>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let extensions = [(EXTENSION.to_owned(), Map::new())];
        capabilities.extensions = Some(extensions.into_iter().collect());
        ClientConfig::new(
            capabilities,
            Implementation::new("prowess", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.news.changed();
    }
}
