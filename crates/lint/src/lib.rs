//! Checks skills against rules and fixes problems.
//!
//! [`check`](check::check) runs the [`rules`](rules::RULES) over a parsed skill and the facts about
//! its folder; [`fix_all`](fix::fix_all) applies fixes. A [`LintRuleSet`] determines the active rules
//! and their severities, starting from a [`LintProfile`].

#![warn(clippy::disallowed_methods)]

pub mod check;
pub mod fix;
mod key_notation;
mod known_tools;
pub mod profile;
pub mod rule_page;
pub mod rules;
pub mod scripts;
pub mod skills_ref;

pub use check::{LintSubject, check};
pub use profile::{LintProfile, LintRuleSet, LintTarget};
pub use rules::LintRule;
