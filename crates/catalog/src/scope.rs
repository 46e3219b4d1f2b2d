//! The origin of a skill.

/// The kind of origin, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Registered by the embedding program.
    Program,
    /// A folder of the current project.
    Project,
    /// A folder named by the user.
    Extra,
    /// A folder in the user's home.
    User,
    /// Shipped inside the program.
    Bundled,
    /// Provided by an MCP server.
    Server,
}

impl Scope {
    /// Every scope, highest precedence first.
    pub const ALL: [Self; 6] = [
        Self::Program,
        Self::Project,
        Self::Extra,
        Self::User,
        Self::Bundled,
        Self::Server,
    ];

    /// Returns the name used in output and in qualified names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Project => "project",
            Self::Extra => "extra",
            Self::User => "user",
            Self::Bundled => "bundled",
            Self::Server => "server",
        }
    }

    /// Parses the name returned by [`Self::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// A root that contains skills.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillOrigin {
    /// The kind of origin.
    pub scope: Scope,
    /// Position among the roots of all scopes; a lower one has precedence.
    pub order: u32,
    /// The root as named by its source; unique among origins.
    pub root: Box<str>,
    /// The agent that the folder belongs to: `agents`, `claude`, `codex`; empty if none.
    pub vendor: Box<str>,
    /// The folder of the project that it belongs to, relative to the current folder: `apps/web`.
    /// Empty if it is not nested.
    pub nested: Box<str>,
}

impl SkillOrigin {
    /// Returns an origin without a vendor that is not nested.
    pub fn new(scope: Scope, order: u32, root: impl Into<Box<str>>) -> Self {
        Self {
            scope,
            order,
            root: root.into(),
            vendor: "".into(),
            nested: "".into(),
        }
    }
}
