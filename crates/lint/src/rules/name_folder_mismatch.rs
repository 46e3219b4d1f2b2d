//! A name that differs from the folder's.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::profile::LintProfile;
use prowess_spec::name::{self, NameFault};
use prowess_spec::yaml::write;

rule!(
    "name-folder-mismatch",
    RuleLevels::of("EEW"),
    Suggested,
    "the skill's name differs from its folder"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((text, faults)) = skill.name() else {
        return;
    };
    let Some(folder) = skill.package.folder() else {
        return;
    };
    let profile = out.profile();
    let (name, folder_name) = (name::normalise(&text.value), name::normalise(folder));
    // Another rule reports a name that is only a misspelling of the folder's.
    let only_misspelt = !is_valid(&name, faults, profile)
        && repaired(&name, Some(&folder_name)).as_deref() == Some(&*folder_name);
    if name == folder_name || only_misspelt || is_reported(out) {
        return;
    }
    let finding = LintFinding::at(text.span, "skill name differs from its folder")
        .label(format!("the folder is `{folder}`"));
    out.report(fix_name(skill, finding, profile));
}

/// Returns `true` if another rule reported the name. Its advice also covers the folder. The reference
/// validator reports both.
fn is_reported(out: &FindingSink<'_>) -> bool {
    out.profile() != LintProfile::Spec
        && out.is_covered_by(&[
            "name-characters",
            "name-case",
            "name-hyphens",
            "name-length",
        ])
}

/// Adds the same advice for every fault of a name, so that rules agree: the folder's name if it is
/// valid and says as much, else the nearest valid name.
///
/// A fix is only suggested, because it changes the name that the skill is called by. If the folder
/// must be renamed too there is no fix, because a fix changes only the text. Nor is there one if each
/// name has a word that the other lacks: the author has to choose.
pub(super) fn fix_name(
    skill: &LintSubject<'_>,
    finding: LintFinding,
    profile: LintProfile,
) -> LintFinding {
    let Some((text, faults)) = skill.name() else {
        return finding;
    };
    let name = name::normalise(&text.value);
    let folder = skill.package.folder().map(name::normalise);
    let repaired = if is_valid(&name, faults, profile) {
        Some(name.to_string())
    } else {
        repaired(&name, folder.as_deref())
    };
    let rename = |title: &str, to: &str| {
        // The marker of a block scalar is outside its span; leave it to the author.
        let parsed = skill.parsed?;
        let entry = parsed.manifest.entry("name")?;
        entry.value.verbatim_start(parsed.text)?;
        let edit = TextEdit::replace(text.span, write::scalar(to));
        Some(Fix::suggested(title, vec![edit]))
    };
    let Some(folder) = folder else {
        let better = repaired.filter(|better| *better != *name);
        return finding.fix(better.and_then(|better| rename("rename the skill", &better)));
    };
    let folder_is_valid = is_valid(&folder, &name::faults(&folder), profile);
    match repaired {
        Some(better) if folder_is_valid && *folder == better => {
            finding.fix(rename("spell it like the folder", &folder))
        }
        None if folder_is_valid => {
            finding.fix(rename("change the name to that of the folder", &folder))
        }
        Some(better) => {
            let folder_to = if better == *name {
                format!("rename the folder to `{better}`")
            } else {
                format!("rename both the skill and its folder to `{better}`")
            };
            // The name of a plugin or an organisation is no reason to rename a folder.
            let own = name.rsplit_once(PREFIX_ENDS).map(|(_, own)| own);
            let own = own.and_then(name::repair);
            match Comparison::of(&folder, own.as_ref().unwrap_or(&better)) {
                _ if !folder_is_valid || is_installed_as(skill, &better, &folder) => {
                    finding.help(folder_to)
                }
                Comparison::Generic => finding.help(folder_to),
                // A valid name was chosen; an invalid one is often a title.
                Comparison::Poorer if better == *name => finding.help(folder_to),
                Comparison::Richer => finding
                    .fix(rename("change the name to that of the folder", &folder))
                    .help(format!("or {folder_to}")),
                Comparison::Poorer | Comparison::Different => {
                    finding.help(format!("change the name to `{folder}`, or {folder_to}"))
                }
            }
        }
        None => finding,
    }
}

/// Characters after the name of a plugin or an organisation.
const PREFIX_ENDS: [char; 3] = [':', '/', '@'];

/// Returns the valid name nearest to an invalid one. The name of a plugin or an organisation is left
/// out if the rest is the folder's name: `spike` for `gsd:spike` in `spike`.
fn repaired(name: &str, folder: Option<&str>) -> Option<String> {
    let whole = name::repair(name);
    let (Some(folder), Some((_, own))) =
        (folder.and_then(name::repair), name.rsplit_once(PREFIX_ENDS))
    else {
        return whole;
    };
    if whole.as_ref() == Some(&folder) {
        return whole;
    }
    name::repair(own).filter(|own| *own == folder).or(whole)
}

