//! Reads agents, teams, crews and missions from the files of other systems.
//!
//! [`Dialect::of`] recognises a file by its path, and [`read`] turns its bytes into
//! [`AgentDef`]s and at most one [`TeamDef`]. Reading never fails: what is not understood is a
//! finding with a span, and the rest of the file is kept. Nothing is opened and nothing is run:
//! files that a file names are requested through [`ProjectFiles`]. [`mission`] reads missions, and
//! [`convert`] writes the files of another system.

#![warn(clippy::disallowed_methods)]

pub mod convert;
pub mod dialects;
mod file_reader;
mod json;
pub mod mission;
mod model;
mod roster;
mod servers;
mod tree;

pub use dialects::{Dialect, read};
pub use file_reader::{MIN_FILE, NoFiles, ProjectFiles};
pub use json::{JsonError, parse as parse_json};
pub use model::{
    AgentDef, AgentFile, AgentLimits, AgentName, AgentNameFault, CommandDef, ModelAlias,
    ModelChoice, PromptSource, Selection, ServerFile, TeamDef, TeamKind, unknown_skill,
};
pub use roster::{AgentNotFound, AgentRoster, AgentScope, RosterEntry};
pub use tree::{Node, NodeEntry};

/// Maximum size of a file, in bytes.
pub const MAX_FILE: usize = prowess_spec::parse::MAX_FILE;
