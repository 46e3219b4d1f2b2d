//! Helpers for grammatical messages: counts, lists, sizes and quoted names.

use std::fmt::{Display, Write};

/// Formats a count with its noun: "1 skill", "2 skills", "12,345 skills".
pub fn count(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// Formats a number with commas between groups of three digits.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut result = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            result.push(',');
        }
        result.push(digit);
    }
    result
}

/// Joins items with "or": "a", "a or b", "a, b or c".
pub fn either<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    join(items, "or")
}

/// Joins items with "and": "a", "a and b", "a, b and c".
pub fn all<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    join(items, "and")
}

/// Puts backticks around a name; a name that contains a backtick gets double ones.
pub fn tick(name: impl Display) -> String {
    let mut text = String::with_capacity(32);
    text.push('`');
    // Writing to a `String` cannot fail.
    let _ = write!(text, "{name}");
    if text[1..].contains('`') {
        return format!("`` {} ``", &text[1..]);
    }
    text.push('`');
    text
}

/// Quotes a path for a POSIX shell, if it needs quoting. A leading `~/` stays unquoted, so that the
/// shell expands it.
pub fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-~+:@%,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    let (home, rest) = path.split_at(if path.starts_with("~/") { 2 } else { 0 });
    format!("{home}'{}'", rest.replace('\'', "'\\''"))
}

/// Formats a command that the user may type, in backticks. Each word is quoted for a POSIX shell if
/// it needs quoting: a name or a path may come from an untrusted file.
pub fn command<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let words = words.into_iter().map(|word| shell_word(word.as_ref()));
    tick(words.collect::<Vec<_>>().join(" "))
}

/// Shortens text to `limit` characters, ending with `…` if anything was cut.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(limit.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

/// Formats a size in bytes: "812 B", "1.2 kB", "3.4 MB".
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (bytes / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

fn join<T: Display>(items: impl IntoIterator<Item = T>, word: &str) -> String {
    let mut items = items.into_iter().enumerate().peekable();
    let mut text = String::with_capacity(if items.peek().is_some() { 64 } else { 0 });
    while let Some((index, item)) = items.next() {
        match (index, items.peek()) {
            (0, _) => {}
            (_, Some(_)) => text.push_str(", "),
            (_, None) => text.extend([" ", word, " "]),
        }
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{item}");
    }
    text
}

/// Formats the time between two timestamps in nanoseconds: "just now", "5 minutes ago".
pub fn ago(now: i64, then: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let seconds = now.saturating_sub(then).max(0) / SECOND;
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!(
        "{} ago",
        count(usize::try_from(number).unwrap_or(usize::MAX), unit)
    )
}

/// Formats an error without the `(os error N)` that [`std::io::Error`] appends.
pub fn io_reason(error: impl Display) -> String {
    const MARK: &str = " (os error ";
    let mut text = error.to_string();
    while let Some(start) = text.find(MARK) {
        let end = text[start..]
            .find(')')
            .map_or(text.len(), |end| start + end + 1);
        text.replace_range(start..end, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_use_singular_and_plural() {
        assert_eq!(
            [count(0, "skill"), count(1, "skill"), count(12_345, "skill")],
            ["0 skills", "1 skill", "12,345 skills"]
        );
    }

    #[test]
    fn lists_are_joined_with_commas_and_a_conjunction() {
        assert_eq!(
            [either(["a"]), either(["a", "b"]), all(["a", "b", "c"])],
            ["a", "a or b", "a, b and c"]
        );
    }

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(
            [
                size(0),
                size(999),
                size(1000),
                size(1_234_567),
                size(5_000_000_000)
            ],
            ["0 B", "999 B", "1.0 kB", "1.2 MB", "5.0 GB"]
        );
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(
            [shorten("技能技能", 4), shorten("技能技能", 3)],
            ["技能技能", "技能…"]
        );
    }

    #[test]
    fn shell_words_are_quoted_if_necessary() {
        for (path, word) in [
            ("a/b.md", "a/b.md"),
            ("~/a", "~/a"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("~/a b", "~/'a b'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(path), word);
        }
    }

    #[test]
    fn os_error_numbers_are_removed() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(io_reason(&error), "No such file or directory");
        let wrapped = format!("cannot read `a`: {error}; skipped");
        assert_eq!(
            io_reason(wrapped),
            "cannot read `a`: No such file or directory; skipped"
        );
        assert_eq!(io_reason("plain"), "plain");
        assert_eq!(io_reason("cut (os error 1"), "cut");
    }

    #[test]
    fn names_with_backticks_get_double_backticks() {
        assert_eq!([tick("a"), tick("a`b")], ["`a`", "`` a`b ``"]);
    }
}
