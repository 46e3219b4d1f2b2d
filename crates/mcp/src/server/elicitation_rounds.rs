//! Prompts in rounds, for protocol 2026-07-28 and later, in which a server sends no requests: a
//! call that needs an answer returns the question, and the client repeats the call with the answer.
//!
//! The state that the client sends back is not signed: a client that could forge an answer could
//! also give it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_policy::ApprovalAnswer;
use prowess_tools::ToolContext;
use prowess_traits::{ApprovalRequest, Approver};
use rmcp::model::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::elicitation::{MCP_CLIENT, form, keep_grants, offers_forms, question_text, read_answer};

/// Name of the question in a round.
const QUESTION: &str = "approval";
/// Maximum size of the state that a client sends back, in bytes.
const MAX_STATE: usize = 64 * 1024;

/// Returns `true` if the client can answer in rounds.
pub(crate) fn can_answer(context: &RequestContext<RoleServer>) -> bool {
    super::handler::is_modern(context) && offers_forms(context)
}

/// Answers of earlier rounds, and the open question.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    state: Mutex<State>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    answered: Vec<(String, Word)>,
    open: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    No,
    Once,
    Session,
}

impl Rounds {
    /// Restores the state that a client sent back.
    pub(crate) fn new(state: Option<&str>, responses: Option<&InputResponses>) -> Self {
        let state = state.filter(|state| state.len() <= MAX_STATE);
        let mut state: State = state
            .and_then(|state| serde_json::from_str(state).ok())
            .unwrap_or_default();
        if let Some(open) = state.open.take()
            && let Some(response) = responses.and_then(|responses| responses.get(QUESTION))
        {
            let is_accepted = response.get("action").and_then(Value::as_str) == Some("accept");
            let answer = response
                .get("content")
                .filter(|_| is_accepted)
                .and_then(read_answer);
            let word = match answer {
                Some(ApprovalAnswer::Session) => Word::Session,
                Some(ApprovalAnswer::Once) => Word::Once,
                _ => Word::No,
            };
            state.answered.push((open, word));
        }
        Self {
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open question, and the state that the client sends back with its answer.
    fn required(&self) -> Option<InputRequiredResult> {
        let state = self.state();
        let request = form(state.open.clone()?)?;
        let requests =
            InputRequests::from([(QUESTION.to_owned(), InputRequest::Elicitation(request))]);
        Some(InputRequiredResult::new(
            Some(requests),
            serde_json::to_string(&*state).ok(),
        ))
    }
}

impl Approver for Rounds {
    fn name(&self) -> &'static str {
        MCP_CLIENT
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        // The user must see everything that is approved.
        if question.is_too_long() {
            return ApprovalAnswer::Unavailable;
        }
        let text = question_text(question);
        let mut state = self.state();
        let known = state
            .answered
            .iter()
            .find(|(asked, _)| *asked == text)
            .map(|(_, word)| *word);
        match known {
            Some(Word::Once) => ApprovalAnswer::Once,
            Some(Word::Session) => ApprovalAnswer::Session,
            Some(Word::No) => ApprovalAnswer::No,
            None => {
                state.open.get_or_insert(text);
                ApprovalAnswer::Unavailable
            }
        }
    }
}

/// Runs work that may prompt; returns the question if one is open.
pub(crate) async fn working<T: Send + 'static>(
    tool_context: &Arc<ToolContext>,
    rounds: Rounds,
    work: impl FnOnce(&ToolContext) -> T + Send + 'static,
) -> Result<Result<T, InputRequiredResult>, ErrorData> {
    let rounds = Arc::new(rounds);
    let mut own = tool_context.derive();
    own.services.approver = Arc::clone(&rounds) as Arc<dyn Approver>;
    let job = tokio::task::spawn_blocking(move || {
        let done = work(&own);
        let grants = own.gate().grants.clone();
        (done, grants)
    });
    let broken = |_| ErrorData::internal_error("the request failed without a result", None);
    let (done, grants) = job.await.map_err(broken)?;
    keep_grants(tool_context, grants);
    Ok(rounds.required().map_or(Ok(done), Err))
}
