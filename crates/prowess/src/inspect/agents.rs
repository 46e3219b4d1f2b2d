//! The JSON documents about agents.

use std::path::Path;

use prowess_config::{McpServer, McpTransport, agent_servers};
use prowess_diag::{FileReport, LineIndex, render, sanitize, wording};
use prowess_flow::{
    AgentDef, AgentFile, AgentLimits, ModelChoice, PromptSource, RosterEntry, Selection,
};
use prowess_trust::{AgentTrust, HiddenText, TrustKind};
use serde_json::{Map, Value, json};

use super::permissions::{TrustSection, trust_changes, trust_word};
use super::servers::{project_programs, server, server_command, server_settings};

/// Returns the document of all agents: `prowess.agents/1`.
pub fn agents<'e>(
    entries: impl IntoIterator<Item = (&'e RosterEntry, Option<&'e AgentTrust>)>,
    reports: &[&FileReport],
) -> Value {
    let entries = entries.into_iter();
    let agents: Vec<Value> = entries.map(|(entry, trust)| listed(entry, trust)).collect();
    json!({ "schema": "prowess.agents/1", "agents": agents, "findings": findings(reports.iter().copied()) })
}

/// Returns the document of one agent: `prowess.agent/1`.
pub fn agent(entry: &RosterEntry, trust: Option<&AgentTrust>, reports: &[&FileReport]) -> Value {
    let mut document = Map::new();
    document.insert("schema".to_owned(), "prowess.agent/1".into());
    if let Value::Object(head) = listed(entry, trust) {
        document.extend(head);
    }
    document.insert("digest".to_owned(), json!(trust.map(|trust| &trust.digest)));
    let changes = trust.map(|trust| trust_changes(&trust.changes));
    document.insert("changes".to_owned(), json!(changes.unwrap_or_default()));
    let sources: Vec<&str> = entry.file.sources.keys().map(|name| &**name).collect();
    document.insert("sources".to_owned(), json!(sources));
    if let Some(agent) = entry.agent() {
        document.insert("effort".to_owned(), json!(agent.effort));
        document.insert("tools".to_owned(), selection(&agent.tools));
        document.insert("servers".to_owned(), selection(&agent.servers));
        let servers = agent_servers(agent).into_iter();
        let servers = servers.map(|(one, file)| server(&one, &file, false));
        let servers: Vec<Value> = servers.collect();
        document.insert("server_files".to_owned(), json!(servers));
        document.insert("base_url".to_owned(), json!(base_url(agent)));
        let folders = agent.skill_folders.iter();
        let folders: Vec<Value> = folders
            .map(|(name, folder)| json!({ "name": name, "folder": folder }))
            .collect();
        document.insert("skill_folders".to_owned(), json!(folders));
        document.insert("skills".to_owned(), selection(&agent.skills));
        document.insert("preload".to_owned(), json!(agent.preload));
        document.insert("calls".to_owned(), selection(&agent.calls));
        document.insert("read_only".to_owned(), agent.is_read_only.into());
        document.insert("limits".to_owned(), limits(agent));
        document.insert("root".to_owned(), json!(agent.root));
        document.insert("ignored".to_owned(), json!(agent.ignored));
        let source = match &agent.prompt_source {
            PromptSource::Inline => Some(&agent.file),
            PromptSource::File(path) => Some(path),
            PromptSource::Unread(_) | PromptSource::None => None,
        };
        document.insert("prompt_file".to_owned(), json!(source));
        document.insert("prompt".to_owned(), json!(agent.prompt));
    }
    document.insert("findings".to_owned(), findings(reports.iter().copied()));
    Value::Object(document)
}

/// Returns the address that a file sets for the model of an agent.
fn base_url(agent: &AgentDef) -> Option<&str> {
    match &agent.model {
        ModelChoice::Named { base_url, .. } => base_url.as_deref(),
        ModelChoice::Inherit | ModelChoice::Alias(_) => None,
    }
}

/// Describes a server in one line: its name, the program or the URL, and its file.
pub fn server_text(server: &McpServer, file: &str) -> String {
    format!("{}: {} ({file})", server.name, server_command(server))
}

/// Describes the trust in the file of an agent.
pub fn agent_trust_word(trust: &AgentTrust) -> &'static str {
    match &trust.state {
        _ if !trust.required => "needs no trust",
        Some(state) => trust_word(state),
        None => "not trusted",
    }
}

