//! Tracing spans for agents, model requests and tool calls. Spans never contain message text.

use prowess_agent::{Ending, Reply, StopReason, ToolCall};
use prowess_traits::telemetry as names;
use tracing::Span;
use tracing::field::Empty;

use crate::error::RuntimeError;
use crate::outcome::Pause;
use crate::session::Session;

/// Error type of a call that was refused.
pub(crate) const REFUSED: &str = "refused";
/// Error type of a tool that failed.
pub(crate) const TOOL_ERROR: &str = "tool-error";
/// Error type of an operation that was cancelled.
pub(crate) const CANCELLED: &str = "cancelled";

/// Opens the span of a session that proceeds.
pub(crate) fn agent(session: &Session) -> Span {
    let (provider, model) = names::model(&session.model.about().name);
    let started = session.journal.run.started();
    let skill = started.and_then(|started| started.skill.as_deref());
    let parent = started.and_then(|started| started.parent.as_ref());
    let agent = skill.unwrap_or(names::AGENT);
    let span = tracing::info_span!(
        "invoke_agent",
        { names::SPAN_NAME } = %format_args!("{} {agent}", names::INVOKE_AGENT),
        { names::SPAN_KIND } = names::INTERNAL,
        { names::SPAN_STATUS } = Empty,
        { names::OPERATION } = names::INVOKE_AGENT,
        { names::AGENT_NAME } = agent,
        { names::CONVERSATION_ID } = &*session.journal.id,
        { names::PROVIDER_NAME } = provider,
        { names::REQUEST_MODEL } = model,
        { names::SKILL_NAME } = Empty,
        { names::SKILL_DIGEST } = Empty,
        { names::PARENT_SESSION } = parent.map(|parent| &*parent.session),
        { names::ERROR_TYPE } = Empty,
    );
    if let Some(name) = skill {
        let loaded = session.loaded.get(name).map(|loaded| &*loaded.digest);
        let acting = session.context.acting.as_ref().map(|skill| skill.digest());
        self::skill(&span, name, loaded.or(acting));
    }
    span
}

/// Records the outcome of [`agent`].
pub(crate) fn paused(span: &Span, pause: &Result<Pause, RuntimeError>) {
    match pause {
        Ok(Pause::Answered(_)) => {}
        Ok(Pause::Ended(ending)) => match ending {
            // Waiting for a person is not a failure.
            Ending::Answered | Ending::Submitted { .. } | Ending::Waiting { .. } => {}
            Ending::Declined { .. } => failed(span, "declined"),
            Ending::Exhausted { .. } => failed(span, "exhausted"),
            Ending::Cancelled => failed(span, CANCELLED),
            Ending::Failed { kind, .. } => failed(span, kind.as_str()),
        },
        Err(_) => failed(span, names::OTHER),
    }
}

/// Opens the span of a model request.
pub(crate) fn chat(session: &Session) -> Span {
    let (provider, model) = names::model(&session.model.about().name);
    tracing::info_span!(
        "chat",
        { names::SPAN_NAME } = %format_args!("{} {model}", names::CHAT),
        { names::SPAN_KIND } = names::CLIENT,
        { names::SPAN_STATUS } = Empty,
        { names::OPERATION } = names::CHAT,
        { names::CONVERSATION_ID } = &*session.journal.id,
        { names::PROVIDER_NAME } = provider,
        { names::REQUEST_MODEL } = model,
        { names::RESPONSE_MODEL } = Empty,
        { names::FINISH_REASONS } = Empty,
        { names::INPUT_TOKENS } = Empty,
        { names::OUTPUT_TOKENS } = Empty,
        { names::CACHE_READ_TOKENS } = Empty,
        { names::CACHE_WRITE_TOKENS } = Empty,
        { names::ERROR_TYPE } = Empty,
    )
}

/// Records the reply to a model request.
pub(crate) fn replied(span: &Span, reply: &Reply) {
    if !reply.model.is_empty() {
        span.record(names::RESPONSE_MODEL, &*reply.model);
    }
    let reason = match &reply.stop {
        StopReason::End => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refused => "content_filter",
        StopReason::Other(word) => word,
    };
    span.record(names::FINISH_REASONS, reason);
    // OTLP has no unsigned integers.
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    span.record(names::INPUT_TOKENS, count(reply.usage.prompt()));
    span.record(names::OUTPUT_TOKENS, count(reply.usage.output));
    if reply.usage.cache_read > 0 {
        span.record(names::CACHE_READ_TOKENS, count(reply.usage.cache_read));
    }
    if reply.usage.cache_write > 0 {
        span.record(names::CACHE_WRITE_TOKENS, count(reply.usage.cache_write));
    }
}

/// Opens the span of a tool call. An unknown tool name is text of the model, so it is not recorded.
pub(crate) fn tool(session: &Session, call: &ToolCall) -> Span {
    let known = session
        .tools
        .tools(&session.context)
        .any(|tool| *tool.name() == *call.name);
    let tool = if known { &*call.name } else { names::OTHER };
    let span = tracing::info_span!(
        "execute_tool",
        { names::SPAN_NAME } = %format_args!("{} {tool}", names::EXECUTE_TOOL),
        { names::SPAN_KIND } = names::INTERNAL,
        { names::SPAN_STATUS } = Empty,
        { names::OPERATION } = names::EXECUTE_TOOL,
        { names::CONVERSATION_ID } = &*session.journal.id,
        { names::TOOL_NAME } = tool,
        { names::TOOL_CALL_ID } = &*call.id,
        { names::TOOL_TYPE } = names::FUNCTION,
        { names::SKILL_NAME } = Empty,
        { names::SKILL_DIGEST } = Empty,
        { names::ERROR_TYPE } = Empty,
    );
    // The input of a skill tool names a skill. Record the name only if that skill is loaded:
    // otherwise it may be arbitrary text.
    let named = ["skill_name", "name"]
        .iter()
        .find_map(|key| call.input.get(*key)?.as_str());
    if let Some((name, loaded)) = named.and_then(|name| Some((name, session.loaded.get(name)?))) {
        skill(&span, name, Some(&loaded.digest));
    }
    span
}

/// Records the skill that a span is about.
pub(crate) fn skill(span: &Span, name: &str, digest: Option<&str>) {
    span.record(names::SKILL_NAME, name);
    if let Some(digest) = digest {
        span.record(names::SKILL_DIGEST, digest);
    }
}

/// Marks a span as failed.
pub(crate) fn failed(span: &Span, kind: &str) {
    span.record(names::ERROR_TYPE, kind);
    span.record(names::SPAN_STATUS, names::STATUS_ERROR);
}
