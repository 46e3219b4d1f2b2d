//! Running the commands in a skill, one after the other, and putting their output in their place.

use std::path::Path;

use prowess_policy::{Bound, Decision};
use prowess_render::{Part, Slot};
use prowess_shell::lex;
use prowess_traits::Ran;
use prowess_trust::SkillTrust;

use crate::context::ToolContext;

/// What takes the place of a command where policy switches them off. Claude Code's own words.
pub(crate) const SWITCHED_OFF: &str = "[shell command execution disabled by policy]";
/// What takes the place of a command of a skill that nobody trusts.
pub(crate) const NOT_TRUSTED: &str = "[command not run: this skill is not trusted]";
/// Most characters of one output that a model receives in whole.
const MAX_OUTPUT: usize = 30_000;
/// Characters of the beginning and of the end of an output that is longer.
const PREVIEW: usize = 2_000;
/// Most characters of output in an error.
const MAX_FAILURE: usize = 10_000;

/// What happens to commands in a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// They run, each through the gate and in the sandbox.
    #[default]
    Run,
    /// None runs; the text says which would.
    Show,
}

/// How a command in a skill went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRun {
    /// As the author wrote it.
    pub command: Box<str>,
    /// Why it ran, or why not.
    pub decision: Box<str>,
    /// Its exit code; nothing where it did not run or was ended.
    pub code: Option<i32>,
    /// How long it took.
    pub milliseconds: u64,
    /// How many bytes it wrote.
    pub bytes: u64,
    /// The file that holds all of its output, where the text has only a part.
    pub file: Option<Box<str>>,
}

/// Why a skill could not be activated: one of its commands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// The gate said no.
    #[error("Shell command permission check failed for pattern \"{command}\": {}", .decision.reason)]
    Denied {
        /// As the author wrote it.
        command: Box<str>,
        /// Why not.
        decision: Box<Decision>,
    },
    /// It failed.
    #[error("Shell command failed for pattern \"{command}\": {how}\n{output}")]
    Failed {
        /// As the author wrote it.
        command: Box<str>,
        /// How it ended.
        how: Box<str>,
        /// What it wrote, errors under `[stderr]`.
        output: Box<str>,
    },
    /// It could not be started.
    #[error("Shell command could not run for pattern \"{command}\": {why}")]
    NotRun {
        /// As the author wrote it.
        command: Box<str>,
        /// Why.
        why: Box<str>,
    },
}

