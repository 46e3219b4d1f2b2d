//! Frontmatter above the size limit.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, frontmatter_start};
use prowess_spec::frontmatter::MAX_FRONTMATTER;
use prowess_spec::problem::ProblemKind;

rule!(
    "frontmatter-too-large",
    RuleLevels::of("EEE"),
    None,
    "the frontmatter is larger than 16 KiB"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for problem in &parsed.problems {
        if let ProblemKind::FrontmatterTooLarge { bytes } = problem.kind {
            let message = format!(
                "the frontmatter has {} bytes, above the limit of {}",
                wording::thousands(bytes),
                wording::thousands(MAX_FRONTMATTER)
            );
            out.report(LintFinding::at(frontmatter_start(parsed), message).help("move text to the body: frontmatter is loaded for every skill, a body only when its skill is used"));
        }
    }
}
