//! The frontmatter: typed fields and verbatim keys.

use std::borrow::Cow;
use std::sync::OnceLock;

use prowess_diag::Span;

use crate::fields::{self, FieldShape};
use crate::tool_pattern::{self, TokenFault, ToolPattern};
use crate::yaml::{YamlEntry, YamlNode, YamlStyle, YamlValue};

/// The parsed frontmatter.
///
/// `entries` holds every key in file order, known or not, with spans. The typed fields are read
/// from it; a value of the wrong shape or null leaves its field empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest<'t> {
    /// Every key, verbatim.
    pub entries: Vec<YamlEntry<'t>>,
    /// `name`.
    pub name: Option<SpannedText<'t>>,
    /// `description`.
    pub description: Option<SpannedText<'t>>,
    /// `license`.
    pub license: Option<SpannedText<'t>>,
    /// `compatibility`.
    pub compatibility: Option<SpannedText<'t>>,
    /// `when_to_use`.
    pub when_to_use: Option<SpannedText<'t>>,
    /// `argument-hint`.
    pub argument_hint: Option<SpannedText<'t>>,
    /// `arguments`, in order.
    pub arguments: Vec<SpannedText<'t>>,
    /// `allowed-tools`; `None` if the key is absent.
    pub allowed_tools: Option<ToolList<'t>>,
    /// `disallowed-tools`; `None` if the key is absent.
    pub disallowed_tools: Option<ToolList<'t>>,
    /// `disable-model-invocation`.
    pub disable_model_invocation: Option<SpannedFlag>,
    /// `user-invocable`.
    pub user_invocable: Option<SpannedFlag>,
    /// `background`.
    pub background: Option<SpannedFlag>,
    /// `always_present`.
    pub always_present: Option<SpannedFlag>,
    /// `model`.
    pub model: Option<SpannedText<'t>>,
    /// `effort`.
    pub effort: Option<SpannedText<'t>>,
    /// `context`.
    pub context: Option<SpannedText<'t>>,
    /// `agent`.
    pub agent: Option<SpannedText<'t>>,
    /// `shell`.
    pub shell: Option<SpannedText<'t>>,
    /// `paths`.
    pub paths: Vec<SpannedText<'t>>,
    /// `maxTicks`.
    pub max_ticks: Option<u32>,
    /// `creator`.
    pub creator: Option<SpannedText<'t>>,
    /// `planck_version`.
    pub planck_version: Option<SpannedText<'t>>,
    /// `version`, else `metadata.version`, else `planck_version`.
    pub version: Option<SpannedText<'t>>,
    /// `true` if part of the frontmatter was rejected, so a missing field may be in that part.
    pub incomplete: bool,
    /// Keys that are present in the file but could not be read.
    pub lost: Vec<Box<str>>,
}

/// A string with its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedText<'t> {
    /// The text.
    pub value: Cow<'t, str>,
    /// Range in the file, including quotation marks.
    pub span: Span,
    /// Offset at which the string appears unchanged in the file, if it does.
    verbatim: Option<u32>,
}

/// A boolean with its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpannedFlag {
    /// The effective value.
    pub value: bool,
    /// `false` if the text could not be parsed; `value` is then the safer one.
    pub understood: bool,
    /// Range in the file.
    pub span: Span,
}

/// A list of tools as written. It is parsed on first use, because listing skills does not need it.
#[derive(Clone, Debug)]
pub struct ToolList<'t> {
    /// Range of the value in the file.
    pub span: Span,
    value: YamlNode<'t>,
    source: &'t str,
    /// Owned, so that the manifest stays covariant in its lifetime.
    tokens: OnceLock<Vec<ToolToken>>,
}

impl PartialEq for ToolList<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.span, self.tokens()) == (other.span, other.tokens())
    }
}

impl Eq for ToolList<'_> {}

/// One token of a [`ToolList`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolToken {
    /// Range in the file.
    pub span: Span,
    /// The token as written.
    pub text: Box<str>,
    /// The tools it matches, or the reason it matches none.
    pub pattern: Result<ToolPattern, TokenFault>,
}