/// Returns `true` if a profile accepts a name. In `skilled_crew`, underscores and all hyphens are
/// valid.
fn is_valid(name: &str, faults: &[NameFault], profile: LintProfile) -> bool {
    faults.iter().all(|fault| {
        profile == LintProfile::Crew
            && name.is_ascii()
            && matches!(
                fault,
                NameFault::EdgeHyphen
                    | NameFault::DoubleHyphen
                    | NameFault::Characters {
                        only_underscores: true,
                        ..
                    }
            )
    })
}

/// Names of folders that say nothing about a skill.
const GENERIC: &[&str] = &[
    "agent",
    "agents",
    "app",
    "assets",
    "build",
    "claude",
    "claude-skill",
    "claude-skills",
    "code",
    "codex",
    "command",
    "commands",
    "common",
    "content",
    "core",
    "default",
    "demo",
    "dist",
    "doc",
    "docs",
    "example",
    "examples",
    "lib",
    "main",
    "master",
    "misc",
    "my-skill",
    "new",
    "new-skill",
    "package",
    "packages",
    "plugin",
    "plugins",
    "project",
    "prompt",
    "prompts",
    "public",
    "reference",
    "references",
    "repo",
    "resources",
    "root",
    "scripts",
    "shared",
    "skill",
    "skill-adapter",
    "skill-md",
    "skill-name",
    "skill-template",
    "skills",
    "source",
    "src",
    "temp",
    "template",
    "templates",
    "test",
    "tests",
    "tmp",
    "tool",
    "tools",
    "untitled",
    "workspace",
];

/// Words that say nothing about a skill when a folder has them in addition to its name.
const FILLER: &[&str] = &[
    "agent", "claude", "claw", "clawd", "clawdbot", "main", "master", "moltbot", "openclaw",
    "plugin", "repo", "skill", "skills",
];

/// Returns `true` if the text refers to the skill in a folder with its name, and never to one with
/// the folder's name.
fn is_installed_as(skill: &LintSubject<'_>, name: &str, folder: &str) -> bool {
    let text = skill.parsed.map_or("", |parsed| parsed.text);
    let mentions = |name: &str| {
        let path = format!("skills/{name}");
        text.match_indices(&path).any(|(at, _)| {
            let after = text[at + path.len()..].chars().next();
            after.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
        })
    };
    mentions(name) && !mentions(folder)
}

/// A folder's name compared with a skill's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// It says nothing: `skills`, `1`.
    Generic,
    /// It says less: `security` for `api-security-catalog`, `habit-flow-skill` for `habit-flow`.
    Poorer,
    /// It has the words of the skill's name and others: `pdf-tools` for `pdf`.
    Richer,
    /// Each has a word that the other lacks: `pdf-tools` and `pdf-forms`.
    Different,
}

impl Comparison {
    fn of(folder: &str, name: &str) -> Self {
        let is_generic = GENERIC.contains(&folder) || !folder.chars().any(char::is_alphabetic);
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            (folder.split('-').collect(), name.split('-').collect());
        let is_like = |a: &str, b: &str| {
            a == b
                || (a.len().min(b.len()) >= LEAST_COMMON && (a.starts_with(b) || b.starts_with(a)))
        };
        let only_in = |words: &[&str], others: &[&str]| -> usize {
            let is_in = |word: &str| others.iter().any(|other| is_like(word, other));
            words.iter().filter(|word| !is_in(word)).count()
        };
        let has_meaning =
            |word: &&str| !FILLER.contains(word) && word.chars().any(char::is_alphabetic);
        let meaningful: Vec<&str> = ours.iter().copied().filter(has_meaning).collect();
        let lacking = only_in(&theirs, &ours);
        match only_in(&meaningful, &theirs) {
            _ if is_generic => Self::Generic,
            // The same words in another form, such as `deploy` and `deployer`.
            0 if lacking == 0 && meaningful.len() == ours.len() => Self::Different,
            0 => Self::Poorer,
            _ if lacking == 0 => Self::Richer,
            _ => Self::Different,
        }
    }
}

/// Minimum length of a word to be recognised as the beginning of another.
const LEAST_COMMON: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_name_is_suggested_only_if_it_adds_words() {
        use Comparison::{Different, Generic, Poorer, Richer};
        for (folder, name, expected) in [
            ("pdf-tools", "pdf", Richer),
            ("release-notes-writer", "release-notes", Richer),
            ("todoist-manager", "todoist", Richer),
            ("pdf-tools", "pdf-toolkit", Different),
            ("deploy", "deployer", Different),
            ("invoices", "csv-report", Different),
            (
                "test-report-generator",
                "generating-test-reports",
                Different,
            ),
            ("skills", "musescore", Generic),
            ("skill", "skill-writer", Generic),
            ("src", "src-tools", Generic),
            ("1", "release-notes", Generic),
            ("2024", "report-2024", Generic),
            ("agent-browser-2", "agent-browser", Poorer),
            ("security", "webiny-api-security-catalog", Poorer),
            ("skill-adapter", "monitoring-cpu-usage", Generic),
            ("habit-flow-skill", "habit-flow", Poorer),
        ] {
            assert_eq!(Comparison::of(folder, name), expected, "{folder} {name}");
        }
    }

    #[test]
    fn list_is_sorted() {
        assert!(GENERIC.is_sorted() && FILLER.is_sorted());
    }
}
