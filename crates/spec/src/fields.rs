//! The table of known frontmatter keys.

use prowess_diag::suggest;

/// A frontmatter key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontmatterField {
    /// The key as written in the file.
    pub key: &'static str,
    /// The shape of the value.
    pub shape: FieldShape,
    /// The specification that defines the key.
    pub home: FieldOrigin,
    /// Description in one sentence, for the JSON Schema and for editors.
    pub summary: &'static str,
    letters: u32,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldShape {
    /// Text.
    Text,
    /// One of a set of words.
    Choice(&'static [&'static str]),
    /// A boolean. If the value cannot be parsed, the safer value is used.
    Flag {
        /// The value if the key is absent.
        default: bool,
        /// The value if it cannot be parsed.
        safer: bool,
    },
    /// A list of tools: a string or a list.
    Tools,
    /// Words: a string split at whitespace, or a list.
    Words,
    /// Glob patterns: a string split at commas, or a list.
    Globs,
    /// An integer.
    Number,
    /// A map.
    Map,
}

/// The specification that defines a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrigin {
    /// The Agent Skills standard.
    Standard,
    /// Claude Code.
    ClaudeCode,
    /// Another agent whose skills are supported.
    Other,
}

/// Levels of reasoning effort.
pub const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Every key that Prowess uses or checks, those of the standard first.
pub const FIELDS: &[FrontmatterField] = &[
    field(
        "name",
        FieldShape::Text,
        FieldOrigin::Standard,
        "Identifier: 1 to 64 lower-case letters, digits and hyphens, equal to the folder's name.",
    ),
    field(
        "description",
        FieldShape::Text,
        FieldOrigin::Standard,
        "What the skill does and when to use it, at most 1,024 characters.",
    ),
    field(
        "license",
        FieldShape::Text,
        FieldOrigin::Standard,
        "Name of the licence, or of the bundled licence file.",
    ),
    field(
        "compatibility",
        FieldShape::Text,
        FieldOrigin::Standard,
        "Environment requirements of the skill, at most 500 characters.",
    ),
    field(
        "metadata",
        FieldShape::Map,
        FieldOrigin::Standard,
        "Additional metadata: string values under string keys.",
    ),
    field(
        "allowed-tools",
        FieldShape::Tools,
        FieldOrigin::Standard,
        "Tools that may be used without asking, such as `Read Bash(git add:*)`.",
    ),
    field(
        "when_to_use",
        FieldShape::Text,
        FieldOrigin::ClaudeCode,
        "When to use the skill; shown after the description.",
    ),
    field(
        "argument-hint",
        FieldShape::Text,
        FieldOrigin::ClaudeCode,
        "Hint for the arguments, shown while typing.",
    ),
    field(
        "arguments",
        FieldShape::Words,
        FieldOrigin::ClaudeCode,
        "Names for `$name` placeholders, in order.",
    ),
    field(
        "disable-model-invocation",
        FieldShape::Flag {
            default: false,
            safer: true,
        },
        FieldOrigin::ClaudeCode,
        "If true, only users can invoke the skill, not the model.",
    ),
    field(
        "user-invocable",
        FieldShape::Flag {
            default: true,
            safer: false,
        },
        FieldOrigin::ClaudeCode,
        "If false, users cannot invoke the skill by name.",
    ),
    field(
        "disallowed-tools",
        FieldShape::Tools,
        FieldOrigin::ClaudeCode,
        "Tools that are removed while the skill is active.",
    ),
    field(
        "model",
        FieldShape::Text,
        FieldOrigin::ClaudeCode,
        "Model to use while the skill is active, or `inherit`.",
    ),
    field(
        "effort",
        FieldShape::Choice(EFFORTS),
        FieldOrigin::ClaudeCode,
        "Reasoning effort while the skill is active.",
    ),
    field(
        "context",
        FieldShape::Choice(&["fork", "inherit", "inline"]),
        FieldOrigin::ClaudeCode,
        "`fork` runs the skill in a separate conversation.",
    ),
    field(
        "agent",
        FieldShape::Text,
        FieldOrigin::ClaudeCode,
        "Agent type for `context: fork`.",
    ),
    field(
        "background",
        FieldShape::Flag {
            default: true,
            safer: false,
        },
        FieldOrigin::ClaudeCode,
        "If true, a forked skill runs in the background.",
    ),
    field(
        "hooks",
        FieldShape::Map,
        FieldOrigin::ClaudeCode,
        "Commands that run at events while the skill is active.",
    ),
    field(
        "paths",
        FieldShape::Globs,
        FieldOrigin::ClaudeCode,
        "Glob patterns: using a matching file makes the skill available.",
    ),
    field(
        "shell",
        FieldShape::Choice(&["bash", "powershell"]),
        FieldOrigin::ClaudeCode,
        "Shell for injected commands.",
    ),
    field(
        "maxTicks",
        FieldShape::Number,
        FieldOrigin::Other,
        "Maximum number of turns of a sub-run (Agentick).",
    ),
    field(
        "always_present",
        FieldShape::Flag {
            default: false,
            safer: false,
        },
        FieldOrigin::Other,
        "If true, the skill is always listed in the prompt (Planck).",
    ),
    field(
        "creator",
        FieldShape::Text,
        FieldOrigin::Other,
        "Author of the skill: `user` or `agent` (Planck).",
    ),
    field(
        "planck_version",
        FieldShape::Text,
        FieldOrigin::Other,
        "Planck version that shipped the skill.",
    ),
    field(
        "version",
        FieldShape::Text,
        FieldOrigin::Other,
        "Version of the skill.",
    ),
];

