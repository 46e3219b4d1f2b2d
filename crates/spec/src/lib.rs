//! The Agent Skills format: parse, check, repair.
//!
//! [`parse`](parse::parse) turns the bytes of a `SKILL.md` into a typed [`Manifest`], a body and
//! a list of problems; it never fails. [`check`](check::check) runs the [`rules`](rules::RULES)
//! over the result and the facts of the folder around it. [`fix`] applies the safe fixes.
//!
//! Nothing here touches a file, the clock or the environment: the registry reads, this crate
//! decides.

#![warn(clippy::disallowed_methods)]

pub mod body;
pub mod check;
pub mod fields;
pub mod fix;
pub mod frontmatter;
pub mod identity;
pub mod manifest;
pub mod name;
pub mod package;
pub mod parse;
pub mod problem;
pub mod profile;
mod repair;
pub mod resource_path;
pub mod rules;
pub mod schema;
pub mod sidecar;
pub mod tokens;
pub mod tool_pattern;
pub mod vocabulary;
pub mod yaml;

pub use check::{ReadFault, Subject, check};
pub use identity::{Identity, identify};
pub use manifest::Manifest;
pub use name::SkillName;
pub use package::{Facts, FileKind, Look, Package, PackageFile};
pub use parse::{Parsed, parse};
pub use profile::{Profile, RuleSet, Target};
pub use resource_path::ResourcePath;
pub use rules::Rule;
