//! Writes strings as YAML scalars.

use super::{YamlNode, YamlStyle, YamlValue, full};

/// Writes `text` as a scalar on one line: unquoted if that reads back as the same text, in single
/// quotes if possible, else in double quotes.
pub fn scalar(text: &str) -> String {
    // Fast path for names and similar words.
    let is_simple = |b: u8| b.is_ascii_lowercase() || b == b'-';
    if text.bytes().all(is_simple)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !looks_typed(text)
    {
        return text.to_owned();
    }
    let single = format!("'{}'", text.replace('\'', "''"));
    for candidate in [text.to_owned(), single] {
        if reads_as(&candidate, text) {
            return candidate;
        }
    }
    let mut double = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => double.push_str("\\\""),
            '\\' => double.push_str("\\\\"),
            '\n' => double.push_str("\\n"),
            '\r' => double.push_str("\\r"),
            '\t' => double.push_str("\\t"),
            // YAML does not allow the last two.
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                double.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c => double.push(c),
        }
    }
    double.push('"');
    double
}

/// Writes `text` in double quotes if it needs no escapes, otherwise like [`scalar`]. The result is
/// never read as a number or a boolean.
pub fn quoted(text: &str) -> String {
    let double = format!("\"{text}\"");
    if !text.contains(['"', '\\']) && reads_as(&double, text) {
        double
    } else {
        scalar(text)
    }
}

fn reads_as(candidate: &str, text: &str) -> bool {
    if candidate.contains(['\n', '\r']) {
        return false;
    }
    let source = format!("k: {candidate}\n");
    let Ok(document) = full::read(&source, 0) else {
        return false;
    };
    let value = document.root.as_ref().and_then(|root| root.get("k"));
    let same = value.and_then(YamlNode::text) == Some(text);
    // Other readers may parse such an unquoted word as another type.
    let is_bare =
        value.is_some_and(|node| matches!(node.value, YamlValue::Scalar(_, YamlStyle::Plain)));
    same && !(is_bare && looks_typed(text))
}

/// Returns `true` if a YAML reader may take an unquoted word for a number, a boolean, a date or
/// null.
pub fn looks_typed(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "true", "false", "yes", "no", "on", "off", "null", "y", "n", "~", ".nan", ".inf", "-.inf",
    ];
    let number = text.trim_start_matches(['+', '-']);
    let numeric = number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && number.chars().all(|c| {
            c.is_ascii_hexdigit()
                || matches!(c, '.' | '_' | 'x' | 'o' | '+' | '-' | ':' | 'T' | 'Z')
        })
        && number.chars().any(|c| c.is_ascii_digit())
        && is_number_or_date(number);
    numeric || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns `true` for `1.0` and `2024-01-31`, but not for `1.2.3` and `7zip`.
fn is_number_or_date(text: &str) -> bool {
    let plain = text.replace('_', "");
    let date = text.len() >= 8
        && text.as_bytes().get(4) == Some(&b'-')
        && text.split('-').count() == 3
        && text.split('-').all(|part| {
            part.bytes()
                .all(|b| b.is_ascii_digit() || b"T:Z.".contains(&b))
        });
    plain.parse::<f64>().is_ok()
        || plain
            .strip_prefix("0x")
            .is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok())
        || plain
            .strip_prefix("0o")
            .is_some_and(|oct| u64::from_str_radix(oct, 8).is_ok())
        || date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_reads_back() {
        for text in [
            "plain",
            "a: b",
            "it's",
            "'\"",
            "- x",
            "#x",
            " lead",
            "",
            "yes",
            "1.0",
            "1.2.3",
            "a\nb",
            "tab\there",
            "\u{7}",
            "@x",
            "技能",
            "null",
            "trail ",
            "\u{ffff}: \u{fffe}",
        ] {
            let source = format!("k: {}\n", scalar(text));
            let root = full::read(&source, 0).unwrap().root.unwrap();
            let YamlValue::Scalar(found, _) = &root.get("k").unwrap().value else {
                panic!("{source}")
            };
            assert_eq!(&**found, text, "{source}");
        }
    }

    #[test]
    fn words_that_look_typed_are_quoted() {
        assert_eq!(
            [
                scalar("yes"),
                scalar("1.0"),
                scalar("v1"),
                scalar("1.2.3"),
                scalar("2024-01-31")
            ],
            ["'yes'", "'1.0'", "v1", "1.2.3", "'2024-01-31'"]
        );
        assert_eq!([quoted("1.0"), quoted("a\"b")], ["\"1.0\"", "a\"b"]);
    }
}
