//! A declared argument that the body never uses.

use std::collections::BTreeSet;

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::{BodyItemKind, Placeholder};

rule!(
    "unused-argument",
    RuleLevels::of("WWN"),
    None,
    "a declared argument is never used"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let names = &parsed.manifest.arguments;
    if names.is_empty() {
        return;
    }
    let placeholders = || {
        skill.items().iter().filter_map(|item| {
            if let BodyItemKind::Placeholder(placeholder) = &item.kind {
                Some(placeholder)
            } else {
                None
            }
        })
    };
    // `$ARGUMENTS` passes all of them, and so does a body without any placeholder.
    if placeholders().next().is_none()
        || placeholders().any(|placeholder| *placeholder == Placeholder::All)
    {
        return;
    }
    let used: BTreeSet<usize> = placeholders()
        .filter_map(|placeholder| match placeholder {
            Placeholder::Named(n) | Placeholder::Index(n) | Placeholder::Element(n) => Some(*n),
            Placeholder::All => None,
        })
        .collect();
    for (index, name) in names.iter().enumerate() {
        if !used.contains(&index) {
            out.report(
                LintFinding::at(
                    name.span,
                    format!("the argument {} is never used", wording::tick(&name.value)),
                )
                .label(format!("the body does not contain `${}`", name.value))
                .help("use it in the body, or remove it"),
            );
        }
    }
}
