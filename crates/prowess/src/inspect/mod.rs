//! Descriptions of skills: JSON documents for programs, and explanations for people.
//!
//! The command line and all other interfaces for programs use the same documents. Each document has
//! a `"schema"` with a version number; within one version, fields are only added.

mod documents;
mod find;
mod gate;
mod lines;
mod list;
mod show;
mod skill;
mod why;

pub use documents::{index, usage};
pub use find::{found, reasons};
pub use gate::{
    Section, activation, activation_report, became, decision, ran, ran_report, rules, tools, trust,
    trust_changes, trust_sections, trust_word, trusted,
};
pub use lines::answer_lines;
pub use list::{changes, list};
pub use show::{Heading, Package};
pub use skill::{from, sight, skill};
pub use why::{Answer, Question, SkillExplanation, why};
