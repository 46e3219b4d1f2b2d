//! Tools for clients without the skills extension; the same tools that our own agent has.

use std::sync::Arc;

use prowess_agent::Image;
use prowess_tools::names::{
    LIST_SKILLS, LOAD_SKILL, LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES, RUN_COMMAND_LINE,
    SEARCH_SKILLS,
};
use prowess_tools::{Loaded, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec, Toolset};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::session::Session;

/// The built-in tools that every client gets.
const READING: [&str; 5] = [
    LIST_SKILLS,
    SEARCH_SKILLS,
    LOAD_SKILL,
    LOAD_SKILL_RESOURCE,
    LOAD_SKILL_RESOURCES,
];

/// Keeps the built-in tools that a client may use. Tools of the host are not affected.
pub(crate) fn keep(tools: &mut Toolset, commands: bool) {
    tools.retain_built_in(|name| READING.contains(&name) || (commands && name == RUN_COMMAND_LINE));
}

/// Handles `tools/list`.
pub(crate) fn list(tools: &Toolset, tool_context: &ToolContext) -> Vec<Tool> {
    tools.specs(tool_context).into_iter().map(tool).collect()
}

/// Returns the names of all tools, to detect changes.
pub(crate) fn names(tools: &Toolset, tool_context: &ToolContext) -> Vec<String> {
    tools
        .tools(tool_context)
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

/// Converts a tool name to a title: `load_skill` to `Load skill`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Calls a tool. Errors that a model can correct are returned as tool results; others are protocol
/// errors.
pub(crate) fn call(
    tools: &Toolset,
    tool_context: &ToolContext,
    session: &Session,
    name: &str,
    input: &Value,
) -> Result<CallToolResult, ErrorData> {
    let loaded = session.loaded().clone();
    call_with(tools, tool_context, session, loaded, name, input)
}

/// Calls a tool with the given loaded skills, and keeps the skills that the call adds, so that
/// commands can run as them. A client may have several conversations and may drop earlier results,
/// so calls of `load_skill` start without loaded skills and return the skill in full.
pub(crate) fn call_with(
    tools: &Toolset,
    tool_context: &ToolContext,
    session: &Session,
    mut loaded: Loaded,
    name: &str,
    input: &Value,
) -> Result<CallToolResult, ErrorData> {
    let answer = tools.call(tool_context, &mut loaded, name, input);
    session.loaded().merge(loaded);
    told(name, answer)
}

/// Converts a tool result to the protocol.
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
        Err(error) if error.why() == Some(ToolErrorKind::NoTool) => Err(ErrorData::invalid_params(
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
