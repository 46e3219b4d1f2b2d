//! Which tools, or which beginnings of a session, a hook is for.

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// Longest matcher, in bytes.
const MAX_BYTES: usize = 1024;
/// Most memory of a compiled pattern, in bytes.
const MAX_PROGRAM: usize = 256 * 1024;

/// Which names a hook is for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Matcher {
    /// All: nothing was said, or `*`.
    #[default]
    All,
    /// Exactly these: `Bash`, `Edit|Write`, `Edit, Write`.
    Names(Box<[Box<str>]>),
    /// Those in which a regular expression is found, wherever in the name.
    Pattern(Regex),
}

impl Matcher {
    /// Reads a matcher, or says why it cannot be read. Time and memory to match are bounded: patterns
    /// run in time linear in the name, and look-around and back-references are not known.
    pub fn parse(text: &str) -> Result<Self, Box<str>> {
        if text.len() > MAX_BYTES {
            return Err("it has more than 1,024 bytes".into());
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
        // As in JavaScript, `\w` and its like are about ASCII.
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
            Err(error) if error.size_limit().is_some() => Err("it is too large".into()),
            Err(_) => Err("it is no regular expression that is known here".into()),
        }
    }

    /// Tells whether the hook is for this name.
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
    fn names_are_exact_and_patterns_are_found_anywhere() {
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
    fn what_is_no_pattern_or_too_large_is_refused() {
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
    fn time_to_match_is_linear() {
        let matcher = Matcher::parse("^(a+)+$").unwrap();
        assert!(!matcher.matches(&("a".repeat(100_000) + "b")));
    }
}
