//! Unified diffs that `patch` and `git apply` accept.

use similar::{DiffTag, group_diff_ops};

use anstyle::Style;

use super::fit::{self, Change};
use super::full::{LONGEST_LINE, RenderOptions};
use crate::line_changes::{USUAL_WORK, line_changes};
use crate::{sanitize, theme};

/// Number of unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Returns the diff; empty if the texts are equal. Of texts that take too much work to compare,
/// everything between the first and the last difference is shown as replaced.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    unified_within(path, before, after, &mut { USUAL_WORK })
}

/// Like [`unified`], within the work of [`line_changes`] for several texts.
pub fn unified_within(path: &str, before: &str, after: &str, work: &mut u64) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let operations = line_changes(&old, &new, work);
    let path = sanitize::line(path);
    let mut text = String::new();
    for hunk in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        if text.is_empty() {
            text = format!("--- {path}\n+++ {path}\n");
        }
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(first.old_range().start, last.old_range().end),
            range(first.new_range().start, last.new_range().end)
        ));
        for operation in &hunk {
            let (removed, added) = (&old[operation.old_range()], &new[operation.new_range()]);
            if operation.tag() == DiffTag::Equal {
                push(&mut text, ' ', removed);
            } else {
                push(&mut text, '-', removed);
                push(&mut text, '+', added);
            }
        }
    }
    text
}

/// Formats a diff for people: with colours, with invisible characters written out, and cut to the
/// width of the terminal. A removed line and its replacement are cut at the same column.
pub fn shown(diff: &str, options: RenderOptions) -> String {
    // The width of a tab depends on the terminal, so lines that must fit get spaces, as in
    // findings.
    let fitting = |line: &str| match options.width {
        Some(_) => line.replace('\t', "    "),
        None => line.to_owned(),
    };
    let lines: Vec<String> = diff
        .lines()
        .map(|line| fitting(&sanitize::visible(line).text))
        .collect();
    let mut result = String::with_capacity(diff.len());
    let mut rest = lines.as_slice();
    while !rest.is_empty() {
        let removed = rest.iter().take_while(|line| is_change(line, '-')).count();
        let added = rest[removed..]
            .iter()
            .take_while(|line| is_change(line, '+'))
            .count();
        let (change, after) = rest.split_at((removed + added).max(1));
        rest = after;
        if removed == added && removed > 0 {
            let (old, new) = change.split_at(removed);
            let pairs: Vec<[String; 2]> = old
                .iter()
                .zip(new)
                .map(|(old, new)| pair(old, new, options.width))
                .collect();
            for line in pairs
                .iter()
                .map(|[old, _]| old)
                .chain(pairs.iter().map(|[_, new]| new))
            {
                print(&mut result, line, options.color);
            }
        } else {
            for line in change {
                print(&mut result, &cut(line, options.width), options.color);
            }
        }
    }
    fit::mark(&result, options.color)
}

fn is_head(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("+++ ")
}

fn is_change(line: &str, mark: char) -> bool {
    line.starts_with(mark) && !is_head(line)
}

fn print(result: &mut String, line: &str, color: bool) {
    let style = match line.as_bytes() {
        _ if !color => Style::new(),
        _ if is_head(line) => theme::STRONG,
        [b'@', ..] => theme::ACCENT.on_default(),
        [b'-', ..] => theme::BAD.on_default(),
        [b'+', ..] => theme::GOOD.on_default(),
        _ => Style::new(),
    };
    result.push_str(&format!("{style}{line}{style:#}\n"));
}

/// Cuts a line and its replacement so that the difference stays visible.
fn pair(old: &str, new: &str, width: Option<usize>) -> [String; 2] {
    // Comparing longer lines would take minutes.
    let columns = width.filter(|_| old.len().max(new.len()) <= LONGEST_LINE);
    let change = columns.zip(old.get(1..)).zip(new.get(1..));
    let fitted = change.and_then(|((columns, old), new)| {
        let change = Change {
            range: 0..old.len(),
            new: new.to_owned(),
        }
        .trim(old);
        let (old, changes) = fit::fit(old, &[change], columns.saturating_sub(1))?;
        let change = changes.first()?;
        let new = [
            &old[..change.range.start],
            &change.new,
            &old[change.range.end..],
        ]
        .concat();
        Some([format!("-{old}"), format!("+{new}")])
    });
    fitted.unwrap_or_else(|| [cut(old, width), cut(new, width)])
}

