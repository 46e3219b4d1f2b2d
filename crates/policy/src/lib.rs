//! May this happen? Allow, ask or deny, with a reason.
//!
//! Everything here is a pure function of rules and a request: nothing is run, nobody is asked. What
//! may run leaves this crate as [`Approved`], which cannot be built anywhere else; the exec crate
//! takes nothing else.

mod approved;
pub mod command;
pub mod profile;
pub mod programs;

pub use approved::{Approved, Command, Plan};
pub use profile::Profile;
