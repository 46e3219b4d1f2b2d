//! Tools for files, commands and the web.
//!
//! Seven tools, one file each. All of them ask the gate before anything is touched. Files
//! are judged by where they really are, links followed, and what is opened is exactly the file that
//! was judged (`path_guard.rs`, `file.rs`). Commands run in the sandbox. What the sandbox hides from
//! commands is hidden from these tools too, whatever the mode: keys, and our own folders.

mod bash;
mod edit;
mod file;
mod glob;
mod grep;
mod html;
mod http_get;
mod path_guard;
mod picture;
mod read;
mod search;
mod url;
mod write;

use std::sync::Arc;

use prowess_traits::Fetcher;
use serde_json::{Value, json};

use crate::Tool;

pub use bash::Bash;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use http_get::HttpGet;
pub use read::Read;
pub use url::is_private_host;
pub use write::Write;

/// Every tool, in the order in which a model sees them. Without a fetcher there is no `http_get`.
pub fn file_tools(fetcher: Option<Arc<dyn Fetcher>>) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Read),
        Arc::new(Write),
        Arc::new(Edit),
        Arc::new(Bash),
        Arc::new(Glob),
        Arc::new(Grep),
    ];
    if let Some(fetcher) = fetcher {
        tools.push(Arc::new(HttpGet::new(fetcher)));
    }
    tools
}

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

#[cfg(test)]
mod tests {
    use crate::rule_names;

    use super::*;

    #[test]
    fn every_tool_has_a_name_in_rules() {
        for tool in file_tools(None) {
            assert!(!rule_names(tool.name()).is_empty(), "{}", tool.name());
        }
        assert_eq!(rule_names("http_get"), ["WebFetch"]);
    }
}
