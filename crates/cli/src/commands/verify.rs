//! `prowess verify`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, theme, wording};
use prowess_package::lock::LockedFile;
use prowess_package::operations::{VerifyFinding, verify};
use serde_json::{Value, json};

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, ScopeArgs, failure};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Compare manifest, lockfile, store and installed files\n\nReads every file. Exits with 1 if anything differs.",
    after_help = "\
Examples:
  prowess verify           check all packages of the project
  prowess verify pdf       check one
  prowess verify --json    print JSON"
)]
pub(crate) struct VerifyArgs {
    /// Names of packages (default: all)
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::packages))]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &VerifyArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let report = verify(&context, &names).map_err(|error| failure(&error))?;
    let exit = if report.findings.is_empty() {
        Exit::Done
    } else {
        Exit::No
    };
    if args.json {
        let findings: Vec<Value> = report.findings.iter().map(describe).collect();
        printer.json(&json!({ "schema": packages::SCHEMA, "packages": report.packages, "findings": findings }))?;
        return Ok(exit);
    }
    let mut differing: Vec<&str> = report.findings.iter().map(VerifyFinding::name).collect();
    differing.dedup();
    for finding in &report.findings {
        printer.answer(&text(finding, environment))?;
    }
    if report.findings.is_empty() {
        printer.status(&format!(
            "{} as locked",
            wording::count(report.packages, "package")
        ));
        return Ok(exit);
    }
    let of = wording::count(report.packages, "package");
    printer.status(&format!(
        "{} of {of} {}",
        wording::thousands(differing.len()),
        if differing.len() == 1 {
            "differs"
        } else {
            "differ"
        }
    ));
    if let [name, ..] = &*differing {
        let diff = wording::command(["prowess", "diff", name]);
        let fork = wording::command(["prowess", "fork", name]);
        printer.status(&format!(
            "see it with {diff}, undo it with `prowess sync`, keep it with {fork}"
        ));
    }
    Ok(exit)
}

fn about(finding: &VerifyFinding) -> (&'static str, String) {
    let name = wording::tick(sanitize::line(finding.name()));
    match finding {
        VerifyFinding::NotLocked { .. } => (
            "package-not-locked",
            format!("{name} is not in the lockfile"),
        ),
        VerifyFinding::NotWanted { .. } => (
            "package-not-wanted",
            format!("{name} is not in the manifest"),
        ),
        VerifyFinding::Unsatisfied { difference, .. } => (
            "package-unsatisfied",
            format!(
                "{name} is not what the manifest wants: {} differs",
                difference.as_str()
            ),
        ),
        VerifyFinding::Unsigned { .. } => (
            "package-unsigned",
            format!("{name} needs a signature, and none was checked on this machine"),
        ),
        VerifyFinding::StoreChanged { .. } => (
            "store-changed",
            format!("the files of {name} in the store changed"),
        ),
        VerifyFinding::NotStored { .. } => (
            "package-not-stored",
            format!("the store does not have {name}"),
        ),
        VerifyFinding::NotInstalled { .. } => {
            ("package-not-installed", format!("{name} is not installed"))
        }
        VerifyFinding::Foreign { .. } => (
            "package-replaced",
            format!("{name} was replaced by something else"),
        ),
        VerifyFinding::File { .. } => (
            "package-changed",
            format!("{name} is not what the lockfile says"),
        ),
        _ => ("package", format!("{name} differs")),
    }
}

fn text(finding: &VerifyFinding, environment: &Environment) -> String {
    let bad = theme::bold(theme::BAD);
    let (id, message) = about(finding);
    let mut text = format!("{bad}error[{id}]{bad:#}: {message}\n");
    let path = match finding {
        VerifyFinding::File { path, .. } | VerifyFinding::Foreign { path, .. } => Some(path),
        _ => None,
    };
    if let Some(path) = path {
        let shown = targets::display(path, environment);
        text.push_str(&format!("  --> {}\n", sanitize::line(&shown)));
    }
    if let VerifyFinding::File { locked, found, .. } = finding {
        let facts = |file: &Option<LockedFile>| match file {
            None => "absent".to_owned(),
            Some(file) => {
                let digest: String = file.digest.chars().take(19).collect();
                format!("{digest}… {} bytes, {}", file.size, file.kind.as_str())
            }
        };
        text.push_str(&format!(
            "  locked  {}\n  found   {}\n",
            facts(locked),
            facts(found)
        ));
    }
    text
}

fn describe(finding: &VerifyFinding) -> Value {
    let (id, message) = about(finding);
    let mut value = json!({ "rule": id, "name": finding.name(), "message": message });
    match finding {
        VerifyFinding::Foreign { path, .. } => value["path"] = json!(path),
        VerifyFinding::File {
            path,
            locked,
            found,
            ..
        } => {
            let digest = |file: &Option<LockedFile>| file.as_ref().map(|file| file.digest.clone());
            value["path"] = json!(path);
            value["locked"] = json!(digest(locked));
            value["found"] = json!(digest(found));
        }
        _ => {}
    }
    value
}
