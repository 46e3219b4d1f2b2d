//! `prowess explain`

use anstyle::Style;
use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{suggest, theme, wording};
use prowess_lint::rules::{self, LintRule, RULES};
use serde_json::json;

use crate::commands::completions;
use crate::output::{Cell, Exit, Failure, Printer, Table};

#[derive(Debug, Args)]
#[command(
    about = "Explain a rule, with a bad and a good example\n\nWithout a rule, lists all rules.",
    after_help = "\
Examples:
  prowess explain                         list all rules
  prowess explain name-folder-mismatch    explain one rule"
)]
pub(crate) struct ExplainArgs {
    /// Name of a rule, as shown in brackets in a finding
    #[arg(add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) rule: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ExplainArgs, printer: &Printer) -> Result<Exit, Failure> {
    let Some(name) = &args.rule else {
        if args.json {
            printer.json(&json!({ "schema": "prowess.explain/1", "rules": RULES.iter().map(prowess_lint::rule_page::rule).collect::<Vec<_>>() }))?;
        } else {
            printer.answer(&list(printer.width()))?;
            let rules = wording::count(RULES.len(), "rule");
            printer.status(&format!("\n{rules}; explain one with `prowess explain RULE`\n`spec only`: checked with `--profile spec`; `target`: checked with `--target claude-ai`"));
        }
        return Ok(Exit::Done);
    };
    let rule = find(name)?;
    if args.json {
        printer.json(
            &json!({ "schema": "prowess.explain/1", "rules": [prowess_lint::rule_page::rule(rule)] }),
        )?;
    } else {
        printer.answer(&prowess_lint::rule_page::rule_page(
            rule,
            printer.text_width(),
        ))?;
    }
    Ok(Exit::Done)
}

/// Finds a rule by name. The error suggests a similar name.
pub(crate) fn find(name: &str) -> Result<&'static LintRule, Failure> {
    rules::find(name).ok_or_else(|| {
        let error = Failure::new(format!("no rule named `{name}`"));
        let ids = || RULES.iter().map(|rule| rule.id);
        let begins = || ids().find(|id| name.len() > 2 && id.starts_with(name));
        match suggest::nearest(name, ids()).or_else(begins) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("list all rules with `prowess explain`"),
        }
    })
}

fn list(width: Option<usize>) -> String {
    let mut table = Table::new(&["RULE", "SEVERITY", "DESCRIPTION"]).wrapping();
    for rule in RULES {
        let (level, style) = level(rule);
        table.row(vec![
            Cell::styled(rule.id, theme::bold(theme::ACCENT)),
            Cell::styled(level, style),
            Cell::new(rule.summary),
        ]);
    }
    table.render(width)
}

/// Returns the severity in the default profile, coloured as in findings, or the option that enables the
/// rule.
fn level(rule: &LintRule) -> (&'static str, Style) {
    match rule.levels.claude_code {
        Some(severity) => (severity.as_str(), theme::severity(severity)),
        None if rule.levels.spec.is_some() => ("spec only", Style::new()),
        None => ("target", Style::new()),
    }
}
