//! Integration tests of the lint rules: one binary, one file per topic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

mod advice;
mod conformance;
mod hostile;
mod pages;
mod properties;
mod seeds;
mod wild;
