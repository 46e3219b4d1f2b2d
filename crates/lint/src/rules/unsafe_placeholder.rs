//! An argument where the shell would take it for code.

use prowess_diag::Span;
use prowess_shell::advice::{self as slots, Unsafe};
use prowess_spec::body::{BodyItem, BodyItemKind, ItemContext};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "unsafe-placeholder",
    RuleLevels::of("WEE"),
    None,
    "a command has an argument in an unsafe place"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let items = skill.items();
    for (index, item) in items.iter().enumerate() {
        let BodyItemKind::Command { command, .. } = item.kind else {
            continue;
        };
        if item.place != ItemContext::Text {
            continue;
        }
        for (place, reason) in unsafe_places(parsed.text, command, &items[index + 1..]) {
            let written = place.of(parsed.text);
            out.report(
                LintFinding::at(
                    place,
                    format!("`{written}` is in an unsafe place in a command"),
                )
                .label(reason.explain())
                .help(reason.remedy(written)),
            );
        }
    }
}

/// The arguments of a command that are in unsafe places. What stands inside a command follows it in
/// the list of items.
pub(super) fn unsafe_places(
    text: &str,
    command: Span,
    following: &[BodyItem],
) -> Vec<(Span, Unsafe)> {
    let inside: Vec<Span> = following
        .iter()
        .take_while(|inner| command.contains(inner.span))
        .filter(|inner| matches!(inner.kind, BodyItemKind::Placeholder(_)))
        .map(|inner| inner.span)
        .collect();
    let start = command.start as usize;
    let places: Vec<_> = inside
        .iter()
        .map(|span| span.start as usize - start..span.end as usize - start)
        .collect();
    let found = slots::unsafe_places(command.of(text), &places);
    found
        .into_iter()
        .map(|(index, reason)| (inside[index], reason))
        .collect()
}
