//! `prowess sync`

use clap::Args;
use prowess_diag::wording;
use prowess_package::operations::{SyncOptions, apply, plan_sync};
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, Progress};
use crate::packages::{self, AcceptArgs, ScopeArgs, failure};

#[derive(Debug, Args)]
#[command(
    about = "Install exactly what the lockfile names\n\nPackages that the lockfile lacks are resolved and added to it; those that the manifest no longer names are removed. Changed files are restored. If the store has everything, neither git nor a network is needed.\n\nA new version of a locked package that may do more is asked about, as by `prowess update`; without a terminal it needs `--accept-power`.",
    after_help = "\
Examples:
  prowess sync              after a pull
  prowess sync --frozen     in CI: fail if the lockfile does not match
  prowess sync --offline    use the store and the cache only"
)]
pub(crate) struct SyncArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    accept: AcceptArgs,
    /// Fail if the lockfile does not match the manifest, and change no file of the project
    #[arg(long, alias = "locked")]
    frozen: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &SyncArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let progress = Progress::new(printer);
    let options = SyncOptions {
        frozen: args.frozen,
        verify_store: true,
        accepted: args.accept.changes(),
    };
    let plan = plan_sync(&context, options).map_err(|error| failure(&error))?;
    let powers = packages::powers(&plan, &context)?;
    let scans = packages::scans(&plan, &context);
    if !args.json {
        packages::show_changes(&plan, &powers, &scans, printer)?;
    }
    packages::print_notes(&plan, environment, printer);
    packages::check_scans(&scans, &args.accept.accept)?;
    let take = args.accept.may_take(&plan, &powers, args.json, &["sync"])?;
    if !take {
        printer.status("Nothing was changed");
        return Ok(Exit::No);
    }
    let (fetched, changed) = (plan.fetched(), plan.changes.len());
    apply(&context, &plan).map_err(|error| failure(&error))?;
    let texts = context.texts().map_err(|error| failure(&error))?;
    let packages = texts.lock.packages.len();
    let linked = plan.relinked() + changed;
    if args.json {
        printer.json(&json!({
            "schema": packages::SCHEMA,
            "packages": packages,
            "installed": linked,
            "fetched": fetched,
        }))?;
        return Ok(Exit::Done);
    }
    if packages == 0 && texts.manifest.packages.is_empty() {
        printer.status("No packages; add one with `prowess add SOURCE NAME`");
        return Ok(Exit::Done);
    }
    printer.status(&format!(
        "{} as locked, {} installed, {} fetched, in {}",
        wording::count(packages, "package"),
        wording::thousands(linked),
        wording::thousands(fetched),
        progress.elapsed()
    ));
    Ok(Exit::Done)
}
