//! Reads something from the web for a tool.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use prowess_traits::{FetchError, FetchLimits, Fetched, Fetcher};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::ClientConfig;

use crate::address::Address;
use crate::client::HttpError;
use crate::network::{is_never, is_private};
use crate::tls;

/// Finds the addresses of a host.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Most redirects on one host.
const MAX_REDIRECTS: usize = 5;

/// Fetches pages. Every connection goes to an address that was looked at: a name that leads to a
/// private network is refused however it is spelt, and whatever it led to a moment before.
#[derive(Clone)]
pub struct WebFetcher {
    everybody: Client,
    with_private: Client,
}

impl fmt::Debug for WebFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebFetcher")
    }
}

impl WebFetcher {
    /// A fetcher that asks the system for addresses. `agent` is what it calls itself.
    pub fn new(agent: &str) -> Result<Self, HttpError> {
        Self::with_lookup(agent, None)
    }

    /// A fetcher that asks `lookup` for addresses.
    pub fn with_lookup(agent: &str, lookup: Option<&Lookup>) -> Result<Self, HttpError> {
        let tls = tls::config()?;
        let client = |private| {
            client(
                agent,
                &tls,
                Checked {
                    private,
                    lookup: lookup.cloned(),
                },
            )
        };
        Ok(Self {
            everybody: client(false)?,
            with_private: client(true)?,
        })
    }
}

fn client(agent: &str, tls: &ClientConfig, resolver: Checked) -> Result<Client, HttpError> {
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
    fn fetch(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        let address = Address::parse(url).map_err(fault)?;
        let client = if limits.private {
            &self.with_private
        } else {
            &self.everybody
        };
        let limits = *limits;
        // A thread of its own: whoever calls may stand inside a runtime, where nothing may block.
        std::thread::scope(|scope| {
            let work = std::thread::Builder::new()
                .name("fetch".into())
                .spawn_scoped(scope, || block_on(client, address, limits))
                .map_err(fault)?;
            work.join()
                .unwrap_or_else(|_| Err(fault("the fetch broke off")))
        })
    }
}

fn block_on(client: &Client, address: Address, limits: FetchLimits) -> Result<Fetched, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(fault)?;
    let deadline = Duration::from_millis(limits.deadline_ms);
    let done = runtime
        .block_on(async { tokio::time::timeout(deadline, follow(client, address, limits)).await });
    // A look-up of a name cannot be stopped; nobody waits for it.
    runtime.shutdown_background();
    done.map_err(|_| fault(format!("no answer within {} ms", limits.deadline_ms)))?
}

async fn follow(
    client: &Client,
    mut address: Address,
    limits: FetchLimits,
) -> Result<Fetched, FetchError> {
    for _ in 0..=MAX_REDIRECTS {
        check_literal(&address, limits.private)?;
        let mut answer = client
            .get(address.url().clone())
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
            Some(target) if same_host(address.url(), &target) => {
                address = Address::of(target).map_err(fault)?;
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

/// An address in numbers is not looked up, and so is judged here.
fn check_literal(address: &Address, private: bool) -> Result<(), FetchError> {
    let host = address.host().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) if !may_ask(ip, private) => Err(fault(Private)),
        _ => Ok(()),
    }
}

/// Whether an address may be asked; `private` says that private networks were agreed to.
fn may_ask(ip: IpAddr, private: bool) -> bool {
    !is_never(ip) && (private || !is_private(ip))
}

/// Whether a redirect stays where it was allowed: the same host and port, and never from `https` to
/// `http`. From `http` to `https` the usual port changes too.
fn same_host(from: &Url, to: &Url) -> bool {
    let port = |url: &Url| url.port_or_known_default();
    let upgrade = from.scheme() == "http" && to.scheme() == "https";
    let fits = from.scheme() == to.scheme() && port(from) == port(to)
        || upgrade && from.port().is_none() && to.port().is_none();
    fits && from.host() == to.host()
}

/// A target without user and password.
fn shown(mut target: Url) -> String {
    // Both fail only for addresses that can have neither.
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
#[error("the address belongs to this machine or to a private network, which is not asked")]
struct Private;

/// Looks names up, and passes on only what may be asked.
struct Checked {
    private: bool,
    lookup: Option<Lookup>,
}

impl Resolve for Checked {
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
                .filter(|ip| may_ask(*ip, private))
                .map(|ip| SocketAddr::new(ip, 0))
                .collect();
            if known && allowed.is_empty() {
                return Err(Private.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
