//! Copilot: `*.agent.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent, bare};
use crate::file_reader::FileReader;
use crate::model::{AgentDef, Selection};

const KNOWN: [&str; 15] = [
    "name",
    "description",
    "tools",
    "model",
    "argument-hint",
    "user-invocable",
    "disable-model-invocation",
    "mcp-servers",
    "mode",
    "hidden",
    "agents",
    "agent",
    "handoffs",
    "target",
    "metadata",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 4] = [
    (
        "mcp-servers",
        "put the servers into `.mcp.json` or into your own settings",
    ),
    ("handoffs", "list the other agents in `agents`"),
    ("agent", "list the other agents in `agents`"),
    (
        "disable-model-invocation",
        "leave the agent out of `agents` of others",
    ),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent {
        entries,
        mut agent,
        unread,
    }) = markdown::read(reader, bytes, Dialect::Copilot, ".agent.md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    agent.ignored = reader.ignore(&entries, &IGNORED);
    // `tools: ['*']` and no `tools` mean every tool.
    if let Some(tools) = reader.names(&entries, "tools") {
        agent.tools = Selection::listed(bare(tools));
    }
    if let Some(agents) = reader.names(&entries, "agents") {
        agent.calls = Selection::listed(bare(agents));
    }
    markdown::restrict_unread(reader, unread, &mut agent);
    vec![agent]
}
