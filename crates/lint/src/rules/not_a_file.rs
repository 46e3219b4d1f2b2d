//! A `SKILL.md` that is a folder, a device or a broken link.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::ReadFault;

rule!("not-a-file", Levels::of("EEE"), None, "`SKILL.md` is not a regular file", on_unread: true);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    if let Some(ReadFault::NotAFile(what)) = skill.fault {
        out.report(
            Finding::file(format!("`SKILL.md` is {what}, not a regular file"))
                .help("replace it with a text file"),
        );
    }
}