/// Joins the parts of a rendered skill; commands run in the order in which they stand.
pub(crate) fn expand(
    context: &ToolContext,
    trust: &SkillTrust,
    parts: Vec<Part>,
    execution: Execution,
    runs: &mut Vec<CommandRun>,
) -> Result<String, ExpandError> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(&piece),
            Part::Command(slot) if execution == Execution::Show => {
                text.push_str(&format!("[command not run: {}]", slot.display));
                runs.push(not_run(&slot.display, "not asked to run"));
            }
            Part::Command(slot) => {
                let (output, run) = run(context, trust, &slot)?;
                text.push_str(&output);
                runs.push(run);
            }
            Part::Withheld(withheld) => {
                let why = if context.settings.commands {
                    NOT_TRUSTED
                } else {
                    SWITCHED_OFF
                };
                text.push_str(why);
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

fn run(
    context: &ToolContext,
    trust: &SkillTrust,
    slot: &Slot,
) -> Result<(String, CommandRun), ExpandError> {
    let command: Box<str> = slot.display.as_ref().into();
    let not_run = |why: String| ExpandError::NotRun {
        command: command.clone(),
        why: why.into(),
    };
    let runner = context
        .services
        .runner
        .as_ref()
        .ok_or_else(|| not_run("this program runs no commands".to_owned()))?;
    let positionals: Vec<&str> = slot.positionals.iter().map(AsRef::as_ref).collect();
    let variables: Vec<(&str, &str)> = slot
        .variables
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let bound = Bound {
        script: &slot.script,
        display: &slot.display,
        positionals: &positionals,
        variables: &variables,
    };
    let approved = context
        .approve_bound(&bound, &trust.actor(context.settings.confine))
        .map_err(|decision| ExpandError::Denied {
            command: command.clone(),
            decision: Box::new(decision),
        })?;
    let mut profile = context.profile(Some(trust));
    // As everywhere else, what is injected is about the project, not about the skill's own folder.
    profile.cwd.clone_from(&context.settings.paths.workspace);
    let ran = runner
        .run(&approved, &profile, None)
        .map_err(|error| not_run(error.message))?;
    if !is_fine(&slot.script, &ran) {
        return Err(ExpandError::Failed {
            command: command.clone(),
            how: how(&ran).into(),
            output: failure(&ran).into(),
        });
    }
    let output = joined(&ran);
    let bytes = ran.stdout.bytes + ran.stderr.bytes;
    let (text, file) = bounded(output, bytes, context.settings.paths.outputs.as_deref());
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

/// What a command wrote, complaints behind the rest, without the line break at its end.
fn joined(ran: &Ran) -> String {
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

/// A long output becomes its ends and the name of a file with all of it.
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
        Some(file) => format!("all of it is in {file}"),
        None => "the rest is gone".to_owned(),
    };
    (
        format!("{head}\n[{left} characters left out of {bytes} bytes; {place}]\n{tail}"),
        file,
    )
}

fn keep(text: &str, folder: &Path) -> Option<String> {
    std::fs::create_dir_all(folder).ok()?;
    let mut file = tempfile::Builder::new()
        .prefix("output-")
        .suffix(".txt")
        .tempfile_in(folder)
        .ok()?;
    std::io::Write::write_all(&mut file, text.as_bytes()).ok()?;
    let (_, path) = file.keep().ok()?;
    Some(path.to_string_lossy().into_owned())
}

fn how(ran: &Ran) -> String {
    match (ran.stopped, ran.code, ran.signal) {
        (Some("deadline"), ..) => format!("its time was over after {} ms", ran.milliseconds),
        (Some(stopped), ..) => stopped.to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("signal {signal}"),
        (None, None, None) => "it did not end well".to_owned(),
    }
}

fn failure(ran: &Ran) -> String {
    let mut text = ran.stdout.text.trim_end().to_owned();
    if !ran.stderr.text.trim().is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("[stderr]\n");
        text.push_str(ran.stderr.text.trim_end());
    }
    let count = text.chars().count();
    if count <= MAX_FAILURE {
        return text;
    }
    let head: String = text.chars().take(MAX_FAILURE / 2).collect();
    let tail: String = text.chars().skip(count - MAX_FAILURE / 2).collect();
    format!(
        "{head}\n[{} characters left out]\n{tail}",
        count - MAX_FAILURE
    )
}

/// Exit code 1 of programs that only say "nothing found" or "they differ" is no failure.
fn is_fine(script: &str, ran: &Ran) -> bool {
    if ran.is_success() {
        return true;
    }
    if ran.stopped.is_some() || ran.code != Some(1) {
        return false;
    }
    // The last command of a line decides about its exit code.
    let words: Vec<String> = if let Ok(script) = lex(script) {
        let last = script.commands.last();
        last.into_iter()
            .flat_map(|command| &command.words)
            .map(|word| word.text.to_string())
            .collect()
    } else {
        let last = script
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let last = last.rsplit(['|', ';', '&']).next().unwrap_or_default();
        last.split_whitespace().map(str::to_owned).collect()
    };
    let word = |at: usize| words.get(at).map_or("", |word| word.as_str());
    match word(0).rsplit('/').next().unwrap_or_default() {
        "grep" | "rg" | "egrep" | "fgrep" | "find" | "diff" | "test" | "[" => true,
        "git" => matches!(word(1), "diff" | "grep"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32) -> Ran {
        Ran {
            code: Some(code),
            ..Ran::default()
        }
    }

    #[test]
    fn one_is_fine_for_those_that_look_for_something() {
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
    fn long_output_is_kept_in_a_file() {
        let world = tempfile::tempdir().unwrap();
        let text = "a".repeat(PREVIEW) + &"b".repeat(40_000) + &"c".repeat(PREVIEW);
        let (short, file) = bounded(text.clone(), text.len() as u64, Some(world.path()));
        assert!(short.len() < 5_000 && short.starts_with("aaa") && short.ends_with("ccc"));
        assert_eq!(std::fs::read_to_string(file.unwrap()).unwrap(), text);
        assert_eq!(bounded("x".into(), 1, None), ("x".into(), None));
    }
}
