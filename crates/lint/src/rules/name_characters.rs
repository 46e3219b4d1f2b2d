//! Invalid characters in a name.

use prowess_diag::{Severity, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, name_folder_mismatch::fix_name};
use prowess_spec::name::NameFault;

rule!(
    "name-characters",
    RuleLevels::of("EEW"),
    Safe,
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
            let shown = if first.is_whitespace() {
                "a space".to_owned()
            } else {
                wording::tick(first.escape_debug())
            };
            let finding = LintFinding::at(text.span, "the name contains invalid characters: only letters, digits and hyphens are allowed")
                .label(format!("{shown} is not allowed"));
            let finding = fix_name(skill, finding);
            // `skilled_crew` uses names with underscores; the loader accepts them.
            let tolerated =
                only_underscores && out.profile() == crate::profile::LintProfile::Lenient;
            out.report(if tolerated {
                finding.at_most(Severity::Note)
            } else {
                finding
            });
        }
    }
}
