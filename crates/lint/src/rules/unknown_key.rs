//! A key nobody defined.

use prowess_diag::{Edit, Fix, Span, wording};

use super::{Finding, Levels, Sink, Subject};
use crate::profile::{Profile, Target};
use prowess_spec::fields::{self, Home, METADATA_KEYS};
use prowess_spec::vocabulary;
use prowess_spec::yaml::{Entry, Node, Style, Value};

rule!("unknown-key", Levels::of("EWN"), Suggested, "a key is not part of the format");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Uploads have a message of their own, in the words of the service.
    if out.target() == Some(Target::ClaudeAi) {
        return;
    }
    let entries = &parsed.manifest.entries;
    for (index, (entry, meant)) in entries.iter().zip(skill.meant()).enumerate() {
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
        } else if let Some(above) = index.checked_sub(1).and_then(|above| entries.get(above))
            && is_sentence(key)
        {
            finding
                .label(format!("a key of its own; it is not read as part of `{}`", above.key))
                .fix_or_help(
                    join(parsed.text, above, entry),
                    format!("indent it to make it a part of `{}`, and quote the whole", above.key),
                )
        } else if fields::find(key).is_some_and(|field| field.home == Home::ClaudeCode) {
            finding.label("known to Claude Code only")
        } else {
            finding.label("kept, but nothing acts on it")
        });
    }
}

/// `Use when: …` at the start of a line is a sentence of the value above, not a key.
pub(super) fn is_sentence(key: &str) -> bool {
    key.contains(' ') && vocabulary::says_when(key)
}

/// Makes the line of an entry a part of the value above, where both are bare words.
fn join(text: &str, above: &Entry, entry: &Entry) -> Option<Fix> {
    let is_bare = |node: &Node| matches!(node.value, Value::Scalar(_, Style::Plain));
    let span = Span::new(above.value.span.start as usize, entry.value.span.end as usize);
    let raw = span.of(text);
    if !is_bare(&above.value) || !is_bare(&entry.value) || raw.contains(" #") {
        return None;
    }
    let at = entry.key_span.start as usize - span.start as usize;
    let quoted = |part: &str| part.replace('\'', "''");
    let joined = format!("'{}  {}'", quoted(&raw[..at]), quoted(&raw[at..]));
    let title = format!("make it a part of `{}`", above.key);
    Some(Fix::suggested(title, vec![Edit::replace(span, joined)]))
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
