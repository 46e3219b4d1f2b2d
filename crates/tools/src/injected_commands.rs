//! Runs the commands in a skill, one after the other, and replaces them with their output.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use prowess_policy::{Approved, BoundScript, Command, Decision};
use prowess_render::{CommandSlot, RenderedPart};
use prowess_shell::{Word, lex, programs};
use prowess_traits::{CommandResult, CommandRunner};
use prowess_trust::{SkillRole, SkillTrust};

use crate::command_output::write_hint;
use crate::context::ToolContext;
use crate::loaded::Loaded;

/// Replaces a command if commands are disabled. Claude Code's wording.
pub(crate) const SWITCHED_OFF: &str = "[shell command execution disabled by policy]";
/// Replaces a command of an untrusted skill.
pub(crate) const NOT_TRUSTED: &str = "[command not run: this skill is not trusted]";
/// Replaces a command of a skill whose `run` action the rules deny.
pub(crate) const NOT_PERMITTED: &str =
    "[command not run: the permissions do not allow running commands as this skill]";
/// Maximum length of the output of one command, in characters; longer output is truncated.
const MAX_OUTPUT: usize = 30_000;
/// Characters to keep at the beginning and at the end of truncated output.
const PREVIEW: usize = 2_000;
/// Maximum length of output in an error, in characters.
const MAX_FAILURE: usize = 10_000;

/// Handling of the commands in a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Commands run if the gate allows them, in the sandbox.
    #[default]
    Run,
    /// Commands do not run; the text shows them.
    Show,
}

/// A command in a skill, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRun {
    /// The command as written in the skill.
    pub command: Box<str>,
    /// The reason why it ran or did not run.
    pub decision: Box<str>,
    /// Its exit code, or `None` if it did not run or was killed.
    pub code: Option<i32>,
    /// Its duration in milliseconds.
    pub milliseconds: u64,
    /// The size of its output in bytes.
    pub bytes: u64,
    /// The file with the complete output, if the output was truncated.
    pub file: Option<Box<str>>,
}

/// Error from a command in a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// The gate denied it.
    #[error("Shell command permission check failed for pattern \"{command}\": {}", .decision.reason)]
    Denied {
        /// The command as written in the skill.
        command: Box<str>,
        /// The decision.
        decision: Box<Decision>,
    },
    /// It failed.
    #[error("Shell command failed for pattern \"{command}\": {how}\n{output}")]
    Failed {
        /// The command as written in the skill.
        command: Box<str>,
        /// The exit code, the signal or the timeout.
        how: Box<str>,
        /// Its output, with standard error after `[stderr]`.
        output: Box<str>,
    },
    /// It could not be started.
    #[error("Shell command could not run for pattern \"{command}\": {why}")]
    NotRun {
        /// The command as written in the skill.
        command: Box<str>,
        /// The reason.
        why: Box<str>,
    },
}

/// Joins the parts of a rendered skill. Commands run in order, within the restrictions of the loaded
/// skills. All of them are judged before the first one runs, so that none has run while a user is
/// asked about another.
pub(crate) fn expand(
    context: &ToolContext,
    loaded: &Loaded,
    trust: &SkillTrust,
    parts: Vec<RenderedPart>,
    execution: Execution,
    denial: Option<&Decision>,
    runs: &mut Vec<CommandRun>,
) -> Result<String, ExpandError> {
    let mut approved = Vec::new();
    if execution == Execution::Run {
        for part in &parts {
            match part {
                RenderedPart::Command(slot) => {
                    approved.push(approve(context, loaded, trust, slot)?);
                }
                RenderedPart::Refused(refused) => {
                    return Err(ExpandError::NotRun {
                        command: refused.display.as_ref().into(),
                        why: refused.reason().into(),
                    });
                }
                _ => {}
            }
        }
    }
    let mut approved = approved.into_iter();
    let mut text = String::new();
    for part in parts {
        match part {
            RenderedPart::Text(piece) => text.push_str(&piece),
            RenderedPart::Command(slot) if execution == Execution::Show => {
                text.push_str(&format!("[command not run: {}]", slot.display));
                runs.push(not_run(&slot.display, "not run"));
            }
            RenderedPart::Command(slot) => {
                let approved = approved.next().ok_or_else(|| ExpandError::NotRun {
                    command: slot.display.as_ref().into(),
                    why: "it was not judged".into(),
                })?;
                let (output, run) = run(context, trust, &slot, &approved)?;
                text.push_str(&output);
                runs.push(run);
            }
            RenderedPart::Refused(refused) if execution == Execution::Show => {
                text.push_str(&format!("[command not run: {}]", refused.display));
                runs.push(not_run(&refused.display, "not run"));
            }
            RenderedPart::Refused(refused) => {
                return Err(ExpandError::NotRun {
                    command: refused.display.as_ref().into(),
                    why: refused.reason().into(),
                });
            }
            RenderedPart::Withheld(withheld) => {
                let settings = &context.settings;
                let (shown, why) = match &settings.no_commands {
                    _ if settings.commands && denial.is_some() && trust.is_trusted() => {
                        (NOT_PERMITTED.to_owned(), NOT_PERMITTED)
                    }
                    _ if settings.commands => (NOT_TRUSTED.to_owned(), NOT_TRUSTED),
                    None => (SWITCHED_OFF.to_owned(), SWITCHED_OFF),
                    Some(why) => {
                        let command = &withheld.display;
                        (format!("[command not run: {command} ({why})]"), &**why)
                    }
                };
                text.push_str(&shown);
                runs.push(not_run(&withheld.display, why.trim_matches(['[', ']'])));
            }
            _ => {}
        }
    }
    Ok(text)
}

