//! `prowess explain`

use anstyle::Style;
use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{suggest, theme, wording};
use prowess_lint::rules::{self, LintRule, RULES};
use prowess_scan::ScanRule;
use serde_json::{Value, json};

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
            let lint = RULES.iter().map(prowess_lint::rule_page::rule);
            let scan = prowess_scan::RULES.iter().map(scan_rule);
            let rules: Vec<Value> = lint.chain(scan).collect();
            printer.json(&json!({ "schema": "prowess.explain/1", "rules": rules }))?;
        } else {
            printer.answer(&list(printer.width()))?;
            let rules = wording::count(RULES.len() + prowess_scan::RULES.len(), "rule");
            printer.status(&format!("\n{rules}; explain one with `prowess explain RULE`\n`spec only`: checked with `--profile spec`; `target`: checked with `--target claude-ai`; the last {} rules: checked by `prowess scan`", prowess_scan::RULES.len()));
        }
        return Ok(Exit::Done);
    };
    let rule = find_any(name)?;
    let width = printer.text_width();
    if args.json {
        let rule = match rule {
            AnyRule::Lint(rule) => prowess_lint::rule_page::rule(rule),
            AnyRule::Scan(rule) => scan_rule(rule),
        };
        printer.json(&json!({ "schema": "prowess.explain/1", "rules": [rule] }))?;
    } else {
        printer.answer(&match rule {
            AnyRule::Lint(rule) => prowess_lint::rule_page::rule_page(rule, width),
            AnyRule::Scan(rule) => {
                let facts = prowess_scan::rule_page::facts(rule);
                prowess_lint::rule_page::page(rule.page, &facts, width)
            }
        })?;
    }
    Ok(Exit::Done)
}

/// Returns everything about a rule of `scan` as JSON.
fn scan_rule(rule: &ScanRule) -> Value {
    json!({
        "id": rule.id,
        "summary": rule.summary,
        "severity": { "scan": rule.severity.as_str() },
        "fix": "no automatic fix",
        "page": rule.page,
    })
}

/// A rule of `validate` or of `scan`.
pub(crate) enum AnyRule {
    Lint(&'static LintRule),
    Scan(&'static ScanRule),
}

impl AnyRule {
    /// Returns the id of a rule of `validate`.
    pub(crate) fn lint_id(self) -> Option<&'static str> {
        match self {
            Self::Lint(rule) => Some(rule.id),
            Self::Scan(_) => None,
        }
    }

    /// Returns the id of a rule of `scan`.
    pub(crate) fn scan_id(self) -> Option<&'static str> {
        match self {
            Self::Lint(_) => None,
            Self::Scan(rule) => Some(rule.id),
        }
    }
}

/// Finds a rule of `validate` or of `scan` by name.
pub(crate) fn find_any(name: &str) -> Result<AnyRule, Failure> {
    let scan = || prowess_scan::rules::find(name).map(AnyRule::Scan);
    match rules::find(name).map(AnyRule::Lint).or_else(scan) {
        Some(rule) => Ok(rule),
        None => Err(unknown(name, scan_ids())),
    }
}

fn scan_ids() -> impl Iterator<Item = &'static str> {
    prowess_scan::RULES.iter().map(|rule| rule.id)
}

/// Finds a rule by name. The error suggests a similar name.
pub(crate) fn find(name: &str) -> Result<&'static LintRule, Failure> {
    rules::find(name).ok_or_else(|| match prowess_scan::rules::find(name) {
        Some(_) => Failure::new(format!("`{name}` is a rule of `prowess scan`"))
            .hint("check it with `prowess scan`, or add `--security`"),
        None => unknown(name, std::iter::empty()),
    })
}

fn unknown(name: &str, more: impl Iterator<Item = &'static str>) -> Failure {
    let error = Failure::new(format!("no rule named `{name}`"));
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).chain(more).collect();
    let begins = || {
        let mut ids = ids.iter().copied();
        ids.find(|id| name.len() > 2 && id.starts_with(name))
    };
    match suggest::nearest(name, ids.iter().copied()).or_else(begins) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("list all rules with `prowess explain`"),
    }
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
    for rule in prowess_scan::RULES {
        table.row(vec![
            Cell::styled(rule.id, theme::bold(theme::ACCENT)),
            Cell::styled(rule.severity.as_str(), theme::severity(rule.severity)),
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
