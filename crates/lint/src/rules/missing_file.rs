//! A folder without `SKILL.md`.

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::ReadFault;

rule!("missing-file", Levels::of("EEE"), None, "the folder has no `SKILL.md`", on_unread: true);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    if skill.fault == Some(&ReadFault::Missing) {
        let finding = Finding::file("missing required file: `SKILL.md`");
        let near = skill
            .package
            .paths()
            .into_iter()
            .find(|path| path.to_lowercase() == "skill.md");
        out.report(match near {
            Some(near) => finding.help(format!("rename `{near}` to `SKILL.md`")),
            None => {
                finding.help("create one with `prowess new`, or pass a folder that contains skills")
            }
        });
    }
}
