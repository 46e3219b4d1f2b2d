//! The catalogue of skills: identity, precedence, visibility, ranking and the prompt index.
//!
//! This crate does no I/O and reads neither the clock nor the environment. Readers hold an
//! immutable catalogue; a change creates a new one.

#![warn(clippy::disallowed_methods)]

pub mod catalog;
pub mod changes;
#[cfg(feature = "counters")]
#[doc(hidden)]
pub mod counters;
mod entries;
pub mod index;
pub mod outline;
pub mod part;
pub mod paths;
pub mod precedence;
pub mod rank;
pub mod scope;
pub mod skill;
pub mod visibility;

pub use catalog::{Catalog, Entry, NotFound};
pub use changes::{Change, ChangeKind, changes};
pub use entries::Entries;
pub use part::Part;
pub use precedence::Precedence;
pub use rank::{Ranked, Usage, rank};
pub use scope::{Origin, Scope};
pub use skill::{Form, Place, Skill, SkillId, Stamp};
pub use visibility::{Grant, Hidden, Override, Refusal, Sight, View, Visibility, Who};
