//! The examples in pages of rules: fenced blocks such as `markdown bad folder=pdf-tools`.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking if a page is malformed"
)]

/// An example of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageExample {
    /// The first word after the language: `bad`, `good` or `fixed`.
    pub kind: String,
    /// The other words: `key=value`, or a key with an empty value.
    pub settings: Vec<(String, String)>,
    /// The text of the block.
    pub text: String,
}

impl PageExample {
    /// Returns the value of a setting.
    pub fn get(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|(name, _)| name == key);
        setting.map(|(_, value)| value.as_str())
    }

    /// Returns the text, in which `\u{…}` is a character if the setting `escapes` is there.
    pub fn unescaped(&self) -> String {
        if self.get("escapes").is_some() {
            unescape(&self.text)
        } else {
            self.text.clone()
        }
    }
}

/// Returns the bytes of a text of hexadecimal digits.
///
/// # Panics
///
/// If a digit is wrong.
pub fn bytes_of_hex(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len() / 2).map(|pair| byte(2 * pair)).collect()
}

fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        let (code, tail) = after.split_once('}').unwrap();
        result.push_str(before);
        result.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = tail;
    }
    result + rest
}

/// Returns the examples of a page: the blocks in one of the languages with a kind.
///
/// # Panics
///
/// If an escape is malformed.
pub fn examples(page: &str, languages: &[&str]) -> Vec<PageExample> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let marks = line.len() - line.trim_start_matches('`').len();
        let mut words = line[marks..].split(' ');
        let language = words.next().unwrap_or_default();
        let Some(kind) = words.next().filter(|_| marks >= 3) else {
            continue;
        };
        if !languages.contains(&language) {
            continue;
        }
        let setting = |word: &str| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            (key.to_owned(), value.to_owned())
        };
        let close = "`".repeat(marks);
        examples.push(PageExample {
            kind: kind.to_owned(),
            settings: words.map(setting).collect(),
            text: lines
                .by_ref()
                .take_while(|line| *line != close)
                .map(|line| format!("{line}\n"))
                .collect(),
        });
    }
    examples
}

/// Runs a check for every rule and reports all failures, not only the first.
///
/// # Panics
///
/// If a check fails.
pub fn check_each<T>(
    rules: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &'static str,
    check: impl Fn(&T) -> Result<(), String>,
) {
    let failures: Vec<String> = rules
        .into_iter()
        .filter_map(|rule| {
            let failed = check(&rule).err()?;
            Some(format!("{}: {failed}", id(&rule)))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Fails unless the page has examples of a kind, and `holds` is true for all of them. `shown` describes
/// what an example gives.
pub fn all_hold(
    examples: &[PageExample],
    kind: &str,
    holds: impl Fn(&PageExample) -> bool,
    shown: impl Fn(&PageExample) -> String,
) -> Result<(), String> {
    let mut number = 0;
    for example in examples.iter().filter(|example| example.kind == kind) {
        number += 1;
        if !holds(example) {
            return Err(format!("{kind} example {number} has {}", shown(example)));
        }
    }
    if number == 0 {
        return Err(format!("the page has no {kind} example"));
    }
    Ok(())
}

/// Fails if a line of an example, which `prowess explain` does not wrap, is too wide for a terminal.
pub fn fit_a_terminal<'t>(lines: impl IntoIterator<Item = &'t str>) -> Result<(), String> {
    const COLUMNS: usize = 78;
    let mut lines = lines.into_iter();
    match lines.find(|line| line.chars().count() > COLUMNS) {
        Some(line) => Err(format!("wider than {COLUMNS} columns: {line}")),
        None => Ok(()),
    }
}
