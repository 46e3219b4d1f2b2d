//! `prowess explain`

use anstyle::{AnsiColor, Style};
use prowess_diag::render::full;
use prowess_diag::render::wrap::hang;
use prowess_diag::{suggest, wording};
use prowess_lint::rules::{self, RULES, Rule};
use serde_json::json;

use crate::args::ExplainArgs;
use crate::error::CliError;
use prowess_terminal::Exit;
use prowess_terminal::{Cell, Printer, Table, bold};

pub(crate) fn run(args: &ExplainArgs, printer: &Printer) -> Result<Exit, CliError> {
    let Some(name) = &args.rule else {
        if args.json {
            printer.json(&json!({ "schema": "prowess.explain/1", "rules": RULES.iter().map(Rule::to_json).collect::<Vec<_>>() }))?;
        } else {
            printer.answer(&list(printer.width()))?;
            printer.status(&format!(
                "\n{}; explain one with `prowess explain RULE`",
                wording::count(RULES.len(), "rule")
            ));
        }
        return Ok(Exit::Done);
    };
    let rule = find(name)?;
    if args.json {
        printer.json(&json!({ "schema": "prowess.explain/1", "rules": [rule.to_json()] }))?;
    } else {
        printer.answer(&page(rule, printer.text_width()))?;
    }
    Ok(Exit::Done)
}

/// Finds a rule, or says which one may have been meant.
pub(crate) fn find(name: &str) -> Result<&'static Rule, CliError> {
    rules::find(name).ok_or_else(|| {
        let error = CliError::new(format!("no rule named `{name}`"));
        let ids = || RULES.iter().map(|rule| rule.id);
        let begins = || ids().find(|id| name.len() > 2 && id.starts_with(name));
        match suggest::nearest(name, ids()).or_else(begins) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("list all rules with `prowess explain`"),
        }
    })
}

fn list(width: Option<usize>) -> String {
    let mut table = Table::new(&["RULE", "SEVERITY", "WHAT IT FINDS"]).wrapping();
    for rule in RULES {
        let (level, style) = level(rule);
        table.row(vec![
            Cell::styled(rule.id, bold(AnsiColor::Cyan)),
            Cell::styled(level, style),
            Cell::new(rule.summary),
        ]);
    }
    table.render(width)
}

/// The severity in the default profile, coloured as in findings, or where else the rule speaks.
fn level(rule: &Rule) -> (&'static str, Style) {
    match rule.levels.claude_code {
        Some(severity) => (severity.as_str(), full::style(severity)),
        None if rule.levels.spec.is_some() => ("spec only", Style::new()),
        None => ("target", Style::new()),
    }
}

fn page(rule: &Rule, width: usize) -> String {
    let mut text = String::new();
    let strong = Style::new().bold();
    let dim = Style::new().dimmed();
    let mut fence = 0;
    // What was said above the last example, and whether that was the last thing printed.
    let (mut said, mut is_next) = (String::new(), false);
    for (index, line) in rule.page.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# ").filter(|_| index == 0) {
            let cyan = bold(AnsiColor::Cyan);
            text.push_str(&format!("{cyan}{title}{cyan:#}\n{dim}{}{dim:#}\n", rule.facts()));
        } else if let Some(title) = line.strip_prefix("## ").filter(|_| fence == 0) {
            is_next = false;
            text.push_str(&format!("{strong}{title}{strong:#}\n"));
        } else if line.starts_with("```")
            && (fence == 0 || line.trim_end_matches('`').is_empty() && line.len() >= fence)
        {
            let marks = line.len() - line.trim_start_matches('`').len();
            if fence > 0 {
                (fence, is_next) = (0, true);
                continue;
            }
            fence = marks;
            let caption = caption(&line[marks..]);
            match &caption {
                new if !new.is_empty() && *new != said => text.push_str(new),
                _ if is_next => text.push_str("or:\n"),
                _ => {}
            }
            said = caption;
        } else if fence > 0 {
            // Indented, so that it is plain where an example ends; a page's lines leave room for it.
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        } else if line.starts_with('|') {
            text.push_str(&format!("{line}\n"));
        } else {
            is_next &= line.is_empty();
            // The text of a list hangs behind its hyphens.
            let indent = if line.starts_with("- ") { 2 } else { 0 };
            text.push_str(&hang(line, width, indent));
            text.push('\n');
        }
    }
    text
}

/// What people need to know about an example: where it stands, and what stands beside it.
fn caption(info: &str) -> String {
    let setting =
        |name: &str| info.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let mut parts = Vec::new();
    parts.extend(setting("folder").map(|folder| format!("in the folder `{folder}`")));
    parts.extend(setting("profile").map(|profile| format!("with `--profile {profile}`")));
    parts.extend(setting("target").map(|target| format!("with `--target {target}`")));
    parts.extend(
        setting("files").map(|files| {
            format!("beside {}", files.replace('!', " (executable)").replace(',', ", "))
        }),
    );
    if info.contains(" escapes") {
        parts.push("`\\u{…}` stands for a character".to_owned());
    }
    if parts.is_empty() { String::new() } else { format!("{}:\n", parts.join(", ")) }
}
