//! Compares the fenced code blocks found by the scanner with those of `pulldown-cmark`.
//!
//! The scanner differs from `CommonMark` on purpose where a reader may take a line for a fence: it
//! accepts any indentation and does not track lists and quotes. The generated documents stay
//! outside those cases; `deliberate_differences` lists them.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::{BodyItemKind, ScanDetail, analyse};
use prowess_diag::Span;

/// A fenced block: the info string, and the content without indentation.
type Block = (String, Vec<String>);

fn block(info: &str, content: &str) -> Block {
    let lines = content.lines().map(|line| line.trim_start().to_owned());
    (info.trim().to_owned(), lines.collect())
}

/// Returns the blocks that the scanner finds.
fn scanned(text: &str, detail: ScanDetail) -> Vec<Block> {
    let items = analyse(text, Span::new(0, text.len()), &[], detail);
    let blocks = items.iter().filter_map(|item| match item.kind {
        BodyItemKind::Fence { content, .. } => Some((item, content)),
        BodyItemKind::Command {
            command,
            block: true,
        } => Some((item, command)),
        _ => None,
    });
    blocks
        .map(|(item, content)| {
            let opener = item.span.of(text).lines().next().unwrap_or_default();
            let mark = opener.chars().next().unwrap_or_default();
            block(opener.trim_start_matches(mark), content.of(text))
        })
        .collect()
}

/// Returns the blocks that `pulldown-cmark` finds.
fn reference(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = Some((info.to_string(), String::new()));
            }
            Event::Text(part) => {
                if let Some((_, content)) = &mut open {
                    content.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                blocks.extend(open.take().map(|(info, content)| block(&info, &content)));
            }
            _ => {}
        }
    }
    blocks
}

/// Generates one line: a fence of either kind with or without an info string, or text that
/// contains marks.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ ]{0,3}`{2,5}[ ]{0,2}",
        4 => "[ ]{0,3}~{2,5}[ ]{0,2}",
        2 => "[ ]{0,3}`{3,4}[!]?[a-z]{1,4}( [a-z]{1,3})?",
        2 => "[ ]{0,3}~{3,4}[ ]?[a-z`]{1,4}",
        1 => "[ ]{0,3}`{3}[a-z]{0,2}`{1,3}[a-z]{0,2}",
        3 => "[ ]{0,3}[a-z]{1,4}( [`~a-z]{1,4}){0,3}",
        1 => Just(String::new()),
        1 => Just("$ARGUMENTS".to_owned()),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let line_break = prop_oneof![Just("\n"), Just("\r\n")];
    (
        prop::collection::vec(line(), 0..16),
        line_break,
        any::<bool>(),
    )
        .prop_map(|(lines, line_break, ends_with_break)| {
            let mut text = lines.join(line_break);
            if ends_with_break {
                text.push_str(line_break);
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn fences_agree_with_commonmark(text in document()) {
        prop_assert_eq!(scanned(&text, ScanDetail::Full), reference(&text));
    }

    /// A scan for marked items only must report a subset of the same blocks.
    #[test]
    fn marked_scan_finds_a_subset_of_the_blocks(text in document()) {
        let all = reference(&text);
        let mut rest = all.iter();
        for block in scanned(&text, ScanDetail::Marked) {
            prop_assert!(rest.any(|other| *other == block), "{block:?} not in {all:?}");
        }
    }
}

#[test]
fn deliberate_differences() {
    for text in [
        // Indented by four spaces: an indented code block in CommonMark.
        "    ```\n    a\n    ```\n",
        // The end of a quote or list item also ends its blocks in CommonMark.
        "> ```\n> a\n\nb\n",
        "- ```\n  a\n\nb\n",
    ] {
        assert_ne!(scanned(text, ScanDetail::Full), reference(text), "{text}");
        assert_eq!(scanned(text, ScanDetail::Full).len(), 1, "{text}");
    }
}
