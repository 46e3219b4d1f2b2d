//! `prowess update` and `prowess outdated`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, wording};
use prowess_package::operations::{self, PackagePlan, UpdateOptions, apply, plan_update};
use serde_json::json;

use crate::commands::completions;
use crate::commands::fork_upgrades::{self, ForkAnswers};
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, AcceptArgs, PackagePower, ScopeArgs, failure};
use crate::permissions;

#[derive(Debug, Args)]
#[command(
    about = "Update packages to the newest versions that the manifest allows\n\nShows what each new version may do more than the old one, and how many lines changed. An update that may do more is asked about; without a terminal it needs `--accept-power`. Every update ends trust.\n\nForks are updated as well: a new version replaces a text that you did not edit, and is merged with `--merge` into one that you did.",
    after_help = "\
Examples:
  prowess update              update all packages
  prowess update pdf          update one
  prowess update --dry-run    show the updates, change nothing"
)]
pub(crate) struct UpdateArgs {
    /// Names of packages (default: all)
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::packages))]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Show the updates and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Merge new versions into forks that you edited
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    accept: AcceptArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "List packages that could be updated\n\nExits with 1 if there are any.",
    after_help = "\
Examples:
  prowess outdated           list updates that the manifest allows
  prowess outdated --json    print JSON"
)]
pub(crate) struct OutdatedArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &UpdateArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let accepted = args.accept.changes();
    let answers = ForkAnswers {
        accepted,
        power: args.accept.accept_power,
        rules: &args.accept.accept,
        merge: args.merge,
        dry_run: args.dry_run,
        is_json: args.json,
    };
    let forks = fork_upgrades::run(&context, &args.names, answers, environment, printer)?;
    let is_fork = |name: &&String| forks.names.contains(*name);
    let names: Vec<String> = args
        .names
        .iter()
        .filter(|name| !is_fork(name))
        .cloned()
        .collect();
    let exit = if forks.refused.is_empty() {
        Exit::Done
    } else {
        Exit::Denied
    };
    if names.is_empty() && !args.names.is_empty() {
        if args.json {
            printer.json(&json!({ "schema": packages::SCHEMA, "changes": [], "forks": forks.documents, "installed": false }))?;
        } else if forks.news == 0 {
            printer.status("Everything is up to date");
        }
        return Ok(exit);
    }
    let plan = |names: Vec<String>| {
        let options = UpdateOptions { names, accepted };
        plan_update(&context, &options).map_err(|error| failure(&error))
    };
    let mut planned = plan(names)?;
    let mut powers = packages::powers(&planned, &context)?;
    let document = packages::plan_document(&planned, &powers);
    if !args.json {
        show(&planned, &powers, printer)?;
        packages::print_notes(&planned, environment, printer);
    }
    if planned.is_empty() || args.dry_run {
        if args.json {
            printer.json(
                &json!({ "schema": packages::SCHEMA, "changes": document, "forks": forks.documents, "installed": false }),
            )?;
        } else if planned.is_empty() && forks.news == 0 {
            printer.status("Everything is up to date");
        }
        return Ok(exit);
    }
    let more =
        |powers: &[PackagePower]| powers.iter().filter(|one| one.difference.is_more()).count();
    if more(&powers) > 0 && !args.accept.accept_power {
        let counts = format!(
            "{}, {} may do more",
            wording::count(planned.changes.len(), "update"),
            more(&powers)
        );
        let answer = if args.json {
            None
        } else {
            let all = planned.changes.iter().zip(&powers);
            let all: Vec<_> = all
                .filter(|(_, power)| power.difference.is_more())
                .collect();
            let question = format!(
                "{}{counts}. Take all, only the same power, or none?",
                packages::power_reminder(&all)
            );
            permissions::ask(&question, "a/s/N")
        };
        match answer.as_deref() {
            Some("a" | "all") => {}
            Some("s" | "same") => {
                let names: Vec<String> = (planned.changes.iter().zip(&powers))
                    .filter(|(_, power)| !power.difference.is_more())
                    .map(|(change, _)| change.name.clone())
                    .collect();
                if names.is_empty() {
                    printer.status("Nothing was updated");
                    return Ok(Exit::No);
                }
                planned = plan(names)?;
                powers = packages::powers(&planned, &context)?;
                if more(&powers) > 0 {
                    return Err(
                        Failure::new("the source changed while the updates were shown")
                            .hint("run `prowess update` again"),
                    );
                }
            }
            Some(_) => {
                printer.status("Nothing was updated");
                return Ok(Exit::No);
            }
            None => {
                let mut words = vec!["update"];
                words.extend(args.names.iter().map(String::as_str));
                return Err(packages::refused_power(&counts, &words));
            }
        }
    }
    let scans = packages::scans(&planned, &context);
    packages::check_scans(&scans, &args.accept.accept)?;
    apply(&context, &planned).map_err(|error| failure(&error))?;
    if args.json {
        printer
            .json(&json!({ "schema": packages::SCHEMA, "changes": document, "forks": forks.documents, "installed": true }))?;
        return Ok(exit);
    }
    for change in &planned.changes {
        if let Some(package) = &change.new {
            let name = sanitize::line(&package.name);
            printer.status(&format!("+ {name} {}", packages::version(package)));
        }
    }
    printer.status("trust ends with every update: see `prowess trust`; undo: `prowess rollback`");
    Ok(exit)
}

pub(crate) fn outdated(
    args: &OutdatedArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let found = operations::outdated(&context).map_err(|error| failure(&error))?;
    let (known, failed): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.newest.is_ok());
    let exit = if !known.is_empty() {
        Exit::No
    } else if failed.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    };
    if args.json {
        let packages = found.iter().map(|one| {
            json!({ "name": one.name, "locked": one.locked, "newest": one.newest.as_ref().ok(), "error": one.newest.as_ref().err().map(ToString::to_string) })
        });
        let packages: Vec<_> = packages.collect();
        printer.json(&json!({ "schema": packages::SCHEMA, "outdated": packages }))?;
        return Ok(exit);
    }
    for one in &known {
        let newest = one.newest.as_deref().unwrap_or_default();
        let locked = one.locked.as_deref().unwrap_or("none");
        printer.answer(&format!(
            "{}  {} → {}\n",
            sanitize::line(&one.name),
            sanitize::line(locked),
            sanitize::line(newest)
        ))?;
    }
    for one in &failed {
        if let Err(error) = &one.newest {
            let error = error.to_string();
            let name = sanitize::line(&one.name);
            printer.warn(&format!("{name}: {}", sanitize::line(&error)));
        }
    }
    printer.status(&match known.len() {
        0 if failed.is_empty() => "Everything is up to date".to_owned(),
        0 => format!(
            "{} cannot be checked",
            wording::count(failed.len(), "package")
        ),
        count => format!(
            "{}; take them with `prowess update`",
            wording::count(count, "update")
        ),
    });
    Ok(exit)
}

fn show(plan: &PackagePlan, powers: &[PackagePower], printer: &Printer) -> Result<(), Failure> {
    let width = printer.list_width();
    for (change, power) in plan.changes.iter().zip(powers) {
        printer.answer(&packages::describe_update(change, power, width))?;
    }
    Ok(())
}
