//! A token of a tool list that does not parse.

use prowess_diag::{Edit, Fix, wording};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::tool_pattern::TokenFault;

rule!("tool-syntax", Levels::of("WEE"), Suggested, "an entry of a tool list cannot be read");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    for (key, list, effect) in [
        ("allowed-tools", &manifest.allowed_tools, "it grants nothing"),
        ("disallowed-tools", &manifest.disallowed_tools, "it removes nothing"),
    ] {
        for token in list.iter().flat_map(|list| &list.tokens) {
            let Err(fault) = &token.pattern else { continue };
            let shown = wording::tick(wording::shorten(&token.text, 60));
            let finding = Finding::at(
                token.span,
                format!("`{key}` has an entry that cannot be read: {shown}"),
            )
            .label(format!("{}; {effect}", fault.explain()));
            out.report(match fault {
                TokenFault::SpaceBeforeParenthesis => {
                    let joined = token.text.split_whitespace().collect::<Vec<_>>().join(" ").replacen(" (", "(", 1);
                    let verbatim = token.span.len() == token.text.len();
                    let fix = verbatim.then(|| Fix::suggested("remove the space", vec![Edit::replace(token.span, joined)]));
                    finding.fix(fix)
                }
                TokenFault::EmptySpecifier => finding.help("say what is allowed, such as `Bash(git status:*)`, or leave the parentheses out"),
                TokenFault::Unbalanced => finding.help("every `(` needs its `)`"),
                TokenFault::TrailingText => finding.help("separate entries with a space or a comma"),
                TokenFault::BadName if &*token.text == "-" => finding.help("a line that begins with `- ` below a value continues that value; write every item on its own line, all indented alike"),
                TokenFault::BadName => finding.help("an entry is a tool's name, perhaps with a pattern: `Read`, `Bash(git add:*)`, `mcp__server__tool`"),
            });
        }
    }
}
