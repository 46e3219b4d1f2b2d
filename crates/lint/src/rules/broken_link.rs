//! A link to a missing file.

use std::collections::BTreeSet;

use prowess_diag::{Fix, Span, TextEdit, suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::package::PathStatus;

rule!(
    "broken-link",
    RuleLevels::of("WWN"),
    Suggested,
    "a link points to a file that does not exist"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Each lookup may be a system call, and many links share a target.
    let mut there: BTreeSet<&str> = BTreeSet::new();
    for link in skill.links() {
        let target = link.span;
        let written = target.of(parsed.text);
        let Ok(resource) = &link.file else { continue };
        if there.contains(resource.as_str()) {
            continue;
        }
        if skill.package.look(resource.as_str()) != PathStatus::Missing {
            there.insert(resource.as_str());
            continue;
        }
        if out.is_full() {
            out.count();
            continue;
        }
        let file = resource.as_str().rsplit('/').next().unwrap_or_default();
        let paths = skill.package.paths();
        // A link to the skill itself is never meant.
        let others = || paths.iter().copied().filter(|path| *path != "SKILL.md");
        let same_name = others()
            .find(|path| path.rsplit('/').next() == Some(file))
            .filter(|_| !is_generic(file));
        let near = same_name.or_else(|| suggest::nearest(resource.as_str(), others()));
        let finding = LintFinding::at(
            target,
            format!(
                "broken link: {} does not exist",
                wording::tick(resource.as_str())
            ),
        );
        out.report(match near {
            Some(near) => {
                // Replace only the path and keep the fragment. A path with spaces would need
                // quoting.
                let path = Span::new(
                    target.start as usize,
                    target.start as usize + written.find(['#', '?']).unwrap_or(written.len()),
                );
                let plain = !near.contains([' ', '(', ')', '<', '>']);
                let fix = plain.then(|| {
                    Fix::suggested(
                        format!("link to `{near}`"),
                        vec![TextEdit::replace(path, near)],
                    )
                });
                finding.label(format!("did you mean `{near}`?")).fix(fix)
            }
            None if file.eq_ignore_ascii_case("SKILL.md") => finding
                .label("no such file in the skill's folder")
                .help("mention the other skill by name, or remove the link"),
            None => {
                let or = if is_of_project(resource.as_str()) {
                    "write the path in backticks if it is in the user's project"
                } else {
                    "remove the link"
                };
                finding
                    .label("no such file in the skill's folder")
                    .help(format!(
                        "create {} in the skill's folder, or {or}",
                        wording::tick(resource.as_str())
                    ))
            }
        });
    }
}

/// Returns `true` for a path that is usually one of the project that the skill works in.
fn is_of_project(path: &str) -> bool {
    let Some((first, _)) = path.split_once('/') else {
        return false;
    };
    [
        ".claude", ".github", "app", "apps", "backend", "cmd", "crates", "frontend", "internal",
        "lib", "packages", "server", "src", "test", "tests",
    ]
    .contains(&first)
}

/// Returns `true` for a name that many folders have, so that it does not identify a file.
fn is_generic(file: &str) -> bool {
    let stem = file.split('.').next().unwrap_or_default();
    ["__init__", "index", "main", "readme", "skill"]
        .iter()
        .any(|generic| stem.eq_ignore_ascii_case(generic))
}
