//! An opening `---` without a closing one.

use prowess_diag::{Fix, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, line_break};
use prowess_spec::frontmatter::Line;
use prowess_spec::problem::ProblemKind;

rule!(
    "frontmatter-unclosed",
    RuleLevels::of("EEW"),
    Suggested,
    "the frontmatter is not closed"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if problem.kind == ProblemKind::FrontmatterUnclosed {
            let text = parsed.text;
            let eol = line_break(text);
            let fix = end_of_keys(text, problem.span.end as usize).map(|end| match end {
                End::Before(at) => {
                    // The file may end after the last key without a line break.
                    let before = if at == text.len() && !text.ends_with(['\n', '\r']) {
                        eol
                    } else {
                        ""
                    };
                    let edit = TextEdit::insert(at, format!("{before}---{eol}"));
                    Fix::suggested("close it after the last key", vec![edit])
                }
                End::Instead(span) => Fix::suggested(
                    "close it with `---` alone",
                    vec![TextEdit::replace(span, "---")],
                ),
            });
            out.report(
                LintFinding::at(
                    problem.span,
                    "the frontmatter is not properly closed with `---`",
                )
                .label("opened here; without a closing line, the whole file is body text")
                .fix(fix),
            );
        }
    }
}

/// The intended end of the frontmatter.
enum End {
    /// Before the first line that looks like body text.
    Before(usize),
    /// At a line meant to close it: `--`, `----`, ` ---`, `—` or `...`.
    Instead(Span),
}

fn end_of_keys(text: &str, from: usize) -> Option<End> {
    let bytes = text.as_bytes();
    let mut at = Line::at(bytes, from).next;
    let first = at;
    while at < text.len() {
        let line = Line::at(bytes, at);
        let content = text[line.start..line.end].trim();
        let is_rule =
            |marks: &[char]| content.len() > 1 && content.chars().all(|c| marks.contains(&c));
        let closes = content == "..." || is_rule(&['-', '–', '—', '−']) || is_rule(&['=']);
        if closes {
            return Some(End::Instead(Span::new(line.start, line.end)));
        }
        if content.is_empty() || text[line.start..].starts_with('#') {
            break;
        }
        at = line.next;
    }
    (at > first).then_some(End::Before(at))
}
