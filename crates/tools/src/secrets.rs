//! Secrets that tools use and models never read.
//!
//! The input of a call has markers where secrets belong. A marker contains two characters that no
//! text of a model may have, so only the program can place one. Rules, prompts and records see the
//! marker as `${vars.token}`. The tool fills in the value when it acts, after the gate allowed the
//! call, and removes the value from what it returns.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::tool::{ToolError, ToolErrorKind};

/// Begins and ends a marker. Unicode guarantees that they are in no text.
const OPEN: char = '\u{10fffe}';
const CLOSE: char = '\u{10ffff}';
/// Minimum length of a value that is removed from results, in bytes. A shorter one is in many texts
/// by chance.
const MIN_SECRET: usize = 4;
/// The namespace of the secrets that a model may place itself: the protected inputs of a mission.
const PLACED: &str = "secrets.";

/// The secrets of a mission.
#[derive(Clone, Default)]
pub struct SecretValues {
    values: Vec<SecretValue>,
}

#[derive(Clone)]
struct SecretValue {
    name: Box<str>,
    value: Box<str>,
}

impl fmt::Debug for SecretValues {
    /// Prints the names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.values.iter().map(|secret| &secret.name);
        f.debug_set().entries(names).finish()
    }
}

impl SecretValues {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { values: Vec::new() }
    }

    /// Adds a secret: `vars.NAME` for a variable, `secrets.NAME` for a protected input.
    pub fn add(&mut self, name: impl Into<Box<str>>, value: impl Into<Box<str>>) {
        let (name, value) = (name.into(), value.into());
        self.values.retain(|known| known.name != name);
        self.values.push(SecretValue { name, value });
        // The longest first: one secret may contain another.
        self.values
            .sort_by_key(|secret| std::cmp::Reverse(secret.value.len()));
    }

    /// Returns `true` if there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|secret| *secret.name == *name);
        found.map(|secret| &*secret.value)
    }

    /// Returns `true` if there is a secret with this name.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Returns the marker of a secret.
    pub fn marker(name: &str) -> String {
        format!("{OPEN}{name}{CLOSE}")
    }

    /// Returns `true` if a text has a marker.
    pub fn has_marker(text: &str) -> bool {
        text.contains([OPEN, CLOSE])
    }

    /// Returns `true` if a text in an input has a marker.
    pub fn is_marked(input: &Value) -> bool {
        match input {
            Value::String(text) => Self::has_marker(text),
            Value::Array(items) => items.iter().any(Self::is_marked),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, value)| Self::has_marker(name) || Self::is_marked(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Checks that every marker in an input is one of these secrets. Others were not placed by the
    /// program.
    pub fn check(&self, input: &Value) -> Result<(), ToolError> {
        let is_known = |text: &str| {
            let known = replace(text, &|name| {
                let is_known = self.has(name);
                if is_known {
                    "".into()
                } else {
                    OPEN.to_string().into()
                }
            });
            !Self::has_marker(&known)
        };
        let is_sound = match input {
            Value::String(text) => is_known(text),
            Value::Array(items) => return items.iter().try_for_each(|item| self.check(item)),
            Value::Object(fields) => {
                fields.values().try_for_each(|value| self.check(value))?;
                fields.keys().all(|name| is_known(name))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        };
        if is_sound {
            return Ok(());
        }
        let text = "The input contains characters that are not allowed: U+10FFFE or U+10FFFF.";
        Err(ToolError::new(ToolErrorKind::Input, text))
    }

    /// Replaces `${secrets.NAME}` in the input of a model by markers, for the secrets that it may
    /// place.
    #[must_use]
    pub fn place(&self, input: &Value) -> Value {
        map(input, &|text| self.placed(text))
    }

    fn placed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for secret in self
            .values
            .iter()
            .filter(|one| one.name.starts_with(PLACED))
        {
            let written = format!("${{{}}}", secret.name);
            if out.contains(&written) {
                out = out.replace(&written, &Self::marker(&secret.name)).into();
            }
        }
        out
    }

    /// Replaces markers by `${NAME}`, for prompts and records.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replace(text, &|name| format!("${{{name}}}").into())
    }

    /// Replaces markers in an input by `${NAME}`.
    #[must_use]
    pub fn shown_input(&self, input: &Value) -> Value {
        map(input, &|text| self.shown(text))
    }

    /// Replaces markers by the secrets. Only for what a tool sends.
    pub fn fill<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replace(text, &|name| self.value(name).unwrap_or_default().into())
    }

    /// Replaces markers by a letter: the text as it would be with another secret.
    pub(crate) fn neutral(text: &str) -> Cow<'_, str> {
        replace(text, &|_| "x".into())
    }

    /// Replaces markers in an input by the secrets. Only for what a tool sends.
    #[must_use]
    pub fn fill_input(&self, input: &Value) -> Value {
        map(input, &|text| self.fill(text))
    }

    /// Replaces secrets by `${NAME}`: as they are, in the text of JSON and HTML, and in URLs.
    pub fn redact(&self, text: impl Into<String>) -> String {
        let mut text = text.into();
        for secret in self.values.iter().filter(|it| it.value.len() >= MIN_SECRET) {
            let written = format!("${{{}}}", secret.name);
            for spelling in spellings(&secret.value) {
                if text.contains(&spelling) {
                    text = text.replace(&spelling, &written);
                }
            }
        }
        text
    }

    /// Returns `true` if the name of a tool contains a secret, also one whose other characters became
    /// `_`.
    pub(crate) fn reveals_name(&self, name: &str) -> bool {
        let plain = |text: &str| -> String {
            let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let kept = |c: char| if is_kept(c) { c } else { '_' };
            text.chars().map(kept).collect()
        };
        let name = plain(name);
        self.redact(name.as_str()) != name
            || self.values.iter().any(|secret| {
                let value = plain(&secret.value);
                value.len() >= MIN_SECRET && name.contains(&value)
            })
    }

    /// Replaces secrets in a result by `${NAME}`.
    #[must_use]
    pub fn redact_value(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        map(value, &|text| self.redact(text).into())
    }
}

