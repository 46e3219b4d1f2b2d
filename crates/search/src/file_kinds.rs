//! Kinds of files as words: `main.tf` is about Terraform.

/// File extensions, each with the words that people use for it. Words that are equal to the
/// extension, or a synonym of it in the search, are not repeated.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("bib", &["bibtex"]),
    ("c", &[]),
    ("cpp", &["c"]),
    ("cs", &["csharp"]),
    ("css", &[]),
    ("csv", &[]),
    ("doc", &["word", "docx"]),
    ("docx", &["word"]),
    ("epub", &[]),
    ("gif", &["image"]),
    ("go", &[]),
    ("h", &[]),
    ("htm", &["html"]),
    ("html", &[]),
    ("ipynb", &["jupyter", "notebook"]),
    ("java", &[]),
    ("jpeg", &["image"]),
    ("jpg", &["image"]),
    ("js", &[]),
    ("json", &[]),
    ("jsx", &["react", "javascript"]),
    ("kt", &["kotlin"]),
    ("lua", &[]),
    ("md", &["markdown"]),
    ("mov", &["video"]),
    ("mp3", &["audio"]),
    ("mp4", &["video"]),
    ("odt", &["document"]),
    ("parquet", &[]),
    ("pdf", &[]),
    ("php", &[]),
    ("png", &["image"]),
    ("ppt", &["powerpoint", "pptx"]),
    ("pptx", &["powerpoint", "slides"]),
    ("proto", &["protobuf"]),
    ("py", &[]),
    ("r", &[]),
    ("rb", &["ruby"]),
    ("rs", &["rust"]),
    ("scss", &["css"]),
    ("sh", &["shell"]),
    ("sol", &["solidity"]),
    ("sql", &[]),
    ("svelte", &[]),
    ("svg", &[]),
    ("swift", &[]),
    ("tex", &["latex"]),
    ("tf", &[]),
    ("toml", &[]),
    ("ts", &[]),
    ("tsx", &["react", "typescript"]),
    ("txt", &[]),
    ("vue", &[]),
    ("wav", &["audio"]),
    ("xls", &["excel", "spreadsheet", "xlsx"]),
    ("xlsm", &["excel", "spreadsheet", "xlsx"]),
    ("xlsx", &["excel", "spreadsheet"]),
    ("xml", &[]),
    ("yaml", &[]),
    ("yml", &["yaml"]),
    ("zip", &["archive"]),
];

/// Well-known names of files, in lower case, with their words.
const NAMES: &[(&str, &[&str])] = &[
    ("cargo.toml", &["rust", "cargo"]),
    ("docker-compose.yaml", &["docker", "compose"]),
    ("docker-compose.yml", &["docker", "compose"]),
    ("dockerfile", &["docker"]),
    ("gemfile", &["ruby"]),
    ("jenkinsfile", &["jenkins"]),
    ("makefile", &["makefile"]),
    ("package.json", &["npm", "javascript"]),
    ("pom.xml", &["maven", "java"]),
    ("pyproject.toml", &["python"]),
];

/// Names of libraries that look like files.
const LIBRARIES: &[&str] = &[
    "alpine.js",
    "angular.js",
    "backbone.js",
    "chart.js",
    "d3.js",
    "discord.js",
    "ember.js",
    "express.js",
    "moment.js",
    "nest.js",
    "next.js",
    "node.js",
    "nuxt.js",
    "p5.js",
    "react.js",
    "solid.js",
    "three.js",
    "vue.js",
];

/// Returns the words for the kind of a file whose path is in a text. The extension is already a word
/// of the text.
pub(crate) fn words(path: &str) -> &'static [&'static str] {
    kind(path).map_or(&[], |(_, words)| words)
}

/// Returns the extension of a file, if it is known, and the words for its kind.
pub(crate) fn kind(path: &str) -> Option<(Option<&'static str>, &'static [&'static str])> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = NAMES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known));
    known
        .map(|(_, words)| (None, *words))
        .or_else(|| extension(name).map(|(extension, words)| (Some(*extension), *words)))
}

/// Returns `true` if a word without a slash is the name of a file: it has a known extension, or it
/// is well known.
pub(crate) fn is_file_name(word: &str) -> bool {
    let is_library = LIBRARIES
        .iter()
        .any(|library| word.eq_ignore_ascii_case(library));
    !is_library && kind(word).is_some()
}

fn extension(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = |row: &&(&str, &[&str])| extension.eq_ignore_ascii_case(row.0);
    EXTENSIONS
        .iter()
        .find(known)
        // `.md` alone is not the name of a file.
        .filter(|_| !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens;

    #[test]
    fn every_row_adds_words_that_are_searched() {
        for (key, words) in EXTENSIONS.iter().chain(NAMES) {
            for word in *words {
                let mut found = Vec::new();
                tokens::each(word, |token, _| found.push(token.to_vec()));
                assert_eq!(found, [word.as_bytes()], "{key}");
                assert!(!tokens::is_stop_word(word.as_bytes()), "{key}: {word}");
            }
        }
        assert!(EXTENSIONS.is_sorted() && NAMES.is_sorted() && LIBRARIES.is_sorted());
    }
}
