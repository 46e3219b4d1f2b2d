//! Words that developers use for one another.

use super::tokens;

/// Words that mean the same, as they are typed. A word stands in one row only.
const ROWS: &[&[&str]] = &[
    &["a11y", "accessibility"],
    &["analyse", "analyze"],
    &["app", "application"],
    &["auth", "authentication"],
    &["authorisation", "authorization"],
    &["catalog", "catalogue"],
    &["cert", "certificate"],
    &["color", "colour"],
    &["config", "configuration"],
    &["db", "database"],
    &["deps", "dependency"],
    &["dev", "development"],
    &["docs", "documentation"],
    &["env", "environment"],
    &["gh", "github"],
    &["go", "golang"],
    &["i18n", "internationalisation", "internationalization"],
    &["infra", "infrastructure"],
    &["js", "javascript"],
    &["k8s", "kubernetes"],
    &["l10n", "localisation", "localization"],
    &["lib", "library"],
    &["licence", "license"],
    &["o11y", "observability"],
    &["optimise", "optimize"],
    &["organise", "organize"],
    &["perf", "performance"],
    &["postgres", "postgresql"],
    &["prod", "production"],
    &["py", "python"],
    &["repo", "repository"],
    &["spec", "specification"],
    &["summarise", "summarize"],
    &["tf", "terraform"],
    &["ts", "typescript"],
    &["visualisation", "visualization"],
    &["vuln", "vulnerability"],
];

/// Returns the other words of a stem's row, as they are typed.
pub(super) fn of(stem: &[u8]) -> impl Iterator<Item = &'static str> {
    let same = move |word: &str| {
        word.as_bytes().first() == stem.first() && tokens::stemmed(word.as_bytes()) == stem
    };
    let row = ROWS.iter().find(|row| row.iter().any(|word| same(word))).copied();
    row.unwrap_or_default().iter().copied().filter(move |word| !same(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::stemmed;

    #[test]
    fn every_word_stands_once() {
        let mut stems: Vec<Vec<u8>> =
            ROWS.concat().iter().map(|word| stemmed(word.as_bytes())).collect();
        let count = stems.len();
        stems.sort();
        stems.dedup();
        assert_eq!(stems.len(), count);
        assert!(ROWS.is_sorted());
    }

    #[test]
    fn both_ways() {
        let found = |word: &str| of(&stemmed(word.as_bytes())).collect::<Vec<_>>();
        assert_eq!(found("Go".to_lowercase().as_str()), ["golang"]);
        assert_eq!(found("repositories"), ["repo"]);
        assert_eq!(found("pdf"), [""; 0]);
    }
}
