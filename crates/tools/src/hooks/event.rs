//! What happens in a conversation, as hooks see it.

use std::fmt;

use prowess_policy::{Action, Actor, Effect, Gate, Mode, RuleSet, Source, Verdict};
use serde_json::{Map, Value, json};

use crate::context::ToolContext;

/// An event that hooks can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventName {
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// The agent wants to stop.
    Stop,
    /// A session begins or goes on.
    SessionStart,
    /// A person said something.
    UserPromptSubmit,
}

impl EventName {
    /// Every event that is supported.
    pub const ALL: [Self; 5] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::SessionStart,
        Self::UserPromptSubmit,
    ];

    /// The key in the frontmatter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
        }
    }

    /// Reads the key in the frontmatter.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == word)
    }

    /// Tells whether a hook can keep it from happening.
    pub fn can_block(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit | Self::Stop)
    }

    /// Tells whether it is about a tool.
    pub fn is_about_tools(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }

    /// Tells whether a matcher means anything.
    pub(super) fn has_matcher(self) -> bool {
        self.is_about_tools() || self == Self::SessionStart
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The use of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    /// The name of the tool, as hooks receive it.
    pub name: &'a str,
    /// Other names by which a hook may call it: `Bash` for `run_command_line`.
    pub also: &'a [&'a str],
    /// Its input.
    pub input: &'a Value,
    /// The id of the call.
    pub id: Option<&'a str>,
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HookEvent<'a> {
    /// A tool is about to be used.
    PreToolUse {
        /// The tool.
        tool: ToolCall<'a>,
    },
    /// A tool was used.
    PostToolUse {
        /// The tool.
        tool: ToolCall<'a>,
        /// What it answered.
        response: &'a Value,
    },
    /// The agent wants to stop.
    Stop {
        /// What it said last.
        message: Option<&'a str>,
    },
    /// A session begins or goes on.
    SessionStart {
        /// How: `startup`, `resume`, `clear`, `compact`.
        source: &'a str,
    },
    /// A person said something.
    UserPromptSubmit {
        /// What.
        prompt: &'a str,
    },
}

impl<'a> HookEvent<'a> {
    /// Its name.
    pub fn name(&self) -> EventName {
        match self {
            Self::PreToolUse { .. } => EventName::PreToolUse,
            Self::PostToolUse { .. } => EventName::PostToolUse,
            Self::Stop { .. } => EventName::Stop,
            Self::SessionStart { .. } => EventName::SessionStart,
            Self::UserPromptSubmit { .. } => EventName::UserPromptSubmit,
        }
    }

    /// The tool that it is about.
    pub fn tool(&self) -> Option<ToolCall<'a>> {
        match self {
            Self::PreToolUse { tool } | Self::PostToolUse { tool, .. } => Some(*tool),
            Self::Stop { .. } | Self::SessionStart { .. } | Self::UserPromptSubmit { .. } => None,
        }
    }

    /// What matchers are compared with; nothing where they mean nothing.
    pub(super) fn subjects(&self) -> Vec<&'a str> {
        match self {
            Self::PreToolUse { tool } | Self::PostToolUse { tool, .. } => {
                std::iter::once(tool.name)
                    .chain(tool.also.iter().copied())
                    .collect()
            }
            Self::SessionStart { source } => vec![source],
            Self::Stop { .. } | Self::UserPromptSubmit { .. } => Vec::new(),
        }
    }

    /// What a hook reads from standard input. `input` is the tool's input as earlier hooks left it.
    pub(super) fn text(
        &self,
        context: &ToolContext,
        input: &Value,
        stopping_again: bool,
    ) -> Vec<u8> {
        let settings = &context.settings;
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put(
            "session_id",
            json!(settings.session.as_deref().unwrap_or_default()),
        );
        put(
            "cwd",
            json!(context.settings.paths.workspace.to_string_lossy()),
        );
        put(
            "permission_mode",
            json!(permission_mode(context.gate().mode)),
        );
        if let Some(effort) = &settings.effort {
            put("effort", json!({ "level": effort }));
        }
        put("hook_event_name", json!(self.name().as_str()));
        if let Some(tool) = self.tool() {
            put("tool_name", json!(tool.name));
            put("tool_input", input.clone());
            if let Some(id) = tool.id {
                put("tool_use_id", json!(id));
            }
        }
        match self {
            Self::PreToolUse { .. } => {}
            Self::PostToolUse { response, .. } => {
                put("tool_response", (*response).clone());
            }
            Self::Stop { message } => {
                put("stop_hook_active", json!(stopping_again));
                if let Some(message) = message {
                    put("last_assistant_message", json!(message));
                }
            }
            Self::SessionStart { source } => {
                put("source", json!(source));
            }
            Self::UserPromptSubmit { prompt } => {
                put("prompt", json!(prompt));
            }
        }
        let mut text = Value::Object(map).to_string().into_bytes();
        text.push(b'\n');
        text
    }
}

