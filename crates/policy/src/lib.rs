//! May this happen? Allow, ask or deny, with a reason.
//!
//! Everything here is a pure function of rules and a request: nothing is run, nobody is asked. What
//! may run leaves this crate as [`Approved`], which cannot be built anywhere else; the exec crate
//! takes nothing else.

mod approved;
mod decision;
mod gate;
mod grant;
mod matching;
mod mode;
pub mod paths;
pub mod profile;
mod request;
pub mod rule;
mod rules;
mod star;

pub use approved::{Approved, Command, Plan};
pub use decision::{Cited, Decision, Verdict};
pub use gate::{Bound, Gate, Outcome, Pending};
pub use grant::{Answer, Grant, Granted, Lifetime};
pub use mode::Mode;
pub use paths::Places;
pub use profile::Profile;
pub use request::{Action, Actor, SkillActor};
pub use rule::{Effect, Rule, RuleFault};
pub use rules::{Placed, RuleSet, Source, Unread};
