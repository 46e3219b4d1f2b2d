//! The tool trait: a function that a model may call, with a name, a schema and a result.

use std::fmt::Debug;

use prowess_agent::Image;
use prowess_policy::Decision;
use serde_json::{Map, Value};

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names;
use crate::result_limit;
use crate::schema::{Schema, SchemaFault};
use crate::secrets::SecretValues;

/// A function that a model may call.
///
/// Callers use [`Tool::call`], which validates the input before anything else happens and limits
/// the size of the result.
pub trait Tool: Send + Sync + Debug {
    /// Returns the name.
    fn name(&self) -> &str;

    /// Returns the description that a model reads.
    fn description(&self, context: &ToolContext) -> String;

    /// Returns the JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Returns the JSON Schema of [`ToolAnswer::value`].
    fn output_schema(&self) -> Value;

    /// Returns `true` if the tool changes nothing outside the conversation. Such tools are offered
    /// to agents that only read, and are repeated after a crash.
    fn is_read_only(&self, context: &ToolContext) -> bool;

    /// Returns `true` if the tool may make changes that cannot be undone.
    fn is_destructive(&self, context: &ToolContext) -> bool {
        !self.is_read_only(context)
    }

    /// Returns `true` if the tool asks the context about everything that it does, before its first
    /// effect. Otherwise a call counts as started before [`Self::answer`], and a prompt in it cannot
    /// wait for a user.
    fn asks_first(&self) -> bool {
        false
    }

    /// Runs the tool. The input is valid against the schema.
    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError>;

    /// Runs the tool with an input that has markers for secrets. Rules, prompts and records see the
    /// markers, and only the effect uses the values. Fails if the tool does not support it.
    fn answer_with(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
        _secrets: &SecretValues,
    ) -> Result<ToolAnswer, ToolError> {
        if SecretValues::is_marked(input) {
            let text = format!("The tool {} cannot use secrets.", self.name());
            return Err(ToolError::new(ToolErrorKind::Input, text));
        }
        self.answer(context, loaded, input)
    }

    /// Returns `true` if a call needs no prompt, no command and no large read, so that it can run
    /// on a thread that must not block. Data that was read to decide this is kept in `loaded`.
    fn is_quick(&self, _context: &ToolContext, _loaded: &mut Loaded, _input: &Value) -> bool {
        false
    }

    /// Compiles the input schema. Callers should keep it: compiling takes longer than a short call.
    fn schema(&self) -> Result<Schema, SchemaFault> {
        Schema::new(&self.input_schema())
    }

    /// Returns the specification for providers.
    fn spec(&self, context: &ToolContext) -> ToolSpec {
        ToolSpec {
            name: self.name().into(),
            description: self.description(context),
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
            read_only: self.is_read_only(context),
            destructive: self.is_destructive(context),
        }
    }

    /// Calls the tool.
    fn call(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        check(self, &self.schema(), input)?;
        answer(self, context, loaded, input)
    }
}

/// Validates an input against a tool's schema.
pub(crate) fn check(
    tool: &(impl Tool + ?Sized),
    schema: &Result<Schema, SchemaFault>,
    input: &Value,
) -> Result<(), ToolError> {
    let name = tool.name();
    let fault = |fault: &SchemaFault| ToolError::Fatal {
        tool: name.into(),
        fault: fault.clone(),
    };
    let schema = schema.as_ref().map_err(fault)?;
    schema
        .check(input)
        .map_err(|errors| invalid_input(name, &errors))
}

/// Calls a tool with an input that is already validated.
pub(crate) fn answer(
    tool: &(impl Tool + ?Sized),
    context: &ToolContext,
    loaded: &mut Loaded,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    let answer = tool.answer(context, loaded, input)?;
    Ok(ToolAnswer {
        text: match context.settings.result_bytes {
            // Half a skill is none.
            Some(bytes) if names::arguments_field(tool.name()).is_none() => {
                result_limit::ends(&answer.text, bytes, result_limit::MAX_LINES)
            }
            _ => result_limit::capped(answer.text, ""),
        },
        ..answer
    })
}

