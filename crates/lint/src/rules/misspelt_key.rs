//! A key that is close to a known one. It is never used.

use prowess_diag::{Fix, LineIndex, TextEdit, wording};

use super::unknown_key::is_known;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels, complete_frontmatter, misspelling};
use crate::profile::LintProfile;

rule!(
    "misspelt-key",
    RuleLevels::of("EWW"),
    Suggested,
    "a key looks misspelt"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for (entry, meant) in parsed.manifest.entries.iter().zip(skill.meant()) {
        let Some(meant) = *meant else { continue };
        // Only the first can be renamed.
        let first = misspelling(skill, meant);
        let is_first = first.is_some_and(|first| first.key_span == entry.key_span);
        // The finding about the missing required key covers this one.
        let is_required = matches!(meant, "name" | "description");
        if is_first
            && is_required
            && out.profile() != LintProfile::Spec
            && complete_frontmatter(skill).is_some()
        {
            continue;
        }
        let finding = LintFinding::at(
            entry.key_span,
            format!(
                "unknown key in the frontmatter: {}",
                wording::tick(&entry.key)
            ),
        );
        let other = parsed.manifest.entry(meant).or(first).filter(|_| !is_first);
        out.report(match other {
            None if !is_known(meant, out.profile()) => finding
                .label(format!(
                    "did you mean `{meant}`? That is not part of the standard either"
                ))
                .help("remove it, or move it below `metadata:`, which accepts any key"),
            // No fix grants anything.
            None if meant == "allowed-tools" => finding
                .label("did you mean `allowed-tools`? This key has no effect")
                .help(
                    "rename it to `allowed-tools` if the skill needs these tools without asking; \
                     name commands as in `Bash(git status:*)`",
                ),
            None => finding
                .label(format!("did you mean `{meant}`? This key has no effect"))
                .fix(Fix::suggested(
                    format!("rename it to `{meant}`"),
                    vec![TextEdit::replace(entry.key_span, meant)],
                )),
            Some(other) => {
                let at = other.key_span.start as usize;
                let line = LineIndex::new(parsed.text).position(parsed.text, at).line;
                let label = if &*other.key == meant {
                    format!("no effect: `{meant}` is already on line {line}")
                } else {
                    format!("no effect: line {line} also looks like `{meant}`")
                };
                finding
                    .label(label)
                    .help(format!("remove it, or merge its value into `{meant}`"))
            }
        });
    }
}
