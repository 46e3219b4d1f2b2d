//! A folder without `SKILL.md`.

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::ReadFault;

rule!("missing-file", RuleLevels::of("EEE"), None, "the folder has no `SKILL.md`", on_unread: true);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    if skill.fault == Some(&ReadFault::Missing) {
        let finding = LintFinding::file("missing required file: `SKILL.md`");
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
