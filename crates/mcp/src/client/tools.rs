//! Tools of a server, with prefixed names and checked by the gate.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_agent::Image;
use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use prowess_policy::GateAction;
use prowess_tools::input::plain_fields;
use prowess_tools::{
    Loaded, Schema, SchemaFault, SecretValues, Tool, ToolAnswer, ToolContext, ToolError,
    ToolErrorKind,
};
use prowess_traits::MAX_EVENT;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
    ListToolsRequest, PaginatedRequestParams, ResourceContents, ServerResult,
};
use serde_json::{Value, json};

use super::connection::Link;
use super::error::LinkError;

/// Maximum number of tools of a server.
const MAX_TOOLS: usize = 512;
/// Maximum number of pages requested.
const MAX_PAGES: usize = 100;
/// Maximum length of a tool name that every provider accepts.
const MAX_NAME: usize = 64;
/// Maximum number of characters of a description.
const MAX_DESCRIPTION: usize = 2_000;
/// Maximum size of a schema, in bytes.
const MAX_SCHEMA: usize = 32 * 1024;
/// Maximum size of all schemas of a server, in bytes: they are part of every model request.
const MAX_SCHEMAS: usize = 256 * 1024;
/// Maximum number of skipped tools that are reported.
const MAX_LEFT: usize = 20;
/// Maximum depth of a schema that is sanitized.
const MAX_DEPTH: usize = 64;
/// Image types that every provider accepts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Maximum number of images in a result.
const MAX_IMAGES: usize = 8;
/// Maximum number of characters of a Base64 image.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// Maximum number of characters of all images of a result: it is one event of the session.
const MAX_ALL_IMAGES: usize = MAX_EVENT / 2;

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct RemoteTool {
    link: Arc<Link>,
    /// Name for models: `mcp__server__tool`.
    name: Box<str>,
    /// Name in rules that allow.
    rule_name: Box<str>,
    /// Name on the server.
    own: Box<str>,
    description: Box<str>,
    schema: Value,
    checks: Schema,
    /// Size of the original schema, in bytes.
    size: usize,
}

/// Lists the tools of a server, and the tools that are skipped.
pub(crate) async fn list(
    link: &Arc<Link>,
) -> Result<(Vec<Arc<RemoteTool>>, Vec<String>), LinkError> {
    let (mut tools, mut left) = (Vec::new(), Vec::new());
    let (mut seen, mut bytes) = (0, 0);
    let mut names = BTreeSet::new();
    let mut cursor = None;
    for page in 0..=MAX_PAGES {
        if page == MAX_PAGES {
            return Err(link.odd("its list of tools has too many pages"));
        }
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ListToolsRequest {
            params: Some(params),
            ..ListToolsRequest::default()
        };
        let request = ClientRequest::ListToolsRequest(request);
        let ServerResult::ListToolsResult(page) = link.request(request).await? else {
            return Err(link.odd("the result is not a list of tools"));
        };
        for tool in page.tools {
            seen += 1;
            if seen > MAX_TOOLS || bytes > MAX_SCHEMAS {
                left.push(format!("tools after the first {}", tools.len()));
                return Ok((tools, left));
            }
            let why = match RemoteTool::new(link, &tool) {
                Ok(tool) if names.insert(tool.name.clone()) => {
                    bytes += tool.size;
                    tools.push(Arc::new(tool));
                    continue;
                }
                Ok(_) => RemoteToolError::Duplicate,
                Err(why) => why,
            };
            if left.len() < MAX_LEFT {
                let name = shorten(&sanitize::line(&tool.name), MAX_NAME);
                left.push(format!("tool `{name}`: {why}"));
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok((tools, left))
}

/// Reason why a tool of a server is left out.
#[derive(Debug, thiserror::Error)]
enum RemoteToolError {
    #[error("duplicate name")]
    Duplicate,
    #[error("its name must have 1 to {most} characters")]
    Name { most: usize },
    #[error("its schema is too large")]
    SchemaSize,
    #[error(transparent)]
    Schema(#[from] SchemaFault),
}

impl RemoteTool {
    fn new(link: &Arc<Link>, tool: &rmcp::model::Tool) -> Result<Self, RemoteToolError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let own: String = tool
            .name
            .chars()
            .map(|c| if plain(c) { c } else { '_' })
            .collect();
        let name = format!("mcp__{}__{own}", link.name());
        if own.is_empty() || name.len() > MAX_NAME {
            let most = MAX_NAME - (name.len() - own.len());
            return Err(RemoteToolError::Name { most });
        }
        let mut schema = Value::Object((*tool.input_schema).clone());
        let size = schema.to_string().len();
        if size > MAX_SCHEMA {
            return Err(RemoteToolError::SchemaSize);
        }
        sanitize_schema(&mut schema, 0);
        let checks = Schema::new(&schema)?;
        let text = shorten(
            clean(tool.description.as_deref().unwrap_or_default()).trim(),
            MAX_DESCRIPTION,
        );
        let description = format!("{text}\n(Provided by the MCP server `{}`.)", link.name());
        let rule_name = format!("mcp__{}__{own}", link.rule_name());
        Ok(Self {
            link: Arc::clone(link),
            name: name.into(),
            rule_name: rule_name.into(),
            own: tool.name.as_ref().into(),
            description: description.trim_start().into(),
            schema,
            checks,
            size,
        })
    }
}

impl Tool for RemoteTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self, _context: &ToolContext) -> String {
        self.description.to_string()
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "text": { "type": "string" }, "structured": {} },
            "required": ["text"],
            "additionalProperties": false,
        })
    }

    /// A server's claim that its tool is read-only is not trusted.
    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
    }

    fn schema(&self) -> Result<Schema, SchemaFault> {
        Ok(self.checks.clone())
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn answer(
        &self,
        tool_context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        self.answer_with(tool_context, loaded, input, &SecretValues::new())
    }

    fn answer_with(
        &self,
        tool_context: &ToolContext,
        loaded: &mut Loaded,
        marked: &Value,
        secrets: &SecretValues,
    ) -> Result<ToolAnswer, ToolError> {
        secrets.check(marked)?;
        let input = &secrets.shown_input(marked);
        let fields = plain_fields(input);
        let arguments: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        // A rule that allows a server is not about the server of the same name that an agent has.
        let plain = [&*self.name];
        let also = if self.rule_name == self.name {
            &[][..]
        } else {
            &plain
        };
        let action = GateAction::Tool {
            name: &self.rule_name,
            also,
            arguments: &arguments,
        };
        // The user must see everything that is approved.
        let input_text = input.to_string();
        let shown = sanitize::line(&input_text);
        let what = format!("Calling {}", self.rule_name);
        tool_context.permit(loaded, &action, &what, &format!("{what}: {shown}"))?;
        let mut params = CallToolRequestParams::new(self.own.to_string());
        params.arguments = secrets.fill_input(marked).as_object().cloned();
        let called = self.link.wait(|link| async move {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            match link.request(request).await? {
                ServerResult::CallToolResult(result) => Ok(result),
                _ => Err(link.odd("the result is of an unsupported type")),
            }
        });
        let failed = |text: String| ToolError::new(ToolErrorKind::Failed, text);
        let failed = |text: String| failed(secrets.redact(text));
        let result = called.map_err(|error| failed(format!("{}: {error}.", self.name)))?;
        let is_error = result.is_error == Some(true);
        let answer = read(result);
        if is_error {
            return Err(failed(answer.text));
        }
        Ok(ToolAnswer {
            text: secrets.redact(answer.text),
            value: secrets.redact_value(&answer.value),
            images: answer.images,
        })
    }
}

