//! Resolves skill names for models and checks permissions.
//!
//! The catalogue decides about visibility: a skill that is not granted to the agent, or that the
//! user disabled, gives the same error as one that does not exist. The gate decides what may be
//! done with a visible skill.

use prowess_catalog::visibility::{Audience, CatalogView, HiddenReason, LookupRefusal};
use prowess_catalog::{CatalogEntry, Skill, SkillForm};
use prowess_diag::sanitize;
use prowess_diag::wording::{either, shorten, tick};
use prowess_policy::{
    Actor, Decision, Gate, GateAction, PermissionMode, PermissionRules, Remedy, SkillAction,
    Verdict,
};
use prowess_traits::ApprovalRequest;
use serde_json::Value;

use crate::context::ToolContext;
use crate::files::path_guard::PathGuard;
use crate::loaded::Loaded;
use crate::names::{AGENT_NAMES, SUBMIT, rule_names};
use crate::snapshot::SkillHandle;
use crate::tool::{ToolError, ToolErrorKind};

/// Maximum length of the list of names in an error, in characters.
const MAX_NAMES: usize = 1_000;
/// Maximum length of a name in an error, in characters.
const MAX_ASKED: usize = 100;

/// A skill that runs in a conversation of its own is loaded there, and runs.
const RUN_AS_A_WHOLE: &[SkillAction] = &[SkillAction::Load, SkillAction::Run];

/// Describes actions on a skill, as the subject of a sentence.
fn subject(actions: &[SkillAction], name: &str) -> String {
    let name = if name == "*" {
        "skills".to_owned()
    } else {
        format!("the skill {}", shown(name))
    };
    match actions {
        [SkillAction::List] => format!("Listing {name}"),
        [SkillAction::Load] => format!("Loading {name}"),
        [SkillAction::Unload] => format!("Unloading {name}"),
        [SkillAction::Read] => format!("Reading a file of {name}"),
        [SkillAction::Run] => format!("Running a command as {name}"),
        _ => format!("Running {name}"),
    }
}

/// Resolves a name given by a model, or `NAME@RANGE` with a range of versions.
pub(crate) fn find(context: &ToolContext, asked: &str) -> Result<SkillHandle, ToolError> {
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
    match view.resolve_version(asked, |entry| context.version_of(&entry.skill)) {
        Ok(entry) => Ok(SkillHandle::new(asked, entry)),
        Err(refusal) => Err(refused(&view, asked, &refusal)),
    }
}

/// Returns the error that a model receives if a name cannot be resolved.
pub(crate) fn refused(view: &CatalogView<'_>, asked: &str, refusal: &LookupRefusal) -> ToolError {
    let text = match refusal {
        LookupRefusal::NotFound(fault) => {
            let mut text = format!("Unknown skill: {}.", shown(asked));
            if !fault.near.is_empty() {
                let near = fault.near.iter().map(|name| tick(shown(name)));
                text.push_str(&format!(" Did you mean {}?", either(near)));
            }
            text.push_str(&available(view));
            text
        }
        // Claude Code's wording.
        LookupRefusal::NotForYou {
            name,
            why: HiddenReason::NotForModels,
        } => format!(
            "Skill {} cannot be used by a model due to disable-model-invocation. The user can type /{}",
            shown(name),
            shown(name)
        ),
        LookupRefusal::NotForYou { name, why } => {
            format!("Skill {} cannot be used: {}.", shown(name), why.reason())
        }
        LookupRefusal::OtherVersion {
            name,
            wanted,
            found,
        } => {
            let (name, wanted) = (shown(name), tick(shown(wanted)));
            match found {
                Some(found) => format!("Skill {name} has version {}, not {wanted}.", shown(found)),
                None => format!("Skill {name} has no version, and {wanted} was asked for."),
            }
        }
    };
    ToolError::new(ToolErrorKind::NoSkill, text)
}

/// Decides about an action on a skill, and prompts the user if the gate requires it. As for
/// commands, an `ask` rule prompts every time: approval is valid once.
pub(crate) fn permit(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &SkillHandle,
    action_kind: SkillAction,
    arguments: &str,
) -> Result<(), ToolError> {
    let (name, also, actions) = (skill.name(), names_of(skill), [action_kind]);
    permit_name(context, loaded, name, &also, &actions, arguments)
        .map_err(|decision| ToolError::denied(&subject(&actions, name), &decision))
}

