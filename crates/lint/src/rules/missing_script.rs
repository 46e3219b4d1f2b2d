//! A script that the body mentions and the folder lacks.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use prowess_diag::{suggest, wording};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::scripts::Script;
use prowess_spec::package::PathStatus;
use prowess_spec::resource_path::ResourcePath;

rule!(
    "missing-script",
    RuleLevels::of("WWN"),
    None,
    "the body mentions a script that does not exist"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    // Queried only if a script is missing.
    let folders: OnceCell<BTreeSet<&str>> = OnceCell::new();
    let has_folder = |folder: &str| {
        let list = || {
            let paths = skill.package.paths().into_iter();
            paths
                .filter_map(|path| Some(path.rsplit_once('/')?.0))
                .collect()
        };
        folders.get_or_init(list).contains(folder)
    };
    // `broken-link` reports links to scripts.
    let linked: OnceCell<BTreeSet<&ResourcePath>> = OnceCell::new();
    let is_linked = |script: &ResourcePath| {
        let links = skill.links().iter();
        let files = || links.filter_map(|link| link.file.as_ref().ok()).collect();
        linked.get_or_init(files).contains(script)
    };
    // A link to the same path further up says that the script is part of the repository.
    let is_above = |path: &str| {
        let above = skill.links().iter().filter(|link| link.file.is_err());
        above.take(MOST_LINKS).any(|link| {
            let rest = link.path.strip_suffix(path);
            rest.is_some_and(|rest| rest.ends_with("../"))
        })
    };
    for script in skill.scripts() {
        let path = script.span.of(parsed.text);
        if !seen.insert(path) {
            continue;
        }
        let missing = ResourcePath::new(path)
            .ok()
            .filter(|clean| skill.package.look(clean.as_str()) == PathStatus::Missing)
            .is_some_and(|clean| !is_linked(&clean));
        if !missing || !is_own(parsed.text, script, &has_folder) {
            continue;
        }
        if out.is_full() {
            out.count();
            continue;
        }
        if is_above(path) {
            continue;
        }
        let finding = LintFinding::at(
            script.span,
            format!("the script {} does not exist", wording::tick(path)),
        );
        out.report(match suggest::nearest(path, skill.package.paths()) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding
                .label("no such file in the skill's folder")
                .help("add the script, or write its full path if it is not part of the skill"),
        });
    }
}

/// Most links that are compared with a script.
const MOST_LINKS: usize = 256;
/// Most bytes before a line that are searched for its heading.
const LOOK_BACK: usize = 4096;

/// Headings of sections that point to files elsewhere.
const ELSEWHERE: &[&str] = &["see also", "related", "code anchors", "further reading"];

/// Returns `true` if a missing script was meant as a file of the skill, and not of the repository
/// that the skill works in: its path names the skill's folder, the text calls it bundled, or the
/// skill has the folder that it should be in.
fn is_own(text: &str, script: &Script, has_folder: &dyn Fn(&str) -> bool) -> bool {
    if script.names_skill_folder {
        return true;
    }
    let path = script.span.of(text);
    let (start, end) = (script.span.start as usize, script.span.end as usize);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let line = &text[line_start..line_end];
    if line.len() <= LOOK_BACK && line.to_lowercase().contains("bundled") {
        return true;
    }
    // The first line of a listing names the file that the user is to create.
    let before = text[line_start..start].trim();
    if matches!(before, "#" | "//" | "--" | "<!--" | "/*") {
        return false;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    has_folder(folder) && !is_elsewhere(&text[..line_start])
}

/// Returns `true` if the last heading before a line is that of a list of files elsewhere.
fn is_elsewhere(before: &str) -> bool {
    let mut from = before.len().saturating_sub(LOOK_BACK);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let before = &before[from..];
    let heading = before.lines().rev().find(|line| line.starts_with('#'));
    heading.is_some_and(|heading| {
        let heading = heading.trim_matches(['#', ' ']).to_lowercase();
        ELSEWHERE.iter().any(|title| heading.starts_with(title))
    })
}
