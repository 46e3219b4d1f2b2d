//! Which skill a name means to a model, and whether something may be done with it.
//!
//! Visibility is the catalogue's word: what an agent was not given, or a person switched off, gives
//! the same answer as what does not exist. What may be done with a skill that is seen is the gate's.

use prowess_catalog::visibility::{Hidden, Refusal, View, Who};
use prowess_diag::sanitize;
use prowess_diag::wording::{either, shorten, tick};
use prowess_policy::{Action, Actor, Decision, Verdict};
use prowess_traits::Question;
use serde_json::Value;

use crate::context::ToolContext;
use crate::snapshot::SkillHandle;
use crate::tool::{ToolError, Why};

/// Most characters of names that an error lists.
const MAX_NAMES: usize = 1_000;
/// Most characters of what was asked for that an error repeats.
const MAX_ASKED: usize = 100;

/// Most characters of arguments in a question to a person.
const MAX_QUESTION: usize = 500;

/// What is done with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkillAction {
    /// See that it is there.
    List,
    /// Take its text into the conversation.
    Load,
    /// Forget its text.
    Unload,
    /// Read one of its files.
    Read,
    /// Run a command in its name.
    Run,
}

impl SkillAction {
    /// The word used in rules.
    fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Load => "load",
            Self::Unload => "unload",
            Self::Read => "read",
            Self::Run => "run",
        }
    }

    /// What is refused, as the beginning of a sentence.
    fn about(self, name: &str) -> String {
        let name = if name == "*" {
            "skills".to_owned()
        } else {
            format!("the skill {}", shown(name))
        };
        match self {
            Self::List => format!("Listing {name}"),
            Self::Load => format!("Loading {name}"),
            Self::Unload => format!("Unloading {name}"),
            Self::Read => format!("Reading a file of {name}"),
            Self::Run => format!("Running a command as {name}"),
        }
    }

    /// Whether only a rule can stop it here. A command has a question of its own, and forgetting a
    /// text needs none.
    fn is_left_to_rules(self) -> bool {
        matches!(self, Self::Unload | Self::Run)
    }
}

/// Resolves a name that a model used.
pub(crate) fn find(context: &ToolContext, asked: &str) -> Result<SkillHandle, ToolError> {
    let catalog = context.services.registry.snapshot();
    let view = View::new(&catalog, &context.settings.visibility, Who::Model);
    match view.resolve(asked) {
        Ok(entry) => Ok(SkillHandle::new(asked, entry)),
        Err(refusal) => Err(refused(&view, asked, &refusal)),
    }
}

/// What a model reads where a name leads nowhere.
pub(crate) fn refused(view: &View<'_>, asked: &str, refusal: &Refusal) -> ToolError {
    let text = match refusal {
        Refusal::NotFound(fault) => {
            let mut text = format!("Unknown skill: {}.", shown(asked));
            if !fault.near.is_empty() {
                let near = fault.near.iter().map(|name| tick(shown(name)));
                text.push_str(&format!(" Did you mean {}?", either(near)));
            }
            text.push_str(&available(view));
            text
        }
        // Claude Code's own words.
        Refusal::NotForYou {
            name,
            why: Hidden::NotForModels,
        } => format!(
            "Skill {} cannot be used by a model due to disable-model-invocation. A person can type /{}",
            shown(name),
            shown(name)
        ),
        Refusal::NotForYou { name, why } => {
            format!("Skill {} cannot be used: {}.", shown(name), why.reason())
        }
    };
    ToolError::new(Why::NoSkill, text)
}

/// Asks the gate, and a person where the gate wants it. A rule that wants a question wants it every
/// time, as it does for commands: a yes counts once.
pub(crate) fn permit(
    context: &ToolContext,
    skill: &SkillHandle,
    action_kind: SkillAction,
    arguments: &str,
) -> Result<(), ToolError> {
    permit_name(
        context,
        skill.name(),
        &names_of(skill),
        action_kind,
        arguments,
    )
}

/// The same for all skills at once.
pub(crate) fn permit_all(context: &ToolContext, action_kind: SkillAction) -> Result<(), ToolError> {
    permit_name(context, "*", &[], action_kind, "")
}

/// Returns `true` if the gate lets a skill be loaded without a prompt and without a record.
pub(crate) fn may_load_unasked(
    context: &ToolContext,
    skill: &SkillHandle,
    arguments: &str,
) -> bool {
    let (name, action_kind, also) = (skill.name(), SkillAction::Load, names_of(skill));
    let action = Action::Skill {
        name,
        also: &also,
        action: action_kind.as_str(),
        arguments,
    };
    let decision = decide(context, name, action_kind, &action);
    decision.verdict == Verdict::Allow && context.services.recorder.is_none()
}

