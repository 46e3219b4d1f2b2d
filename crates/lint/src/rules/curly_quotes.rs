//! A value between typographic quotation marks.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::yaml::{YamlEntry, YamlStyle, YamlValue};

rule!(
    "curly-quotes",
    RuleLevels::of("WWN"),
    Suggested,
    "a value is in typographic quotation marks"
);

/// Opening marks with their closing marks.
const PAIRS: &[(char, &[char])] = &[
    ('“', &['”', '“']),
    ('„', &['“', '”']),
    ('‘', &['’', '‘']),
    ('‚', &['‘', '’']),
    ('«', &['»']),
    ('「', &['」']),
];

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let metadata = parsed
        .manifest
        .entry("metadata")
        .and_then(|entry| entry.value.entries());
    // `name-characters` reports these marks in names.
    let top = parsed
        .manifest
        .entries
        .iter()
        .filter(|entry| &*entry.key != "name");
    for entry in top.chain(metadata.unwrap_or_default()) {
        let Some(inner) = between_marks(entry) else {
            continue;
        };
        let span = entry.value.span;
        let quoted = format!("'{}'", inner.replace('\'', "''"));
        let fix = Fix::suggested(
            "use `'` as the quotation mark",
            vec![TextEdit::replace(span, quoted)],
        );
        out.report(
            LintFinding::at(
                span,
                format!("`{}` is in typographic quotation marks", entry.key),
            )
            .label("YAML reads them as part of the text")
            .fix(Some(fix).filter(|_| !span.of(parsed.text).contains('\n'))),
        );
    }
}

/// Returns the text between the marks, if one pair encloses all of it.
fn between_marks<'a>(entry: &'a YamlEntry<'_>) -> Option<&'a str> {
    let YamlValue::Scalar(
        text,
        YamlStyle::Plain | YamlStyle::SingleQuoted | YamlStyle::DoubleQuoted,
    ) = &entry.value.value
    else {
        return None;
    };
    let (open, close) = PAIRS.iter().find(|(open, _)| text.starts_with(*open))?;
    let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
    // In `“a” or “b”` the marks belong to the words.
    (!inner.contains(*open) && !inner.is_empty()).then_some(inner.trim())
}
