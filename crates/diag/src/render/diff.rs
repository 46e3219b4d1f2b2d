//! What changed in a text, as a unified diff that `patch` and `git apply` take.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::sanitize;

/// Unchanged lines shown round a change.
const CONTEXT: usize = 3;
/// Texts with more lines than this are not compared line by line: what lies between the first
/// change and the last one is shown as replaced.
const MOST_LINES: usize = 10_000;

/// Returns the diff, empty if the texts are the same.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let operations = if old.len() + new.len() > MOST_LINES {
        replacement(&old, &new)
    } else {
        capture_diff_slices(Algorithm::Myers, &old, &new)
    };
    let path = sanitize::line(path);
    let mut text = String::new();
    for hunk in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
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

/// One replacement of everything between the first difference and the last.
fn replacement(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_len, new_len) = (old_rest.len() - after, new_rest.len() - after);
    if old_len + new_len == 0 {
        return Vec::new();
    }
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: before },
        DiffOp::Replace { old_index: before, old_len, new_index: before, new_len },
        DiffOp::Equal { old_index: before + old_len, new_index: before + new_len, len: after },
    ]
}

/// Lines as a hunk counts them: from 1, or the line before if there are none.
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
        assert_eq!(unified("a/SKILL.md", before, after), expected, "{before:?} to {after:?}");
    }

    #[test]
    fn equal_texts_have_no_diff() {
        check("a\nb", "a\nb", "");
        check("", "", "");
        let long = "a\n".repeat(MOST_LINES);
        check(&long, &long, "");
    }

    #[test]
    fn changes_stand_in_three_lines_of_context() {
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
    fn inserted_and_missing_text_is_counted_as_patch_counts() {
        check("", "a\n", "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -0,0 +1 @@\n+a\n");
        check("a\n", "", "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_missing_line_break_at_the_end_is_said() {
        check(
            "a\nb",
            "A\nb",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
        );
    }

    #[test]
    fn carriage_returns_are_text() {
        check(
            "a\rb\r\n",
            "A\rb\r\n",
            "--- a/SKILL.md\n+++ a/SKILL.md\n@@ -1 +1 @@\n-a\rb\r\n+A\rb\r\n",
        );
    }

    /// Compared line by line this would take minutes.
    #[test]
    fn huge_texts_that_share_nothing_end_soon() {
        let (before, after) = ("a\r".repeat(400_000), "a\n".repeat(400_000));
        let diff = unified("f", &before, &after);
        assert!(diff.starts_with("--- f\n+++ f\n@@ -1 +1,400000 @@\n-a\ra\r"));
    }

    #[test]
    fn a_path_cannot_fake_a_line() {
        assert!(unified("a\n+++ b", "a", "b").starts_with("--- a\\n+++ b\n+++ a\\n+++ b\n@@"));
    }
}