/// Returns the ways in which a secret may be written in a response.
fn spellings(value: &str) -> Vec<String> {
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let query = form.replace('+', "%20");
    let json = Value::from(value).to_string();
    let html = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let quoted = html.replace('"', "&quot;").replace('\'', "&#39;");
    // Without the quotes around it.
    let json = json[1..json.len() - 1].to_owned();
    let mut all = vec![value.to_owned(), json, form, query, html, quoted];
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all.dedup();
    all
}

/// Replaces the markers of a text.
fn replace<'t>(text: &'t str, with: &dyn Fn(&str) -> Box<str>) -> Cow<'t, str> {
    if !SecretValues::has_marker(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        out.push_str(&rest[..at]);
        let inside = &rest[at + OPEN.len_utf8()..];
        let Some((name, after)) = inside.split_once(CLOSE) else {
            break;
        };
        out.push_str(&with(name));
        rest = after;
    }
    out.push_str(rest);
    out.into()
}

/// Applies a function to the texts and names of a value.
fn map(value: &Value, with: &dyn for<'t> Fn(&'t str) -> Cow<'t, str>) -> Value {
    match value {
        Value::String(text) => with(text).into_owned().into(),
        Value::Array(items) => items.iter().map(|item| map(item, with)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (with(name).into_owned(), map(value, with)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets() -> SecretValues {
        let mut secrets = SecretValues::new();
        secrets.add("vars.key", "p&ss \"word\"");
        secrets.add("vars.long", "p&ss \"word\" and more");
        secrets.add("secrets.pin", "4711");
        secrets
    }

    #[test]
    fn only_protected_inputs_are_placed_by_models() {
        let input =
            json!({ "a": "${vars.key} ${secrets.pin} ${secrets.no}", "${secrets.pin}": [1] });
        let placed = secrets().place(&input);
        let pin = SecretValues::marker("secrets.pin");
        let expected = json!({ "a": format!("${{vars.key}} {pin} ${{secrets.no}}"), pin: [1] });
        assert_eq!(placed, expected);
        assert_eq!(secrets().shown_input(&placed), input);
        let filled = json!({ "a": "${vars.key} 4711 ${secrets.no}", "4711": [1] });
        assert_eq!(secrets().fill_input(&placed), filled);
        assert!(SecretValues::is_marked(&placed) && !SecretValues::is_marked(&input));
        assert!(secrets().check(&placed).is_ok());
        for forged in [
            "\u{10fffe}vars.other\u{10ffff}",
            "\u{10fffe}vars.key",
            "\u{10ffff}",
        ] {
            assert!(secrets().check(&json!([{ "a": forged }])).is_err());
            assert!(secrets().check(&json!({ forged: 1 })).is_err());
        }
    }

    #[test]
    fn secrets_are_removed_in_every_spelling() {
        let check = |text: &str, expected: &str| {
            assert_eq!(secrets().redact(text), expected, "{text}");
        };
        check("x p&ss \"word\" y", "x ${vars.key} y");
        check(r#"{"a":"p&ss \"word\""}"#, r#"{"a":"${vars.key}"}"#);
        check("p&amp;ss \"word\"", "${vars.key}");
        check("p&amp;ss &quot;word&quot;", "${vars.key}");
        check(
            "?q=p%26ss+%22word%22&r=4711",
            "?q=${vars.key}&r=${secrets.pin}",
        );
        check("/p%26ss%20%22word%22/", "/${vars.key}/");
        check("p&ss \"word\" and more", "${vars.long}");
        let value = secrets().redact_value(&json!({ "4711": ["4711", 4711] }));
        assert_eq!(value, json!({ "${secrets.pin}": ["${secrets.pin}", 4711] }));
    }

    #[test]
    fn debug_shows_names_only() {
        let shown = format!("{:?}", secrets());
        assert!(
            shown.contains("secrets.pin") && !shown.contains("4711"),
            "{shown}"
        );
    }
}
