//! The rules, one file each; each has a documentation page of the same name in `pages/`.
//!
//! To add a rule, write `rules/<rule>.rs` and `pages/<rule>.md`, and add its module and constant to
//! the two lists below. The page is also a test: its `bad` examples must be found, its `good`
//! examples must not, and the first `bad` example with its safe fixes applied must equal `fixed`.

use prowess_diag::{Fix, Span, TextEdit, wording};

use crate::check::{FindingSink, LintFinding, LintSubject};
use crate::key_notation;
use crate::profile::RuleLevels;
use prowess_spec::manifest::Manifest;
use prowess_spec::parse::ParsedSkill;
use prowess_spec::repair::is_lost_text;
use prowess_spec::yaml::{self, YamlEntry, YamlNode, YamlStyle, write};

/// A lint rule.
#[derive(Debug)]
pub struct LintRule {
    /// Stable name in kebab case.
    pub id: &'static str,
    /// The problem, in one phrase.
    pub summary: &'static str,
    /// The severity in each profile.
    pub levels: RuleLevels,
    /// The kind of automatic fix.
    pub fix: FixKind,
    /// The documentation page, in Markdown.
    pub page: &'static str,
    /// `true` if the rule also applies to files that could not be read.
    pub on_unread: bool,
    /// `true` if the rule is about agent or mission files. Their reader reports its findings.
    pub on_agents: bool,
    /// Reports its findings.
    pub check: fn(&LintSubject<'_>, &mut FindingSink<'_>),
}

/// The kind of automatic fix of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// No fix.
    None,
    /// Some findings have a suggested fix, which `--fix` alone does not apply.
    Suggested,
    /// Every finding has a suggested fix.
    AllSuggested,
    /// `--fix` fixes some findings.
    Safe,
    /// `--fix` fixes every finding.
    AllSafe,
}

impl FixKind {
    /// Returns a phrase for the documentation.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "no automatic fix",
            Self::Suggested => "a fix is suggested in some cases",
            Self::AllSuggested => "a fix is suggested",
            Self::Safe => "fixed by `--fix` in some cases",
            Self::AllSafe => "fixed by `--fix`",
        }
    }
}

/// Defines the constant `RULE` of a rule file.
macro_rules! rule {
    ($id:literal, $levels:expr, $fix:ident, $summary:literal) => {
        rule!($id, $levels, $fix, $summary, on_unread: false);
    };
    ($id:literal, $levels:expr, $fix:ident, $summary:literal, on_unread: $unread:literal) => {
        pub(super) const RULE: crate::rules::LintRule = crate::rules::LintRule {
            id: $id,
            summary: $summary,
            levels: $levels,
            fix: crate::rules::FixKind::$fix,
            page: include_str!(concat!("../../pages/", $id, ".md")),
            on_unread: $unread,
            on_agents: false,
            check,
        };
    };
}

/// Defines the constant `RULE` of a rule about agent or mission files.
macro_rules! agent_rule {
    ($id:literal, $levels:expr, $fix:ident, $summary:literal) => {
        pub(super) const RULE: crate::rules::LintRule = crate::rules::LintRule {
            id: $id,
            summary: $summary,
            levels: $levels,
            fix: crate::rules::FixKind::$fix,
            page: include_str!(concat!("../../pages/", $id, ".md")),
            on_unread: false,
            on_agents: true,
            check: |_, _| {},
        };
    };
}

