//! `current_time` and `sleep`, for missions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_flow::mission::time_text;
use prowess_traits::Clock;
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::input::object;
use crate::loaded::Loaded;
use crate::tool::{Tool, ToolAnswer, ToolError};

/// Maximum number of seconds of a pause. A pause cannot be cancelled, so it is short.
pub const MAX_SLEEP: u32 = 60;

/// The `current_time` tool.
#[derive(Clone, Debug)]
pub struct CurrentTime {
    clock: Arc<dyn Clock>,
}

impl CurrentTime {
    /// Creates the tool with a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl Tool for CurrentTime {
    fn name(&self) -> &'static str {
        "current_time"
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Returns the current date and time in UTC.".to_owned()
    }

    fn input_schema(&self) -> Value {
        object(&[], &[])
    }

    fn output_schema(&self) -> Value {
        object(&[("time", json!({ "type": "string" }))], &["time"])
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        _input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let time = time_text(self.clock.now());
        Ok(ToolAnswer::new(time.clone(), json!({ "time": time })))
    }
}

/// The `sleep` tool.
#[derive(Clone, Copy, Debug)]
pub struct Sleep;

impl Tool for Sleep {
    fn name(&self) -> &'static str {
        "sleep"
    }

    fn description(&self, _context: &ToolContext) -> String {
        format!("Waits for a number of seconds, at most {MAX_SLEEP}.")
    }

    fn input_schema(&self) -> Value {
        let seconds = json!({ "type": "number", "minimum": 0, "maximum": MAX_SLEEP, "description": "The number of seconds" });
        object(&[("seconds", seconds)], &["seconds"])
    }

    fn output_schema(&self) -> Value {
        object(&[("seconds", json!({ "type": "number" }))], &["seconds"])
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
        let seconds = input.get("seconds").and_then(Value::as_f64);
        let seconds = seconds.unwrap_or_default().clamp(0.0, f64::from(MAX_SLEEP));
        let began = Instant::now();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let waited = began.elapsed().as_secs_f64().round();
        let text = format!("Waited for {waited} seconds.");
        Ok(ToolAnswer::new(text, json!({ "seconds": waited })))
    }
}