/// Asks before a model unloads a skill that a person invoked and that restricts what may be done. A
/// rule that allows unloading it is the answer.
pub(crate) fn permit_lifting(
    context: &ToolContext,
    loaded: &Loaded,
    name: &str,
) -> Result<(), ToolError> {
    let actions = [SkillAction::Unload];
    let action = GateAction::Skill {
        name,
        also: &[],
        action: SkillAction::Unload,
        arguments: "",
    };
    let ruled = decide(context, loaded, name, SkillAction::Unload, &action);
    if ruled.verdict == Verdict::Allow && ruled.rule.is_some() {
        return Ok(());
    }
    let verdict = match context.gate().mode {
        PermissionMode::Allow => Verdict::Deny,
        _ => Verdict::Ask,
    };
    let reason = "the user invoked it, and its restrictions would no longer apply";
    let mut decision = Decision::new(verdict, reason);
    decision.remedy = Some(Remedy::Rule(format!("skill:{name}/unload").into()));
    let what = subject(&actions, name);
    let question = ApprovalRequest {
        what: &what,
        decision: &decision,
        skill: None,
        action: None,
        note: None,
    };
    context
        .settle(&question)
        .map_err(|decision| ToolError::denied(&what, &decision))
}

/// Decides about reading a file of a skill. Its SKILL.md is what loading returns, so the rules about
/// loading apply to it as well.
pub(crate) fn permit_read(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &SkillHandle,
    path: &str,
) -> Result<(), ToolError> {
    let (name, also) = (skill.name(), names_of(skill));
    let request = |action, arguments| GateAction::Skill {
        name,
        also: &also,
        action,
        arguments,
    };
    let load = request(SkillAction::Load, "");
    let read = request(SkillAction::Read, path);
    let decide = |kind, action| decide(context, loaded, name, kind, action);
    // If both need a prompt, the one about reading is enough.
    let stricter = is_like_main(&skill.entry().skill, path)
        .then(|| decide(SkillAction::Load, &load))
        .filter(|decision| decision.verdict > decide(SkillAction::Read, &read).verdict);
    match stricter {
        Some(decision) => {
            let actions = [SkillAction::Read];
            let question = ApprovalRequest {
                what: &subject(&actions, name),
                decision: &decision,
                skill: Some(name),
                action: Some(&load),
                note: None,
            };
            context
                .settle(&question)
                .map_err(|decision| ToolError::denied(&subject(&actions, name), &decision))?;
        }
        None => permit(context, loaded, skill, SkillAction::Read, path)?,
    }
    permit_file(context, loaded, &skill.entry().skill, name, path)
}

/// Applies the deny and ask rules for files to a file of a skill, by its real path, and prompts the
/// user if a rule requires it. The file with the text of the skill is what loading returns: only the
/// rules about the skill apply to it.
fn permit_file(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &Skill,
    name: &str,
    path: &str,
) -> Result<(), ToolError> {
    let Some(folder) = skill.path().filter(|_| skill.form == SkillForm::Folder) else {
        return Ok(());
    };
    let is_main = skill.main_file() == Some(path);
    if is_main || !context.gate().restricts_reading(&loaded.restrictions()) {
        return Ok(());
    }
    let guard = PathGuard::new(context, loaded);
    let resolved = guard.resolve(&folder.join(path).to_string_lossy())?;
    let Some(decision) = guard.judge_rules(&resolved) else {
        return Ok(());
    };
    let what = format!("{} of the skill {}", tick(shown(path)), shown(name));
    let what = format!("Reading {what}");
    let question = ApprovalRequest {
        what: &what,
        decision: &decision,
        skill: Some(name),
        action: None,
        note: None,
    };
    context
        .settle(&question)
        .map_err(|decision| ToolError::denied(&what, &decision))
}

/// Returns `true` for the file with the text of a skill, in any spelling: the rules about loading
/// apply to it. It does not exempt a file from any rule.
fn is_like_main(skill: &Skill, path: &str) -> bool {
    path.eq_ignore_ascii_case("SKILL.md") || skill.main_file() == Some(path)
}

/// Returns the denial if a rule forbids running commands as a skill. `also` are other names of it.
pub(crate) fn run_denial(context: &ToolContext, name: &str, also: &[&str]) -> Option<Decision> {
    let action = GateAction::Skill {
        name,
        also,
        action: SkillAction::Run,
        arguments: "",
    };
    let decision = context.gate().decide(&action, &Actor::default());
    (decision.verdict == Verdict::Deny).then_some(decision)
}

/// Returns the decision of the rules about running a command as a skill.
pub fn run_rules(gate: &Gate, skill: &SkillHandle, command: &str) -> Decision {
    let action = GateAction::Skill {
        name: skill.name(),
        also: &names_of(skill),
        action: SkillAction::Run,
        arguments: command,
    };
    gate.decide(&action, &Actor::default())
}

