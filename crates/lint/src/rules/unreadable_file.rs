//! A file that the operating system refuses to read.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::ReadFault;

rule!("unreadable-file", RuleLevels::of("EEE"), None, "the file cannot be read", on_unread: true);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    if let Some(ReadFault::Unreadable(reason)) = skill.fault {
        out.report(
            LintFinding::file(format!("cannot read the file: {reason}"))
                .help("check its permissions with `ls -l`"),
        );
    }
}
