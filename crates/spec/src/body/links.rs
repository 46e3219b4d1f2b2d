//! The target of a link.

use std::ops::Range;

/// Reads a link's target at the start of `text`: up to `close`, or to the end of the line for a
/// definition. Returns where the target stands and how much text the link takes.
pub(super) fn target(text: &str, close: Option<u8>) -> Option<(Range<usize>, usize)> {
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    let (target, mut at) = if text[blanks..].starts_with('<') {
        let end = blanks + text[blanks..].find('>')?;
        (blanks + 1..end, end + 1)
    } else {
        let mut depth = 0_usize;
        let mut end = text.len();
        for (at, byte) in text.bytes().enumerate().skip(blanks) {
            match byte {
                b' ' | b'\t' => {
                    end = at;
                    break;
                }
                b'(' => depth += 1,
                b')' if depth == 0 && close.is_some() => {
                    end = at;
                    break;
                }
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        (blanks..end, end)
    };
    match close {
        Some(close) => at += memchr::memchr(close, &text.as_bytes()[at..])? + 1,
        // Behind the target of a definition only a title may stand.
        None => {
            let rest = text[at..].trim_start();
            if !rest.is_empty() && !rest.starts_with(['"', '\'', '(']) {
                return None;
            }
            at = text.len();
        }
    }
    (!target.is_empty()).then_some((target, at))
}