/// Returns the decision of the rules about a model that loads a skill.
pub fn load_rules(gate: &Gate, skill: &SkillHandle) -> Decision {
    let action = GateAction::Skill {
        name: skill.name(),
        also: &names_of(skill),
        action: SkillAction::Load,
        arguments: "",
    };
    gate.decide(&action, &Actor::default())
}

/// Returns the decision about a file of a skill that is read by its path, if it is a denial or comes
/// from an ask rule.
pub(crate) fn judge_file(
    context: &ToolContext,
    loaded: &Loaded,
    entry: &CatalogEntry,
    path: &str,
) -> Option<Decision> {
    let skill = SkillHandle::new(entry.name(), entry);
    let (name, also) = (skill.name(), names_of(&skill));
    let judged = |kind, arguments| {
        let action = GateAction::Skill {
            name,
            also: &also,
            action: kind,
            arguments,
        };
        decide(context, loaded, name, kind, &action)
    };
    let mut decision = judged(SkillAction::Read, path);
    if is_like_main(&entry.skill, path) {
        let load = judged(SkillAction::Load, "");
        if load.verdict > decision.verdict {
            decision = load;
        }
    }
    let counts = match decision.verdict {
        Verdict::Allow => false,
        Verdict::Ask => decision.rule.is_some(),
        Verdict::Deny => true,
    };
    counts.then_some(decision)
}

/// Decides about a skill that a model runs in a conversation of its own.
pub(crate) fn permit_sub_run(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &SkillHandle,
    arguments: &str,
) -> Result<(), ToolError> {
    let (name, also, actions) = (skill.name(), names_of(skill), RUN_AS_A_WHOLE);
    permit_name(context, loaded, name, &also, actions, arguments)
        .map_err(|decision| ToolError::denied(&subject(actions, name), &decision))
}

impl ToolContext {
    /// Decides about a skill that an MCP client or the file of an agent requests. The same rules apply
    /// as if a model requested it, including ask rules and the restrictions of loaded skills.
    pub fn permit_client(
        &self,
        loaded: &Loaded,
        skill: &SkillHandle,
        action: SkillAction,
        arguments: &str,
    ) -> Result<(), ToolError> {
        permit(self, loaded, skill, action, arguments)
    }

    /// Decides about a file of a skill that an MCP client reads. The same rules apply as if a model
    /// read it, including ask rules and the restrictions of loaded skills.
    pub fn permit_client_file(
        &self,
        loaded: &Loaded,
        skill: &SkillHandle,
        path: &str,
    ) -> Result<(), ToolError> {
        permit_read(self, loaded, skill, path)
    }

    /// Decides about a skill that a user invokes: `forked` is `true` if it runs in a conversation
    /// of its own. The invocation itself is the answer to ask rules; a denial is recorded and
    /// returned.
    pub fn permit_user(
        &self,
        skill: &SkillHandle,
        forked: bool,
        arguments: &str,
    ) -> Result<(), Decision> {
        let actions = if forked {
            RUN_AS_A_WHOLE
        } else {
            &[SkillAction::Load]
        };
        let (name, also) = (skill.name(), names_of(skill));
        let decision = strictest(actions, |action| {
            let action = GateAction::Skill {
                name,
                also: &also,
                action,
                arguments,
            };
            self.gate().decide(&action, &Actor::default())
        });
        if decision.verdict != Verdict::Deny {
            return Ok(());
        }
        // The skill is refused whether or not the decision can be recorded.
        let _ = self.note(&subject(actions, name), &decision, None, Some(name));
        Err(decision)
    }
}

/// Returns the strictest of the decisions about several actions.
fn strictest(actions: &[SkillAction], decide: impl Fn(SkillAction) -> Decision) -> Decision {
    let first = actions.first().copied().unwrap_or(SkillAction::Run);
    let rest = actions.iter().skip(1).copied();
    rest.fold(decide(first), |strictest, action| {
        let decision = decide(action);
        // Without a rule, the later action says more: running a skill includes loading it.
        let says_more = decision.verdict == strictest.verdict && strictest.rule.is_none();
        if decision.verdict > strictest.verdict || says_more {
            decision
        } else {
            strictest
        }
    })
}

/// Applies the rules about running commands as a skill.
pub(crate) fn permit_run(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &SkillHandle,
    command: &str,
) -> Result<(), Decision> {
    let also = names_of(skill);
    permit_name(
        context,
        loaded,
        skill.name(),
        &also,
        &[SkillAction::Run],
        command,
    )
}

