//! Stores which skills a user trusts, and summarises what trusting a skill allows.
//!
//! Skills that come from a project or a server, or that an agent wrote, run no commands and grant
//! no tools until the user trusts them. Trust is stored outside of projects, in one small file for
//! each skill, and is bound to a digest over every file of the skill: if one byte changes, the
//! trust lapses, and the changed files are listed. Agent files of a project are trusted in the same
//! way before their agents run.
//!
//! Packages that a lockfile pins need trust in every scope, and are compared with the lockfile
//! whenever they are read.

mod agent_trust;
mod disguise;
mod mission_trust;
mod package_pin;
mod skill_trust;
mod store;
mod summary;

pub use agent_trust::{AgentTrust, AgentVerdict};
pub use mission_trust::MissionTrust;
pub use package_pin::{
    ChangedPackage, LivePackage, PackageFault, PackageLocks, PackagePin, PinnedFile, PinnedPackage,
    is_package_tree,
};
pub use skill_trust::{SkillRole, SkillTrust, check_package, is_required, package_of, version_of};
pub use store::{
    FileChange, TrustEntry, TrustError, TrustKind, TrustRecord, TrustRecordError, TrustState,
    TrustStore, digest_of,
};
pub use summary::{
    GrantLine, HiddenText, HookLine, OutsideLink, TrustFinding, TrustSummary, main_file_in,
    summarise,
};
