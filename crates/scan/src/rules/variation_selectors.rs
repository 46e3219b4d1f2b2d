//! Variation selectors that carry hidden bytes.

use prowess_diag::sanitize;

use super::{FindingSink, ScanContent, ScanFile};
use crate::hidden_characters;

rule!(
    "variation-selectors",
    Error,
    lowers: false,
    "variation selectors without a character that they vary can carry a hidden message",
    "remove the characters: each can carry one byte of a hidden message",
    file: check
);

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    let ScanContent::Text(text) = file.content else {
        return;
    };
    let is_carrier = |at: usize, c: char| {
        let before = text[..at].chars().next_back();
        match c {
            '\u{e0100}'..='\u{e01ef}' => !sanitize::is_ordinary(c, before, None),
            // A run of the ordinary ones carries text as well; one alone is debris.
            '\u{fe00}'..='\u{fe0d}' => {
                before.is_some_and(|before| matches!(before, '\u{fe00}'..='\u{fe0f}'))
            }
            _ => false,
        }
    };
    hidden_characters::report(file, text, is_carrier, out, |_, count| {
        format!("{count} variation selectors without a character that they vary").into()
    });
}
