//! MCP server over HTTP, for local clients or behind a reverse proxy.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::server::auth::{AccessList, Caller, Refused, RequestGuard};
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::json_lines::{MAX_DEPTH, is_too_deep};
use super::{ServeError, Server};

/// Path of the MCP endpoint.
const PATH: &str = "/mcp";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Settings of an HTTP server.
#[derive(Clone, Debug, Default)]
pub struct Http {
    /// Access settings.
    pub access: AccessList,
    /// Resource limits.
    pub limits: HttpLimits,
}

/// Resource limits of an HTTP server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Maximum size of a request body, in bytes.
    pub body: usize,
    /// Maximum number of concurrent sessions.
    pub sessions: usize,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// Timeout for sending a request, and for accepting a part of a response.
    pub patience: Duration,
    /// Idle timeout of a session.
    pub idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body: 4 * 1024 * 1024,
            sessions: 64,
            connections: 256,
            patience: Duration::from_secs(15),
            idle: Duration::from_mins(30),
        }
    }
}

type Body = BoxBody<Bytes, Infallible>;
type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// State shared by all connections.
struct HttpState {
    guard: RequestGuard,
    service: Service,
    sessions: Arc<LocalSessionManager>,
    /// Token index of each session.
    owners: Mutex<HashMap<Arc<str>, usize>>,
    limits: HttpLimits,
}

impl Server {
    /// Serves clients over HTTP until the token is cancelled. Bind the listener to a loopback
    /// address unless there is a reverse proxy in front.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        http: &Http,
        cancel: CancellationToken,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Broken)?;
        let state = Arc::new(self.state(address, http, &cancel));
        let places = Arc::new(Semaphore::new(http.limits.connections));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = cancel.cancelled() => return Ok(()),
            };
            let Ok((stream, _)) = accepted else {
                // Probably too many open files; wait until some are closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Close connections beyond the limit immediately.
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                continue;
            };
            let (state, cancel) = (Arc::clone(&state), cancel.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connection(stream, state) => {}
                    () = cancel.cancelled() => {}
                }
                drop(place);
            });
        }
    }

    /// Like [`Server::serve_http`], with its own runtime: listens on an address, reports the bound
    /// address, and serves until the token is cancelled.
    pub fn run_http(
        &self,
        address: SocketAddr,
        http: &Http,
        cancel: CancellationToken,
        ready: impl FnOnce(SocketAddr),
    ) -> Result<(), ServeError> {
        let runtime = super::runtime(tokio::runtime::Builder::new_multi_thread())?;
        let served = runtime.block_on(async {
            let failed = |source| ServeError::Listen {
                address: address.to_string(),
                source,
            };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            ready(listener.local_addr().map_err(failed)?);
            self.serve_http(listener, http, cancel).await
        });
        runtime.shutdown_timeout(super::stdio::LAST_WORK);
        served
    }

    fn state(&self, address: SocketAddr, http: &Http, cancel: &CancellationToken) -> HttpState {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(http.limits.idle);
        let sessions = Arc::new(manager);
        // `RequestGuard` has already checked the host and the origin.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(http.limits.body)
            .with_cancellation_token(cancel.child_token());
        let shared = Arc::clone(self.shared());
        let handler = move || Ok(Handler::new(&shared, true));
        HttpState {
            guard: RequestGuard::new(address, PATH, &http.access),
            service: StreamableHttpService::new(handler, Arc::clone(&sessions), config),
            sessions,
            owners: Mutex::default(),
            limits: http.limits,
        }
    }
}

