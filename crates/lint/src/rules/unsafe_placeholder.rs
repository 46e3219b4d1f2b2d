//! An argument in a position where it would be run as code.

use prowess_diag::Span;
use prowess_shell::placeholders::{self, UnsafePosition, ValueKind, ValuePosition};
use prowess_spec::body::{BodyItem, BodyItemKind, ItemContext};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "unsafe-placeholder",
    RuleLevels::of("WEE"),
    None,
    "a command has an argument in an unsafe position"
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
        for found in unsafe_positions(skill, command, &items[index + 1..]) {
            let written = found.written(parsed.text);
            out.report(
                LintFinding::at(
                    found.span,
                    format!("`{written}` is in an unsafe position in a command"),
                )
                .label(found.reason.explain())
                .help(found.reason.remedy(&written)),
            );
        }
    }
}

/// A position in the file at which an argument must not be filled in.
pub(super) struct UnsafeArgument {
    pub(super) span: Span,
    pub(super) reason: UnsafePosition,
    /// An expansion of the shell's own, such as `${1}`.
    is_expansion: bool,
}

impl UnsafeArgument {
    /// Returns the argument as it is written, with the brace that closes it.
    fn written(&self, text: &str) -> String {
        let written = self.span.of(text);
        if self.is_expansion && written.starts_with("${") && !written.ends_with('}') {
            format!("{written}}}")
        } else {
            written.to_owned()
        }
    }
}

/// Returns the unsafe positions of a command, by the analysis that also decides when the skill is
/// loaded. Items inside the command follow it in the list.
pub(super) fn unsafe_positions(
    skill: &LintSubject<'_>,
    command: Span,
    following: &[BodyItem],
) -> Vec<UnsafeArgument> {
    let Some(parsed) = skill.parsed else {
        return Vec::new();
    };
    let start = command.start as usize;
    let positions: Vec<ValuePosition> = following
        .iter()
        .take_while(|inner| command.contains(inner.span))
        .filter_map(|inner| {
            let kind = match inner.kind {
                BodyItemKind::Placeholder(_) => ValueKind::Argument,
                BodyItemKind::Variable => ValueKind::Trusted,
                BodyItemKind::Escape => ValueKind::Escape,
                _ => return None,
            };
            let range = inner.span.start as usize - start..inner.span.end as usize - start;
            Some(ValuePosition { range, kind })
        })
        .collect();
    let names = skill.argument_names();
    placeholders::judge_command(command.of(parsed.text), &positions, &names)
        .refused()
        .map(|(found, reason)| UnsafeArgument {
            span: Span::new(start + found.range.start, start + found.range.end),
            reason,
            is_expansion: found.given.is_none(),
        })
        .collect()
}
