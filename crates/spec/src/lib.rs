//! The Agent Skills format: parses `SKILL.md`.
//!
//! [`parse`](parse::parse) turns the bytes of a file into a typed [`Manifest`], a body and a list
//! of problems; it never fails. `prowess-lint` turns problems into diagnostics.
//!
//! This crate does no I/O and reads neither the clock nor the environment; the registry reads
//! files.

#![warn(clippy::disallowed_methods)]

pub mod body;
#[cfg(feature = "counters")]
#[doc(hidden)]
pub mod counters;
pub mod escapes;
pub mod fields;
pub mod frontmatter;
pub mod identity;
pub mod json;
pub mod manifest;
pub mod name;
pub mod not_a_skill;
pub mod package;
pub mod parse;
pub mod problem;
pub mod repair;
pub mod resource_path;
pub mod schema;
pub mod sidecar;
pub mod tokens;
pub mod tool_pattern;
pub mod vocabulary;
pub mod wildcard;
pub mod yaml;

pub use identity::{Identity, identify};
pub use manifest::Manifest;
pub use name::SkillName;
pub use not_a_skill::NotASkill;
pub use package::{FileKind, PackageFacts, PackageFile, PackageListing, PathStatus, ReadFault};
pub use parse::{ParsedSkill, parse};
pub use resource_path::{PathFault, ResourcePath};
