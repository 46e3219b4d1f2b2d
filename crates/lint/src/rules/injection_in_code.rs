//! A command inside a code block.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::body::{ItemKind, Place};

rule!(
    "injection-in-code",
    Levels::of("WWW"),
    None,
    "an injected command is inside a code block"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for item in skill.items() {
        let ItemKind::Command { command, .. } = item.kind else {
            continue;
        };
        if item.place == Place::Fence {
            out.report(
                Finding::at(item.span, format!("the command {} is inside a code block", wording::tick(wording::shorten(command.of(parsed.text), 40))))
                    .label("Prowess shows it as text; Claude Code runs it")
                    .help("move it out of the block if it should run; if it is an example, write it without the `!`"),
            );
        }
    }
}
