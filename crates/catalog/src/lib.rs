//! Which skills exist, in what order, and what a model sees of them.
//!
//! Everything here is a value or a function of values: no file, no clock, no environment. Readers
//! hold an immutable catalogue; a change makes a new one.

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
