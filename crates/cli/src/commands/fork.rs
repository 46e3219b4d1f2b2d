//! `prowess fork`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, wording};
use prowess_package::operations::{apply, plan_fork, plan_restore};
use serde_json::json;

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Turn a package or a bundled skill into a skill of your own\n\nA package leaves the manifest and the lockfile; its files become an ordinary folder, with the changes made to them, and the lockfile keeps a record of where they came from. `prowess update` merges new versions into it.",
    after_help = "\
Examples:
  prowess fork pdf               keep your changes
  prowess fork prowess --user    edit a bundled skill
  prowess fork pdf --json        print JSON"
)]
pub(crate) struct ForkArgs {
    /// The package, or a bundled skill
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::forkable))]
    name: String,
    /// Write a fork again that was removed
    #[arg(long)]
    restore: bool,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &ForkArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let plan = if args.restore {
        plan_restore(&context, &args.name)
    } else {
        plan_fork(&context, &args.name)
    };
    let plan = plan.map_err(|error| failure(&error))?;
    apply(&context, &plan).map_err(|error| failure(&error))?;
    let path = targets::display(&context.scope.skills.join(&args.name), environment);
    if args.json {
        printer.json(&json!({ "schema": packages::SCHEMA, "name": args.name, "path": path }))?;
        return Ok(Exit::Done);
    }
    printer.status(&format!(
        "{} is yours now: edit {}",
        wording::tick(sanitize::line(&args.name)),
        sanitize::line(&path)
    ));
    Ok(Exit::Done)
}
