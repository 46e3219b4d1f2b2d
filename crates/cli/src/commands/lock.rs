//! `prowess lock`

use clap::Args;
use prowess_diag::wording;
use prowess_package::operations::{apply, plan_lock};
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};

#[derive(Debug, Args)]
#[command(
    about = "Resolve the manifest and write the lockfile, without installing\n\nA lockfile with the markers of a merge is united: packages on which both sides agree are kept, others are resolved again.",
    after_help = "\
Examples:
  prowess lock            write `prowess.lock`
  prowess lock --check    exit with 1 if it would change"
)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Write nothing, and exit with 1 if the lockfile would change
    #[arg(long)]
    check: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &LockArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let plan = plan_lock(&context).map_err(|error| failure(&error))?;
    let is_current = plan.is_empty();
    if !args.check {
        apply(&context, &plan).map_err(|error| failure(&error))?;
    }
    let exit = if args.check && !is_current {
        Exit::No
    } else {
        Exit::Done
    };
    if args.json {
        let changes = packages::plan_document(&plan, &context)?;
        printer.json(
            &json!({ "schema": packages::SCHEMA, "current": is_current, "changes": changes }),
        )?;
        return Ok(exit);
    }
    packages::print_notes(&plan, printer);
    packages::print_changes(&plan, printer);
    printer.status(&match (is_current, args.check) {
        (true, _) => "The lockfile is current".to_owned(),
        (false, true) => "The lockfile would change; write it with `prowess lock`".to_owned(),
        (false, false) => format!(
            "Wrote the lockfile, {}; install with `prowess sync`",
            wording::count(plan.changes.len(), "change")
        ),
    });
    Ok(exit)
}
