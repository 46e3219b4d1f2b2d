//! The JSON documents about agents.

use prowess_diag::{FileReport, LineIndex, render, sanitize};
use prowess_flow::{AgentDef, PromptSource, RosterEntry, Selection};
use serde_json::{Map, Value, json};

/// Returns the document of all agents: `prowess.agents/1`.
pub fn agents<'e>(
    entries: impl IntoIterator<Item = &'e RosterEntry>,
    reports: &[FileReport],
) -> Value {
    let agents: Vec<Value> = entries.into_iter().map(listed).collect();
    json!({ "schema": "prowess.agents/1", "agents": agents, "findings": findings(reports) })
}

/// Returns the document of one agent: `prowess.agent/1`.
pub fn agent(entry: &RosterEntry) -> Value {
    let mut document = Map::new();
    document.insert("schema".to_owned(), "prowess.agent/1".into());
    if let Value::Object(head) = listed(entry) {
        document.extend(head);
    }
    if let Some(agent) = entry.agent() {
        document.insert("effort".to_owned(), json!(agent.effort));
        document.insert("tools".to_owned(), selection(&agent.tools));
        document.insert("servers".to_owned(), selection(&agent.servers));
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
            PromptSource::None => None,
        };
        document.insert("prompt_file".to_owned(), json!(source));
        document.insert("prompt".to_owned(), json!(agent.prompt));
    }
    Value::Object(document)
}

fn listed(entry: &RosterEntry) -> Value {
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
pub(super) fn findings(reports: &[FileReport]) -> Value {
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
