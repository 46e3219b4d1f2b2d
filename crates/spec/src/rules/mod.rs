//! The rules, one file each; each has a page of the same name in `pages/`.
//!
//! To add a rule: write `rules/<rule>.rs` and `pages/<rule>.md`, and add one line below. The page
//! is the documentation and the test: its `bad` examples must be found, its `good` ones must not,
//! and the first `bad` one with its safe fixes applied must equal `fixed`.

use prowess_diag::{Edit, Span};

use crate::check::{Finding, Sink, Subject};
use crate::manifest::Manifest;
use crate::parse::Parsed;
use crate::profile::Levels;

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
    /// A fix is shown, but never applied by `--fix`.
    Suggested,
    /// `--fix` mends it, at least in some cases.
    Safe,
}

impl FixKind {
    /// Returns what the documentation says.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "no automatic fix",
            Self::Suggested => "a fix is suggested",
            Self::Safe => "fixed by `--fix`",
        }
    }
}

macro_rules! rules {
    ($($module:ident)*) => {
        $(mod $module;)*
        /// Every rule, in the order of the documentation.
        pub static RULES: &[Rule] = &[$($module::RULE),*];
    };
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

rules! {
    missing_file not_a_file unreadable_file file_too_large not_utf8 nul_byte byte_order_mark lone_carriage_return file_name
    frontmatter_missing frontmatter_misplaced frontmatter_unclosed fence_trailing_space frontmatter_too_large frontmatter_not_a_map
    yaml_repaired yaml_invalid yaml_feature duplicate_key tab_separator flow_collection
    unknown_key misspelt_key key_without_effect text_expected field_type boolean_value choice_value
    name_missing name_characters name_case name_hyphens name_length name_folder_mismatch
    description_missing description_length description_trigger compatibility_length
    metadata_not_a_map metadata_value
    tool_syntax tool_list_form unrestricted_tool unknown_tool tool_not_allowed
    body_empty body_length broken_link link_outside missing_script script_not_executable nested_skill
    injection_in_code injection_not_allowed placeholder_in_code unsafe_placeholder unused_argument
    bidi_characters invisible_characters
    unreachable_skill invalid_glob invalid_hooks invalid_sidecar
    claude_ai_keys claude_ai_name claude_ai_description
}

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    position(id).map(|index| &RULES[index])
}

/// Returns the place of a rule in [`RULES`].
pub fn position(id: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.id == id)
}

/// The frontmatter, if there is one that was read: rules about missing keys have nothing to say
/// when the whole block is missing, broken or cut.
fn complete_frontmatter<'a>(skill: &Subject<'a>) -> Option<(&'a Parsed<'a>, &'a Manifest)> {
    let parsed = skill.parsed?;
    let present = parsed.yaml.is_some() && !parsed.manifest.incomplete;
    present.then_some((parsed, &parsed.manifest))
}

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
    let line = crate::frontmatter::Line::at(text.as_bytes(), span.end as usize);
    Span::new(start, line.next)
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
}
