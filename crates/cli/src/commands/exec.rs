//! `prowess exec`

use std::cell::RefCell;
use std::path::PathBuf;

use crate::commands::completions;
use crate::output::{Exit, Failure, Foreign, Printer};
use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, wording};
use prowess_policy::profile::Strength;
use prowess_policy::{Approved, Command, Profile, Remedy};
use prowess_sandbox::{
    Cancel, CommandOptions, CommandOutcome, End, ExecError, Layer, LayerState, LayerStatus, Runner,
    Stopped, Stream,
};
use prowess_tools::{Loaded, ToolContext, looks_denied};
use prowess_trust::{SkillRole, SkillTrust};
use serde_json::json;

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::env::Environment;
use crate::permissions;
use crate::runtime_setup::Setup;
use crate::visible_skills::{self, Library};

#[derive(Debug, Args)]
#[command(
    about = "Run a command as a skill would, in the sandbox\n\nThe command starts in the skill's folder. It can read the skill and the project and write to a temporary folder; the options below allow more. A sandbox report is printed at the end. The exit code is that of the command, 124 on timeout, or 3 if the command is not permitted.",
    after_help = "\
Examples:
  prowess exec tidy-up -- ./scripts/check.sh
  prowess exec tidy-up --approve 'Bash(ls:*)' -- ls -la
  prowess exec tidy-up --json -- ./scripts/check.sh"
)]
pub(crate) struct ExecArgs {
    /// Name of the skill
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: String,
    /// Allow without asking, e.g. `Bash(ls:*)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) approve: Vec<String>,
    /// Allow writing to the project
    #[arg(long, help_heading = "Permissions")]
    pub(crate) write: bool,
    /// Allow network access
    #[arg(long, help_heading = "Permissions")]
    pub(crate) network: bool,
    /// Sandbox mode: required, best-effort, off
    #[arg(long, value_name = "STRENGTH", help_heading = "Permissions")]
    pub(crate) sandbox: Option<String>,
    /// Timeout in seconds (default: 30)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Start in this folder instead of the skill's
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Command, as separate words or as one string
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) line: Vec<String>,
}

pub(crate) fn run(
    args: &ExecArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    let runner = environment.runner(&library.config);
    let mut setup = Setup::new(library.clone(), None, environment)?;
    setup.permit(&args.approve, args.write)?;
    setup.settings.network = args.network;
    let context = setup.context();
    let (skill, _) = context
        .resolve_recorded(&args.skill)
        .map_err(|refusal| visible_skills::refused(&refusal))?;
    let snapshot = permissions::read(skill.entry(), &library, environment)?;
    let profile = profile(args, &context, &snapshot.trust, environment)?;
    let line = permissions::line(&args.line);
    let role = SkillRole::Author;
    // `--approve` is about this command, in the folder of the skill.
    context.gate().approves_here = true;
    let approved = match context.approve_as_skill(
        &Loaded::default(),
        &skill,
        &snapshot.trust,
        role,
        &profile.cwd,
        &line,
    ) {
        Ok(approved) => approved,
        Err(decision) => return refused(args, &decision, printer),
    };
    let outcome = start(&approved, &profile, args, runner)?;
    if args.json {
        printer.json(&prowess::inspect::command_run(&line, &outcome))?;
    } else {
        for line in prowess::inspect::command_run_report(&outcome) {
            printer.status(&sanitize::line(&line));
        }
        let streams = [&outcome.stdout, &outcome.stderr];
        if !outcome.success()
            && streams
                .iter()
                .any(|stream| looks_denied(&stream.text(), &profile))
        {
            let (what, hint) = denied(&outcome.layers, args.write);
            printer.note(what, &hint);
        }
    }
    Ok(match outcome.end {
        _ if outcome.stopped == Some(Stopped::Cancelled) => Exit::Interrupted,
        // Same as `timeout`.
        _ if outcome.stopped.is_some() => Exit::Code(124),
        End::Code(code) => Exit::Code(u8::try_from(code).unwrap_or(1)),
        End::Signal(signal) => Exit::Code(u8::try_from(128 + signal).unwrap_or(255)),
    })
}

/// Returns what to say about a command that the sandbox probably denied access to a file.
fn denied(layers: &[LayerState], write: bool) -> (&'static str, String) {
    let is_missing = |it: &LayerState| {
        it.layer == Layer::Namespaces && matches!(it.state, LayerStatus::Missing(_))
    };
    if layers.iter().any(is_missing) {
        let remedy = Layer::Namespaces.remedy();
        return (
            "the sandbox layer `namespaces` is missing, so commands cannot create files directly in the \
             project, and git cannot write",
            remedy.to_owned(),
        );
    }
    let what = "the sandbox may have denied access to a file";
    let folder = "list a folder in `[sandbox] write` of your settings";
    let hint = if write {
        format!(
            "{folder}; protected files, such as settings of editors and programs in your `PATH`, cannot be changed"
        )
    } else {
        format!("allow writing to the project with `--write`, or {folder}")
    };
    (what, hint)
}

