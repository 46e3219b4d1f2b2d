//! What a tool is: something that a model may call, with a name, a schema and one answer.

use std::fmt::Debug;

use prowess_agent::Image;
use prowess_policy::Decision;
use serde_json::{Map, Value};

use crate::cap;
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::schema::{Schema, SchemaFault};

/// Something that a model may call.
///
/// [`Tool::call`] is what callers use: it checks the input against the schema before anything else
/// happens, and bounds the answer.
pub trait Tool: Send + Sync + Debug {
    /// What it is called.
    fn name(&self) -> &str;

    /// What a model reads about it.
    fn description(&self, context: &ToolContext) -> String;

    /// What it takes, as JSON Schema.
    fn input_schema(&self) -> Value;

    /// What [`ToolAnswer::value`] looks like, as JSON Schema.
    fn output_schema(&self) -> Value;

    /// Whether it changes nothing outside of the conversation.
    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    /// Whether it may change something for good.
    fn is_destructive(&self, context: &ToolContext) -> bool {
        !self.is_read_only(context)
    }

    /// Does what it is for. The input fits the schema.
    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError>;

    /// Returns `true` if a call would need no prompt, no command and no large read, so that it may
    /// be made on a thread that must not block. What was read to decide that is kept in `loaded`.
    fn is_quick(&self, _context: &ToolContext, _loaded: &mut Loaded, _input: &Value) -> bool {
        false
    }

    /// What an input is checked against. Whoever calls a tool often keeps it: reading a schema takes
    /// longer than a short call.
    fn schema(&self) -> Result<Schema, SchemaFault> {
        Schema::new(&self.input_schema())
    }

    /// All that a provider is told about it.
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

/// Checks an input against a tool's schema.
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
        .map_err(|errors| wrong_input(name, &errors))
}

/// Calls a tool whose input was checked already.
pub(crate) fn answer(
    tool: &(impl Tool + ?Sized),
    context: &ToolContext,
    loaded: &mut Loaded,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    let answer = tool.answer(context, loaded, input)?;
    Ok(ToolAnswer {
        text: cap::capped(answer.text, ""),
        ..answer
    })
}

/// All that a provider is told about a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What it is called.
    pub name: Box<str>,
    /// What a model reads about it.
    pub description: String,
    /// What it takes, as JSON Schema (draft 2020-12).
    pub input_schema: Value,
    /// What its value looks like, as JSON Schema (draft 2020-12).
    pub output_schema: Value,
    /// Whether it changes nothing outside of the conversation.
    pub read_only: bool,
    /// Whether it may change something for good.
    pub destructive: bool,
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// What a model reads.
    pub text: String,
    /// The same for programs; it fits the output schema.
    pub value: Value,
    /// Pictures that a model sees beside it.
    pub images: Vec<Image>,
}

impl ToolAnswer {
    /// A text, and the same for programs.
    pub fn new(text: impl Into<String>, value: Value) -> Self {
        Self {
            text: text.into(),
            value,
            images: Vec::new(),
        }
    }
}

/// Why a tool did not do what it is for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The model reads the text and may try something else.
    #[error("{text}")]
    ForModel {
        /// What kind of error it is.
        why: Why,
        /// What the model reads.
        text: String,
    },
    /// The tool itself is wrong; no other input would help.
    #[error("the tool {tool} cannot be used: {fault}")]
    Fatal {
        /// The tool.
        tool: Box<str>,
        /// What is wrong.
        fault: SchemaFault,
    },
}

/// What kind of error a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The input does not fit the schema.
    Input,
    /// There is no such tool.
    NoTool,
    /// There is no such skill, or not for a model.
    NoSkill,
    /// The skill has no such file, or none that can be read.
    NoFile,
    /// A rule or a person said no.
    Denied,
    /// It was tried and did not work.
    Failed,
}

impl Why {
    /// The word used in output.
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
    /// An error that a model reads; a long text is cut.
    pub fn new(why: Why, text: impl Into<String>) -> Self {
        Self::ForModel {
            why,
            text: cap::within(text.into(), 10_000, 200, ""),
        }
    }

    /// A refusal: the reason, the rule behind it, and what would allow it.
    pub fn denied(what: &str, decision: &Decision) -> Self {
        let mut text = format!("{what} was refused: {}.", decision.reason);
        if let Some(rule) = &decision.rule {
            text.push_str(&format!(
                " The {} rule `{}` ({}) decided.",
                rule.effect.as_str(),
                rule.text,
                rule.source
            ));
        }
        if let Some(remedy) = &decision.remedy {
            text.push_str(&format!(" A person can change that: {remedy}."));
        }
        Self::new(Why::Denied, text)
    }

    /// What kind of error a model reads; nothing where no model can help.
    pub fn why(&self) -> Option<Why> {
        match self {
            Self::ForModel { why, .. } => Some(*why),
            Self::Fatal { .. } => None,
        }
    }
}

/// The error for an input that does not fit.
fn wrong_input(tool: &str, errors: &[String]) -> ToolError {
    let text = match errors {
        [only] => format!("Wrong input for {tool}: {only}."),
        several => format!("Wrong input for {tool}:\n- {}", several.join("\n- ")),
    };
    ToolError::new(Why::Input, text)
}

/// An object schema of these fields, without others.
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

/// A field of an input that is a text; the empty one where it was left out.
pub fn text<'v>(input: &'v Value, field: &str) -> &'v str {
    input.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A field of an input that is a number.
pub fn number(input: &Value, field: &str) -> Option<u64> {
    // JSON Schema takes `2.0` for an integer too.
    let value = input.get(field)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number beyond the range becomes its end"
    )]
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number as u64))
}
