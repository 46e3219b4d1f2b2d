//! Structured values with spans: the common form of YAML, JSON and TOML.

use prowess_diag::Span;
use prowess_spec::yaml::{YamlEntry, YamlNode, YamlValue};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The place.
    pub span: Span,
    pub(crate) value: NodeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeValue {
    Null,
    /// A text, number or truth value, as text.
    Scalar(Box<str>),
    List(Vec<Node>),
    Map(Vec<NodeEntry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEntry {
    /// The key.
    pub key: Box<str>,
    /// The place of the key.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the text of a scalar: a text, number or truth value.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            NodeValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    pub fn entries(&self) -> Option<&[NodeEntry]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns `true` if there is no value.
    pub fn is_null(&self) -> bool {
        self.value == NodeValue::Null
    }

    /// Returns a description for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "null",
            NodeValue::Scalar(_) => "a single value",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    pub(crate) fn from_yaml(node: &YamlNode<'_>) -> Self {
        let value = match &node.value {
            _ if node.is_null() => NodeValue::Null,
            YamlValue::Scalar(text, _) => NodeValue::Scalar(text.as_ref().into()),
            YamlValue::Sequence(items, _) => {
                NodeValue::List(items.iter().map(Self::from_yaml).collect())
            }
            YamlValue::Mapping(entries, _) => NodeValue::Map(entries_from_yaml(entries)),
        };
        Self {
            span: node.span,
            value,
        }
    }

    fn from_toml(value: &Spanned<DeValue<'_>>) -> Self {
        let span = value.span();
        let value = match value.get_ref() {
            DeValue::String(text) => NodeValue::Scalar(text.as_ref().into()),
            DeValue::Integer(number) => NodeValue::Scalar(number.as_str().into()),
            DeValue::Float(number) => NodeValue::Scalar(number.as_str().into()),
            DeValue::Boolean(flag) => NodeValue::Scalar(flag.to_string().into()),
            DeValue::Datetime(time) => NodeValue::Scalar(time.to_string().into()),
            DeValue::Array(items) => NodeValue::List(items.iter().map(Self::from_toml).collect()),
            DeValue::Table(table) => NodeValue::Map(entries_from_toml(table)),
        };
        Self {
            span: Span::new(span.start, span.end),
            value,
        }
    }
}

/// Converts the entries of YAML frontmatter.
pub(crate) fn entries_from_yaml(entries: &[YamlEntry<'_>]) -> Vec<NodeEntry> {
    let entry = |entry: &YamlEntry<'_>| NodeEntry {
        key: entry.key.as_ref().into(),
        key_span: entry.key_span,
        value: Node::from_yaml(&entry.value),
    };
    entries.iter().map(entry).collect()
}

/// Converts a TOML table, in file order.
pub(crate) fn entries_from_toml(table: &DeTable<'_>) -> Vec<NodeEntry> {
    let mut entries: Vec<NodeEntry> = table
        .iter()
        .map(|(key, value)| NodeEntry {
            key: key.get_ref().as_ref().into(),
            key_span: Span::new(key.span().start, key.span().end),
            value: Node::from_toml(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span);
    entries
}
