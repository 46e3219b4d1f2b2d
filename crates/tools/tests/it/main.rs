//! Tests of the tools with real folders, a real registry and real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod hidden;
mod invoke;
mod list;
mod load;
mod properties;
mod resource;
mod run;
mod search;
mod skill;
mod specs;
mod submit;
mod support;
mod toolset;
mod unload;