/// Cuts the end of a line.
fn cut(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if fit::width(line) > columns => fit::excerpt(line, 0..0, 0, columns).0,
        _ => line.to_owned(),
    }
}

/// Formats a range of lines for a hunk header: counted from 1; if empty, the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn push(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(
            unified("a/SKILL.md", before, after),
            expected,
            "{before:?} to {after:?}"
        );
    }

    #[test]
    fn equal_texts_have_no_diff() {
        check("a\nb", "a\nb", "");
        check("", "", "");
        let long = "a\n".repeat(10_000);
        check(&long, &long, "");
    }

    #[test]
    fn changes_have_three_lines_of_context() {
        check(
            "1\n2\n3\n4\n5\n6\n",
            "1\n2\n3\n4\nfive\n6\n",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n",
        );
    }

    #[test]
    fn changes_far_apart_are_two_hunks() {
        let text = "a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n";
        let diff = unified("f", text, &text.replace('a', "A").replace('b', "B"));
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
    }

    #[test]
    fn empty_ranges_are_numbered_as_in_patch() {
        check(
            "",
            "a\n",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -0,0 +1 @@\n+a\n",
        );
        check(
            "a\n",
            "",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1 +0,0 @@\n-a\n",
        );
    }

    #[test]
    fn missing_final_line_break_is_marked() {
        check(
            "a\nb",
            "A\nb",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
        );
    }

    #[test]
    fn carriage_returns_are_kept() {
        check(
            "a\rb\r\n",
            "A\rb\r\n",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1 +1 @@\n-a\rb\r\n+A\rb\r\n",
        );
    }

    /// A comparison line by line would take minutes.
    #[test]
    fn huge_unrelated_texts_finish_quickly() {
        let (before, after) = ("a\r".repeat(400_000), "a\n".repeat(400_000));
        let diff = unified("f", &before, &after);
        assert!(diff.starts_with("--- f\n+++ f\n@@ -1 +1,400000 @@\n-a\ra\r"));
    }

    fn read(before: &str, after: &str, width: Option<usize>) -> Vec<String> {
        let shown = shown(
            &unified("f", before, after),
            RenderOptions {
                color: false,
                width,
            },
        );
        shown.lines().skip(3).map(str::to_owned).collect()
    }

    #[test]
    fn terminal_lines_are_cut_away_from_the_change() {
        let long = "many words ".repeat(20);
        let (before, after) = (
            format!("{long}a {long}\n{long}\n"),
            format!("{long}b {long}\n{long}\n"),
        );
        let lines = read(&before, &after, Some(40));
        assert!(
            lines[0].starts_with("-many word") && lines[0].contains("words a many"),
            "{lines:?}"
        );
        assert!(
            lines[1].starts_with("+many word") && lines[1].contains("words b many"),
            "{lines:?}"
        );
        assert_eq!(lines[0].replace('-', "+").replace(" a ", " b "), lines[1]);
        assert!(
            lines[2].starts_with(" many words ") && lines[2].ends_with('…'),
            "{lines:?}"
        );
        assert!(lines.iter().all(|line| fit::width(line) <= 40), "{lines:?}");
        assert_eq!(read(&before, &after, None)[0], format!("-{long}a {long}"));
        let huge = "a".repeat(400_000);
        let lines = read(&huge, &huge.replace('a', "b"), Some(40));
        assert!(lines.iter().all(|line| fit::width(line) <= 40), "{lines:?}");
    }

    #[test]
    fn tabs_become_spaces_only_on_a_terminal() {
        let lines = read("\ta\n\tb\n", "\ta\nb\n", Some(40));
        assert_eq!(lines, ["     a", "-    b", "+b"]);
        assert_eq!(read("\ta\n\tb\n", "\ta\nb\n", None), [" \ta", "-\tb", "+b"]);
    }

    #[test]
    fn invisible_characters_are_written_out() {
        assert_eq!(
            read("a\u{200b}b\n", "ab\n", Some(40)),
            ["-a<U+200B>b", "+ab"]
        );
    }

    #[test]
    fn path_cannot_inject_a_line() {
        assert!(unified("a\n+++ b", "a", "b").starts_with("--- a\\n+++ b\n+++ a\\n+++ b\n@@"));
    }
}
