//! Bytes that are not UTF-8.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::problem::ProblemKind;

rule!(
    "not-utf8",
    RuleLevels::of("EEE"),
    None,
    "the file is not UTF-8 text"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::NotUtf8 {
            let at = problem.span.start;
            let finding = LintFinding::at(
                problem.span,
                format!("the file is not UTF-8: invalid byte at offset {at}"),
            );
            let help = if at == 0 {
                "it may be UTF-16 or binary; convert it: `iconv -f UTF-16 -t UTF-8`"
            } else {
                "if the file ends here, its end was cut off: restore it; otherwise convert the file: `iconv -f LATIN1 -t UTF-8`"
            };
            out.report(
                finding
                    .label("only the text before this was read")
                    .help(help),
            );
        }
    }
}