/// Returns what trusting an agent file would allow as a document.
pub fn agent_trust(file: &AgentFile, trust: &AgentTrust, hidden: &[HiddenText]) -> Value {
    let agents = file.agents.iter();
    let agents: Vec<Value> = agents
        .map(|agent| {
            let servers = agent_servers(agent).into_iter();
            let servers = servers.map(|(one, file)| server(&one, &file, trust.required));
            json!({
                "name": agent.name.as_str(),
                "model": agent.model.spec(),
                "base_url": base_url(agent),
                "tools": selection(&agent.tools),
                "servers": selection(&agent.servers),
                "server_files": servers.collect::<Vec<_>>(),
                "skills": selection(&agent.skills),
                "calls": selection(&agent.calls),
                "read_only": agent.is_read_only,
                "limits": limits(agent),
            })
        })
        .collect();
    json!({
        "path": trust.path.to_string_lossy(),
        "kind": TrustKind::Agents.name(),
        "state": agent_trust_word(trust),
        "digest": trust.digest,
        "files": trust.files().len(),
        "changes": trust_changes(&trust.changes),
        "sources": trust.files().collect::<Vec<_>>(),
        "agents": agents,
        "hidden": hidden.iter().map(|hidden| json!({
            "file": hidden.file, "line": hidden.line, "what": hidden.what,
        })).collect::<Vec<_>>(),
    })
}