/// The words that hooks know from Claude Code.
fn permission_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "default",
        Mode::Allow => "dontAsk",
        Mode::Plan => "plan",
        Mode::AcceptEdits => "acceptEdits",
        Mode::Yolo => "bypassPermissions",
    }
}

/// What a tool does, so that a rule about commands or files can be asked about it.
#[derive(Clone, Copy)]
enum Doing {
    Command,
    Read,
    Write,
    Fetch,
    Skill,
}

/// Tools by name, and the part of their input that rules are about.
const TOOLS: &[(&[&str], Doing, &[&str])] = &[
    (
        &["Bash", "bash", "run_command_line"],
        Doing::Command,
        &["command", "commandLine"],
    ),
    (
        &["Read", "Grep", "Glob", "LS", "read", "grep", "glob"],
        Doing::Read,
        &["file_path", "path"],
    ),
    (
        &[
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write",
            "edit",
        ],
        Doing::Write,
        &["file_path", "notebook_path", "path"],
    ),
    (&["WebFetch", "http_get"], Doing::Fetch, &["url"]),
    (
        &["Skill", "skill", "load_skill"],
        Doing::Skill,
        &["skill", "name", "command"],
    ),
];

/// Tells whether a rule (`if: Bash(git push *)`) is about the use of a tool. A command is looked at as
/// a deny rule looks at it: every part of the line, and a line that cannot be read counts.
pub(super) fn is_about(
    rule: &str,
    tool: &ToolCall<'_>,
    input: &Value,
    context: &ToolContext,
) -> bool {
    let mut rules = RuleSet::default();
    rules.add(Effect::Deny, rule, Source::Session);
    let places = context.gate().places.clone();
    let gate = Gate {
        rules,
        mode: Mode::Yolo,
        grants: Vec::new(),
        places,
    };
    let denies =
        |action: &Action<'_>| gate.decide(action, &Actor::default()).verdict == Verdict::Deny;
    let names: Vec<&str> = std::iter::once(tool.name)
        .chain(tool.also.iter().copied())
        .collect();
    let spelled: Vec<(&str, String)> = input
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match value {
            Value::String(text) => Some((key.as_str(), text.clone())),
            Value::Bool(_) | Value::Number(_) => Some((key.as_str(), value.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        })
        .collect();
    let arguments: Vec<(&str, &str)> = spelled
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    if names.iter().any(|name| {
        denies(&Action::Tool {
            name,
            arguments: &arguments,
        })
    }) {
        return true;
    }
    TOOLS
        .iter()
        .filter(|(known, ..)| names.iter().any(|name| known.contains(name)))
        .any(|(_, doing, keys)| {
            let given = keys.iter().find_map(|key| input.get(*key)?.as_str());
            // Without a path, a tool that looks for files looks in the whole project.
            let given = given.unwrap_or(if matches!(doing, Doing::Read) {
                "."
            } else {
                ""
            });
            denies(&match doing {
                Doing::Command => Action::Command { text: given },
                Doing::Read => Action::Read { path: given },
                Doing::Write => Action::Write { path: given },
                Doing::Fetch => Action::Fetch {
                    host: host_of(given),
                },
                Doing::Skill => {
                    let arguments = input
                        .get("args")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    Action::Skill {
                        name: given,
                        also: &[],
                        action: "load",
                        arguments,
                    }
                }
            })
        })
}

fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}
