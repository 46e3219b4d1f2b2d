//! Claude Code: `.claude/agents/*.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent, bare};
use crate::file_reader::{FileReader, VALUE, are_names, find};
use crate::model::{AgentDef, Selection};

const KNOWN: [&str; 18] = [
    "name",
    "description",
    "tools",
    "allowedTools",
    "disallowedTools",
    "model",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "isolation",
    "effort",
    "color",
    "initialPrompt",
    "metadata",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 7] = [
    ("hooks", "hooks belong to skills and to your own settings"),
    ("memory", "an agent keeps nothing between sessions"),
    ("background", "the caller decides whether it waits"),
    ("isolation", "commands run in the sandbox of the session"),
    ("initialPrompt", "agents of files are not started yet"),
    (
        "permissionMode",
        "a file cannot change the mode that you set, except that `plan` leaves only reading tools",
    ),
    (
        "mcpServers",
        "name servers of `.mcp.json` or of your settings in `tools`, as `mcp__SERVER`",
    ),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent {
        entries,
        mut agent,
        unread,
    }) = markdown::read(reader, bytes, Dialect::Claude, ".md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    agent.ignored = reader.ignore(&entries, &IGNORED);
    agent.effort = reader.text(&entries, "effort");
    agent.limits.turns = reader
        .number(&entries, "maxTurns")
        .and_then(|turns| u32::try_from(turns).ok());
    let has = |key: &str| entries.iter().any(|entry| &*entry.key == key);
    let key = if has("tools") {
        "tools"
    } else {
        "allowedTools"
    };
    // `Agent(x)` and `Task(x)` name agents that this one may start.
    let (tools, calls) = apart(reader.names(&entries, key).map(bare).unwrap_or_default());
    let (denied, denied_calls) = apart(
        reader
            .names(&entries, "disallowedTools")
            .map(bare)
            .unwrap_or_default(),
    );
    agent.calls = Selection {
        without: denied_calls,
        ..Selection::listed(calls)
    };
    agent.tools = Selection {
        without: denied,
        ..if has(key) {
            Selection::listed(tools)
        } else {
            Selection::all()
        }
    };
    if !are_names(&entries, "disallowedTools") {
        // It is unknown what it was meant to forbid.
        agent.tools = Selection::none();
    }
    let mode = reader.text(&entries, "permissionMode");
    agent.is_read_only = match &mode {
        Some(mode) => mode.trim().eq_ignore_ascii_case("plan"),
        None => has("permissionMode"),
    };
    let skills = reader.names(&entries, "skills").unwrap_or_default();
    agent.skill_names.clone_from(&skills);
    agent.preload = bare(skills);
    let is_empty = agent.tools.only.as_deref() == Some(&[]) && agent.calls == Selection::none();
    let entry = find(&entries, "tools").filter(|entry| entry.value.entries().is_none());
    if let Some(entry) = entry.filter(|_| is_empty) {
        let message = "`tools` is empty: the agent has no tools";
        let help = "remove the line to give it all tools of the session";
        reader.report(VALUE.as_warning(), entry.key_span, message, help);
    }
    markdown::restrict_unread(reader, unread, &mut agent);
    vec![agent]
}

/// Separates tools and the agents that `Agent(a, b)` names.
fn apart(listed: Vec<Box<str>>) -> (Vec<Box<str>>, Vec<Box<str>>) {
    let (mut tools, mut agents) = (Vec::new(), Vec::new());
    for tool in listed {
        match agent_pattern(&tool) {
            Some(names) => agents.extend(names.into_iter().map(Box::from)),
            None => tools.push(tool),
        }
    }
    (tools, agents)
}

/// Returns the agents that `Agent(a, b)` names.
pub(crate) fn agent_pattern(tool: &str) -> Option<Vec<&str>> {
    let inner = tool
        .strip_prefix("Agent")
        .or_else(|| tool.strip_prefix("Task"))?;
    if inner.is_empty() {
        return Some(vec!["*"]);
    }
    let names = inner.strip_prefix('(')?.strip_suffix(')')?;
    Some(
        names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect(),
    )
}
