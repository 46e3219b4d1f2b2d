//! Hosts of this machine and of private networks. A project's file must not make a command send requests
//! to them, unless the person named the host.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use prowess_traits::{
    AddressClass, FetchError, FetchLimits, Fetched, Fetcher, WebRequest, classify_address,
};
use url::Url;

use crate::project::ScopeKind;
use crate::source::{ArchiveLocation, PackageSource};

use super::PackageContext;

/// Sends web requests: to private networks only if the person named the host.
#[derive(Debug)]
pub(super) struct HostFetcher {
    inner: Option<Arc<dyn Fetcher>>,
    /// Origins that the person named. `None` if the person named all of them.
    origins: Option<BTreeSet<String>>,
}

impl HostFetcher {
    /// Creates a fetcher for a scope. The person's own files name hosts, and what was typed before does.
    pub(super) fn new(context: &PackageContext) -> Self {
        let settings = &context.settings;
        let sources = settings.sources.iter().flatten().map(String::as_str);
        let registries = context.access.registries.values();
        let registries = registries.map(|registry| &*registry.url);
        let mirrors = context.mirrors().urls();
        let named = sources
            .chain(registries)
            .chain(settings.shorthand.as_deref())
            .chain(mirrors.iter().map(String::as_str));
        Self {
            inner: context.fetcher.clone(),
            origins: match context.scope.kind {
                ScopeKind::User => None,
                ScopeKind::Project => Some(named.filter_map(origin).collect()),
            },
        }
    }

    /// Adds the host of a source that was typed.
    pub(super) fn add(&mut self, source: &PackageSource) {
        if let (Some(origins), Some(origin)) = (&mut self.origins, origin_of(source)) {
            origins.insert(origin);
        }
    }

    /// Returns `true` if requests can be sent at all.
    pub(super) fn is_online(&self) -> bool {
        self.inner.is_some()
    }

    /// Returns `true` if the person named the host of an address, or if it is not in a private network as
    /// far as its text tells.
    pub(super) fn allows(&self, url: &str) -> bool {
        !is_private(url) || self.is_named(url)
    }

    fn is_named(&self, url: &str) -> bool {
        let Some(origins) = &self.origins else {
            return true;
        };
        origin(url).is_some_and(|origin| origins.contains(&origin))
    }
}

impl Fetcher for HostFetcher {
    fn send(&self, request: &WebRequest<'_>, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        let Some(inner) = &self.inner else {
            let message = "the network is switched off".to_owned();
            return Err(FetchError { message });
        };
        let limits = FetchLimits {
            private: limits.private && self.is_named(request.url),
            ..*limits
        };
        inner.send(request, &limits)
    }
}

/// Returns the origin of a typed source that the scope must remember: of a repository only if its text
/// says that it is private, because git finds the others on its own.
pub(super) fn remembered_origin(source: &PackageSource) -> Option<String> {
    match source {
        PackageSource::Git(git) if !is_private(&git.url) => None,
        source => origin_of(source),
    }
}

fn origin_of(source: &PackageSource) -> Option<String> {
    match source {
        PackageSource::Git(git) => origin(&git.url),
        PackageSource::Archive {
            location: ArchiveLocation::Url(url),
            ..
        }
        | PackageSource::Site { url, .. }
        | PackageSource::Index { url, .. } => origin(url),
        _ => None,
    }
}

/// Returns scheme, host and port of an address or a pattern. `None` if it has no exact host.
fn origin(text: &str) -> Option<String> {
    let text = text.strip_prefix("git+").unwrap_or(text);
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or(rest);
    if authority.contains('*') {
        return None;
    }
    let url = Url::parse(&format!("{scheme}://{authority}/")).ok()?;
    let port = url.port_or_known_default();
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
}

/// Returns `true` if the host of an address is this machine, or a number in a private network.
fn is_private(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    // As a browser reads numbers: `127.1` is an address as well.
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let Ok(parsed) = Url::parse(&format!("https://{host}/")) else {
        return false;
    };
    let host = parsed.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    let ip: Result<IpAddr, _> = host.parse();
    match ip {
        Ok(ip) => classify_address(ip) != AddressClass::Public,
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_by_their_text() {
        for (url, expected) in [
            ("https://127.0.0.1/x", true),
            ("http://localhost:1/x", true),
            ("https://127.1/x", true),
            ("https://2130706433/x", true),
            ("https://[::1]:8/x", true),
            ("ssh://git@10.0.0.1/x", true),
            ("https://a.localhost/x", true),
            ("https://localhost./x", true),
            ("https://[::ffff:127.0.0.1]/x", true),
            ("https://0/x", true),
            ("https://169.254.169.254/x", true),
            ("https://git.example.com/x", false),
            ("https://8.8.8.8/x", false),
            ("file:///srv/x", false),
        ] {
            assert_eq!(is_private(url), expected, "{url}");
        }
    }

    #[test]
    fn origins_have_an_exact_host() {
        for (text, expected) in [
            ("https://h.example/a/*", Some("https://h.example:443")),
            (
                "git+https://h.example:8443/a",
                Some("https://h.example:8443"),
            ),
            ("http://127.0.0.1:80/", Some("http://127.0.0.1:80")),
            ("https://*.example/a", None),
            ("*", None),
            ("file:///srv/x", None),
        ] {
            assert_eq!(origin(text).as_deref(), expected, "{text}");
        }
    }
}