fn not_run(command: &str, why: &str) -> CommandRun {
    CommandRun {
        command: command.into(),
        decision: why.into(),
        code: None,
        milliseconds: 0,
        bytes: 0,
        file: None,
    }
}

/// Decides about a command, and prompts the user if the gate requires it.
fn approve(
    context: &ToolContext,
    loaded: &Loaded,
    trust: &SkillTrust,
    slot: &CommandSlot,
) -> Result<Approved<Command>, ExpandError> {
    runner(context, slot)?;
    let positionals: Vec<&str> = slot.positionals.iter().map(AsRef::as_ref).collect();
    let variables: Vec<(&str, &str)> = slot
        .variables
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let bound = BoundScript {
        script: &slot.script,
        display: &slot.display,
        positionals: &positionals,
        variables: &variables,
    };
    let restrictions = loaded.restrictions();
    let actor = trust.actor(SkillRole::Author, context.settings.confine, &restrictions);
    context
        .approve_bound(&bound, &actor)
        .map_err(|decision| ExpandError::Denied {
            command: slot.display.as_ref().into(),
            decision: Box::new(decision),
        })
}

fn runner<'c>(
    context: &'c ToolContext,
    slot: &CommandSlot,
) -> Result<&'c Arc<dyn CommandRunner>, ExpandError> {
    let runner = context.services.runner.as_ref();
    runner.ok_or_else(|| ExpandError::NotRun {
        command: slot.display.as_ref().into(),
        why: "running commands is not supported here".into(),
    })
}

fn run(
    context: &ToolContext,
    trust: &SkillTrust,
    slot: &CommandSlot,
    approved: &Approved<Command>,
) -> Result<(String, CommandRun), ExpandError> {
    let command: Box<str> = slot.display.as_ref().into();
    let not_run = |why: String| ExpandError::NotRun {
        command: command.clone(),
        why: why.into(),
    };
    let runner = runner(context, slot)?;
    let mut profile = context.profile(Some(trust));
    // As in other clients, these commands run in the project, not in the skill's folder.
    profile.cwd.clone_from(&context.settings.paths.workspace);
    let ran = runner
        .run(approved, &profile, None)
        .map_err(|error| not_run(error.message))?;
    if !is_fine(&slot.script, &ran) {
        return Err(ExpandError::Failed {
            command: command.clone(),
            how: how(&ran).into(),
            output: failure(&ran, write_hint(&ran, &profile)).into(),
        });
    }
    let output = joined(&ran);
    let bytes = ran.stdout.bytes + ran.stderr.bytes;
    // Without a session, only the user can read the file.
    let folder = context.session_outputs();
    let folder = folder.or_else(|| context.settings.paths.outputs.clone());
    let (text, file) = bounded(output, bytes, folder.as_deref());
    let run = CommandRun {
        command,
        decision: approved.by().into(),
        code: ran.code,
        milliseconds: ran.milliseconds,
        bytes,
        file: file.map(Into::into),
    };
    Ok((text, run))
}

/// Returns standard output followed by standard error, without trailing line breaks.
fn joined(ran: &CommandResult) -> String {
    let mut text = ran.stdout.text.clone();
    if !ran.stderr.text.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&ran.stderr.text);
    }
    while text.ends_with(['\n', '\r']) {
        text.pop();
    }
    text
}

