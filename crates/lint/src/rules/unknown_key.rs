//! An unknown key.

use prowess_diag::{Fix, LineIndex, Span, TextEdit, wording};

use super::{
    FindingSink, LintFinding, LintSubject, MOST_SHOWN, RuleLevels, as_flat_text, is_nested,
};
use crate::profile::{LintProfile, LintTarget};
use prowess_spec::fields::{self, FieldOrigin, METADATA_KEYS};
use prowess_spec::parse::ParsedSkill;
use prowess_spec::vocabulary;
use prowess_spec::yaml::{YamlEntry, YamlNode, YamlStyle, YamlValue, write};

/// Maximum number of keys named in one piece of advice.
const MOST_NAMED: usize = 8;

rule!(
    "unknown-key",
    RuleLevels::of("EWN"),
    Suggested,
    "a key is not part of the format"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // `claude-ai-keys` reports these in the words of the service.
    if out.target() == Some(LintTarget::ClaudeAi) {
        return;
    }
    let entries = &parsed.manifest.entries;
    let mut advised: [Option<Kind>; 3] = [None; 3];
    for (index, (entry, meant)) in entries.iter().zip(skill.meant()).enumerate() {
        let key = &*entry.key;
        if is_known(key, out.profile()) || meant.is_some() {
            continue;
        }
        // The most common finding of all, so avoid `format!`.
        let message = if key.contains('`') {
            ["unknown key in the frontmatter: ", &wording::tick(key)].concat()
        } else {
            ["unknown key in the frontmatter: `", key, "`"].concat()
        };
        let finding = LintFinding::at(entry.key_span, message);
        if let Some(above) = index.checked_sub(1).and_then(|above| entries.get(above))
            && is_sentence(key)
        {
            let advice = format!(
                "indent it to make it part of `{}`, and quote the whole value",
                above.key
            );
            out.report(
                finding
                    .label(format!("a separate key; it is not part of `{}`", above.key))
                    .fix_or_help(join(parsed.text, above, entry), advice),
            );
            continue;
        }
        let kind = Kind::of(key);
        let finding = finding.label(kind.label());
        if let Some(other) = kind.in_metadata(parsed, key) {
            let at = other.key_span.start as usize;
            let line = LineIndex::new(parsed.text).position(parsed.text, at).line;
            let key = wording::tick(key);
            let help = format!("`metadata` already has a {key} (line {line}); remove this one");
            out.report(finding.help(help));
            continue;
        }
        if kind != Kind::ClaudeCode && is_nested(&entry.value) {
            out.report(finding.help(nested_advice(entry)));
            continue;
        }
        // The advice is the same for all keys of a kind and is given once.
        out.report(if advised.contains(&Some(kind)) {
            finding
        } else {
            advised[kind as usize] = Some(kind);
            finding.help(kind.advice(skill, out.profile()))
        });
    }
}

/// The place where a key would be valid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Metadata,
    ClaudeCode,
    Unknown,
}

impl Kind {
    fn of(key: &str) -> Self {
        if METADATA_KEYS.contains(&key) {
            Self::Metadata
        } else if fields::find(key).is_some_and(|field| field.home == FieldOrigin::ClaudeCode) {
            Self::ClaudeCode
        } else {
            Self::Unknown
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Metadata => "belongs under `metadata`",
            Self::ClaudeCode => "known to Claude Code only",
            Self::Unknown => "this key has no effect",
        }
    }

