//! The rules, one file each; each has a page of the same name in `pages/`.
//!
//! To add a rule: write `rules/<rule>.rs` and `pages/<rule>.md`, and add its
//! module and its constant to the two lists below. The page
//! is the documentation and the test: its `bad` examples must be found, its `good` ones must not,
//! and the first `bad` one with its safe fixes applied must equal `fixed`.

use prowess_diag::{Edit, Fix, Span, wording};

use crate::check::{Finding, Sink, Subject};
use crate::profile::Levels;
use crate::slips;
use prowess_spec::manifest::Manifest;
use prowess_spec::parse::Parsed;
use prowess_spec::repair::is_lost_text;
use prowess_spec::yaml::{self, Entry, Style};

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, kebab-case.
    pub id: &'static str,
    /// What it complains about, one phrase.
    pub summary: &'static str,
    /// How severe it is in each profile.
    pub levels: Levels,
    /// What can be done about it automatically.
    pub fix: FixKind,
    /// The documentation page, in Markdown.
    pub page: &'static str,
    /// Whether it also speaks about files that could not be read.
    pub on_unread: bool,
    /// Looks for it.
    pub check: fn(&Subject<'_>, &mut Sink<'_>),
}

/// What can be done about a finding automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// Nothing.
    None,
    /// In some cases a fix is shown, but never applied by `--fix`.
    Suggested,
    /// The same in every case.
    AllSuggested,
    /// In some cases `--fix` mends it.
    Safe,
    /// The same in every case.
    AllSafe,
}

impl FixKind {
    /// Returns what the documentation says.
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

/// Builds the constant that every rule file defines.
macro_rules! rule {
    ($id:literal, $levels:expr, $fix:ident, $summary:literal) => {
        rule!($id, $levels, $fix, $summary, on_unread: false);
    };
    ($id:literal, $levels:expr, $fix:ident, $summary:literal, on_unread: $unread:literal) => {
        pub(super) const RULE: crate::rules::Rule = crate::rules::Rule {
            id: $id,
            summary: $summary,
            levels: $levels,
            fix: crate::rules::FixKind::$fix,
            page: include_str!(concat!("../../pages/", $id, ".md")),
            on_unread: $unread,
            check,
        };
    };
}

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
mod yaml_feature;
mod yaml_invalid;
mod yaml_syntax;

/// Every rule, in the order of the documentation.
pub static RULES: &[Rule] = &[
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
];

/// Names that rules once had; they are understood wherever a rule is named.
const RENAMED: &[(&str, &str)] = &[("yaml-repaired", "yaml-syntax")];

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    position(id).map(|index| &RULES[index])
}

/// Returns the place of a rule in [`RULES`].
pub fn position(id: &str) -> Option<usize> {
    let id = RENAMED
        .iter()
        .find(|(old, _)| *old == id)
        .map_or(id, |(_, new)| new);
    RULES.iter().position(|rule| rule.id == id)
}

/// The frontmatter, if there is one that was read: rules about missing keys have nothing to say
/// when the whole block is missing, broken or cut.
fn complete_frontmatter<'a>(skill: &Subject<'a>) -> Option<(&'a Parsed<'a>, &'a Manifest<'a>)> {
    let parsed = skill.parsed?;
    let entries = &parsed.manifest.entries;
    // Keys in another notation are there, though they were not read.
    let present = parsed.yaml.is_some()
        && !parsed.manifest.incomplete
        && !(entries.is_empty() && slips::plain_keys(parsed).is_some());
    present.then_some((parsed, &parsed.manifest))
}

/// The key that was meant to be `key`, where that one is missing: the fault is a misspelling then.
fn misspelling<'a>(skill: &Subject<'a>, key: &str) -> Option<&'a Entry<'a>> {
    let entries = &skill.parsed?.manifest.entries;
    let index = skill.meant().iter().position(|meant| *meant == Some(key))?;
    entries
        .get(index)
        .filter(|_| entries.iter().all(|entry| &*entry.key != key))
}

