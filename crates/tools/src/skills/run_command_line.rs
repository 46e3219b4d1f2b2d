//! `run_command_line`: runs a command as a skill, in the skill's folder.
//!
//! The input, `{reason, commandLine}`, and the output, JSON with `exitCode`, `stdout`, `stderr` and
//! `timedOut`, are `skilled_crew`'s. Differences:
//!
//! - The gate decides, with the skill's `allowed-tools` as the ceiling. One matching pattern is
//!   enough. A skill without `allowed-tools` has no ceiling; the user's rules still apply.
//! - The sandbox confines the command.
//! - `stderr` is returned on success too; `signal`, `truncated` and `durationMs` are added.
//! - A refusal is an error that says what would allow the command.
//! - `skill_name` selects one of several loaded skills.

use prowess_traits::CommandResult;
use prowess_trust::{SkillRole, TrustError};
use serde_json::{Value, json};

use crate::command_output::{CommandOutput, MAX_COMMAND, write_hint};
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::RUN_COMMAND_LINE;
use crate::result_limit;
use crate::skill_access::{find, listed, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, object, text};

/// Initial limit for one stream in bytes; reduced if the result would be too long.
const STREAM: usize = 24_000;
/// Maximum number of lines of one stream.
const STREAM_LINES: usize = 1_000;

/// `run_command_line`.
#[derive(Clone, Debug, Default)]
pub struct RunCommandLine {
    /// The skill that commands run as, in a sub-run. `None` for a loaded skill.
    pub skill: Option<Box<str>>,
}

impl Tool for RunCommandLine {
    fn name(&self) -> &'static str {
        RUN_COMMAND_LINE
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Runs a command as a loaded skill, in the skill's folder and with the skill's permissions. \
         Returns the exit code and the output. Use simple commands: complex ones are refused or \
         need approval."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        let mut fields = vec![
            (
                "reason",
                json!({ "type": "string", "description": "Why the command is needed, in one sentence." }),
            ),
            (
                "commandLine",
                json!({ "type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "The shell command." }),
            ),
        ];
        if self.skill.is_none() {
            fields.push((
                "skill_name",
                json!({ "type": "string", "description": "The loaded skill to run the command as. Required if several skills are loaded." }),
            ));
        }
        object(&fields, &["reason", "commandLine"])
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
        let command = text(input, "commandLine");
        let asked = match (&self.skill, input.get("skill_name").and_then(Value::as_str)) {
            (Some(skill), _) => &**skill,
            (None, Some(asked)) => asked,
            (None, None) => the_only(loaded)?,
        };
        let skill = find(context, asked)?;
        let name = shown(skill.name());
        let failed = |text: String| ToolError::new(ToolErrorKind::Failed, text);
        let known = loaded.get(skill.name());
        if self.skill.is_none() && known.is_none() {
            let text = format!("The skill {name} is not loaded. Load it first with load_skill.");
            return Err(ToolError::new(ToolErrorKind::NoSkill, text));
        }
        let snapshot = skill.read(context).map_err(|error| match error {
            TrustError::Package(_) => failed(error.to_string()),
            error => failed(format!("Cannot read the skill {name}: {error}.")),
        })?;
        let trust = &snapshot.trust;
        // The files must be the ones that the model has read.
        if known.is_some_and(|known| *known.digest != *trust.digest) {
            let text = format!("The skill {name} changed since it was loaded. Load it again.");
            return Err(failed(text));
        }
        let profile = context.profile(Some(trust));
        let approved = context
            .approve_as_skill(
                loaded,
                &skill,
                trust,
                SkillRole::CommandTool,
                &profile.cwd,
                command,
            )
            .map_err(|decision| {
                ToolError::denied(&format!("The command of the skill {name}"), &decision)
            })?;
        let Some(runner) = &context.services.runner else {
            return Err(failed("Running commands is not supported here.".to_owned()));
        };
        let ran = runner
            .run(&approved, &profile, None)
            .map_err(|error| failed(format!("The command did not run: {error}.")))?;
        Ok(answer(&ran, write_hint(&ran, &profile)))
    }
}

/// Returns the name of the only loaded skill.
pub(crate) fn the_only(loaded: &Loaded) -> Result<&str, ToolError> {
    let names: Vec<&str> = loaded.names().collect();
    match &*names {
        [only] => Ok(only),
        [] => {
            let text = "No skill is loaded. Load one first with load_skill.";
            Err(ToolError::new(ToolErrorKind::NoSkill, text))
        }
        several => {
            let several: Vec<String> = several.iter().map(|name| shown(name)).collect();
            let text = format!(
                "Several skills are loaded. Set `skill_name` to one of them: {}",
                listed(&several, 1_000).0
            );
            Err(ToolError::new(ToolErrorKind::Input, text))
        }
    }
}

/// Returns the result. The streams are truncated until it fits.
fn answer(ran: &CommandResult, hint: Option<&'static str>) -> ToolAnswer {
    let mut bytes = STREAM;
    loop {
        let output = CommandOutput::new(ran, str::trim, bytes, STREAM_LINES).hint(hint);
        let value = output.value();
        let text = value.to_string();
        // Escaping can make it longer: a control character takes six bytes in JSON.
        if text.len() <= result_limit::MAX_BYTES || bytes < 100 {
            return ToolAnswer::new(text, value);
        }
        bytes /= 2;
    }
}
