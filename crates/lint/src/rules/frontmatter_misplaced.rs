//! Frontmatter that does not start on the first line.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, line_break};
use prowess_spec::parse::ParsedSkill;
use prowess_spec::problem::{Misplaced, ProblemKind};

rule!(
    "frontmatter-misplaced",
    RuleLevels::of("EWW"),
    Safe,
    "the frontmatter does not start on the first line"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        let ProblemKind::FrontmatterMisplaced(how) = problem.kind else {
            continue;
        };
        let (label, fix) = match how {
            Misplaced::BlankLines => (
                "nothing may come before `---`",
                Fix::safe(
                    "remove the blank lines",
                    vec![TextEdit::delete(problem.span)],
                ),
            ),
            Misplaced::CodeFence => ("the file is wrapped in a code fence", {
                let closing = closing_fence(parsed);
                let edits = [problem.span]
                    .into_iter()
                    .chain(closing)
                    .map(TextEdit::delete);
                Fix::suggested("remove the code fence", edits.collect())
            }),
            Misplaced::NoOpener => {
                let opener = format!("---{}", line_break(parsed.text));
                (
                    "the opening `---` is missing",
                    Fix::safe(
                        "add the opening line",
                        vec![TextEdit::insert(problem.span.start as usize, opener)],
                    ),
                )
            }
        };
        out.report(
            LintFinding::at(problem.span, "the frontmatter does not start on the first line; SKILL.md must start with YAML frontmatter (`---`)")
                .label(label)
                .fix(fix),
        );
    }
}

/// Returns the line that closes the fence: the last line, or the first one after the frontmatter,
/// if no line of the body opens a fence for it.
fn closing_fence(parsed: &ParsedSkill<'_>) -> Option<Span> {
    let body = parsed.body_text();
    let is_fence = |line: &&str| line.starts_with("```");
    let is_closing = |line: &str| {
        let marks = line.trim_end();
        is_fence(&marks) && marks.bytes().all(|byte| byte == b'`')
    };
    if body.lines().filter(is_fence).count().is_multiple_of(2) {
        return None;
    }
    let start = parsed.body.start as usize;
    let first = body.split_inclusive('\n').next().unwrap_or_default();
    if is_closing(first) {
        return Some(Span::new(start, start + first.len()));
    }
    let last = body.trim_end().rfind(['\n', '\r']).map_or(0, |at| at + 1);
    is_closing(&body[last..]).then(|| Span::new(start + last, parsed.body.end as usize))
}
