//! A value between typographic quotation marks.

use prowess_diag::{Edit, Fix};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::yaml::{Entry, Style, Value};

rule!(
    "curly-quotes",
    Levels::of("WWN"),
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

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
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
            vec![Edit::replace(span, quoted)],
        );
        out.report(
            Finding::at(
                span,
                format!("`{}` is in typographic quotation marks", entry.key),
            )
            .label("YAML reads them as part of the text")
            .fix(Some(fix).filter(|_| !span.of(parsed.text).contains('\n'))),
        );
    }
}

/// Returns the text between the marks, if one pair encloses all of it.
fn between_marks<'a>(entry: &'a Entry<'_>) -> Option<&'a str> {
    let Value::Scalar(text, Style::Plain | Style::SingleQuoted | Style::DoubleQuoted) =
        &entry.value.value
    else {
        return None;
    };
    let (open, close) = PAIRS.iter().find(|(open, _)| text.starts_with(*open))?;
    let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
    // In `“a” or “b”` the marks belong to the words.
    (!inner.contains(*open) && !inner.is_empty()).then_some(inner.trim())
}
