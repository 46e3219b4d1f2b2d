//! Folders, sources and the live registry, on real files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may stop a test"
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