impl<'t> SpannedText<'t> {
    fn of(node: &YamlNode<'t>, source: &str) -> Option<Self> {
        let YamlValue::Scalar(value, _) = &node.value else {
            return None;
        };
        if node.is_null() {
            return None;
        }
        let verbatim = node
            .verbatim_start(source)
            .and_then(|start| u32::try_from(start).ok());
        Some(Self {
            value: value.clone(),
            span: node.span,
            verbatim,
        })
    }

    fn part(&self, range: std::ops::Range<usize>) -> Self {
        let span = self.subspan(range.clone());
        let verbatim = self
            .verbatim
            .map(|start| start + u32::try_from(range.start).unwrap_or(0));
        let value = match &self.value {
            Cow::Borrowed(text) => Cow::Borrowed(text.get(range).unwrap_or_default()),
            Cow::Owned(text) => Cow::Owned(text.get(range).unwrap_or_default().to_owned()),
        };
        Self {
            value,
            span,
            verbatim,
        }
    }

    /// Returns the span of a part of the string; the whole span if the string was folded or
    /// escaped.
    pub fn subspan(&self, range: std::ops::Range<usize>) -> Span {
        match self.verbatim {
            Some(start) => Span::new(start as usize + range.start, start as usize + range.end),
            None => self.span,
        }
    }

    /// Returns `true` if the string is empty or whitespace.
    pub fn is_blank(&self) -> bool {
        self.value.chars().all(char::is_whitespace)
    }
}

impl<'t> ToolList<'t> {
    fn of(node: &YamlNode<'t>, source: &'t str) -> Option<Self> {
        let (span, value) = (node.span, node.clone());
        (!node.is_null()).then(|| Self {
            span,
            value,
            source,
            tokens: OnceLock::new(),
        })
    }

    /// Returns the tokens in order.
    pub fn tokens(&self) -> &[ToolToken] {
        self.tokens.get_or_init(|| tools(&self.value, self.source))
    }

    /// Returns the patterns of the valid tokens.
    pub fn patterns(&self) -> impl Iterator<Item = &ToolPattern> {
        self.tokens()
            .iter()
            .filter_map(|token| token.pattern.as_ref().ok())
    }
}

impl<'t> Manifest<'t> {
    /// Reads the typed fields from the verbatim keys. `source` is the text that the spans refer to.
    pub fn from_entries(entries: Vec<YamlEntry<'t>>, source: &'t str) -> Self {
        let mut manifest = Self::default();
        for entry in &entries {
            manifest.read(entry, source);
        }
        if manifest.version.is_none() {
            let metadata = entries.iter().find(|entry| &*entry.key == "metadata");
            manifest.version = metadata
                .and_then(|entry| entry.value.get("version"))
                .and_then(|node| SpannedText::of(node, source))
                .or_else(|| manifest.planck_version.clone());
        }
        manifest.entries = entries;
        manifest
    }

    fn read(&mut self, entry: &YamlEntry<'t>, source: &'t str) {
        let node = &entry.value;
        match &*entry.key {
            "name" => self.name = SpannedText::of(node, source),
            "description" => self.description = SpannedText::of(node, source),
            "license" => self.license = SpannedText::of(node, source),
            "compatibility" => self.compatibility = SpannedText::of(node, source),
            "when_to_use" => self.when_to_use = SpannedText::of(node, source),
            "argument-hint" => self.argument_hint = hint(node, source),
            "arguments" => self.arguments = words(node, source, char::is_whitespace),
            "allowed-tools" => self.allowed_tools = ToolList::of(node, source),
            "disallowed-tools" => self.disallowed_tools = ToolList::of(node, source),
            "disable-model-invocation" => self.disable_model_invocation = flag(entry),
            "user-invocable" => self.user_invocable = flag(entry),
            "background" => self.background = flag(entry),
            "always_present" => self.always_present = literal_flag(node),
            "model" => self.model = SpannedText::of(node, source),
            "effort" => self.effort = SpannedText::of(node, source),
            "context" => self.context = SpannedText::of(node, source),
            "agent" => self.agent = SpannedText::of(node, source),
            "shell" => self.shell = SpannedText::of(node, source),
            "paths" => self.paths = globs(node, source),
            "maxTicks" => {
                self.max_ticks = node
                    .text()
                    .and_then(|text| text.parse().ok())
                    .filter(|&n| n > 0);
            }
            "creator" => self.creator = SpannedText::of(node, source),
            "planck_version" => self.planck_version = SpannedText::of(node, source),
            "version" => self.version = SpannedText::of(node, source),
            _ => {}
        }
    }

