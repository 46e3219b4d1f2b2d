//! The catalogue of skills: identity, precedence, visibility, ranking and the prompt index.
//!
//! This crate does no I/O and reads neither the clock nor the environment. Readers hold an
//! immutable catalogue; a change creates a new one.

#![warn(clippy::disallowed_methods)]

pub mod catalog;
pub mod changes;
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

pub use catalog::{Catalog, CatalogEntry, SkillNotFound};
pub use changes::{CatalogChange, ChangeKind, changes};
pub use entries::Entries;
pub use part::CatalogPart;
pub use precedence::Precedence;
pub use rank::{RankedSkill, SkillUsage, rank};
pub use scope::{Scope, SkillOrigin};
pub use skill::{FileStamp, Skill, SkillForm, SkillId, SkillLocation};
pub use visibility::{
    Audience, CatalogView, HiddenReason, LookupRefusal, Policy, SkillGrant, SkillVisibility,
    VisibilityOverride,
};
