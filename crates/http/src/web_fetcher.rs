//! Sends web requests for tools.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use prowess_traits::{
    AddressClass, FetchError, FetchLimits, Fetched, Fetcher, WebRequest, classify_address,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use rustls::ClientConfig;

use crate::client::HttpError;
use crate::tls;
use crate::url::HttpUrl;

/// Resolves the addresses of a host.
pub type DnsLookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// The maximum number of redirects on one host.
const MAX_REDIRECTS: usize = 5;

/// Fetches pages. Each connection goes to an address that was checked: a name that resolves to a
/// private network is refused, however it is spelled and whatever it resolved to before.
#[derive(Clone)]
pub struct WebFetcher {
    public: Client,
    with_private: Client,
}

impl fmt::Debug for WebFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebFetcher")
    }
}

impl WebFetcher {
    /// Creates a fetcher that uses the system's resolver. `agent` is its `User-Agent`.
    pub fn new(agent: &str) -> Result<Self, HttpError> {
        Self::with_lookup(agent, None)
    }

    /// Creates a fetcher that resolves names with `lookup`.
    pub fn with_lookup(agent: &str, lookup: Option<&DnsLookup>) -> Result<Self, HttpError> {
        let tls = tls::config()?;
        let client = |private| {
            client(
                agent,
                &tls,
                CheckedResolver {
                    private,
                    lookup: lookup.cloned(),
                },
            )
        };
        Ok(Self {
            public: client(false)?,
            with_private: client(true)?,
        })
    }
}

fn client(agent: &str, tls: &ClientConfig, resolver: CheckedResolver) -> Result<Client, HttpError> {
    Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .user_agent(agent)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        // A kept connection would outlive the runtime of one fetch.
        .pool_max_idle_per_host(0)
        .dns_resolver(resolver)
        .build()
        .map_err(HttpError::of)
}

impl Fetcher for WebFetcher {
    fn send(&self, request: &WebRequest<'_>, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        let address = HttpUrl::parse(request.url).map_err(fault)?;
        let parts = RequestParts {
            method: Method::from_bytes(request.method.as_str().as_bytes()).map_err(fault)?,
            headers: headers(request.headers)?,
            body: request.body.to_vec(),
        };
        let client = if limits.private {
            &self.with_private
        } else {
            &self.public
        };
        let limits = *limits;
        // A separate thread, because the caller may be inside an async runtime that must not block.
        std::thread::scope(|scope| {
            let work = std::thread::Builder::new()
                .name("fetch".into())
                .spawn_scoped(scope, || block_on(client, address, &parts, limits))
                .map_err(fault)?;
            work.join()
                .unwrap_or_else(|_| Err(fault("the fetch thread panicked")))
        })
    }
}

/// The parts of a request besides its URL.
struct RequestParts {
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        // The value may be a secret, so it is in no error.
        let invalid = || fault("a header contains invalid characters");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn block_on(
    client: &Client,
    address: HttpUrl,
    parts: &RequestParts,
    limits: FetchLimits,
) -> Result<Fetched, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(fault)?;
    let deadline = Duration::from_millis(limits.deadline_ms);
    let done = runtime.block_on(async {
        tokio::time::timeout(deadline, follow(client, address, parts, limits)).await
    });
    // A DNS lookup cannot be cancelled; do not wait for it.
    runtime.shutdown_background();
    done.map_err(|_| fault(format!("no response within {} ms", limits.deadline_ms)))?
}

async fn follow(
    client: &Client,
    mut address: HttpUrl,
    parts: &RequestParts,
    limits: FetchLimits,
) -> Result<Fetched, FetchError> {
    for _ in 0..=MAX_REDIRECTS {
        check_literal(&address, limits.private)?;
        let mut answer = client
            .request(parts.method.clone(), address.url().clone())
            .headers(parts.headers.clone())
            .body(parts.body.clone())
            .send()
            .await
            .map_err(|error| sending(&error))?;
        let status = answer.status();
        let target = status
            .is_redirection()
            .then(|| answer.headers().get(LOCATION))
            .flatten()
            .and_then(|value| value.to_str().ok())
            .and_then(|target| address.url().join(target).ok());
        let elsewhere = match target {
            Some(target) if parts.method == Method::GET && same_host(address.url(), &target) => {
                address = HttpUrl::of(target).map_err(fault)?;
                continue;
            }
            Some(target) => Some(shown(target)),
            None => None,
        };
        let media_type = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let media_type = media_type.map(str::to_owned);
        let mut body = Vec::new();
        let mut cut = false;
        while !cut && let Some(chunk) = answer.chunk().await.map_err(|error| sending(&error))? {
            let room = limits.bytes - body.len();
            cut = chunk.len() > room;
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        return Ok(Fetched {
            url: address.as_str().to_owned(),
            status: status.as_u16(),
            media_type,
            body,
            cut,
            elsewhere,
        });
    }
    Err(fault(format!("more than {MAX_REDIRECTS} redirects")))
}

/// Checks a host that is an IP address and therefore is not resolved.
fn check_literal(address: &HttpUrl, private: bool) -> Result<(), FetchError> {
    let host = address.host().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) if !is_allowed(ip, private) => Err(fault(PrivateAddress)),
        _ => Ok(()),
    }
}

/// Returns `true` if an address may be contacted. `private` permits private networks.
fn is_allowed(ip: IpAddr, private: bool) -> bool {
    match classify_address(ip) {
        AddressClass::Public => true,
        AddressClass::Private => private,
        AddressClass::Forbidden => false,
    }
}

/// Returns `true` if a redirect keeps host and port. From `http` to `https` the default port
/// changes; from `https` to `http` is never allowed.
fn same_host(from: &Url, to: &Url) -> bool {
    let port = |url: &Url| url.port_or_known_default();
    let upgrade = from.scheme() == "http" && to.scheme() == "https";
    let fits = from.scheme() == to.scheme() && port(from) == port(to)
        || upgrade && from.port().is_none() && to.port().is_none();
    fits && from.host() == to.host()
}

/// Returns a URL without user name and password.
fn shown(mut target: Url) -> String {
    // Both fail only for URLs that can have neither.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    target.into()
}

fn fault(error: impl fmt::Display) -> FetchError {
    FetchError {
        message: error.to_string().chars().take(400).collect(),
    }
}

fn sending(error: &reqwest::Error) -> FetchError {
    let mut last: &dyn Error = error;
    for _ in 0..16 {
        match last.source() {
            Some(source) => last = source,
            None => break,
        }
    }
    fault(last)
}

#[derive(Debug, thiserror::Error)]
#[error("the address belongs to this machine or to a private network")]
struct PrivateAddress;

/// Resolves names to the addresses that may be contacted.
struct CheckedResolver {
    private: bool,
    lookup: Option<DnsLookup>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.private;
        let lookup = self.lookup.clone();
        Box::pin(async move {
            let found: Vec<IpAddr> = match lookup {
                Some(lookup) => lookup(name.as_str())?,
                None => tokio::net::lookup_host((name.as_str(), 0))
                    .await?
                    .map(|address| address.ip())
                    .collect(),
            };
            let known = !found.is_empty();
            let allowed: Vec<SocketAddr> = found
                .into_iter()
                .filter(|ip| is_allowed(*ip, private))
                .map(|ip| SocketAddr::new(ip, 0))
                .collect();
            if known && allowed.is_empty() {
                return Err(PrivateAddress.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
