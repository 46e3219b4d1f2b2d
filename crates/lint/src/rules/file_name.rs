//! `skill.md` instead of `SKILL.md`.

use super::{Finding, Levels, Sink, Subject};

rule!(
    "file-name",
    Levels::of("WWW"),
    None,
    "the file is not called `SKILL.md`"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(name) = skill.package.file_name() else {
        return;
    };
    // Any other Markdown file is a single-file skill and may be called what it likes.
    if name != "SKILL.md" && name.eq_ignore_ascii_case("SKILL.md") {
        out.report(
            Finding::file(format!(
                "non-canonical file name: `{name}` instead of `SKILL.md`"
            ))
            .help(format!(
                "rename it: `mv {name} SKILL.md`; most clients look for the exact name"
            )),
        );
    }
}
