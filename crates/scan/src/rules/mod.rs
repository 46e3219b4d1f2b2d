//! The rules, one file each; each has a documentation page of the same name in `pages/`.
//!
//! To add a rule, write `rules/<rule>.rs` and `pages/<rule>.md`, and add its module and constant to the two
//! lists below. The page is also a test: the rule must find its `bad` examples, and no rule its `good`
//! ones, which differ from a bad one as little as possible.

use prowess_diag::Severity;

use crate::passage::Passage;
use crate::place::FindingPlace;
use crate::scanner::FindingSink;
use crate::subject::{ScanContent, ScanFile};

/// A rule about text that a person should read.
#[derive(Debug)]
pub struct ScanRule {
    /// Stable name in kebab case.
    pub id: &'static str,
    /// The fault, in one phrase.
    pub summary: &'static str,
    /// The severity in an instruction or a script.
    pub severity: Severity,
    /// `true` if a finding counts one level less where text describes: in examples, tables and
    /// quotations, and in references of skills about security.
    pub lowers: bool,
    /// What to do about a finding.
    pub advice: &'static str,
    /// The documentation page, in Markdown.
    pub page: &'static str,
    pub(crate) check: RuleCheck,
}

/// The way in which a rule looks at a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RuleCheck {
    /// At the file as a whole.
    File(fn(&ScanFile<'_>, &mut FindingSink)),
    /// At the passages that contain one of these texts, in any letter case.
    Passages {
        triggers: &'static [&'static str],
        check: fn(&Passage<'_, '_>, &mut FindingSink),
    },
}

/// Defines the constant `RULE` of a rule file.
macro_rules! rule {
    ($id:literal, $severity:ident, lowers: $lowers:literal, $summary:literal, $advice:literal, triggers: [$($trigger:literal),* $(,)?]) => {
        rule!(@ $id, $severity, $lowers, $summary, $advice, crate::rules::RuleCheck::Passages {
            triggers: &[$($trigger),*],
            check,
        });
    };
    ($id:literal, $severity:ident, lowers: $lowers:literal, $summary:literal, $advice:literal, file: $check:ident) => {
        rule!(@ $id, $severity, $lowers, $summary, $advice, crate::rules::RuleCheck::File($check));
    };
    (@ $id:literal, $severity:ident, $lowers:literal, $summary:literal, $advice:literal, $kind:expr) => {
        pub(super) const RULE: crate::rules::ScanRule = crate::rules::ScanRule {
            id: $id,
            summary: $summary,
            severity: prowess_diag::Severity::$severity,
            lowers: $lowers,
            advice: $advice,
            page: include_str!(concat!("../../pages/", $id, ".md")),
            check: $kind,
        };
    };
}

mod bidi_override;
mod broad_delete;
mod browser_store;
mod decode_and_run;
mod disguised_executable;
mod drop_host;
mod env_dump_sent;
mod fetch_and_run;
mod hide_from_user;
mod job_persistence;
mod link_out;
mod link_shortener;
mod override_instructions;
mod password_archive;
mod permissions_off;
mod private_key_inside;
mod quarantine_removal;
mod raw_address_run;
mod reads_cloud_keys;
mod reads_private_key;
mod reverse_shell;
mod secret_sent;
mod settings_write;
mod shell_rc_persistence;
mod ssh_persistence;
mod tag_characters;
mod token_inside;
mod unpinned_installer;
mod variation_selectors;
mod zero_width;

/// Every rule, in documentation order: errors, warnings, notes.
pub static RULES: &[ScanRule] = &[
    tag_characters::RULE,
    bidi_override::RULE,
    variation_selectors::RULE,
    decode_and_run::RULE,
    password_archive::RULE,
    raw_address_run::RULE,
    reverse_shell::RULE,
    env_dump_sent::RULE,
    secret_sent::RULE,
    reads_private_key::RULE,
    browser_store::RULE,
    ssh_persistence::RULE,
    link_out::RULE,
    disguised_executable::RULE,
    private_key_inside::RULE,
    token_inside::RULE,
    fetch_and_run::RULE,
    override_instructions::RULE,
    hide_from_user::RULE,
    settings_write::RULE,
    permissions_off::RULE,
    quarantine_removal::RULE,
    drop_host::RULE,
    reads_cloud_keys::RULE,
    zero_width::RULE,
    unpinned_installer::RULE,
    job_persistence::RULE,
    shell_rc_persistence::RULE,
    link_shortener::RULE,
    broad_delete::RULE,
];

/// Returns the rule with this id.
pub fn find(id: &str) -> Option<&'static ScanRule> {
    RULES.iter().find(|rule| rule.id == id)
}
