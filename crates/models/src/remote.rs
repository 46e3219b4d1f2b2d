//! A model on a server: sends requests, parses replies and retries.

use std::sync::Arc;
use std::time::Duration;

use prowess_agent::{Delta, MessagePart, Reply, Request, StopReason};
use prowess_http::{Deadlines, Header, HttpClient, HttpUrl, Response};
use prowess_traits::{BoxFuture, Model, ModelError, ModelErrorKind, ModelInfo, OnDelta};
use serde_json::Value;

use crate::api_key::ApiKey;
use crate::price;
use crate::provider_error::ProviderError;
use crate::retry::{RealWaiter, RetryPolicy, Waiter, retry_after};
use crate::sse::SseDecoder;
use crate::wire::WireFormat;

/// The maximum size of the body of an error, in bytes.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// A model on a server.
#[derive(Debug)]
pub struct RemoteModel {
    about: ModelInfo,
    wire: Arc<dyn WireFormat>,
    model: Box<str>,
    base: HttpUrl,
    key: Option<ApiKey>,
    http: HttpClient,
    stream: bool,
    retry: RetryPolicy,
    waiter: Arc<dyn Waiter>,
}

/// The result of a probe of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHealth {
    /// `true` if the server lists this model; `None` if it lists none.
    pub has_model: Option<bool>,
    /// The number of listed models.
    pub models: usize,
}

impl RemoteModel {
    /// Creates a model. `model` is its name at the provider, `base` the URL that the paths of the
    /// wire format are appended to.
    pub fn new(
        about: ModelInfo,
        wire: Arc<dyn WireFormat>,
        model: impl Into<Box<str>>,
        base: HttpUrl,
        key: Option<ApiKey>,
        http: HttpClient,
    ) -> Self {
        Self {
            about,
            wire,
            model: model.into(),
            base,
            key,
            http,
            stream: true,
            retry: RetryPolicy::default(),
            waiter: Arc::new(RealWaiter),
        }
    }

