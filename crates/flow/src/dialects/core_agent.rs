//! core-agent: `subagents` of `.agents/config.json`.

use prowess_diag::Span;
use prowess_spec::{ReadFault, ResourcePath};

use super::markdown::bare;
use super::{Contents, Dialect, json_object};
use crate::file_reader::{FileReader, NAME, PATH, VALUE, find, shown};
use crate::model::{AgentDef, AgentName, ModelChoice, PromptSource, Selection, TeamDef, TeamKind};
use crate::tree::{Node, NodeEntry};

const CONFIG_KEYS: [&str; 24] = [
    "$schema",
    "version",
    "model",
    "permissions",
    "path_scope",
    "url_scope",
    "tools",
    "tool_output",
    "agent",
    "subagents",
    "content_roots",
    "hooks",
    "alerts",
    "attach",
    "pricing",
    "ui",
    "compaction",
    "session",
    "safety",
    "otel",
    "mock",
    "mcp",
    "env",
    "budgets",
];
const AGENT_KEYS: [&str; 11] = [
    "name",
    "description",
    "instructions",
    "model",
    "max_depth",
    "tools",
    "mcp",
    "skills",
    "root",
    "budgets",
    "agents",
];
const BUDGET_KEYS: [&str; 3] = ["max_turns", "max_cost_usd", "max_wallclock_seconds"];

/// Starts a path in `instructions`.
const INCLUDE: &str = "@include ";

pub(super) fn read(reader: &mut FileReader<'_>) -> Contents {
    let Some(entries) = json_object(reader) else {
        return Contents::default();
    };
    reader.check_keys(&entries, &CONFIG_KEYS);
    let mut agents: Vec<AgentDef> = Vec::new();
    for item in reader.list(&entries, "subagents").unwrap_or_default() {
        let Some(agent) = read_agent(reader, item) else {
            continue;
        };
        if agents.iter().any(|known| known.name == agent.name) {
            let message = format!("two agents have the name `{}`", shown(agent.name.as_str()));
            let help = "give one of them another name; the second one is skipped";
            reader.report(NAME, agent.span, message, help);
            continue;
        }
        agents.push(agent);
    }
    if agents.is_empty() {
        return (agents, None);
    }
    let given = reader
        .map(&entries, "agent")
        .and_then(|agent| reader.text(agent, "display_name"));
    let name = AgentName::new(given.as_deref().unwrap_or("core-agent"))
        .or_else(|_| AgentName::new("core-agent"));
    let span = find(&entries, "subagents").map_or(Span::at(0), |entry| entry.key_span);
    let team = name.ok().map(|name| TeamDef {
        name,
        description: None,
        entry: None,
        kind: TeamKind::Roster,
        commands: Vec::new(),
        span,
    });
    (agents, team)
}

fn read_agent(reader: &mut FileReader<'_>, node: &Node) -> Option<AgentDef> {
    let Some(entries) = node.entries() else {
        let message = format!("an agent is {}, not an object", node.kind());
        reader.report(VALUE, node.span, message, "write `{ … }`");
        return None;
    };
    reader.check_keys(entries, &AGENT_KEYS);
    let Some(name) = find(entries, "name") else {
        reader.report(
            NAME,
            node.span,
            "`name` is missing",
            "add `\"name\": \"…\"`",
        );
        return None;
    };
    let span = name.value.span;
    let name = reader.text(entries, "name")?;
    let name = reader.name(&name, span)?;
    let mut agent = AgentDef::new(name, Dialect::CoreAgent, reader.path, node.span);
    agent.description = reader.text(entries, "description").unwrap_or_default();
    if let Some(root) = reader.text(entries, "root") {
        let span = find(entries, "root").map_or(node.span, |entry| entry.value.span);
        // Without the folder, the agent would get the skills of the project.
        agent.root = Some(reader.resolve(&root, span)?.as_str().into());
    }
    instructions(reader, entries, &mut agent);
    if let Some(model) = reader.map(entries, "model") {
        let provider = reader.text(model, "provider");
        if let Some(name) = reader.text(model, "name") {
            agent.model = ModelChoice::Named {
                provider,
                name,
                base_url: None,
            };
        }
    }
    for (key, selection) in [
        ("tools", &mut agent.tools),
        ("mcp", &mut agent.servers),
        ("skills", &mut agent.skills),
    ] {
        // Absent: what the parent has. A list: only these. An empty list: none.
        if let Some(names) = reader.names(entries, key) {
            *selection = Selection::these(bare(names));
        }
    }
    agent.limits.depth = reader
        .number(entries, "max_depth")
        .and_then(|depth| u32::try_from(depth).ok());
    if let Some(budgets) = reader.map(entries, "budgets") {
        reader.check_keys(budgets, &BUDGET_KEYS);
        agent.limits.turns = reader
            .number(budgets, "max_turns")
            .and_then(|turns| u32::try_from(turns).ok());
        agent.limits.micros = reader.micros(budgets, "max_cost_usd");
        agent.limits.seconds = reader.number(budgets, "max_wallclock_seconds");
    }
    Some(agent)
}

/// Reads `instructions`: a text, or `@include FILE`. Without them, `AGENTS.md` of the root counts.
fn instructions(reader: &mut FileReader<'_>, entries: &[NodeEntry], agent: &mut AgentDef) {
    let Some(text) = reader.text(entries, "instructions") else {
        if let Some(root) = agent.root.clone() {
            from_root(reader, &root, agent);
        }
        return;
    };
    let Some(file) = text.trim().strip_prefix(INCLUDE) else {
        agent.set_prompt(&text);
        return;
    };
    let span = find(entries, "instructions").map_or(agent.span, |entry| entry.value.span);
    // Relative to the file, or to the project that contains its folder.
    let outer = format!("../{}", file.trim());
    let Some(inner) = reader.resolve(file.trim(), span) else {
        return;
    };
    let is_inner = !matches!(reader.files.read(inner.as_str()), Err(ReadFault::Missing));
    let path = if is_inner {
        Some(inner)
    } else {
        reader.resolve(&outer, span)
    };
    let Some(path) = path else {
        return;
    };
    if let Some(text) = reader.open(&path, span) {
        agent.prompt = text.trim().into();
        agent.prompt_source = PromptSource::File(path.as_str().into());
    }
}

/// Reads `AGENTS.md` of a root.
fn from_root(reader: &mut FileReader<'_>, root: &str, agent: &mut AgentDef) {
    let Ok(path) = ResourcePath::new(&format!("{root}/AGENTS.md")) else {
        return;
    };
    match reader.files.read(path.as_str()) {
        Ok(bytes) => {
            agent.prompt = String::from_utf8_lossy(&bytes).trim().into();
            agent.prompt_source = PromptSource::File(path.as_str().into());
        }
        Err(ReadFault::Missing) => {}
        Err(_) => {
            let message = format!("`{}` cannot be read", shown(path.as_str()));
            reader.report(PATH, agent.span, message, "correct its permissions");
        }
    }
}