async fn connection(stream: TcpStream, state: Arc<HttpState>) {
    // Messages are small and latency matters.
    let _ = stream.set_nodelay(true);
    let patience = state.limits.patience;
    let stream = StallGuard {
        stream,
        patience,
        stalled: None,
    };
    let answer = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.answer(request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(64 * 1024);
    // Ignore connection errors: the client disconnected.
    let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
}

impl HttpState {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let caller = self
            .guard
            .admit(request.method(), request.uri(), request.headers());
        let (token, origin) = match caller {
            Ok(Caller::Client { token, origin }) => (token, origin),
            Ok(Caller::Asking { origin }) => return asking(&origin),
            Err(refused) => {
                if refused == Refused::Token {
                    // Slow down token guessing.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                return refusal(refused);
            }
        };
        let mut response = match self.serve(request, token).await {
            Ok(response) | Err(response) => response,
        };
        let headers = response.headers_mut();
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(&origin).ok()) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(VARY, HeaderValue::from_static("origin"));
            let exposed = HeaderValue::from_static("mcp-session-id");
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        response
    }

    async fn serve(
        &self,
        request: Request<Incoming>,
        token: usize,
    ) -> Result<Response<Body>, Response<Body>> {
        if let Some(session) = request.headers().get(SESSION) {
            let session = session.to_str().unwrap_or_default();
            let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            // A session of another token is reported as not found.
            if owners.get(session).is_some_and(|owner| *owner != token) {
                return Err(plain(StatusCode::NOT_FOUND, "session not found"));
            }
        }
        let request = self.collect(request).await?;
        if is_beginning(request.body()) && self.is_full().await {
            let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions");
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("30"));
            return Err(response);
        }
        let is_end = request.method() == Method::DELETE;
        let mut response = self.service.handle(request.map(Full::new)).await;
        // Clients read `202` as "the session may still exist".
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if let Some(session) = response
            .headers()
            .get(SESSION)
            .and_then(|id| id.to_str().ok())
        {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            owners.entry(session.into()).or_insert(token);
        }
        Ok(response)
    }

    /// Reads the whole request, within the limits of size, depth and time.
    async fn collect(&self, request: Request<Incoming>) -> Result<Request<Bytes>, Response<Body>> {
        let (parts, body) = request.into_parts();
        let too_large = || plain(StatusCode::PAYLOAD_TOO_LARGE, "request too large");
        let announced = parts
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok());
        if announced
            .and_then(|length| length.parse::<u64>().ok())
            .is_some_and(|length| length > self.limits.body as u64)
        {
            return Err(too_large());
        }
        let reading = Limited::new(body, self.limits.body).collect();
        let bytes = match tokio::time::timeout(self.limits.patience, reading).await {
            Err(_) => {
                return Err(plain(StatusCode::REQUEST_TIMEOUT, "request timed out"));
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large()),
            Ok(Err(_)) => return Err(plain(StatusCode::BAD_REQUEST, "incomplete request body")),
            Ok(Ok(body)) => body.to_bytes(),
        };
        if is_too_deep(&bytes) {
            let text = format!("message nested too deeply; the limit is {MAX_DEPTH} levels");
            return Err(fault(StatusCode::BAD_REQUEST, -32600, &text));
        }
        if parts.method == Method::POST && serde_json::from_slice::<Peek>(&bytes).is_err() {
            return Err(fault(StatusCode::BAD_REQUEST, -32700, "not a JSON object"));
        }
        Ok(Request::from_parts(parts, bytes))
    }

    /// Returns `true` if the session limit is reached. Removes ended sessions from `owners`.
    async fn is_full(&self) -> bool {
        let sessions = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| sessions.contains_key(id));
        sessions.len() >= self.limits.sessions
    }
}

/// The part of a message that identifies its method.
#[derive(Deserialize)]
struct Peek<'m> {
    #[serde(borrow, default)]
    method: Option<std::borrow::Cow<'m, str>>,
}

fn is_beginning(body: &[u8]) -> bool {
    serde_json::from_slice::<Peek<'_>>(body)
        .is_ok_and(|message| message.method.as_deref() == Some("initialize"))
}

/// Builds the response to a CORS preflight request.
fn asking(origin: &str) -> Response<Body> {
    let mut response = plain(StatusCode::NO_CONTENT, "");
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST, GET, DELETE"),
    );
    let allowed = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, \
                   mcp-method, mcp-name, last-event-id";
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(allowed),
    );
    response
}

fn refusal(refused: Refused) -> Response<Body> {
    let mut response = plain(refused.status(), refused.text());
    let headers = response.headers_mut();
    match refused {
        Refused::NoToken | Refused::Token => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refused::Method => {
            headers.insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
        }
        Refused::Host | Refused::Origin | Refused::Path => {}
    }
    // Close the connection: the rest of the request is not read.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("{text}\n"))).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Builds a JSON-RPC error for a request that cannot be parsed.
fn fault(status: StatusCode, code: i32, text: &str) -> Response<Body> {
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": text } });
    let mut response = Response::new(Full::new(Bytes::from(error.to_string())).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A connection that fails if the client stops reading.
struct StallGuard {
    stream: TcpStream,
    patience: Duration,
    /// Timer that runs while a write is blocked.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl StallGuard {
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<std::io::Result<T>>,
    ) -> Poll<std::io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let end = Instant::now() + self.patience;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        stalled
            .as_mut()
            .poll(context)
            .map(|()| Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for StallGuard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for StallGuard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, result)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, result)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
