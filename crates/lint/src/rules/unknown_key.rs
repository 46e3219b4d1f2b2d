//! A key nobody defined.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use crate::profile::{Profile, Target};
use prowess_spec::fields::{self, Home, METADATA_KEYS};

rule!("unknown-key", Levels::of("EWN"), None, "a key is not part of the format");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Uploads have a message of their own, in the words of the service.
    if out.target() == Some(Target::ClaudeAi) {
        return;
    }
    for (entry, meant) in parsed.manifest.entries.iter().zip(skill.meant()) {
        let key = &*entry.key;
        if is_known(key, out.profile()) || meant.is_some() {
            continue;
        }
        // The commonest finding of all: put together without the machinery of `format!`.
        let message = ["unknown key in the frontmatter: ", &wording::tick(key)].concat();
        let finding = Finding::at(entry.key_span, message);
        out.report(if METADATA_KEYS.contains(&key) {
            finding
                .label("belongs under `metadata`")
                .help(["write `metadata:` and, indented below it, `", key, ": …`"].concat())
        } else if fields::find(key).is_some_and(|field| field.home == Home::ClaudeCode) {
            finding.label("known to Claude Code only")
        } else {
            finding.label("kept, but nothing acts on it")
        });
    }
}

/// Tells whether a profile knows a key.
pub(super) fn is_known(key: &str, profile: Profile) -> bool {
    fields::find(key).is_some_and(|field| match profile {
        Profile::Spec => field.home == Home::Standard,
        // `version` is common enough to be worth a word; the other keys are there on purpose.
        Profile::ClaudeCode => field.home != Home::Other || field.key != "version",
        Profile::Lenient => true,
    })
}
