//! A missing description.

use super::{
    FindingSink, LintFinding, LintSubject, RuleLevels, comment_after, complete_frontmatter,
    frontmatter_start, lost_text, missing_key, misspelling, quote_lost,
};
use crate::profile::LintProfile;
use prowess_spec::identity;
use prowess_spec::manifest::SpannedText;

rule!(
    "description-missing",
    RuleLevels::of("EEW"),
    Suggested,
    "the skill has no description"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some((parsed, manifest)) = complete_frontmatter(skill) else {
        return;
    };
    let misspelt = misspelling(skill, "description");
    if misspelt.is_some() && out.profile() != LintProfile::Spec {
        out.report(missing_key(parsed, "description", misspelt));
        return;
    }
    let (span, message) = match manifest.entry("description") {
        None => (
            frontmatter_start(parsed),
            "missing required field in frontmatter: `description`",
        ),
        Some(entry)
            if entry.value.is_null()
                || manifest
                    .description
                    .as_ref()
                    .is_some_and(SpannedText::is_blank) =>
        {
            (
                entry.key_span,
                "field `description` must be a non-empty string",
            )
        }
        Some(_) => return,
    };
    if let Some(entry) = manifest.entry("description")
        && let Some(comment) = comment_after(parsed.text, entry)
    {
        let finding = LintFinding::at(comment, message).label("YAML reads this as a comment");
        out.report(match lost_text(parsed.text, entry) {
            Some(lost) => finding.fix(quote_lost(parsed.text, entry, lost)),
            None => finding.help("remove the `#`, or put the text in quotation marks"),
        });
        return;
    }
    let stand_in = match identity::first_line(parsed.body_text()) {
        Some(_) if out.profile() != LintProfile::Spec => {
            "clients reject the skill, or show the first line of the body instead"
        }
        _ => "a model cannot tell what the skill is for",
    };
    let start = match manifest.entry("description") {
        None => "add a line that says",
        Some(_) => "say",
    };
    out.report(
        LintFinding::at(span, message)
            .label(stand_in)
            .help(format!("{start} what the skill does and when to use it, for example:\ndescription: Fills PDF forms. Use when a PDF has form fields.")),
    );
}
