//! YAML that cannot be repaired.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::key_notation;
use prowess_spec::problem::ProblemKind;

rule!(
    "yaml-invalid",
    RuleLevels::of("EEE"),
    Suggested,
    "part of the frontmatter is not valid YAML and was not read"
);

/// The parser's message, its meaning for the author, and the advice.
const MEANINGS: &[(&str, &str, &str)] = &[
    (
        "mapping values are not allowed",
        "this line has a second value",
        "write nested keys on their own lines, indented by two spaces",
    ),
    (
        "unclosed bracket '['",
        "a `[` is not closed",
        "close it with `]`, or write one item per line",
    ),
    (
        "unclosed bracket '{'",
        "a `{` is not closed",
        "close it with `}`, or write one pair per line",
    ),
    (
        "mismatched bracket",
        "a bracket is closed by a bracket of another kind",
        BRACKETS,
    ),
    (
        "misplaced bracket",
        "a closing bracket has no opening bracket",
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
        "a list item follows a key on the same line",
        ALIKE,
    ),
    (
        "indentation",
        "a line is not indented like the lines it belongs to",
        ALIKE,
    ),
    (
        "wrongly indented",
        "a line is not indented like the lines it belongs to",
        ALIKE,
    ),
    (
        "tab",
        "a tab is used where YAML requires spaces",
        "replace the tab with spaces",
    ),
    (
        "unclosed quote",
        "a quotation mark is not closed",
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
        "the value contains a character that YAML does not allow",
        "remove the character shown as `<U+…>`",
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
const BRACKETS: &str = "look for a missing comma or bracket, or quote the value";
const PAIR: &str = "write `key: value`, or indent the line if it continues the one above";

const QUOTE: &str = "quote the value";
const STAR: &str = "quote the value if it is text: in YAML, `*name` refers to the \
                    anchor `&name`, and no such anchor exists";

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
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
            let finding =
                LintFinding::at(problem.span, format!("invalid YAML: {message}")).label(lost);
            let fix = key_notation::plain_keys(parsed).filter(|_| key.is_none());
            out.report(match meaning {
                Some((.., help)) => finding.fix_or_help(fix, *help),
                None => finding.fix(fix),
            });
        }
    }
}
