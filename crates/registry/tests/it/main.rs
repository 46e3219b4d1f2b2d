//! Tests of folders, sources and the live registry, with real files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agentick;
mod cache;
mod contents;
mod discovery;
mod hostile;
mod layers;
mod live;
mod resource;
mod source;
mod support;
mod watch;
