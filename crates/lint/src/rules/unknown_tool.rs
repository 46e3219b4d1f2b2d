//! A tool that no known agent has.

use prowess_diag::{Fix, TextEdit, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::known_tools::{TOOLS, is_known};
use prowess_spec::manifest::ToolToken;
use prowess_spec::tool_pattern::ToolPattern;

rule!(
    "unknown-tool",
    RuleLevels::of("NWN"),
    Suggested,
    "a tool list names an unknown tool"
);

/// At most one character in this many may differ from a known name: `TeamCreate` is not a misspelt
/// `TaskCreate`.
const SHARE: usize = 5;
/// Minimum length of a name to be a misspelling of another: `Ask` is not a misspelt `Task`.
const LEAST: usize = 4;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    for (list, grants) in [
        (&manifest.allowed_tools, true),
        (&manifest.disallowed_tools, false),
    ] {
        for token in list
            .iter()
            .flat_map(prowess_spec::manifest::ToolList::tokens)
        {
            let Ok(pattern) = &token.pattern else {
                continue;
            };
            let name = pattern.tool();
            if matches!(pattern, ToolPattern::Mcp { .. }) || name == "*" || is_known(name) {
                continue;
            }
            let finding =
                LintFinding::at(token.span, format!("unknown tool {}", wording::tick(name)));
            out.report(match (nearest(name), counterpart(name)) {
                (Some(near), _) => suggest_near(finding, token, name, near, grants),
                (None, Some(tool)) => finding
                    .label(format!("Claude Code calls it `{tool}`"))
                    .help(format!("write `{tool}` if the skill needs it"))
                    .at_most(prowess_diag::Severity::Note),
                (None, None) => finding
                    .label("Claude Code has no such tool")
                    .help(
                        "check the spelling; a tool of an MCP server is called `mcp__server__tool`",
                    )
                    .at_most(prowess_diag::Severity::Note),
            });
        }
    }
}

/// Returns the known tool that differs only in letter case or by a typo.
fn nearest(name: &str) -> Option<&'static str> {
    let near = suggest::nearest_within(name, TOOLS.iter().copied(), SHARE)?;
    (name.len() >= LEAST || near.eq_ignore_ascii_case(name)).then_some(near)
}

/// Returns the tool of Claude Code that does the same as a tool of another agent. No shell: its
/// grants need a pattern.
fn counterpart(name: &str) -> Option<&'static str> {
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    Some(match &*name.to_ascii_lowercase() {
        "readfile" | "readtextfile" | "viewfile" => "Read",
        "createfile" | "writefile" => "Write",
        "editfile" | "replaceinfile" => "Edit",
        "grepfiles" | "grepsearch" | "searchfilecontent" => "Grep",
        "listdir" | "listdirectory" | "listfiles" => "Glob",
        "fetchurl" => "WebFetch",
        "googlewebsearch" => "WebSearch",
        _ => return None,
    })
}

/// Suggests a known tool. There is a fix only where the name restricts: a fix never grants.
fn suggest_near(
    finding: LintFinding,
    token: &ToolToken,
    name: &str,
    near: &str,
    grants: bool,
) -> LintFinding {
    let rest = token.text.strip_prefix(name).unwrap_or_default();
    let why = if near.eq_ignore_ascii_case(name) {
        " Names are case-sensitive"
    } else {
        ""
    };
    // Never propose a shell without a pattern.
    if grants && rest.is_empty() && matches!(near, "Bash" | "PowerShell") {
        let label = if why.is_empty() {
            "Claude Code has no such tool; it grants nothing"
        } else {
            "names are case-sensitive; this grants nothing"
        };
        return finding.label(label).help(format!(
            "name the commands the skill needs, such as `{near}(git status:*)`"
        ));
    }
    let finding = finding.label(format!("did you mean `{near}`?{why}"));
    if grants {
        return finding.help(format!("write `{near}{rest}` if the skill needs it"));
    }
    // `Read: true` is not followed by a second tool.
    let verbatim = token.span.len() == token.text.len() && !name.ends_with(':');
    finding.fix(verbatim.then(|| {
        Fix::suggested(
            format!("use `{near}`"),
            vec![TextEdit::replace(token.span, format!("{near}{rest}"))],
        )
    }))
}
