//! Validates and fixes packages on disk.
//!
//! [`run`] reads every package at or below the given paths on several threads, runs the rules and
//! optionally applies fixes. A [`Surface`] presents the findings: it converts each one immediately,
//! so that no text has to be kept.
//!
//! ```
//! use std::path::Path;
//!
//! use prowess::validate::{Action, Job, Surface, run};
//! use prowess_diag::{Applicability, Diagnostic, FileReport, LineIndex};
//! use prowess_lint::{LintProfile, LintRuleSet};
//!
//! struct Rules;
//!
//! impl Surface for Rules {
//!     type Piece = &'static str;
//!     fn path(&self, path: &Path) -> String {
//!         path.display().to_string()
//!     }
//!     fn piece(&self, _: &FileReport, _: &LineIndex, found: &Diagnostic) -> &'static str {
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
//! let job = Job {
//!     rules: LintRuleSet::new(LintProfile::Spec, None),
//!     action: Action::Report,
//!     least: Applicability::Safe,
//! };
//! let outcome = run(&job, vec![folder.path().to_owned()], &Rules);
//! assert_eq!(outcome.skills, 1);
//! assert_eq!(outcome.files[0].pieces[0].text, "name-case");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod job;
mod outcome;
mod targets;
mod watch;

pub use job::{Action, Job, Surface, Text, check_text, run};
pub use outcome::{Checked, FixedFile, Piece, ValidationOutcome};
pub use targets::{distinct, visible_roots};
pub use watch::Watch;
