//! Integration tests of the catalogue: one binary, one file per topic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

mod index;
mod index_properties;
mod names;
mod sample;
mod visibility;