    /// Enables or disables streaming. The default is enabled.
    #[must_use]
    pub fn with_stream(self, stream: bool) -> Self {
        Self { stream, ..self }
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn with_retry(self, retry: RetryPolicy, waiter: Arc<dyn Waiter>) -> Self {
        Self {
            retry,
            waiter,
            ..self
        }
    }

    /// Returns the body of a request.
    pub fn body(&self, request: &Request) -> Vec<u8> {
        self.wire
            .body(&self.model, request, self.stream)
            .to_string()
            .into_bytes()
    }

    /// Checks that the server is running and accepts the key. Uses no tokens.
    pub async fn probe(&self, within: Duration) -> Result<ServerHealth, ModelError> {
        let names = self.models(within).await?;
        let is_this = |name: &String| {
            **name == *self.model || name.strip_suffix(":latest") == Some(&self.model)
        };
        let has_model = (!names.is_empty()).then(|| names.iter().any(is_this));
        Ok(ServerHealth {
            has_model,
            models: names.len(),
        })
    }

    /// Returns the names of the models that the server lists, in its order. Uses no tokens.
    pub async fn models(&self, within: Duration) -> Result<Vec<String>, ModelError> {
        let short = Deadlines {
            first: within,
            idle: within,
            total: within,
            bytes: 8 * 1024 * 1024,
            ..*self.http.deadlines()
        };
        let http = self.http.with_deadlines(short);
        let address = self.base.below(self.wire.models_path());
        let asked = async {
            let answer = http.get(&address, &self.headers(&address)?).await?;
            if !(200..300).contains(&answer.status()) {
                return Err(self.refusal(answer).await);
            }
            Ok(answer.body().await?)
        };
        let body = asked.await.map_err(|fault| self.error(fault, 1))?;
        Ok(names(&body))
    }

    fn headers(&self, address: &HttpUrl) -> Result<Vec<Header>, ProviderError> {
        let mut headers = self.wire.headers();
        if let Some(key) = &self.key {
            let value = key.expose_for(address).ok_or_else(|| {
                let message = format!(
                    "the key is bound to {}, not {}",
                    key.origin(),
                    address.origin()
                );
                ProviderError::new(ModelErrorKind::Auth, message)
            })?;
            headers.push(self.wire.key_header(value));
        }
        Ok(headers)
    }

    async fn once(
        &self,
        body: &[u8],
        out: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ProviderError> {
        let address = self.base.below(&self.wire.path(&self.model, self.stream));
        let headers = self.headers(&address)?;
        let mut answer = self.http.post(&address, &headers, body.to_vec()).await?;
        if !(200..300).contains(&answer.status()) {
            return Err(self.refusal(answer).await);
        }
        let is_json = answer
            .header("content-type")
            .is_some_and(|kind| kind.trim_start().starts_with("application/json"));
        if !self.stream || is_json {
            return self.wire.whole(&answer.body().await?);
        }
        let mut reader = self.wire.reader();
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            let fed = decoder.feed(&chunk, &mut events);
            for event in events.drain(..) {
                if reader.event(&event.data, &mut |delta| out(delta))? {
                    answer.settle().await;
                    return reader.finish();
                }
            }
            fed.map_err(|error| ProviderError::bad_reply(error.to_string()))?;
        }
        reader.finish()
    }

    /// Interprets a response with an error status.
    async fn refusal(&self, answer: Response) -> ProviderError {
        let status = answer.status();
        let millis = answer
            .header("retry-after-ms")
            .and_then(|text| text.trim().parse().ok());
        let after = millis.map(Duration::from_millis).or_else(|| {
            answer
                .header("retry-after")
                .and_then(|text| retry_after(text, self.waiter.now()))
        });
        if (300..400).contains(&status) {
            let message =
                format!("the server redirects (status {status}); redirects are not followed");
            return ProviderError::new(ModelErrorKind::BadRequest, message);
        }
        let body = answer.prefix(MAX_ERROR_BODY).await;
        let mut fault = self.wire.fault(status, &body);
        fault.after = after.or(fault.after);
        fault
    }

    fn error(&self, fault: ProviderError, attempts: u32) -> ModelError {
        let kind = match fault.kind {
            ModelErrorKind::RateLimit { .. } => ModelErrorKind::RateLimit { after: fault.after },
            kind => kind,
        };
        let message = match &self.key {
            Some(key) => key.redact(&fault.message),
            None => fault.message,
        };
        ModelError {
            kind,
            model: self.about.name.clone(),
            message,
            attempts,
        }
    }

    async fn ask_with_retries(
        &self,
        request: &Request,
        deltas: OnDelta<'_>,
    ) -> Result<Reply, ModelError> {
        let body = self.body(request);
        let mut waited = Duration::ZERO;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut shown = false;
            let mut out = |delta: Delta| {
                shown = true;
                deltas(delta);
            };
            let fault = match self.once(&body, &mut out).await {
                Ok(reply) => return Ok(self.priced(reply)),
                Err(fault) => fault,
            };
            let random = self.waiter.random();
            let Some(wait) = self
                .retry
                .wait(fault.kind, attempt, waited, fault.after, random)
            else {
                return Err(self.error(fault, attempt));
            };
            if shown {
                deltas(Delta::Restart);
            }
            waited += wait;
            self.waiter.wait(wait).await;
        }
    }

    fn priced(&self, mut reply: Reply) -> Reply {
        reply.usage.micros = self
            .about
            .price
            .as_ref()
            .map(|price| price::cost(price, &reply.usage));
        settled(reply)
    }
}

impl Model for RemoteModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask_with_retries(request, deltas))
    }
}

/// Makes the stop reason consistent with the calls, whatever the provider says.
fn settled(mut reply: Reply) -> Reply {
    if reply.stop == StopReason::End && reply.calls().next().is_some() {
        reply.stop = StopReason::ToolUse;
    }
    // The last call of a truncated reply may itself be truncated, even if it is valid JSON.
    if reply.stop == StopReason::MaxTokens
        && let Some(MessagePart::Call(call)) = reply.parts.last_mut()
        && call.fault.is_none()
    {
        call.fault = Some("the reply reached the output token limit within this call".into());
    }
    reply
}

/// Parses a list of models in any of the providers' formats.
fn names(body: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let list = ["data", "models"]
        .iter()
        .find_map(|key| value.get(key)?.as_array());
    let name = |entry: &Value| {
        let name = ["id", "name"]
            .iter()
            .find_map(|key| entry.get(key)?.as_str())?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    list.into_iter().flatten().filter_map(name).collect()
}
