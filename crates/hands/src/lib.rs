//! What an agent does with its hands: files, commands, the web.
//!
//! Seven tools, a file each in `tools/`. All of them ask the gate before anything is touched. Files
//! are judged by where they really are, links followed, and what is opened is exactly the file that
//! was judged (`ground.rs`, `file.rs`). Commands run in the sandbox. What the sandbox hides from
//! commands is hidden from these tools too, whatever the mode: keys, and our own folders.

mod file;
mod ground;
mod html;
mod picture;
mod search;
mod tools;
mod url;

use std::sync::Arc;

use prowess_ports::Fetcher;
use prowess_tools::Tool;

pub use tools::{Bash, Edit, Glob, Grep, HttpGet, Read, Write};
pub use url::is_private_host;

/// Our names of the tools, and what Claude Code and rules call them.
const NAMES: &[(&str, &str)] = &[
    ("read", "Read"),
    ("write", "Write"),
    ("edit", "Edit"),
    ("bash", "Bash"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("http_get", "WebFetch"),
];

/// Every tool, in the order in which a model sees them. Without a fetcher there is no `http_get`.
pub fn hands(fetcher: Option<Arc<dyn Fetcher>>) -> Vec<Arc<dyn Tool>> {
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

/// What rules and `allowed-tools` call one of these tools: `Read` for `read`. Nothing for a tool
/// that is none of them.
pub fn rule_name(tool: &str) -> Option<&'static str> {
    NAMES.iter().find(|(own, _)| *own == tool).map(|(_, rule)| *rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_name_in_rules() {
        for tool in hands(None) {
            assert!(rule_name(tool.name()).is_some(), "{}", tool.name());
        }
        assert_eq!(rule_name("http_get"), Some("WebFetch"));
        assert_eq!(rule_name("load_skill"), None);
    }
}
