//! Spans: who worked, what was asked, which tool was called. Never what was said.

use prowess_agent::{Ending, Reply, Stop, ToolCall};
use prowess_traits::telemetry as names;
use tracing::Span;
use tracing::field::Empty;

use crate::error::RuntimeError;
use crate::outcome::Pause;
use crate::session::Session;

/// Why a call had no result, as the type of an error.
pub(crate) const REFUSED: &str = "refused";
/// What a tool that failed ended with.
pub(crate) const TOOL_ERROR: &str = "tool-error";
/// What ended because somebody stopped it.
pub(crate) const CANCELLED: &str = "cancelled";

/// A session goes on.
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

/// How it went.
pub(crate) fn paused(span: &Span, pause: &Result<Pause, RuntimeError>) {
    match pause {
        Ok(Pause::Answered(_)) => {}
        Ok(Pause::Ended(ending)) => match ending {
            Ending::Answered | Ending::Submitted { .. } => {}
            Ending::Declined { .. } => failed(span, "declined"),
            Ending::Exhausted { .. } => failed(span, "exhausted"),
            Ending::Cancelled => failed(span, CANCELLED),
            Ending::Failed { kind, .. } => failed(span, kind.as_str()),
        },
        Err(_) => failed(span, names::OTHER),
    }
}

/// A model is asked.
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

/// It answered.
pub(crate) fn replied(span: &Span, reply: &Reply) {
    if !reply.model.is_empty() {
        span.record(names::RESPONSE_MODEL, &*reply.model);
    }
    let reason = match &reply.stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refused => "content_filter",
        Stop::Other(word) => word,
    };
    span.record(names::FINISH_REASONS, reason);
    // Collectors know no unsigned numbers.
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

/// A tool is called. A name that no tool has is the model's own words, and not told.
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
    // A tool for skills says which one it means; only one that is loaded is certainly one.
    let meant = ["skill_name", "name"]
        .iter()
        .find_map(|key| call.input.get(*key)?.as_str());
    if let Some((name, loaded)) = meant.and_then(|name| Some((name, session.loaded.get(name)?))) {
        skill(&span, name, Some(&loaded.digest));
    }
    span
}

/// A skill is loaded, used or run.
pub(crate) fn skill(span: &Span, name: &str, digest: Option<&str>) {
    span.record(names::SKILL_NAME, name);
    if let Some(digest) = digest {
        span.record(names::SKILL_DIGEST, digest);
    }
}

/// It went wrong.
pub(crate) fn failed(span: &Span, kind: &str) {
    span.record(names::ERROR_TYPE, kind);
    span.record(names::SPAN_STATUS, names::STATUS_ERROR);
}