    /// Returns the entry with this key.
    pub fn entry(&self, key: &str) -> Option<&YamlEntry<'t>> {
        self.entries.iter().find(|entry| &*entry.key == key)
    }

    /// Returns `true` if only users may invoke the skill, not the model.
    pub fn model_invocation_disabled(&self) -> bool {
        self.disable_model_invocation.map_or_else(
            || self.has_lost("disable-model-invocation"),
            |flag| flag.value,
        )
    }

    /// Returns `true` if users may invoke the skill by name.
    pub fn is_user_invocable(&self) -> bool {
        self.user_invocable
            .map_or_else(|| !self.has_lost("user-invocable"), |flag| flag.value)
    }

    /// Returns `true` if a key is present but could not be read. Its restriction then stays in
    /// force.
    pub fn has_lost(&self, key: &str) -> bool {
        self.lost.iter().any(|lost| &**lost == key)
    }

    /// Returns `true` if the skill runs in a separate conversation.
    pub fn is_forked(&self) -> bool {
        self.context
            .as_ref()
            .is_some_and(|context| &*context.value == "fork")
    }
}

/// Reads a hint. `[topic]` is a list in YAML, but authors mean the text.
fn hint<'t>(node: &YamlNode<'t>, source: &str) -> Option<SpannedText<'t>> {
    let Some(items) = node.items() else {
        return SpannedText::of(node, source);
    };
    let words: Vec<&str> = items.iter().filter_map(YamlNode::text).collect();
    let value = format!("[{}]", words.join(", ")).into();
    (!words.is_empty()).then_some(SpannedText {
        value,
        span: node.span,
        verbatim: None,
    })
}

fn words<'t>(
    node: &YamlNode<'t>,
    source: &str,
    separates: impl Fn(char) -> bool + Copy,
) -> Vec<SpannedText<'t>> {
    texts(node, source)
        .iter()
        .flat_map(|text| split(text, separates))
        .collect()
}

/// Returns a string, or the strings of a list.
fn texts<'t>(node: &YamlNode<'t>, source: &str) -> Vec<SpannedText<'t>> {
    match node.items() {
        Some(items) => items
            .iter()
            .filter_map(|item| SpannedText::of(item, source))
            .collect(),
        None => SpannedText::of(node, source).into_iter().collect(),
    }
}

fn split<'t>(text: &SpannedText<'t>, separates: impl Fn(char) -> bool) -> Vec<SpannedText<'t>> {
    let mut parts = Vec::new();
    let mut start = None;
    for (at, c) in text.value.char_indices() {
        if separates(c) {
            parts.extend(start.take().map(|start| text.part(start..at)));
        } else {
            start.get_or_insert(at);
        }
    }
    parts.extend(start.map(|start| text.part(start..text.value.len())));
    parts
}

/// Splits at commas outside braces: `src/**/*.{ts,tsx}, *.md` is two patterns.
fn globs<'t>(node: &YamlNode<'t>, source: &str) -> Vec<SpannedText<'t>> {
    let mut globs = Vec::new();
    for text in texts(node, source) {
        let depth = std::cell::Cell::new(0_usize);
        let parts = split(&text, |c| {
            match c {
                '{' => depth.set(depth.get() + 1),
                '}' => depth.set(depth.get().saturating_sub(1)),
                _ => {}
            }
            c == ',' && depth.get() == 0
        });
        for part in parts {
            let value = &part.value;
            let start = value.len() - value.trim_start().len();
            let end = start + value.trim().len();
            if start < end {
                globs.push(part.part(start..end));
            }
        }
    }
    globs
}

