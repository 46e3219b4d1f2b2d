//! `submit`: submits the result of a sub-run, validated against the caller's schema.
//!
//! As in Agentick, the input schema is the caller's and the result is `Submitted.`. Unlike there,
//! an invalid result returns an error with every failing path, so that the model can correct it.
//! The caller limits the number of attempts.

use serde_json::Value;

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::SUBMIT;
use crate::schema::{Schema, SchemaFault};
use crate::tool::{Tool, ToolAnswer, ToolError};

/// `submit`.
#[derive(Clone, Debug)]
pub struct Submit {
    text: Value,
    schema: Schema,
}

impl Submit {
    /// Creates the tool for a result schema. References are not fetched.
    pub fn new(schema: Value) -> Result<Self, SchemaFault> {
        Ok(Self {
            schema: Schema::new(&schema)?,
            text: schema,
        })
    }
}

impl Tool for Submit {
    fn name(&self) -> &'static str {
        SUBMIT
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Submits the result. Call it once, when the work is done. Do not also write the result as \
         text."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        self.text.clone()
    }

    fn output_schema(&self) -> Value {
        self.text.clone()
    }

    fn schema(&self) -> Result<Schema, SchemaFault> {
        Ok(self.schema.clone())
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::new("Submitted.", input.clone()))
    }
}