    /// Returns the advice for all keys of this kind.
    fn advice(self, skill: &LintSubject<'_>, profile: LintProfile) -> String {
        let Some(parsed) = skill.parsed else {
            return String::new();
        };
        let entries = parsed.manifest.entries.iter().zip(skill.meant());
        let entries = entries.filter(|(entry, meant)| {
            let key = &*entry.key;
            meant.is_none()
                && Self::of(key) == self
                && !is_known(key, profile)
                && !is_sentence(key)
                && (self == Self::ClaudeCode || !is_nested(&entry.value))
                && self.in_metadata(parsed, key).is_none()
        });
        let entries: Vec<&YamlEntry> = entries.map(|(entry, _)| entry).collect();
        let keys: Vec<&str> = entries.iter().map(|entry| &*entry.key).collect();
        // Below `metadata`, all values must be strings.
        let other = entries.iter().find_map(|entry| as_text(entry));
        let any = if self == Self::Unknown {
            ", which accepts any key"
        } else {
            ", indented"
        };
        let how = match other {
            Some(text) if keys.len() == 1 => format!(" as a string: {text}"),
            Some(text) => format!("{any}, and write each value as a string: {text}"),
            None => any.to_owned(),
        };
        let (what, them) = match keys.as_slice() {
            [only] => (wording::tick(only), "it"),
            many if many.len() > MOST_NAMED => (format!("these {} keys", many.len()), "them"),
            many => (wording::all(many.iter().map(wording::tick)), "them"),
        };
        match self {
            Self::Metadata if has_flow_metadata(parsed) => {
                format!("move {what} into the braces of `metadata`")
            }
            Self::Metadata if parsed.manifest.entry("metadata").is_some() => {
                format!("move {what} below `metadata:`{how}")
            }
            Self::Metadata => format!("add a line `metadata:`, and move {what} below it{how}"),
            Self::ClaudeCode => format!(
                "remove {what}, or use the profile `claude-code` if the skill is only for \
                 Claude Code"
            ),
            Self::Unknown => format!("remove {what}, or move {them} below `metadata:`{how}"),
        }
    }

    /// Returns the entry of the same key in `metadata`.
    fn in_metadata<'a>(self, parsed: &'a ParsedSkill<'_>, key: &str) -> Option<&'a YamlEntry<'a>> {
        let entries = parsed.manifest.entry("metadata")?.value.entries()?;
        entries
            .iter()
            .find(|entry| &*entry.key == key)
            .filter(|_| self != Self::ClaudeCode)
    }
}

/// Returns `true` if `metadata` is written in braces, which cannot have indented lines.
fn has_flow_metadata(parsed: &ParsedSkill<'_>) -> bool {
    let metadata = parsed.manifest.entry("metadata");
    metadata.is_some_and(|entry| entry.value.span.of(parsed.text).starts_with('{'))
}

/// Returns the advice for a map, which is as invalid below `metadata`.
fn nested_advice(entry: &YamlEntry) -> String {
    let example =
        as_flat_text(&entry.key, &entry.value).map_or(String::new(), |text| format!(": {text}"));
    format!(
        "remove {}, or write each of its values as a string with its own key below \
         `metadata:`{example}",
        wording::tick(&entry.key)
    )
}

/// Returns a list, number or date as the string that it could be below `metadata`.
fn as_text(entry: &YamlEntry) -> Option<String> {
    let text = match &entry.value.value {
        YamlValue::Scalar(text, YamlStyle::Plain)
            if !entry.value.is_null() && write::looks_typed(text) =>
        {
            write::quoted(text)
        }
        _ => {
            let items: Option<Vec<&str>> =
                entry.value.items()?.iter().map(YamlNode::text).collect();
            write::scalar(&items?.join(", "))
        }
    };
    Some(wording::tick(wording::shorten(
        &format!("{}: {text}", entry.key),
        MOST_SHOWN,
    )))
}

/// Returns `true` for a sentence such as `Use when: …` that belongs to the value above.
pub(super) fn is_sentence(key: &str) -> bool {
    key.contains(' ') && vocabulary::says_when(key)
}

/// Makes an entry part of the value above, if both are unquoted.
fn join(text: &str, above: &YamlEntry, entry: &YamlEntry) -> Option<Fix> {
    let is_bare = |node: &YamlNode| matches!(node.value, YamlValue::Scalar(_, YamlStyle::Plain));
    let span = Span::new(
        above.value.span.start as usize,
        entry.value.span.end as usize,
    );
    let raw = span.of(text);
    if !is_bare(&above.value) || !is_bare(&entry.value) || raw.contains(" #") {
        return None;
    }
    let at = entry.key_span.start as usize - span.start as usize;
    let quoted = |part: &str| part.replace('\'', "''");
    let joined = format!("'{}  {}'", quoted(&raw[..at]), quoted(&raw[at..]));
    let title = format!("make it part of `{}`", above.key);
    Some(Fix::suggested(title, vec![TextEdit::replace(span, joined)]))
}

/// Returns `true` if a profile knows a key.
pub(super) fn is_known(key: &str, profile: LintProfile) -> bool {
    fields::find(key).is_some_and(|field| match profile {
        LintProfile::Spec => field.home == FieldOrigin::Standard,
        LintProfile::ClaudeCode | LintProfile::Lenient | LintProfile::Crew => true,
    })
}
