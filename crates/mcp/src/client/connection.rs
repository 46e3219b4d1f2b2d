//! Connection to one server: opened on first use, reopened after it ends, with a backoff.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use futures_util::future::BoxFuture;
use prowess_config::{McpServer, McpTransport};
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

use super::error::{ConnectError, LinkError, said};
use super::request_limit::Guarded;
use super::stdio::{self, Program};
use super::{ClientPlace, http};
use crate::wire::EXTENSION;

/// Timeout for starting a server.
const START: Duration = Duration::from_secs(30);
/// Default timeout of a call.
const CALL: Duration = Duration::from_mins(1);
/// Backoff after the first failure; doubles with each failure.
const MIN_BACKOFF: Duration = Duration::from_millis(500);
/// Maximum backoff.
const MAX_BACKOFF: Duration = Duration::from_mins(1);
/// A server that exits sooner than this has failed.
const SHORT_LIFE: Duration = Duration::from_secs(10);
/// Timeout for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time during which change notifications are collected before skills are listed again.
const COLLECT: Duration = Duration::from_millis(250);
/// Minimum time between two lists.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Number of consecutive timeouts after which a server is restarted.
const MAX_TIMEOUTS: u32 = 3;

/// Connection to one server.
pub(crate) struct Link {
    server: McpServer,
    place: ClientPlace,
    handle: Handle,
    state: Mutex<State>,
    /// Number of connections made so far.
    generation: AtomicU64,
    /// Number of consecutive timeouts.
    late: AtomicU32,
    news: Arc<News>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    not_before: Option<Instant>,
    last: Option<ConnectError>,
}

struct Running {
    service: RunningService<RoleClient, Handler>,
    program: Option<Program>,
    since: Instant,
}

/// Lists the skills of a server again and updates the registry. Returns `true` if the server
/// answered.
pub(crate) type Looker = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// Change notifications of a server.
#[derive(Default)]
struct News {
    /// `true` if resources changed since the last list.
    stale: AtomicBool,
    /// `true` if a list is already scheduled.
    waiting: AtomicBool,
    /// Called after changes. Removed on close, because the registry also holds the link.
    looker: std::sync::Mutex<Option<Looker>>,
}

impl News {
    fn looker(&self) -> MutexGuard<'_, Option<Looker>> {
        self.looker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules one list for all notifications that arrive until then, with a minimum delay after
    /// the last list.
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

    /// Returns the name of the server in rules that allow.
    pub(crate) fn rule_name(&self) -> String {
        self.server.rule_name()
    }

    /// Returns the local name of the server.
    pub(crate) fn name(&self) -> &str {
        &self.server.name
    }

    /// Returns the number of connections made so far: lists of earlier connections are outdated.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns and clears the flag that resources changed.
    pub(crate) fn take_stale(&self) -> bool {
        self.news.stale.swap(false, Ordering::AcqRel)
    }

    /// Marks the list as outdated.
    pub(crate) fn mark_stale(&self) {
        self.news.stale.store(true, Ordering::Release);
    }

    /// Schedules a new list because content did not match the current one.
    pub(crate) fn look_again(&self) {
        let _inside = self.handle.enter();
        self.news.changed();
    }

    /// Sets the function called when the server reports changes of its skills.
    pub(crate) fn follow(&self, looker: Looker) {
        *self.news.looker() = Some(looker);
    }

    /// Returns the timeout of a call.
    fn deadline(&self) -> Duration {
        self.server.timeout.map_or(CALL, Duration::from_secs)
    }

    /// Runs a future on the runtime and blocks until it is done.
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

