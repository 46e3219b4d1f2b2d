//! Checks, mends and starts packages on disk.
//!
//! [`run`] takes paths, reads every package at or below them on several threads, runs the rules,
//! and, if that is wanted, applies fixes. What a finding looks like is up to the [`Surface`] that
//! asked: it turns each one into a piece of its own at once, so that no text has to be kept.
//!
//! ```
//! use std::path::Path;
//!
//! use prowess::validate::{Action, Job, Surface, run};
//! use prowess_diag::{Applicability, Diagnostic, FileReport, LineIndex};
//! use prowess_lint::{Profile, RuleSet};
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
//!     rules: RuleSet::new(Profile::Spec, None),
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
pub use outcome::{Checked, Mended, Outcome, Piece};
pub use targets::{distinct, visible_roots};
pub use watch::Watch;
