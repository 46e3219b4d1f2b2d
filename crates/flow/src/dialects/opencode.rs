//! `OpenCode`: `.opencode/agent/*.md` and `.opencode/agents/*.md`.

use super::Dialect;
use super::markdown::{self, MarkdownAgent, bare};
use crate::file_reader::{FileReader, VALUE, find};
use crate::model::AgentDef;

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
const IGNORED: [(&str, &str); 2] = [
    ("permission", "rules belong to your own settings"),
    ("variant", "choose the effort with `--effort`"),
];

pub(super) fn read(reader: &mut FileReader<'_>, bytes: &[u8]) -> Vec<AgentDef> {
    let Some(MarkdownAgent { entries, mut agent }) =
        markdown::read(reader, bytes, Dialect::OpenCode, ".md")
    else {
        return Vec::new();
    };
    reader.check_keys(&entries, &KNOWN);
    agent.ignored = reader.ignore(&entries, &IGNORED);
    for key in ["steps", "maxSteps"] {
        let turns = reader.number(&entries, key);
        agent.limits.turns = agent
            .limits
            .turns
            .or(turns.and_then(|turns| u32::try_from(turns).ok()));
    }
    let Some(entry) = find(&entries, "tools") else {
        return vec![agent];
    };
    let Some(map) = entry.value.entries() else {
        agent.tools.only = reader.names(&entries, "tools").map(bare);
        return vec![agent];
    };
    // A map from tools to `true` or `false`; `"*": false` leaves only the others.
    let (mut only, mut without, mut is_all) = (Vec::new(), Vec::new(), true);
    for tool in map {
        match (&*tool.key, tool.value.text()) {
            ("*", Some("false")) => is_all = false,
            ("*", Some("true")) => {}
            (name, Some("true")) => only.push(name.into()),
            (name, Some("false")) => without.push(name.into()),
            _ => {
                let message = "a tool is switched with `true` or `false`";
                reader.report(VALUE, tool.value.span, message, "write `true` or `false`");
            }
        }
    }
    agent.tools.only = (!is_all).then_some(only);
    agent.tools.without = without;
    vec![agent]
}