/// The specification of a tool, as providers receive it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name.
    pub name: Box<str>,
    /// The description that a model reads.
    pub description: String,
    /// JSON Schema of the input (draft 2020-12).
    pub input_schema: Value,
    /// JSON Schema of the value (draft 2020-12).
    pub output_schema: Value,
    /// `true` if the tool changes nothing outside the conversation.
    pub read_only: bool,
    /// `true` if the tool may make changes that cannot be undone.
    pub destructive: bool,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The text that a model reads.
    pub text: String,
    /// The result as JSON, valid against the output schema.
    pub value: Value,
    /// Images for the model.
    pub images: Vec<Image>,
}

impl ToolAnswer {
    /// Creates a result without images.
    pub fn new(text: impl Into<String>, value: Value) -> Self {
        Self {
            text: text.into(),
            value,
            images: Vec::new(),
        }
    }
}

/// Error from a tool call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The model reads the text and may try something else.
    #[error("{text}")]
    ForModel {
        /// The kind of error.
        why: ToolErrorKind,
        /// The text that the model reads.
        text: String,
    },
    /// The tool itself is faulty; no other input would help.
    #[error("the tool {tool} cannot be used: {fault}")]
    Fatal {
        /// The tool.
        tool: Box<str>,
        /// The error in its schema.
        fault: SchemaFault,
    },
}

/// The kind of an error that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The input is invalid.
    Input,
    /// The tool was not found.
    NoTool,
    /// The skill was not found, or models may not use it.
    NoSkill,
    /// The file of the skill was not found or cannot be read.
    NoFile,
    /// A rule or the user denied the call.
    Denied,
    /// The call failed.
    Failed,
}

impl ToolErrorKind {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::NoTool => "no-tool",
            Self::NoSkill => "no-skill",
            Self::NoFile => "no-file",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

impl ToolError {
    /// Creates an error that a model reads. Long text is truncated.
    pub fn new(why: ToolErrorKind, text: impl Into<String>) -> Self {
        Self::ForModel {
            why,
            text: result_limit::within(text.into(), 10_000, 200, ""),
        }
    }

    /// Creates an error for a refusal, with the reason, the rule and what would allow the action.
    pub fn denied(what: &str, decision: &Decision) -> Self {
        let mut text = format!("{what} was refused: {}.", decision.reason);
        if let Some(rule) = &decision.rule {
            text.push_str(&format!(
                " It matched the {} rule `{}` ({}).",
                rule.effect.as_str(),
                rule.text,
                rule.source
            ));
        }
        if let Some(remedy) = &decision.remedy {
            text.push_str(&format!(" The user can change this: {remedy}."));
        }
        Self::new(ToolErrorKind::Denied, text)
    }

    /// Returns the kind of error, or `None` if the model cannot correct it.
    pub fn why(&self) -> Option<ToolErrorKind> {
        match self {
            Self::ForModel { why, .. } => Some(*why),
            Self::Fatal { .. } => None,
        }
    }
}

/// Returns the error for an invalid input.
fn invalid_input(tool: &str, errors: &[String]) -> ToolError {
    let text = match errors {
        [only] => format!("Invalid input for {tool}: {only}."),
        several => format!("Invalid input for {tool}:\n- {}", several.join("\n- ")),
    };
    ToolError::new(ToolErrorKind::Input, text)
}

/// Creates the schema of an object with exactly these fields.
pub fn object(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, field)| ((*name).to_owned(), field.clone()))
        .collect();
    serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns a string field of an input, or the empty string if it is missing.
pub fn text<'v>(input: &'v Value, field: &str) -> &'v str {
    input.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a number field of an input.
pub fn number(input: &Value, field: &str) -> Option<u64> {
    // In JSON Schema, `2.0` is an integer too.
    let value = input.get(field)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "numbers out of range saturate"
    )]
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number as u64))
}
