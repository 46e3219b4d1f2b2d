//! Talks to web servers.
//!
//! [`HttpClient`] is for model providers: one request, an answer in pieces, a deadline for every way
//! of waiting. [`WebFetcher`] is behind the tool that reads a page. Nothing here keeps cookies, reads
//! variables or follows a redirect to another host.

#![warn(missing_docs)]

mod address;
mod client;
mod network;
mod tls;
mod web;

pub use address::{Address, AddressError, Origin};
pub use client::{
    Answer, Deadlines, Header, HttpClient, HttpError, HttpErrorKind, Proxy, innermost,
};
pub use network::is_private;
pub use web::{Lookup, WebFetcher};
