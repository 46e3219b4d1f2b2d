//! A key that stands twice.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject, whole_lines};
use prowess_spec::problem::ProblemKind;

rule!("duplicate-key", Levels::of("EEE"), Safe, "a key stands twice");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        let ProblemKind::DuplicateKey(duplicate) = &problem.kind else {
            continue;
        };
        let lines = whole_lines(parsed.text, duplicate.entry);
        // Only an entry that has its lines to itself can be taken out as lines.
        let alone =
            parsed.text[lines.start as usize..duplicate.entry.start as usize].trim().is_empty()
                && !parsed.text[..lines.end as usize].ends_with(',');
        let first_line = prowess_spec::frontmatter::Line::at(
            parsed.text.as_bytes(),
            duplicate.first.start as usize,
        );
        let alone = alone && lines.start as usize >= first_line.next;
        let edit = vec![Edit::delete(lines)];
        let fix = match duplicate.same_value {
            _ if !alone => None,
            true => Some(Fix::safe("remove the second one, it says the same", edit)),
            false => Some(Fix::suggested("remove the second one", edit)),
        };
        let label = match &*duplicate.key {
            _ if duplicate.same_value => "stands above with the same value",
            "allowed-tools" => "stands above with another value; neither grants anything",
            "disable-model-invocation" => {
                "stands above with another value; `true` counts, the safer one"
            }
            _ => "stands above with another value; the first one counts",
        };
        out.report(
            Finding::at(
                duplicate.again,
                format!("invalid YAML: duplicate key `{}`", duplicate.key),
            )
            .label(label)
            .fix(fix),
        );
    }
}
