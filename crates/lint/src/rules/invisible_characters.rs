//! Invisible characters.

use prowess_diag::{Fix, LineIndex, Span, TextEdit, sanitize, wording};
use prowess_spec::escapes::escaped_with_neighbours;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

/// Maximum number of characters that are searched for a visible one.
const MOST_AROUND: usize = 8;
/// Maximum number of lines in a message.
const MOST_LINES: usize = 5;

rule!(
    "invisible-characters",
    RuleLevels::of("WWN"),
    Suggested,
    "the text contains invisible characters"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let text = parsed.text;
    let found = deceptive(skill, |at, c, before, after| {
        (at > 0 || c != '\u{feff}')
            && sanitize::is_invisible(c)
            && !is_harmless(text, at, c, before, after)
    });
    if let Some(finding) = describe(text, &found, "is invisible: models read it, people do not") {
        out.report(match purpose(text, &found) {
            Some(help) => finding.fix(None).help(help),
            None => finding,
        });
    }
}

/// Returns the advice for characters that the author needs where they are: next to a backtick, to
/// show it, or as a string in code.
fn purpose(text: &str, found: &[(Span, char)]) -> Option<&'static str> {
    // The nearest visible character on either side.
    let is_visible = |c: &char| !sanitize::is_invisible(*c);
    let next_to = |marks: &[char]| {
        found.iter().all(|(span, _)| {
            let before = text[..span.range().start].chars().rev();
            let after = text[span.range().end..].chars();
            let neighbours = [
                before.take(MOST_AROUND).find(is_visible),
                after.take(MOST_AROUND).find(is_visible),
            ];
            neighbours.iter().flatten().any(|c| marks.contains(c))
        })
    };
    if next_to(&['`']) {
        Some("remove it, and put more backticks around the code to show a backtick in it")
    } else if next_to(&['"', '\'']) {
        Some("write it as an escape of the language, such as `\\u200b`, or remove it")
    } else {
        None
    }
}

/// Returns the characters that `wanted` selects by their offset, themselves and their neighbours: those
/// in the text, and those that the frontmatter writes as escapes. Sorted by position.
pub(super) fn deceptive(
    skill: &LintSubject<'_>,
    wanted: impl Fn(usize, char, Option<char>, Option<char>) -> bool,
) -> Vec<(Span, char)> {
    let Some(parsed) = skill.parsed else {
        return Vec::new();
    };
    let text = parsed.text;
    let mut found: Vec<(Span, char)> = skill
        .deceptive()
        .iter()
        .map(|&(at, c)| (Span::new(at, at + c.len_utf8()), c))
        .filter(|&(span, c)| {
            let before = text[..span.range().start].chars().next_back();
            wanted(
                span.range().start,
                c,
                before,
                text[span.range().end..].chars().next(),
            )
        })
        .collect();
    for (span, c, [before, after]) in escaped_with_neighbours(text, &parsed.manifest.entries) {
        if wanted(span.range().start, c, before, after) {
            found.push((span, c));
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// Returns `true` for characters that are part of ordinary writing.
fn is_harmless(text: &str, at: usize, c: char, before: Option<char>, after: Option<char>) -> bool {
    match c {
        '\u{e0020}'..='\u{e007f}' => sanitize::is_flag(&text[..at]),
        _ => sanitize::is_ordinary(c, before, after),
    }
}

/// Creates one finding for all characters, at the first of them.
pub(super) fn describe(text: &str, found: &[(Span, char)], what: &str) -> Option<LintFinding> {
    let &(span, c) = found.first()?;
    let others = others(text, &found[1..]);
    let edits = found
        .iter()
        .map(|&(span, _)| TextEdit::delete(span))
        .collect();
    Some(
        LintFinding::at(
            span,
            format!("the character U+{:04X}{others} {what}", u32::from(c)),
        )
        .fix(Fix::suggested(
            if found.len() == 1 {
                "remove it"
            } else {
                "remove them"
            },
            edits,
        )),
    )
}

/// Returns the number and the lines of the other characters.
fn others(text: &str, found: &[(Span, char)]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let index = LineIndex::new(text);
    let mut lines: Vec<usize> = found
        .iter()
        .map(|&(span, _)| index.position(text, span.range().start).line)
        .collect();
    lines.dedup();
    let mut named: Vec<String> = lines
        .iter()
        .take(MOST_LINES)
        .map(|&line| wording::thousands(line))
        .collect();
    let rest = lines.len() - named.len();
    if rest > 0 {
        named.push(wording::count(rest, "other"));
    }
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let count = wording::thousands(found.len());
    format!(" (and {count} more on {noun} {})", wording::all(named))
}
