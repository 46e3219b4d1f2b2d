//! `submit`: hand in the result of a sub-run, in the shape that the caller wants.
//!
//! Agentick's: the input schema is the caller's, and the answer is `Submitted.`. Different: what
//! does not fit comes back with every failing path, so that the model can mend it; how often is for
//! the caller to say.

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
    /// Makes the tool for results of this schema. Nothing is fetched for it.
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
        "Hands in the result. Call it once, when the work is done; do not write the result as \
         text besides."
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

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::new("Submitted.", input.clone()))
    }
}
