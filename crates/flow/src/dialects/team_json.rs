//! Planck: `.planck/teams/NAME/TEAM.json`.

use prowess_diag::Span;

use super::markdown::bare;
use super::{Contents, Dialect, json_object};
use crate::file_reader::{FileReader, NAME, TEAM, TOOL, VALUE, find, shown};
use crate::model::{AgentDef, AgentName, ModelChoice, Selection, TeamDef, TeamKind};
use crate::tree::{Node, NodeEntry};

const TEAM_KEYS: [&str; 4] = ["name", "description", "members", "$schema"];
const MEMBER_KEYS: [&str; 14] = [
    "type",
    "name",
    "description",
    "provider",
    "model_id",
    "base_url",
    "system_prompt",
    "opts",
    "tools",
    "skills",
    "compactor",
    "prompt_hook",
    "turn_end_hook",
    "persistence",
];

/// The tools of Planck.
const TOOLS: [&str; 14] = [
    "read",
    "write",
    "edit",
    "bash",
    "list_skills",
    "load_skill",
    "list_team",
    "list_models",
    "spawn_agent",
    "call_agent",
    "ask_agent",
    "send_agent",
    "respond_agent",
    "destroy_agent",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 5] = [
    ("compactor", "sessions are compacted by Prowess itself"),
    ("prompt_hook", "hooks belong to skills and to your settings"),
    (
        "turn_end_hook",
        "hooks belong to skills and to your settings",
    ),
    ("persistence", "sessions are stored by Prowess itself"),
    ("opts", "set options of models in your own settings"),
];

pub(super) fn read(reader: &mut FileReader<'_>) -> Contents {
    let Some(entries) = json_object(reader) else {
        return Contents::default();
    };
    reader.check_keys(&entries, &TEAM_KEYS);
    // Planck addresses a team by its folder; `name` is a title.
    let folder = reader.path.rsplit('/').nth(1);
    let title = reader.text(&entries, "name");
    let span = find(&entries, "name").map_or(Span::at(0), |entry| entry.value.span);
    let name = match folder.and_then(|folder| AgentName::new(folder).ok()) {
        Some(name) => Some(name),
        None => reader.name(title.as_deref().unwrap_or("team"), span),
    };
    let Some(members) = reader.list(&entries, "members") else {
        let message = "the team has no members";
        reader.report(TEAM, Span::at(0), message, "add a list `members`");
        return Contents::default();
    };
    let mut agents: Vec<AgentDef> = Vec::new();
    let mut leaders: Vec<(usize, Span)> = Vec::new();
    let mut is_solo = false;
    for member in members {
        if !reader.has_room(agents.len(), member.span) {
            break;
        }
        let Some(Member { agent, role }) = read_member(reader, member) else {
            continue;
        };
        if agents.iter().any(|known| known.name == agent.name) {
            let message = format!("two members have the name `{}`", shown(agent.name.as_str()));
            let help = "give one of them another `name`; the second one is skipped";
            reader.report(NAME, member.span, message, help);
            continue;
        }
        if &*role == "orchestrator" || &*role == "solo" {
            leaders.push((agents.len(), member.span));
            is_solo = &*role == "solo";
        }
        agents.push(agent);
    }
    let entry = match leaders.as_slice() {
        [(one, _)] => Some(*one),
        [] => {
            let message = "no member has the type `orchestrator`";
            let help = "set `\"type\": \"orchestrator\"` for the agent that you talk to";
            reader.report(TEAM, span, message, help);
            None
        }
        [_, (_, second), ..] => {
            let message = "two members have the type `orchestrator`";
            reader.report(TEAM, *second, message, "keep one of them");
            None
        }
    };
    // Without a leader the members are no team, and they were not meant to be used alone.
    let (Some(name), Some(entry)) = (name, entry) else {
        return Contents::default();
    };
    if is_solo && agents.len() > 1 {
        let message = "a member of the type `solo` is alone, but the team has others";
        let help = "set `\"type\": \"orchestrator\"`, or remove the other members";
        reader.report(TEAM, leaders[0].1, message, help);
        return Contents::default();
    }
    if !is_solo {
        let leader = agents[entry].name.clone();
        let members = agents.iter().filter(|agent| agent.name != leader);
        let members = members.map(|agent| agent.name.as_str().into()).collect();
        agents[entry].calls = Selection::these(members);
    }
    let team = TeamDef {
        name,
        description: reader.text(&entries, "description").or(title),
        entry: Some(agents[entry].name.clone()),
        kind: TeamKind::Orchestrated,
        commands: Vec::new(),
        span,
    };
    (agents, Some(team))
}

struct Member {
    agent: AgentDef,
    role: Box<str>,
}

fn read_member(reader: &mut FileReader<'_>, node: &Node) -> Option<Member> {
    let Some(entries) = node.entries() else {
        let message = format!("a member is {}, not an object", node.kind());
        reader.report(VALUE, node.span, message, "write `{ … }`");
        return None;
    };
    reader.check_keys(entries, &MEMBER_KEYS);
    let role = required(reader, entries, "type", node.span)?;
    let given = reader.text(entries, "name");
    let key = if given.is_some() { "name" } else { "type" };
    let span = find(entries, key).map_or(node.span, |entry| entry.value.span);
    let name = reader.name(given.as_deref().unwrap_or(&role), span)?;
    let mut agent = AgentDef::new(name, Dialect::Planck, reader.path, node.span);
    agent.description = reader.text(entries, "description").unwrap_or_default();
    (agent.prompt, agent.prompt_source) = reader.prompt_or_file(entries, "system_prompt");
    let provider = required(reader, entries, "provider", node.span);
    let model = required(reader, entries, "model_id", node.span);
    agent.model = ModelChoice::Named {
        provider: Some(provider?),
        name: model?,
        base_url: reader.text(entries, "base_url"),
    };
    let tools = reader.names(entries, "tools").unwrap_or_default();
    for (tool, span) in &tools {
        if !TOOLS.contains(&&**tool) {
            let near = prowess_diag::suggest::nearest(tool, TOOLS);
            let help = near.map_or_else(
                || "no tool of this name exists; an MCP server can provide it".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("unknown tool `{}`", shown(tool));
            reader.report(TOOL, *span, message, help);
        }
    }
    agent.tools = Selection::these(bare(tools));
    if let Some(skills) = reader.names(entries, "skills") {
        agent.skill_names.clone_from(&skills);
        agent.skills = Selection::these(bare(skills));
    }
    agent.ignored = reader.ignore(entries, &IGNORED);
    Some(Member { agent, role })
}

/// Returns a text that must not be missing.
fn required(
    reader: &mut FileReader<'_>,
    entries: &[NodeEntry],
    key: &str,
    span: Span,
) -> Option<Box<str>> {
    if find(entries, key).is_none() {
        let message = format!("`{key}` is missing");
        reader.report(VALUE, span, message, format!("add `\"{key}\": \"…\"`"));
        return None;
    }
    reader.text(entries, key)
}