/// Decides about an action on all skills.
pub(crate) fn permit_all(
    context: &ToolContext,
    loaded: &Loaded,
    action_kind: SkillAction,
) -> Result<(), ToolError> {
    let actions = [action_kind];
    permit_name(context, loaded, "*", &[], &actions, "")
        .map_err(|decision| ToolError::denied(&subject(&actions, "*"), &decision))
}

/// Returns `true` if a skill can be loaded without a prompt and without recording the decision.
pub(crate) fn may_load_unasked(
    context: &ToolContext,
    loaded: &Loaded,
    skill: &SkillHandle,
    arguments: &str,
) -> bool {
    let (name, action_kind, also) = (skill.name(), SkillAction::Load, names_of(skill));
    let action = GateAction::Skill {
        name,
        also: &also,
        action: action_kind,
        arguments,
    };
    let decision = decide(context, loaded, name, action_kind, &action);
    decision.verdict == Verdict::Allow && context.services.recorder.is_none()
}

/// Returns the decision of the rules about a tool, or `None` if no rule matches it. Without a rule,
/// the tool itself asks for permission. A deny or ask rule may use any of the tool's names.
pub(crate) fn tool_rules(
    context: &ToolContext,
    loaded: &Loaded,
    tool: &str,
    input: &Value,
) -> Option<Decision> {
    let fields = plain_fields(input);
    let arguments: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    // `submit` belongs to the caller of a run; a skill cannot remove it.
    let restrictions = match tool {
        SUBMIT => PermissionRules::default(),
        _ => loaded.restrictions(),
    };
    let actor = Actor::default().within(&restrictions);
    let decide = |name: &str| {
        let action = GateAction::Tool {
            name,
            also: &[],
            arguments: &arguments,
        };
        let decision = context.gate().decide(&action, &actor);
        decision.rule.is_some().then_some(decision)
    };
    let also = rule_names(tool).iter().filter_map(|name| decide(name));
    let also = also.filter(|decision| decision.verdict != Verdict::Allow);
    decide(tool)
        .into_iter()
        .chain(also)
        .max_by_key(|decision| decision.verdict)
}

/// Returns the input fields that rules can match, as texts. A list or an object is there as JSON, and
/// each string, number and boolean in it once more, without blanks around it.
pub fn plain_fields(input: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (name, value) in input.as_object().into_iter().flatten() {
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            fields.push((name.clone(), value.to_string()));
        }
        add_scalars(name, value, &mut fields);
    }
    fields
}

/// Adds the plain values in a value. The parser of JSON limits the depth.
fn add_scalars(name: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::String(text) => {
            fields.push((name.to_owned(), text.clone()));
            if text.trim() != text {
                fields.push((name.to_owned(), text.trim().to_owned()));
            }
        }
        Value::Bool(_) | Value::Number(_) => fields.push((name.to_owned(), value.to_string())),
        Value::Array(items) => items
            .iter()
            .for_each(|item| add_scalars(name, item, fields)),
        Value::Object(items) => {
            for (key, item) in items {
                fields.push((name.to_owned(), key.clone()));
                add_scalars(name, item, fields);
            }
        }
    }
}

/// Applies the rules about a tool to a call, and prompts the user if a rule requires it.
pub(crate) fn permit_tool(
    context: &ToolContext,
    loaded: &Loaded,
    tool: &str,
    input: &Value,
) -> Result<(), ToolError> {
    let Some(decision) = tool_rules(context, loaded, tool, input) else {
        return Ok(());
    };
    let what = format!("Calling {tool}");
    // The user must see everything that is approved.
    let long = format!("{what}: {}", sanitize::line(&input.to_string()));
    let question = ApprovalRequest {
        what: &long,
        decision: &decision,
        skill: None,
        action: None,
        note: None,
    };
    context
        .settle(&question)
        .map_err(|decision| ToolError::denied(&what, &decision))
}

/// Returns the decision of the rules about an agent, `Agent` and `Agent(name)`, or `None` if no rule
/// is about it. `names` are all names of the agent.
pub fn agent_rules(context: &ToolContext, loaded: &Loaded, names: &[Box<str>]) -> Option<Decision> {
    let restrictions = loaded.restrictions();
    let actor = Actor::default().within(&restrictions);
    let arguments: Vec<(&str, &str)> = names.iter().map(|name| ("name", &**name)).collect();
    let gate = context.gate();
    let decisions = AGENT_NAMES.iter().map(|name| {
        let action = GateAction::Tool {
            name,
            also: &[],
            arguments: &arguments,
        };
        gate.decide(&action, &actor)
    });
    let ruled = decisions.filter(|one| one.rule.is_some());
    let ruled = ruled.max_by_key(|decision| decision.verdict);
    // It is unknown what an invalid rule was meant to stop.
    ruled.or_else(|| gate.invalid_restriction(&actor))
}

