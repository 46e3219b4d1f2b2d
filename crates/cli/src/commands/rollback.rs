//! `prowess rollback`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, wording};
use prowess_package::operations::{RollbackTarget, apply, history, plan_rollback};
use serde_json::{Value, json};

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};
use crate::usage_store;

#[derive(Debug, Args)]
#[command(
    about = "Go back to the packages of before\n\nRestores the lockfile that the last command replaced, from the store, without a network. The last 20 lockfiles are kept.",
    after_help = "\
Examples:
  prowess rollback                   undo the last change of packages
  prowess rollback pdf --to 1.4.2    an earlier version of one package
  prowess rollback --list            list what can be restored"
)]
pub(crate) struct RollbackArgs {
    /// One package (default: all)
    #[arg(value_name = "NAME", conflicts_with = "list", add = ArgValueCandidates::new(completions::packages))]
    name: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// The version or digest to go back to
    #[arg(long, value_name = "VERSION|DIGEST", conflicts_with = "list")]
    to: Option<String>,
    /// List earlier states and change nothing
    #[arg(long)]
    list: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &RollbackArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    if args.list {
        let entries = history(&context).map_err(|error| failure(&error))?;
        if args.json {
            let states: Vec<Value> = entries
                .iter()
                .map(|entry| json!({ "number": entry.number, "before": entry.command, "time": entry.time }))
                .collect();
            printer.json(&json!({ "schema": packages::SCHEMA, "states": states }))?;
            return Ok(Exit::Done);
        }
        let now = usage_store::now() / 1_000_000_000;
        for entry in &entries {
            let count = entry.parsed().map_or(0, |lock| lock.packages.len());
            printer.answer(&format!(
                "{}  before `{}`, {}\n",
                wording::ago(now, entry.time),
                sanitize::line(&entry.command),
                wording::count(count, "package")
            ))?;
        }
        if entries.is_empty() {
            printer.status("No earlier states");
        }
        return Ok(Exit::Done);
    }
    let target = RollbackTarget {
        name: args.name.clone(),
        to: args.to.clone(),
    };
    let plan = plan_rollback(&context, &target).map_err(|error| failure(&error))?;
    let document = packages::plan_document(&plan, &packages::powers(&plan, &context)?);
    apply(&context, &plan).map_err(|error| failure(&error))?;
    if args.json {
        printer.json(&json!({ "schema": packages::SCHEMA, "changes": document }))?;
        return Ok(Exit::Done);
    }
    packages::print_changes(&plan, printer);
    Ok(Exit::Done)
}
