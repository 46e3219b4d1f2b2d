//! Matchers: select the tools or session sources that a hook runs for.

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// Maximum length of a matcher, in bytes.
const MAX_BYTES: usize = 1024;
/// Maximum memory of a compiled pattern, in bytes.
const MAX_PROGRAM: usize = 256 * 1024;

/// Selects the names that a hook runs for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Matcher {
    /// All names: no matcher, or `*`.
    #[default]
    All,
    /// Exactly these names: `Bash`, `Edit|Write`, `Edit, Write`.
    Names(Box<[Box<str>]>),
    /// Names that contain a match of a regular expression.
    Pattern(Regex),
}

impl Matcher {
    /// Parses a matcher, or returns why it is invalid. Matching is bounded in time and memory:
    /// patterns run in linear time and do not support look-around and backreferences.
    pub fn parse(text: &str) -> Result<Self, Box<str>> {
        if text.len() > MAX_BYTES {
            return Err("it is longer than 1,024 bytes".into());
        }
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        if text.chars().all(plain) {
            let names = text
                .split([',', '|'])
                .map(str::trim)
                .filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(Box::from).collect()));
        }
        // As in JavaScript, `\w` and similar classes are ASCII only.
        let syntax = syntax::Config::new()
            .unicode(false)
            .utf8(false)
            .nest_limit(50);
        let limits = Regex::config()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_PROGRAM))
            .onepass_size_limit(Some(MAX_PROGRAM))
            .dfa_size_limit(Some(MAX_PROGRAM))
            .hybrid_cache_capacity(MAX_PROGRAM);
        match Regex::builder()
            .syntax(syntax)
            .configure(limits)
            .build(text)
        {
            Ok(pattern) => Ok(Self::Pattern(pattern)),
            Err(error) if error.size_limit().is_some() => {
                Err("it is too large when compiled".into())
            }
            Err(_) => Err("it is not a supported regular expression".into()),
        }
    }

    /// Returns `true` if the hook runs for this name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|known| **known == *name),
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(matcher: &str, name: &str) -> bool {
        Matcher::parse(matcher).unwrap().matches(name)
    }

    #[test]
    fn names_match_exactly_and_patterns_match_anywhere() {
        for (matcher, name) in [
            ("", "Bash"),
            ("*", "anything"),
            (" ", "Bash"),
            ("Bash", "Bash"),
            ("Edit|Write", "Write"),
            ("Edit, Write", "Write"),
            ("my-tool", "my-tool"),
            ("mcp__.*", "mcp__memory__get"),
            ("^Notebook", "NotebookEdit"),
            ("Edit$", "NotebookEdit"),
            ("W.b", "xWebFetch"),
            (".*", ""),
        ] {
            assert!(fits(matcher, name), "{matcher} {name}");
        }
        for (matcher, name) in [
            ("Bash", "BashOutput"),
            ("bash", "Bash"),
            ("Edit|Write", "Edit|Write"),
            ("|", ""),
            ("^Edit", "NotebookEdit"),
            (r"^\w$", "ä"),
        ] {
            assert!(!fits(matcher, name), "{matcher} {name}");
        }
    }

    #[test]
    fn invalid_and_large_patterns_are_rejected() {
        for matcher in [
            "(",
            "^(?!Read)",
            r"(a)\1",
            "[z-a]",
            "(?:a{1000}){1000}",
            "((a{99}){99}){99}.",
        ] {
            assert!(Matcher::parse(matcher).is_err(), "{matcher}");
        }
        assert!(Matcher::parse(&"(".repeat(1024)).is_err());
        assert!(Matcher::parse(&"x".repeat(1025)).is_err());
    }

    #[test]
    fn matching_takes_linear_time() {
        let matcher = Matcher::parse("^(a+)+$").unwrap();
        assert!(!matcher.matches(&("a".repeat(100_000) + "b")));
    }
}
