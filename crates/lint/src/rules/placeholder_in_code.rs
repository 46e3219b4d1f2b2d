//! `$1` in a code example.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::body::{ItemKind, Placeholder};

rule!(
    "placeholder-in-code",
    Levels::of("NWN"),
    AllSuggested,
    "code contains `$1`, which some clients replace with an argument"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let places: Vec<_> = skill
        .items()
        .iter()
        .filter(|item| {
            item.place.is_code()
                && matches!(item.kind, ItemKind::Placeholder(Placeholder::Index(_)))
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
        .map(|place| Edit::insert(place.start as usize, "\\"))
        .collect();
    out.report(
        Finding::at(
            first,
            format!("`{written}` in code{others}: Claude Code replaces it with an argument"),
        )
        .label("Prowess does not replace it")
        .fix(Fix::suggested("escape it for Claude Code", edits)),
    );
}