/// Keys that belong under `metadata` but are often written at the top level.
pub const METADATA_KEYS: &[&str] = &[
    "version",
    "author",
    "tags",
    "category",
    "keywords",
    "homepage",
    "repository",
    "source",
    "maintainer",
];

const fn field(
    key: &'static str,
    shape: FieldShape,
    home: FieldOrigin,
    summary: &'static str,
) -> FrontmatterField {
    FrontmatterField {
        key,
        shape,
        home,
        summary,
        letters: suggest::letters(key),
    }
}

/// Returns the field with this exact key.
pub fn find(key: &str) -> Option<&'static FrontmatterField> {
    FIELDS.iter().find(|field| field.key == key)
}

/// Returns `true` if the Agent Skills standard defines the key.
pub fn is_standard(key: &str) -> bool {
    find(key).is_some_and(|field| field.home == FieldOrigin::Standard)
}

/// Returns the known key that a misspelt key was most likely meant to be.
pub fn meant(key: &str) -> Option<&'static str> {
    // Common misspellings that are too far from the key for the distance check.
    const KNOWN: &[(&str, &str)] = &[
        ("user-invokable", "user-invocable"),
        ("argumentHint", "argument-hint"),
        ("tools", "allowed-tools"),
        ("args", "arguments"),
        ("desc", "description"),
    ];
    // Valid words that happen to be close to a known key.
    const OTHER: &[&str] = &["mode", "models", "agents"];
    let is_metadata = || {
        METADATA_KEYS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(key))
    };
    if find(key).is_some() || is_metadata() || OTHER.contains(&key) {
        return None;
    }
    let known = KNOWN
        .iter()
        .find(|(spelling, _)| *spelling == key)
        .map(|&(_, key)| key);
    let fields = || FIELDS.iter().map(|field| (field.key, field.letters));
    // `lisence` has the same letters as `license`, so allow a larger distance.
    let has_all = |field: &(&str, u32)| field.1 == suggest::letters(key);
    known
        .or_else(|| suggest::nearest_known(key, fields(), 4))
        .or_else(|| suggest::nearest_known(key, fields().filter(has_all), 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_has_twenty_keys_and_the_standard_six() {
        let count = |home| FIELDS.iter().filter(|field| field.home == home).count();
        assert_eq!(
            (
                count(FieldOrigin::Standard),
                count(FieldOrigin::Standard) + count(FieldOrigin::ClaudeCode)
            ),
            (6, 20)
        );
    }

    #[test]
    fn misspelt_keys_are_recognised_and_unrelated_keys_are_not() {
        for (typed, expected) in [
            ("allowed_tools", Some("allowed-tools")),
            ("allowedTools", Some("allowed-tools")),
            ("argument_hint", Some("argument-hint")),
            ("Name", Some("name")),
            ("disableModelInvocation", Some("disable-model-invocation")),
            ("user-invokable", Some("user-invocable")),
            ("lisence", Some("license")),
            ("desc", Some("description")),
            ("name", None),
            ("version", None),
            ("tags", None),
            ("triggers", None),
            ("contact", None),
            ("created", None),
            ("mode", None),
            ("Version", None),
        ] {
            assert_eq!(meant(typed), expected, "{typed}");
        }
    }
}
