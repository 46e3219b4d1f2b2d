//! Searches the files of a skill for text that a person should read before trusting it.
//!
//! A [`SkillScanner`] is created for a skill; [`SkillScanner::file`] returns the findings in one of its
//! files. A finding is a reason to look, not a verdict, and no finding is no promise: words in an
//! ordinary language can make a model do anything.
//!
//! The rules are plain: literal texts that are found in one pass, and for the lines around them regular
//! expressions that run in linear time, or the pipelines that [`prowess_shell::pipeline`] reads. Each
//! finding has a [`FindingPlace`]: the same command is an order in an instruction and a quotation in a
//! table of attacks, and counts for less there.

#![warn(clippy::disallowed_methods)]

mod address;
mod hidden_characters;
mod matching;
mod passage;
mod place;
mod private_files;
pub mod rule_page;
pub mod rules;
mod scanner;
mod subject;

pub use place::FindingPlace;
pub use rules::{RULES, ScanRule};
pub use scanner::{FileScan, MAX_BYTES, MAX_FINDINGS, ScanFinding, SkillScanner};
pub use subject::{ScanContent, ScanFile};
