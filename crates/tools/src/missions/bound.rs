//! Tools with secrets, and tools with some of their parameters fixed.

use std::sync::Arc;

use prowess_flow::mission::{BoundTool, Value as MissionValue, json_schema};
use serde_json::Value;

use super::VariableValues;
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::schema::{Schema, SchemaFault};
use crate::secrets::SecretValues;
use crate::skill_access::permit_tool;
use crate::tool::{self, Tool, ToolAnswer, ToolError, ToolErrorKind};

/// A tool whose input may name protected inputs: `${secrets.NAME}`.
#[derive(Debug)]
pub(super) struct SecretTool {
    pub(super) inner: Arc<dyn Tool>,
    pub(super) secrets: Arc<SecretValues>,
}

impl Tool for SecretTool {
    fn name(&self) -> &str {
        self.inner.name()
    }

    // A server may repeat the secrets that it was started with.
    fn description(&self, context: &ToolContext) -> String {
        self.secrets.redact(self.inner.description(context))
    }

    fn input_schema(&self) -> Value {
        self.secrets.redact_value(&self.inner.input_schema())
    }

    fn output_schema(&self) -> Value {
        self.secrets.redact_value(&self.inner.output_schema())
    }

    fn is_read_only(&self, context: &ToolContext) -> bool {
        self.inner.is_read_only(context)
    }

    fn is_destructive(&self, context: &ToolContext) -> bool {
        self.inner.is_destructive(context)
    }

    fn asks_first(&self) -> bool {
        self.inner.asks_first()
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let placed = place(input, &self.secrets)?;
        call(&*self.inner, context, loaded, &placed, &self.secrets)
    }

    fn answer_with(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
        secrets: &SecretValues,
    ) -> Result<ToolAnswer, ToolError> {
        self.inner.answer_with(context, loaded, input, secrets)
    }

    fn schema(&self) -> Result<Schema, SchemaFault> {
        let (own, given) = (self.input_schema(), self.inner.input_schema());
        if own == given {
            return self.inner.schema();
        }
        // The messages of the schema are for models too.
        Schema::new(&own)
    }
}

/// A `tool` block: a model passes its inputs, and the tool behind it gets its parameters.
#[derive(Debug)]
pub(super) struct BoundCall {
    /// The name for models.
    pub(super) name: Box<str>,
    pub(super) bound: BoundTool,
    pub(super) inner: Arc<dyn Tool>,
    pub(super) variables: VariableValues,
    pub(super) secrets: Arc<SecretValues>,
}

impl BoundCall {
    /// Returns the parameters of a call, with markers for secrets.
    fn parameters(&self, input: &Value) -> Result<Value, ToolError> {
        let variable = |name: &str| self.variables.marked(name, &self.secrets);
        let filled = self.bound.call_with(input, &variable);
        let mut parameters = filled.map_err(|error| {
            let error = self.secrets.shown(&error.to_string()).into_owned();
            let text = format!("The tool {} cannot be called: {error}.", self.name);
            ToolError::new(ToolErrorKind::Failed, text)
        })?;
        // Numbers and booleans in headers are text, and an input in a URL may have blanks.
        if let Some(headers) = parameters.get_mut("headers").and_then(Value::as_object_mut) {
            for value in headers.values_mut() {
                if value.is_number() || value.is_boolean() {
                    *value = value.to_string().into();
                }
            }
        }
        if let Some(Value::String(url)) = parameters.get_mut("url") {
            *url = url.trim().replace(' ', "%20");
        }
        Ok(parameters)
    }
}

impl Tool for BoundCall {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self, context: &ToolContext) -> String {
        let own = self.bound.description.as_ref();
        match own.and_then(MissionValue::as_text) {
            Some(text) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => self.inner.description(context),
        }
    }

    fn input_schema(&self) -> Value {
        let mut schema = json_schema(&self.bound.inputs);
        schema["additionalProperties"] = false.into();
        schema
    }

    fn output_schema(&self) -> Value {
        self.inner.output_schema()
    }

    fn is_read_only(&self, context: &ToolContext) -> bool {
        self.inner.is_read_only(context)
    }

    fn is_destructive(&self, context: &ToolContext) -> bool {
        self.inner.is_destructive(context)
    }

    fn asks_first(&self) -> bool {
        self.inner.asks_first()
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let placed = place(input, &self.secrets)?;
        let parameters = self.parameters(&placed)?;
        let shown = self.secrets.shown_input(&parameters);
        tool::check(&*self.inner, &self.inner.schema(), &shown)?;
        // Rules about the tool behind it apply as well.
        permit_tool(context, loaded, self.inner.name(), &shown)?;
        call(&*self.inner, context, loaded, &parameters, &self.secrets)
    }
}

/// Places the protected inputs that a model names.
fn place(input: &Value, secrets: &SecretValues) -> Result<Value, ToolError> {
    // A model must not place a marker itself.
    SecretValues::new().check(input)?;
    Ok(secrets.place(input))
}

/// Calls a tool, and removes secrets from its result.
fn call(
    tool: &dyn Tool,
    context: &ToolContext,
    loaded: &mut Loaded,
    input: &Value,
    secrets: &SecretValues,
) -> Result<ToolAnswer, ToolError> {
    match tool.answer_with(context, loaded, input, secrets) {
        Ok(answer) => Ok(ToolAnswer {
            text: secrets.redact(answer.text),
            value: secrets.redact_value(&answer.value),
            images: answer.images,
        }),
        Err(ToolError::ForModel { why, text }) => {
            Err(ToolError::new(why, secrets.redact(secrets.shown(&text))))
        }
        Err(fatal) => Err(fatal),
    }
}