fn refused(
    args: &ExecArgs,
    decision: &prowess_policy::Decision,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if args.json {
        printer.json(&json!({
            "schema": "prowess.exec/1",
            "verdict": decision.verdict.as_str(),
            "reason": decision.reason,
            "rule": decision.rule.as_ref().map(|rule| &rule.text),
            "remedy": decision.remedy.as_ref().map(ToString::to_string),
        }))?;
        return Ok(Exit::Denied);
    }
    let mut error = Failure::new("the command was not run").cause(permissions::explain(decision));
    match &decision.remedy {
        Some(Remedy::Rule(rule)) => {
            let rule = wording::shell_word(&sanitize::line(rule));
            error = error.hint(format!("allow it with `--approve {rule}`"));
        }
        Some(remedy) => error = error.hint(sanitize::line(&remedy.to_string()).into_owned()),
        None => {}
    }
    printer.error(&error);
    Ok(Exit::Denied)
}

/// Returns the sandbox profile of the command.
fn profile(
    args: &ExecArgs,
    context: &ToolContext,
    trust: &SkillTrust,
    environment: &Environment,
) -> Result<Profile, Failure> {
    let mut profile = context.profile(Some(trust));
    if let Some(cwd) = &args.cwd {
        profile.cwd = environment.current.join(cwd);
    }
    if let Some(word) = &args.sandbox {
        profile.strength = Strength::parse(word).ok_or_else(|| {
            Failure::new(format!("invalid value `{word}` for `--sandbox`"))
                .hint("expected `required`, `best-effort` or `off`")
        })?;
    }
    if let Some(seconds) = args.timeout {
        profile.limits.deadline_ms = seconds.saturating_mul(1000);
    }
    Ok(profile)
}

fn start(
    approved: &Approved<Command>,
    profile: &Profile,
    args: &ExecArgs,
    runner: Option<Runner>,
) -> Result<CommandOutcome, Failure> {
    let runner = runner.ok_or_else(|| Failure::new("the sandbox helper is not available"))?;
    let out = RefCell::new(Foreign::new(std::io::stdout()));
    let err = RefCell::new(Foreign::new(std::io::stderr()));
    let mut pass_on = |stream: Stream, bytes: &[u8]| {
        // A closed pipe does not stop the command.
        let _ = match stream {
            Stream::Out => out.borrow_mut().write(bytes),
            Stream::Err => err.borrow_mut().write(bytes),
        };
    };
    // Otherwise a signal would end this program before the report of the sandbox.
    let cancel =
        Cancel::new().map_err(|error| Failure::new("cannot prepare the command").cause(error))?;
    let interrupted = cancel.clone();
    async_runtime::cancelling(move || interrupted.cancel())?;
    let options = CommandOptions {
        cancel: Some(&cancel),
        on_output: if args.json { None } else { Some(&mut pass_on) },
        ..CommandOptions::default()
    };
    let outcome = runner
        .run(approved, profile, options)
        .map_err(|error| failed(&error, args.write))?;
    let _ = out.into_inner().finish();
    let _ = err.into_inner().finish();
    Ok(outcome)
}

fn failed(error: &ExecError, write: bool) -> Failure {
    let failure = Failure::new("the command was not run").cause(error);
    match error {
        ExecError::Unprotectable { .. } if write => failure.hint("run it without `--write`"),
        ExecError::LayerMissing { .. } => failure
            .hint("check the sandbox with `prowess doctor`, or run with the available layers: `--sandbox best-effort`"),
        ExecError::ProgramMissing { name, .. } => {
            failure.hint(format!("install `{}` in one of these folders", sanitize::line(name)))
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_about_denied_files_names_what_is_missing() {
        let layers = |state| {
            let layer = Layer::Namespaces;
            [LayerState { layer, state }]
        };
        let (what, hint) = denied(&layers(LayerStatus::Missing("x".into())), true);
        assert!(what.contains("`namespaces` is missing"), "{what}");
        assert!(
            !hint.contains("--write") && hint.contains("user namespaces"),
            "{hint}"
        );
        let (_, hint) = denied(&layers(LayerStatus::On), true);
        assert!(
            !hint.contains("--write") && hint.contains("`[sandbox] write`"),
            "{hint}"
        );
        let (_, hint) = denied(&layers(LayerStatus::On), false);
        assert!(
            hint.contains("`--write`") && hint.contains("`[sandbox] write`"),
            "{hint}"
        );
    }
}