/// The finding about a required key that is missing, or misspelt.
fn missing_key(parsed: &Parsed<'_>, key: &'static str, misspelt: Option<&Entry>) -> Finding {
    let message = format!("missing required field in frontmatter: `{key}`");
    match misspelt {
        None => Finding::at(frontmatter_start(parsed), message),
        // Some formats show the message alone, so it names both.
        Some(entry) => Finding::at(
            entry.key_span,
            format!(
                "{message}, perhaps misspelt as {}",
                wording::tick(&entry.key)
            ),
        )
        .label("as it stands it has no effect")
        .fix(Fix::suggested(
            format!("rename it to `{key}`"),
            vec![Edit::replace(entry.key_span, key)],
        )),
    }
}

/// What stands behind the value of a key and is a comment for YAML, but not for its author.
fn lost_text(text: &str, entry: &Entry) -> Option<Span> {
    let yaml::Value::Scalar(value, Style::Plain) = &entry.value.value else {
        return None;
    };
    let before = if entry.value.is_null() {
        entry.key_span
    } else {
        entry.value.span
    };
    let start = before.end as usize;
    let line = text.get(start..)?.lines().next()?.trim_end();
    let gap = line.len() - line.trim_start_matches([':', ' ', '\t']).len();
    let comment = line[gap..].starts_with('#').then(|| &line[gap..])?;
    is_lost_text(value, comment).then(|| Span::new(start + gap, start + line.len()))
}

/// Puts quotation marks round a value and the text that it lost.
fn quote_lost(text: &str, entry: &Entry, lost: Span) -> Fix {
    let start = if entry.value.is_null() {
        lost.start
    } else {
        entry.value.span.start
    };
    let span = Span::new(start as usize, lost.end as usize);
    let quoted = format!("'{}'", span.of(text).replace('\'', "''"));
    Fix::suggested("quote the whole value", vec![Edit::replace(span, quoted)])
}

/// Quotation marks as YAML has them; around an entry of a tool list they mean nothing.
const MARKS: [char; 2] = ['"', '\''];

/// The line break the file uses.
fn line_break(text: &str) -> &'static str {
    match text.find(['\n', '\r']) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// An edit that adds a line at the top of the frontmatter.
fn insert_key(parsed: &Parsed<'_>, line: &str) -> Option<Edit> {
    let yaml = parsed.yaml?;
    Some(Edit::insert(
        yaml.start as usize,
        format!("{line}{}", line_break(parsed.text)),
    ))
}

/// The place at which to complain about something missing from the frontmatter.
fn frontmatter_start(parsed: &Parsed<'_>) -> Span {
    parsed
        .fences
        .map_or(Span::at(parsed.body.start as usize), |(open, _)| open)
}

/// Grows a span over the whole lines it touches, line break included.
fn whole_lines(text: &str, span: Span) -> Span {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = prowess_spec::frontmatter::Line::at(text.as_bytes(), span.end as usize);
    Span::new(start, line.next)
}

/// The first line of a text, as a message quotes it; a cut is marked.
fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let more = if line.len() < text.trim_end().len() {
        " …"
    } else {
        ""
    };
    wording::tick(wording::shorten(&format!("{line}{more}"), 60))
}

/// The message about a text that has too many characters.
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
            assert_eq!(position(rule.id), Some(index), "{} stands twice", rule.id);
            assert!(
                rule.id
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{}",
                rule.id
            );
            assert!(
                rule.page.starts_with(&format!("# {}\n", rule.id)),
                "the page of {} begins with its name",
                rule.id
            );
            assert!(!rule.summary.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn old_names_are_understood_and_never_used_again() {
        for (old, new) in RENAMED {
            assert_eq!(find(old).map(|rule| rule.id), Some(*new));
            assert!(RULES.iter().all(|rule| rule.id != *old), "{old}");
        }
    }

    #[test]
    fn all_numbers_of_a_message_have_separators() {
        assert_eq!(
            too_long("the name", 1_152, 1_024),
            "the name has 1,152 characters, more than 1,024"
        );
    }
}