/// Applies the rules about starting an agent, `Agent` and `Agent(name)`, and prompts the user if a
/// rule requires it. Without a rule, agents may be started: the rules apply to what they do. Returns
/// the decision if it may not start.
pub fn decide_agent(
    context: &ToolContext,
    loaded: &Loaded,
    names: &[Box<str>],
    task: &str,
) -> Result<(), Decision> {
    let Some(decision) = agent_rules(context, loaded, names) else {
        return Ok(());
    };
    let what = starting_agent(names);
    // What shows the question escapes the task.
    let long = match task.trim() {
        task if task.contains('\n') => format!("{what}:\n{task}"),
        task => format!("{what}: {task}"),
    };
    context.settle(&ApprovalRequest {
        what: &long,
        decision: &decision,
        skill: None,
        action: None,
        note: None,
    })
}

/// Applies the rules about starting an agent like [`decide_agent`], with the error for a model.
pub fn permit_agent(
    context: &ToolContext,
    loaded: &Loaded,
    names: &[Box<str>],
    task: &str,
) -> Result<(), ToolError> {
    decide_agent(context, loaded, names, task)
        .map_err(|decision| ToolError::denied(&starting_agent(names), &decision))
}

fn starting_agent(names: &[Box<str>]) -> String {
    let name = names.first().map_or_else(String::new, |name| shown(name));
    format!("Starting the agent {name}")
}

/// Returns `true` if a rule denies all skills to models: `Skill`. The tools about skills are then
/// not available.
pub(crate) fn is_forbidden(context: &ToolContext) -> bool {
    let action = GateAction::Skill {
        name: "*",
        also: &[],
        action: SkillAction::Load,
        arguments: "",
    };
    let decision = context.gate().decide(&action, &Actor::default());
    decision.verdict == Verdict::Deny && decision.rule.is_some()
}

fn permit_name(
    context: &ToolContext,
    loaded: &Loaded,
    name: &str,
    also: &[&str],
    actions: &[SkillAction],
    arguments: &str,
) -> Result<(), Decision> {
    let action = |action| GateAction::Skill {
        name,
        also,
        action,
        arguments,
    };
    let decision = strictest(actions, |kind| {
        decide(context, loaded, name, kind, &action(kind))
    });
    // Without a rule about the skill, unloading needs no approval, and the user is asked about each
    // command instead.
    let [first, ..] = actions else { return Ok(()) };
    let is_minor = matches!(actions, [SkillAction::Unload | SkillAction::Run]);
    if is_minor && decision.rule.is_none() && decision.verdict != Verdict::Deny {
        return Ok(());
    }
    let what = subject(actions, name);
    let long = match arguments {
        "" => what,
        arguments => format!("{what}: {}", sanitize::line(arguments)),
    };
    let question = ApprovalRequest {
        what: &long,
        decision: &decision,
        skill: Some(name),
        action: Some(&action(*first)),
        note: None,
    };
    context.settle(&question)
}

/// Returns all names that a rule may use for a skill.
pub(crate) fn names_of(skill: &SkillHandle) -> Vec<&str> {
    let head = &skill.entry().skill;
    let own: [&str; 2] = [&head.name, skill.asked()];
    own.into_iter().chain(head.alias.as_deref()).collect()
}

/// Returns the decision of the gate about an action on a skill.
fn decide(
    context: &ToolContext,
    loaded: &Loaded,
    name: &str,
    action_kind: SkillAction,
    action: &GateAction<'_>,
) -> Decision {
    // A sub-run may load the skills that its skill lists. It has the text of its own skill already.
    let acting = context
        .acting
        .as_deref()
        .filter(|acting| action_kind == SkillAction::Load && *acting.trust.name != *name);
    let restrictions = loaded.restrictions();
    let actor = match acting {
        Some(acting) => context.actor_for(&acting.trust, &restrictions),
        None => Actor::default().within(&restrictions),
    };
    context.gate().decide(action, &actor)
}

/// Lists the visible skills, as many as fit: ` Available: a, b, …`.
fn available(view: &CatalogView<'_>) -> String {
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

/// Joins as many names as fit with commas. Returns the list and the number of omitted names.
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

/// Formats a name for a sentence: on one line, without invisible characters, truncated.
pub fn shown(name: &str) -> String {
    shorten(&sanitize::line(name), MAX_ASKED)
}
