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

#[cfg(test)]
mod tests {
    use prowess_tools::rule_names;

    use super::*;

    #[test]
    fn every_tool_has_a_name_in_rules() {
        for tool in hands(None) {
            assert!(!rule_names(tool.name()).is_empty(), "{}", tool.name());
        }
        assert_eq!(rule_names("http_get"), ["WebFetch"]);
    }
}
