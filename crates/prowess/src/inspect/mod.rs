//! Descriptions of skills: JSON documents for programs, and explanations for people.
//!
//! The command line and all other interfaces for programs use the same documents. Each document has
//! a `"schema"` with a version number; within one version, fields are only added.

mod find;
mod list;
mod permissions;
mod policy_jsonl;
mod show;
mod skill;
mod stats_and_prompt;
mod why;

pub use find::{found, reasons};
pub use list::{changes, list};
pub use permissions::{
    Section, activation, activation_report, became, decision, ran, ran_report, rules, tools, trust,
    trust_changes, trust_sections, trust_word, trusted,
};
pub use policy_jsonl::answer_lines;
pub use show::{Heading, Package};
pub use skill::{from, sight, skill};
pub use stats_and_prompt::{index, usage};
pub use why::{Answer, Question, SkillExplanation, why};
