//! Validates and fixes packages, agent files and mission files on disk.
//!
//! [`run`] reads every package at or below the given paths on several threads, runs the rules and
//! optionally applies fixes. A [`Presenter`] presents the findings: it converts each one immediately,
//! so that no text has to be kept.
//!
//! ```
//! use std::path::Path;
//!
//! use prowess::validate::{ValidationAction, ValidationJob, Presenter, run};
//! use prowess_diag::{Applicability, Diagnostic, FileReport, LineIndex};
//! use prowess_lint::{LintProfile, LintRuleSet};
//!
//! struct Rules;
//!
//! impl Presenter for Rules {
//!     type Finding = &'static str;
//!     fn path(&self, path: &Path) -> String {
//!         path.display().to_string()
//!     }
//!     fn present(&self, _: &FileReport, _: &LineIndex, found: &Diagnostic) -> &'static str {
//!         found.rule
//!     }
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("pdf"))?;
//! # std::fs::write(
//! #     folder.path().join("pdf/SKILL.md"),
//! #     "---\nname: PDF\ndescription: Fills in forms. Use when there is one.\n---\nDo it.\n",
//! # )?;
//! let job = ValidationJob {
//!     rules: LintRuleSet::new(LintProfile::Spec, None),
//!     action: ValidationAction::Report,
//!     least: Applicability::Safe,
//!     deep: true,
//!     dialect: None,
//!     security: None,
//! };
//! let outcome = run(&job, vec![folder.path().to_owned()], &Rules);
//! assert_eq!(outcome.skills, 1);
//! assert_eq!(outcome.files[0].findings[0].text, "name-case");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agents;
mod job;
mod missions;
mod outcome;
mod targets;
mod watch;

pub use agents::{SkillNames, is_agent_file, read_agent_file_at};
pub use job::{
    Presenter, SecurityScan, TextOutcome, ValidationAction, ValidationJob, check_text, run,
};
pub use outcome::{FileFindings, FixedFile, RuleFinding, ValidationOutcome};
pub use targets::{VisibleRoots, distinct, visible_roots};
pub use watch::PathWatch;
