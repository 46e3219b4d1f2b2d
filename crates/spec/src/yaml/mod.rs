//! YAML for frontmatter: a small tree in which every key and value has a span.
//!
//! Two readers build the same tree. [`full`] accepts all of YAML through a parser crate and rejects
//! features that are not allowed in frontmatter. [`plain`] parses the subset that nearly every
//! skill uses, many times faster, and returns `None` at the first byte it does not support. A
//! property test checks that both agree.

pub mod full;
pub mod plain;
pub mod write;

use std::borrow::Cow;

use prowess_diag::Span;

/// Maximum nesting depth of collections.
pub const MAX_DEPTH: usize = 16;

/// A value. Text that appears unchanged in the file is borrowed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlNode<'t> {
    /// Range in the file, including quotation marks and brackets but not the marker of a block
    /// scalar.
    pub span: Span,
    /// The value itself.
    pub value: YamlValue<'t>,
}

/// A value without its span. Scalars are strings: `1.0`, `yes` and `2024-01-01` are not
/// interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlValue<'t> {
    /// A scalar.
    Scalar(Cow<'t, str>, YamlStyle),
    /// A list.
    Sequence(Vec<YamlNode<'t>>, YamlLayout),
    /// A map, in file order.
    Mapping(Vec<YamlEntry<'t>>, YamlLayout),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlEntry<'t> {
    /// The key as text.
    pub key: Cow<'t, str>,
    /// Range of the key in the file.
    pub key_span: Span,
    /// Its value.
    pub value: YamlNode<'t>,
}

/// The notation of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlStyle {
    /// Unquoted.
    Plain,
    /// `'…'`.
    SingleQuoted,
    /// `"…"`.
    DoubleQuoted,
    /// `|`.
    Literal,
    /// `>`.
    Folded,
}

/// The notation of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlLayout {
    /// One item per line.
    Block,
    /// `[…]` or `{…}`.
    Flow,
}

impl<'t> YamlNode<'t> {
    /// Returns the text of a scalar; `None` for null and for collections.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(text, _) if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Returns `true` for null: an empty value, `~` or unquoted `null`.
    pub fn is_null(&self) -> bool {
        match &self.value {
            YamlValue::Scalar(text, YamlStyle::Plain) => {
                matches!(&**text, "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// Returns the items of a list.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            YamlValue::Sequence(items, _) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    pub fn entries(&self) -> Option<&[YamlEntry<'t>]> {
        match &self.value {
            YamlValue::Mapping(entries, _) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of a key in a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?
            .iter()
            .find(|entry| &*entry.key == key)
            .map(|entry| &entry.value)
    }

    /// Compares values without their spans and notation.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (YamlValue::Scalar(x, _), YamlValue::Scalar(y, _)) => {
                x == y && self.is_null() == other.is_null()
            }
            (YamlValue::Sequence(x, _), YamlValue::Sequence(y, _)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y))
            }
            (YamlValue::Mapping(x, _), YamlValue::Mapping(y, _)) => {
                let pair = |(x, y): (&YamlEntry<'_>, &YamlEntry<'_>)| {
                    x.key == y.key && x.value.same(&y.value)
                };
                x.len() == y.len() && x.iter().zip(y).all(pair)
            }
            _ => false,
        }
    }

    /// Returns the type of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "null",
            YamlValue::Scalar(..) => "text",
            YamlValue::Sequence(..) => "a list",
            YamlValue::Mapping(..) => "a map",
        }
    }

    /// Returns the offset at which the text of a scalar appears unchanged in the source, if it
    /// does. An offset in the text is then an offset in the file.
    pub fn verbatim_start(&self, source: &str) -> Option<usize> {
        let YamlValue::Scalar(text, style) = &self.value else {
            return None;
        };
        let quotes = match style {
            YamlStyle::Plain => 0,
            YamlStyle::SingleQuoted | YamlStyle::DoubleQuoted => 1,
            YamlStyle::Literal | YamlStyle::Folded => return None,
        };
        // Equal length is not enough: an escaped or repaired text may have the same length by
        // chance.
        let start = self.span.start as usize + quotes;
        let there = source.get(start..start + text.len());
        let is_same = self.span.len() == text.len() + 2 * quotes
            && there.is_some_and(|there| there.as_ptr() == text.as_ptr() || *there == **text);
        is_same.then_some(start)
    }

    /// Calls `visit` for this node and all nodes inside it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        match &self.value {
            YamlValue::Scalar(..) => {}
            YamlValue::Sequence(items, _) => items.iter().for_each(|item| item.walk(visit)),
            YamlValue::Mapping(entries, _) => {
                for entry in entries {
                    entry.value.walk(visit);
                }
            }
        }
    }

    /// Applies `map` to the spans of this node and all nodes inside it.
    pub(crate) fn map_spans(&mut self, map: &impl Fn(Span) -> Span) {
        self.span = map(self.span);
        match &mut self.value {
            YamlValue::Scalar(..) => {}
            YamlValue::Sequence(items, _) => items.iter_mut().for_each(|item| item.map_spans(map)),
            YamlValue::Mapping(entries, _) => {
                for entry in entries {
                    entry.key_span = map(entry.key_span);
                    entry.value.map_spans(map);
                }
            }
        }
    }
}

/// The result of reading a block of YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlDocument<'t> {
    /// The value; `None` for an empty block.
    pub root: Option<YamlNode<'t>>,
    /// Duplicate keys. The first one counts.
    pub duplicates: Vec<DuplicateKey>,
}

/// A key that occurs twice in one map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub key: Box<str>,
    /// Range of the first occurrence.
    pub first: Span,
    /// Range of the second occurrence.
    pub again: Span,
    /// Range of the second entry, key and value.
    pub entry: Span,
    /// `true` if both values are equal.
    pub same_value: bool,
    /// `true` for a key of the outermost map.
    pub top_level: bool,
}

/// The reason why a block of YAML was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlError {
    /// Invalid YAML.
    Syntax {
        /// The position of the error.
        at: Span,
        /// The parser's message.
        message: String,
    },
    /// Valid YAML that uses features not allowed in frontmatter.
    Refused(Vec<YamlRefusal>),
}

/// One use of a feature that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlRefusal {
    /// The feature.
    pub feature: YamlFeature,
    /// Range in the file.
    pub span: Span,
}

/// YAML features that are rejected before any value is built. They copy, merge or retype values,
/// and a small file can expand without bound through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlFeature {
    /// `&name`
    Anchor,
    /// `*name`
    Alias,
    /// `<<:`
    MergeKey,
    /// `!tag`
    Tag,
    /// A key that is a list or a map.
    ComplexKey,
    /// `%YAML` and other directives.
    Directive,
    /// `---` or `...` followed by more text.
    SecondDocument,
    /// More than [`MAX_DEPTH`] levels.
    Depth,
}

impl YamlFeature {
    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchors (`&name`)",
            Self::Alias => "aliases (`*name`)",
            Self::MergeKey => "merge keys (`<<`)",
            Self::Tag => "tags (`!name`)",
            Self::ComplexKey => "keys that are lists or maps",
            Self::Directive => "directives (`%…`)",
            Self::SecondDocument => "second documents (`...`)",
            Self::Depth => "more than 16 levels of nesting",
        }
    }
}

/// Parses a block of YAML. Spans are offsets in `text` plus `base`.
pub fn read(text: &str, base: usize) -> Result<YamlDocument<'_>, YamlError> {
    if let Some(root) = plain::read(text, base) {
        return Ok(YamlDocument {
            root,
            duplicates: Vec::new(),
        });
    }
    full::read(text, base)
}
