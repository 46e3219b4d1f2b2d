//! `prowess prompt --skill`: what a model receives of one skill.

use std::sync::Arc;

use crate::output::{Exit, Printer};
use crate::setup;
use prowess::{Activation, Given, Workshop, activate};
use prowess_catalog::visibility::LookupRefusal;
use prowess_diag::{FileReport, sanitize};
use prowess_render::{Arguments, Compat};
use prowess_store::SystemClock;
use prowess_tools::{ActivationError, Execution, ExpandError};
use prowess_traits::CommandRunner;
use serde_json::Value;

use crate::args::{GlobalArgs, PromptArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::library::{self, Library};
use crate::permissions::{self, Terminal};

pub(crate) fn run(
    name: &str,
    args: &PromptArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let library = Library::open(global, environment, printer)?;
    let mut workshop = workshop(&library, args.agent.as_deref(), environment)?;
    if let Some(word) = &args.compat {
        workshop.settings.compat = Compat::parse(word).ok_or_else(|| {
            CliError::new(format!("`--compat` does not know `{word}`"))
                .hint("it is `claude-code`, `agentick` or `goose`")
        })?;
    }
    let given = Given {
        execution: if args.no_exec {
            Execution::Show
        } else {
            Execution::Run
        },
        ..Given::by_person(arguments(args)?)
    };
    let activation = match activate(&workshop, name, &given) {
        Ok(activation) => activation,
        Err(error) => return refused(name, error, &library, environment, printer),
    };
    let source = library
        .registry
        .text(&activation.skill.id)
        .unwrap_or_default();
    let source = String::from_utf8_lossy(&source).into_owned();
    if args.json {
        printer.json(&prowess::inspect::activation(&activation, &source))?;
        return Ok(Exit::Done);
    }
    if printer.width().is_some() {
        printer.answer(&sanitize::block(&activation.text))?;
    } else {
        printer.verbatim(activation.text.as_bytes())?;
    }
    report(&activation, &source, printer);
    Ok(Exit::Done)
}

/// A workshop for commands: this program runs what is approved, and asks on the terminal.
pub(crate) fn workshop(
    library: &Library,
    agent: Option<&str>,
    environment: &Environment,
) -> Result<Workshop, CliError> {
    let visibility = library.policy(agent)?;
    let host = permissions::host(environment);
    let mut workshop = host.workshop(
        &library.registry,
        &library.config,
        visibility,
        Arc::new(SystemClock),
    );
    workshop.approver = Arc::new(Terminal);
    workshop.runner = environment
        .runner()
        .map(|runner| Arc::new(runner) as Arc<dyn CommandRunner>);
    Ok(workshop)
}

fn arguments(args: &PromptArgs) -> Result<Arguments, CliError> {
    let text = args.arguments.as_deref();
    Ok(
        match setup::arguments(text, args.args_json.as_deref(), &args.arg)? {
            Value::Null if args.args_json.is_none() => Arguments::none(),
            Value::String(text) if args.arguments.is_some() => Arguments::from_text(text),
            value => Arguments::from_json(value),
        },
    )
}

/// Says why there is nothing to show. What the gate refused has an exit code of its own.
fn refused(
    name: &str,
    error: ActivationError,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    match error {
        ActivationError::Unsafe { name, diagnostics } => {
            let catalog = library.catalog();
            let text = catalog.resolve(&name).ok().and_then(|entry| {
                let text = library.registry.text(&entry.skill.id).ok()?;
                Some((
                    entry.skill.location.to_string(),
                    String::from_utf8_lossy(&text).into_owned(),
                ))
            });
            let (path, text) = text.unwrap_or_default();
            let path = super::targets::display(std::path::Path::new(&path), environment);
            let report = FileReport {
                path,
                text: Some(text.into()),
                diagnostics,
            };
            let failure = CliError::new(format!("the skill `{name}` cannot be used safely"))
                .hint("its arguments would reach a shell as code; write the form that is shown");
            Err(CliError {
                report: Some(Box::new(report)),
                ..failure
            })
        }
        ActivationError::NotFound(LookupRefusal::NotFound(fault)) => {
            Err(library::not_found(&fault))
        }
        ActivationError::NotFound(refusal) => {
            Err(CliError::new(refusal.to_string()).hint(format!("see `prowess why {name}`")))
        }
        ActivationError::Command(ExpandError::Denied { command, decision }) => {
            let mut failure = CliError::new(format!("`{}` may not run", sanitize::line(&command)))
                .cause(permissions::explain(&decision));
            if let Some(remedy) = &decision.remedy {
                failure = failure.hint(sanitize::line(remedy).into_owned());
            }
            printer.error(&failure.hint("`--no-exec` shows the skill without running anything"));
            Ok(Exit::Denied)
        }
        ActivationError::Command(ExpandError::Failed {
            command,
            how,
            output,
        }) => {
            printer.aside(&sanitize::block(&format!("{}\n", output.trim_end())));
            Err(
                CliError::new(format!("`{}` failed: {how}", sanitize::line(&command))).hint(
                    "a skill is loaded only if its commands end well; `|| true` makes one optional",
                ),
            )
        }
        error => Err(CliError::new(
            sanitize::block(&error.to_string()).into_owned(),
        )),
    }
}

fn report(activation: &Activation, source: &str, printer: &Printer) {
    for line in prowess::inspect::activation_report(activation, source) {
        printer.status(&sanitize::line(&line));
    }
    if activation.report.unbalanced.is_some() {
        printer.warn("a quotation mark in the arguments has no partner and was taken as it is");
    }
}