/// What rules say of a tool by its name; nothing where none is about it. What no rule is about is
/// for the tool itself to ask.
pub(crate) fn tool_rules(context: &ToolContext, tool: &str, input: &Value) -> Option<Decision> {
    let fields = plain_fields(input);
    let arguments: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let action = Action::Tool {
        name: tool,
        arguments: &arguments,
    };
    let decision = context.gate().decide(&action, &Actor::default());
    decision.rule.is_some().then_some(decision)
}

/// The fields of an input that rules can be about: texts, numbers, yes and no.
pub fn plain_fields(input: &Value) -> Vec<(String, String)> {
    let plain = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some((name.clone(), text.clone())),
        Value::Bool(_) | Value::Number(_) => Some((name.clone(), value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    input
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(plain)
        .collect()
}

/// Asks a person about a call that a rule wants a question for.
pub(crate) fn permit_tool(
    context: &ToolContext,
    tool: &str,
    input: &Value,
) -> Result<(), ToolError> {
    let Some(decision) = tool_rules(context, tool, input) else {
        return Ok(());
    };
    let what = format!("Calling {tool}");
    let input = shorten(&sanitize::line(&input.to_string()), MAX_QUESTION);
    let long = format!("{what}: {input}");
    let question = Question {
        what: &long,
        decision: &decision,
        skill: None,
        action: None,
    };
    context.settle(&what, &decision, question)
}

/// Tells whether a rule forbids every skill to models: `Skill`. Then there are no tools for them.
pub(crate) fn is_forbidden(context: &ToolContext) -> bool {
    let action = Action::Skill {
        name: "*",
        also: &[],
        action: "load",
        arguments: "",
    };
    let decision = context.gate().decide(&action, &Actor::default());
    decision.verdict == Verdict::Deny && decision.rule.is_some()
}

fn permit_name(
    context: &ToolContext,
    name: &str,
    also: &[&str],
    action_kind: SkillAction,
    arguments: &str,
) -> Result<(), ToolError> {
    let action = Action::Skill {
        name,
        also,
        action: action_kind.as_str(),
        arguments,
    };
    let decision = decide(context, name, action_kind, &action);
    if action_kind.is_left_to_rules() && decision.rule.is_none() {
        return Ok(());
    }
    let what = action_kind.about(name);
    let long = match arguments {
        "" => what.clone(),
        arguments => format!(
            "{what}: {}",
            shorten(&sanitize::line(arguments), MAX_QUESTION)
        ),
    };
    let question = Question {
        what: &long,
        decision: &decision,
        skill: Some(name),
        action: Some(&action),
    };
    context.settle(&what, &decision, question)
}

/// Every name that a rule may have for a skill.
fn names_of(skill: &SkillHandle) -> Vec<&str> {
    let head = &skill.entry().skill;
    let own: [&str; 2] = [&head.name, skill.asked()];
    own.into_iter().chain(head.alias.as_deref()).collect()
}

/// What the gate says of something that is done with a skill.
fn decide(
    context: &ToolContext,
    name: &str,
    action_kind: SkillAction,
    action: &Action<'_>,
) -> Decision {
    // A skill that runs on its own uses the skills that it lists. Its own text it has.
    let acting = context
        .acting
        .as_deref()
        .filter(|acting| action_kind == SkillAction::Load && *acting.trust.name != *name);
    let actor = acting
        .map(|acting| acting.trust.actor(context.is_ceiling(&acting.trust)))
        .unwrap_or_default();
    context.gate().decide(action, &actor)
}

/// ` Available: a, b, …`, as far as there is room.
fn available(view: &View<'_>) -> String {
    let names: Vec<String> = view
        .visible()
        .map(|(entry, _)| shown(view.name(entry)))
        .collect();
    if names.is_empty() {
        return " No skills available.".to_owned();
    }
    let (list, more) = listed(&names, MAX_NAMES);
    match more {
        0 => format!(" Available: {list}"),
        more => format!(" Available: {list}, and {more} more"),
    }
}

/// As many names as fit between commas, and how many do not.
pub fn listed(names: &[String], characters: usize) -> (String, usize) {
    let mut list = String::new();
    for (at, name) in names.iter().enumerate() {
        if at > 0 && list.len() + name.len() + 2 > characters {
            return (list, names.len() - at);
        }
        if at > 0 {
            list.push_str(", ");
        }
        list.push_str(name);
    }
    (list, 0)
}

/// A name in a sentence: one line, nothing hidden, not too long.
pub fn shown(name: &str) -> String {
    shorten(&sanitize::line(name), MAX_ASKED)
}
