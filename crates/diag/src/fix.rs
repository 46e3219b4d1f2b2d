//! Edits that solve the problem a diagnostic reports.

use std::collections::BTreeMap;

use crate::Span;

/// Confidence that a fix keeps the author's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// Shown to the author; applied only with `--unsafe-fixes`.
    Suggested,
    /// Keeps the meaning; applied by `--fix`.
    Safe,
}

impl Applicability {
    /// Returns the name used in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Suggested => "suggested",
        }
    }
}

/// A replacement of one range of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The replaced range; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

impl TextEdit {
    /// Replaces `span` with `replacement`.
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
    /// Confidence that the fix keeps the meaning.
    pub applicability: Applicability,
    /// Non-overlapping edits, sorted by position.
    pub edits: Vec<TextEdit>,
}

impl Fix {
    /// Returns a fix that `--fix` applies.
    pub fn safe(title: impl Into<String>, edits: Vec<TextEdit>) -> Self {
        Self {
            title: title.into(),
            applicability: Applicability::Safe,
            edits,
        }
    }

    /// Returns a fix that `--fix` shows and only `--unsafe-fixes` applies.
    pub fn suggested(title: impl Into<String>, edits: Vec<TextEdit>) -> Self {
        Self {
            title: title.into(),
            applicability: Applicability::Suggested,
            edits,
        }
    }

    /// Returns `true` if `--fix` applies it.
    pub fn is_safe(&self) -> bool {
        self.applicability == Applicability::Safe
    }
}

/// Applies fixes in order, skipping those that overlap an earlier one.
///
/// Returns the new text and the number of fixes applied. A fix is applied completely or not at all.
/// A skipped fix can be applied in the next round; a duplicate of an applied fix counts as applied.
/// Fixes with edits outside the text are skipped.
pub fn apply<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> (String, usize) {
    let (result, applied) = apply_named(text, fixes.into_iter().map(|fix| ((), fix)));
    (result, applied.len())
}

/// Applies fixes like [`apply`], and returns the names of those applied.
pub fn apply_named<'a, N>(
    text: &str,
    fixes: impl IntoIterator<Item = (N, &'a Fix)>,
) -> (String, Vec<N>) {
    let mut taken: BTreeMap<u32, &TextEdit> = BTreeMap::new();
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

/// Returns `true` if `edit` shares a byte with an accepted edit or starts at the same offset, where
/// the order would matter. Accepted edits do not overlap, so only the neighbours need checking.
fn touches(taken: &BTreeMap<u32, &TextEdit>, edit: &TextEdit) -> bool {
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
            .map(|&(s, e, r)| TextEdit::replace(Span::new(s, e), r))
            .collect();
        Fix::safe("change", edits)
    }

    #[test]
    fn separate_fixes_apply_in_any_order() {
        let (text, applied) = apply("abcdef", [&fix(&[(4, 5, "E")]), &fix(&[(0, 1, "A")])]);
        assert_eq!((text.as_str(), applied), ("AbcdEf", 2));
    }

    #[test]
    fn overlapping_fix_is_skipped_completely() {
        let (text, applied) = apply(
            "abcdef",
            [&fix(&[(1, 3, "-")]), &fix(&[(0, 1, "A"), (2, 4, "!")])],
        );
        assert_eq!((text.as_str(), applied), ("a-def", 1));
    }

    #[test]
    fn duplicate_fix_is_applied_once_and_counted_twice() {
        let (text, applied) = apply("abc", [&fix(&[(1, 2, "B")]), &fix(&[(1, 2, "B")])]);
        assert_eq!((text.as_str(), applied), ("aBc", 2));
    }

    #[test]
    fn edits_off_the_text_or_a_char_boundary_are_rejected() {
        let (text, applied) = apply("é", [&fix(&[(0, 9, "x")]), &fix(&[(1, 2, "x")])]);
        assert_eq!((text.as_str(), applied), ("é", 0));
    }
}
