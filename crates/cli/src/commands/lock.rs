//! `prowess lock`

use clap::Args;
use prowess_diag::wording;
use prowess_package::operations::{apply, plan_lock};
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, AcceptArgs, ScopeArgs, failure};

#[derive(Debug, Args)]
#[command(
    about = "Resolve the manifest and write the lockfile, without installing\n\nA lockfile with the markers of a merge is united: packages on which both sides agree are kept, others are resolved again.\n\nA new version of a locked package that may do more is asked about; without a terminal it needs `--accept-power`.",
    after_help = "\
Examples:
  prowess lock            write `prowess.lock`
  prowess lock --check    exit with 1 if it would change"
)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    accept: AcceptArgs,
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
    let accepted = args.accept.changes();
    let plan = plan_lock(&context, accepted).map_err(|error| failure(&error))?;
    let is_current = plan.is_empty();
    let powers = packages::powers(&plan, &context)?;
    let scans = packages::scans(&plan, &context);
    if !args.json {
        packages::show_changes(&plan, &powers, &scans, printer)?;
    }
    if !args.check {
        packages::check_scans(&scans, &args.accept.accept)?;
        let take = args.accept.may_take(&plan, &powers, args.json, &["lock"])?;
        if !take {
            printer.status("The lockfile was not changed");
            return Ok(Exit::No);
        }
        apply(&context, &plan).map_err(|error| failure(&error))?;
    }
    let exit = if args.check && !is_current {
        Exit::No
    } else {
        Exit::Done
    };
    if args.json {
        let changes = packages::plan_document(&plan, &powers);
        printer.json(
            &json!({ "schema": packages::SCHEMA, "current": is_current, "changes": changes }),
        )?;
        return Ok(exit);
    }
    packages::print_notes(&plan, environment, printer);
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
