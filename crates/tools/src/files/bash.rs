//! `bash`: run a command in the project.
//!
//! The gate judges the line and says what runs; the sandbox confines it. It starts in the project's
//! root, every time: neither folder nor variables outlast a command. The folders of loaded skills
//! can be read, so that their scripts can be run, and not be written.

use crate::command_output::{CommandOutput, MAX_COMMAND};
use crate::input::{number, object, text};
use crate::{Loaded, MAX_BYTES, Tool, ToolAnswer, ToolContext, ToolError, Why};
use prowess_traits::Ran;
use serde_json::{Value, json};

use crate::files::path_guard::skill_folders;

/// Most bytes of one stream.
const STREAM: usize = 20_000;
/// Most lines of one stream.
const STREAM_LINES: usize = 900;
/// Longest time that a command may be given, in milliseconds.
const MAX_DEADLINE: u64 = 600_000;

/// `bash`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

impl Tool for Bash {
    fn name(&self) -> &'static str {
        crate::names::BASH
    }

    fn description(&self, context: &ToolContext) -> String {
        format!(
            "Runs a command line in the project's root, in a sandbox, and answers with the exit \
             code and the output. Each command starts afresh: `cd` and variables do not outlast it. \
             It is stopped after {} seconds unless `timeout_ms` says otherwise. Write plain \
             commands: what cannot be proved harmless is refused or asked about. Use `read`, \
             `glob` and `grep` to look at files.",
            context.settings.deadline_ms / 1000
        )
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "command",
                    json!({ "type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "The command line." }),
                ),
                (
                    "timeout_ms",
                    json!({ "type": "integer", "minimum": 1, "description": format!("Milliseconds until it is stopped; at most {MAX_DEADLINE}.") }),
                ),
                (
                    "description",
                    json!({ "type": "string", "description": "What it is for, in a few words." }),
                ),
            ],
            &["command"],
        )
    }

    fn output_schema(&self) -> Value {
        CommandOutput::schema()
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let failed = |text: String| ToolError::new(Why::Failed, text);
        let Some(runner) = &context.services.runner else {
            return Err(failed("This program runs no commands.".to_owned()));
        };
        let folder = &context.settings.paths.workspace;
        let approved = context
            .approve_agent(loaded, folder, text(input, "command"))
            .map_err(|decision| ToolError::denied("The command", &decision))?;
        let mut profile = context.profile(None);
        for skill in skill_folders(context, loaded) {
            profile.readable.push(skill.clone());
            profile.protected.push(skill);
        }
        if let Some(wanted) = number(input, "timeout_ms") {
            profile.limits.deadline_ms = wanted.clamp(1, MAX_DEADLINE);
        }
        let ran = runner
            .run(&approved, &profile, None)
            .map_err(|error| failed(format!("The command did not run: {error}.")))?;
        Ok(answer(&ran))
    }
}

fn answer(ran: &Ran) -> ToolAnswer {
    let output = CommandOutput::new(ran, str::trim_end, STREAM, STREAM_LINES);
    let mut text = match (ran.stopped, ran.code, ran.signal) {
        (Some("deadline"), ..) => {
            format!("Stopped after {} ms: the time was over.", ran.milliseconds)
        }
        (Some(why), ..) => format!("Stopped after {} ms: {why}.", ran.milliseconds),
        (None, Some(code), _) => format!("Exit code {code}."),
        (None, None, Some(signal)) => format!("Ended by signal {signal}."),
        (None, None, None) => "Ended without an exit code.".to_owned(),
    };
    for (name, stream) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !stream.is_empty() {
            text.push_str(&format!("\n<{name}>\n{stream}\n</{name}>"));
        }
    }
    if output.stdout.is_empty() && output.stderr.is_empty() {
        text.push_str(" No output.");
    }
    debug_assert!(text.len() < MAX_BYTES);
    ToolAnswer::new(text, output.value())
}
