//! Regular expressions that are compiled once and match in linear time.

use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::{captures::Captures, syntax};

/// Most bytes of a match. Patterns have no counted repetitions of their own, which make them large.
const LONGEST: usize = 600;
/// Most matches that are too long before the search ends.
const MOST_TRIES: usize = 16;

/// A regular expression in any letter case, without backtracking: its time grows with the length of the
/// text only.
#[derive(Debug)]
pub(crate) struct Matcher(Option<Regex>);

impl Matcher {
    /// Compiles a pattern. One that is invalid matches nothing, and fails in tests.
    pub(crate) fn new(pattern: &str) -> Self {
        let regex = Regex::builder()
            .syntax(syntax::Config::new().case_insensitive(true))
            .build(pattern);
        debug_assert!(regex.is_ok(), "{pattern}: {regex:?}");
        Self(regex.ok())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns the first match that is not longer than a command.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        let regex = self.0.as_ref()?;
        let mut from = 0;
        for _ in 0..MOST_TRIES {
            let input = Input::new(text).range(from..);
            let found = regex.search(&input)?.range();
            if found.len() <= LONGEST {
                return Some(found);
            }
            from = text[found.start..]
                .char_indices()
                .nth(1)
                .map(|(next, _)| found.start + next)?;
        }
        None
    }

    pub(crate) fn find_all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let regexes = self.0.iter();
        regexes.flat_map(move |regex| regex.find_iter(text).map(|found| found.range()))
    }

    /// Returns the ranges of the whole match and of its groups.
    pub(crate) fn groups(&self, text: &str) -> Option<Groups> {
        let regex = self.0.as_ref()?;
        let mut captures = regex.create_captures();
        regex.captures(text, &mut captures);
        captures.is_match().then_some(Groups(captures))
    }
}

/// The groups of a match.
#[derive(Debug)]
pub(crate) struct Groups(Captures);

impl Groups {
    /// Returns the text of a group.
    pub(crate) fn text<'t>(&self, text: &'t str, group: usize) -> Option<&'t str> {
        let span = self.0.get_group(group)?;
        text.get(span.range())
    }

    /// Returns the range of the whole match.
    pub(crate) fn range(&self) -> Range<usize> {
        self.0.get_group(0).map_or(0..0, |span| span.range())
    }
}

/// Defines a matcher that is compiled when it is first used. Blanks in the pattern do not count: write
/// `\s` or `\x20`.
macro_rules! matcher {
    ($name:ident, $pattern:expr) => {
        static $name: std::sync::LazyLock<crate::matching::Matcher> =
            std::sync::LazyLock::new(|| {
                crate::matching::Matcher::new(&format!("(?x){}", $pattern))
            });
    };
}
pub(crate) use matcher;
