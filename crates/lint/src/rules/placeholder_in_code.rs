//! `$1` in a code example.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::{BodyItemKind, Placeholder};

rule!(
    "placeholder-in-code",
    RuleLevels::of("NWN"),
    AllSuggested,
    "code contains `$1`, which some clients replace with an argument"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let places: Vec<_> = skill
        .items()
        .iter()
        .filter(|item| {
            item.place.is_code()
                && matches!(item.kind, BodyItemKind::Placeholder(Placeholder::Index(_)))
        })
        .map(|item| item.span)
        .collect();
    let Some(&first) = places.first() else { return };
    let written = first.of(parsed.text);
    let others = match places.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more)".to_owned(),
        n => format!(" (and {n} more)"),
    };
    let edits = places
        .iter()
        .map(|place| TextEdit::insert(place.start as usize, "\\"))
        .collect();
    out.report(
        LintFinding::at(
            first,
            format!("`{written}` in code{others}: Claude Code replaces it with an argument"),
        )
        .label("Prowess does not replace it")
        .fix(Fix::suggested("escape it for Claude Code", edits)),
    );
}
