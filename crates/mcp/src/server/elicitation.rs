//! Prompts the user through the client, if the client supports elicitation.
//!
//! Work that may prompt runs on its own thread. The question is sent to the task of the request,
//! because only there does the protocol know which request it belongs to.

use std::sync::Arc;
use std::time::Duration;

use prowess_diag::sanitize;
use prowess_policy::{ApprovalAnswer, PermissionGrant};
use prowess_tools::ToolContext;
use prowess_traits::{ApprovalRequest, Approver};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Timeout of a prompt.
const PATIENCE: Duration = Duration::from_mins(5);

/// A pending question.
#[derive(Debug)]
pub(crate) struct Asked {
    text: String,
    answer: oneshot::Sender<ApprovalAnswer>,
}

/// Sends questions to the task that can ask them.
#[derive(Debug)]
pub(crate) struct Asker {
    sender: mpsc::Sender<Asked>,
}

impl Asker {
    /// Returns the sender of questions and the receiver for the task of the request.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { sender }, receiver)
    }
}

impl Approver for Asker {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        // The user must see everything that is approved.
        if question.is_too_long() {
            return ApprovalAnswer::Unavailable;
        }
        let text = question_text(question);
        let (answer, wait) = oneshot::channel();
        if self.sender.blocking_send(Asked { text, answer }).is_err() {
            return ApprovalAnswer::Unavailable;
        }
        wait.blocking_recv().unwrap_or(ApprovalAnswer::Unavailable)
    }
}

/// Formats a question for the user. The action is last: it may have several lines, and none of them
/// can pass for the reason.
pub(crate) fn question_text(question: &ApprovalRequest<'_>) -> String {
    let mut text = format!(
        "Approval is needed: {}.\n",
        sanitize::line(&question.decision.reason)
    );
    if let Some(skill) = question.skill {
        text.push_str(&format!("Requested by skill {}.\n", sanitize::line(skill)));
    }
    text.push_str(&format!("Allow this?\n{}", sanitize::block(question.what)));
    text
}

/// Returns `true` if the server can send a prompt during a request. From protocol 2026-07-28 on, a
/// server sends no requests.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    !super::handler::is_modern(context) && offers_forms(context)
}

/// Returns `true` if the client supports forms.
pub(crate) fn offers_forms(context: &RequestContext<RoleServer>) -> bool {
    let offers = context
        .client_capabilities()
        .and_then(|known| known.elicitation);
    offers.is_some_and(|offers| offers.form.is_some() || offers.url.is_none())
}

/// Keeps grants for the session, so that they apply to the next call.
pub(crate) fn keep_grants(tool_context: &ToolContext, grants: Vec<PermissionGrant>) {
    let mut gate = tool_context.gate();
    let new: Vec<_> = grants
        .into_iter()
        .filter(|grant| !gate.grants.contains(grant))
        .collect();
    gate.grants.extend(new);
}

/// Runs work on its own thread and sends its questions to the user of the client.
pub(crate) async fn working<T: Send + 'static>(
    context: &RequestContext<RoleServer>,
    tool_context: &Arc<ToolContext>,
    work: impl FnOnce(&ToolContext) -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let broken = |_| ErrorData::internal_error("the request failed without a result", None);
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

/// Asks one question. Everything but an explicit approval counts as a denial.
pub(crate) async fn put(context: &RequestContext<RoleServer>, asked: Asked) {
    let answer = elicit(context, asked.text)
        .await
        .unwrap_or(ApprovalAnswer::Unavailable);
    // Ignore send errors: the asking thread may have ended.
    let _ = asked.answer.send(answer);
}

async fn elicit(context: &RequestContext<RoleServer>, message: String) -> Option<ApprovalAnswer> {
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

/// Returns the form shown to the user.
pub(crate) fn form(message: String) -> Option<ElicitRequest> {
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Answer",
                "enum": ["no", "once", "session"],
                "enumNames": ["No", "Yes, once", "Yes, for this session"],
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

/// Parses the answer of the form. Returns `None` unless it is an approval.
pub(crate) fn read_answer(content: &Value) -> Option<ApprovalAnswer> {
    match content.get("answer")?.as_str()? {
        "once" => Some(ApprovalAnswer::Once),
        "session" => Some(ApprovalAnswer::Session),
        _ => None,
    }
}
