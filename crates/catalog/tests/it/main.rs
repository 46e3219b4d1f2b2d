//! Catalogues made of texts, and what can be asked of them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may stop a test")]

mod names;
mod sample;
mod visibility;
