//! Line-delimited JSON-RPC messages, with a limit on everything.
//!
//! `rmcp` silently ignores lines that are too long or not JSON, and stops at the first message that
//! arrives too early. This transport answers each with an error and continues. Reading never
//! waits for writing, so the end of the input is noticed even if the client never reads.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Maximum size of a message, in bytes.
pub(crate) const MAX_MESSAGE: usize = 4 * 1024 * 1024;
/// Maximum nesting depth of a message.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum number of pending requests of a client; more are rejected.
const MAX_WAITING: usize = 1_024;
/// Maximum number of queued outgoing messages.
const MAX_QUEUE: usize = 64;
/// Error code for too many pending requests.
const BUSY: ErrorCode = ErrorCode(-32000);

/// Transport that reads and writes one message per line.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// `true` while the rest of an overlong line is skipped.
    skipping: bool,
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    ended: CancellationToken,
    waiting: Arc<Mutex<HashSet<RequestId>>>,
    /// `true` after the first regular request; before that, only requests are accepted.
    begun: bool,
}

/// Result of reading a line.
enum LineRead {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Creates a transport over two streams. `ended` is cancelled at the end of the input,
    /// `written` when all output is written.
    pub(crate) fn new<W>(
        input: R,
        output: W,
        ended: CancellationToken,
        written: CancellationToken,
    ) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, receiver) = mpsc::channel(MAX_QUEUE);
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipping: false,
            output: Some(sender),
            writer: Some(tokio::spawn(async move {
                write_all(output, receiver).await;
                written.cancel();
            })),
            ended,
            waiting: Arc::default(),
            begun: false,
        }
    }

    /// Reads a line up to the limit. Cancel safe: a partial line is kept.
    async fn next_line(&mut self) -> LineRead {
        loop {
            let Ok(available) = self.input.fill_buf().await else {
                return LineRead::End;
            };
            if available.is_empty() {
                return LineRead::End;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(available.len(), |end| end + 1);
            let is_too_long = self.line.len() + length > MAX_MESSAGE;
            if !self.skipping && !is_too_long {
                self.line.extend_from_slice(&available[..length]);
            }
            self.input.consume(length);
            if self.skipping {
                self.skipping = end.is_none();
            } else if is_too_long {
                self.line = Vec::new();
                self.skipping = end.is_none();
                return LineRead::TooLong;
            } else if end.is_some() {
                return LineRead::Line;
            }
        }
    }

    /// Parses the message of the line. Returns `None` if there is none. The error is the response
    /// to send.
    fn message(&mut self) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
        let line = std::mem::take(&mut self.line);
        let read = read(&line);
        // Keep the buffer for the next line unless it is large.
        if line.capacity() <= 64 * 1024 {
            self.line = line;
            self.line.clear();
        }
        let Some(message) = read? else {
            return Ok(None);
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let JsonRpcMessage::Request(request) = &message else {
            // A cancelled request gets no response.
            if let JsonRpcMessage::Notification(notification) = &message
                && let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                waiting.remove(id);
            }
            return Ok(self.begun.then_some(message));
        };
        let is_probe = matches!(
            request.request,
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
        );
        self.begun |= !is_probe;
        if waiting.len() >= MAX_WAITING {
            let text = format!("too many pending requests; the limit is {MAX_WAITING}");
            return Err(refusal(BUSY, text, Some(request.id.clone())));
        }
        if !waiting.insert(request.id.clone()) {
            let text = "a request with this id is already pending".to_owned();
            return Err(refusal(
                ErrorCode::INVALID_REQUEST,
                text,
                Some(request.id.clone()),
            ));
        }
        Ok(Some(message))
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (output, waiting) = (self.output.clone(), Arc::clone(&self.waiting));
        async move {
            let output = output.ok_or(io::ErrorKind::NotConnected)?;
            let sent = output.send(line(&message)?).await;
            // A response that could not be sent stays pending.
            if let Some(id) = answered {
                waiting
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
            }
            sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let read = match self.next_line().await {
                LineRead::End => {
                    self.ended.cancel();
                    return None;
                }
                LineRead::TooLong => {
                    let text = format!("message too large; the limit is {MAX_MESSAGE} bytes");
                    Err(refusal(ErrorCode::INVALID_REQUEST, text, None))
                }
                LineRead::Line => self.message(),
            };
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => {
                    // Drop the response if the output is closed.
                    if let (Some(output), Ok(line)) = (&self.output, line(&answer)) {
                        let _ = output.try_send(line);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.take());
        if let Some(writer) = self.writer.take() {
            writer.await?;
        }
        Ok(())
    }
}

/// Writes lines until the queue or the output is closed.
async fn write_all<W: AsyncWrite + Unpin>(mut output: W, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if output.write_all(&line).await.is_err() {
            return;
        }
        if lines.is_empty() && output.flush().await.is_err() {
            return;
        }
    }
}

fn line(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = match message {
        // JSON-RPC requires an id; `rmcp` leaves it out.
        JsonRpcMessage::Error(error) if error.id.is_none() => {
            let mut value = serde_json::to_value(message)?;
            value["id"] = Value::Null;
            serde_json::to_vec(&value)?
        }
        _ => serde_json::to_vec(message)?,
    };
    line.push(b'\n');
    Ok(line)
}

/// Parses a message; the error is the response to send.
fn read(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
    let line = line
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if is_too_deep(line) {
        let text = format!("message nested too deeply; the limit is {MAX_DEPTH} levels");
        return Err(refusal(ErrorCode::INVALID_REQUEST, text, None));
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Err(refusal(
            ErrorCode::PARSE_ERROR,
            format!("invalid JSON: {error}"),
            None,
        ));
    };
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value(id.clone()).ok());
    let method = value.get("method").and_then(Value::as_str);
    match (method, id) {
        // Notifications get no response, not even invalid ones.
        (Some(_), None) if value.get("id").is_none() => Ok(None),
        (Some(_), Some(id)) => {
            let text = "invalid parameters for this method".to_owned();
            Err(refusal(ErrorCode::INVALID_PARAMS, text, Some(id)))
        }
        (_, id) => {
            let text = "not a JSON-RPC 2.0 message".to_owned();
            Err(refusal(ErrorCode::INVALID_REQUEST, text, id))
        }
    }
}

/// Returns `true` if JSON is nested deeper than the limit. Brackets in strings do not count.
pub(crate) fn is_too_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

fn refusal(code: ErrorCode, text: String, id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    Box::new(ServerJsonRpcMessage::error(
        ErrorData::new(code, text, None),
        id,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_ignores_brackets_in_strings() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!is_too_deep(nested(64).as_bytes()));
        assert!(is_too_deep(nested(65).as_bytes()));
        assert!(!is_too_deep(format!("{:?}", nested(100)).as_bytes()));
        assert!(!is_too_deep(br#"["\"[[[", "\\"]"#));
    }
}
