//! `prowess diff`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, wording};
use prowess_package::operations::OperationError;
use prowess_package::operations::PackageContext;
use prowess_package::operations::{PackageFileChange, diff_folders, diff_installed, history};
use prowess_package::{LockFile, PackageError};
use serde_json::{Value, json};

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};

#[derive(Debug, Args)]
#[command(
    about = "Show how a package differs from the lockfile, or from another version\n\nExits with 1 if there are differences.",
    after_help = "\
Examples:
  prowess diff pdf               installed files against the lockfile
  prowess diff pdf --to 1.4.2    the locked version against an earlier one"
)]
pub(crate) struct DiffArgs {
    /// The package
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::packages))]
    name: String,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Compare the locked version with this one of the history: a version or a digest
    #[arg(long, value_name = "VERSION|DIGEST")]
    to: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &DiffArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let changes = match &args.to {
        None => diff_installed(&context, &args.name),
        Some(to) => earlier(&context, &args.name, to),
    };
    let changes = changes.map_err(|error| failure(&error))?;
    let exit = if changes.is_empty() {
        Exit::Done
    } else {
        Exit::No
    };
    if args.json {
        let files: Vec<Value> = changes.iter().map(describe).collect();
        printer.json(&json!({ "schema": packages::SCHEMA, "name": args.name, "files": files }))?;
        return Ok(exit);
    }
    for change in &changes {
        match &change.text {
            Some(text) => printer.diff(text)?,
            None => printer.answer(&format!("{} differs\n", sanitize::line(&change.path)))?,
        }
    }
    printer.status(&match changes.len() {
        0 => "No differences".to_owned(),
        1 => "1 file differs".to_owned(),
        count => format!("{} differ", wording::count(count, "file")),
    });
    Ok(exit)
}

/// Compares the locked version of a package with an earlier one.
fn earlier(
    context: &PackageContext,
    name: &str,
    to: &str,
) -> Result<Vec<PackageFileChange>, PackageError> {
    let texts = context.texts()?;
    let none = || OperationError::NoPackage {
        name: name.to_owned(),
    };
    let locked = texts.lock.get(name).ok_or_else(none)?;
    let digest = locked.digest.as_deref().ok_or_else(none)?;
    let current = context.store.tree(digest)?;
    for entry in history(context)? {
        let Ok(lock) = LockFile::parse(&entry.lock) else {
            continue;
        };
        let Some(old) = lock.get(name) else {
            continue;
        };
        let is_meant = old.version.as_deref() == Some(to)
            || old
                .digest
                .as_deref()
                .is_some_and(|digest| digest.starts_with(to));
        if let Some(digest) = old.digest.as_deref().filter(|_| is_meant) {
            return diff_folders(&context.store.tree(digest)?, &current);
        }
    }
    Err(OperationError::NoHistory {
        of: Some(to.to_owned()),
    }
    .into())
}

fn describe(change: &PackageFileChange) -> Value {
    let digest =
        |file: &Option<prowess_package::LockedFile>| file.as_ref().map(|file| file.digest.clone());
    json!({
        "path": change.path,
        "old": digest(&change.old),
        "new": digest(&change.new),
        "added": change.lines.map(|(added, _)| added),
        "removed": change.lines.map(|(_, removed)| removed),
    })
}
