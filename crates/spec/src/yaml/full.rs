//! The complete YAML reader, on top of a parser crate.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, StructureStyle};
use prowess_diag::Span;

use super::{
    DuplicateKey, MAX_DEPTH, YamlDocument, YamlEntry, YamlError, YamlFeature, YamlLayout, YamlNode,
    YamlRefusal, YamlStyle, YamlValue,
};

/// Nesting limit of the parser, above [`MAX_DEPTH`] so that ours is the one reported. It bounds the
/// memory that a row of brackets costs.
const PARSER_DEPTH: usize = MAX_DEPTH * 2;

/// Parses a block of YAML. Spans are offsets in `text` plus `base`.
pub fn read(text: &str, base: usize) -> Result<YamlDocument<'static>, YamlError> {
    let mut options = Options::default();
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.flow_nesting_limit = PARSER_DEPTH;
    options.block_nesting_limit = PARSER_DEPTH;
    options.set_emit_comments(false);
    let mut builder = Builder {
        text,
        base,
        open: Vec::new(),
        root: None,
        refusals: Vec::new(),
        duplicates: Vec::new(),
        documents: 0,
        star: None,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or(0..0);
                let tag = span.tag_span().and_then(|span| span.byte_range());
                if let Some(tag) = tag {
                    builder.refuse(YamlFeature::Tag, tag.start, tag.end);
                }
                builder.event(event, range.start, range.end);
            }
            Err(error) => {
                let offset = error
                    .marker()
                    .byte_offset()
                    .unwrap_or(text.len())
                    .min(text.len());
                let too_deep = matches!(error.kind(), ErrorKind::RecursionLimitExceeded);
                return Err(builder.failed(offset, too_deep, error.info()));
            }
        }
    }
    builder.finish()
}

struct Builder<'t> {
    text: &'t str,
    base: usize,
    open: Vec<Open>,
    root: Option<YamlNode<'static>>,
    refusals: Vec<YamlRefusal>,
    duplicates: Vec<DuplicateKey>,
    documents: usize,
    /// Offset of an alias `*name` whose anchor does not exist.
    star: Option<usize>,
}

/// The number of entries up to which a key is looked up by comparing all of them.
const SMALL_MAP: usize = 32;

