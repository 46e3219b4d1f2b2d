//! Claude Code: `.claude/agents/*.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent, bare};
use crate::file_reader::{FileReader, VALUE, find};
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
    ("initialPrompt", "pass the task to `prowess agent run`"),
    (
        "permissionMode",
        "a file cannot change the mode that you set",
    ),
    (
        "mcpServers",
        "name servers of `.mcp.json` or of your settings in `tools`, as `mcp__SERVER`",
    ),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent { entries, mut agent }) =
        markdown::read(reader, bytes, Dialect::Claude, ".md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    agent.ignored = reader.ignore(&entries, &IGNORED);
    agent.effort = reader.text(&entries, "effort");
    agent.limits.turns = reader
        .number(&entries, "maxTurns")
        .and_then(|turns| u32::try_from(turns).ok());
    let key = if find(&entries, "tools").is_some() {
        "tools"
    } else {
        "allowedTools"
    };
    let tools = reader.names(&entries, key).map(bare);
    // `Agent(x)` and `Task(x)` name agents that this one may start.
    let mut calls = None;
    let tools = tools.map(|tools| {
        let mut kept = Vec::new();
        for tool in tools {
            match agent_pattern(&tool) {
                Some(names) => {
                    let known: &mut Vec<Box<str>> = calls.get_or_insert_with(Vec::new);
                    known.extend(names.into_iter().map(Box::from));
                }
                None => kept.push(tool),
            }
        }
        kept
    });
    agent.calls = Selection {
        only: Some(calls.unwrap_or_default()),
        without: Vec::new(),
    };
    agent.tools = Selection {
        only: tools.filter(|tools| !tools.iter().any(|tool| &**tool == "*")),
        without: reader
            .names(&entries, "disallowedTools")
            .map(bare)
            .unwrap_or_default(),
    };
    agent.preload = reader
        .names(&entries, "skills")
        .map(bare)
        .unwrap_or_default();
    if let Some(entry) =
        find(&entries, "tools").filter(|_| agent.tools.only.as_deref() == Some(&[]))
    {
        let message = "`tools` is empty: the agent has no tools";
        let help = "remove the line to give it all tools of the session";
        if agent.calls.only.as_deref() == Some(&[]) {
            reader.report(VALUE.as_warning(), entry.key_span, message, help);
        }
    }
    vec![agent]
}

/// Returns the agents that `Agent(a, b)` names.
fn agent_pattern(tool: &str) -> Option<Vec<&str>> {
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
