//! `ask_human`: asks a person for a text or a choice.

use prowess_agent::TextQuestion;
use prowess_traits::{TextReply, TextRequest};
use serde_json::{Value, json};

use crate::context::{Settings, ToolContext};
use crate::loaded::Loaded;
use crate::names::ASK_HUMAN;
use crate::tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, number, object, text};

/// Maximum length of a question, in characters.
const MAX_QUESTION: usize = 4_000;
/// Maximum length of a summary, in characters.
const MAX_SUMMARY: usize = 200;
/// Maximum length of the context of a question, in characters.
const MAX_CONTEXT: usize = 8_000;
/// Maximum length of a choice, in characters.
const MAX_CHOICE: usize = 400;
/// Maximum deadline: a year.
const MAX_SECONDS: u64 = 365 * 24 * 60 * 60;

/// `ask_human`. It is in no toolset by itself: an agent that may ask people is given it. The approver
/// of the context asks; in a session the question can wait for its answer.
#[derive(Clone, Copy, Debug)]
pub struct AskHuman;

impl Tool for AskHuman {
    fn name(&self) -> &'static str {
        ASK_HUMAN
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Asks a person a question and returns the answer. The person sees only what you pass here, \
         and may answer much later. Use it for decisions and facts that you cannot find out with \
         your other tools. Pass `choices` if only certain answers are possible."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        let string = |most: usize, about: &str| json!({ "type": "string", "minLength": 1, "maxLength": most, "description": about });
        object(
            &[
                ("question", string(MAX_QUESTION, "The question.")),
                (
                    "summary",
                    string(MAX_SUMMARY, "The question in a few words, for a list."),
                ),
                (
                    "context",
                    string(
                        MAX_CONTEXT,
                        "What the person needs to know in order to answer.",
                    ),
                ),
                (
                    "choices",
                    json!({
                        "type": "array",
                        "items": string(MAX_CHOICE, "A possible answer."),
                        "maxItems": TextQuestion::MAX_CHOICES,
                        "uniqueItems": true,
                        "description": "The possible answers (default: any text).",
                    }),
                ),
                (
                    "several",
                    json!({ "type": "boolean", "description": "true if the person may give several of the choices." }),
                ),
                (
                    "deadline_seconds",
                    json!({
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_SECONDS,
                        "description": "How long to wait for an answer (default: without a limit).",
                    }),
                ),
            ],
            &["question"],
        )
    }

    fn output_schema(&self) -> Value {
        let outcomes = ["answered", "expired", "unavailable"];
        object(
            &[
                ("outcome", json!({ "type": "string", "enum": outcomes })),
                (
                    "answers",
                    json!({ "type": "array", "items": { "type": "string" } }),
                ),
            ],
            &["outcome", "answers"],
        )
    }

    /// A question reaches a person, so that it is not asked twice.
    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
    }

    fn is_destructive(&self, _context: &ToolContext) -> bool {
        false
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let what = text(input, "question").trim();
        let details = details(input);
        let is_blank = |choice: &String| choice.trim().is_empty();
        if what.is_empty() || details.choices.iter().any(is_blank) {
            return Err(ToolError::new(
                ToolErrorKind::Input,
                format!("Invalid input for {ASK_HUMAN}: the question and the choices need a text."),
            ));
        }
        let is_named = context.settings.agent != Settings::default().agent;
        let question = TextRequest {
            what,
            details: &details,
            agent: is_named.then_some(&*context.settings.agent),
            skill: context.acting.as_ref().map(|skill| &*skill.name),
            remaining: details.deadline_seconds.map(std::time::Duration::from_secs),
        };
        let (outcome, text, answers) = match context.services.approver.ask_text(&question) {
            TextReply::Given(answers) => ("answered", framed(&details, &answers), answers),
            TextReply::Expired => {
                let seconds = details.deadline_seconds.unwrap_or_default();
                let text = format!("[no answer within {seconds} s]");
                ("expired", text, Vec::new())
            }
            TextReply::Unavailable => {
                let text = "[no person is available to answer. Continue without the answer, or \
                            say what you need to know.]";
                ("unavailable", text.to_owned(), Vec::new())
            }
            TextReply::Refused { because } => {
                let because = because.map(|because| format!(": {because}"));
                let because = because.unwrap_or_default();
                return Err(ToolError::new(
                    ToolErrorKind::Denied,
                    format!("The user did not answer the question{because}"),
                ));
            }
        };
        let value = json!({ "outcome": outcome, "answers": answers });
        Ok(ToolAnswer::new(text, value))
    }
}

fn details(input: &Value) -> TextQuestion {
    let filled = |field: &str| {
        let text = text(input, field).trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let choices = input.get("choices").and_then(Value::as_array);
    let choices = choices.into_iter().flatten().filter_map(Value::as_str);
    TextQuestion {
        summary: filled("summary"),
        context: filled("context"),
        choices: choices.map(|choice| choice.trim().to_owned()).collect(),
        several: input.get("several").and_then(Value::as_bool) == Some(true),
        deadline_seconds: number(input, "deadline_seconds"),
    }
}

/// Returns the text for the model.
fn framed(details: &TextQuestion, answers: &[String]) -> String {
    match answers {
        [only] if details.choices.is_empty() => format!("The user answered:\n{only}"),
        [only] => format!("The user chose: {only}"),
        several => format!("The user chose:\n- {}", several.join("\n- ")),
    }
}
