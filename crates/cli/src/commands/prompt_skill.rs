//! `prowess prompt --skill`: prints what a model receives when it loads a skill.

use crate::output::{Exit, Failure, Printer};
use crate::runtime_setup::{self, Setup};
use prowess::{Activation, ActivationRequest, RuntimeError, SkillSnapshot, activate};
use prowess_catalog::visibility::{Audience, LookupRefusal};
use prowess_diag::{FileReport, sanitize, wording};
use prowess_render::{Arguments, Compat};
use prowess_tools::{ActivationError, Execution, ExpandError, Loaded, read};
use serde_json::Value;

use crate::args::GlobalArgs;
use crate::commands::prompt::PromptArgs;
use crate::commands::run::failure;
use crate::env::Environment;
use crate::visible_skills::{self, Library};
use crate::{packages, permissions};

pub(crate) fn run(
    name: &str,
    args: &PromptArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    let mut context = Setup::new(library, args.agent.as_deref(), environment)?.context();
    // Viewing a skill is not recorded as use.
    context.services.usage = None;
    if let Some(word) = &args.compat {
        context.settings.compat = Compat::parse(word).ok_or_else(|| {
            Failure::new(format!("invalid value `{word}` for `--compat`"))
                .hint("expected `claude-code`, `agentick` or `goose`")
        })?;
    }
    let request = ActivationRequest {
        execution: if args.no_exec {
            Execution::Show
        } else {
            Execution::Run
        },
        arguments: arguments(args)?,
    };
    let resolved = context.resolve(name, Audience::Person);
    let skill = match resolved.map_err(ActivationError::NotFound) {
        Ok(skill) => skill,
        Err(error) => return refused(name, error, None, environment, printer),
    };
    let given = request.arguments.raw().unwrap_or_default();
    if let Err(decision) = context.permit_user(&skill, false, given) {
        let skill = skill.name().into();
        let decision = Box::new(decision);
        return Err(failure(&RuntimeError::Denied { skill, decision }));
    }
    let skill = match read(&context, &skill) {
        Ok(skill) => skill,
        Err(error) => return refused(name, error, None, environment, printer),
    };
    // Other runtimes accept any name.
    if context.settings.compat == Compat::Prowess {
        runtime_setup::check_pairs(&skill, &args.arg)?;
    }
    let activation = match activate(&context, &Loaded::default(), &skill, &request) {
        Ok(activation) => activation,
        Err(error) => return refused(name, error, Some(&skill), environment, printer),
    };
    if context.settings.compat == Compat::Prowess {
        runtime_setup::note_missing(&skill, &request.arguments, printer);
    }
    if args.json {
        printer.json(&prowess::inspect::activation(&activation))?;
        return Ok(Exit::Done);
    }
    printer.foreign(&activation.text())?;
    report(&activation, printer);
    Ok(Exit::Done)
}

fn arguments(args: &PromptArgs) -> Result<Arguments, Failure> {
    let text = args.arguments.as_deref();
    Ok(
        match runtime_setup::arguments(text, args.args_json.as_deref(), &args.arg)? {
            Value::Null if args.args_json.is_none() => Arguments::none(),
            Value::String(text) if args.arguments.is_some() => Arguments::from_text(text),
            value => Arguments::from_json(value),
        },
    )
}

/// Reports why the skill cannot be shown. Denied commands have their own exit code.
fn refused(
    name: &str,
    error: ActivationError,
    skill: Option<&SkillSnapshot>,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    match error {
        ActivationError::Unsafe { name, diagnostics } => {
            let path = skill.map(|skill| skill.skill.location.path());
            let path = crate::targets::display(&path.unwrap_or_default(), environment);
            let text = skill.map_or("", |skill| &*skill.document.text);
            let report = FileReport {
                path,
                text: Some(text.into()),
                diagnostics,
            };
            let failure = Failure::new(format!("skill `{name}` is not safe to use"))
                .hint("its arguments would be run as shell code; use the form shown above");
            Err(Failure {
                report: Some(Box::new(report)),
                ..failure
            })
        }
        ActivationError::NotFound(
            refusal @ (LookupRefusal::NotFound(_) | LookupRefusal::OtherVersion { .. }),
        ) => Err(visible_skills::refused(&refusal)),
        ActivationError::Package { fault } => Err(packages::refusal(&fault)),
        ActivationError::NotFound(refusal) => {
            let command = wording::command(["prowess", "why", name]);
            Err(Failure::new(refusal.to_string()).hint(format!("run {command}")))
        }
        ActivationError::Command(ExpandError::Denied { command, decision }) => {
            let mut failure =
                Failure::new(format!("`{}` is not permitted", sanitize::line(&command)))
                    .cause(permissions::explain(&decision));
            if let Some(remedy) = &decision.remedy {
                failure = failure.hint(sanitize::line(&remedy.to_string()).into_owned());
            }
            printer.error(
                &failure.hint("use `--no-exec` to show the skill without running its commands"),
            );
            Ok(Exit::Denied)
        }
        ActivationError::Command(ExpandError::Failed {
            command,
            how,
            output,
        }) => {
            printer.aside(&sanitize::block(&format!("{}\n", output.trim_end())));
            Err(
                Failure::new(format!("`{}` failed: {how}", sanitize::line(&command))).hint(
                    "a skill is only loaded if its commands succeed; append `|| true` to make one optional",
                ),
            )
        }
        error => Err(Failure::new(
            sanitize::block(&error.to_string()).into_owned(),
        )),
    }
}

fn report(activation: &Activation, printer: &Printer) {
    for line in prowess::inspect::activation_report(activation) {
        printer.status(&sanitize::line(&line));
    }
    if activation.report.unbalanced.is_some() {
        printer.warn("unbalanced quotation mark in the arguments, used literally");
    }
}
