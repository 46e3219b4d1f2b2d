//! `run_command_line`: run a command as a skill, in the skill's folder.
//!
//! `skilled_crew`'s input, `{reason, commandLine}`, and its answer, JSON with `exitCode`, `stdout`,
//! `stderr` and `timedOut`. Different: the gate judges the command with the skill's `allowed-tools`
//! as the ceiling (each pattern is enough, not all of them), the sandbox confines it, `stderr` is
//! kept also where all went well, `signal`, `truncated` and `durationMs` are told, and a refusal is
//! an error that says what would allow it. A skill without `allowed-tools` has no ceiling of its
//! own, as there; the person's rules still decide. `skill_name` says which of several loaded skills
//! is meant.

use prowess_traits::Ran;
use serde_json::{Value, json};

use crate::access::{SkillAction, find, listed, permit, shown};
use crate::acting::has_ceiling;
use crate::cap;
use crate::command_output::{CommandOutput, MAX_COMMAND};
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::RUN_COMMAND_LINE;
use crate::tool::{Tool, ToolAnswer, ToolError, Why, object, text};

/// Most bytes of one stream at first; less where the answer would be too long.
const STREAM: usize = 24_000;
/// Most lines of one stream.
const STREAM_LINES: usize = 1_000;

/// `run_command_line`.
#[derive(Clone, Debug, Default)]
pub struct RunCommandLine {
    /// The skill that commands run as; nothing for the one that is loaded. A sub-run names it.
    pub skill: Option<Box<str>>,
}

impl Tool for RunCommandLine {
    fn name(&self) -> &'static str {
        RUN_COMMAND_LINE
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Runs a command of a loaded skill, in the skill's folder and with what the skill may do. \
         Answers with the exit code and the output. Write plain commands: what cannot be proved \
         harmless is refused or asked about."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        let mut fields = vec![
            (
                "reason",
                json!({ "type": "string", "description": "Why, in one sentence." }),
            ),
            (
                "commandLine",
                json!({ "type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "The command, as in a shell." }),
            ),
        ];
        if self.skill.is_none() {
            fields.push((
                "skill_name",
                json!({ "type": "string", "description": "Which loaded skill it belongs to, where several are." }),
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
        let failed = |text: String| ToolError::new(Why::Failed, text);
        let known = loaded.get(skill.name());
        if self.skill.is_none() && known.is_none() {
            let text = format!("The skill {name} is not loaded. Load it first: load_skill.");
            return Err(ToolError::new(Why::NoSkill, text));
        }
        let snapshot = skill
            .read(context)
            .map_err(|error| failed(format!("Cannot read the skill {name}: {error}.")))?;
        let trust = &snapshot.trust;
        // The skill that acts must be the one that the model read.
        if known.is_some_and(|known| *known.digest != *trust.digest) {
            let text = format!("The skill {name} changed since it was loaded. Load it again.");
            return Err(failed(text));
        }
        permit(context, &skill, SkillAction::Run, command)?;
        let profile = context.profile(Some(trust));
        let actor = trust.actor(has_ceiling(trust));
        let approved = context
            .approve_in(&profile.cwd, command, &actor)
            .map_err(|decision| {
                ToolError::denied(&format!("The command of the skill {name}"), &decision)
            })?;
        let Some(runner) = &context.services.runner else {
            return Err(failed("This program runs no commands.".to_owned()));
        };
        let ran = runner
            .run(&approved, &profile, None)
            .map_err(|error| failed(format!("The command did not run: {error}.")))?;
        Ok(answer(&ran))
    }
}

fn the_only(loaded: &Loaded) -> Result<&str, ToolError> {
    let names: Vec<&str> = loaded.names().collect();
    match &*names {
        [only] => Ok(only),
        [] => {
            let text =
                "No skill is loaded, and a command runs as a skill. Load one first: load_skill.";
            Err(ToolError::new(Why::NoSkill, text))
        }
        several => {
            let several: Vec<String> = several.iter().map(|name| shown(name)).collect();
            let text = format!(
                "Several skills are loaded. Say in `skill_name` which one the command belongs to: {}",
                listed(&several, 1_000).0
            );
            Err(ToolError::new(Why::Input, text))
        }
    }
}

/// Returns the answer. The streams are shortened until all of it fits.
fn answer(ran: &Ran) -> ToolAnswer {
    let mut bytes = STREAM;
    loop {
        let value = CommandOutput::new(ran, str::trim, bytes, STREAM_LINES).value();
        let text = value.to_string();
        // A control character is six bytes of JSON.
        if text.len() <= cap::MAX_BYTES || bytes < 100 {
            return ToolAnswer::new(text, value);
        }
        bytes /= 2;
    }
}
