//! `prowess scan`

use std::path::PathBuf;

use clap::Args;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use prowess::validate::{RuleFinding, ValidationOutcome};
use prowess_diag::render::{full, sarif};
use prowess_diag::{theme, wording};
use prowess_scan::FindingPlace;
use serde_json::json;

use super::validate::{self, FindingsArgs, FormatArg, FormattedFinding, ValidateArgs};
use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};

/// The last line if nothing was found.
const NO_PROMISE: &str = "no findings; that is no promise: read a skill before you trust it";

#[derive(Debug, Args)]
#[command(
    about = "Search skills for text to read before you trust them\n\nSearches every file of the skills for commands and sentences that hide, send, download or delete something. A finding is a reason to look, not a verdict: skills about security describe attacks, so text in examples, tables and quotations counts one level less. No finding is no promise.",
    after_help = "\
Exit codes:
  0  no findings at or above `--fail-on`
  1  findings at or above `--fail-on`
  2  the command failed

Examples:
  prowess scan                            search all visible skills
  prowess scan skills --fail-on warning   search a folder, fail on warnings too"
)]
pub(crate) struct ScanArgs {
    /// Folders, SKILL.md files, installed names, or `-` for standard input (default: all visible skills except the bundled one)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) paths: Vec<PathBuf>,
    /// Only apply this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::scan_rule_names))]
    pub(crate) select: Vec<String>,
    /// Skip this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::scan_rule_names))]
    pub(crate) ignore: Vec<String>,
    /// Lowest severity that fails the run: error, warning, note (default: error)
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub(crate) fail_on: Option<String>,
    #[command(flatten)]
    pub(crate) output: FindingsArgs,
}

pub(crate) fn run(
    args: &ScanArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    for name in args.select.iter().chain(&args.ignore) {
        if super::explain::find_any(name)?.scan_id().is_none() {
            let error = Failure::new(format!("`{name}` is a rule of `prowess validate`"));
            return Err(error.hint("list all rules with `prowess explain`"));
        }
    }
    let args = ValidateArgs {
        paths: args.paths.clone(),
        select: args.select.clone(),
        ignore: args.ignore.clone(),
        fail_on: args.fail_on.clone(),
        output: args.output.clone(),
        security: true,
        scan_only: true,
        ..ValidateArgs::default()
    };
    validate::run(&args, global, environment, printer)
}

/// Prints the findings, for people by their place: what a model follows first.
pub(super) fn print(
    outcome: &ValidationOutcome<FormattedFinding>,
    format: FormatArg,
    statistics: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    if statistics {
        return validate::print_statistics(outcome, format, printer);
    }
    let values = outcome
        .findings()
        .filter_map(|finding| match &finding.text {
            FormattedFinding::Json(text) => Some(&**text),
            _ => None,
        });
    match format {
        FormatArg::Full => printer.answer(&by_place(outcome, printer.layout())),
        FormatArg::Concise | FormatArg::Github => {
            let lines = outcome.findings().filter_map(line);
            printer.answer(&lines.map(|line| format!("{line}\n")).collect::<String>())
        }
        FormatArg::Json => {
            let counts = outcome.counts();
            let document = json!({
                "schema": "prowess.scan/1",
                "summary": {
                    "skills": outcome.checked(),
                    "files": outcome.searched,
                    "unsearched": outcome.unsearched,
                    "affected": outcome.files.len(),
                    "errors": counts.errors,
                    "warnings": counts.warnings,
                    "notes": counts.notes,
                },
                "findings": [],
            });
            printer.json_with_list(&document, "findings", values)
        }
        FormatArg::Sarif => {
            let used = validate::rules_of(outcome);
            let document = sarif::log(env!("CARGO_PKG_VERSION"), &used, &[]);
            printer.json_with_list(&document, "results", values)
        }
    }
}

fn line(finding: &RuleFinding<FormattedFinding>) -> Option<&str> {
    match &finding.text {
        FormattedFinding::Line(line) => Some(line),
        _ => None,
    }
}

fn by_place(outcome: &ValidationOutcome<FormattedFinding>, layout: full::RenderOptions) -> String {
    let mut text = String::new();
    let mut explained: Vec<&str> = Vec::new();
    let places = FindingPlace::ALL.into_iter().map(Some);
    // What could not be read has no place.
    for place in std::iter::once(None).chain(places) {
        let found = outcome.findings().filter(|finding| finding.place == place);
        let found: Vec<(&'static str, &str)> = found
            .filter_map(|finding| Some((finding.rule, line(finding)?)))
            .collect();
        if found.is_empty() {
            continue;
        }
        if let Some(place) = place {
            let strong = theme::STRONG;
            let title = match place {
                FindingPlace::Instruction => "In instructions",
                FindingPlace::Script => "In scripts and programs",
                FindingPlace::Reference => "In other files",
                FindingPlace::FencedExample => "In examples",
                FindingPlace::Table => "In tables",
                FindingPlace::Quotation => "In quotations, comments and descriptions",
            };
            text.push_str(&format!("{strong}{title}{strong:#}\n\n"));
        }
        text.push_str(&validate::with_new_pointers(
            found.into_iter(),
            layout,
            &mut explained,
        ));
    }
    text
}

pub(super) fn summarise(
    outcome: &ValidationOutcome<FormattedFinding>,
    elapsed: &str,
    printer: &Printer,
) {
    let counts = outcome.counts();
    let skills = wording::count(outcome.checked(), "skill");
    let files = wording::count(outcome.searched, "file");
    if counts.total() > 0 {
        printer.status(&full::summary(counts, outcome.extent()));
        printer.status("A finding is a reason to look, not a verdict; no finding is no promise");
    } else {
        printer.status(&format!(
            "Searched {files} of {skills} in {elapsed}: {NO_PROMISE}"
        ));
    }
}
