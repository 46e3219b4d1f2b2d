//! Answers that outlive their request.

use crate::rule::PermissionRule;

/// The lifetime of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the session ends.
    Session,
    /// Until it is revoked.
    Always,
}

/// An approval for more than one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionGrant {
    /// The grant.
    pub what: GrantScope,
    /// The lifetime.
    pub lifetime: Lifetime,
    /// The skill that it was granted to, by name and digest. `None` if the request did not come
    /// from a skill.
    pub skill: Option<(Box<str>, Box<str>)>,
    /// The place or person that the answer came from, for the record.
    pub who: Option<Box<str>>,
}

/// The scope of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// Everything that an allow rule matches.
    Rule(PermissionRule),
    /// One command, by its exact text.
    Verbatim {
        /// The text.
        text: Box<str>,
        /// The folder in which it runs: in another folder, the same text is another command.
        folder: Box<str>,
    },
}

/// The grant that a decision is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantOrigin {
    /// The place or person that the answer came from.
    pub who: Option<Box<str>>,
}

/// An answer to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Deny.
    No,
    /// Deny, because no user is available or the request cannot be shown.
    Unavailable,
    /// Allow this once.
    Once,
    /// Allow this request until the session ends.
    Session,
    /// Allow everything of this tool until the session ends.
    Tool,
    /// Allow this request from now on.
    Always,
}

impl ApprovalAnswer {
    /// Returns `true` if the answer allows the request.
    pub fn allows(self) -> bool {
        match self {
            Self::No | Self::Unavailable => false,
            Self::Once | Self::Session | Self::Tool | Self::Always => true,
        }
    }
}
