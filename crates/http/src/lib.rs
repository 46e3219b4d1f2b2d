//! HTTP clients.
//!
//! [`HttpClient`] talks to model providers and other servers: one request, a response in chunks,
//! and a timeout for each wait. [`WebFetcher`] fetches pages for tools. Neither keeps cookies,
//! reads environment variables or follows redirects to another host.

#![warn(missing_docs)]

mod client;
mod tls;
mod url;
mod web_fetcher;

pub use client::{
    Deadlines, Header, HttpClient, HttpError, HttpErrorKind, Proxy, Response, innermost,
};
pub use url::{HttpUrl, HttpUrlError, UrlOrigin};
pub use web_fetcher::{DnsLookup, WebFetcher};
