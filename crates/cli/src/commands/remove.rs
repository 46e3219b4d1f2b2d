//! `prowess remove`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::sanitize;
use prowess_package::operations::{apply, plan_remove};
use serde_json::json;

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};

#[derive(Debug, Args)]
#[command(
    about = "Remove packages from the manifest, the lockfile and the folder of skills\n\nThe files stay in the store until `prowess store prune`, so that `prowess rollback` brings them back without a network.",
    after_help = "\
Examples:
  prowess remove pdf           remove a package of the project
  prowess remove pdf --json    print JSON; undo it with `prowess rollback`"
)]
pub(crate) struct RemoveArgs {
    /// Names of packages
    #[arg(value_name = "NAME", required = true, add = ArgValueCandidates::new(completions::packages))]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &RemoveArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let plan = plan_remove(&context, &names).map_err(|error| failure(&error))?;
    apply(&context, &plan).map_err(|error| failure(&error))?;
    if args.json {
        printer.json(&json!({ "schema": packages::SCHEMA, "removed": names }))?;
        return Ok(Exit::Done);
    }
    for change in &plan.changes {
        let version = change.old.as_ref().map(packages::version);
        printer.status(&format!(
            "- {} {}",
            sanitize::line(&change.name),
            version.unwrap_or_default()
        ));
    }
    printer.status("undo: `prowess rollback`");
    Ok(Exit::Done)
}
