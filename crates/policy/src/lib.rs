//! Decides whether a request is allowed, denied or needs approval, with a reason.
//!
//! Decisions are pure functions of rules and a request: this crate runs nothing and prompts for
//! nothing. Commands that may run leave it as [`Approved`], which only this crate can build and
//! which is the only input of the sandbox crate.

mod approved;
mod decision;
mod folders;
mod gate;
mod grant;
mod matching;
mod mode;
mod named_paths;
pub mod path_pattern;
pub mod profile;
mod request;
pub mod rule;
mod rule_set;

pub use approved::{Approved, Command, Plan};
pub use decision::{CitedRule, Decision, Remedy, Verdict};
pub use gate::{BoundScript, Gate, GateOutcome, Pending};
pub use grant::{ApprovalAnswer, GrantOrigin, GrantScope, Lifetime, PermissionGrant};
pub use mode::{PermissionMode, Unattended};
pub use named_paths::{NamedPath, NamedRole};
pub use path_pattern::WorkspacePaths;
pub use profile::Profile;
pub use request::{Actor, GateAction, SkillAction, SkillActor};
pub use rule::{CHANGING_TOOLS, Effect, PermissionRule, RuleFault};
pub use rule_set::{InvalidRule, LoadableSkills, PermissionRules, RuleSource, SourcedRule};
