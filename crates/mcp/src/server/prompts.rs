//! Skills as prompts, which users select from a menu or type as slash commands.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_catalog::SkillId;
use prowess_catalog::skill::clean_line;
use prowess_catalog::visibility::Audience;
use prowess_policy::SkillAction;
use prowess_registry::Registry;
use prowess_render::Arguments;
use prowess_spec::parse;
use prowess_tools::{ActivationError, ActivationRequest, Loaded, ToolContext, activate};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptResult, JsonObject,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::{Value, json};

use super::paging::{self, Page};
use super::resource_index::{ResourceIndex, ServedSkill};
use super::resources::TEMPLATE;

/// Number of prompts per page.
const PROMPTS: usize = 100;
/// Name of the single argument of a skill that declares none.
const ARGUMENTS: &str = "arguments";

/// Cache of the declared arguments of skills.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    known: Mutex<HashMap<SkillId, Names>>,
}

/// Names of arguments, with the fingerprint of the text that declares them.
type Names = (u64, Arc<[String]>);

impl Declared {
    /// Returns the names of a skill's arguments, in order.
    fn of(&self, registry: &Registry, served: &ServedSkill) -> Arc<[String]> {
        let skill = &served.skill;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, names)) = known()
            .get(&skill.id)
            .filter(|(seen, _)| *seen == skill.fingerprint)
        {
            return Arc::clone(names);
        }
        let text = registry.text(&skill.id).unwrap_or_default();
        let names: Arc<[String]> = parse(&text)
            .manifest
            .arguments
            .iter()
            .map(|text| text.value.to_string())
            .collect();
        known().insert(skill.id.clone(), (skill.fingerprint, Arc::clone(&names)));
        names
    }
}

/// Handles `prompts/list`: one prompt for each skill that users may invoke.
pub(crate) fn list(
    tool_context: &ToolContext,
    resource_index: &ResourceIndex,
    declared: &Declared,
    cursor: Option<&str>,
) -> Result<ListPromptsResult, ErrorData> {
    let from = paging::place(cursor)?;
    let skills = resource_index.now();
    let seen = skills.after(&from).filter(|served| served.for_people);
    let Page { items, next } = paging::page(seen, PROMPTS, |served| &served.root);
    let prompts = items.into_iter().map(|served| {
        let names = declared.of(&tool_context.services.registry, served);
        let description = clean_line(&served.skill.description);
        Prompt::new(
            served.name.clone(),
            Some(description),
            Some(arguments(served, &names)),
        )
    });
    let mut result = ListPromptsResult::with_all_items(prompts.collect());
    result.next_cursor = next;
    Ok(result)
}

fn arguments(served: &ServedSkill, names: &[String]) -> Vec<PromptArgument> {
    let hint = served.skill.argument_hint.as_deref().map(clean_line);
    if names.is_empty() {
        let hint = hint.unwrap_or_else(|| "Arguments of the skill, as one string".to_owned());
        return vec![
            PromptArgument::new(ARGUMENTS)
                .with_description(hint)
                .with_required(false),
        ];
    }
    let hints = hint.as_deref().map(words).unwrap_or_default();
    let argument = |(at, name): (usize, &String)| {
        let argument = PromptArgument::new(name.clone()).with_required(false);
        match hints.get(at) {
            Some(hint) => argument.with_description((*hint).to_owned()),
            None => argument,
        }
    };
    names.iter().enumerate().map(argument).collect()
}

/// Handles `prompts/get`: returns the skill as a model receives it when a user invokes it.
pub(crate) fn get(
    tool_context: &ToolContext,
    loaded: &Loaded,
    name: &str,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let failed = |error: ActivationError| {
        let text = error.to_string();
        match error {
            ActivationError::NotFound(_) | ActivationError::Fill(_) => {
                ErrorData::invalid_params(text, Some(json!({ "name": name })))
            }
            _ => ErrorData::internal_error(text, Some(json!({ "name": name }))),
        }
    };
    let handle = tool_context
        .resolve(name, Audience::Person)
        .map_err(|refusal| failed(ActivationError::NotFound(refusal)))?;
    let skill = prowess_tools::read(tool_context, &handle).map_err(failed)?;
    let arguments = match given {
        Some(given) => read_arguments(&skill.document.arguments, given)?,
        None => Arguments::none(),
    };
    tool_context
        .permit_client(
            loaded,
            &handle,
            SkillAction::Load,
            arguments.raw().unwrap_or_default(),
        )
        .map_err(|error| {
            ErrorData::invalid_params(error.to_string(), Some(json!({ "name": name })))
        })?;
    let request = ActivationRequest::new(arguments);
    let activation = activate(tool_context, loaded, &skill, &request).map_err(failed)?;
    let message = PromptMessage::new_text(Role::User, activation.text());
    let description = clean_line(&skill.skill.description);
    Ok(GetPromptResult::new(vec![message]).with_description(description))
}

