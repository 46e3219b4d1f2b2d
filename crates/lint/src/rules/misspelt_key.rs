//! A key that is nearly one of ours. It is never acted on.

use prowess_diag::{Edit, Fix, LineIndex, wording};

use super::{Finding, Levels, Sink, Subject, misspelling};
use crate::profile::Profile;

rule!("misspelt-key", Levels::of("EWW"), Suggested, "a key looks misspelt");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    for (entry, meant) in parsed.manifest.entries.iter().zip(skill.meant()) {
        let Some(meant) = *meant else { continue };
        // The finding about the missing key points here.
        let told = matches!(meant, "name" | "description") && misspelling(skill, meant).is_some();
        if told && out.profile() != Profile::Spec {
            continue;
        }
        let finding = Finding::at(
            entry.key_span,
            format!("unknown key in the frontmatter: {}", wording::tick(&entry.key)),
        );
        out.report(match parsed.manifest.entry(meant) {
            None => finding
                .label(format!("did you mean `{meant}`? As it stands it has no effect"))
                .fix(Fix::suggested(
                    format!("rename it to `{meant}`"),
                    vec![Edit::replace(entry.key_span, meant)],
                )),
            Some(right) => {
                let at = right.key_span.start as usize;
                let line = LineIndex::new(parsed.text).position(parsed.text, at).line;
                finding
                    .label(format!("it has no effect: `{meant}` is already on line {line}"))
                    .help(format!("remove it, or move what it says to `{meant}`"))
            }
        });
    }
}
