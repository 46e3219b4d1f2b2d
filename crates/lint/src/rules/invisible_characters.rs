//! Invisible characters.

use prowess_diag::{Fix, LineIndex, Span, TextEdit, sanitize, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

/// Maximum number of lines in a message.
const MOST_LINES: usize = 5;

rule!(
    "invisible-characters",
    RuleLevels::of("WWN"),
    AllSuggested,
    "the text contains invisible characters"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let text = parsed.text;
    let found: Vec<_> = skill
        .deceptive()
        .iter()
        .copied()
        .filter(|&(at, c)| {
            (at > 0 || c != '\u{feff}') && sanitize::is_invisible(c) && !is_harmless(text, at, c)
        })
        .collect();
    if let Some(finding) = describe(text, &found, "is invisible: models read it, people do not") {
        out.report(finding);
    }
}

/// Returns `true` for joiners between emoji or letters of scripts that need them, and for variation
/// selectors after a visible character.
fn is_harmless(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    let visible = |c: Option<char>| {
        c.is_some_and(|c| {
            !c.is_ascii() && !c.is_control() && (c == '\u{fe0f}' || !sanitize::is_invisible(c))
        })
    };
    match c {
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_some_and(|c| !c.is_whitespace() && !sanitize::is_invisible(c))
        }
        '\u{200c}' | '\u{200d}' => visible(before) && visible(after),
        '\u{e0020}'..='\u{e007f}' => is_flag(&text[..at]),
        _ => false,
    }
}

/// Returns `true` if tag characters may follow: after a waving black flag, 🏴󠁧󠁢󠁳󠁣󠁴󠁿.
fn is_flag(before: &str) -> bool {
    before
        .chars()
        .rev()
        .take(8)
        .find(|c| !matches!(c, '\u{e0020}'..='\u{e007f}'))
        == Some('\u{1f3f4}')
}

/// Creates one finding for all characters, at the first of them.
pub(super) fn describe(text: &str, found: &[(usize, char)], what: &str) -> Option<LintFinding> {
    let &(at, c) = found.first()?;
    let others = others(text, &found[1..]);
    let edits = found
        .iter()
        .map(|&(at, c)| TextEdit::delete(Span::new(at, at + c.len_utf8())))
        .collect();
    Some(
        LintFinding::at(
            Span::new(at, at + c.len_utf8()),
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
fn others(text: &str, found: &[(usize, char)]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let index = LineIndex::new(text);
    let mut lines: Vec<usize> = found
        .iter()
        .map(|&(at, _)| index.position(text, at).line)
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
