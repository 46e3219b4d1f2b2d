//! OTLP export of spans, using our own HTTP client and certificates.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::output::Failure;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_http::{Bytes, HttpError, Request, Response};
use opentelemetry_otlp::{RetryPolicy, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter, Tracer};
use prowess::traits::telemetry as names;
use prowess_http::{Deadlines, Header, HttpClient, HttpUrl};
use tokio::runtime::Runtime;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use crate::runtime_setup::Variables;

/// Timeout of the collector, so that it does not delay the end of the program.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of a response.
const MAX_ANSWER: usize = 64 * 1024;

/// Exports spans to a collector.
#[derive(Debug)]
pub(super) struct Export {
    provider: SdkTracerProvider,
    fault: Fault,
}

/// The most recent export error.
type Fault = Arc<Mutex<Option<String>>>;

impl Export {
    /// Starts the export, or returns `None` if no endpoint is set. Other `OTEL_` variables are read by the
    /// OpenTelemetry library.
    pub(super) fn from(variables: &Variables) -> Result<Option<Self>, Failure> {
        let set = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let endpoint = [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ]
        .into_iter()
        .find_map(|name| Some((name, set(name)?)));
        let disabled =
            set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let Some((name, endpoint)) = endpoint.filter(|_| !disabled) else {
            return Ok(None);
        };
        HttpUrl::parse(endpoint.trim()).map_err(|error| {
            Failure::new(format!("cannot use `{name}` as an OTLP endpoint"))
                .cause(error)
                .hint("set it to a URL, e.g. `http://127.0.0.1:4318`")
        })?;
        let unfit = |error: String| Failure::new("cannot send spans").cause(error);
        let client = Client::new().map_err(|error| unfit(error.to_string()))?;
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            // No retries: the user would have to wait for them. Lost spans are reported.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| unfit(error.to_string()))?;
        let fault = Fault::default();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource(&set))
            .with_batch_exporter(Mending {
                inner: exporter,
                fault: Arc::clone(&fault),
            })
            .build();
        Ok(Some(Self { provider, fault }))
    }

    /// Converts `tracing` spans to OpenTelemetry, without the fields that the layer adds by default.
    pub(super) fn layer<S>(&self) -> OpenTelemetryLayer<S, Tracer>
    where
        S: Subscriber + for<'l> LookupSpan<'l>,
    {
        tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(self.provider.tracer("prowess"))
    }

    /// Sends pending spans. Returns the most recent error.
    pub(super) fn finish(self) -> Result<(), String> {
        let ended = self.provider.shutdown_with_timeout(PATIENCE);
        match self
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            Some(fault) => Err(fault),
            None => ended.map_err(|error| error.to_string()),
        }
    }
}

/// Returns the resource, with our service name unless a variable sets it.
fn resource(set: &impl Fn(&str) -> Option<String>) -> Resource {
    let named = set("OTEL_SERVICE_NAME").is_some()
        || set("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|text| text.contains("service.name="));
    let builder = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if named {
        builder.build()
    } else {
        builder.with_service_name("prowess").build()
    }
}

/// Converts attributes that must be arrays, which `tracing` fields cannot be, and keeps the last error.
#[derive(Debug)]
struct Mending {
    inner: opentelemetry_otlp::SpanExporter,
    fault: Fault,
}

impl SpanExporter for Mending {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for attribute in batch.iter_mut().flat_map(|span| &mut span.attributes) {
            if attribute.key.as_str() == names::FINISH_REASONS {
                let word = StringValue::from(attribute.value.to_string());
                attribute.value = Value::Array(Array::String(vec![word]));
            }
        }
        let sent = self.inner.export(batch).await;
        if let Err(error) = &sent {
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            *fault = Some(error.to_string());
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// Our HTTP client with its own runtime: the exporter calls it from a thread without one.
#[derive(Debug)]
struct Client {
    http: HttpClient,
    runtime: Runtime,
}

impl Client {
    fn new() -> Result<Self, HttpError> {
        let deadlines = Deadlines {
            connect: PATIENCE,
            first: PATIENCE,
            idle: PATIENCE,
            total: PATIENCE,
            bytes: MAX_ANSWER,
        };
        let agent = concat!("prowess/", env!("CARGO_PKG_VERSION"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        Ok(Self {
            http: HttpClient::new(agent, deadlines)?,
            runtime,
        })
    }
}

impl opentelemetry_http::HttpClient for Client {
    fn send_bytes<'s, 'a>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        let http = self.http.clone();
        let sent = self
            .runtime
            .spawn(async move { send(&http, request).await });
        Box::pin(async move { sent.await? })
    }
}

async fn send(http: &HttpClient, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let address = HttpUrl::parse(&request.uri().to_string())?;
    let (mut media, mut headers) = ("application/x-protobuf", Vec::new());
    for (name, value) in request.headers() {
        match (name.as_str(), value.to_str()?) {
            ("content-type", value) => media = value,
            // Our client sets its own.
            ("user-agent", _) => {}
            // May contain API keys of the collector.
            (name, value) => headers.push(Header::secret(name.to_owned(), value)),
        }
    }
    let answer = http
        .post_as(media, &address, &headers, request.body().to_vec())
        .await?;
    let response = Response::builder().status(answer.status());
    Ok(response.body(answer.body().await?.into())?)
}
