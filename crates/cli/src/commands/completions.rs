//! `prowess completions`, and what is completed at run time.

use clap::CommandFactory;
use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use prowess_catalog::Precedence;
use prowess_diag::{sanitize, suggest, wording};
use prowess_lint::rules::RULES;
use prowess_registry::{FileOptions, Registry};

use crate::args::{Cli, CompletionsArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;

/// Longest help beside a candidate.
const LONGEST_HELP: usize = 80;

/// Prints the script of a shell.
pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> Result<Exit, CliError> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let known: Vec<&str> = shells.names().collect();
        let error = CliError::new(format!(
            "no completions for {}: it is {}",
            wording::tick(&args.shell),
            wording::either(known.iter().map(wording::tick))
        ));
        return Err(match suggest::nearest(&args.shell, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `prowess completions {near}`?")),
            None => error,
        });
    };
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "prowess", "prowess", "prowess", &mut script)
        .map_err(|error| CliError::new("cannot write the script").cause(error))?;
    printer.verbatim(&script)?;
    Ok(Exit::Done)
}

/// Answers a shell that asks what may come next. Tells whether one asked.
pub(crate) fn answer(environment: &Environment) -> bool {
    let arguments = environment.arguments.iter().cloned();
    let complete = CompleteEnv::with_factory(Cli::command);
    complete.try_complete(arguments, Some(&environment.current)).unwrap_or(true)
}

/// Names of the skills that are visible from here.
pub(crate) fn skill_names() -> Vec<CompletionCandidate> {
    let environment = Environment::read();
    let options = FileOptions { cache: environment.cache_folder(), ..FileOptions::default() };
    let registry = Registry::open(environment.place(), options, Precedence::default());
    let catalog = registry.snapshot();
    let candidate = |entry: &prowess_catalog::Entry| {
        let help = wording::shorten(&entry.skill.listing_text(), LONGEST_HELP);
        CompletionCandidate::new(entry.name()).help(Some(sanitize::line(&help).into_owned().into()))
    };
    catalog.listed().map(candidate).collect()
}

/// Names of the rules.
pub(crate) fn rule_names() -> Vec<CompletionCandidate> {
    let candidate = |rule: &prowess_lint::rules::Rule| {
        CompletionCandidate::new(rule.id).help(Some(rule.summary.to_owned().into()))
    };
    RULES.iter().map(candidate).collect()
}
