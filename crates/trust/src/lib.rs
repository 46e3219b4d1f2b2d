//! Remembers which skills a person trusts, and shows what that means.
//!
//! Skills of a project, of a server and of an agent are inert until a person trusts them. Trust is
//! kept outside of any project, one small file for each skill, and is bound to a digest over every
//! file: one changed byte, and the skill is inert again, with a list of what changed.

mod standing;
mod store;
mod summary;

use prowess_catalog::{Scope, Skill};

pub use standing::{Reading, Standing, place_of};
pub use store::{Change, Entry, Error, Record, State, TrustStore, digest_of};
pub use summary::{GrantLine, HiddenText, TrustSummary, summarise};

/// Tells whether a skill must be trusted before it may do anything. What a person put into their own
/// folders, named on the command line or built into a program is theirs; what came with a project or
/// from a server, or was written by an agent, is not.
pub fn is_required(skill: &Skill) -> bool {
    matches!(skill.id.origin.scope, Scope::Project | Scope::Server)
        || skill.creator.as_deref() == Some("agent")
}
