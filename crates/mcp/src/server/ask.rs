//! Asking the person in front of the client, where the client offers that.
//!
//! Work that may need a question runs on a thread of its own; the question comes back to the task
//! of the request, because only there does the protocol know which request it belongs to.

use std::sync::Arc;
use std::time::Duration;

use prowess_diag::sanitize;
use prowess_diag::wording::shorten;
use prowess_policy::{Answer, Grant};
use prowess_tools::ToolContext;
use prowess_traits::{Approver, Question};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// How long a person may think.
const PATIENCE: Duration = Duration::from_mins(5);
/// Most characters of a question.
const MAX_QUESTION: usize = 2_000;

/// A question on its way.
#[derive(Debug)]
pub(crate) struct Asked {
    text: String,
    answer: oneshot::Sender<Answer>,
}

/// Hands questions to the task that can put them.
#[derive(Debug)]
pub(crate) struct Asker {
    sender: mpsc::Sender<Asked>,
}

impl Asker {
    /// One end for whoever asks, one for whoever puts the questions.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { sender }, receiver)
    }
}

impl Approver for Asker {
    fn ask(&self, question: &Question<'_>) -> Answer {
        let text = question_text(question);
        let (answer, wait) = oneshot::channel();
        if self.sender.blocking_send(Asked { text, answer }).is_err() {
            return Answer::No;
        }
        wait.blocking_recv().unwrap_or(Answer::No)
    }
}

/// A question as a person reads it.
pub(crate) fn question_text(question: &Question<'_>) -> String {
    let mut text = format!("Allow this? {}", sanitize::block(question.what));
    if let Some(skill) = question.skill {
        text.push_str(&format!("\nThe skill {} wants it.", sanitize::line(skill)));
    }
    text.push_str(&format!(
        "\nWhy you are asked: {}",
        question.decision.reason
    ));
    shorten(&text, MAX_QUESTION)
}

/// Whether the client can be asked while it waits. From 2026-07-28 on a server sends no requests.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    !super::handler::is_modern(context) && offers_forms(context)
}

/// Whether the client can show a person a form.
pub(crate) fn offers_forms(context: &RequestContext<RoleServer>) -> bool {
    let offers = context
        .client_capabilities()
        .and_then(|known| known.elicitation);
    offers.is_some_and(|offers| offers.form.is_some() || offers.url.is_none())
}

/// A yes for the session counts for the next call.
pub(crate) fn keep_grants(tool_context: &ToolContext, grants: Vec<Grant>) {
    let mut gate = tool_context.gate();
    let new: Vec<_> = grants
        .into_iter()
        .filter(|grant| !gate.grants.contains(grant))
        .collect();
    gate.grants.extend(new);
}

/// Does work on a thread of its own, and puts its questions to the person in front of the client.
pub(crate) async fn working<T: Send + 'static>(
    context: &RequestContext<RoleServer>,
    tool_context: &Arc<ToolContext>,
    work: impl FnOnce(&ToolContext) -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let broken = |_| ErrorData::internal_error("the work ended without an answer", None);
    if !can_ask(context) {
        let tool_context = Arc::clone(tool_context);
        return tokio::task::spawn_blocking(move || work(&tool_context))
            .await
            .map_err(broken);
    }
    let (asker, mut questions) = Asker::new();
    let mut own = tool_context.derive();
    own.services.approver = Arc::new(asker);
    let mut job = tokio::task::spawn_blocking(move || {
        let done = work(&own);
        let grants = own.gate().grants.clone();
        (done, grants)
    });
    let (done, grants) = loop {
        tokio::select! {
            ended = &mut job => break ended.map_err(broken)?,
            Some(asked) = questions.recv() => Box::pin(put(context, asked)).await,
        }
    };
    keep_grants(tool_context, grants);
    Ok(done)
}

/// Puts one question. Whatever is not a clear yes is a no.
pub(crate) async fn put(context: &RequestContext<RoleServer>, asked: Asked) {
    let answer = elicit(context, asked.text).await.unwrap_or(Answer::No);
    // Whoever asked may have gone away.
    let _ = asked.answer.send(answer);
}

async fn elicit(context: &RequestContext<RoleServer>, message: String) -> Option<Answer> {
    let request = ServerRequest::ElicitRequest(form(message)?);
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let sent = tokio::select! {
        sent = context.peer.send_request_with_option(request, options) => sent.ok()?,
        () = context.ct.cancelled() => return None,
    };
    let response = tokio::select! {
        response = sent.await_response() => response.ok()?,
        () = context.ct.cancelled() => return None,
    };
    let ClientResult::ElicitResult(result) = response else {
        return None;
    };
    if result.action != ElicitationAction::Accept {
        return None;
    }
    read_answer(&result.content?)
}

/// The form that a person fills in.
pub(crate) fn form(message: String) -> Option<ElicitRequest> {
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Answer",
                "enum": ["no", "once", "session"],
                "enumNames": ["No", "Yes, this once", "Yes, until the session ends"],
            },
        },
        "required": ["answer"],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    };
    Some(ElicitRequest::new(params))
}

/// What a person answered in the form; nothing where that is no yes.
pub(crate) fn read_answer(content: &Value) -> Option<Answer> {
    match content.get("answer")?.as_str()? {
        "once" => Some(Answer::Once),
        "session" => Some(Answer::Session),
        _ => None,
    }
}
