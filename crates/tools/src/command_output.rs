//! Results of the tools that run commands.

use prowess_traits::CommandResult;
use serde_json::{Value, json};

use crate::result_limit;
use crate::tool::object;

/// Maximum length of a command in bytes.
pub(crate) const MAX_COMMAND: usize = 100_000;

/// The two output streams of a command, truncated to fit a result.
#[derive(Debug)]
pub(crate) struct CommandOutput<'r> {
    ran: &'r CommandResult,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    truncated: bool,
}

impl<'r> CommandOutput<'r> {
    /// Trims each stream, and keeps its beginning and its end.
    pub(crate) fn new(
        ran: &'r CommandResult,
        trim: fn(&str) -> &str,
        bytes: usize,
        lines: usize,
    ) -> Self {
        let streams = [&ran.stdout, &ran.stderr];
        let whole = streams.map(|stream| trim(&stream.text));
        let [stdout, stderr] = whole.map(|text| result_limit::ends(text, bytes, lines));
        let truncated = streams.iter().any(|stream| stream.omitted > 0)
            || stdout.len() != whole[0].len()
            || stderr.len() != whole[1].len();
        Self {
            ran,
            stdout,
            stderr,
            truncated,
        }
    }

    /// Returns the result as JSON.
    pub(crate) fn value(&self) -> Value {
        json!({
            "exitCode": self.ran.code,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "timedOut": self.ran.stopped == Some("deadline"),
            "signal": self.ran.signal,
            "truncated": self.truncated,
            "durationMs": self.ran.milliseconds,
        })
    }

    /// Returns the schema of [`CommandOutput::value`].
    pub(crate) fn schema() -> Value {
        let fields = [
            ("exitCode", json!({ "type": ["integer", "null"] })),
            ("stdout", json!({ "type": "string" })),
            ("stderr", json!({ "type": "string" })),
            ("timedOut", json!({ "type": "boolean" })),
            ("signal", json!({ "type": ["integer", "null"] })),
            ("truncated", json!({ "type": "boolean" })),
            ("durationMs", json!({ "type": "integer", "minimum": 0 })),
        ];
        let required = fields.each_ref().map(|(name, _)| *name);
        object(&fields, &required)
    }
}
