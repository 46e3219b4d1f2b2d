//! Models, tested with local servers that use the formats of the providers.
#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

mod anthropic;
mod chat;
mod choose;
mod faults;
mod gemini;
mod keys;
mod offline;
mod properties;
mod responses;
mod retries;
mod stable;
mod support;
