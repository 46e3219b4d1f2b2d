//! Characters without width inside text.

use prowess_diag::sanitize;

use super::{FindingSink, ScanContent, ScanFile};
use crate::hidden_characters;

rule!(
    "zero-width",
    Warning,
    lowers: false,
    "characters without width can hide text or split words",
    "remove the characters; most are left over from copying a web page",
    file: check
);

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    let ScanContent::Text(text) = file.content else {
        return;
    };
    let is_hidden = |at: usize, c: char| {
        let before = text[..at].chars().next_back();
        let after = text[at + c.len_utf8()..].chars().next();
        let is_mark = c == '\u{feff}' && at == 0;
        matches!(
            c,
            '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' | '\u{115f}' | '\u{1160}'
                | '\u{3164}' | '\u{ffa0}' | '\u{34f}'
        ) && !is_mark
            && !sanitize::is_ordinary(c, before, after)
    };
    hidden_characters::report(file, text, is_hidden, out, |(_, c), count| {
        let code = u32::from(c);
        format!("the character U+{code:04X} has no width ({count} in this file)").into()
    });
}
