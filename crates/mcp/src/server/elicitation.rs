//! Prompts the user through the client, if the client supports elicitation.
//!
//! Work that may prompt runs on its own thread. The question is sent to the task of the request,
//! because only there does the protocol know which request it belongs to.

use std::sync::Arc;
use std::time::Duration;

use prowess_agent::TextQuestion;
use prowess_diag::review;
use prowess_policy::{ApprovalAnswer, PermissionGrant};
use prowess_tools::ToolContext;
use prowess_traits::{ApprovalRequest, Approver, TextReply, TextRequest};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// The source of answers that come through a client. They may be those of a person or of the client.
pub(crate) const MCP_CLIENT: &str = "MCP client";

/// Timeout of a prompt.
const PATIENCE: Duration = Duration::from_mins(5);

/// A pending question.
#[derive(Debug)]
pub(crate) enum Asked {
    /// An action needs approval.
    Approval {
        text: String,
        answer: oneshot::Sender<ApprovalAnswer>,
    },
    /// A text or a choice is needed.
    Text {
        text: String,
        details: Box<TextQuestion>,
        /// The time that is left for an answer.
        remaining: Option<Duration>,
        answer: oneshot::Sender<TextReply>,
    },
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
    fn name(&self) -> &'static str {
        MCP_CLIENT
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        // The user must see everything that is approved.
        if question.is_too_long() {
            return ApprovalAnswer::Unavailable;
        }
        let text = question_text(question);
        let (answer, wait) = oneshot::channel();
        let asked = Asked::Approval { text, answer };
        if self.sender.blocking_send(asked).is_err() {
            return ApprovalAnswer::Unavailable;
        }
        wait.blocking_recv().unwrap_or(ApprovalAnswer::Unavailable)
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        let (answer, wait) = oneshot::channel();
        let asked = Asked::Text {
            text: text_of(question),
            details: Box::new(question.details.clone()),
            remaining: question.remaining,
            answer,
        };
        if self.sender.blocking_send(asked).is_err() {
            return TextReply::Unavailable;
        }
        wait.blocking_recv().unwrap_or(TextReply::Unavailable)
    }
}

/// Formats a question that needs a text. The question is last, so that no line of it can pass for
/// another part.
fn text_of(question: &TextRequest<'_>) -> String {
    let mut text = match (question.agent, question.skill) {
        (Some(agent), _) => format!("Agent {} asks.\n", review::line(agent)),
        (None, Some(skill)) => format!("Skill {} asks.\n", review::line(skill)),
        (None, None) => "The model asks.\n".to_owned(),
    };
    if let Some(context) = &question.details.context {
        text.push_str(&format!("{}\n", review::text(context)));
    }
    text.push_str(&review::text(question.what));
    text
}

/// Formats a question for the user. The action is last: it may have several lines, and none of them
/// can pass for the reason.
pub(crate) fn question_text(question: &ApprovalRequest<'_>) -> String {
    let mut text = format!(
        "Approval is needed: {}.\n",
        review::line(&question.decision.reason)
    );
    if let Some(skill) = question.skill {
        text.push_str(&format!("Requested by skill {}.\n", review::line(skill)));
    }
    text.push_str(&format!("Allow this?\n{}", review::text(question.what)));
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
    // Ignore send errors: the asking thread may have ended.
    match asked {
        Asked::Approval { text, answer } => {
            let content = elicit(context, form(text), PATIENCE).await;
            let content = content.and_then(|(_, content)| read_answer(&content?));
            let _ = answer.send(content.unwrap_or(ApprovalAnswer::Unavailable));
        }
        Asked::Text {
            text,
            details,
            remaining,
            answer,
        } => {
            let patience = remaining.map_or(PATIENCE, |remaining| remaining.min(PATIENCE));
            let content = elicit(context, text_form(text, &details), patience).await;
            let is_late = remaining.is_some_and(|remaining| remaining <= PATIENCE);
            let _ = answer.send(match content {
                Some((ElicitationAction::Accept, content)) => read_texts(&details, content),
                Some((ElicitationAction::Decline, _)) => TextReply::Refused { because: None },
                // Without a reply until the deadline.
                None if is_late && !context.ct.is_cancelled() => TextReply::Expired,
                Some(_) | None => TextReply::Unavailable,
            });
        }
    }
}

/// Sends a form. Returns what the user did, and the content; `None` without a reply.
async fn elicit(
    context: &RequestContext<RoleServer>,
    form: Option<ElicitRequest>,
    patience: Duration,
) -> Option<(ElicitationAction, Option<Value>)> {
    let request = ServerRequest::ElicitRequest(form?);
    let options = PeerRequestOptions::with_timeout(patience);
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
    let is_accepted = result.action == ElicitationAction::Accept;
    let content = result.content.filter(|_| is_accepted);
    Some((result.action, content))
}

/// Returns the form for a text or a choice. Several choices are typed, because not all clients
/// support lists.
fn text_form(mut message: String, details: &TextQuestion) -> Option<ElicitRequest> {
    let mut answer = json!({ "type": "string", "title": "Answer" });
    if details.choices.is_empty() {
        answer["minLength"] = json!(1);
        answer["maxLength"] = json!(TextQuestion::MAX_ANSWER);
    } else if details.several {
        for (at, choice) in details.choices.iter().enumerate() {
            message.push_str(&format!("\n{}  {}", at + 1, review::line(choice)));
        }
        answer["description"] = json!("Numbers or texts of choices, with commas between them");
    } else {
        answer["enum"] = json!(details.choices);
    }
    request(message, &answer)
}

/// Reads the answer of a form for a text or a choice. An answer that does not fit counts as none.
fn read_texts(details: &TextQuestion, content: Option<Value>) -> TextReply {
    let content = content.unwrap_or_default();
    let given = content.get("answer").and_then(Value::as_str);
    let texts = given.and_then(|given| details.read(&[given]).ok());
    texts.map_or(TextReply::Unavailable, TextReply::Given)
}

/// Returns the form shown to the user.
pub(crate) fn form(message: String) -> Option<ElicitRequest> {
    let answer = json!({
        "type": "string",
        "title": "Answer",
        "enum": ["no", "once", "session"],
        "enumNames": ["No", "Yes, once", "Yes, for this session"],
    });
    request(message, &answer)
}

/// Returns a form with one field.
fn request(message: String, answer: &Value) -> Option<ElicitRequest> {
    let schema = json!({
        "type": "object",
        "properties": { "answer": answer },
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
