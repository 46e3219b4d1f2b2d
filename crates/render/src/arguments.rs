//! The arguments of an invocation, and their positions.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::Compat;

/// The arguments of a skill.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Given);

#[derive(Clone, Debug, Default, PartialEq)]
enum Given {
    #[default]
    Nothing,
    Text(String),
    Words {
        raw: String,
        words: Vec<String>,
    },
    Json {
        raw: String,
        value: Value,
    },
}

impl Arguments {
    /// Creates arguments for an invocation without any.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates arguments from typed text. `$ARGUMENTS` is exactly this text; `$0` and so on are its
    /// words, split as by a shell.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(Given::Text(text.into()))
    }

    /// Creates arguments from separate words. `$ARGUMENTS` is a line that splits into the same
    /// words.
    pub fn from_words(words: Vec<String>) -> Self {
        let raw = words
            .iter()
            .map(|word| quote(word))
            .collect::<Vec<_>>()
            .join(" ");
        Self(Given::Words { raw, words })
    }

    /// Creates arguments from a JSON value, as Agentick does: members of an object have names,
    /// those of an array only positions, a string is text. `$ARGUMENTS` is the compact JSON.
    pub fn from_json(value: Value) -> Self {
        match value {
            Value::Null => Self::none(),
            Value::String(text) => Self::from_text(text),
            value => Self(Given::Json {
                raw: value.to_string(),
                value,
            }),
        }
    }

    /// Returns the value of `$ARGUMENTS`; `None` if no arguments were given.
    pub fn raw(&self) -> Option<&str> {
        match &self.0 {
            Given::Nothing => None,
            Given::Text(raw) | Given::Words { raw, .. } | Given::Json { raw, .. } => Some(raw),
        }
    }

    /// Returns the JSON value; `None` if the arguments are text or words, or none were given.
    pub fn json(&self) -> Option<&Value> {
        match &self.0 {
            Given::Json { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns the values by position: the words of a text, or the items of an array. An object has
    /// names instead.
    pub fn words(&self) -> Vec<Cow<'_, str>> {
        match &self.0 {
            Given::Nothing => Vec::new(),
            Given::Text(text) => split(text).words,
            Given::Words { words, .. } => words.iter().map(|word| word.as_str().into()).collect(),
            Given::Json { value, raw } => match value {
                Value::Object(_) => Vec::new(),
                Value::Array(items) => items.iter().map(text_of).collect(),
                _ => vec![raw.as_str().into()],
            },
        }
    }

    /// Returns those of the declared names that have no value.
    pub fn missing<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        match self.json() {
            Some(Value::Object(members)) => (names.iter().copied())
                .filter(|name| !members.contains_key(*name))
                .collect(),
            // The items of an array have no names.
            Some(Value::Array(_)) => names.to_vec(),
            _ => names.iter().copied().skip(self.words().len()).collect(),
        }
    }

    /// Assigns positions and names to the values for a template with these declared names. A
    /// template that only has `$ARGUMENTS` needs no positions.
    pub(crate) fn resolve<'a>(
        &'a self,
        names: &'a [Box<str>],
        compat: Compat,
        counts: bool,
    ) -> Resolved<'a> {
        let raw = self.raw().unwrap_or_default();
        let mut resolved = Resolved {
            raw,
            is_given: self.raw().is_some(),
            ..Resolved::default()
        };
        match &self.0 {
            _ if !counts => {}
            Given::Nothing => {}
            Given::Text(text) if compat == Compat::Agentick => {
                resolved.positions = split_like_agentick(text);
            }
            Given::Text(text) => {
                let split = split(text);
                resolved.positions = split.words;
                resolved.unbalanced = split.unbalanced;
            }
            Given::Words { words, .. } => {
                resolved.positions = words.iter().map(|word| word.as_str().into()).collect();
            }
            Given::Json {
                value: Value::Object(members),
                ..
            } => {
                resolved.members = Some(members);
                resolved.positions = if names.is_empty() {
                    resolved.keys = members.keys().map(String::as_str).collect();
                    members.values().map(text_of).collect()
                } else {
                    resolved.keys = names.iter().map(AsRef::as_ref).collect();
                    let value = |name: &str| members.get(name).map(text_of);
                    names
                        .iter()
                        .map(|name| value(name).unwrap_or_default())
                        .collect()
                };
            }
            Given::Json {
                value: Value::Array(items),
                ..
            } => {
                resolved.positions = items.iter().map(text_of).collect();
                resolved.is_unnamed = true;
            }
            Given::Json { raw, .. } => resolved.positions = vec![raw.as_str().into()],
        }
        resolved
    }
}