/// Converts the given arguments to what a user would have typed: declared arguments in their order.
fn read_arguments(names: &[Box<str>], given: &JsonObject) -> Result<Arguments, ErrorData> {
    let unknown = given
        .keys()
        .find(|key| *key != ARGUMENTS && !names.iter().any(|name| **name == ***key));
    if let Some(unknown) = unknown {
        let text = format!("unknown argument `{unknown}`");
        return Err(ErrorData::invalid_params(text, None));
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    if !names.iter().any(|name| given.contains_key(&**name)) {
        let whole = given
            .get(ARGUMENTS)
            .map(text)
            .filter(|text| !text.trim().is_empty());
        return Ok(whole.map_or_else(Arguments::none, Arguments::from_text));
    }
    let last = names
        .iter()
        .rposition(|name| given.contains_key(&**name))
        .map_or(0, |at| at + 1);
    let word = |name: &str| given.get(name).map(text).unwrap_or_default();
    Ok(Arguments::from_words(
        names[..last].iter().map(|name| word(name)).collect(),
    ))
}

/// Handles `completion/complete`: choices of an `argument-hint`, names of skills, and their files.
pub(crate) fn complete(
    tool_context: &ToolContext,
    resource_index: &ResourceIndex,
    declared: &Declared,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let skills = resource_index.now();
    let (argument, begun) = (&*request.argument.name, &*request.argument.value);
    let values: Vec<String> = match &request.r#ref {
        Reference::Prompt(prompt) => {
            let found = skills
                .all()
                .find(|served| served.for_people && served.name == prompt.name);
            let Some(served) = found else {
                let text = format!("unknown prompt `{}`", prompt.name);
                return Err(ErrorData::invalid_params(text, None));
            };
            let names = declared.of(&tool_context.services.registry, served);
            let place = names.iter().position(|name| name == argument).unwrap_or(0);
            let hint = served.skill.argument_hint.as_deref().unwrap_or_default();
            words(hint)
                .get(place)
                .map(|hint| choices(hint))
                .unwrap_or_default()
        }
        Reference::Resource(template) if template.uri == TEMPLATE => {
            let given = request
                .context
                .as_ref()
                .and_then(|context| context.arguments.as_ref());
            let skill = given.and_then(|given| given.get("skill"));
            match (argument, skill) {
                ("skill", _) => {
                    let seen = skills.all().filter(|served| served.for_models);
                    let path = |served: &Arc<ServedSkill>| {
                        served.root[crate::wire::uri::SCHEME.len()..].to_owned()
                    };
                    seen.map(path).collect()
                }
                ("file", Some(skill)) => {
                    let root = format!("{}{skill}", crate::wire::uri::SCHEME);
                    let found = skills.find(&root).filter(|(_, path)| path.is_empty());
                    let contents = found.map(|(served, _)| resource_index.look(served));
                    let files = contents.iter().flat_map(|contents| &contents.files);
                    files.map(|file| file.path.clone()).collect()
                }
                _ => Vec::new(),
            }
        }
        Reference::Resource(_) => {
            return Err(ErrorData::invalid_params("unknown resource template", None));
        }
        _ => Vec::new(),
    };
    let begun = begun.to_lowercase();
    let fitting: Vec<String> = values
        .into_iter()
        .filter(|value| value.to_lowercase().starts_with(&begun))
        .collect();
    let total = u32::try_from(fitting.len()).unwrap_or(u32::MAX);
    let has_more = fitting.len() > CompletionInfo::MAX_VALUES;
    let shown = fitting
        .into_iter()
        .take(CompletionInfo::MAX_VALUES)
        .collect();
    let info = CompletionInfo::with_pagination(shown, Some(total), has_more)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(info))
}

/// Splits a hint into words: `[issue] [low|high]` has two.
fn words(hint: &str) -> Vec<&str> {
    let brackets: &[_] = &['[', ']', '<', '>', '(', ')'];
    let clean = hint
        .split_whitespace()
        .map(|word| word.trim_matches(brackets));
    clean.filter(|word| !word.is_empty()).collect()
}

/// Returns the choices in a word of a hint.
fn choices(hint: &str) -> Vec<String> {
    if !hint.contains('|') {
        return Vec::new();
    }
    let choice = |choice: &str| {
        choice
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_owned()
    };
    hint.split('|')
        .map(choice)
        .filter(|choice| !choice.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_parsed_from_hints() {
        assert_eq!(words("[issue] <low|high>"), ["issue", "low|high"]);
        assert_eq!(choices("low|high"), ["low", "high"]);
        assert!(choices("issue").is_empty());
    }

    #[test]
    fn declared_arguments_are_passed_in_order() {
        let names = ["a", "b", "c"].map(Box::from);
        let read = |value: Value| {
            let Value::Object(given) = value else {
                panic!("an object")
            };
            read_arguments(&names, &given).map(|arguments| arguments.raw().map(str::to_owned))
        };
        assert_eq!(
            read(json!({ "b": "two words", "a": "x" }))
                .unwrap()
                .unwrap(),
            "x 'two words'"
        );
        assert_eq!(
            read(json!({ "arguments": "as typed" })).unwrap().unwrap(),
            "as typed"
        );
        assert_eq!(read(json!({})).unwrap(), None);
        assert!(read(json!({ "d": "x" })).is_err());
    }
}
