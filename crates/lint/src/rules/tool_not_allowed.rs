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
        if !allowed && is_instruction(&parsed.text[..item.span.start as usize]) {
            seen.insert(name);
            let help = if matches!(name, "Bash" | "PowerShell") {
                format!(
                    "add the commands it needs to `allowed-tools`, such as `{name}(git status:*)`"
                )
            } else {
                format!("add `{name}` to `allowed-tools`")
            };
            out.report(
                LintFinding::at(
                    Span::new(content.start as usize, content.end as usize),
                    format!("the body uses `{name}`, which `allowed-tools` leaves out"),
                )
                .label("using it asks for permission, or fails if the client treats the list as a limit")
                .help(help),
            );
        }
    }
}

/// Most bytes of a sentence that are checked.
const LOOK_BACK: usize = 256;

/// Words before a tool that tell the model to use it.
const USES: &[&str] = &[
    "call", "calling", "invoke", "invoking", "run", "through", "use", "using", "via", "with",
];
/// Words that say not to use it.
const REFUSALS: &[&str] = &[
    "not", "never", "without", "avoid", "don't", "cannot", "can't", "no", "instead", "unlike",
];
/// Words for another agent, whose tools are not those of the skill.
const AGENTS: &[&str] = &[
    "agent",
    "agents",
    "subagent",
    "subagents",
    "sub-agent",
    "sub-agents",
    "worker",
    "workers",
    "teammate",
    "teammates",
];

/// Returns `true` if the sentence before a tool tells the model to use it: "use the", "with the". A
/// sentence that describes another agent, or says not to use the tool, does not.
fn is_instruction(before: &str) -> bool {
    let mut from = before.len().saturating_sub(LOOK_BACK);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let before = &before[from..];
    let sentence = before
        .rsplit(['\n', '.', ';', ':', '|'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let is_edge = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(is_edge))
        .collect();
    let last = words
        .iter()
        .rev()
        .find(|word| !matches!(**word, "the" | "a" | "your"));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    last.is_some_and(|word| USES.contains(word)) && !has(REFUSALS) && !has(AGENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_instruction_to_use_the_tool_counts() {
        for (before, expected) in [
            ("Use the ", true),
            ("1. **Use** ", true),
            ("Write it to a file with the ", true),
            ("After all categories, use ", true),
            ("First search. Then get the page via ", true),
            ("Do not use the ", false),
            ("A `general-purpose` subagent carries the ", false),
            ("Start an agent with the ", false),
            ("The dedicated ", false),
            ("- ❌ ", false),
            ("| 7 | — | ", false),
            ("", false),
        ] {
            assert_eq!(is_instruction(before), expected, "{before}");
        }
    }
}
