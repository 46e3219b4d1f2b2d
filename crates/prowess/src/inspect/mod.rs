//! What surfaces say of skills: documents for programs, reasons for people.
//!
//! The command prints these documents, and whatever else talks to programs sends the same. Each has
//! a `"schema"` with a number; within a number, fields are only added.

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
pub use why::{Answer, Question, Why, why};
