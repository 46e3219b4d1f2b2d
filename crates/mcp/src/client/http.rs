//! Remote servers: streamable HTTP over our own client, with its timeouts and limits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::{HeaderName, HeaderValue};
use prowess_http::{Deadlines, Header, HttpClient, HttpError, HttpUrl, Response};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::ClientPlace;
use super::error::ConnectError;

/// Maximum size of a response, in bytes.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// Maximum size of an error response that is read, in bytes.
const MAX_ERROR: usize = 2_000;
/// Idle timeout of the notification stream.
const SILENCE: Duration = Duration::from_hours(1);
/// Minimum delay before a stream is reopened, in milliseconds.
const SHORTEST_RETRY: u64 = 1_000;
/// Maximum lifetime of the notification stream before it is reopened.
const LISTENING: Duration = Duration::from_hours(24);

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type Fault = StreamableHttpError<HttpError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// HTTP client of a server.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    client: HttpClient,
    listening: HttpClient,
    address: HttpUrl,
    headers: Arc<[Header]>,
}

/// Creates a transport for a URL.
pub(crate) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    place: &ClientPlace,
    call: Duration,
) -> Result<StreamableHttpClientTransport<Web>, ConnectError> {
    let address = HttpUrl::parse(url)?;
    if !address.is_loopback() && address.as_str().starts_with("http:") && !headers.is_empty() {
        return Err(ConnectError::Unencrypted);
    }
    let client = place.http.as_ref().ok_or(ConnectError::NoHttp)?;
    let usual = client.deadlines();
    let deadlines = Deadlines {
        first: call,
        idle: call,
        total: 2 * call,
        bytes: MAX_ANSWER,
        ..*usual
    };
    let listening = Deadlines {
        first: call,
        idle: SILENCE,
        total: LISTENING,
        bytes: MAX_ANSWER,
        ..*usual
    };
    let headers = headers
        .iter()
        .map(|(name, value)| Header::secret(name.clone(), value.clone()));
    let web = Web {
        client: client.with_deadlines(deadlines),
        listening: client.with_deadlines(listening),
        headers: headers.collect(),
        address,
    };
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    Ok(StreamableHttpClientTransport::with_client(web, config))
}

impl Web {
    fn headers(
        &self,
        accept: &str,
        session: Option<&str>,
        more: &HashMap<HeaderName, HeaderValue>,
    ) -> Vec<Header> {
        let mut headers = self.headers.to_vec();
        headers.push(Header::plain("accept", accept));
        headers.extend(session.map(|session| Header::secret(SESSION, session)));
        let more = more.iter().filter_map(|(name, value)| {
            Some(Header::secret(
                name.as_str().to_owned(),
                value.to_str().ok()?,
            ))
        });
        headers.extend(more);
        headers
    }
}

impl StreamableHttpClient for Web {
    type Error = HttpError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let accept = format!("{JSON}, {EVENTS}");
        let headers = self.headers(&accept, session.as_deref(), &more);
        let body = serde_json::to_vec(&message)?;
        let answer = self
            .client
            .post(&self.address, &headers, body)
            .await
            .map_err(Fault::Client)?;
        let status = answer.status();
        if matches!(status, 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == 404 && session.is_some() {
            return Err(Fault::SessionExpired);
        }
        let own = answer.header(SESSION).map(str::to_owned);
        let kind = answer
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if (200..300).contains(&status) && kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(answer), own));
        }
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        let body = answer.body().await.map_err(Fault::Client)?;
        let read = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        match (status, read) {
            (200..300, Ok(message)) => Ok(StreamableHttpPostResponse::Json(message, own)),
            (200..300, Err(_)) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            (200..300, Err(error)) => Err(Fault::Deserialize(error)),
            // An authentication error is not a response of the method.
            (401 | 403, _) => Err(refused(status, &body)),
            (_, Ok(message @ JsonRpcMessage::Error(_))) => {
                Ok(StreamableHttpPostResponse::Json(message, own))
            }
            _ => Err(refused(status, &body)),
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let headers = self.headers(JSON, Some(&session), &more);
        let answer = self
            .client
            .delete(&self.address, &headers)
            .await
            .map_err(Fault::Client)?;
        match answer.status() {
            405 => Err(Fault::ServerDoesNotSupportDeleteSession),
            _ => Ok(()),
        }
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        let mut headers = self.headers(EVENTS, session.as_deref(), &more);
        headers.extend(last_event.map(|event| Header::plain("last-event-id", event)));
        let answer = self
            .listening
            .get(&self.address, &headers)
            .await
            .map_err(Fault::Client)?;
        match answer.status() {
            200..300 => Ok(events(answer)),
            404 | 405 => Err(Fault::ServerDoesNotSupportSse),
            status => Err(refused(status, b"")),
        }
    }
}

fn refused(status: u16, body: &[u8]) -> Fault {
    let said = String::from_utf8_lossy(&body[..body.len().min(MAX_ERROR)]);
    let what = match status {
        401 | 403 => ": authentication required; set `headers`".to_owned(),
        _ if said.trim().is_empty() => String::new(),
        _ => format!(": {}", said.trim()),
    };
    Fault::UnexpectedServerResponse(format!("HTTP {status}{what}").into())
}

/// Returns the events of a response. The response is bounded, so every event is too.
fn events(answer: Response) -> Events {
    let pieces = stream::try_unfold(answer, |mut answer| async move {
        let piece = answer.chunk().await?;
        Ok::<_, HttpError>(piece.map(|piece| (bytes::Bytes::from(piece), answer)))
    });
    let calm = |event: Result<Sse, SseError>| {
        // Do not let the server disable the reconnect delay.
        event.map(|event| Sse {
            retry: event.retry.map(|retry| retry.max(SHORTEST_RETRY)),
            ..event
        })
    };
    SseStream::from_bytes_stream(pieces.boxed())
        .map(calm)
        .boxed()
}
