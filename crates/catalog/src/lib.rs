//! Which skills exist, in what order, and what a model sees of them.
//!
//! Everything here is a value or a function of values: no file, no clock, no environment. Readers
//! hold an immutable catalogue; a change makes a new one.

#![warn(clippy::disallowed_methods)]

pub mod index;
pub mod scope;
pub mod skill;

pub use scope::{Origin, Scope};
pub use skill::{Form, Place, Skill, SkillId, Stamp};
