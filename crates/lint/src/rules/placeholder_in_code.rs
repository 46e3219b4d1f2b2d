//! `$1` in a code example.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::{BodyItemKind, Placeholder};

rule!(
    "placeholder-in-code",
    RuleLevels::of("NWN"),
    None,
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
    out.report(
        LintFinding::at(
            first,
            format!("`{written}` in code{others}: Claude Code replaces it with an argument"),
        )
        .label("Prowess does not replace it")
        // Not a fix: clients without placeholders show the backslash to the model.
        .help(format!(
            "move the code to a script, or write `\\{written}` if only Claude Code and Prowess use the skill"
        )),
    );
}
