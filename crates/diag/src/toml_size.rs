//! Counts the tokens of a TOML text before it is parsed: a small file can hold values that take a
//! hundred times its size in memory.

/// Returns `true` if a text has more than `most` tokens. Strings and comments are one token each.
pub fn has_more_tokens(text: &str, most: usize) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut count = 0;
    while let Some(first) = bytes.get(at) {
        count += 1;
        if count > most {
            return true;
        }
        let rest = &bytes[at..];
        at += match first {
            b' ' | b'\t' => run(rest, |byte| matches!(byte, b' ' | b'\t')),
            b'#' => run(rest, |byte| *byte != b'\n'),
            b'"' | b'\'' => string(rest, *first),
            _ if is_bare(*first) => run(rest, |byte| is_bare(*byte)),
            _ => 1,
        };
    }
    false
}

fn run(bytes: &[u8], is_part: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_part(byte)).count()
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b':') || !byte.is_ascii()
}

/// Returns the length of a string with its quotes. One without an end is an error for every parser.
fn string(bytes: &[u8], quote: u8) -> usize {
    let is_escaping = quote == b'"';
    let is_long = bytes.starts_with(&[quote; 3]);
    let mut at = if is_long { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && is_escaping {
            at += 2;
        } else if *byte == quote && !is_long {
            return at + 1;
        } else if *byte == quote && bytes[at..].starts_with(&[quote; 3]) {
            return at + run(&bytes[at..], |byte| *byte == quote).min(5);
        } else if *byte == b'\n' && !is_long {
            return at;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_outside_of_strings() {
        for (text, tokens) in [
            ("", 0),
            ("a = 1\n", 6),
            ("a=[0,0,0]", 9),
            ("\n\n\n", 3),
            ("a='x,y,z'", 3),
            ("a=\"x\\\",y\"", 3),
            ("a='''x,'y\n'''''\n", 4),
            ("# a, b, c\nk.l=1", 7),
            ("a='x", 3),
            ("é=\"", 3),
        ] {
            assert!(!has_more_tokens(text, tokens), "{text:?}");
            assert!(tokens == 0 || has_more_tokens(text, tokens - 1), "{text:?}");
        }
    }
}