mod agent_key;
mod agent_name;
mod agent_path;
mod agent_skill;
mod agent_syntax;
mod agent_team;
mod agent_tool;
mod agent_unsupported;
mod agent_value;
mod bidi_characters;
mod body_empty;
mod body_length;
mod boolean_value;
mod broken_link;
mod byte_order_mark;
mod choice_value;
mod claude_ai_description;
mod claude_ai_keys;
mod claude_ai_name;
mod comment_in_value;
mod compatibility_length;
mod curly_quotes;
mod description_length;
mod description_missing;
mod description_trigger;
mod duplicate_key;
mod fence_trailing_space;
mod field_type;
mod file_name;
mod file_too_large;
mod flow_collection;
mod frontmatter_misplaced;
mod frontmatter_missing;
mod frontmatter_not_a_map;
mod frontmatter_too_large;
mod frontmatter_unclosed;
mod injection_in_code;
mod injection_not_allowed;
mod invalid_glob;
mod invalid_hooks;
mod invalid_sidecar;
mod invisible_characters;
mod key_without_effect;
mod link_outside;
mod lone_carriage_return;
mod metadata_not_a_map;
mod metadata_value;
mod missing_file;
mod missing_script;
mod mission_graph;
mod mission_ignored;
mod mission_key;
mod mission_name;
mod mission_path;
mod mission_reference;
mod mission_secret;
mod mission_syntax;
mod mission_unsupported;
mod mission_value;
mod misspelt_key;
mod name_case;
mod name_characters;
mod name_folder_mismatch;
mod name_hyphens;
mod name_length;
mod name_missing;
mod nested_skill;
mod not_a_file;
mod not_utf8;
mod nul_byte;
mod placeholder_in_code;
mod script_not_executable;
mod tab_separator;
mod template_text;
mod text_expected;
mod tool_list_form;
mod tool_not_allowed;
mod tool_syntax;
mod unknown_key;
mod unknown_tool;
mod unreachable_skill;
mod unreadable_file;
mod unrestricted_tool;
mod unsafe_placeholder;
mod unused_argument;
mod version_mismatch;
mod yaml_feature;
mod yaml_invalid;
mod yaml_syntax;

/// Every rule, in documentation order.
pub static RULES: &[LintRule] = &[
    missing_file::RULE,
    not_a_file::RULE,
    unreadable_file::RULE,
    file_too_large::RULE,
    not_utf8::RULE,
    nul_byte::RULE,
    byte_order_mark::RULE,
    lone_carriage_return::RULE,
    file_name::RULE,
    frontmatter_missing::RULE,
    frontmatter_misplaced::RULE,
    frontmatter_unclosed::RULE,
    fence_trailing_space::RULE,
    frontmatter_too_large::RULE,
    frontmatter_not_a_map::RULE,
    yaml_syntax::RULE,
    yaml_invalid::RULE,
    yaml_feature::RULE,
    comment_in_value::RULE,
    curly_quotes::RULE,
    duplicate_key::RULE,
    tab_separator::RULE,
    flow_collection::RULE,
    unknown_key::RULE,
    misspelt_key::RULE,
    key_without_effect::RULE,
    text_expected::RULE,
    field_type::RULE,
    boolean_value::RULE,
    choice_value::RULE,
    name_missing::RULE,
    name_characters::RULE,
    name_case::RULE,
    name_hyphens::RULE,
    name_length::RULE,
    name_folder_mismatch::RULE,
    description_missing::RULE,
    description_length::RULE,
    description_trigger::RULE,
    template_text::RULE,
    compatibility_length::RULE,
    metadata_not_a_map::RULE,
    metadata_value::RULE,
    version_mismatch::RULE,
    tool_syntax::RULE,
    tool_list_form::RULE,
    unrestricted_tool::RULE,
    unknown_tool::RULE,
    tool_not_allowed::RULE,
    body_empty::RULE,
    body_length::RULE,
    broken_link::RULE,
    link_outside::RULE,
    missing_script::RULE,
    script_not_executable::RULE,
    nested_skill::RULE,
    injection_in_code::RULE,
    injection_not_allowed::RULE,
    placeholder_in_code::RULE,
    unsafe_placeholder::RULE,
    unused_argument::RULE,
    bidi_characters::RULE,
    invisible_characters::RULE,
    unreachable_skill::RULE,
    invalid_glob::RULE,
    invalid_hooks::RULE,
    invalid_sidecar::RULE,
    claude_ai_keys::RULE,
    claude_ai_name::RULE,
    claude_ai_description::RULE,
    agent_syntax::RULE,
    agent_name::RULE,
    agent_key::RULE,
    agent_value::RULE,
    agent_tool::RULE,
    agent_skill::RULE,
    agent_path::RULE,
    agent_unsupported::RULE,
    agent_team::RULE,
    mission_syntax::RULE,
    mission_name::RULE,
    mission_key::RULE,
    mission_value::RULE,
    mission_reference::RULE,
    mission_path::RULE,
    mission_secret::RULE,
    mission_graph::RULE,
    mission_unsupported::RULE,
    mission_ignored::RULE,
];

