//! Matches names with a query. This decides what a model may learn about a skill of which it sees
//! only the name: the hidden description must not count.

use std::collections::HashSet;

use super::tokens::{self, TokenKind};

/// The words of a query, to be compared with names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMatcher {
    /// Stems, without stop words if there are other words.
    words: HashSet<Vec<u8>>,
}

/// The part of a name that a query contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// No word of the name.
    No,
    /// Some words of the name.
    Part,
    /// All words of the name.
    Whole,
}

impl NameMatch {
    /// Returns the fit of a skill of which only the name may be shown.
    pub fn fit(self) -> f32 {
        match self {
            Self::No | Self::Part => 0.0,
            Self::Whole => 1.0,
        }
    }
}

impl NameMatcher {
    /// Prepares a query.
    pub fn new(query: &str) -> Self {
        Self {
            words: words(query, true).into_iter().collect(),
        }
    }

    /// Compares a name with the query.
    pub fn compare(&self, name: &str) -> NameMatch {
        let words = words(name, false);
        let found = words.iter().filter(|word| self.words.contains(*word));
        match found.count() {
            0 => NameMatch::No,
            found if found < words.len() => NameMatch::Part,
            _ => NameMatch::Whole,
        }
    }
}

/// Returns the stems of a text. Stop words count only if there are no other words.
fn words(text: &str, with_parts: bool) -> Vec<Vec<u8>> {
    let (mut words, mut stop_words) = (Vec::new(), Vec::new());
    tokens::each(text, |word, kind| {
        if kind == TokenKind::Part && !with_parts {
            return;
        }
        let list = if tokens::is_stop_word(word) {
            &mut stop_words
        } else {
            &mut words
        };
        list.push(tokens::stemmed(word));
    });
    if words.is_empty() { stop_words } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_whole_words() {
        use NameMatch::{No, Part, Whole};
        for (name, query, expected) in [
            ("pdf-forms", "fill in this PDF form", Whole),
            ("pdf-forms", "merge the pdf", Part),
            ("pdf-forms", "a form of address", Part),
            ("pdf-forms", "a f or m", No),
            ("pdf-forms", "write a poem", No),
            ("deploy", "Deploying it", Whole),
            ("how-to-deploy", "deploy", Whole),
            ("how-to-deploy", "how do I bake bread?", No),
            ("help", "help me with the parser", No),
            ("help", "help", Whole),
            ("python", "python3 scripts", Whole),
            ("数据分析", "请帮我做数据分析", Whole),
            ("数据分析", "写一首诗", No),
            ("", "pdf", No),
            ("pdf", "", No),
        ] {
            let found = NameMatcher::new(query).compare(name);
            assert_eq!(found, expected, "{name}: {query}");
        }
    }
}
