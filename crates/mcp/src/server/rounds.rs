//! Asking a person where a server may not ask: from protocol 2026-07-28 on, a call that needs an
//! answer ends with the question, and is made again with the answer.
//!
//! What the client sends back is not sealed: a client that makes up an answer could as well give it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_policy::Answer;
use prowess_tools::ToolContext;
use prowess_traits::{Approver, Question};
use rmcp::model::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{form, keep_grants, offers_forms, question_text, read_answer};

/// The name of the one question of a round.
const QUESTION: &str = "approval";
/// Most bytes of what a client sends back.
const MAX_STATE: usize = 64 * 1024;

/// Whether the client can answer in rounds.
pub(crate) fn can_answer(context: &RequestContext<RoleServer>) -> bool {
    super::handler::is_modern(context) && offers_forms(context)
}

/// Questions that were answered in earlier rounds, and the one that is open.
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
    /// Takes up what a client sends back.
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
                Some(Answer::Session) => Word::Session,
                Some(Answer::Once) => Word::Once,
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

    /// The question that is open, and what the client sends back with its answer.
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
    fn ask(&self, question: &Question<'_>) -> Answer {
        let text = question_text(question);
        let mut state = self.state();
        let known = state
            .answered
            .iter()
            .find(|(asked, _)| *asked == text)
            .map(|(_, word)| *word);
        match known {
            Some(Word::Once) => Answer::Once,
            Some(Word::Session) => Answer::Session,
            Some(Word::No) => Answer::No,
            None => {
                state.open.get_or_insert(text);
                Answer::No
            }
        }
    }
}

/// Does work that asks before it acts; ends with the question where one is open.
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
    let broken = |_| ErrorData::internal_error("the work ended without an answer", None);
    let (done, grants) = job.await.map_err(broken)?;
    keep_grants(tool_context, grants);
    Ok(rounds.required().map_or(Ok(done), Err))
}
