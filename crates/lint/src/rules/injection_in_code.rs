//! A command inside a code block.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::{BodyItemKind, ItemContext};

rule!(
    "injection-in-code",
    RuleLevels::of("WWW"),
    None,
    "an injected command is inside a code block"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for item in skill.items() {
        let BodyItemKind::Command { command, .. } = item.kind else {
            continue;
        };
        if item.place == ItemContext::Fence {
            out.report(
                LintFinding::at(item.span, format!("the command {} is inside a code block", wording::tick(wording::shorten(command.of(parsed.text), 40))))
                    .label("Prowess shows it as text; Claude Code runs it")
                    .help("move it out of the block if it should run; if it is an example, write it without the `!`, or move it to a file of the skill"),
            );
        }
    }
}