/// Truncates long output to its beginning and end, and writes all of it to a file in `folder`.
fn bounded(text: String, bytes: u64, folder: Option<&Path>) -> (String, Option<String>) {
    let count = text.chars().count();
    if count <= MAX_OUTPUT {
        return (text, None);
    }
    let file = folder.and_then(|folder| keep(&text, folder));
    let head: String = text.chars().take(PREVIEW).collect();
    let tail: String = text.chars().skip(count - PREVIEW).collect();
    let left = count - 2 * PREVIEW;
    let place = match &file {
        Some(file) => format!("full output in {file}"),
        None => "full output not kept".to_owned(),
    };
    (
        format!("{head}\n[{left} characters omitted of {bytes} bytes; {place}]\n{tail}"),
        file,
    )
}

fn keep(text: &str, folder: &Path) -> Option<String> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).ok()?;
    let mut file = tempfile::Builder::new()
        .prefix("output-")
        .suffix(".txt")
        .tempfile_in(folder)
        .ok()?;
    std::io::Write::write_all(&mut file, text.as_bytes()).ok()?;
    let (_, path) = file.keep().ok()?;
    Some(path.to_string_lossy().into_owned())
}

fn how(ran: &CommandResult) -> String {
    match (ran.stopped, ran.code, ran.signal) {
        (Some("deadline"), ..) => format!("timed out after {} ms", ran.milliseconds),
        (Some(stopped), ..) => stopped.to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("signal {signal}"),
        (None, None, None) => "it failed".to_owned(),
    }
}

fn failure(ran: &CommandResult, hint: Option<&str>) -> String {
    let mut text = ran.stdout.text.trim_end().to_owned();
    if !ran.stderr.text.trim().is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("[stderr]\n");
        text.push_str(ran.stderr.text.trim_end());
    }
    if let Some(hint) = hint {
        text.push_str(&format!("\n{hint}"));
    }
    let count = text.chars().count();
    if count <= MAX_FAILURE {
        return text;
    }
    let head: String = text.chars().take(MAX_FAILURE / 2).collect();
    let tail: String = text.chars().skip(count - MAX_FAILURE / 2).collect();
    format!(
        "{head}\n[{} characters omitted]\n{tail}",
        count - MAX_FAILURE
    )
}

/// Returns `true` if a command succeeded. Exit code 1 is a success for programs that use it for
/// "not found" or "different".
fn is_fine(script: &str, ran: &CommandResult) -> bool {
    if ran.is_success() {
        return true;
    }
    if ran.stopped.is_some() || ran.code != Some(1) {
        return false;
    }
    // The last command of a line determines its exit code.
    let words: Vec<Word> = if let Ok(script) = lex(script) {
        let last = script.commands.into_iter().last();
        last.map(|command| command.words).unwrap_or_default()
    } else {
        let last = script
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let last = last.rsplit(['|', ';', '&']).next().unwrap_or_default();
        last.split_whitespace().map(Word::plain).collect()
    };
    programs::answers_with_exit_code(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32) -> CommandResult {
        CommandResult {
            code: Some(code),
            ..CommandResult::default()
        }
    }

    #[test]
    fn exit_code_1_is_success_for_search_programs() {
        for script in [
            "grep x f",
            "cat f | rg x",
            "/usr/bin/grep x",
            "git diff --quiet",
            "test -f x",
            "for f in *; do cat $f; done | grep x",
        ] {
            assert!(is_fine(script, &ended(1)), "{script}");
            assert!(!is_fine(script, &ended(2)), "{script}");
        }
        for script in ["false", "git status", "grep x f | wc -l", "grep x f; false"] {
            assert!(!is_fine(script, &ended(1)), "{script}");
        }
    }

    #[test]
    fn long_output_is_written_to_a_file() {
        let world = tempfile::tempdir().unwrap();
        let text = "a".repeat(PREVIEW) + &"b".repeat(40_000) + &"c".repeat(PREVIEW);
        let (short, file) = bounded(text.clone(), text.len() as u64, Some(world.path()));
        assert!(short.len() < 5_000 && short.starts_with("aaa") && short.ends_with("ccc"));
        assert_eq!(std::fs::read_to_string(file.unwrap()).unwrap(), text);
        assert_eq!(bounded("x".into(), 1, None), ("x".into(), None));
    }
}
