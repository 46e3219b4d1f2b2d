//! core-agent: `subagents` of `.agents/config.json`.

use prowess_diag::Span;
use prowess_spec::ResourcePath;

use super::markdown::bare;
use super::{Contents, Dialect, json_object};
use crate::file_reader::{FileReader, NAME, PATH, VALUE, find, shown};
use crate::model::{AgentDef, AgentName, ModelChoice, PromptSource, Selection, TeamDef, TeamKind};
use crate::servers;
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

/// Starts a line that names a file of instructions.
const INCLUDE: &str = "@include ";
/// Maximum depth of files that include others.
const MAX_INCLUDES: usize = 4;

pub(super) fn read(reader: &mut FileReader<'_>) -> Contents {
    let Some(entries) = json_object(reader) else {
        return Contents::default();
    };
    reader.check_keys(&entries, &CONFIG_KEYS);
    let mut agents: Vec<AgentDef> = Vec::new();
    for item in reader.list(&entries, "subagents").unwrap_or_default() {
        if !reader.has_room(agents.len(), item.span) {
            break;
        }
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
    if let Some(entry) = find(entries, "root") {
        // Without the folder, the agent would get the skills of the project.
        let root = reader.text(entries, "root")?;
        let root = reader.resolve(&root, entry.value.span)?;
        reader.check_inside(&root, entry.value.span)?;
        agent.root = Some(root.as_str().into());
    }
    root_servers(reader, entries, &mut agent);
    agent.ignored = reader.ignore(
        entries,
        &[("agents", "subagents of a file start no others")],
    );
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
            if key == "skills" {
                agent.skill_names.clone_from(&names);
            }
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

/// Reads `mcp.json` of the root.
fn root_servers(reader: &mut FileReader<'_>, entries: &[NodeEntry], agent: &mut AgentDef) {
    let path = agent.root.as_deref();
    let path = path.and_then(|root| ResourcePath::new(&format!("{root}/mcp.json")).ok());
    // A root may have no servers.
    let Some(path) = path.filter(|path| reader.exists(path.as_str())) else {
        return;
    };
    let span = find(entries, "root").map_or(agent.span, |entry| entry.value.span);
    let Some(text) = reader.open(&path, span) else {
        return;
    };
    let mut other = FileReader::new(path.as_str(), &text, reader.files);
    servers::check_servers(&mut other);
    agent.server_files.push(servers::server_file(&path, &text));
    for report in other.finish() {
        reader.report_other(report);
    }
}

/// Reads `instructions`, with the files that lines `@include FILE` name. Without them, `AGENTS.md`
/// of the root counts.
fn instructions(reader: &mut FileReader<'_>, entries: &[NodeEntry], agent: &mut AgentDef) {
    let folder = reader
        .path
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    if let Some(written) = reader.text(entries, "instructions") {
        let span = find(entries, "instructions").map_or(agent.span, |entry| entry.value.span);
        let mut included = None;
        let text = with_includes(reader, &written, folder, span, 0, &mut included);
        agent.set_prompt(&text);
        let mut lines = written.lines();
        if let Some(path) = included {
            agent.prompt_source = PromptSource::File(path);
        } else if let Some(file) = lines.find_map(|line| line.trim().strip_prefix(INCLUDE)) {
            agent.prompt_source = PromptSource::Unread(file.trim().into());
        }
        return;
    }
    let Some(root) = agent.root.clone() else {
        return;
    };
    let Ok(path) = ResourcePath::new(&format!("{root}/AGENTS.md")) else {
        return;
    };
    let span = find(entries, "root").map_or(agent.span, |entry| entry.value.span);
    // A root may have no instructions.
    if !reader.exists(path.as_str()) {
        return;
    }
    if let Some(text) = reader.open(&path, span) {
        let text = with_includes(reader, &text, &root, span, 0, &mut None);
        agent.prompt = text.trim().into();
        agent.prompt_source = PromptSource::File(path.as_str().into());
    }
}

/// Replaces lines `@include FILE` with the file: relative to the folder, or to the one around it.
/// `first` becomes the path of the first file.
fn with_includes(
    reader: &mut FileReader<'_>,
    text: &str,
    folder: &str,
    span: Span,
    depth: usize,
    first: &mut Option<Box<str>>,
) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(file) = line.trim().strip_prefix(INCLUDE).map(str::trim) else {
            out.push_str(line);
            continue;
        };
        if depth == MAX_INCLUDES {
            let message = "files include each other too deeply";
            reader.report(PATH, span, message, "include fewer files");
            continue;
        }
        let Some(inner) = reader.resolve_in(folder, file, span) else {
            continue;
        };
        let outer = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        let is_outer = !folder.is_empty() && !reader.exists(inner.as_str());
        let outer = is_outer.then(|| reader.resolve_in(outer, file, span));
        let outer = outer.flatten().filter(|path| reader.exists(path.as_str()));
        // What does not exist is reported where it belongs.
        let path = outer.unwrap_or(inner);
        let Some(text) = reader.open(&path, span) else {
            continue;
        };
        first.get_or_insert_with(|| path.as_str().into());
        let inner = path
            .as_str()
            .rsplit_once('/')
            .map_or("", |(inner, _)| inner);
        let text = with_includes(reader, &text, inner, span, depth + 1, first);
        out.push_str(&text);
    }
    out
}
