//! `bash`: runs a command in the project.
//!
//! The gate checks the command and decides what runs; the sandbox confines it. Every command starts
//! in the project root with a fresh environment. The folders of loaded skills are readable, so that
//! their scripts can be run, but not writable.

use crate::command_output::{CommandOutput, MAX_COMMAND, write_hint};
use crate::input::{number, object, text};
use crate::{Loaded, MAX_BYTES, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};
use prowess_traits::CommandResult;
use serde_json::{Value, json};

use crate::files::path_guard::skill_folders;

/// Maximum size of one stream, in bytes.
const STREAM: usize = 20_000;
/// Maximum number of lines of one stream.
const STREAM_LINES: usize = 900;
/// Maximum timeout, in milliseconds.
const MAX_DEADLINE: u64 = 600_000;

/// The `bash` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

impl Tool for Bash {
    fn name(&self) -> &'static str {
        crate::names::BASH
    }

    fn description(&self, context: &ToolContext) -> String {
        format!(
            "Runs a shell command in the project root, in a sandbox, and returns the exit code and \
             output. Each command starts in a new shell: `cd` and variables are not kept. The \
             default timeout is {} seconds; set `timeout_ms` to change it. Use simple commands: \
             commands that cannot be proved safe are denied or need approval. Use `read`, `glob` \
             and `grep` to look at files.",
            context.settings.deadline_ms / 1000
        )
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "command",
                    json!({ "type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "The command to run." }),
                ),
                (
                    "timeout_ms",
                    json!({ "type": "integer", "minimum": 1, "description": format!("Timeout in milliseconds (maximum: {MAX_DEADLINE}).") }),
                ),
                (
                    "description",
                    json!({ "type": "string", "description": "A short description of what the command does." }),
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

    fn asks_first(&self) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let failed = |text: String| ToolError::new(ToolErrorKind::Failed, text);
        let Some(runner) = &context.services.runner else {
            return Err(failed("Running commands is not supported here.".to_owned()));
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
        profile.hidden.extend(context.skill_repositories());
        if let Some(wanted) = number(input, "timeout_ms") {
            profile.limits.deadline_ms = wanted.clamp(1, MAX_DEADLINE);
        }
        let ran = runner
            .run(&approved, &profile, None)
            .map_err(|error| failed(format!("The command did not run: {error}.")))?;
        Ok(answer(&ran, write_hint(&ran, &profile)))
    }
}

fn answer(ran: &CommandResult, hint: Option<&'static str>) -> ToolAnswer {
    let output = CommandOutput::new(ran, str::trim_end, STREAM, STREAM_LINES).hint(hint);
    let mut text = match (ran.stopped, ran.code, ran.signal) {
        (Some("deadline"), ..) => {
            format!("Timed out after {} ms.", ran.milliseconds)
        }
        (Some(why), ..) => format!("Stopped after {} ms: {why}.", ran.milliseconds),
        (None, Some(code), _) => format!("Exit code {code}."),
        (None, None, Some(signal)) => format!("Killed by signal {signal}."),
        (None, None, None) => "Exited without an exit code.".to_owned(),
    };
    for (name, stream) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !stream.is_empty() {
            text.push_str(&format!("\n<{name}>\n{stream}\n</{name}>"));
        }
    }
    if output.stdout.is_empty() && output.stderr.is_empty() {
        text.push_str(" No output.");
    }
    if let Some(hint) = hint {
        text.push_str(&format!("\n{hint}"));
    }
    debug_assert!(text.len() < MAX_BYTES);
    ToolAnswer::new(text, output.value())
}
