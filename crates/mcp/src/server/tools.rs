//! Tools: the same as an agent of ours has, for clients that know only tools.

use std::sync::Arc;

use prowess_agent::Image;
use prowess_tools::{Loaded, ToolAnswer, ToolError, ToolSpec, Toolset, Why, Workshop};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::session::Session;

/// The tools that clients get; what runs something only where that was wanted.
const READING: [&str; 4] = [
    "list_skills",
    "search_skills",
    LOAD_SKILL,
    "load_skill_resource",
];
/// Gives a client the text of a skill.
pub(crate) const LOAD_SKILL: &str = "load_skill";
/// Runs a command in the name of a skill.
pub(crate) const RUN_COMMAND: &str = "run_command_line";

/// Keeps the tools that a client may have. Others of the host stay as they are.
pub(crate) fn keep(tools: &mut Toolset, commands: bool) {
    const OURS: [&str; 5] = [
        "unload_skill",
        "skill",
        "submit",
        "run_command_line",
        "run_skill",
    ];
    tools.retain(|name| {
        READING.contains(&name) || (commands && name == RUN_COMMAND) || !OURS.contains(&name)
    });
}

/// `tools/list`.
pub(crate) fn list(tools: &Toolset, workshop: &Workshop) -> Vec<Tool> {
    tools.specs(workshop).into_iter().map(tool).collect()
}

/// The names of all tools, to see whether they changed.
pub(crate) fn names(tools: &Toolset, workshop: &Workshop) -> Vec<String> {
    tools
        .tools(workshop)
        .map(|tool| tool.name().to_owned())
        .collect()
}

fn tool(spec: ToolSpec) -> Tool {
    let title = title(&spec.name);
    let annotations = ToolAnnotations::with_title(title.clone())
        .read_only(spec.read_only)
        .destructive(spec.destructive)
        .idempotent(spec.read_only)
        .open_world(!spec.read_only);
    let tool = Tool::new(
        String::from(spec.name),
        spec.description,
        object(spec.input_schema),
    )
    .with_title(title)
    .with_annotations(annotations);
    match object(spec.output_schema) {
        schema if schema.is_empty() => tool,
        schema => tool.with_raw_output_schema(Arc::new(schema)),
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// `load_skill` as a person reads it: `Load skill`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Calls a tool. What a model can mend is an answer with an error in it; what no model can is an
/// error of the protocol.
pub(crate) fn call(
    tools: &Toolset,
    workshop: &Workshop,
    session: &Session,
    name: &str,
    input: &Value,
) -> Result<CallToolResult, ErrorData> {
    // A client may have many conversations, and forgets without telling us: a skill is always
    // given in full. Which ones were loaded counts for the commands that run as them.
    let mut loaded = match name {
        LOAD_SKILL => Loaded::default(),
        _ => session.loaded().clone(),
    };
    let answer = tools.call(workshop, &mut loaded, name, input);
    note(session, &loaded);
    told(name, answer)
}

/// Loads a skill on a thread that must not wait, where that can be. Gives the name of the skill too:
/// its use is still to be remembered.
pub(crate) fn load_at_once(
    tools: &Toolset,
    workshop: &Workshop,
    session: &Session,
    input: &Value,
) -> Option<(CallToolResult, Option<String>)> {
    let mut loaded = Loaded::default();
    let answer = tools.call_at_once(workshop, &mut loaded, LOAD_SKILL, input)?;
    note(session, &loaded);
    let used = loaded.names().next().map(str::to_owned);
    Some((told(LOAD_SKILL, Ok(answer)).ok()?, used))
}

/// Notes what a client loaded.
fn note(session: &Session, loaded: &Loaded) {
    let mut known = session.loaded();
    for name in loaded.names() {
        if let Some(skill) = loaded.get(name) {
            known.restore(name, &skill.digest, skill.rendering);
        }
    }
}

/// What a client is told of an answer.
pub(crate) fn told(
    name: &str,
    answer: Result<ToolAnswer, ToolError>,
) -> Result<CallToolResult, ErrorData> {
    match answer {
        Ok(ToolAnswer {
            text,
            value,
            images,
        }) => {
            let mut content = vec![ContentBlock::text(text)];
            content.extend(images.into_iter().map(|Image { media_type, data }| {
                ContentBlock::image(String::from(data), String::from(media_type))
            }));
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(value);
            Ok(result)
        }
        Err(error) if error.why() == Some(Why::NoTool) => Err(ErrorData::invalid_params(
            error.to_string(),
            Some(json!({ "name": name })),
        )),
        Err(error @ ToolError::Fatal { .. }) => {
            Err(ErrorData::internal_error(error.to_string(), None))
        }
        Err(error) => Ok(CallToolResult::error(vec![ContentBlock::text(
            error.to_string(),
        )])),
    }
}
