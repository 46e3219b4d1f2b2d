//! Characters that reverse the text after them.

use super::{FindingSink, ScanContent, ScanFile};
use crate::hidden_characters;

rule!(
    "bidi-override",
    Error,
    lowers: false,
    "characters reverse the direction of text, so that people and models read different text",
    "remove the characters; Hebrew, Arabic and Persian text does not need overrides",
    file: check
);

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    let ScanContent::Text(text) = file.content else {
        return;
    };
    // Marks and isolates are part of ordinary writing in some languages, overrides are not.
    // Looked for once, and only if it matters.
    let right_to_left = std::cell::OnceCell::new();
    let is_override = |_: usize, c: char| {
        matches!(c, '\u{202d}' | '\u{202e}')
            || matches!(c, '\u{202a}' | '\u{202b}' | '\u{2066}'..='\u{2068}')
                && !*right_to_left.get_or_init(|| hidden_characters::has_right_to_left(text))
    };
    hidden_characters::report(file, text, is_override, out, |(_, c), count| {
        let code = u32::from(c);
        format!("the character U+{code:04X} changes the text direction ({count} in this file)")
            .into()
    });
}
