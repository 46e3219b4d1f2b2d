//! Line breaks that consist of a lone carriage return.

use prowess_diag::{Fix, TextEdit, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "lone-carriage-return",
    RuleLevels::of("NWW"),
    AllSafe,
    "a line ends with a lone carriage return"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::LoneCarriageReturn { places } = &problem.kind {
            let line_break = if parsed.text.contains("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            let edits = places
                .iter()
                .map(|&place| TextEdit::replace(place, line_break))
                .collect();
            let message = format!(
                "{} with a lone carriage return",
                if places.len() == 1 {
                    "1 line ends".into()
                } else {
                    format!("{} lines end", wording::thousands(places.len()))
                }
            );
            out.report(
                LintFinding::at(problem.span, message)
                    .label("many programs read this as one long line")
                    .fix(Fix::safe("use ordinary line breaks", edits)),
            );
        }
    }
}
