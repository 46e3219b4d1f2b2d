//! A file that the operating system refuses to read.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::ReadFault;

rule!("unreadable-file", Levels::of("EEE"), None, "the file cannot be read", on_unread: true);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    if let Some(ReadFault::Unreadable(reason)) = skill.fault {
        out.report(
            Finding::file(format!("cannot read the file: {reason}"))
                .help("check its permissions with `ls -l`"),
        );
    }
}