/// A collection that is not closed yet.
enum Open {
    Sequence {
        start: usize,
        layout: YamlLayout,
        items: Vec<YamlNode<'static>>,
    },
    Mapping {
        start: usize,
        layout: YamlLayout,
        entries: Vec<YamlEntry<'static>>,
        key: Option<(Cow<'static, str>, Span)>,
        duplicates: Vec<DuplicateKey>,
        /// The positions of the entries by key, in a large map.
        positions: HashMap<Box<str>, usize>,
    },
}

impl Builder<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start, self.base + end)
    }

    fn refuse(&mut self, feature: YamlFeature, start: usize, end: usize) {
        // A few are enough; a hostile file may contain thousands.
        if self.refusals.len() < 8 {
            let span = self.span(start, end);
            self.refusals.push(YamlRefusal { feature, span });
        }
    }

    fn event(&mut self, event: Event<'_>, start: usize, end: usize) {
        match event {
            Event::DocumentStart(explicit, version) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.refuse(YamlFeature::SecondDocument, start, end);
                } else if version.is_some() || (explicit && self.text.trim_start().starts_with('%'))
                {
                    self.refuse(YamlFeature::Directive, 0, self.text.find('\n').unwrap_or(0));
                }
            }
            Event::Alias(_) => {
                self.refuse(YamlFeature::Alias, start, end);
                self.scalar("", YamlStyle::Plain, start, end);
            }
            Event::UnresolvedAlias(_) => {
                // `paths: *.md` is a missing quotation mark rather than an alias.
                self.star.get_or_insert(start);
                self.scalar("", YamlStyle::Plain, start, end);
            }
            Event::Anchor(..) => self.refuse(YamlFeature::Anchor, start, end),
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() && self.refusals.is_empty() {
                    self.refuse(YamlFeature::Tag, start, end);
                }
                let style = match style {
                    ScalarStyle::SingleQuoted => YamlStyle::SingleQuoted,
                    ScalarStyle::DoubleQuoted => YamlStyle::DoubleQuoted,
                    ScalarStyle::Literal => YamlStyle::Literal,
                    ScalarStyle::Folded => YamlStyle::Folded,
                    ScalarStyle::Plain => YamlStyle::Plain,
                };
                self.scalar(&text, style, start, end);
            }
            Event::SequenceStart(layout, ..) => {
                self.check_depth(start);
                self.open.push(Open::Sequence {
                    start,
                    layout: layout_of(layout),
                    items: Vec::new(),
                });
            }
            Event::MappingStart(layout, ..) => {
                self.check_depth(start);
                self.open.push(Open::Mapping {
                    start,
                    layout: layout_of(layout),
                    entries: Vec::new(),
                    key: None,
                    duplicates: Vec::new(),
                    positions: HashMap::new(),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            _ => {}
        }
    }

    fn check_depth(&mut self, start: usize) {
        if self.open.len() == MAX_DEPTH {
            self.refuse(YamlFeature::Depth, start, start);
        }
    }

    fn scalar(&mut self, text: &str, style: YamlStyle, start: usize, end: usize) {
        let (mut start, mut end, mut text) = (start, end, text);
        match style {
            YamlStyle::Plain if start == end => {
                // The parser reports `~` for an absent value. Its position is after the colon.
                text = "";
                if let Some(Open::Mapping {
                    key: Some((_, key_span)),
                    ..
                }) = self.open.last()
                {
                    let after_key = (key_span.end as usize).saturating_sub(self.base);
                    let rest = self.text.get(after_key..).unwrap_or_default();
                    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                    // In `{a, b: c}`, the key `a` has no colon.
                    let has_colon = rest[blanks..].starts_with(':');
                    let at = if has_colon {
                        after_key + blanks + 1
                    } else {
                        after_key
                    };
                    (start, end) = (at, at);
                }
            }
            YamlStyle::Literal | YamlStyle::Folded => {
                let content = self.text.get(start..end).unwrap_or_default().trim_end();
                end = start + content.len();
            }
            _ => {}
        }
        let value = YamlValue::Scalar(text.to_owned().into(), style);
        let node = YamlNode {
            span: self.span(start, end),
            value,
        };
        self.push(node);
    }

    fn close(&mut self, end: usize) {
        let node = match self.open.pop() {
            Some(Open::Sequence {
                start,
                layout,
                items,
            }) => {
                let ends = items
                    .first()
                    .zip(items.last())
                    .map(|(first, last)| first.span.cover(last.span));
                let span = self.collection_span(start, end, layout, ends);
                YamlNode {
                    span,
                    value: YamlValue::Sequence(items, layout),
                }
            }
            Some(Open::Mapping {
                start,
                layout,
                entries,
                duplicates,
                ..
            }) => {
                let whole = |entry: &YamlEntry<'_>| entry.key_span.cover(entry.value.span);
                let ends = entries
                    .iter()
                    .map(whole)
                    .chain(duplicates.iter().map(|d| d.entry))
                    .reduce(Span::cover);
                let span = self.collection_span(start, end, layout, ends);
                let top_level = self.open.is_empty();
                self.duplicates
                    .extend(duplicates.into_iter().map(|duplicate| DuplicateKey {
                        top_level,
                        ..duplicate
                    }));
                YamlNode {
                    span,
                    value: YamlValue::Mapping(entries, layout),
                }
            }
            None => return,
        };
        self.push(node);
    }

    /// Returns the span of a collection. A block collection spans its first to its last item; the
    /// parser reports the surrounding tokens instead.
    fn collection_span(
        &self,
        start: usize,
        end: usize,
        layout: YamlLayout,
        items: Option<Span>,
    ) -> Span {
        match (layout, items) {
            (YamlLayout::Block, Some(items)) => items,
            _ => self.span(start, end),
        }
    }

    fn push(&mut self, node: YamlNode<'static>) {
        match self.open.last_mut() {
            None => self.root = self.root.take().or(Some(node)),
            Some(Open::Sequence { items, .. }) => items.push(node),
            Some(Open::Mapping {
                entries,
                key,
                duplicates,
                positions,
                ..
            }) => {
                if let Some((name, key_span)) = key.take() {
                    let earlier = if entries.len() < SMALL_MAP {
                        entries.iter().find(|entry| entry.key == name)
                    } else {
                        for (at, entry) in entries.iter().enumerate().skip(positions.len()) {
                            positions.insert(entry.key.as_ref().into(), at);
                        }
                        positions.get(&*name).and_then(|at| entries.get(*at))
                    };
                    if let Some(earlier) = earlier {
                        duplicates.push(DuplicateKey {
                            key: name.into(),
                            first: earlier.key_span,
                            again: key_span,
                            entry: key_span.cover(node.span),
                            same_value: earlier.value.same(&node),
                            top_level: false,
                        });
                    } else {
                        entries.push(YamlEntry {
                            key: name,
                            key_span,
                            value: node,
                        });
                    }
                } else {
                    let (text, refused) = match node.value {
                        YamlValue::Scalar(text, style) => {
                            let is_merge = &*text == "<<" && style == YamlStyle::Plain;
                            (text, is_merge.then_some(YamlFeature::MergeKey))
                        }
                        YamlValue::Sequence(..) | YamlValue::Mapping(..) => {
                            (Cow::default(), Some(YamlFeature::ComplexKey))
                        }
                    };
                    *key = Some((text, node.span));
                    if let Some(feature) = refused {
                        let range = node.span.range();
                        self.refuse(feature, range.start - self.base, range.end - self.base);
                    }
                }
            }
        }
    }

    fn failed(self, offset: usize, too_deep: bool, message: String) -> YamlError {
        if !self.refusals.is_empty() {
            return YamlError::Refused(self.refusals);
        }
        if too_deep {
            let span = self.span(offset, offset);
            return YamlError::Refused(vec![YamlRefusal {
                feature: YamlFeature::Depth,
                span,
            }]);
        }
        let width = self
            .text
            .get(offset..)
            .and_then(|rest| rest.chars().next())
            .filter(|c| !c.is_whitespace())
            .map_or(0, char::len_utf8);
        YamlError::Syntax {
            at: self.span(offset, offset + width),
            message,
        }
    }

    fn finish(self) -> Result<YamlDocument<'static>, YamlError> {
        if let Some(at) = self.star.filter(|_| self.refusals.is_empty()) {
            let message = "an unquoted value begins with `*`".to_owned();
            return Err(YamlError::Syntax {
                at: self.span(at, at + 1),
                message,
            });
        }
        if self.refusals.is_empty() {
            Ok(YamlDocument {
                root: self.root,
                duplicates: self.duplicates,
            })
        } else {
            Err(YamlError::Refused(self.refusals))
        }
    }
}

