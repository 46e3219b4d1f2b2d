//! HTTP clients.
//!
//! [`HttpClient`] talks to model providers and other servers: one request, a response in chunks,
//! and a timeout for each wait. [`WebFetcher`] fetches pages for tools. Neither keeps cookies,
//! reads environment variables or follows redirects to another host.

#![warn(missing_docs)]

mod address;
mod client;
mod tls;
mod web;

pub use address::{HttpUrl, HttpUrlError, UrlOrigin};
pub use client::{
    Deadlines, Header, HttpClient, HttpError, HttpErrorKind, Proxy, Response, innermost,
};
pub use web::{DnsLookup, WebFetcher};