/// Former names of rules, which are still accepted.
const RENAMED: &[(&str, &str)] = &[("yaml-repaired", "yaml-syntax")];

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static LintRule> {
    position(id).map(|index| &RULES[index])
}

/// Returns the index of a rule in [`RULES`].
pub fn position(id: &str) -> Option<usize> {
    let id = RENAMED
        .iter()
        .find(|(old, _)| *old == id)
        .map_or(id, |(_, new)| new);
    RULES.iter().position(|rule| rule.id == id)
}

/// Returns the frontmatter if it was read completely. Rules about missing keys do not apply if the
/// block is missing, invalid or truncated.
fn complete_frontmatter<'a>(
    skill: &LintSubject<'a>,
) -> Option<(&'a ParsedSkill<'a>, &'a Manifest<'a>)> {
    let parsed = skill.parsed?;
    let entries = &parsed.manifest.entries;
    // Keys in another notation are present, although they were not read.
    let present = parsed.yaml.is_some()
        && !parsed.manifest.incomplete
        && !(entries.is_empty() && key_notation::plain_keys(parsed).is_some());
    present.then_some((parsed, &parsed.manifest))
}

/// Returns the key that misspells `key`, if `key` itself is missing.
fn misspelling<'a>(skill: &LintSubject<'a>, key: &str) -> Option<&'a YamlEntry<'a>> {
    let entries = &skill.parsed?.manifest.entries;
    let index = skill.meant().iter().position(|meant| *meant == Some(key))?;
    entries
        .get(index)
        .filter(|_| entries.iter().all(|entry| &*entry.key != key))
}

/// Creates the finding about a required key that is missing or misspelt.
fn missing_key(
    parsed: &ParsedSkill<'_>,
    key: &'static str,
    misspelt: Option<&YamlEntry>,
) -> LintFinding {
    let message = format!("missing required field in frontmatter: `{key}`");
    match misspelt {
        None => LintFinding::at(frontmatter_start(parsed), message),
        // Some formats show only the message, so it names both.
        Some(entry) => LintFinding::at(
            entry.key_span,
            format!(
                "{message}, perhaps misspelt as {}",
                wording::tick(&entry.key)
            ),
        )
        .label("this key has no effect")
        .fix(Fix::suggested(
            format!("rename it to `{key}`"),
            vec![TextEdit::replace(entry.key_span, key)],
        )),
    }
}

/// Returns the range of a YAML comment after a value that was probably meant as text.
fn lost_text(text: &str, entry: &YamlEntry) -> Option<Span> {
    let yaml::YamlValue::Scalar(value, YamlStyle::Plain) = &entry.value.value else {
        return None;
    };
    comment_after(text, entry).filter(|comment| is_lost_text(value, comment.of(text)))
}

/// Returns the range of a YAML comment after a value.
fn comment_after(text: &str, entry: &YamlEntry) -> Option<Span> {
    let before = if entry.value.is_null() {
        entry.key_span
    } else {
        entry.value.span
    };
    let start = before.end as usize;
    let line = text.get(start..)?.lines().next()?.trim_end();
    let gap = line.len() - line.trim_start_matches([':', ' ', '\t']).len();
    line[gap..]
        .starts_with('#')
        .then(|| Span::new(start + gap, start + line.len()))
}

/// Quotes a value together with the text that it lost to a comment.
fn quote_lost(text: &str, entry: &YamlEntry, lost: Span) -> Fix {
    let start = if entry.value.is_null() {
        lost.start
    } else {
        entry.value.span.start
    };
    let span = Span::new(start as usize, lost.end as usize);
    let quoted = format!("'{}'", span.of(text).replace('\'', "''"));
    Fix::suggested(
        "quote the whole value",
        vec![TextEdit::replace(span, quoted)],
    )
}

