//! A tool list that is not in the standard's form.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "tool-list-form",
    RuleLevels::of("N--"),
    Safe,
    "the tools in `allowed-tools` are not separated by spaces"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let (Some(list), Some(entry)) = (
        &parsed.manifest.allowed_tools,
        parsed.manifest.entry("allowed-tools"),
    ) else {
        return;
    };
    let Some(text) = entry.value.text() else {
        return;
    };
    let separated_by_commas =
        list.tokens().len() > 1 && prowess_spec::tool_pattern::has_separating_comma(text);
    if !separated_by_commas || list.tokens().iter().any(|token| token.pattern.is_err()) {
        return;
    }
    let joined = list
        .tokens()
        .iter()
        .map(|token| &*token.text)
        .collect::<Vec<_>>()
        .join(" ");
    let fix = entry.value.verbatim_start(parsed.text).map(|_| {
        Fix::safe(
            "separate the tools with spaces",
            vec![TextEdit::replace(
                entry.value.span,
                prowess_spec::yaml::write::scalar(&joined),
            )],
        )
    });
    out.report(
        LintFinding::at(
            entry.value.span,
            "the tools in `allowed-tools` are separated by commas; the standard requires spaces",
        )
        .fix(fix),
    );
}
