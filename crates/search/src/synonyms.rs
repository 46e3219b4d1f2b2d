//! Synonyms: unambiguous abbreviations, and British and American spellings.

use super::tokens;

/// Sets of synonyms. Each word occurs in one set only.
const ROWS: &[&[&str]] = &[
    &["a11y", "accessibility"],
    &["analyse", "analyze"],
    &["authorisation", "authorization"],
    &["catalog", "catalogue"],
    &["color", "colour"],
    &["db", "database"],
    &["gh", "github"],
    &["go", "golang"],
    &["i18n", "internationalisation", "internationalization"],
    &["js", "javascript"],
    &["k8s", "kubernetes"],
    &["l10n", "localisation", "localization"],
    &["licence", "license"],
    &["o11y", "observability"],
    &["optimise", "optimize"],
    &["organise", "organize"],
    &["postgres", "postgresql"],
    &["py", "python"],
    &["summarise", "summarize"],
    &["tf", "terraform"],
    &["ts", "typescript"],
    &["visualisation", "visualization"],
];

/// Returns the synonyms of a stem.
pub(super) fn of(stem: &[u8]) -> impl Iterator<Item = &'static str> {
    let same = move |word: &str| {
        word.as_bytes().first() == stem.first() && tokens::stemmed(word.as_bytes()) == stem
    };
    let row = ROWS
        .iter()
        .find(|row| row.iter().any(|word| same(word)))
        .copied();
    row.unwrap_or_default()
        .iter()
        .copied()
        .filter(move |word| !same(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::stemmed;

    #[test]
    fn every_word_occurs_once() {
        let mut stems: Vec<Vec<u8>> = ROWS
            .concat()
            .iter()
            .map(|word| stemmed(word.as_bytes()))
            .collect();
        let count = stems.len();
        stems.sort();
        stems.dedup();
        assert_eq!(stems.len(), count);
        assert!(ROWS.is_sorted());
    }

    #[test]
    fn synonyms_work_in_both_directions() {
        let found = |word: &str| of(&stemmed(word.as_bytes())).collect::<Vec<_>>();
        assert_eq!(found("Go".to_lowercase().as_str()), ["golang"]);
        assert_eq!(found("databases"), ["db"]);
        assert_eq!(found("pdf"), [""; 0]);
    }
}
