//! Reports hidden characters of one kind, once for a file.

use std::borrow::Cow;

use crate::place::FindingPlace;
use crate::scanner::FindingSink;
use crate::subject::FileRole;
use crate::subject::ScanFile;

/// Reports the first of the characters that `is_wanted` selects, with their number.
pub(crate) fn report(
    file: &ScanFile<'_>,
    text: &str,
    is_wanted: impl Fn(usize, char) -> bool,
    out: &mut FindingSink,
    message: impl FnOnce((usize, char), usize) -> Cow<'static, str>,
) {
    let found = out.hidden(text);
    let mut wanted = found.iter().copied().filter(|&(at, c)| is_wanted(at, c));
    let Some((at, c)) = wanted.next() else { return };
    let mut end = at + c.len_utf8();
    let mut count = 1;
    for (next, c) in wanted {
        if next == end {
            end += c.len_utf8();
        }
        count += 1;
    }
    let place = match file.role() {
        FileRole::Main => FindingPlace::Instruction,
        FileRole::Script => FindingPlace::Script,
        FileRole::Reference => FindingPlace::Reference,
    };
    out.report(Some(at..end), place, message((at, c), count));
}

/// Returns `true` if a text has letters that are written from right to left.
pub(crate) fn has_right_to_left(text: &str) -> bool {
    text.chars().any(
        |c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'),
    )
}
