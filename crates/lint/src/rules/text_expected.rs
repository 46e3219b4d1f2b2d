//! A list or map where the standard requires a string.

use prowess_diag::{Fix, Severity, Span, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::profile::LintProfile;
use prowess_spec::yaml::{YamlLayout, YamlNode, YamlValue, write};

rule!(
    "text-expected",
    RuleLevels::of("EEW"),
    Suggested,
    "a field that must be a string is a list or a map"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for key in ["name", "description", "compatibility"] {
        let Some(entry) = parsed.manifest.entry(key) else {
            continue;
        };
        // A block list becomes one line; a flow collection is quoted.
        let items: Option<Vec<&str>> = entry
            .value
            .items()
            .and_then(|items| items.iter().map(YamlNode::text).collect());
        let is_list_of_text = items.is_some();
        let (colon, end) = (
            entry.key_span.end as usize + 1,
            entry.value.span.end as usize,
        );
        let raw = entry.value.span.of(parsed.text);
        let fix = match (&entry.value.value, items) {
            (YamlValue::Sequence(_, YamlLayout::Block), Some(items)) => {
                let text = format!(" {}", write::scalar(&items.join(" ")));
                let edit = TextEdit::replace(Span::new(colon, end), text);
                Some(Fix::suggested("write it as one string", vec![edit]))
            }
            (
                YamlValue::Sequence(_, YamlLayout::Flow) | YamlValue::Mapping(_, YamlLayout::Flow),
                _,
            ) if key != "name" && !raw.contains('\n') => {
                let quoted = format!("'{}'", raw.replace('\'', "''"));
                Some(Fix::suggested(
                    "quote it",
                    vec![TextEdit::replace(entry.value.span, quoted)],
                ))
            }
            _ => None,
        };
        if entry.value.text().is_some() || entry.value.is_null() {
            continue;
        }
        // In skilled_crew, `compatibility` is a list of strings.
        let is_crew_list = key == "compatibility" && is_list_of_text;
        let severity = match out.profile() {
            LintProfile::Crew if is_crew_list => continue,
            LintProfile::ClaudeCode | LintProfile::Lenient if is_crew_list => Severity::Note,
            _ => Severity::Error,
        };
        out.report(
            LintFinding::at(entry.value.span, format!("field `{key}` must be a string"))
                .label(format!("this is {}", entry.value.kind()))
                .fix_or_help(fix, format!("write it as a string: `{key}: …`"))
                .at_most(severity),
        );
    }
}
