//! `edit`.

use prowess_policy::{ApprovalAnswer, PermissionMode};
use serde_json::json;

use crate::support::{Says, World, call, told};

fn edited(content: impl AsRef<[u8]>, old: &str, new: &str, all: bool) -> (String, Vec<u8>) {
    let world = World::new().with("f", content);
    let input = json!({ "path": "f", "old": old, "new": new, "all": all });
    let text = told(&world.yolo(), "edit", &input);
    assert_eq!(world.names(""), ["f"]);
    (text, std::fs::read(world.path("f")).unwrap())
}

#[test]
fn single_match_is_replaced() {
    let (text, after) = edited("one\ntwo\nthree\n", "two", "2", false);
    assert_eq!(
        text,
        "Edited `f`: 1 replacement, first at line 2.\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    );
    assert_eq!(after, b"one\n2\nthree\n");
    let world = World::new().with("f", "ab ab");
    let input = json!({ "path": "f", "old": "ab", "new": "c", "all": true });
    let answer = call(&world.yolo(), "edit", &input).unwrap();
    assert_eq!(
        answer.value,
        json!({ "path": "f", "replaced": 2, "line": 1, "size": 3, "before": 5 })
    );
    assert_eq!(world.read("f"), "c c");
}

#[test]
fn several_matches_are_an_error() {
    let (text, after) = edited("x\ny\nx\n", "x", "z", false);
    assert_eq!(
        text,
        "The text occurs 2 times in `f`, at lines 1, 3. Include more surrounding lines in `old`, or set `all`."
    );
    assert_eq!(after, b"x\ny\nx\n");
    let (text, _) = edited("x\n".repeat(20), "x", "z", false);
    assert!(
        text.contains("20 times in `f`, at lines 1, 2, 3, 4, 5, 6, 7, 8, …."),
        "{text}"
    );
}

#[test]
fn similar_lines_are_shown() {
    let (text, _) = edited(
        "fn main() {\n    let x  = 1;\n}\n",
        "let x = 1;",
        "y",
        false,
    );
    assert_eq!(
        text,
        "Text not found in `f`. Check spaces and line breaks. Similar lines:\n2\t    let x  = 1;"
    );
    let (text, _) = edited("abc\n", "2\txyz", "y", false);
    assert!(
        text.ends_with("Do not include line numbers in `old`."),
        "{text}"
    );
    let (text, _) = edited("abc\n", "abc", "abc", false);
    assert!(text.contains("nothing to change"), "{text}");
}

#[test]
fn only_matched_bytes_change() {
    // Line endings, byte order mark, invalid UTF-8, missing final line break.
    let (_, after) = edited(b"\xef\xbb\xbfa\r\nb\r\nc", "a\nb", "1\n2\n3", false);
    assert_eq!(after, b"\xef\xbb\xbf1\r\n2\r\n3\r\nc");
    let (_, after) = edited("a\r\nb\r\n", "b", "x\ny", false);
    assert_eq!(after, b"a\r\nx\r\ny\r\n");
    let (_, after) = edited("a\r\nb\nc\r\n", "b", "x\ny", false);
    assert_eq!(after, b"a\r\nx\ny\nc\r\n", "mixed line endings are kept");
    let (_, after) = edited(b"caf\xe9 x", "x", "y", false);
    assert_eq!(after, b"caf\xe9 y");
    let (_, after) = edited("a\r\nb\r\n", "a\r\nb", "c\r\nd", false);
    assert_eq!(after, b"c\r\nd\r\n");
}

#[test]
fn uneditable_files_are_errors() {
    let world = World::new().with("b", b"a\0b").with("d/x", "");
    let context = world.yolo();
    let edit = |path: &str| {
        told(
            &context,
            "edit",
            &json!({ "path": path, "old": "a", "new": "b" }),
        )
    };
    assert_eq!(edit("b"), "`b` is not a text file.");
    assert_eq!(edit("d"), "`d` is a folder, not a file.");
    assert_eq!(edit("none"), "File not found: `none`.");
    world.file("big", "ab".repeat(6 * 1024 * 1024));
    assert!(edit("big").contains("too large to edit (limit: 10.4 MB)"));
    world.file("grow", "a".repeat(9 * 1024 * 1024));
    let input = json!({ "path": "grow", "old": "a", "new": "aaa", "all": true });
    assert!(told(&context, "edit", &input).contains("would be larger"));
}

/// No prompt for an edit that cannot be made, and no hints about unreadable content.
#[test]
fn prompts_do_not_leak_unreadable_content() {
    let world = World::new().with("f", "one\n");
    let mut context = world.context(PermissionMode::Ask, &[]);
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    told(
        &context,
        "edit",
        &json!({ "path": "f", "old": "none", "new": "x" }),
    );
    assert!(says.questions().is_empty());
    told(
        &context,
        "edit",
        &json!({ "path": "f", "old": "one", "new": "1" }),
    );
    assert_eq!(
        says.questions(),
        ["Edit `f`, 1 place:\n--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\n"]
    );
    // The answer must not depend on whether the text is there.
    let says = Says::new(ApprovalAnswer::No);
    context.services.approver = says.clone();
    let guess = |old: &str| {
        told(
            &context,
            "edit",
            &json!({ "path": world.text("../outside/x"), "old": old, "new": "x" }),
        )
    };
    assert_eq!(guess("SECRET"), guess("secret"));
    assert_eq!(says.questions().len(), 2);
}
