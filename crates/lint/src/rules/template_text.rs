//! Text left over from a template.

use prowess_diag::{Severity, Span};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "template-text",
    RuleLevels::of("WWN"),
    None,
    "the name, the description or the first lines are still those of a template"
);

/// The marker word, in two parts so that tools do not report it here.
const REMINDER: &str = concat!("TO", "DO");

/// Names used in templates.
const NAMES: &[&str] = &[
    "your-skill-name",
    "my-skill-name",
    "your-skill",
    "your skill name",
];

/// Beginnings of descriptions in templates.
const DESCRIPTIONS: &[&str] = &[
    "Lorem ipsum",
    "Replace with description of the skill",
    "Replace with a description of",
    "A brief description of what this skill does",
    "Brief description of what this skill does",
    "A description of what this skill does",
    "Description of what this skill does",
];

/// Beginnings of headings and first paragraphs in templates.
const FIRST_LINES: &[&str] = &[
    "Lorem ipsum",
    "Insert instructions below",
    "Your skill name",
    "[Your skill name",
    "[Skill name",
    "[Clear, step-by-step guidance for Claude",
];

/// Text written by `prowess new`. Reported as a note, so that a new skill passes.
const OURS: &[&str] = &[
    "Describe what this skill does. Use when",
    "Say what the agent should do, step by step.",
];

/// Maximum number of non-blank body lines that are checked. Further down, such words are more often
/// examples.
const MOST_LINES: usize = 6;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    // A reminder in brackets is a list in YAML, so check the source text.
    let name = manifest.entry("name").map(|entry| entry.value.span);
    let is_name = |span: &Span| {
        let text = span.of(parsed.text).trim_matches(['"', '\'', ' ']);
        NAMES.iter().any(|name| text.eq_ignore_ascii_case(name)) || is_reminder(text)
    };
    if let Some(span) = name.filter(is_name) {
        out.report(
            LintFinding::at(span, "the name is template text")
                .label("a placeholder for the name of the skill")
                .help("name the skill after its folder"),
        );
    }
    if let Some((text, severity)) = manifest
        .description
        .as_ref()
        .and_then(|text| Some((text, find(text.value.trim_start(), DESCRIPTIONS)?)))
    {
        out.report(
            LintFinding::at(text.span, "the description is template text")
                .label("does not describe this skill")
                .help("say what the skill does, and when to use it")
                .at_most(severity),
        );
    }
    if let Some((span, severity)) = first_lines(parsed.body_text(), parsed.body.start as usize) {
        out.report(
            LintFinding::at(span, "the instructions start with template text")
                .label("template text, not an instruction")
                .help("write what the agent should do, or delete this")
                .at_most(severity),
        );
    }
}

/// Finds template text in the first headings of a body or the first line of text below them.
fn first_lines(body: &str, offset: usize) -> Option<(Span, Severity)> {
    let (mut at, mut rest) = (offset, body);
    let lines = std::iter::from_fn(|| {
        // `memchr2` is faster than a search for a pattern of two characters.
        let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at_checked(end).filter(|_| end > 0)?;
        (at, rest) = (at + end, after);
        // Few lines start with whitespace.
        let is_black = matches!(line.as_bytes(), [b'!'..=b'~', ..]);
        Some((at, if is_black { line } else { line.trim_start() }))
    });
    let lines = lines.filter(|(_, line)| !line.is_empty()).take(MOST_LINES);
    let is_quote = |line: &str| matches!(line.as_bytes(), [b'`' | b'~' | b'>' | b'<', ..]);
    for (end, line) in lines.take_while(|(_, line)| !is_quote(line)) {
        let is_heading = line.starts_with('#');
        let text = if is_heading {
            line.trim_start_matches('#').trim_start()
        } else {
            line
        };
        if let Some(severity) = find(text, FIRST_LINES) {
            let start = end - text.len();
            return Some((Span::new(start, start + text.trim_end().len()), severity));
        }
        // A reminder after real text is a note of the author.
        if !is_heading {
            return None;
        }
    }
    None
}

/// For each first byte of a phrase, in any letter case: the second bytes, identified by five bits.
static SECONDS: [u32; 256] = {
    let (mut seconds, mut list) = ([0; 256], 0);
    let lists = [DESCRIPTIONS, FIRST_LINES, OURS, &["[T", REMINDER]];
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            let beginning = lists[list][at].as_bytes();
            let second = 1 << (beginning[1] & 31);
            seconds[beginning[0].to_ascii_lowercase() as usize] |= second;
            seconds[beginning[0].to_ascii_uppercase() as usize] |= second;
            at += 1;
        }
        list += 1;
    }
    seconds
};

/// Returns the severity if a text starts with one of these phrases or one of ours.
fn find(text: &str, beginnings: &[&str]) -> Option<Severity> {
    let &[first, second, ..] = text.as_bytes() else {
        return None;
    };
    // Fast path: nearly every text differs in the first two letters.
    if (SECONDS[usize::from(first)] >> (second & 31)) & 1 == 0 {
        return None;
    }
    let may_be = |beginning: &str| beginning.as_bytes()[1].eq_ignore_ascii_case(&second);
    let is_it = |beginning: &&str| may_be(beginning) && begins(text, beginning);
    let found = |list: &[&str]| list.iter().any(is_it);
    if found(OURS) {
        Some(Severity::Note)
    } else {
        (found(beginnings) || is_reminder(text)).then_some(Severity::Error)
    }
}

/// Returns `true` if a text starts with a reminder, in brackets or followed by a colon.
fn is_reminder(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest.starts_with(REMINDER),
        None => text
            .strip_prefix(REMINDER)
            .is_some_and(|rest| rest.starts_with(':')),
    }
}

/// Compares the start of a text, ignoring case.
fn begins(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `%` is replaced with the marker word.
    fn check(body: &str, expected: Option<(&str, Severity)>) {
        let body = body.replace('%', REMINDER);
        let text = format!("--{body}");
        let found = first_lines(&body, 2);
        let found = found.map(|(span, severity)| (span.of(&text).to_owned(), severity));
        let expected = expected.map(|(text, severity)| (text.replace('%', REMINDER), severity));
        assert_eq!(found, expected, "{body:?}");
    }

    #[test]
    fn template_lines_are_found_with_any_line_break() {
        check(
            "\r\n# Your Skill Name\r\n",
            Some(("Your Skill Name", Severity::Error)),
        );
        check("# A\r\r[%: é]\rb", Some(("[%: é]", Severity::Error)));
        check("%: write this\n", Some(("%: write this", Severity::Error)));
        check(
            "# A\n\n## B\n\nlorem IPSUM dolor",
            Some(("lorem IPSUM dolor", Severity::Error)),
        );
        let ours = "Say what the agent should do, step by step.";
        check(&format!("# A\n\n{ours}\n"), Some((ours, Severity::Note)));
    }

    #[test]
    fn examples_and_later_lines_are_ignored() {
        for body in [
            "",
            "# A\n\n```\n[%: x]\n```\n",
            "# A\n\n> %: quoted\n",
            "Look for `[%: x]`.\n",
            "Todo: the list of open points.\n",
            "% comments are listed.\n",
            "1\n2\n3\n4\n5\n6\n%: seven\n",
        ] {
            check(body, None);
        }
    }
}
