//! Decides if an edited skill is too broken to replace the last good version.

use prowess_spec::ParsedSkill;
use prowess_spec::problem::ProblemKind;

/// Returns `true` if a text may replace a valid one: not empty, not truncated in the frontmatter,
/// not unreadable.
pub(super) fn is_usable(parsed: &ParsedSkill<'_>) -> bool {
    // Most commands and some skills have no frontmatter at all; incomplete frontmatter is an error.
    let may_lack = !"---".starts_with(parsed.text.trim());
    let is_fatal = |kind: &ProblemKind| {
        matches!(kind, ProblemKind::FrontmatterMissing if !may_lack)
            || matches!(
                kind,
                ProblemKind::NotUtf8
                    | ProblemKind::Nul
                    | ProblemKind::FrontmatterUnclosed
                    | ProblemKind::FrontmatterTooLarge { .. }
                    | ProblemKind::NotMapping { .. }
                    | ProblemKind::YamlInvalid { .. }
            )
    };
    !parsed.text.trim().is_empty() && !parsed.problems.iter().any(|found| is_fatal(&found.kind))
}
