//! A tool that the body asks for and the frontmatter does not allow.

use std::collections::BTreeSet;

use prowess_diag::Span;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::known_tools::TOOLS;
use prowess_spec::body::BodyItemKind;

rule!(
    "tool-not-allowed",
    RuleLevels::of("NWN"),
    None,
    "the body names a tool that `allowed-tools` leaves out"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let Some(list) = parsed
        .manifest
        .allowed_tools
        .as_ref()
        .filter(|list| !list.tokens().is_empty())
    else {
        return;
    };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for item in skill.items() {
        let BodyItemKind::InlineCode { content } = item.kind else {
            continue;
        };
        let name = content.of(parsed.text);
        // `X` followed by the word "tool" is a tool; `Read` alone may be anything.
        let after = &parsed.text[item.span.end as usize..parsed.body.end as usize];
        if !after.starts_with(" tool") || !TOOLS.contains(&name) || seen.contains(name) {
            continue;
        }
        let allowed = list.patterns().any(|pattern| {
            pattern.tool() == name
                || pattern.tool() == "*"
                || (["Task", "Agent"].contains(&name)
                    && ["Task", "Agent"].contains(&pattern.tool()))
        });
        if !allowed && !is_forbidden(&parsed.text[..item.span.start as usize]) {
            seen.insert(name);
            out.report(
                LintFinding::at(
                    Span::new(content.start as usize, content.end as usize),
                    format!("the body uses `{name}`, which `allowed-tools` leaves out"),
                )
                .label("using it asks for permission, or fails if the client treats the list as a limit")
                .help(format!("add `{name}` to `allowed-tools`")),
            );
        }
    }
}

/// Most bytes of a sentence that are checked.
const LOOK_BACK: usize = 256;

/// Returns `true` if the sentence before the tool says not to use it.
fn is_forbidden(before: &str) -> bool {
    let mut from = before.len().saturating_sub(LOOK_BACK);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let before = &before[from..];
    let sentence = before
        .rsplit(['\n', '.', ';', ':'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let words = ["not", "never", "without", "avoid", "don't", "cannot", "no"];
    sentence
        .split_whitespace()
        .any(|word| words.contains(&word))
}
