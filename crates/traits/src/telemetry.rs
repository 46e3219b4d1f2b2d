//! Names of spans and their attributes: OpenTelemetry's conventions for generative AI, and a few
//! additions.
//!
//! There are no attributes for messages, tool inputs and tool results: they are stored in the
//! session only.

/// The operation: [`INVOKE_AGENT`], [`CHAT`] or [`EXECUTE_TOOL`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// A model works until it waits for the user.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// One request to a model.
pub const CHAT: &str = "chat";
/// A tool call.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The agent: the name of the skill in a sub-run, otherwise [`AGENT`].
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The name of the main agent.
pub const AGENT: &str = "prowess";
/// The session id.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The provider, as named by OpenTelemetry.
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// The requested model.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that replied.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// The stop reason, as a list with one element.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Input tokens, including cached ones.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Tokens read from the provider's cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Tokens written to the provider's cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// The tool; [`OTHER`] if the model named an unknown one.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The id of the call.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// The kind of tool: [`FUNCTION`].
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// A tool that runs on the client.
pub const FUNCTION: &str = "function";
/// The kind of error.
pub const ERROR_TYPE: &str = "error.type";
/// The fallback for unlisted values.
pub const OTHER: &str = "_OTHER";

/// The skill that is loaded or run.
pub const SKILL_NAME: &str = "prowess.skill.name";
/// The digest of the skill's files.
pub const SKILL_DIGEST: &str = "prowess.skill.digest";
/// The parent session of a sub-run.
pub const PARENT_SESSION: &str = "prowess.parent.session";

/// The name of a span, if it differs from the static name in the code.
pub const SPAN_NAME: &str = "otel.name";
/// The kind of a span: [`CLIENT`] or [`INTERNAL`].
pub const SPAN_KIND: &str = "otel.kind";
/// The span waits for a remote server.
pub const CLIENT: &str = "client";
/// The span is local work.
pub const INTERNAL: &str = "internal";
/// The status of a span: [`STATUS_ERROR`] or unset.
pub const SPAN_STATUS: &str = "otel.status_code";
/// The operation failed.
pub const STATUS_ERROR: &str = "ERROR";

/// Providers with a different name in OpenTelemetry.
const PROVIDERS: &[(&str, &str)] = &[
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("openai-chat", "openai"),
    ("openai-responses", "openai"),
    ("xai", "x_ai"),
];

/// Splits `provider/name` into the provider, as named by OpenTelemetry, and the name of the model.
pub fn model(name: &str) -> (&str, &str) {
    let (provider, model) = name.split_once('/').unwrap_or((OTHER, name));
    let known = PROVIDERS.iter().find(|(ours, _)| *ours == provider);
    (known.map_or(provider, |(_, theirs)| theirs), model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_follow_opentelemetry() {
        assert_eq!(model("anthropic/claude-x"), ("anthropic", "claude-x"));
        assert_eq!(model("gemini/gemini-x"), ("gcp.gemini", "gemini-x"));
        assert_eq!(model("openai-chat/gpt-x"), ("openai", "gpt-x"));
        assert_eq!(model("openrouter/meta/llama"), ("openrouter", "meta/llama"));
        assert_eq!(model("mine"), (OTHER, "mine"));
    }
}
