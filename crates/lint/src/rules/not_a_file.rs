//! `SKILL.md` is a folder, a device, or a link that leads nowhere.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::ReadFault;

rule!("not-a-file", Levels::of("EEE"), None, "`SKILL.md` is not a regular file", on_unread: true);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    if let Some(ReadFault::NotAFile(what)) = skill.fault {
        out.report(
            Finding::file(format!("`SKILL.md` is {what}, not a regular file"))
                .help("put a text file in its place"),
        );
    }
}
