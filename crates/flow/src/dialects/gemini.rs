//! Gemini CLI: `.gemini/agents/*.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent, bare};
use crate::file_reader::{FileReader, UNSUPPORTED, find};
use crate::model::{AgentDef, Selection};

const KNOWN: [&str; 12] = [
    "name",
    "display_name",
    "description",
    "kind",
    "tools",
    "model",
    "temperature",
    "max_turns",
    "timeout_mins",
    "mcp_servers",
    "skills",
    "metadata",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 3] = [
    (
        "mcp_servers",
        "put the servers into `.mcp.json` or into your own settings",
    ),
    ("temperature", "providers choose it"),
    ("skills", "the agent has the skills of the session"),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent {
        entries,
        mut agent,
        unread,
    }) = markdown::read(reader, bytes, Dialect::Gemini, ".md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    agent.ignored = reader.ignore(&entries, &IGNORED);
    if let Some(entry) = find(&entries, "kind").filter(|entry| entry.value.text() != Some("local"))
    {
        let message = "only agents of the kind `local` are supported";
        let help = "the agent is skipped";
        reader.report(UNSUPPORTED, entry.value.span, message, help);
        return Vec::new();
    }
    if let Some(tools) = reader.names(&entries, "tools") {
        agent.tools = Selection::listed(bare(tools));
    }
    agent.limits.turns = reader
        .number(&entries, "max_turns")
        .and_then(|turns| u32::try_from(turns).ok());
    agent.limits.seconds = reader
        .number(&entries, "timeout_mins")
        .map(|minutes| minutes.saturating_mul(60));
    markdown::restrict_unread(reader, unread, &mut agent);
    vec![agent]
}
