//! The tools, a file each.

mod bash;
mod edit;
mod glob;
mod grep;
mod http_get;
mod read;
mod write;

use serde_json::{Value, json};

pub use bash::Bash;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use http_get::HttpGet;
pub use read::Read;
pub use write::Write;

/// The input `path` of a tool: where it works.
fn path(what: &str) -> (&'static str, Value) {
    (
        "path",
        json!({ "type": "string", "minLength": 1, "description": what }),
    )
}

/// The input `path` of a tool that works on one file.
fn file() -> (&'static str, Value) {
    path("The file, seen from the project's root, or absolute.")
}

/// The input `pattern` of a tool that searches, or another one like it.
fn pattern(name: &'static str, what: &str) -> (&'static str, Value) {
    /// Longest pattern.
    const MAX_PATTERN: usize = 1_000;
    (
        name,
        json!({ "type": "string", "minLength": 1, "maxLength": MAX_PATTERN, "description": what }),
    )
}
