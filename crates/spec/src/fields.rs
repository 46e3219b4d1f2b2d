//! The frontmatter keys we know, as one table.

use prowess_diag::suggest;

/// A frontmatter key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key, exactly as it is written.
    pub key: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Who defined it.
    pub home: Home,
    /// One sentence for the schema and for editors.
    pub summary: &'static str,
    letters: u32,
}

/// What the value of a key may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A yes or no; the value assumed when it cannot be understood is the safer one.
    Flag {
        /// What an absent key means.
        default: bool,
        /// What a value that is neither yes nor no means.
        safer: bool,
    },
    /// A list of tools: text, or a list.
    Tools,
    /// Words: text split at blanks, or a list.
    Words,
    /// Glob patterns: text split at commas, or a list.
    Globs,
    /// A whole number.
    Number,
    /// A map.
    Map,
}

/// Who defined a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The open standard.
    Standard,
    /// Claude Code.
    ClaudeCode,
    /// Another system whose skills we run.
    Other,
}

/// Levels of reasoning effort.
pub const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Every key we act on or check, the standard's first.
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
        "What the skill needs from its environment, at most 500 characters.",
    ),
    field(
        "metadata",
        Shape::Map,
        Home::Standard,
        "Further facts, text under text keys.",
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
        "What to type after the name, shown while typing.",
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
        "Whether only people may invoke the skill.",
    ),
    field(
        "user-invocable",
        Shape::Flag {
            default: true,
            safer: false,
        },
        Home::ClaudeCode,
        "Whether people may invoke the skill by name.",
    ),
    field(
        "disallowed-tools",
        Shape::Tools,
        Home::ClaudeCode,
        "Tools that are taken away while the skill is active.",
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
        "`fork` runs the skill in a conversation of its own.",
    ),
    field(
        "agent",
        Shape::Text,
        Home::ClaudeCode,
        "Kind of agent for `context: fork`.",
    ),
    field(
        "background",
        Shape::Flag {
            default: true,
            safer: false,
        },
        Home::ClaudeCode,
        "Whether a forked skill runs in the background.",
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
        "Files whose use makes the skill available.",
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
        "How many turns a sub-run may take (Agentick).",
    ),
    field(
        "always_present",
        Shape::Flag {
            default: false,
            safer: false,
        },
        Home::Other,
        "Whether the skill is always listed in the prompt (Planck).",
    ),
    field(
        "creator",
        Shape::Text,
        Home::Other,
        "Who wrote the skill: `user` or `agent` (Planck).",
    ),
    field(
        "planck_version",
        Shape::Text,
        Home::Other,
        "Planck version that shipped the skill.",
    ),
    field("version", Shape::Text, Home::Other, "Version of the skill."),
];

/// Keys that belong under `metadata` and are often written at the top level.
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

/// Tells whether the open standard defines a key.
pub fn is_standard(key: &str) -> bool {
    find(key).is_some_and(|field| field.home == Home::Standard)
}

/// Returns the known key that a misspelt one was meant to be.
pub fn meant(key: &str) -> Option<&'static str> {
    // Spellings in the wild that are further from the key than a slip of the finger.
    const KNOWN: &[(&str, &str)] = &[
        ("user-invokable", "user-invocable"),
        ("argumentHint", "argument-hint"),
        ("tools", "allowed-tools"),
        ("args", "arguments"),
        ("desc", "description"),
    ];
    // Words of their own that are near a key of ours.
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
    // `lisence` has all the letters of `license`, so that more of them may be out of place.
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
    fn misspelt_keys_are_recognised_and_foreign_ones_are_not() {
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
