//! `---` opens, nothing closes.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject, line_break};
use crate::frontmatter::Line;
use crate::problem::ProblemKind;

rule!("frontmatter-unclosed", Levels::of("EEW"), Suggested, "the frontmatter is not closed");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::FrontmatterUnclosed {
            let text = parsed.text;
            let fix = end_of_keys(text, problem.span.end as usize).map(|at| {
                let eol = line_break(text);
                // The last key may end the file without a line break.
                let before = if at == text.len() && !text.ends_with(['\n', '\r']) { eol } else { "" };
                Fix::suggested("close it behind the last key", vec![Edit::insert(at, format!("{before}---{eol}"))])
            });
            out.report(
                Finding::at(problem.span, "the frontmatter is not properly closed with `---`")
                    .label("opened here; without a closing line the whole file is body text")
                    .fix(fix),
            );
        }
    }
}

/// The start of the first line that looks like body text: blank, or a heading.
fn end_of_keys(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = Line::at(bytes, from).next;
    let first = at;
    while at < text.len() {
        let line = Line::at(bytes, at);
        let content = &text[line.start..line.end];
        if content.trim().is_empty() || content.starts_with("# ") || content.starts_with("...") {
            break;
        }
        at = line.next;
    }
    (at > first).then_some(at)
}
