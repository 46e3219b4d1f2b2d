//! `run_skill`: runs a skill in its own session and returns a value.

use std::sync::Arc;

use prowess_agent::Event;
use prowess_catalog::Audience;
use prowess_render::Arguments;
use prowess_runtime::{
    Ending, Engine, FinishedRun, RuntimeError, SkillRef, SubRun, Update, Watcher,
};
use prowess_tools::input::object;
use prowess_tools::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::elicitation::{self, Asker};

/// Name of the tool.
pub(crate) const RUN_SKILL: &str = "run_skill";
/// Maximum number of queued progress reports; more are dropped.
const MOST_REPORTS: usize = 64;

/// Specification of `run_skill`. The server runs it asynchronously, because it takes long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunSkill;

impl Tool for RunSkill {
    fn name(&self) -> &'static str {
        RUN_SKILL
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Runs a skill in a separate session, with its own model and tools, and returns the result. \
         Set `result_schema` to get a value that matches a JSON Schema."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "name",
                    json!({ "type": "string", "description": "The name of the skill." }),
                ),
                (
                    "arguments",
                    json!({ "type": ["string", "object"], "description": "Arguments of the skill: one string, or values by name." }),
                ),
                (
                    "result_schema",
                    json!({ "type": "object", "description": "JSON Schema of the result (default: a string)." }),
                ),
            ],
            &["name"],
        )
    }

    fn output_schema(&self) -> Value {
        let outcomes = ["submitted", "declined", "exhausted", "cancelled", "failed"];
        object(
            &[
                ("outcome", json!({ "type": "string", "enum": outcomes })),
                (
                    "value",
                    json!({ "description": "The result, or null if there is none." }),
                ),
                ("text", json!({ "type": "string" })),
                ("session", json!({ "type": "string" })),
                ("turns", json!({ "type": "integer", "minimum": 0 })),
                ("tokens", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["outcome", "value", "text", "session", "turns", "tokens"],
        )
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        _input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        Err(ToolError::new(
            ToolErrorKind::Failed,
            "This server does not support `run_skill`.",
        ))
    }
}

/// Runs a skill, sending progress reports and questions to the client.
pub(crate) async fn run(
    engine: &Engine,
    context: &RequestContext<RoleServer>,
    input: &Value,
) -> Result<CallToolResult, ErrorData> {
    let name = input
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let sub = SubRun {
        arguments: input
            .get("arguments")
            .cloned()
            .map_or_else(Arguments::none, Arguments::from_json),
        result: input.get("result_schema").cloned(),
        who: Audience::Model,
        ..SubRun::new(SkillRef::from(name))
    };
    let (asker, mut questions) = Asker::new();
    let (reports, mut waiting) = mpsc::channel(MOST_REPORTS);
    let engine = with(
        engine,
        elicitation::can_ask(context).then_some(asker),
        Reports { sender: reports },
    )
    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let cancel = context.ct.clone();
    let mut running = std::pin::pin!(engine.run_skill(sub, &cancel));
    let mut count = 0.0;
    let finished = loop {
        tokio::select! {
            finished = &mut running => break finished,
            Some(asked) = questions.recv() => elicitation::put(context, asked).await,
            Some(message) = waiting.recv() => {
                count += 1.0;
                report(context, count, message).await;
            }
        }
    };
    // Send the reports of the last step.
    while let Ok(message) = waiting.try_recv() {
        count += 1.0;
        report(context, count, message).await;
    }
    Ok(match finished {
        Ok(finished) => told(&finished),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    })
}

/// Returns a copy of the engine that prompts through `asker` and sends events to `reports`.
fn with(engine: &Engine, asker: Option<Asker>, reports: Reports) -> Result<Engine, RuntimeError> {
    let mut tool_context = engine.context().derive();
    if let Some(asker) = asker {
        tool_context.services.approver = Arc::new(asker);
    }
    tool_context.services.watchers.push(Arc::new(reports));
    Engine::new(tool_context)
}

/// Converts events to short progress reports.
#[derive(Debug)]
struct Reports {
    sender: mpsc::Sender<String>,
}

impl Watcher for Reports {
    fn update(&self, _session: &str, depth: u8, update: Update<'_>) {
        let Update::Event(stamped) = update else {
            return;
        };
        let inner = if depth > 1 { "inner skill: " } else { "" };
        let message = match &stamped.event {
            Event::Asked { turn, .. } => format!("{inner}turn {turn}"),
            Event::CallEnded { result, .. } => format!("{inner}called {}", result.name),
            _ => return,
        };
        // Never block on a slow client.
        let _ = self.sender.try_send(message);
    }
}

async fn report(context: &RequestContext<RoleServer>, count: f64, message: String) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let progress = ProgressNotificationParam::new(token, count).with_message(message);
    let _ = context.peer.notify_progress(progress).await;
}

fn told(finished: &FinishedRun) -> CallToolResult {
    let nothing = Value::Null;
    let (outcome, value, text, is_error) = match &finished.ending {
        Ending::Submitted {
            value: value @ Value::String(text),
        } => ("submitted", value, text.clone(), false),
        Ending::Submitted { value } => ("submitted", value, value.to_string(), false),
        Ending::Answered => ("submitted", &nothing, finished.text.clone(), false),
        Ending::Declined { why } => (
            "declined",
            &nothing,
            format!("The skill declined to give a result: {why}"),
            true,
        ),
        Ending::Exhausted { limit } => {
            let text = format!("The skill ended without a result: {limit} was reached.");
            ("exhausted", &nothing, text, true)
        }
        Ending::Cancelled => (
            "cancelled",
            &nothing,
            "The skill was cancelled.".to_owned(),
            true,
        ),
        // The engine of a server denies what it cannot ask about, so that no run waits.
        Ending::Waiting { .. } => (
            "waiting",
            &nothing,
            "The skill waits for a person.".to_owned(),
            true,
        ),
        Ending::Failed { message, .. } => (
            "failed",
            &nothing,
            format!("The skill failed: {message}"),
            true,
        ),
    };
    let structured = json!({
        "outcome": outcome,
        "value": value,
        "text": finished.text,
        "session": finished.session,
        "turns": finished.spent.turns,
        "tokens": finished.spent.usage.tokens(),
    });
    let content = vec![ContentBlock::text(text)];
    let mut result = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = Some(structured);
    result
}