/// The arguments of one template.
#[derive(Debug, Default)]
pub(crate) struct Resolved<'a> {
    pub(crate) raw: &'a str,
    /// `true` if arguments were given, even empty ones.
    pub(crate) is_given: bool,
    pub(crate) positions: Vec<Cow<'a, str>>,
    /// Offset in the text of an unbalanced quote or backslash.
    pub(crate) unbalanced: Option<usize>,
    members: Option<&'a serde_json::Map<String, Value>>,
    /// The key of each position of an object.
    keys: Vec<&'a str>,
    is_unnamed: bool,
}

/// The values that the placeholders of a template used.
#[derive(Debug, Default)]
pub(crate) struct UsedValues<'a> {
    all: bool,
    positions: Vec<bool>,
    keys: BTreeSet<&'a str>,
}

impl<'a> UsedValues<'a> {
    /// Records that `$ARGUMENTS` was used.
    pub(crate) fn use_all(&mut self) {
        self.all = true;
    }

    /// Records that the value at a position was used.
    pub(crate) fn use_position(&mut self, resolved: &Resolved<'a>, index: usize) {
        if resolved.members.is_some() {
            self.keys.extend(resolved.keys.get(index));
        } else if index < resolved.positions.len() {
            self.positions.resize(resolved.positions.len(), false);
            self.positions[index] = true;
        }
    }

    /// Records that the value of a declared name was used.
    pub(crate) fn use_name(&mut self, resolved: &Resolved<'a>, index: usize, name: &'a str) {
        if resolved.members.is_some() {
            self.keys.insert(name);
        } else if !resolved.is_unnamed {
            self.use_position(resolved, index);
        }
    }
}

impl<'a> Resolved<'a> {
    /// Returns the text to append so that no value is lost: the unused members of an object as JSON,
    /// otherwise all arguments as they were given. `None` if every value was used.
    pub(crate) fn unused(&self, used: &UsedValues<'a>) -> Option<Cow<'a, str>> {
        if used.all || self.raw.trim().is_empty() {
            return None;
        }
        if let Some(members) = self.members.filter(|_| !used.keys.is_empty()) {
            let rest: serde_json::Map<String, Value> = members
                .iter()
                .filter(|(key, _)| !used.keys.contains(key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            return (!rest.is_empty()).then(|| Cow::Owned(Value::Object(rest).to_string()));
        }
        // Either every position is recorded, or none was used.
        let mut values = self.positions.iter().zip(&used.positions);
        let is_lost = used.positions.is_empty()
            || values.any(|(value, is_used)| !value.is_empty() && !is_used);
        is_lost.then_some(Cow::Borrowed(self.raw))
    }
}

impl Resolved<'_> {
    /// Returns the value at a position.
    pub(crate) fn position(&self, index: usize) -> Option<&str> {
        self.positions.get(index).map(AsRef::as_ref)
    }

    /// Returns the value of the name at this index. A name that is not declared has no index, only
    /// a key.
    pub(crate) fn named(
        &self,
        index: usize,
        name: &str,
        is_declared: bool,
    ) -> Option<Cow<'_, str>> {
        match self.members {
            Some(members) => members.get(name).map(text_of),
            None if self.is_unnamed || !is_declared => None,
            None => self.position(index).map(Cow::Borrowed),
        }
    }
}

/// Returns a JSON value as text: strings as they are, an empty text for null, JSON for objects and
/// arrays.
fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

/// A text split into words.
#[derive(Debug, Default)]
pub(crate) struct Split<'t> {
    pub(crate) words: Vec<Cow<'t, str>>,
    pub(crate) unbalanced: Option<usize>,
}

/// Splits a text as a shell would, but never fails: an unbalanced quote is an ordinary character,
/// so `don't stop` is two words.
pub(crate) fn split(text: &str) -> Split<'_> {
    let mut split = Split::default();
    // After a search for a closing quote found none, later ones need not search again.
    let mut has_partner = [true; 2];
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if at == text.len() {
            return split;
        }
        let (word, next) = one_word(text, at, &mut has_partner, &mut split.unbalanced);
        split.words.push(word);
        at = next;
    }
}

