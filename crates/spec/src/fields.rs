//! The table of known frontmatter keys.

use prowess_diag::suggest;

/// A frontmatter key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key as written in the file.
    pub key: &'static str,
    /// The shape of the value.
    pub shape: Shape,
    /// The specification that defines the key.
    pub home: Home,
    /// Description in one sentence, for the JSON Schema and for editors.
    pub summary: &'static str,
    letters: u32,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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
pub enum Home {
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
pub const FIELDS: &[Field] = &[
    field(
        "name",
        Shape::Text,
        Home::Standard,
        "Identifier: 1 to 64 lower-case letters, digits and hyphens, equal to the folder's name.",
    ),
    field(
        "description",
        Shape::Text,
        Home::Standard,
        "What the skill does and when to use it, at most 1,024 characters.",
    ),
    field(
        "license",
        Shape::Text,
        Home::Standard,
        "Name of the licence, or of the bundled licence file.",
    ),
    field(
        "compatibility",
        Shape::Text,
        Home::Standard,
        "Environment requirements of the skill, at most 500 characters.",
    ),
    field(
        "metadata",
        Shape::Map,
        Home::Standard,
        "Additional metadata: string values under string keys.",
    ),
    field(
        "allowed-tools",
        Shape::Tools,
        Home::Standard,
        "Tools that may be used without asking, such as `Read Bash(git add:*)`.",
    ),
    field(
        "when_to_use",
        Shape::Text,
        Home::ClaudeCode,
        "When to use the skill; shown after the description.",
    ),
    field(
        "argument-hint",
        Shape::Text,
        Home::ClaudeCode,
        "Hint for the arguments, shown while typing.",
    ),
    field(
        "arguments",
        Shape::Words,
        Home::ClaudeCode,
        "Names for `$name` placeholders, in order.",
    ),
    field(
        "disable-model-invocation",
        Shape::Flag {
            default: false,
            safer: true,
        },
        Home::ClaudeCode,
        "If true, only users can invoke the skill, not the model.",
    ),
    field(
        "user-invocable",
        Shape::Flag {
            default: true,
            safer: false,
        },
        Home::ClaudeCode,
        "If false, users cannot invoke the skill by name.",
    ),
    field(
        "disallowed-tools",
        Shape::Tools,
        Home::ClaudeCode,
        "Tools that are removed while the skill is active.",
    ),
    field(
        "model",
        Shape::Text,
        Home::ClaudeCode,
        "Model to use while the skill is active, or `inherit`.",
    ),
    field(
        "effort",
        Shape::Choice(EFFORTS),
        Home::ClaudeCode,
        "Reasoning effort while the skill is active.",
    ),
    field(
        "context",
        Shape::Choice(&["fork", "inherit", "inline"]),
        Home::ClaudeCode,
        "`fork` runs the skill in a separate conversation.",
    ),
    field(
        "agent",
        Shape::Text,
        Home::ClaudeCode,
        "Agent type for `context: fork`.",
    ),
    field(
        "background",
        Shape::Flag {
            default: true,
            safer: false,
        },
        Home::ClaudeCode,
        "If true, a forked skill runs in the background.",
    ),
    field(
        "hooks",
        Shape::Map,
        Home::ClaudeCode,
        "Commands that run at events while the skill is active.",
    ),
    field(
        "paths",
        Shape::Globs,
        Home::ClaudeCode,
        "Glob patterns: using a matching file makes the skill available.",
    ),
    field(
        "shell",
        Shape::Choice(&["bash", "powershell"]),
        Home::ClaudeCode,
        "Shell for injected commands.",
    ),
    field(
        "maxTicks",
        Shape::Number,
        Home::Other,
        "Maximum number of turns of a sub-run (Agentick).",
    ),
    field(
        "always_present",
        Shape::Flag {
            default: false,
            safer: false,
        },
        Home::Other,
        "If true, the skill is always listed in the prompt (Planck).",
    ),
    field(
        "creator",
        Shape::Text,
        Home::Other,
        "Author of the skill: `user` or `agent` (Planck).",
    ),
    field(
        "planck_version",
        Shape::Text,
        Home::Other,
        "Planck version that shipped the skill.",
    ),
    field("version", Shape::Text, Home::Other, "Version of the skill."),
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

const fn field(key: &'static str, shape: Shape, home: Home, summary: &'static str) -> Field {
    Field {
        key,
        shape,
        home,
        summary,
        letters: suggest::letters(key),
    }
}

/// Returns the field with this exact key.
pub fn find(key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.key == key)
}

/// Returns `true` if the Agent Skills standard defines the key.
pub fn is_standard(key: &str) -> bool {
    find(key).is_some_and(|field| field.home == Home::Standard)
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
                count(Home::Standard),
                count(Home::Standard) + count(Home::ClaudeCode)
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
