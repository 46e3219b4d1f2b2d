//! Where a skill comes from.

/// What kind of place a skill comes from, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The program that embeds us registered it.
    Program,
    /// A folder of the project one works in.
    Project,
    /// A folder named by the user.
    Extra,
    /// A folder of the user's home.
    User,
    /// Shipped inside the program.
    Bundled,
    /// Offered by an MCP server.
    Server,
}

impl Scope {
    /// Every scope, highest first.
    pub const ALL: [Self; 6] = [
        Self::Program,
        Self::Project,
        Self::Extra,
        Self::User,
        Self::Bundled,
        Self::Server,
    ];

    /// Returns the word used in output, and before the colon of a qualified name.
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

    /// Reads the word used in output.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// A root that skills are found under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// What kind of place it is.
    pub scope: Scope,
    /// Its place among the roots of all scopes; a lower one counts more.
    pub order: u32,
    /// The root as the source names it; two origins never share one.
    pub root: Box<str>,
    /// Whose folder it is: `agents`, `claude`, `codex`; empty where nobody's.
    pub vendor: Box<str>,
    /// The folder of the project that it belongs to, seen from where one stands: `apps/web`. Empty
    /// for everything that is not nested.
    pub nested: Box<str>,
}

impl Origin {
    /// Starts an origin that is nobody's and not nested.
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
