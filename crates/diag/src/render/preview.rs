//! Shows a change as removed and added lines, for changes that a marked line cannot show: those
//! that span lines, change only whitespace, or only add text.

use anstyle::Style;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::fit::Change;
use crate::theme;

/// Unchanged runs between changes are shown only up to this length.
const MOST_KEPT: usize = 3;

/// Returns `true` if the changes need this view. Insertions and deletions of whole lines do not.
pub(super) fn is_needed(text: &str, changes: &[Change]) -> bool {
    let upto = |end: usize| text.get(..end).unwrap_or_default();
    let mut places = changes
        .iter()
        .map(|change| upto(change.range.start).matches('\n').count());
    let first = places.next();
    let is_whole = |change: &Change| change.range.is_empty() && change.new.ends_with('\n');
    let is_spread = places.any(|line| Some(line) != first) && !changes.iter().all(is_whole);
    is_spread
        || changes.iter().any(|change| {
            let old = text.get(change.range.clone()).unwrap_or_default();
            let is_line_start = change.range.start == 0 || upto(change.range.start).ends_with('\n');
            let is_line_end = text
                .get(change.range.end..)
                .is_some_and(|rest| rest.starts_with('\n'))
                || change.range.end == text.len();
            let breaks = [old, &change.new].map(|part| part.contains('\n'));
            match breaks {
                [false, true] if old.is_empty() => {
                    !(is_line_start && change.new.ends_with('\n')
                        || is_line_end && change.new.starts_with('\n'))
                }
                [_, true] => true,
                _ => {
                    let trimmed = change.clone().trim(text);
                    let gone = text.get(trimmed.range).unwrap_or_default();
                    let is_added = gone.is_empty() && !trimmed.new.is_empty();
                    is_added || gone.trim().is_empty() && trimmed.new.trim().is_empty()
                }
            }
        })
}

/// Returns the removed and added lines between two bars. `line` is the number of the first line of
/// `text`; the changes are sorted and do not overlap.
pub(super) fn lines(text: &str, changes: &[Change], line: usize, color: bool) -> String {
    let mut after = String::new();
    let mut from = 0;
    for change in changes {
        after.push_str(text.get(from..change.range.start).unwrap_or_default());
        after.push_str(&change.new);
        from = change.range.end;
    }
    after.push_str(text.get(from..).unwrap_or_default());
    let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), after.lines().collect());
    let width = (line + old.len().max(new.len()))
        .saturating_sub(1)
        .to_string()
        .len();
    let pick = |style: Style| if color { style } else { Style::new() };
    let number = pick(theme::LINE_NUMBER);
    let bar = format!("{number}{:width$} |{number:#}\n", "");
    let mut result = bar.clone();
    let mut row = |at: usize, mark: char, style: Style, content: &str| {
        let content = content.replace('\t', "    ");
        let marked = if mark == '|' {
            format!("{number}{:>width$} |{number:#}", line + at)
        } else {
            format!(
                "{number}{:>width$}{number:#} {style}{mark}{style:#}",
                line + at
            )
        };
        let content = if content.is_empty() {
            String::new()
        } else {
            format!(" {style}{content}{style:#}")
        };
        result.push_str(&format!("{marked}{content}\n"));
    };
    let (removal, addition) = (pick(theme::REMOVED), pick(theme::ADDED));
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    let last = operations.len().saturating_sub(1);
    for (index, operation) in operations.iter().enumerate() {
        if let DiffOp::Equal { new_index, len, .. } = *operation {
            // Skip unchanged lines before the first change and after the last one.
            if index > 0 && index < last && len <= MOST_KEPT {
                (new_index..new_index + len).for_each(|at| row(at, '|', Style::new(), new[at]));
            }
            continue;
        }
        operation
            .old_range()
            .for_each(|at| row(at, '-', removal, old[at]));
        operation
            .new_range()
            .for_each(|at| row(at, '+', addition, new[at]));
    }
    result.push_str(&bar);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, new: &str, shown: Option<&str>) {
        let start = text.find(old).unwrap();
        let changes = [Change {
            range: start..start + old.len(),
            new: new.to_owned(),
        }];
        let found = is_needed(text, &changes).then(|| lines(text, &changes, 3, false));
        assert_eq!(found.as_deref(), shown, "{text:?}");
    }

    #[test]
    fn changed_lines_are_shown_before_and_after() {
        check(
            "d: a\n  b: c\n",
            "a\n  b: c",
            "'a\n  b: c'",
            Some("  |\n3 - d: a\n4 -   b: c\n3 + d: 'a\n4 +   b: c'\n  |\n"),
        );
        check(
            "d: \"a\n  b\n",
            "\"a\n  b",
            "\"a\n  b\"",
            Some("  |\n4 -   b\n4 +   b\"\n  |\n"),
        );
        check(
            "d: > a\n",
            " a",
            "\n  a",
            Some("  |\n3 - d: > a\n3 + d: >\n4 +   a\n  |\n"),
        );
        check(
            "  d: a\n",
            "  ",
            "",
            Some("  |\n3 -   d: a\n3 + d: a\n  |\n"),
        );
        check("\n\n---\n", "\n\n", "", Some("  |\n3 -\n4 -\n  |\n"));
        check(
            "alow: a\n",
            "alow",
            "allow",
            Some("  |\n3 - alow: a\n3 + allow: a\n  |\n"),
        );
    }

    #[test]
    fn whole_lines_and_single_marks_need_no_preview() {
        check("a\nb\n", "a\n", "", None);
        check("a: b\n", "b", "'b'", None);
        check("a: b c\n", "b c", "c", None);
    }
}
