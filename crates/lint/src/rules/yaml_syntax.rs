//! Invalid YAML that was repaired.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, MARKS, RuleLevels};
use prowess_spec::manifest::ToolToken;
use prowess_spec::parse::ParsedSkill;
use prowess_spec::problem::{ProblemKind, UNQUOTED_COLON};
use prowess_spec::tool_pattern::parse_list;

rule!(
    "yaml-syntax",
    RuleLevels::of("EEW"),
    Safe,
    "the frontmatter is not valid YAML, but the meaning is clear"
);

/// Removes the quotation marks from a tool list such as `"Read", "Write"`. Quoting the whole list
/// instead would be valid YAML but grant nothing.
fn bare_tools(parsed: &ParsedSkill<'_>, place: Span) -> Option<Fix> {
    let manifest = &parsed.manifest;
    let mut lists = [&manifest.allowed_tools, &manifest.disallowed_tools]
        .into_iter()
        .flatten();
    let list = lists.find(|list| list.span.start <= place.start && place.end <= list.span.end)?;
    let is_marked = |token: &ToolToken| token.text.starts_with(MARKS);
    let bare = list.span.of(parsed.text).replace(MARKS, "");
    let is_clear = list.tokens().iter().any(is_marked)
        && parse_list(&bare).iter().all(|token| token.pattern.is_ok());
    let edit = TextEdit::replace(list.span, bare);
    is_clear.then(|| Fix::suggested("remove the quotation marks", vec![edit]))
}

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlRepaired {
            message,
            title,
            edits,
            applicability,
        } = &problem.kind
        {
            let label = if message == UNQUOTED_COLON {
                "YAML reads this as another key; strict parsers reject the whole file"
            } else {
                "strict parsers reject the whole file"
            };
            let fix = Fix {
                title: (*title).to_owned(),
                applicability: *applicability,
                edits: edits.clone(),
            };
            let fix = bare_tools(parsed, problem.span).unwrap_or(fix);
            let message = format!("invalid YAML: {message}");
            let finding = LintFinding::at(problem.span, message).label(label);
            out.report(if fix.edits.is_empty() {
                finding
            } else {
                finding.fix(fix)
            });
        }
    }
}