/// Summarises what trusting an agent file would allow. Empty sections are left out. `project` is the
/// folder that its servers start in.
pub fn agent_trust_sections(
    file: &AgentFile,
    trust: &AgentTrust,
    hidden: &[HiddenText],
    project: &Path,
) -> Vec<TrustSection> {
    let each = |line: &dyn Fn(&AgentDef) -> Option<String>| {
        let mut lines: Vec<String> = file.agents.iter().filter_map(line).collect();
        lines.dedup();
        lines
    };
    let is_open = |agent: &AgentDef| agent.tools.only.is_none() && !agent.is_read_only;
    let named = |agent: &AgentDef, text: String| format!("{}: {text}", agent.name);
    let servers: Vec<_> = file.agents.iter().flat_map(agent_servers).collect();
    let is_program = |server: &McpServer| matches!(server.transport, McpTransport::Program { .. });
    let texts = |programs: bool| {
        let some = servers.iter().filter(|(it, _)| is_program(it) == programs);
        some.map(|(it, file)| server_text(it, file)).collect()
    };
    // A file of the user needs no trust, and its values may be secrets.
    let shown = servers.iter().filter(|_| trust.required);
    let settings = shown.flat_map(|(it, _)| {
        let lines = server_settings(it).into_iter();
        lines.map(|line| format!("{}: {line}", it.name))
    });
    let programs = project_programs(project, servers.iter().map(|(it, _)| it));
    let distinct = |mut lines: Vec<String>| {
        let mut seen = std::collections::BTreeSet::new();
        lines.retain(|line| seen.insert(line.clone()));
        lines
    };
    let hidden = hidden.iter();
    let hidden =
        hidden.map(|found| format!("{}:{} {}", found.file.display(), found.line, found.what));
    let commands = file.team.iter().flat_map(|team| &team.commands);
    let commands = commands.map(|command| format!("/{} ({})", command.name, command.file));
    let all: [(&'static str, Vec<String>, bool); 14] = [
        (
            "Changed since it was trusted",
            trust_changes(&trust.changes),
            true,
        ),
        (
            "Agents with all tools of a session",
            each(&|agent| is_open(agent).then(|| named(agent, selection_text(&agent.tools)))),
            true,
        ),
        (
            "Agents with these tools",
            each(&|agent| (!is_open(agent)).then(|| named(agent, tools_text(agent)))),
            false,
        ),
        (
            "Starts programs outside the sandbox",
            distinct(texts(true)),
            true,
        ),
        ("Connects to servers", distinct(texts(false)), true),
        (
            "Settings of these servers; ${NAME} is the value of your environment variable",
            distinct(settings.collect()),
            true,
        ),
        (
            "Files of these programs, which trust does not cover",
            programs,
            true,
        ),
        (
            "Sends conversations to",
            each(&|agent| base_url(agent).map(|url| named(agent, url.to_owned()))),
            true,
        ),
        (
            "Models",
            each(&|agent| {
                let is_own = agent.model != ModelChoice::Inherit;
                is_own.then(|| named(agent, agent.model.spec()))
            }),
            false,
        ),
        (
            "Skills",
            each(&|agent| Some(named(agent, selection_text(&agent.skills)))),
            false,
        ),
        (
            "May start other agents",
            each(&|agent| {
                let is_alone = agent.calls == Selection::none();
                (!is_alone).then(|| named(agent, selection_text(&agent.calls)))
            }),
            false,
        ),
        (
            "Limits",
            each(&|agent| limits_text(agent).map(|text| named(agent, text))),
            false,
        ),
        ("Slash commands", commands.collect(), false),
        ("Contains hidden text", hidden.collect(), true),
    ];
    let filled = all.into_iter().filter(|(_, lines, _)| !lines.is_empty());
    let mut sections: Vec<TrustSection> = filled
        .map(|(title, lines, alarming)| TrustSection {
            title,
            lines,
            alarming,
        })
        .collect();
    sections.push(TrustSection {
        title: "Files",
        lines: trust.files().map(str::to_owned).collect(),
        alarming: false,
    });
    sections
}

/// Describes the tools of an agent.
fn tools_text(agent: &AgentDef) -> String {
    let tools = selection_text(&agent.tools);
    if agent.is_read_only {
        format!("{tools}, read-only")
    } else {
        tools
    }
}

/// Describes the limits of an agent. Returns `None` if it has none of its own.
pub fn limits_text(agent: &AgentDef) -> Option<String> {
    let AgentLimits {
        turns,
        seconds,
        micros,
        depth,
    } = agent.limits;
    let counted = |number: Option<u64>, noun| {
        number.map(|number| wording::count(usize::try_from(number).unwrap_or(usize::MAX), noun))
    };
    let parts = [
        counted(turns.map(u64::from), "turn"),
        counted(seconds, "second"),
        micros.map(|micros| format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)),
        depth.map(|depth| format!("depth {depth}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn listed(entry: &RosterEntry, trust: Option<&AgentTrust>) -> Value {
    let agent = entry.agent();
    let members = entry.team().map(|_| {
        let members = entry.file.agents.iter();
        members.map(|agent| agent.name.as_str()).collect::<Vec<_>>()
    });
    let description = entry.team().and_then(|team| team.description.as_deref());
    json!({
        "name": entry.name,
        "scope": entry.scope.as_str(),
        "dialect": entry.file.dialect.as_str(),
        "file": entry.file.path,
        "description": description.or(agent.map(|agent| &*agent.description)),
        "model": agent.map(|agent| agent.model.spec()),
        "members": members,
        "shadowed": entry.shadowed_by.is_some(),
        "qualified": entry.qualified(),
        "trust": trust.map(agent_trust_word),
    })
}

/// Returns `null` for all, a list for some, and an object if some are excluded.
fn selection(selection: &Selection) -> Value {
    if selection.without.is_empty() {
        return json!(selection.only);
    }
    json!({ "only": selection.only, "without": selection.without })
}

fn limits(agent: &AgentDef) -> Value {
    let limits = agent.limits;
    json!({
        "turns": limits.turns,
        "seconds": limits.seconds,
        "micros": limits.micros,
        "depth": limits.depth,
    })
}

/// Returns findings in the format of `validate --format json`.
pub(super) fn findings<'r>(reports: impl IntoIterator<Item = &'r FileReport>) -> Value {
    let mut findings = Vec::new();
    for report in reports {
        let lines = LineIndex::new(report.text());
        let found = report.diagnostics.iter();
        findings.extend(found.map(|one| render::json::finding(report, &lines, one)));
    }
    Value::Array(findings)
}

/// Describes a selection: `all`, `none`, or the names.
pub fn selection_text(selection: &Selection) -> String {
    let names = |names: &[Box<str>]| {
        let names: Vec<String> = names
            .iter()
            .map(|name| sanitize::line(name).into_owned())
            .collect();
        names.join(", ")
    };
    let only = match selection.only.as_deref() {
        None => "all".to_owned(),
        Some([]) => "none".to_owned(),
        Some(some) => names(some),
    };
    if selection.without.is_empty() {
        only
    } else {
        format!("{only}, without {}", names(&selection.without))
    }
}
