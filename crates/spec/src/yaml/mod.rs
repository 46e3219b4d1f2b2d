//! YAML as frontmatter uses it: a small tree in which every key and value knows its place.
//!
//! Two readers build the same tree. [`full`] accepts all of YAML through a parser crate and
//! refuses what frontmatter must not contain; [`plain`] reads the subset that nearly every skill
//! uses, many times faster, and steps aside at the first byte it is not sure about. A property
//! test holds them equal.

pub mod full;
pub mod plain;
pub mod write;

use std::borrow::Cow;

use prowess_diag::Span;

/// How deep collections may nest.
pub const MAX_DEPTH: usize = 16;

/// One value. What stands unchanged in the file is borrowed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'t> {
    /// Where it stands. Quotes and brackets are included; the indicator of a block scalar is not.
    pub span: Span,
    /// What it is.
    pub value: Value<'t>,
}

/// What a value is. Scalars are kept as text: `1.0`, `yes` and `2024-01-01` are not interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'t> {
    /// A single piece of text.
    Scalar(Cow<'t, str>, Style),
    /// A list.
    Sequence(Vec<Node<'t>>, Layout),
    /// A map, in the order of the file.
    Mapping(Vec<Entry<'t>>, Layout),
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key as text.
    pub key: Cow<'t, str>,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub value: Node<'t>,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bare words.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// How a collection was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One item a line.
    Block,
    /// `[…]` or `{…}`.
    Flow,
}

impl<'t> Node<'t> {
    /// Returns the text of a scalar; nothing for null and for collections.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, _) if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Tells whether this is null: nothing at all, `~`, or the bare word `null`.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar(text, Style::Plain) => {
                matches!(&**text, "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// Returns the items of a list.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(items, _) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    pub fn entries(&self) -> Option<&[Entry<'t>]> {
        match &self.value {
            Value::Mapping(entries, _) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?
            .iter()
            .find(|entry| &*entry.key == key)
            .map(|entry| &entry.value)
    }

    /// Compares values without their places and notation.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar(x, _), Value::Scalar(y, _)) => {
                x == y && self.is_null() == other.is_null()
            }
            (Value::Sequence(x, _), Value::Sequence(y, _)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y))
            }
            (Value::Mapping(x, _), Value::Mapping(y, _)) => {
                let pair =
                    |(x, y): (&Entry<'_>, &Entry<'_>)| x.key == y.key && x.value.same(&y.value);
                x.len() == y.len() && x.iter().zip(y).all(pair)
            }
            _ => false,
        }
    }

    /// Returns what kind of value this is, in words for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "nothing",
            Value::Scalar(..) => "text",
            Value::Sequence(..) => "a list",
            Value::Mapping(..) => "a map",
        }
    }

    /// Returns the offset at which the scalar's text stands unchanged in the source, if it does:
    /// then a position in the text is a position in the file.
    pub fn verbatim_start(&self, source: &str) -> Option<usize> {
        let Value::Scalar(text, style) = &self.value else {
            return None;
        };
        let quotes = match style {
            Style::Plain => 0,
            Style::SingleQuoted | Style::DoubleQuoted => 1,
            Style::Literal | Style::Folded => return None,
        };
        // Of the same length is not enough: escapes and mended text may only happen to be.
        let start = self.span.start as usize + quotes;
        let there = source.get(start..start + text.len());
        let is_same = self.span.len() == text.len() + 2 * quotes
            && there.is_some_and(|there| there.as_ptr() == text.as_ptr() || *there == **text);
        is_same.then_some(start)
    }

    /// Calls `visit` for this node and everything inside it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        match &self.value {
            Value::Scalar(..) => {}
            Value::Sequence(items, _) => items.iter().for_each(|item| item.walk(visit)),
            Value::Mapping(entries, _) => entries.iter().for_each(|entry| entry.value.walk(visit)),
        }
    }

    /// Moves this node and everything inside it.
    pub(crate) fn map_spans(&mut self, map: &impl Fn(Span) -> Span) {
        self.span = map(self.span);
        match &mut self.value {
            Value::Scalar(..) => {}
            Value::Sequence(items, _) => items.iter_mut().for_each(|item| item.map_spans(map)),
            Value::Mapping(entries, _) => {
                for entry in entries {
                    entry.key_span = map(entry.key_span);
                    entry.value.map_spans(map);
                }
            }
        }
    }
}

/// What a reader found in a block of YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'t> {
    /// The value; nothing for an empty block.
    pub root: Option<Node<'t>>,
    /// Keys that stand twice in one map. The first one counts.
    pub duplicates: Vec<Duplicate>,
}

/// A key that stands twice in one map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub key: Box<str>,
    /// Where it stands first.
    pub first: Span,
    /// Where it stands again.
    pub again: Span,
    /// The whole second entry, key and value.
    pub entry: Span,
    /// Whether both values are the same.
    pub same_value: bool,
    /// Whether it is a key of the outermost map.
    pub top_level: bool,
}

/// Why a block of YAML was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is not YAML.
    Syntax {
        /// Where reading stopped.
        at: Span,
        /// What the parser says.
        message: String,
    },
    /// It is YAML, but uses something that frontmatter must not contain.
    Refused(Vec<Refusal>),
}

/// One use of a refused feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is.
    pub feature: Feature,
    /// Where it stands.
    pub span: Span,
}

/// Features of YAML that are refused before any value is built: they copy, merge or retype
/// values behind the reader's back, and a small file can grow without bound through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
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
    /// `%YAML` and the like.
    Directive,
    /// `...` with something after it.
    SecondDocument,
    /// More than [`MAX_DEPTH`] levels.
    Depth,
}

impl Feature {
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

/// Reads a block of YAML. Spans are offsets in `text` plus `base`.
pub fn read(text: &str, base: usize) -> Result<Document<'_>, Error> {
    if let Some(root) = plain::read(text, base) {
        return Ok(Document {
            root,
            duplicates: Vec::new(),
        });
    }
    full::read(text, base)
}
