//! `skilled_crew`: `*.skilled_crew.yaml`, with the instructions, skills, commands and servers that
//! it names.

use std::sync::Arc;

use prowess_diag::{FileReport, Span};
use prowess_spec::parse;
use prowess_spec::yaml::{self, YamlError};

use super::{Contents, Dialect, json_object};
use crate::file_reader::{
    FileReader, KEY, NAME, SYNTAX, TEAM, VALUE, find, frontmatter_findings, shown,
};
use crate::model::{
    AgentDef, CommandDef, ModelChoice, PromptSource, Selection, ServerFile, TeamDef, TeamKind,
};
use crate::servers;
use crate::tree::{Node, NodeEntry, entries_from_yaml};

/// Maximum size of a crew file, in bytes.
const MAX_CREW: usize = 128 * 1024;

const CREW_KEYS: [&str; 6] = [
    "version",
    "id",
    "commands",
    "entryPointAgent",
    "agents",
    "script_runtime",
];
const AGENT_KEYS: [&str; 4] = [
    "instructionsPath",
    "codeWorkerPath",
    "mcp_servers",
    "skills",
];

pub(super) fn read(reader: &mut FileReader<'_>) -> Contents {
    let Some(entries) = crew(reader) else {
        return Contents::default();
    };
    reader.check_keys(&entries, &CREW_KEYS);
    let file = reader.path.rsplit('/').next().unwrap_or_default();
    let stem = file.split(".skilled_crew.").next().unwrap_or(file);
    let stem = if stem.is_empty() { "crew" } else { stem };
    let given = reader.text(&entries, "id");
    let span = find(&entries, "id").map_or(Span::at(0), |entry| entry.value.span);
    let name = reader.name(given.as_deref().unwrap_or(stem), span);
    reader.ignore(
        &entries,
        &[(
            "script_runtime",
            "commands run in the sandbox of Prowess, which is at least as strict",
        )],
    );
    let mut agents: Vec<AgentDef> = Vec::new();
    for entry in reader.map(&entries, "agents").unwrap_or_default() {
        if !reader.has_room(agents.len(), entry.key_span) {
            break;
        }
        let Some(agent) = read_agent(reader, entry) else {
            continue;
        };
        if agents.iter().any(|known| known.name == agent.name) {
            let message = format!("two agents have the name `{}`", shown(agent.name.as_str()));
            let help = "give one of them another name; the second one is skipped";
            reader.report(NAME, entry.key_span, message, help);
            continue;
        }
        agents.push(agent);
    }
    let commands = commands(reader, &entries);
    let wanted = reader.text(&entries, "entryPointAgent");
    let found = wanted
        .as_deref()
        .map(|wanted| agents.iter().position(|one| one.name.as_str() == wanted));
    let lead = match found {
        Some(None) => {
            let span = find(&entries, "entryPointAgent").map_or(span, |entry| entry.value.span);
            let known = agents.iter().map(|agent| agent.name.as_str());
            let near = prowess_diag::suggest::nearest(wanted.as_deref().unwrap_or_default(), known);
            let help = near.map_or_else(
                || "name one of `agents`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            reader.report(TEAM, span, "`entryPointAgent` names no agent", help);
            return Contents::default();
        }
        Some(Some(number)) => number,
        None => 0,
    };
    let (Some(name), Some(first)) = (name, agents.get(lead)) else {
        if agents.is_empty() {
            let message = "the crew has no agents";
            reader.report(TEAM, span, message, "add an agent below `agents`");
        }
        return Contents::default();
    };
    let first = first.name.clone();
    // The entry agent may start all others, and each of them returns to it.
    let others = agents.iter().filter(|agent| agent.name != first);
    let others = others.map(|agent| agent.name.as_str().into()).collect();
    agents[lead].calls = Selection::these(others);
    let team = TeamDef {
        name,
        description: None,
        entry: Some(first),
        kind: TeamKind::Crew,
        commands,
        span,
    };
    (agents, Some(team))
}

/// Parses the file.
fn crew(reader: &mut FileReader<'_>) -> Option<Vec<NodeEntry>> {
    let text = reader.text;
    if text.len() > MAX_CREW {
        let message = format!("the file is larger than {} KiB", MAX_CREW / 1024);
        reader.report(SYNTAX, Span::at(0), message, "split the crew");
        return None;
    }
    let document = match yaml::read(text, 0) {
        Ok(document) => document,
        Err(YamlError::Syntax { at, message }) => {
            reader.report(SYNTAX, at, format!("invalid YAML: {message}"), "");
            return None;
        }
        Err(YamlError::Refused(refusals)) => {
            for refusal in refusals {
                let message = format!("{} are not supported", refusal.feature.name());
                reader.report(SYNTAX, refusal.span, message, "write the value itself");
            }
            return None;
        }
    };
    for duplicate in &document.duplicates {
        let key = shown(&duplicate.key);
        let message = format!("`{key}` occurs twice; the first one counts");
        reader.report(KEY, duplicate.again, message, "remove one of them");
    }
    let root = document.root.as_ref().map(Node::from_yaml);
    let entries = root.as_ref().and_then(Node::entries);
    if entries.is_none() {
        let span = root.as_ref().map_or(Span::at(0), |root| root.span);
        reader.report(SYNTAX, span, "the file is not a map", "add a key `agents`");
    }
    entries.map(<[_]>::to_vec)
}

fn read_agent(reader: &mut FileReader<'_>, entry: &NodeEntry) -> Option<AgentDef> {
    let name = reader.name(&entry.key, entry.key_span)?;
    let mut agent = AgentDef::new(name, Dialect::SkilledCrew, reader.path, entry.key_span);
    agent.tools = Selection::none();
    agent.skills = Selection::none();
    agent.servers = Selection::none();
    if entry.value.is_null() {
        return Some(agent);
    }
    let Some(entries) = entry.value.entries() else {
        reader.wrong_type(entry, "a map");
        return None;
    };
    reader.check_keys(entries, &AGENT_KEYS);
    agent.ignored = reader.ignore(
        entries,
        &[(
            "codeWorkerPath",
            "Prowess runs no code modules as agents; the agent is skipped",
        )],
    );
    if !agent.ignored.is_empty() {
        return None;
    }
    instructions(reader, entries, &mut agent);
    for item in reader.list(entries, "skills").unwrap_or_default() {
        let Some((name, folder)) = skill(reader, item) else {
            continue;
        };
        if agent.skill_folders.iter().any(|(known, _)| *known == name) {
            let message = format!("two skills have the name `{}`", shown(&name));
            reader.report(NAME, item.span, message, "the second one is left out");
            continue;
        }
        agent.skill_folders.push((name, folder));
    }
    let names = agent.skill_folders.iter().map(|(name, _)| name.clone());
    agent.skills = Selection::these(names.collect());
    let mut servers = Vec::new();
    for item in reader.list(entries, "mcp_servers").unwrap_or_default() {
        if let Some((name, file)) = server(reader, item) {
            servers.push(name);
            agent.server_files.push(file);
        }
    }
    agent.servers = Selection::these(servers);
    Some(agent)
}

/// Reads the file of an agent's instructions.
fn instructions(reader: &mut FileReader<'_>, entries: &[NodeEntry], agent: &mut AgentDef) {
    let Some(path) = reader.text(entries, "instructionsPath") else {
        return;
    };
    let span = find(entries, "instructionsPath").map_or(agent.span, |entry| entry.value.span);
    agent.prompt_source = PromptSource::Unread(path.trim().into());
    let Some(path) = reader.resolve(&path, span) else {
        return;
    };
    let Some(text) = reader.open(&path, span) else {
        return;
    };
    let parsed = parse(text.as_bytes());
    let head = entries_from_yaml(&parsed.manifest.entries);
    let value = |key: &str| find(&head, key).and_then(|entry| entry.value.text());
    agent.description = value("description").unwrap_or_default().trim().into();
    if let Some(model) = value("model") {
        agent.model = ModelChoice::parse(model);
    }
    agent.prompt = parsed.body_text().trim().into();
    agent.prompt_source = PromptSource::File(path.as_str().into());
    let diagnostics = frontmatter_findings(&parsed);
    reader.report_other(FileReport {
        path: path.as_str().to_owned(),
        text: Some(Arc::from(&*text)),
        diagnostics,
    });
}

/// Checks a skill. Returns its name and its folder.
fn skill(reader: &mut FileReader<'_>, item: &Node) -> Option<(Box<str>, Box<str>)> {
    let entries = item_entries(reader, item, &["name", "folderPath"])?;
    let (name, folder) = (
        reader.text(entries, "name"),
        reader.text(entries, "folderPath"),
    );
    let (Some(name), Some(folder)) = (name, folder) else {
        let message = "a skill needs `name` and `folderPath`";
        reader.report(VALUE, item.span, message, "add both keys");
        return None;
    };
    let span = find(entries, "folderPath").map_or(item.span, |entry| entry.value.span);
    let folder = reader.resolve(&folder, span)?;
    let file = prowess_spec::ResourcePath::new(&format!("{}/SKILL.md", folder.as_str())).ok()?;
    let text = reader.open_skill(&file, span)?;
    let parsed = parse(text.as_bytes());
    let own = parsed.manifest.name.as_ref().map(|name| &*name.value);
    if own.map(str::trim) != Some(&*name) {
        let span = find(entries, "name").map_or(item.span, |entry| entry.value.span);
        let own = own.map_or_else(
            || "has none".to_owned(),
            |own| format!("has `{}`", shown(own)),
        );
        let message = format!("the name is `{}`, but `SKILL.md` {own}", shown(&name));
        let help = "write the name of the `SKILL.md`; the skill is left out";
        reader.report(NAME, span, message, help);
        return None;
    }
    Some((name, folder.as_str().into()))
}

/// Reads a file with an MCP server. Returns the name of the server and the file.
fn server(reader: &mut FileReader<'_>, item: &Node) -> Option<(Box<str>, ServerFile)> {
    let entries = item_entries(reader, item, &["filePath"])?;
    if find(entries, "filePath").is_none() {
        let message = "a server needs `filePath`";
        reader.report(VALUE, item.span, message, "add the key");
    }
    let path = reader.text(entries, "filePath")?;
    let span = find(entries, "filePath").map_or(item.span, |entry| entry.value.span);
    let path = reader.resolve(&path, span)?;
    let text = reader.open(&path, span)?;
    let mut other = FileReader::new(path.as_str(), &text, reader.files);
    let name = json_object(&mut other).and_then(|entries| {
        let name = other.text(&entries, "name");
        if name.is_none() {
            other.report(
                VALUE,
                Span::at(0),
                "`name` is missing",
                "add `\"name\": \"…\"`",
            );
        }
        servers::check_server(&mut other, &entries);
        name
    });
    for report in other.finish() {
        reader.report_other(report);
    }
    Some((name?, servers::server_file(&path, &text)))
}

fn commands(reader: &mut FileReader<'_>, entries: &[NodeEntry]) -> Vec<CommandDef> {
    let mut commands: Vec<CommandDef> = Vec::new();
    for item in reader.list(entries, "commands").unwrap_or_default() {
        let Some(entries) = item_entries(reader, item, &["name", "filePath"]) else {
            continue;
        };
        let (name, file) = (
            reader.text(entries, "name"),
            reader.text(entries, "filePath"),
        );
        let (Some(name), Some(file)) = (name, file) else {
            let message = "a command needs `name` and `filePath`";
            reader.report(VALUE, item.span, message, "add both keys");
            continue;
        };
        if commands.iter().any(|known| known.name == name) {
            let message = format!("two commands have the name `{}`", shown(&name));
            reader.report(NAME, item.span, message, "the second one is left out");
            continue;
        }
        let span = find(entries, "filePath").map_or(item.span, |entry| entry.value.span);
        let Some(path) = reader.resolve(&file, span) else {
            continue;
        };
        if reader.open(&path, span).is_some() {
            commands.push(CommandDef {
                name,
                file: path.as_str().into(),
            });
        }
    }
    commands
}

/// Returns the entries of a map in a list, and reports unknown keys.
fn item_entries<'n>(
    reader: &mut FileReader<'_>,
    item: &'n Node,
    known: &[&str],
) -> Option<&'n [NodeEntry]> {
    let Some(entries) = item.entries() else {
        let message = format!("expected a map, found {}", item.kind());
        let help = format!(
            "write {}",
            prowess_diag::wording::all(known.iter().map(|key| format!("`{key}: …`")))
        );
        reader.report(VALUE, item.span, message, help);
        return None;
    };
    reader.check_keys(entries, known);
    Some(entries)
}
