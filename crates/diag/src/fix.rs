//! Edits that mend what a diagnostic complains about.

use std::collections::BTreeMap;

use crate::Span;

/// How sure we are that a fix keeps the author's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// Shown to the author; applied only where `--unsafe-fixes` asks for it.
    Suggested,
    /// Keeps the meaning; `--fix` applies it.
    Safe,
}

impl Applicability {
    /// Returns the word used in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Suggested => "suggested",
        }
    }
}

/// One replacement of a range of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

impl Edit {
    /// Replaces `span` by `replacement`.
    pub fn replace(span: Span, replacement: impl Into<String>) -> Self {
        Self {
            span,
            replacement: replacement.into(),
        }
    }

    /// Inserts text at `offset`.
    pub fn insert(offset: usize, text: impl Into<String>) -> Self {
        Self::replace(Span::at(offset), text)
    }

    /// Deletes `span`.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, "")
    }
}

/// A titled set of edits that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Imperative phrase, lower case: "rename the field".
    pub title: String,
    /// Whether `--fix` may apply it.
    pub applicability: Applicability,
    /// Edits in order of position, none overlapping another.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Returns a fix that `--fix` applies.
    pub fn safe(title: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self {
            title: title.into(),
            applicability: Applicability::Safe,
            edits,
        }
    }

    /// Returns a fix that `--fix` alone only shows.
    pub fn suggested(title: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self {
            title: title.into(),
            applicability: Applicability::Suggested,
            edits,
        }
    }

    /// Tells whether `--fix` applies it.
    pub fn is_safe(&self) -> bool {
        self.applicability == Applicability::Safe
    }
}

/// Applies the fixes that do not touch each other, first come first served.
///
/// Returns the new text and how many fixes went in. A fix is applied whole or not at all; one
/// that overlaps an earlier one is left for the next round, except that an identical one counts
/// as applied. Edits that do not fit the text are refused.
pub fn apply<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> (String, usize) {
    let (result, applied) = apply_named(text, fixes.into_iter().map(|fix| ((), fix)));
    (result, applied.len())
}

/// Does what [`apply`] does, and returns the names of the fixes that went in.
pub fn apply_named<'a, N>(
    text: &str,
    fixes: impl IntoIterator<Item = (N, &'a Fix)>,
) -> (String, Vec<N>) {
    let mut taken: BTreeMap<u32, &Edit> = BTreeMap::new();
    let mut applied = Vec::new();
    for (name, fix) in fixes {
        let fits = fix
            .edits
            .iter()
            .all(|edit| text.get(edit.span.range()).is_some());
        if !fits || fix.edits.is_empty() {
            continue;
        }
        if fix
            .edits
            .iter()
            .all(|edit| taken.get(&edit.span.start) == Some(&edit))
        {
            applied.push(name);
            continue;
        }
        if !fix.edits.iter().any(|edit| touches(&taken, edit)) {
            taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit)));
            applied.push(name);
        }
    }
    let mut result = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in taken.into_values() {
        result.push_str(text.get(from..edit.span.start as usize).unwrap_or_default());
        result.push_str(&edit.replacement);
        from = edit.span.end as usize;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    (result, applied)
}

/// An edit touches another when they share a byte, or start at the same place (their order would
/// decide). Those taken lie apart, so that only its neighbours matter.
fn touches(taken: &BTreeMap<u32, &Edit>, edit: &Edit) -> bool {
    let before = taken.range(..=edit.span.start).next_back();
    let after = taken.range(edit.span.start..).next();
    before
        .is_some_and(|(&start, other)| start == edit.span.start || other.span.end > edit.span.start)
        || after.is_some_and(|(&start, _)| start == edit.span.start || start < edit.span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(edits: &[(usize, usize, &str)]) -> Fix {
        let edits = edits
            .iter()
            .map(|&(s, e, r)| Edit::replace(Span::new(s, e), r))
            .collect();
        Fix::safe("change", edits)
    }

    #[test]
    fn separate_fixes_all_go_in_whatever_their_order() {
        let (text, applied) = apply("abcdef", [&fix(&[(4, 5, "E")]), &fix(&[(0, 1, "A")])]);
        assert_eq!((text.as_str(), applied), ("AbcdEf", 2));
    }

    #[test]
    fn an_overlapping_fix_waits_whole() {
        let (text, applied) = apply(
            "abcdef",
            [&fix(&[(1, 3, "-")]), &fix(&[(0, 1, "A"), (2, 4, "!")])],
        );
        assert_eq!((text.as_str(), applied), ("a-def", 1));
    }

    #[test]
    fn the_same_fix_twice_is_applied_once_and_counted_twice() {
        let (text, applied) = apply("abc", [&fix(&[(1, 2, "B")]), &fix(&[(1, 2, "B")])]);
        assert_eq!((text.as_str(), applied), ("aBc", 2));
    }

    #[test]
    fn edits_outside_the_text_or_inside_a_character_are_refused() {
        let (text, applied) = apply("é", [&fix(&[(0, 9, "x")]), &fix(&[(1, 2, "x")])]);
        assert_eq!((text.as_str(), applied), ("é", 0));
    }
}
