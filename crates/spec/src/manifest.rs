//! The frontmatter as typed fields, beside the verbatim keys.

use std::borrow::Cow;
use std::sync::OnceLock;

use prowess_diag::Span;

use crate::fields::{self, Shape};
use crate::tool_pattern::{self, TokenFault, ToolPattern};
use crate::yaml::{Entry, Node, Style, Value};

/// What the frontmatter says.
///
/// `entries` holds every key in the order of the file, known or not, with places; the typed
/// fields are read from it and leave out what has the wrong shape. A null counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest<'t> {
    /// Every key, verbatim.
    pub entries: Vec<Entry<'t>>,
    /// `name`
    pub name: Option<Text<'t>>,
    /// `description`
    pub description: Option<Text<'t>>,
    /// `license`
    pub license: Option<Text<'t>>,
    /// `compatibility`
    pub compatibility: Option<Text<'t>>,
    /// `when_to_use`
    pub when_to_use: Option<Text<'t>>,
    /// `argument-hint`
    pub argument_hint: Option<Text<'t>>,
    /// `arguments`, in order
    pub arguments: Vec<Text<'t>>,
    /// `allowed-tools`; nothing when the key is absent
    pub allowed_tools: Option<ToolList<'t>>,
    /// `disallowed-tools`; nothing when the key is absent
    pub disallowed_tools: Option<ToolList<'t>>,
    /// `disable-model-invocation`
    pub disable_model_invocation: Option<Flag>,
    /// `user-invocable`
    pub user_invocable: Option<Flag>,
    /// `background`
    pub background: Option<Flag>,
    /// `always_present`
    pub always_present: Option<Flag>,
    /// `model`
    pub model: Option<Text<'t>>,
    /// `effort`
    pub effort: Option<Text<'t>>,
    /// `context`
    pub context: Option<Text<'t>>,
    /// `agent`
    pub agent: Option<Text<'t>>,
    /// `shell`
    pub shell: Option<Text<'t>>,
    /// `paths`
    pub paths: Vec<Text<'t>>,
    /// `maxTicks`
    pub max_ticks: Option<u32>,
    /// `creator`
    pub creator: Option<Text<'t>>,
    /// `planck_version`
    pub planck_version: Option<Text<'t>>,
    /// `version`, or `metadata.version`
    pub version: Option<Text<'t>>,
    /// Whether parts of the frontmatter were refused, so that an absent field may have been there.
    pub incomplete: bool,
    /// Keys that stand in the file and were not read.
    pub lost: Vec<Box<str>>,
}

/// A piece of text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'t> {
    /// The text.
    pub value: Cow<'t, str>,
    /// Where it stands, quotes included.
    pub span: Span,
    /// Where the text stands unchanged in the file, if it does.
    verbatim: Option<u32>,
}

/// A yes or no and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The value that counts.
    pub value: bool,
    /// Whether the text was understood; if not, `value` is the safer one.
    pub understood: bool,
    /// Where it stands.
    pub span: Span,
}

/// A list of tools as it was written. It is taken apart when somebody asks: whoever lists skills
/// does not.
#[derive(Clone, Debug)]
pub struct ToolList<'t> {
    /// Where the value stands.
    pub span: Span,
    value: Node<'t>,
    source: &'t str,
    /// Owned, so that a manifest may still be used where a shorter-lived one is wanted.
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
    /// Where it stands.
    pub span: Span,
    /// As it was written.
    pub text: Box<str>,
    /// What it grants, or why nothing.
    pub pattern: Result<ToolPattern, TokenFault>,
}

impl<'t> Text<'t> {
    fn of(node: &Node<'t>, source: &str) -> Option<Self> {
        let Value::Scalar(value, _) = &node.value else {
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

    /// Returns the place of a part of the text; the whole place when the text was folded or escaped.
    pub fn subspan(&self, range: std::ops::Range<usize>) -> Span {
        match self.verbatim {
            Some(start) => Span::new(start as usize + range.start, start as usize + range.end),
            None => self.span,
        }
    }

    /// Tells whether the text has nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.value.chars().all(char::is_whitespace)
    }
}

impl<'t> ToolList<'t> {
    fn of(node: &Node<'t>, source: &'t str) -> Option<Self> {
        let (span, value) = (node.span, node.clone());
        (!node.is_null()).then(|| Self {
            span,
            value,
            source,
            tokens: OnceLock::new(),
        })
    }

    /// Returns the tokens, in order.
    pub fn tokens(&self) -> &[ToolToken] {
        self.tokens.get_or_init(|| tools(&self.value, self.source))
    }

    /// Returns the patterns that parsed.
    pub fn patterns(&self) -> impl Iterator<Item = &ToolPattern> {
        self.tokens()
            .iter()
            .filter_map(|token| token.pattern.as_ref().ok())
    }
}

impl<'t> Manifest<'t> {
    /// Reads the typed fields from the verbatim keys; `source` is the text their places are in.
    pub fn from_entries(entries: Vec<Entry<'t>>, source: &'t str) -> Self {
        let mut manifest = Self::default();
        for entry in &entries {
            manifest.read(entry, source);
        }
        if manifest.version.is_none() {
            let metadata = entries.iter().find(|entry| &*entry.key == "metadata");
            manifest.version = metadata
                .and_then(|entry| entry.value.get("version"))
                .and_then(|node| Text::of(node, source));
        }
        manifest.entries = entries;
        manifest
    }

