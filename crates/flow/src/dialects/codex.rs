//! Codex: roles in `.codex/agents/*.toml`.

use prowess_diag::{Span, wording};
use toml::de::DeTable;

use super::Dialect;
use crate::file_reader::{FileReader, SYNTAX, VALUE, find};
use crate::model::{AgentDef, ModelChoice};
use crate::tree::entries_from_toml;

const KNOWN: [&str; 11] = [
    "name",
    "description",
    "nickname_candidates",
    "developer_instructions",
    "model",
    "model_reasoning_effort",
    "sandbox_mode",
    "mcp_servers",
    "skills",
    "web_search",
    "background_terminal_max_timeout",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 3] = [
    (
        "mcp_servers",
        "put the servers into `.mcp.json` or into your own settings",
    ),
    ("skills", "the agent sees the skills of the session"),
    (
        "web_search",
        "rules about hosts belong to your own settings",
    ),
];

pub(super) fn read(reader: &mut FileReader<'_>) -> Vec<AgentDef> {
    let table = match DeTable::parse(reader.text) {
        Ok(table) => table,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let message = format!("invalid TOML: {}", error.message());
            reader.report(SYNTAX, Span::new(span.start, span.end), message, "");
            return Vec::new();
        }
    };
    let entries = entries_from_toml(table.get_ref());
    reader.check_keys(&entries, &KNOWN);
    let file = reader.path.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(".toml").unwrap_or(file);
    let given = reader.text(&entries, "name");
    let span = find(&entries, "name").map_or(Span::at(0), |entry| entry.value.span);
    let Some(name) = reader.name(given.as_deref().unwrap_or(stem), span) else {
        return Vec::new();
    };
    let mode = reader.text(&entries, "sandbox_mode");
    if let (Some(mode), Some(entry)) = (&mode, find(&entries, "sandbox_mode")) {
        let known = ["read-only", "workspace-write", "danger-full-access"];
        if !known.contains(&&**mode) {
            let message = "unknown value of `sandbox_mode`";
            let help = format!("write {}", wording::either(known.map(wording::tick)));
            reader.report(VALUE, entry.value.span, message, help);
        }
    }
    let span = Span::new(0, reader.text.len());
    let mut agent = AgentDef::new(name, Dialect::Codex, reader.path, span);
    let prompt = reader.text(&entries, "developer_instructions");
    agent.set_prompt(prompt.as_deref().unwrap_or_default());
    agent.description = reader.text(&entries, "description").unwrap_or_default();
    if let Some(model) = reader.text(&entries, "model") {
        agent.model = ModelChoice::parse(&model);
    }
    agent.effort = reader.text(&entries, "model_reasoning_effort");
    // An unknown mode must not allow more than the strictest one.
    let wider = ["workspace-write", "danger-full-access"];
    let is_wider = mode.is_some_and(|mode| wider.contains(&&*mode));
    agent.is_read_only = find(&entries, "sandbox_mode").is_some() && !is_wider;
    agent.ignored = reader.ignore(&entries, &IGNORED);
    vec![agent]
}
