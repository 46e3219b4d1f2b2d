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
pub mod location;
pub mod outline;
pub mod path_globs;
pub mod precedence;
pub mod rank;
pub mod scope;
pub mod skill;
pub mod sorted_part;
pub mod version;
pub mod visibility;

pub use catalog::{Catalog, CatalogEntry, SkillNotFound};
pub use changes::{CatalogChange, ChangeKind, changes};
pub use entries::Entries;
pub use location::Location;
pub use precedence::Precedence;
pub use rank::{RankedSkill, SkillUsage, rank};
pub use scope::{Scope, SkillOrigin};
pub use skill::{FileStamp, Skill, SkillForm, SkillId, SkillLocation};
pub use sorted_part::CatalogPart;
pub use visibility::{
    Audience, CatalogView, HiddenReason, LookupRefusal, SkillGrant, SkillVisibility, Visibility,
    VisibilityOverride,
};
