//! A `SKILL.md` that is a folder, a device or a broken link.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::ReadFault;

rule!("not-a-file", RuleLevels::of("EEE"), None, "`SKILL.md` is not a regular file", on_unread: true);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    if let Some(ReadFault::NotAFile(what)) = skill.fault {
        out.report(
            LintFinding::file(format!("`SKILL.md` is {what}, not a regular file"))
                .help("replace it with a text file"),
        );
    }
}