fn layout_of(style: StructureStyle) -> YamlLayout {
    match style {
        StructureStyle::Flow => YamlLayout::Flow,
        StructureStyle::Block => YamlLayout::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<YamlFeature> {
        match read(text, 0) {
            Err(YamlError::Refused(refusals)) => refusals
                .into_iter()
                .map(|refusal| refusal.feature)
                .collect(),
            other => panic!("{text:.40} gave {other:?}"),
        }
    }

    #[test]
    fn features_that_copy_or_retype_values_are_rejected() {
        assert_eq!(refused("a: &x 1\nb: 2"), [YamlFeature::Anchor]);
        assert_eq!(
            refused("a: &x 1\nb: *x"),
            [YamlFeature::Anchor, YamlFeature::Alias]
        );
        assert_eq!(refused("<<: {a: b}"), [YamlFeature::MergeKey]);
        assert_eq!(refused("a: !!str b"), [YamlFeature::Tag]);
        assert_eq!(refused("a: !x [b]"), [YamlFeature::Tag]);
        assert_eq!(refused("? [a]\n: b"), [YamlFeature::ComplexKey]);
        assert_eq!(refused("a: b\n...\nc: d"), [YamlFeature::SecondDocument]);
    }

    #[test]
    fn many_brackets_stop_at_the_depth_limit() {
        for text in [
            "[".repeat(100_000),
            "{a: ".repeat(100_000),
            "- ".repeat(100_000),
        ] {
            assert_eq!(refused(&text), [YamlFeature::Depth]);
        }
    }

    #[test]
    fn duplicates_are_found_at_every_level_and_the_first_wins() {
        let document = read("a: 1\nb: {c: x, c: y}\na: 1\n", 0).unwrap();
        let found: Vec<_> = document
            .duplicates
            .iter()
            .map(|d| (&*d.key, d.same_value, d.top_level))
            .collect();
        assert_eq!(found, [("c", false, false), ("a", true, true)]);
        assert_eq!(
            document.root.unwrap().get("a").and_then(YamlNode::text),
            Some("1")
        );
    }

    #[test]
    fn spans_point_at_keys_and_values() {
        let text = "é: 'x y'\nlist:\n  - p\nempty:\nfold: >\n  one\n  two\n\nlast: z\n";
        let root = read(text, 0).unwrap().root.unwrap();
        let found: Vec<_> = root
            .entries()
            .unwrap()
            .iter()
            .map(|e| (e.key_span.of(text), e.value.span.of(text)))
            .collect();
        let expected = [
            ("é", "'x y'"),
            ("list", "p"),
            ("empty", ""),
            ("fold", "one\n  two"),
            ("last", "z"),
        ];
        assert_eq!(found, expected);
    }
}
