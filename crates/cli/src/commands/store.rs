//! `prowess store`

use clap::{Args, Subcommand};
use prowess_diag::{sanitize, wording};
use prowess_package::operations::prune;
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, failure};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Show and clean the store of packages\n\nThe store has the files of every installed version once, for all projects.",
    after_help = "\
Examples:
  prowess store show     show where it is and what it has
  prowess store prune    remove what no lockfile and no history needs"
)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    Show(StoreShowArgs),
    Prune(StorePruneArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "Show where the store is and how many packages it has",
    after_help = "\
Examples:
  prowess store show
  prowess store show --json"
)]
struct StoreShowArgs {
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Remove packages that no lockfile and no history of a known project needs",
    after_help = "\
Examples:
  prowess store prune            keep what the last 20 lockfiles of each project name
  prowess store prune --edits    also remove old texts of forked skills"
)]
struct StorePruneArgs {
    /// Also remove the old texts of forked skills
    #[arg(long)]
    edits: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &StoreArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = packages::context(false, true, environment, printer)?;
    match &args.command {
        StoreCommand::Show(args) => {
            let digests = context.store.digests();
            let digests = digests.map_err(|error| failure(&error.into()))?;
            let root = context.store.root();
            if args.json {
                printer.json(
                    &json!({ "schema": packages::SCHEMA, "folder": root, "packages": digests }),
                )?;
                return Ok(Exit::Done);
            }
            let shown = targets::display(root, environment);
            printer.answer(&format!(
                "{}  {}\n",
                sanitize::line(&shown),
                wording::count(digests.len(), "package")
            ))?;
        }
        StoreCommand::Prune(args) => {
            let report = prune(&context.store, &context.state, args.edits);
            let report = report.map_err(|error| failure(&error))?;
            if args.json {
                printer.json(&json!({ "schema": packages::SCHEMA, "removed": report.removed, "kept": report.kept, "bytes": report.bytes }))?;
                return Ok(Exit::Done);
            }
            printer.status(&format!(
                "Removed {} of {}, {}",
                wording::thousands(report.removed.len()),
                wording::count(report.removed.len() + report.kept, "package"),
                wording::size(report.bytes)
            ));
        }
    }
    Ok(Exit::Done)
}