fn tools(node: &YamlNode<'_>, source: &str) -> Vec<ToolToken> {
    let mut tokens = Vec::new();
    for text in texts(node, source) {
        // In a value of several lines only the whitespace differs from the source, unless it has
        // escapes.
        let mut rest = text.span;
        let is_folded = text.verbatim.is_none() && !rest.of(source).contains('\\');
        tokens.extend(
            tool_pattern::parse_list(&text.value)
                .into_iter()
                .map(|token| {
                    let written = text.value.get(token.range.clone()).unwrap_or_default();
                    let found = is_folded
                        .then(|| rest.find_words(source, written))
                        .flatten();
                    rest.start = found.map_or(rest.start, |found| found.end);
                    let span = found.unwrap_or_else(|| text.subspan(token.range));
                    ToolToken {
                        span,
                        text: written.into(),
                        pattern: token.pattern,
                    }
                }),
        );
    }
    tokens
}

/// Parses a boolean. Uses the safer value if that fails.
fn flag(entry: &YamlEntry<'_>) -> Option<SpannedFlag> {
    let node = &entry.value;
    if node.is_null() {
        return None;
    }
    let understood = node.text().and_then(parse_flag);
    let safer = match fields::find(&entry.key).map(|field| field.shape) {
        Some(FieldShape::Flag { safer, .. }) => safer,
        _ => false,
    };
    Some(SpannedFlag {
        value: understood.unwrap_or(safer),
        understood: understood.is_some(),
        span: node.span,
    })
}

/// Parses Planck's `always_present`, which accepts only literal booleans.
fn literal_flag(node: &YamlNode<'_>) -> Option<SpannedFlag> {
    if node.is_null() {
        return None;
    }
    let is_plain = matches!(&node.value, YamlValue::Scalar(_, YamlStyle::Plain));
    let literal = match node.text() {
        Some("true" | "True" | "TRUE") if is_plain => Some(true),
        Some("false" | "False" | "FALSE") if is_plain => Some(false),
        _ => None,
    };
    Some(SpannedFlag {
        value: literal.unwrap_or(false),
        understood: literal.is_some(),
        span: node.span,
    })
}

/// Parses a boolean word in any letter case: true/false, yes/no, on/off, 1/0.
pub fn parse_flag(text: &str) -> Option<bool> {
    let is = |words: &[&str]| {
        words
            .iter()
            .any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    if is(&["true", "yes", "on", "1"]) {
        Some(true)
    } else if is(&["false", "no", "off", "0"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    /// Returns the source text of each token's span, for a value of several lines.
    fn places(value: &str) -> Vec<String> {
        let text = format!("---\nallowed-tools: {value}\n---\n");
        let list = parse(text.as_bytes()).manifest.allowed_tools;
        let tokens = list
            .as_ref()
            .map(super::ToolList::tokens)
            .unwrap_or_default();
        tokens
            .iter()
            .map(|token| token.span.of(&text).to_owned())
            .collect()
    }

    #[test]
    fn each_tool_has_its_own_span_on_any_line() {
        for value in [
            "Read,\n  Bash(git log:*),\n  Read",
            "\"Read,\n  Bash(git log:*),\n  Read\"",
            "'Read,\n  Bash(git log:*),\n  Read'",
            ">-\n  Read\n  Bash(git log:*)\n  Read",
            "|\n  Read, Bash(git log:*)\n  Read",
            "\n  - Read\n  - Bash(git log:*)\n  - Read",
            "[Read,\n  \"Bash(git log:*)\", Read]",
        ] {
            assert_eq!(
                places(value),
                ["Read", "Bash(git log:*)", "Read"],
                "{value}"
            );
        }
        assert_eq!(places("Reader\n  Read"), ["Reader", "Read"]);
        assert_eq!(
            places(">-\n  Bash(git\n  log:*)\n  Read"),
            ["Bash(git\n  log:*)", "Read"]
        );
    }

    #[test]
    fn value_with_escapes_has_one_span_for_all_tools() {
        let value = "\"\\x52ead\n  Read\"";
        assert_eq!(places(value), [value, value]);
    }
}
