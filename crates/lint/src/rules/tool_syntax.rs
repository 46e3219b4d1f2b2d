//! A token of a tool list that does not parse.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, MARKS, RuleLevels, excerpt};
use prowess_spec::manifest::ToolToken;
use prowess_spec::tool_pattern::TokenFault;

rule!(
    "tool-syntax",
    RuleLevels::of("WEE"),
    Suggested,
    "an entry of a tool list is invalid"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    for (key, list, effect) in [
        ("allowed-tools", &manifest.allowed_tools, "grants nothing"),
        (
            "disallowed-tools",
            &manifest.disallowed_tools,
            "removes nothing",
        ),
    ] {
        for token in list
            .iter()
            .flat_map(prowess_spec::manifest::ToolList::tokens)
        {
            let Err(fault) = &token.pattern else { continue };
            let shown = excerpt(&token.text);
            let message = format!("`{key}` has an invalid entry: {shown}");
            let (place, fault) = match fault {
                TokenFault::Unbalanced => unbalanced(token, parsed.text),
                fault => (None, *fault),
            };
            let label = match place {
                Some((_, '(')) => format!(
                    "this `(` is never closed; everything after it belongs to this entry, which {effect}"
                ),
                Some(_) => "this `)` was never opened".to_owned(),
                None if token.text.starts_with(MARKS) => {
                    format!("quotation marks around a single entry; it {effect}")
                }
                None => format!("{}; it {effect}", fault.explain()),
            };
            let span = place.map_or(token.span, |(span, _)| span);
            let finding = LintFinding::at(span, message).label(label);
            out.report(match fault {
                TokenFault::SpaceBeforeParenthesis => {
                    let joined = token.text.split_whitespace().collect::<Vec<_>>().join(" ").replacen(" (", "(", 1);
                    let verbatim = token.span.len() == token.text.len();
                    let fix = verbatim.then(|| Fix::suggested("remove the space", vec![TextEdit::replace(token.span, joined)]));
                    finding.fix(fix)
                }
                TokenFault::EmptySpecifier => finding.help("add a pattern, e.g. `Bash(git status:*)`, or remove the parentheses"),
                TokenFault::Unbalanced => finding.help("close every `(` with a `)`"),
                TokenFault::TrailingText => finding.help("separate entries with a space or a comma"),
                TokenFault::BadName if token.text.starts_with(MARKS) => finding.help("remove the quotation marks"),
                TokenFault::BadName if &*token.text == "-" => finding.help("a line that begins with `- ` below a value continues that value; write each item on its own line with the same indentation"),
                TokenFault::BadName => finding.help("an entry is the name of a tool, optionally with a pattern: `Read`, `Bash(git add:*)`, `mcp__server__tool`"),
            });
        }
    }
}

/// Finds the unbalanced parenthesis, if its position in the file is known. If all are balanced, the
/// text after them is the fault.
fn unbalanced(token: &ToolToken, text: &str) -> (Option<(Span, char)>, TokenFault) {
    let (mut open, mut stray) = (Vec::new(), None);
    for (at, c) in token.text.char_indices() {
        if c == '(' {
            open.push(at);
        } else if c == ')' && open.pop().is_none() {
            stray = stray.or(Some(at));
        }
    }
    let (c, at) = match (stray, open.first()) {
        (Some(stray), _) => (')', stray),
        (None, Some(&open)) => ('(', open),
        (None, None) => return (None, TokenFault::TrailingText),
    };
    // A value on several lines differs only in whitespace. Values with escapes have no position.
    let written = token.span.of(text);
    let count = |text: &str| text.matches(c).count();
    let mut places = written
        .match_indices(c)
        .map(|(at, _)| token.span.start as usize + at);
    let place = places
        .nth(count(&token.text[..at]))
        .filter(|_| count(written) == count(&token.text))
        .map(|start| (Span::new(start, start + 1), c));
    (place, TokenFault::Unbalanced)
}
