//! An argument where the shell would take it for code.

use super::{Finding, Levels, Sink, Subject};
use crate::shell;
use prowess_spec::body::{Item, ItemKind, Place};

rule!(
    "unsafe-placeholder",
    Levels::of("WEE"),
    None,
    "a command has an argument in an unsafe place"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let items = skill.items();
    for (index, item) in items.iter().enumerate() {
        let ItemKind::Command { command, .. } = item.kind else { continue };
        if item.place != Place::Text {
            continue;
        }
        // What stands inside a command follows it in the list.
        let inside: Vec<&Item> = items[index + 1..]
            .iter()
            .take_while(|inner| command.contains(inner.span))
            .filter(|inner| matches!(inner.kind, ItemKind::Placeholder(_)))
            .collect();
        let start = command.start as usize;
        let places: Vec<_> = inside
            .iter()
            .map(|inner| inner.span.start as usize - start..inner.span.end as usize - start)
            .collect();
        for (index, reason) in shell::unsafe_places(command.of(parsed.text), &places) {
            let place = inside[index].span;
            let written = place.of(parsed.text);
            out.report(
                Finding::at(place, format!("`{written}` is in an unsafe place in a command"))
                    .label(reason.explain())
                    .help(reason.remedy(written)),
            );
        }
    }
}
