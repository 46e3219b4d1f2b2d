//! Text that a template left behind.

use prowess_diag::{Severity, Span};

use super::{Finding, Levels, Sink, Subject};

rule!(
    "template-text",
    Levels::of("WWN"),
    None,
    "the name, the description or the first lines are still those of a template"
);

/// The word that marks what is left to do, in two parts so that it marks nothing here.
const REMINDER: &str = concat!("TO", "DO");

/// Names that stand in templates.
const NAMES: &[&str] = &[
    "your-skill-name",
    "my-skill-name",
    "your-skill",
    "your skill name",
];

/// How descriptions in templates begin.
const DESCRIPTIONS: &[&str] = &[
    "Lorem ipsum",
    "Replace with description of the skill",
    "Replace with a description of",
    "A brief description of what this skill does",
    "Brief description of what this skill does",
    "A description of what this skill does",
    "Description of what this skill does",
];

/// How headings and first paragraphs in templates begin.
const FIRST_LINES: &[&str] = &[
    "Lorem ipsum",
    "Insert instructions below",
    "Your skill name",
    "[Your skill name",
    "[Skill name",
    "[Clear, step-by-step guidance for Claude",
];

/// What `prowess new` writes. The skill is being written: a note, so that a new one passes.
const OURS: &[&str] = &[
    "Describe what this skill does. Use when",
    "Say what the agent should do, step by step.",
];

/// How many lines of the body are looked at, blank ones apart. Further down, such words are
/// more often examples.
const MOST_LINES: usize = 6;

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    // A reminder in brackets is a list for YAML, so that it is looked for in what was typed.
    let name = manifest.entry("name").map(|entry| entry.value.span);
    let is_name = |span: &Span| {
        let text = span.of(parsed.text).trim_matches(['"', '\'', ' ']);
        NAMES.iter().any(|name| text.eq_ignore_ascii_case(name)) || is_reminder(text)
    };
    if let Some(span) = name.filter(is_name) {
        out.report(
            Finding::at(span, "the name is that of a template")
                .label("stands for the name of the skill")
                .help("name the skill after its folder"),
        );
    }
    if let Some((text, severity)) = manifest
        .description
        .as_ref()
        .and_then(|text| Some((text, find(text.value.trim_start(), DESCRIPTIONS)?)))
    {
        out.report(
            Finding::at(text.span, "the description is that of a template")
                .label("says nothing about this skill")
                .help("say what the skill does, and when to use it")
                .at_most(severity),
        );
    }
    if let Some((span, severity)) = first_lines(parsed.body_text(), parsed.body.start as usize) {
        out.report(
            Finding::at(span, "the instructions begin with the text of a template")
                .label("tells the agent nothing")
                .help("write what the agent should do, or delete this")
                .at_most(severity),
        );
    }
}

/// The first line of a template among the first lines of a body, up to the first code.
fn first_lines(body: &str, offset: usize) -> Option<(Span, Severity)> {
    let (mut at, mut rest) = (offset, body);
    let lines = std::iter::from_fn(|| {
        // Found many bytes at a time; a pattern of two characters is tried at each.
        let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at_checked(end).filter(|_| end > 0)?;
        (at, rest) = (at + end, after);
        // Few lines begin with a blank.
        let is_black = matches!(line.as_bytes(), [b'!'..=b'~', ..]);
        Some((at, if is_black { line } else { line.trim_start() }))
    });
    let lines = lines.filter(|(_, line)| !line.is_empty()).take(MOST_LINES);
    let is_quote = |line: &str| matches!(line.as_bytes(), [b'`' | b'~' | b'>' | b'<', ..]);
    let mut lines = lines.take_while(|(_, line)| !is_quote(line));
    lines.find_map(|(end, line)| {
        let text = match line.as_bytes() {
            [b'#', ..] => line.trim_start_matches('#').trim_start(),
            _ => line,
        };
        let start = end - text.len();
        let severity = find(text, FIRST_LINES)?;
        Some((Span::new(start, start + text.trim_end().len()), severity))
    })
}

/// For each byte that anything which is looked for begins with, in capitals or not: the second
/// bytes, of which letters are told apart by five bits.
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

/// How severe it is that a text begins as one of these, or as one of ours.
fn find(text: &str, beginnings: &[&str]) -> Option<Severity> {
    let &[first, second, ..] = text.as_bytes() else {
        return None;
    };
    // Nearly every text differs in the first two letters.
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

/// Whether a text begins with a reminder: in brackets, or with a colon behind it.
fn is_reminder(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest.starts_with(REMINDER),
        None => text
            .strip_prefix(REMINDER)
            .is_some_and(|rest| rest.starts_with(':')),
    }
}

/// Whether a text begins so, in capitals or not.
fn begins(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `%` stands for the word of a reminder.
    fn check(body: &str, expected: Option<(&str, Severity)>) {
        let body = body.replace('%', REMINDER);
        let text = format!("--{body}");
        let found = first_lines(&body, 2);
        let found = found.map(|(span, severity)| (span.of(&text).to_owned(), severity));
        let expected = expected.map(|(text, severity)| (text.replace('%', REMINDER), severity));
        assert_eq!(found, expected, "{body:?}");
    }

    #[test]
    fn first_lines_of_templates_are_found_whatever_breaks_them() {
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
    fn examples_and_what_stands_further_down_are_left_alone() {
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