/// Reads the word at `start`. Returns it and its end.
fn one_word<'t>(
    text: &'t str,
    start: usize,
    has_partner: &mut [bool; 2],
    unbalanced: &mut Option<usize>,
) -> (Cow<'t, str>, usize) {
    // Owned as soon as the word differs from the text.
    let mut owned: Option<String> = None;
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        match c {
            c if c.is_whitespace() => break,
            '\'' | '"' => {
                let partner = &mut has_partner[usize::from(c == '"')];
                let close = if *partner {
                    closing(text, next, c)
                } else {
                    None
                };
                let Some(close) = close else {
                    *partner = false;
                    unbalanced.get_or_insert(at);
                    if let Some(word) = &mut owned {
                        word.push(c);
                    }
                    at = next;
                    continue;
                };
                let word = owned.get_or_insert_with(|| text[start..at].to_owned());
                if c == '"' {
                    unescape(&text[next..close], word);
                } else {
                    word.push_str(&text[next..close]);
                }
                at = close + 1;
            }
            '\\' => {
                let Some(escaped) = text[next..].chars().next() else {
                    unbalanced.get_or_insert(at);
                    if let Some(word) = &mut owned {
                        word.push('\\');
                    }
                    at = next;
                    continue;
                };
                owned
                    .get_or_insert_with(|| text[start..at].to_owned())
                    .push(escaped);
                at = next + escaped.len_utf8();
            }
            c => {
                if let Some(word) = &mut owned {
                    word.push(c);
                }
                at = next;
            }
        }
    }
    (
        owned.map_or_else(|| Cow::Borrowed(&text[start..at]), Cow::Owned),
        at,
    )
}

/// Returns the offset of the closing quote. In double quotes a backslash escapes it.
fn closing(text: &str, from: usize, mark: char) -> Option<usize> {
    if mark == '\'' {
        return text[from..].find('\'').map(|found| from + found);
    }
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Removes the backslashes that a shell removes in double quotes.
fn unescape(quoted: &str, word: &mut String) {
    let mut chars = quoted.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&next @ ('"' | '\\' | '$' | '`')) if c == '\\' => {
                word.push(next);
                chars.next();
            }
            _ => word.push(c),
        }
    }
}

/// Splits as Agentick does: no escapes, no empty words, and an open quote takes the rest.
fn split_like_agentick(text: &str) -> Vec<Cow<'_, str>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut open: Option<char> = None;
    for c in text.chars() {
        match open {
            Some(mark) if c == mark => open = None,
            None if c == '\'' || c == '"' => open = Some(c),
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(Cow::Owned(std::mem::take(&mut word)));
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(Cow::Owned(word));
    }
    words
}

/// Quotes a word if it needs quotes.
fn quote(word: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c) || c == '#' || c == '$';
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_like_in_a_shell() {
        for (text, words, is_balanced) in [
            ("a b", vec!["a", "b"], true),
            (
                "\"hello world\" second",
                vec!["hello world", "second"],
                true,
            ),
            ("a'b c'd ''", vec!["ab cd", ""], true),
            ("\"a \\\" b\\n\" x\\ y", vec!["a \" b\\n", "x y"], true),
            ("don't stop now", vec!["don't", "stop", "now"], false),
            ("say \"hi", vec!["say", "\"hi"], false),
            ("end\\", vec!["end\\"], false),
            (" \t\n", vec![], true),
            ("ä\u{a0}ö 'ü ß'", vec!["ä", "ö", "ü ß"], true),
        ] {
            let split = split(text);
            assert_eq!(split.words, words, "{text}");
            assert_eq!(split.unbalanced.is_none(), is_balanced, "{text}");
        }
    }

    #[test]
    fn agentick_splits_without_escapes() {
        for (text, words) in [
            ("a 'b c' d\"e f\"", vec!["a", "b c", "de f"]),
            ("'' a", vec!["a"]),
            ("a 'b c", vec!["a", "b c"]),
            ("a\\ b", vec!["a\\", "b"]),
        ] {
            assert_eq!(split_like_agentick(text), words, "{text}");
        }
    }

    #[test]
    fn words_survive_joining_and_splitting() {
        let words = ["a", "b c", "", "it's", "\"", "\\", "$1"]
            .map(String::from)
            .to_vec();
        let arguments = Arguments::from_words(words.clone());
        assert_eq!(split(arguments.raw().unwrap()).words, words);
    }
}