    /// Sends a request for a method that `rmcp` does not know.
    pub(crate) async fn custom(&self, method: &str, params: Value) -> Result<Value, LinkError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        match self.request(request).await? {
            ServerResult::CustomResult(result) => Ok(result.0),
            other => serde_json::to_value(other).map_err(|error| self.odd(error)),
        }
    }

    /// Sends a request and waits for the response up to the timeout. Never retries.
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
        // Include the time in the queue to a server that does not read.
        let answer = tokio::time::timeout(deadline + CLOSE_TIMEOUT, asked).await;
        let seconds = deadline.as_secs();
        match answer {
            Err(_) | Ok(Err(ServiceError::Timeout { .. })) => {
                if self.late.fetch_add(1, Ordering::AcqRel) + 1 >= MAX_TIMEOUTS {
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
            Ok(Err(ServiceError::TransportSend(error))) => Err(LinkError::Down {
                server: server(),
                why: error.into(),
            }),
            Ok(Err(error)) => Err(self.odd(error)),
        }
    }

    pub(crate) fn odd(&self, why: impl std::fmt::Display) -> LinkError {
        LinkError::Odd {
            server: self.name().into(),
            why: said(&why.to_string()),
        }
    }

    /// Returns whether the server supports tools, and whether it supports skills.
    pub(crate) async fn offers(&self) -> Result<(bool, bool), LinkError> {
        let Some(info) = self.peer().await?.peer_info() else {
            return Ok((false, false));
        };
        let extensions = info.capabilities.extensions.as_ref();
        let skills = extensions.is_some_and(|extensions| extensions.contains_key(EXTENSION));
        Ok((info.capabilities.tools.is_some(), skills))
    }

    /// Returns the connection; reconnects if there is none and the backoff is over.
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
                state.failed(said.unwrap_or(ConnectError::Disconnected));
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
                    why: state.last.clone().unwrap_or(ConnectError::Disconnected),
                });
            }
        }
        match self.connect().await {
            Ok(running) => {
                let peer = running.service.peer().clone();
                state.running = Some(running);
                if self.generation.fetch_add(1, Ordering::AcqRel) > 0 {
                    // It may have different skills now.
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

    async fn connect(&self) -> Result<Running, ConnectError> {
        let handler = Handler {
            news: Arc::clone(&self.news),
        };
        if let McpTransport::Web { url, headers } = &self.server.transport {
            let transport = http::transport(url, headers, &self.place, self.deadline())?;
            return Ok(Running::new(
                begun(Box::pin(serve_client(handler, Guarded::new(transport)))).await?,
                None,
            ));
        }
        let (mut program, transport) = stdio::start(&self.server, &self.place)?;
        match begun(Box::pin(serve_client(handler, Guarded::new(transport)))).await {
            Ok(service) => Ok(Running::new(service, Some(program))),
            Err(why) => Err(match program.last_words().await {
                Some(words) => ConnectError::WithStderr {
                    cause: Box::new(why),
                    line: said(&words),
                },
                None => why,
            }),
        }
    }

    /// Closes the connection and stops the program.
    pub(crate) async fn close(&self) {
        self.news.looker().take();
        let mut state = self.state.lock().await;
        // Prevent a restart.
        state.not_before = Some(Instant::now() + MAX_BACKOFF);
        state.last = Some(ConnectError::ClosedByClient);
        if let Some(running) = state.running.take() {
            running.end().await;
        }
    }
}

impl State {
    fn failed(&mut self, why: ConnectError) {
        let pause = MIN_BACKOFF
            .saturating_mul(1 << self.failures.min(10))
            .min(MAX_BACKOFF);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        self.last = Some(why);
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

    /// Closes the connection. Returns an error with the last line of standard error, if any.
    async fn end(mut self) -> Option<ConnectError> {
        let _ = self.service.close_with_timeout(CLOSE_TIMEOUT).await;
        let mut program = self.program?;
        program
            .last_words()
            .await
            .map(|words| ConnectError::Exited { line: said(&words) })
    }
}

/// Waits for the handshake, up to the timeout.
async fn begun<T>(
    handshake: impl Future<Output = Result<T, ClientInitializeError>>,
) -> Result<T, ConnectError> {
    match tokio::time::timeout(START, handshake).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(ConnectError::NotReady {
            seconds: START.as_secs(),
        }),
    }
}

/// Handles messages of servers: requests are rejected, change notifications are recorded.
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