/// Removes invisible characters.
fn clean(text: &str) -> String {
    let hidden = |c: char| c.is_control() || sanitize::is_invisible(c) || sanitize::is_bidi(c);
    text.chars().filter(|c| *c == '\n' || !hidden(*c)).collect()
}

/// Removes hidden characters from a schema, and patterns, which are expensive to check: the server
/// checks them itself.
fn sanitize_schema(schema: &mut Value, depth: usize) {
    match schema {
        Value::Object(fields) if depth < MAX_DEPTH => {
            fields.remove("patternProperties");
            if fields.get("pattern").is_some_and(Value::is_string) {
                fields.remove("pattern");
            }
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if matches!(&**key, "description" | "title") => {
                        *text = clean(text);
                    }
                    other => sanitize_schema(other, depth + 1),
                }
            }
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            for item in items.iter_mut() {
                sanitize_schema(item, depth + 1);
            }
        }
        _ => {}
    }
}

/// Converts a result to what a model reads.
fn read(result: CallToolResult) -> ToolAnswer {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    let mut size = 0;
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image)
                if images.len() < MAX_IMAGES
                    && image.data.len() <= MAX_IMAGE
                    && size + image.data.len() <= MAX_ALL_IMAGES
                    && IMAGE_TYPES.contains(&&*image.mime_type)
                    && STANDARD.decode(&image.data).is_ok() =>
            {
                size += image.data.len();
                images.push(Image {
                    media_type: image.mime_type.into(),
                    data: image.data.into(),
                });
            }
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { text, .. } => texts.push(text),
                _ => texts.push("[binary content]".to_owned()),
            },
            ContentBlock::ResourceLink(link) => {
                texts.push(format!("[resource {}]", sanitize::line(&link.uri)));
            }
            _ => texts.push("[unsupported content]".to_owned()),
        }
    }
    // Some servers return structured content only.
    if texts.is_empty()
        && images.is_empty()
        && let Some(value) = &result.structured_content
    {
        texts.push(value.to_string());
    }
    let text = texts.join("\n");
    let mut value = json!({ "text": text });
    if let Some(structured) = result.structured_content {
        value["structured"] = structured;
    }
    let mut answer = ToolAnswer::new(text, value);
    answer.images = images;
    answer
}
