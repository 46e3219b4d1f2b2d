//! A duplicate key.

use prowess_diag::{Fix, LineIndex, TextEdit, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, whole_lines};
use prowess_spec::frontmatter::Line;
use prowess_spec::problem::ProblemKind;

rule!(
    "duplicate-key",
    RuleLevels::of("EEE"),
    Safe,
    "a key appears twice"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let mut index = None;
    for problem in &parsed.problems {
        let ProblemKind::DuplicateKey(duplicate) = &problem.kind else {
            continue;
        };
        let lines = whole_lines(parsed.text, duplicate.entry);
        // Only an entry alone on its lines can be removed as lines.
        let between = |start: u32, end: u32| {
            parsed
                .text
                .get(start as usize..end as usize)
                .unwrap_or("?")
                .trim()
        };
        let after = between(duplicate.entry.end, lines.end);
        let first = Line::at(parsed.text.as_bytes(), duplicate.first.start as usize);
        let alone = between(lines.start, duplicate.entry.start).is_empty()
            && (after.is_empty() || after.starts_with('#'))
            && lines.start as usize >= first.next;
        let edit = vec![TextEdit::delete(lines)];
        let fix = match duplicate.same_value {
            _ if !alone => None,
            true => Some(Fix::safe("remove the duplicate", edit)),
            false => Some(Fix::suggested("remove the second one", edit)),
        };
        let how = match &*duplicate.key {
            _ if duplicate.same_value => "with the same value",
            "allowed-tools" => "with another value; neither grants anything",
            "disable-model-invocation" => "with another value; the safer `true` is used",
            "user-invocable" => "with another value; the safer `false` is used",
            _ => "with another value; Prowess uses the first",
        };
        let line = index
            .get_or_insert_with(|| LineIndex::new(parsed.text))
            .position(parsed.text, duplicate.first.start as usize)
            .line;
        let key = wording::tick(&duplicate.key);
        out.report(
            LintFinding::at(
                duplicate.again,
                format!("invalid YAML: duplicate key {key}"),
            )
            .label(format!("{key} is already on line {line}, {how}"))
            .fix(fix),
        );
    }
}
