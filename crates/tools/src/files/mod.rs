//! Tools for files, commands and the web.
//!
//! One file for each tool; the tools for web requests share one. Every tool asks the gate before it touches anything. Files are
//! checked by their real path, with links resolved, and exactly the file that was checked is opened
//! (`path_guard.rs`, `open_file.rs`). Commands run in the sandbox. Paths that the sandbox hides from
//! commands, such as private keys and our own folders, are hidden from these tools in every mode.

mod bash;
mod edit;
mod glob;
mod grep;
mod html;
mod http;
mod image;
pub(crate) mod open_file;
pub(crate) mod path_guard;
mod read;
mod url;
mod walk;
mod write;

use std::sync::Arc;

use prowess_traits::{Fetcher, WebMethod};
use serde_json::{Value, json};

use crate::Tool;

pub use bash::Bash;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use http::HttpTool;
pub use read::Read;
pub use write::Write;

/// Returns the tools in the order in which a model sees them. Without a fetcher, `http_get` is
/// missing.
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
        tools.push(Arc::new(HttpTool::new(WebMethod::Get, fetcher)));
    }
    tools
}

/// Returns the tools that may change something on a web server. They are not among the ordinary
/// tools of a session: a skill or an agent must name them.
pub fn changing_web_tools(fetcher: &Arc<dyn Fetcher>) -> Vec<Arc<dyn Tool>> {
    let methods = [
        WebMethod::Post,
        WebMethod::Put,
        WebMethod::Patch,
        WebMethod::Delete,
    ];
    let tool = |method| Arc::new(HttpTool::new(method, Arc::clone(fetcher))) as Arc<dyn Tool>;
    methods.into_iter().map(tool).collect()
}

/// Returns the schema of a `path` parameter.
fn path(what: &str) -> (&'static str, Value) {
    (
        "path",
        json!({ "type": "string", "minLength": 1, "description": what }),
    )
}

/// Returns the schema of the `path` parameter of a tool that works on one file.
fn file() -> (&'static str, Value) {
    path("Path of the file, absolute or relative to the project root.")
}

/// Returns the schema of a pattern parameter.
fn pattern(name: &'static str, what: &str) -> (&'static str, Value) {
    /// Maximum length of a pattern.
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
    fn every_tool_has_a_rule_name() {
        for tool in file_tools(None) {
            assert!(!rule_names(tool.name()).is_empty(), "{}", tool.name());
        }
        assert_eq!(rule_names("http_get"), ["WebFetch"]);
    }
}
