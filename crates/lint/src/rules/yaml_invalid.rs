//! YAML that cannot be mended.

use super::{Finding, Levels, Sink, Subject};
use crate::slips;
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-invalid",
    Levels::of("EEE"),
    Suggested,
    "a part of the frontmatter is not YAML and was not read"
);

/// What the parser says, what that means for whoever wrote the line, and what to do.
const MEANINGS: &[(&str, &str, &str)] = &[
    (
        "mapping values are not allowed",
        "a second value stands on this line",
        "write keys that belong below another one on lines of their own, indented by two spaces",
    ),
    (
        "unclosed bracket '['",
        "a `[` is never closed",
        "close it with `]`, or write one item a line",
    ),
    (
        "unclosed bracket '{'",
        "a `{` is never closed",
        "close it with `}`, or write one pair a line",
    ),
    (
        "mismatched bracket",
        "a bracket is closed by one of another kind",
        BRACKETS,
    ),
    (
        "misplaced bracket",
        "a bracket is closed that was never opened",
        BRACKETS,
    ),
    (
        "expected ',' or",
        "a comma or the closing bracket is missing",
        BRACKETS,
    ),
    (
        "expected '-' indicator",
        "this line is neither an item nor a key",
        ALIKE,
    ),
    (
        "block sequence entries",
        "an item of a list stands behind a key",
        ALIKE,
    ),
    (
        "indentation",
        "a line is not indented like those it belongs to",
        ALIKE,
    ),
    (
        "wrongly indented",
        "a line is not indented like those it belongs to",
        ALIKE,
    ),
    (
        "tab",
        "a tab stands where YAML wants spaces",
        "replace the tab with spaces",
    ),
    (
        "unclosed quote",
        "a quotation mark is never closed",
        "close it where the value ends",
    ),
    ("begins with `*`", "an unquoted value begins with `*`", STAR),
    (
        "unexpected character: `@'",
        "an unquoted value begins with `@`",
        QUOTE,
    ),
    (
        "unexpected character: `%'",
        "an unquoted value begins with `%`",
        QUOTE,
    ),
    (
        "unexpected character: ``'",
        "an unquoted value begins with a backtick",
        QUOTE,
    ),
    (
        "unexpected character",
        "there is a character that YAML does not allow",
        "remove what is shown as `<U+…>`",
    ),
    ("simple key", "this line is not a `key: value` pair", PAIR),
    (
        "expected key",
        "this line is neither a key nor part of a value",
        PAIR,
    ),
    (
        "document start",
        "this line is not a `key: value` pair",
        PAIR,
    ),
];

const ALIKE: &str = "indent lines that belong together by the same number of spaces";
const BRACKETS: &str = "look for a missing comma or bracket, or put the value in quotation marks";
const PAIR: &str = "write `key: value`, or indent the line if it continues the one above";

const QUOTE: &str = "put the value in quotation marks";
const STAR: &str = "put the value in quotation marks if it is text: in YAML, `*name` stands for \
                    what `&name` marks elsewhere, and nothing here is marked so";

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::YamlInvalid { message, key } = &problem.kind {
            let is_alone = parsed.manifest.entries.is_empty();
            let rest = if is_alone {
                ""
            } else {
                "; the other keys were"
            };
            let lost = match key {
                Some(key) => format!("`{key}` was not read{rest}"),
                None => format!("this was not read{rest}"),
            };
            let meaning = MEANINGS.iter().find(|(said, ..)| message.contains(said));
            let message = meaning.map_or(message.as_str(), |(_, message, _)| message);
            let finding = Finding::at(problem.span, format!("invalid YAML: {message}")).label(lost);
            let fix = slips::plain_keys(parsed).filter(|_| key.is_none());
            out.report(match meaning {
                Some((.., help)) => finding.fix_or_help(fix, *help),
                None => finding.fix(fix),
            });
        }
    }
}
