//! Characters that frontmatter writes as YAML escapes, so that its source does not show them.

use prowess_diag::Span;

use crate::yaml::{YamlEntry, YamlNode, YamlStyle, YamlValue};

/// Returns each character that a double-quoted key or value writes as an escape, such as `\u200b`,
/// with the range of the escape in the text. Sorted by position.
pub fn escaped_characters(text: &str, entries: &[YamlEntry<'_>]) -> Vec<(Span, char)> {
    let mut found = Vec::new();
    for entry in entries {
        in_entry(text, entry, &mut found);
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// Returns like [`escaped_characters`], with the characters before and after each escape.
pub fn escaped_with_neighbours(
    text: &str,
    entries: &[YamlEntry<'_>],
) -> Vec<(Span, char, [Option<char>; 2])> {
    let escapes = escaped_characters(text, entries);
    let neighbours = |index: usize, span: Span| {
        let escaped = |index: Option<usize>| index.and_then(|index| escapes.get(index));
        let before = escaped(index.checked_sub(1)).filter(|(other, _)| other.end == span.start);
        let after = escaped(index.checked_add(1)).filter(|(other, _)| other.start == span.end);
        let range = span.range();
        [
            before.map_or_else(
                || text[..range.start].chars().next_back(),
                |(_, c)| Some(*c),
            ),
            after.map_or_else(|| text[range.end..].chars().next(), |(_, c)| Some(*c)),
        ]
    };
    let with_neighbours = escapes.iter().enumerate();
    with_neighbours
        .map(|(index, &(span, c))| (span, c, neighbours(index, span)))
        .collect()
}

fn in_entry(text: &str, entry: &YamlEntry<'_>, found: &mut Vec<(Span, char)>) {
    if entry.key_span.of(text).starts_with('"') {
        in_span(text, entry.key_span, found);
    }
    in_node(text, &entry.value, found);
}

// The depth is bounded by the YAML readers.
fn in_node(text: &str, node: &YamlNode<'_>, found: &mut Vec<(Span, char)>) {
    match &node.value {
        YamlValue::Scalar(_, YamlStyle::DoubleQuoted) => in_span(text, node.span, found),
        YamlValue::Scalar(..) => {}
        YamlValue::Sequence(items, _) => {
            for item in items {
                in_node(text, item, found);
            }
        }
        YamlValue::Mapping(entries, _) => {
            for entry in entries {
                in_entry(text, entry, found);
            }
        }
    }
}

fn in_span(text: &str, span: Span, found: &mut Vec<(Span, char)>) {
    let source = span.of(text);
    let mut at = 0;
    while let Some(next) = source[at..].find('\\') {
        at += next;
        let rest = &source[at + 1..];
        let digits = match rest.bytes().next() {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let c = match rest.chars().next() {
            Some('0') => Some('\0'),
            Some('a') => Some('\u{7}'),
            Some('b') => Some('\u{8}'),
            Some('v') => Some('\u{b}'),
            Some('f') => Some('\u{c}'),
            Some('e') => Some('\u{1b}'),
            Some('N') => Some('\u{85}'),
            Some('L') => Some('\u{2028}'),
            Some('P') => Some('\u{2029}'),
            _ if digits > 0 => rest
                .get(1..=digits)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32),
            _ => None,
        };
        // The backslash and the character after it, which may be a backslash too.
        let length = 1 + rest.chars().next().map_or(0, char::len_utf8) + digits;
        let end = (at + length).min(source.len());
        if let Some(c) = c {
            let start = span.range().start;
            found.push((Span::new(start + at, start + end), c));
        }
        // A malformed escape may end within a character.
        at = (end..=source.len())
            .find(|at| source.is_char_boundary(*at))
            .unwrap_or(source.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(frontmatter: &str) -> Vec<(String, char)> {
        let text = format!("---\n{frontmatter}\n---\n");
        let parsed = crate::parse(text.as_bytes());
        escaped_characters(parsed.text, &parsed.manifest.entries)
            .into_iter()
            .map(|(span, c)| (span.of(parsed.text).to_owned(), c))
            .collect()
    }

    #[test]
    fn escapes_are_found_in_double_quoted_keys_and_values() {
        let cases: [(&str, &[(&str, char)]); 6] = [
            (r#"a: "x\u200by""#, &[(r"\u200b", '\u{200b}')]),
            (
                r#""k\xad": ["\U000e0069", {b: "\e"}]"#,
                &[
                    (r"\xad", '\u{ad}'),
                    (r"\U000e0069", '\u{e0069}'),
                    (r"\e", '\u{1b}'),
                ],
            ),
            (r"a: x\u200b", &[]),
            (r"a: 'x\u200b'", &[]),
            (r#"a: "\\u200b\n\"""#, &[]),
            ("a: |\n  \\u200b", &[]),
        ];
        for (frontmatter, expected) in cases {
            let expected: Vec<(String, char)> = expected
                .iter()
                .map(|(text, c)| ((*text).to_owned(), *c))
                .collect();
            assert_eq!(found(frontmatter), expected, "{frontmatter}");
        }
    }

    #[test]
    fn malformed_escapes_do_not_panic() {
        for text in [
            r#""\"#,
            r#""\u""#,
            r#""\u12é3""#,
            r#""\Ué""#,
            r#""\é""#,
            r#""\xé""#,
        ] {
            let mut found = Vec::new();
            in_span(text, Span::new(0, text.len()), &mut found);
            assert!(found.is_empty(), "{text}");
        }
    }
}
