//! `skill.md` instead of `SKILL.md`.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};

rule!(
    "file-name",
    RuleLevels::of("WWW"),
    None,
    "the file is not named `SKILL.md`"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(name) = skill.package.file_name() else {
        return;
    };
    // Any other Markdown file is a single-file skill and can have any name.
    if name != "SKILL.md" && name.eq_ignore_ascii_case("SKILL.md") {
        let path = skill.path.unwrap_or(name);
        let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
        out.report(
            LintFinding::file(format!(
                "non-canonical file name: `{name}` instead of `SKILL.md`"
            ))
            .help(format!(
                "rename it: `mv {} {}`; most clients look for the exact name",
                wording::shell_word(path),
                wording::shell_word(&format!("{folder}SKILL.md"))
            )),
        );
    }
}

#[cfg(test)]
mod tests {
    use prowess_spec::{PackageListing, parse};

    use crate::{LintProfile, LintRuleSet, LintSubject, check};

    #[test]
    fn command_uses_the_displayed_path() {
        let package = PackageListing {
            file_name: Some("skill.md".into()),
            ..PackageListing::default()
        };
        let rules = LintRuleSet::new(LintProfile::ClaudeCode, None).select(&["file-name"]);
        let parsed = parse(b"---\nname: a\ndescription: Use when b.\n---\nc\n");
        for (path, command) in [
            (None, "mv skill.md SKILL.md"),
            (
                Some("skills/a/skill.md"),
                "mv skills/a/skill.md skills/a/SKILL.md",
            ),
            (
                Some("~/my skills/a/skill.md"),
                "mv ~/'my skills/a/skill.md' ~/'my skills/a/SKILL.md'",
            ),
        ] {
            let subject = LintSubject::new(&parsed, &package).at_path(path);
            let found = check(&subject, &rules);
            let help = format!("rename it: `{command}`; most clients look for the exact name");
            assert_eq!(found[0].help.as_deref(), Some(&*help));
        }
    }
}
