//! Comments after a value: which ` #` starts a comment, and which is part of the author's text.

use super::quote::is_plain;
use crate::vocabulary::says_when;

/// Returns the start of a YAML comment: a `#` after whitespace.
pub(super) fn comment_start(text: &str) -> Option<usize> {
    let is_comment = |at: &usize| text[..*at].ends_with([' ', '\t', '\n']);
    text.match_indices('#').map(|(at, _)| at).find(is_comment)
}

/// Returns `true` if a YAML comment after a value was probably meant as text: `#12` and `#general`
/// have no space after the mark, and comments do not say when to use a skill. The parser and the
/// rules share this function.
pub fn is_lost_text(before: &str, comment: &str) -> bool {
    let text = comment.trim_start_matches('#');
    let is_glued = comment.len() - text.len() == 1
        && text.starts_with(|c: char| c.is_alphanumeric() || "{$<_".contains(c));
    is_glued || !text.trim().is_empty() && says_when(text) && !says_when(before)
}

/// Splits a comment off the last line of an unquoted value.
pub(super) fn split_comment(value: &str) -> (&str, &str) {
    match comment_start(value) {
        Some(at) if is_plain(value) && !value[at..].contains('\n') => {
            let before = value[..at].trim_end();
            if is_lost_text(before, &value[at..]) {
                (value, "")
            } else {
                (before, &value[before.len()..])
            }
        }
        _ => (value, ""),
    }
}
