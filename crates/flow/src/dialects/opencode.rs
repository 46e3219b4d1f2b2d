//! `OpenCode`: `.opencode/agent/*.md` and `.opencode/agents/*.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent};
use crate::file_reader::{FileReader, VALUE, find, shown};
use crate::model::AgentDef;
use crate::tree::{Node, NodeEntry};
use prowess_diag::wording;

const KNOWN: [&str; 14] = [
    "name",
    "description",
    "mode",
    "hidden",
    "model",
    "variant",
    "color",
    "tools",
    "permission",
    "temperature",
    "top_p",
    "steps",
    "maxSteps",
    "disable",
];

/// Keys without effect, and what serves their purpose here.
const IGNORED: [(&str, &str); 3] = [
    ("variant", "choose the effort with `--effort`"),
    ("temperature", "providers choose it"),
    ("top_p", "providers choose it"),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent {
        entries,
        mut agent,
        unread,
    }) = markdown::read(reader, bytes, Dialect::OpenCode, ".md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    let disable = find(&entries, "disable");
    if disable.is_some_and(|entry| entry.value.text() != Some("false")) {
        return Vec::new();
    }
    agent.ignored = reader.ignore(&entries, &IGNORED);
    for key in ["steps", "maxSteps"] {
        let turns = reader.number(&entries, key);
        agent.limits.turns = agent
            .limits
            .turns
            .or(turns.and_then(|turns| u32::try_from(turns).ok()));
    }
    for (key, on, off) in [
        ("tools", &["true"][..], "false"),
        ("permission", &["allow", "ask"][..], "deny"),
    ] {
        if let Some(entry) = find(&entries, key) {
            switch(reader, entry, (on, off), &mut agent);
        }
    }
    markdown::restrict_unread(reader, unread, &mut agent);
    vec![agent]
}

/// Reads a map from tools to values that switch them on or off. `"*"` switches all others. What is
/// not understood is off.
fn switch(
    reader: &mut FileReader<'_>,
    entry: &NodeEntry,
    (on, off): (&[&str], &str),
    agent: &mut AgentDef,
) {
    let Some(map) = entry.value.entries() else {
        let items = entry.value.items();
        if items.is_none() {
            reader.wrong_type(entry, "a map of tools");
        }
        let names = items.unwrap_or_default().iter().filter_map(Node::text);
        agent.tools.only = Some(names.map(Box::from).collect());
        return;
    };
    let mut enabled = Vec::new();
    let mut is_all = true;
    for tool in map {
        let word = tool.value.text().map(str::to_ascii_lowercase);
        let is_on = match word.as_deref() {
            Some(word) if on.contains(&word) => true,
            Some(word) if word == off => false,
            // Rules for single commands: the gate decides about each of them, unless all others are
            // off.
            None if tool.value.entries().is_some() => {
                let rest = tool.value.entries().and_then(|rules| find(rules, "*"));
                rest.is_none_or(|rest| rest.value.text() != Some(off))
            }
            _ => {
                let known = on.iter().copied().chain([off]).map(wording::tick);
                let help = format!("write {}; the tool is left out", wording::either(known));
                let message = format!("`{}` has an unknown value", shown(&tool.key));
                reader.report(VALUE, tool.value.span, message, help);
                false
            }
        };
        match (&*tool.key, is_on) {
            ("*", is_on) => is_all = is_on,
            (name, true) => enabled.push(name.into()),
            (name, false) => agent.tools.without.push(name.into()),
        }
    }
    if !is_all {
        agent.tools.only = Some(enabled);
    }
}
