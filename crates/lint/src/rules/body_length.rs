//! A body that takes too much of the context window.

use prowess_diag::{Span, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::count_lines;
use prowess_spec::tokens;

rule!(
    "body-length",
    RuleLevels::of("WWN"),
    None,
    "the body is longer than 500 lines or 5,000 tokens"
);

/// Maximum number of lines recommended by the standard.
const MAX_LINES: usize = 500;
/// Maximum number of tokens recommended by the standard.
const MAX_TOKENS: usize = 5000;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let text = parsed.body_text();
    // Fast path: without problems, every line ends with a line feed.
    let is_short = parsed.problems.is_empty()
        && memchr::memchr_iter(b'\n', text.as_bytes()).count() < MAX_LINES;
    // Ignore blank lines at both ends.
    let lines = if is_short {
        0
    } else {
        count_lines(text.trim().as_bytes())
    };
    let tokens = tokens::exceeds(text, MAX_TOKENS).unwrap_or(0);
    if lines <= MAX_LINES && tokens <= MAX_TOKENS {
        return;
    }
    let message = match (lines > MAX_LINES, tokens > MAX_TOKENS) {
        (true, true) => format!(
            "the body has {} lines and about {} tokens",
            wording::thousands(lines),
            wording::thousands(tokens)
        ),
        (true, false) => {
            format!(
                "the body has {} lines, more than {MAX_LINES}",
                wording::thousands(lines)
            )
        }
        (false, _) => format!(
            "the body has about {} tokens, more than {}",
            wording::thousands(tokens),
            wording::thousands(MAX_TOKENS)
        ),
    };
    let start = parsed.body.start as usize + (text.len() - text.trim_start().len());
    let line_end = parsed.text[start..]
        .find(['\n', '\r'])
        .map_or(parsed.text.len(), |at| start + at);
    out.report(
        LintFinding::at(Span::new(start, line_end), message)
            .label("the whole body is loaded at once")
            .help("move details to files in `references/` and say when to read each of them"),
    );
}
