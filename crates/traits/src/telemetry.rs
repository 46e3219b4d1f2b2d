//! The names of spans and of what they carry: OpenTelemetry's for generative AI, and a few of ours.
//!
//! What is said, given to tools or answered by them has no name here: it is in the session, and
//! nowhere else.

/// What is done: [`INVOKE_AGENT`], [`CHAT`] or [`EXECUTE_TOOL`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// A model works until it is somebody else's turn.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// A model is asked once.
pub const CHAT: &str = "chat";
/// A tool is called.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// Who works: the name of the skill in a sub-run, else [`AGENT`].
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The agent that is no skill.
pub const AGENT: &str = "prowess";
/// The session.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// Who runs the model, in OpenTelemetry's words.
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// The model that is asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why it stopped: a list with one word.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens that were read, those from the cache included.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens that were written.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Tokens that came from the provider's cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Tokens that went into the provider's cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// The tool; [`OTHER`] where there is none of the name that the model wrote.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The call.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// What kind of tool it is: [`FUNCTION`].
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// A tool that we run.
pub const FUNCTION: &str = "function";
/// What kind of error it ended with.
pub const ERROR_TYPE: &str = "error.type";
/// What has no name of its own.
pub const OTHER: &str = "_OTHER";

/// The skill that is loaded, used or run.
pub const SKILL_NAME: &str = "prowess.skill.name";
/// The digest over its files.
pub const SKILL_DIGEST: &str = "prowess.skill.digest";
/// The session that a sub-run is a part of.
pub const PARENT_SESSION: &str = "prowess.parent.session";

/// The name of a span, where the one in the code cannot say it.
pub const SPAN_NAME: &str = "otel.name";
/// The kind of a span: [`CLIENT`] or [`INTERNAL`].
pub const SPAN_KIND: &str = "otel.kind";
/// It waits for somebody else's server.
pub const CLIENT: &str = "client";
/// It is done here.
pub const INTERNAL: &str = "internal";
/// How a span ended: [`STATUS_ERROR`], or nothing.
pub const SPAN_STATUS: &str = "otel.status_code";
/// It went wrong.
pub const STATUS_ERROR: &str = "ERROR";

/// Providers that OpenTelemetry calls otherwise than we do.
const PROVIDERS: &[(&str, &str)] = &[
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("openai-chat", "openai"),
    ("openai-responses", "openai"),
    ("xai", "x_ai"),
];

/// Takes the name of a model apart: the provider in OpenTelemetry's words, and the provider's own
/// name of the model.
pub fn model(name: &str) -> (&str, &str) {
    let (provider, model) = name.split_once('/').unwrap_or((OTHER, name));
    let known = PROVIDERS.iter().find(|(ours, _)| *ours == provider);
    (known.map_or(provider, |(_, theirs)| theirs), model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_as_opentelemetry_names_them() {
        assert_eq!(model("anthropic/claude-x"), ("anthropic", "claude-x"));
        assert_eq!(model("gemini/gemini-x"), ("gcp.gemini", "gemini-x"));
        assert_eq!(model("openai-chat/gpt-x"), ("openai", "gpt-x"));
        assert_eq!(model("openrouter/meta/llama"), ("openrouter", "meta/llama"));
        assert_eq!(model("mine"), (OTHER, "mine"));
    }
}
