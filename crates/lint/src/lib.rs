//! What is wrong with a skill, and how to mend it.
//!
//! [`check`](check::check) runs the [`rules`](rules::RULES) over a parsed skill and the facts of the
//! folder around it; [`fix_all`](fix::fix_all) applies the safe fixes. A [`RuleSet`] says which rules
//! are in force and how severe each is, starting from a [`Profile`].

#![warn(clippy::disallowed_methods)]

pub mod check;
pub mod fix;
pub mod page;
pub mod profile;
pub mod reference;
pub mod rules;
pub mod scripts;
mod slips;
mod vocabulary;

pub use check::{Subject, check};
pub use profile::{Profile, RuleSet, Target};
pub use rules::Rule;
