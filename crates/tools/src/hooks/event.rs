//! Events of a conversation, as hooks receive them.

use std::fmt;

use prowess_policy::{
    Actor, CHANGING_TOOLS, Effect, Gate, GateAction, PermissionMode, PermissionRules, RuleSource,
    SkillAction, Verdict,
};
use serde_json::{Map, Value, json};

use crate::context::ToolContext;
use crate::names::{ActionKind, RULE_SUBJECTS, arguments_field};
use crate::skill_access::plain_fields;

/// An event that hooks can handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventName {
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// The agent wants to stop.
    Stop,
    /// A session starts or resumes.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
}

impl EventName {
    /// All supported events.
    pub const ALL: [Self; 5] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::SessionStart,
        Self::UserPromptSubmit,
    ];

    /// Returns the key in the frontmatter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
        }
    }

    /// Parses the key in the frontmatter.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == word)
    }

    /// Returns `true` if a hook can block the event.
    pub fn can_block(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit | Self::Stop)
    }

    /// Returns `true` for events about a tool.
    pub fn is_about_tools(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }

    /// Returns `true` for events that support a matcher.
    pub(super) fn has_matcher(self) -> bool {
        self.is_about_tools() || self == Self::SessionStart
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct HookToolCall<'a> {
    /// Name of the tool, as hooks receive it.
    pub name: &'a str,
    /// Other names that a hook may use for the tool: `Bash` for `run_command_line`.
    pub also: &'a [&'a str],
    /// Input of the tool.
    pub input: &'a Value,
    /// Id of the call.
    pub id: Option<&'a str>,
}

/// An event with its data.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HookEvent<'a> {
    /// A tool is about to be used.
    PreToolUse {
        /// The tool.
        tool: HookToolCall<'a>,
    },
    /// A tool was used.
    PostToolUse {
        /// The tool.
        tool: HookToolCall<'a>,
        /// Result of the tool.
        response: &'a Value,
    },
    /// The agent wants to stop.
    Stop {
        /// Last message of the agent.
        message: Option<&'a str>,
    },
    /// A session starts or resumes.
    SessionStart {
        /// Source: `startup`, `resume`, `clear`, `compact`.
        source: &'a str,
    },
    /// The user sent a prompt.
    UserPromptSubmit {
        /// The prompt.
        prompt: &'a str,
    },
}

impl<'a> HookEvent<'a> {
    /// Returns the name of the event.
    pub fn name(&self) -> EventName {
        match self {
            Self::PreToolUse { .. } => EventName::PreToolUse,
            Self::PostToolUse { .. } => EventName::PostToolUse,
            Self::Stop { .. } => EventName::Stop,
            Self::SessionStart { .. } => EventName::SessionStart,
            Self::UserPromptSubmit { .. } => EventName::UserPromptSubmit,
        }
    }

    /// Returns the tool call of the event.
    pub fn tool(&self) -> Option<HookToolCall<'a>> {
        match self {
            Self::PreToolUse { tool } | Self::PostToolUse { tool, .. } => Some(*tool),
            Self::Stop { .. } | Self::SessionStart { .. } | Self::UserPromptSubmit { .. } => None,
        }
    }

    /// Returns the names that matchers are compared with; empty if the event has no matcher.
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

    /// Returns the JSON that a hook reads from standard input. `input` is the tool's input as
    /// changed by earlier hooks.
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

/// Returns Claude Code's name of a permission mode.
fn permission_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "default",
        PermissionMode::Allow => "dontAsk",
        PermissionMode::Plan => "plan",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Yolo => "bypassPermissions",
    }
}

/// Returns `true` if a rule (`if: Bash(git push *)`) matches a tool call. Commands are matched as
/// by a deny rule: every part of the line counts, and a line that cannot be parsed matches.
pub(super) fn is_about(
    rule: &str,
    tool: &HookToolCall<'_>,
    input: &Value,
    context: &ToolContext,
) -> bool {
    let mut rules = PermissionRules::default();
    rules.add(Effect::Deny, rule, RuleSource::Session);
    let places = context.gate().places.clone();
    let gate = Gate {
        rules,
        mode: PermissionMode::Yolo,
        places,
        ..Gate::default()
    };
    let denies =
        |action: &GateAction<'_>| gate.decide(action, &Actor::default()).verdict == Verdict::Deny;
    let names: Vec<&str> = std::iter::once(tool.name)
        .chain(tool.also.iter().copied())
        .collect();
    let fields = plain_fields(input);
    let arguments: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    if names.iter().any(|name| {
        denies(&GateAction::Tool {
            name,
            also: &[],
            arguments: &arguments,
        })
    }) {
        return true;
    }
    RULE_SUBJECTS
        .iter()
        .filter(|(known, ..)| names.iter().any(|name| known.contains(name)))
        .any(|(_, kind, keys)| {
            let given = keys.iter().find_map(|key| input.get(*key)?.as_str());
            // Without a path, search tools search the whole project.
            let given = given.unwrap_or(if matches!(kind, ActionKind::Read) {
                "."
            } else {
                ""
            });
            denies(&match kind {
                ActionKind::Command => GateAction::Command { text: given },
                ActionKind::Read => GateAction::Read { path: given },
                ActionKind::Write => GateAction::Write { path: given },
                ActionKind::Fetch => GateAction::Fetch {
                    host: host_of(given),
                    private: false,
                    changing: names
                        .iter()
                        .copied()
                        .find(|name| CHANGING_TOOLS.contains(name)),
                },
                ActionKind::Skill => {
                    let field = names.iter().find_map(|name| arguments_field(name));
                    let arguments = input.get(field.unwrap_or("args"));
                    let arguments = arguments.and_then(Value::as_str).unwrap_or_default();
                    GateAction::Skill {
                        name: given,
                        also: &[],
                        action: SkillAction::Load,
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
