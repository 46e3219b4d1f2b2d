//! Invalid characters in a name.

use prowess_diag::{Severity, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, name_folder_mismatch::fix_name};
use crate::profile::LintProfile;
use prowess_spec::name::NameFault;

rule!(
    "name-characters",
    RuleLevels::of("EEW"),
    Suggested,
    "the name contains characters other than letters, digits and hyphens"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    for fault in faults {
        if let &NameFault::Characters {
            first,
            only_underscores,
        } = fault
        {
            let profile = out.profile();
            if only_underscores && profile == LintProfile::Crew {
                continue;
            }
            let shown = if first.is_whitespace() {
                "a space".to_owned()
            } else {
                wording::tick(first.escape_debug())
            };
            let also_case = !only_underscores
                && profile != LintProfile::Spec
                && faults.contains(&NameFault::NotLowercase);
            let label = if also_case {
                format!("{shown} and upper-case letters are not allowed")
            } else {
                format!("{shown} is not allowed")
            };
            let finding = LintFinding::at(text.span, "the name contains invalid characters: only letters, digits and hyphens are allowed")
                .label(label);
            let finding = fix_name(skill, finding, profile);
            // `skilled_crew` uses names with underscores; the loader accepts them.
            let tolerated = only_underscores && profile != LintProfile::Spec;
            out.report(if tolerated {
                finding.at_most(Severity::Note)
            } else {
                finding
            });
        }
    }
    let is_foreign = |c: &char| !c.is_ascii();
    if out.profile() == LintProfile::Crew
        && let Some(first) = text.value.chars().find(is_foreign)
    {
        out.report(
            LintFinding::at(
                text.span,
                "the name contains invalid characters: only `a` to `z`, digits, `_` and `-` are allowed",
            )
            .label(format!("{} is not allowed", wording::tick(first))),
        );
    }
}