    fn read(&mut self, entry: &Entry<'t>, source: &'t str) {
        let node = &entry.value;
        match &*entry.key {
            "name" => self.name = Text::of(node, source),
            "description" => self.description = Text::of(node, source),
            "license" => self.license = Text::of(node, source),
            "compatibility" => self.compatibility = Text::of(node, source),
            "when_to_use" => self.when_to_use = Text::of(node, source),
            "argument-hint" => self.argument_hint = hint(node, source),
            "arguments" => self.arguments = words(node, source, char::is_whitespace),
            "allowed-tools" => self.allowed_tools = ToolList::of(node, source),
            "disallowed-tools" => self.disallowed_tools = ToolList::of(node, source),
            "disable-model-invocation" => self.disable_model_invocation = flag(entry),
            "user-invocable" => self.user_invocable = flag(entry),
            "background" => self.background = flag(entry),
            "always_present" => self.always_present = literal_flag(node),
            "model" => self.model = Text::of(node, source),
            "effort" => self.effort = Text::of(node, source),
            "context" => self.context = Text::of(node, source),
            "agent" => self.agent = Text::of(node, source),
            "shell" => self.shell = Text::of(node, source),
            "paths" => self.paths = globs(node, source),
            "maxTicks" => {
                self.max_ticks = node
                    .text()
                    .and_then(|text| text.parse().ok())
                    .filter(|&n| n > 0);
            }
            "creator" => self.creator = Text::of(node, source),
            "planck_version" => self.planck_version = Text::of(node, source),
            "version" => self.version = Text::of(node, source),
            _ => {}
        }
    }

    /// Returns the entry under a key.
    pub fn entry(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|entry| &*entry.key == key)
    }

    /// Tells whether the model must not invoke the skill on its own.
    pub fn model_invocation_disabled(&self) -> bool {
        self.disable_model_invocation.map_or_else(
            || self.has_lost("disable-model-invocation"),
            |flag| flag.value,
        )
    }

    /// Tells whether people may invoke the skill by name.
    pub fn is_user_invocable(&self) -> bool {
        self.user_invocable
            .map_or_else(|| !self.has_lost("user-invocable"), |flag| flag.value)
    }

    /// Tells whether a key stands in the file and was not read. What it restricts stays restricted.
    fn has_lost(&self, key: &str) -> bool {
        self.lost.iter().any(|lost| &**lost == key)
    }

    /// Tells whether the skill runs in a conversation of its own.
    pub fn is_forked(&self) -> bool {
        self.context
            .as_ref()
            .is_some_and(|context| &*context.value == "fork")
    }
}

/// `[topic]` is a list to YAML and a hint to people.
fn hint<'t>(node: &Node<'t>, source: &str) -> Option<Text<'t>> {
    let Some(items) = node.items() else {
        return Text::of(node, source);
    };
    let words: Vec<&str> = items.iter().filter_map(Node::text).collect();
    let value = format!("[{}]", words.join(", ")).into();
    (!words.is_empty()).then_some(Text {
        value,
        span: node.span,
        verbatim: None,
    })
}

fn words<'t>(
    node: &Node<'t>,
    source: &str,
    separates: impl Fn(char) -> bool + Copy,
) -> Vec<Text<'t>> {
    texts(node, source)
        .iter()
        .flat_map(|text| split(text, separates))
        .collect()
}

/// A text, or the texts of a list.
fn texts<'t>(node: &Node<'t>, source: &str) -> Vec<Text<'t>> {
    match node.items() {
        Some(items) => items
            .iter()
            .filter_map(|item| Text::of(item, source))
            .collect(),
        None => Text::of(node, source).into_iter().collect(),
    }
}

fn split<'t>(text: &Text<'t>, separates: impl Fn(char) -> bool) -> Vec<Text<'t>> {
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

/// Splits at commas, but not inside braces: `src/**/*.{ts,tsx}, *.md` is two patterns.
fn globs<'t>(node: &Node<'t>, source: &str) -> Vec<Text<'t>> {
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

fn tools(node: &Node<'_>, source: &str) -> Vec<ToolToken> {
    let mut tokens = Vec::new();
    for text in texts(node, source) {
        // Of a value of several lines only the blanks are others, unless it has escapes.
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

/// Reads a yes or no. What is neither counts as the safer value.
fn flag(entry: &Entry<'_>) -> Option<Flag> {
    let node = &entry.value;
    if node.is_null() {
        return None;
    }
    let understood = node.text().and_then(parse_flag);
    let safer = match fields::find(&entry.key).map(|field| field.shape) {
        Some(Shape::Flag { safer, .. }) => safer,
        _ => false,
    };
    Some(Flag {
        value: understood.unwrap_or(safer),
        understood: understood.is_some(),
        span: node.span,
    })
}

/// Planck's pin: only the literal boolean counts.
fn literal_flag(node: &Node<'_>) -> Option<Flag> {
    if node.is_null() {
        return None;
    }
    let is_plain = matches!(&node.value, Value::Scalar(_, Style::Plain));
    let literal = match node.text() {
        Some("true" | "True" | "TRUE") if is_plain => Some(true),
        Some("false" | "False" | "FALSE") if is_plain => Some(false),
        _ => None,
    };
    Some(Flag {
        value: literal.unwrap_or(false),
        understood: literal.is_some(),
        span: node.span,
    })
}

/// Reads the words for yes and no, in any letter case.
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

    /// What the places of the tokens show, where the value stands on several lines.
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
    fn the_place_of_a_tool_is_its_own_on_whatever_line_it_stands() {
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
    fn an_escape_may_stand_for_anything_so_the_whole_value_is_the_place() {
        let value = "\"\\x52ead\n  Read\"";
        assert_eq!(places(value), [value, value]);
    }
}
