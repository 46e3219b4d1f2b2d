//! A token of a tool list that does not parse.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, MARKS, RuleLevels, excerpt};
use prowess_spec::manifest::ToolToken;
use prowess_spec::tool_pattern::TokenFault;

rule!(
    "tool-syntax",
    RuleLevels::of("WEE"),
    Suggested,
    "an entry of a tool list cannot be read"
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
            let message = format!("`{key}` has an entry that cannot be read: {shown}");
            let (place, fault) = match fault {
                TokenFault::Unbalanced => without_partner(token, parsed.text),
                fault => (None, *fault),
            };
            let label = match place {
                Some((_, '(')) => format!(
                    "this `(` is never closed; everything after it is part of the entry, and {effect}"
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
                TokenFault::EmptySpecifier => finding.help("say what is allowed, such as `Bash(git status:*)`, or leave the parentheses out"),
                TokenFault::Unbalanced => finding.help("every `(` needs its `)`"),
                TokenFault::TrailingText => finding.help("separate entries with a space or a comma"),
                TokenFault::BadName if token.text.starts_with(MARKS) => finding.help("remove them"),
                TokenFault::BadName if &*token.text == "-" => finding.help("a line that begins with `- ` below a value continues that value; write every item on its own line, all indented alike"),
                TokenFault::BadName => finding.help("an entry is a tool's name, perhaps with a pattern: `Read`, `Bash(git add:*)`, `mcp__server__tool`"),
            });
        }
    }
}

/// The parenthesis that has no partner, where its place in the file is known. Where all have one, it
/// is the text behind them that is wrong.
fn without_partner(token: &ToolToken, text: &str) -> (Option<(Span, char)>, TokenFault) {
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
    // In a value of several lines only the blanks differ; one with escapes is not taken apart.
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
