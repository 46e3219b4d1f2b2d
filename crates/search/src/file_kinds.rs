//! Kinds of files as words: `main.tf` is about Terraform.

/// File extensions, each with the words that people use for it. Words that are equal to the
/// extension, or a synonym of it in the search, are not repeated.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("bib", &["bibtex"]),
    ("c", &[]),
    ("cpp", &["c++"]),
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
    ("makefile", &["make"]),
    ("package.json", &["npm", "javascript"]),
    ("pom.xml", &["maven", "java"]),
    ("pyproject.toml", &["python"]),
];

/// Returns the words for the kind of a file.
pub(crate) fn words(path: &str) -> &'static [&'static str] {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = NAMES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known));
    known
        .or_else(|| extension(name))
        .map_or(&[], |(_, words)| words)
}

/// Returns `true` if a word without a slash is the name of a file: it has a known extension, or it
/// is well known.
pub(crate) fn is_file_name(word: &str) -> bool {
    NAMES
        .iter()
        .any(|(known, _)| word.eq_ignore_ascii_case(known))
        || extension(word).is_some()
}

fn extension(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = |row: &&(&str, &[&str])| extension.eq_ignore_ascii_case(row.0);
    EXTENSIONS
        .iter()
        .find(known)
        // `*.rs` is a pattern of files, `.md` alone is not a name.
        .filter(|_| !stem.is_empty())
}
