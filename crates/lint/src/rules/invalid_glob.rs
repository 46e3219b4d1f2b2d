//! An invalid pattern in `paths`.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "invalid-glob",
    RuleLevels::of("WWW"),
    None,
    "a pattern in `paths` is invalid"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(manifest) = skill.parsed.map(|parsed| &parsed.manifest) else {
        return;
    };
    for glob in &manifest.paths {
        if let Some(why) = fault(&glob.value) {
            out.report(
                LintFinding::at(
                    glob.span,
                    format!("the pattern {} matches nothing", wording::tick(&glob.value)),
                )
                .label(why),
            );
        }
    }
}

fn fault(glob: &str) -> Option<&'static str> {
    let mut braces = 0_usize;
    let mut characters = glob.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '{' => braces += 1,
            '}' => match braces.checked_sub(1) {
                Some(left) => braces = left,
                None => return Some("a `}` is unbalanced"),
            },
            '[' if !closes_bracket(&mut characters) => {
                return Some("a `[` is not closed; write `\\[` for a literal bracket");
            }
            _ => {}
        }
    }
    (braces > 0).then_some("a `{` is not closed")
}

/// Consumes a bracket expression. Returns `true` if it is closed. A `]` at its start, optionally
/// after `!` or `^`, is a member.
fn closes_bracket(characters: &mut std::str::Chars<'_>) -> bool {
    let mut first = characters.next();
    if matches!(first, Some('!' | '^')) {
        first = characters.next();
    }
    first.is_some() && characters.any(|c| c == ']')
}
