//! Tag characters, which spell hidden text.

use std::borrow::Cow;

use prowess_diag::sanitize;

use super::{FindingSink, ScanContent, ScanFile};
use crate::hidden_characters;

rule!(
    "tag-characters",
    Error,
    lowers: false,
    "invisible tag characters spell text that only a model reads",
    "remove the characters, and read what they say: each is an ASCII letter plus U+E0000",
    file: check
);

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    let ScanContent::Text(text) = file.content else {
        return;
    };
    // The sequences of the flags of England, Scotland and Wales are emoji.
    let is_tag = |at: usize, c: char| {
        matches!(c, '\u{e0000}'..='\u{e007f}') && !sanitize::is_flag(&text[..at])
    };
    hidden_characters::report(file, text, is_tag, out, |first, count| {
        let hidden: String = text[first.0..]
            .chars()
            .filter_map(|c| u32::from(c).checked_sub(0xe0000).and_then(char::from_u32))
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .take(60)
            .collect();
        let hidden = hidden.trim().to_owned();
        if hidden.is_empty() {
            Cow::from(format!("{count} invisible tag characters"))
        } else {
            Cow::from(format!("{count} invisible tag characters spell `{hidden}`"))
        }
    });
}
