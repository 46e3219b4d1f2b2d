//! A tool that no known agent has.

use prowess_diag::{Fix, TextEdit, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::known_tools::TOOLS;
use prowess_spec::tool_pattern::ToolPattern;

rule!(
    "unknown-tool",
    RuleLevels::of("NWN"),
    Suggested,
    "a tool list names an unknown tool"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    let lists = [&manifest.allowed_tools, &manifest.disallowed_tools];
    for token in lists
        .into_iter()
        .flatten()
        .flat_map(prowess_spec::manifest::ToolList::tokens)
    {
        let Ok(pattern) = &token.pattern else {
            continue;
        };
        let name = pattern.tool();
        if matches!(pattern, ToolPattern::Mcp { .. }) || name == "*" || TOOLS.contains(&name) {
            continue;
        }
        let finding = LintFinding::at(token.span, format!("unknown tool {}", wording::tick(name)));
        out.report(match suggest::nearest(name, TOOLS.iter().copied()) {
            Some(near) => {
                // `Read: true` is not followed by a second tool.
                let verbatim = token.span.len() == token.text.len() && !name.ends_with(':');
                let fix = token.text.strip_prefix(name).filter(|_| verbatim);
                let fix = fix.map(|rest| {
                    Fix::suggested(
                        format!("use `{near}`"),
                        vec![TextEdit::replace(token.span, format!("{near}{rest}"))],
                    )
                });
                let is_case = near.eq_ignore_ascii_case(name);
                let why = if is_case {
                    " Names are case-sensitive"
                } else {
                    ""
                };
                finding
                    .label(format!("did you mean `{near}`?{why}"))
                    .fix(fix)
            }
            None => finding
                .label("no common agent has this tool")
                .help("check the spelling; a tool of an MCP server is called `mcp__server__tool`")
                .at_most(prowess_diag::Severity::Note),
        });
    }
}