/// Returns the first value inside a map as the string it could be under `metadata`, where values
/// cannot be maps: `requires-mcp: rube` for `requires: {mcp: [rube]}`. A list becomes one string.
fn as_flat_text(key: &str, node: &YamlNode) -> Option<String> {
    let mut path = key.to_owned();
    let mut node = node;
    while let Some(entry) = node.entries().and_then(|entries| entries.first()) {
        path = format!("{path}-{}", entry.key);
        node = &entry.value;
    }
    let text = match node.items() {
        Some(items) => {
            let items: Option<Vec<&str>> = items.iter().map(YamlNode::text).collect();
            items?.join(", ")
        }
        None => node.text().filter(|_| !node.is_null())?.to_owned(),
    };
    let written = if write::looks_typed(&text) {
        write::quoted(&text)
    } else {
        write::scalar(&text)
    };
    let line = format!("{path}: {written}");
    Some(wording::tick(wording::shorten(&line, MOST_SHOWN)))
}

/// Maximum number of characters of a value that are shown in advice.
const MOST_SHOWN: usize = 50;

/// Returns `true` for a map or a list that contains one.
fn is_nested(node: &YamlNode) -> bool {
    node.entries().is_some()
        || node
            .items()
            .is_some_and(|items| items.iter().any(|item| item.text().is_none()))
}

/// YAML quotation marks. They have no meaning around an entry of a tool list.
const MARKS: [char; 2] = ['"', '\''];

/// Returns the line break that the file uses.
fn line_break(text: &str) -> &'static str {
    match text.find(['\n', '\r']) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// Returns an edit that adds a line at the top of the frontmatter.
fn insert_key(parsed: &ParsedSkill<'_>, line: &str) -> Option<TextEdit> {
    let yaml = parsed.yaml?;
    Some(TextEdit::insert(
        yaml.start as usize,
        format!("{line}{}", line_break(parsed.text)),
    ))
}

/// Returns the span for findings about something missing from the frontmatter.
fn frontmatter_start(parsed: &ParsedSkill<'_>) -> Span {
    parsed
        .fences
        .map_or(Span::at(parsed.body.start as usize), |(open, _)| open)
}

/// Extends a span to whole lines, including the line break.
fn whole_lines(text: &str, span: Span) -> Span {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = prowess_spec::frontmatter::Line::at(text.as_bytes(), span.end as usize);
    Span::new(start, line.next)
}

/// Returns the first line of a text for a message, with an ellipsis if there is more.
fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let more = if line.len() < text.trim_end().len() {
        " …"
    } else {
        ""
    };
    wording::tick(wording::shorten(&format!("{line}{more}"), 60))
}

/// Returns the message for a text with too many characters.
fn too_long(what: &str, characters: usize, limit: usize) -> String {
    let characters = wording::count(characters, "character");
    format!(
        "{what} has {characters}, more than {}",
        wording::thousands(limit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_kebab_case_and_name_their_page() {
        for (index, rule) in RULES.iter().enumerate() {
            assert_eq!(position(rule.id), Some(index), "{} occurs twice", rule.id);
            assert!(
                rule.id
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{}",
                rule.id
            );
            assert!(
                rule.page.starts_with(&format!("# {}\n", rule.id)),
                "the page of {} starts with its name",
                rule.id
            );
            assert!(!rule.summary.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn former_names_are_accepted_and_never_reused() {
        for (old, new) in RENAMED {
            assert_eq!(find(old).map(|rule| rule.id), Some(*new));
            assert!(RULES.iter().all(|rule| rule.id != *old), "{old}");
        }
    }

    #[test]
    fn numbers_in_messages_have_separators() {
        assert_eq!(
            too_long("the name", 1_152, 1_024),
            "the name has 1,152 characters, more than 1,024"
        );
    }
}
