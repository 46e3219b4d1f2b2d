//! Checks that the compiler does not make: purity, dependencies, rules, names, stray files. Reports
//! sizes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use toml::Table;

/// Files with more lines are reported.
const LONG_FILE: usize = 1_000;
/// Crates with more lines of source, without tests, are reported.
const LARGE_CRATE: usize = 15_000;
/// Dependencies that only the named crates may have.
const CONFINED: &[(&str, &[&str])] = &[
    ("reqwest", &["prowess-http"]),
    ("rmcp", &["prowess-mcp"]),
    ("axum", &["prowess-mcp"]),
    ("rusqlite", &["prowess-store"]),
    ("ratatui", &["prowess-tui"]),
    ("clap", &["prowess-cli"]),
];
/// Crates that are not allowed as direct dependencies, with the reason.
const BANNED: &[(&str, &str)] = &[
    ("serde_yaml", "unmaintained"),
    ("serde_yml", "has an advisory"),
    ("chrono", "use jiff"),
    ("async-trait", "traits return boxed futures"),
    ("openssl", "one TLS stack: rustls"),
    ("native-tls", "one TLS stack: rustls"),
    ("lazy_static", "std has LazyLock"),
];
/// Crates that must not be dependencies of a pure crate, even indirectly.
const IMPURE: &[&str] = &[
    "tokio", "reqwest", "sqlx", "rusqlite", "notify", "rustix", "hyper", "axum",
];
/// Names that must not occur in the source of a pure crate.
const IMPURE_SOURCE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "SystemTime",
    "Instant::now",
    "std::thread",
];
/// The files that belong in the root.
const ROOT_FILES: &[&str] = &[
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "STYLE.md",
    "clippy.toml",
    "deny.toml",
    "rustfmt.toml",
    ".gitignore",
];
/// The folders that belong in the root.
const ROOT_FOLDERS: &[&str] = &[
    ".cargo", ".ci", ".github", "crates", "docs", "examples", "fuzz", "schemas", "skills", "xtask",
];

pub(crate) fn run(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    let files = tracked(root)?;
    let crates = crates(root)?;
    check_dependencies(&crates, &mut faults);
    check_purity(root, &crates, &files, &mut faults)?;
    check_rules(root, &mut faults)?;
    check_named_tests(root, &mut faults)?;
    check_text(root, &files, &mut faults)?;
    check_programs(root, &files, &mut faults)?;
    check_type_names(root, &files, &mut faults)?;
    check_strays(&files, &mut faults);
    report_sizes(root, &files)?;
    if faults.is_empty() {
        println!("tidy: {} crates, {} files", crates.len(), files.len());
        return Ok(());
    }
    for fault in &faults {
        println!("tidy: {fault}");
    }
    bail!("{} problems", faults.len())
}

/// Returns the files under version control, and new ones that are not ignored.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git ls-files")?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text
        .lines()
        .map(PathBuf::from)
        .filter(|path| root.join(path).is_file())
        .collect())
}

struct Crate {
    folder: PathBuf,
    pure: bool,
    dev: bool,
    dependencies: Vec<String>,
}

fn crates(root: &Path) -> Result<BTreeMap<String, Crate>> {
    let mut crates = BTreeMap::new();
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root.join("crates"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.push(root.join("xtask"));
    for folder in folders {
        let text = std::fs::read_to_string(folder.join("Cargo.toml"))
            .with_context(|| folder.display().to_string())?;
        let manifest: Table = text.parse()?;
        let package = manifest
            .get("package")
            .and_then(toml::Value::as_table)
            .context("[package]")?;
        let facts = package
            .get("metadata")
            .and_then(|m| m.get("prowess"))
            .with_context(|| format!("{}: [package.metadata.prowess]", folder.display()))?;
        let flag = |key: &str| {
            facts
                .get(key)
                .and_then(toml::Value::as_bool)
                .unwrap_or(false)
        };
        let keys = |section: &str| {
            manifest
                .get(section)
                .and_then(toml::Value::as_table)
                .map(|table| table.keys().cloned().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let name = package
            .get("name")
            .and_then(toml::Value::as_str)
            .context("name")?
            .to_owned();
        crates.insert(
            name,
            Crate {
                folder,
                pure: flag("pure"),
                dev: flag("dev"),
                dependencies: keys("dependencies"),
            },
        );
    }
    Ok(crates)
}

fn check_dependencies(crates: &BTreeMap<String, Crate>, faults: &mut Vec<String>) {
    for (name, item) in crates {
        for dependency in &item.dependencies {
            if let Some((_, why)) = BANNED.iter().find(|(banned, _)| banned == dependency) {
                faults.push(format!("{name} depends on {dependency}: {why}"));
            }
            if let Some((_, allowed)) = CONFINED.iter().find(|(only, _)| only == dependency)
                && !allowed.contains(&name.as_str())
            {
                faults.push(format!(
                    "{name} depends on {dependency}: only {} may",
                    allowed.join(" and ")
                ));
            }
            let Some(below) = crates.get(dependency) else {
                continue;
            };
            if below.dev && !item.dev {
                faults.push(format!(
                    "{name} depends on {dependency}, which is for development only"
                ));
            }
            if item.pure && !below.pure {
                faults.push(format!(
                    "{name} is pure and depends on {dependency}, which is not"
                ));
            }
        }
        let short = name.trim_start_matches("prowess-");
        if ["core", "common", "util", "utils", "types"].contains(&short) {
            faults.push(format!("{name}: the name does not state a role"));
        }
    }
}

fn check_purity(
    root: &Path,
    crates: &BTreeMap<String, Crate>,
    files: &[PathBuf],
    faults: &mut Vec<String>,
) -> Result<()> {
    for (name, item) in crates.iter().filter(|(_, item)| item.pure) {
        let output = Command::new("cargo")
            .args([
                "tree",
                "--package",
                name,
                "--edges",
                "normal",
                "--prefix",
                "none",
                "--offline",
                "--locked",
            ])
            .current_dir(root)
            .output()?;
        if !output.status.success() {
            bail!(
                "cargo tree {name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        for line in String::from_utf8(output.stdout)?.lines() {
            let below = line.split(' ').next().unwrap_or_default();
            if IMPURE.contains(&below) {
                faults.push(format!("{name} is pure but depends on {below}"));
            }
        }
        let source = item.folder.strip_prefix(root)?.join("src");
        for file in files.iter().filter(|file| file.starts_with(&source)) {
            let text = std::fs::read_to_string(root.join(file))?;
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for word in IMPURE_SOURCE.iter().filter(|word| code.contains(**word)) {
                faults.push(format!(
                    "{}: a pure crate must not use {word}",
                    file.display()
                ));
            }
        }
    }
    Ok(())
}

/// Prints long files and large crates. Length is not an error.
fn report_sizes(root: &Path, files: &[PathBuf]) -> Result<()> {
    let mut crates: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
    {
        let text = std::fs::read_to_string(root.join(file))?;
        let lines = text.lines().count();
        if lines > LONG_FILE {
            println!("tidy: note: {} has {lines} lines", file.display());
        }
        let parts: Vec<_> = file.components().take(3).collect();
        // Tests are at the end of a file or in a file of their own.
        let is_tests = file
            .file_stem()
            .is_some_and(|stem| stem.to_string_lossy().ends_with("_tests"));
        if let [_, name, source] = parts.as_slice()
            && source.as_os_str() == "src"
            && !is_tests
        {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            *crates.entry(PathBuf::from(name.as_os_str())).or_default() += code.lines().count();
        }
    }
    for (name, lines) in crates.iter().filter(|(_, lines)| **lines > LARGE_CRATE) {
        println!("tidy: note: crate {} has {lines} lines", name.display());
    }
    Ok(())
}

/// Checks that every rule has a file and a page, and that there are no others.
fn check_rules(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let names = |folder: &str, ending: &str| -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(root.join(folder))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(
                name.strip_suffix(ending)
                    .filter(|name| *name != "mod")
                    .map(|name| name.replace('_', "-")),
            );
        }
        names.sort();
        Ok(names)
    };
    let lint = prowess_lint::rules::RULES.iter().map(|rule| rule.id);
    let scan = prowess_scan::RULES.iter().map(|rule| rule.id);
    let tables: [(&str, Vec<&str>); 2] = [("lint", lint.collect()), ("scan", scan.collect())];
    for (krate, mut table) in tables {
        table.sort_unstable();
        let rules = names(&format!("crates/{krate}/src/rules"), ".rs")?;
        let pages = names(&format!("crates/{krate}/pages"), ".md")?;
        for (what, found) in [("rule file", rules), ("rule page", pages)] {
            for name in table
                .iter()
                .filter(|name| !found.iter().any(|found| found == *name))
            {
                faults.push(format!("{name} of {krate} has no {what}"));
            }
            for name in found.iter().filter(|name| !table.contains(&name.as_str())) {
                faults.push(format!("{what} {name} of {krate} is not in the table"));
            }
        }
    }
    // Both are named on the same command lines.
    let is_lint = |rule: &&prowess_scan::ScanRule| prowess_lint::rules::find(rule.id).is_some();
    for rule in prowess_scan::RULES.iter().filter(is_lint) {
        faults.push(format!("{} is a rule of both lint and scan", rule.id));
    }
    Ok(())
}

/// Documents that refer to tests.
const PROVEN: &[&str] = &["docs/dev/conformance.md", "docs/dev/reliability.md"];

/// Checks that each test `path::name` in a document is a function of that file.
fn check_named_tests(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for document in PROVEN {
        let text = std::fs::read_to_string(root.join(document)).context(*document)?;
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        for (line, path, name) in named_tests(&text) {
            let source = files
                .entry(path)
                .or_insert_with(|| std::fs::read_to_string(root.join(path)).unwrap_or_default());
            if !source.contains(&format!("fn {name}(")) {
                faults.push(format!("{document}:{line}: test {path}::{name} not found"));
            }
        }
    }
    Ok(())
}

/// Returns the tests named in a document as `crates/x/tests/y.rs::name` in backticks, with their
/// lines.
fn named_tests(text: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2) {
            if let Some((path, name)) = word.split_once(".rs::") {
                found.push((number + 1, &word[..path.len() + 3], name));
            }
        }
    }
    found
}

fn check_text(root: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    // Concatenated, so that this file does not contain the words.
    let forbidden = [
        (["todo", "!("].concat(), "unfinished code"),
        (["unimplemented", "!("].concat(), "unfinished code"),
        (["crates", ".io"].concat(), "names a registry"),
        (["/work", "/main"].concat(), "a machine-specific path"),
        (["/home", "/"].concat(), "a machine-specific path"),
        (["/Users", "/"].concat(), "a machine-specific path"),
    ];
    for file in files {
        let ending = file
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        if !["rs", "md", "toml", "sh", "yaml"].contains(&ending) && !file.starts_with(".ci") {
            continue;
        }
        let text = std::fs::read_to_string(root.join(file))?;
        for line in never_run(&text) {
            faults.push(format!("{}:{line}: this test never runs", file.display()));
        }
        for (word, why) in &forbidden {
            if let Some(line) = text.lines().position(|line| line.contains(word.as_str())) {
                faults.push(format!("{}:{}: {why}: {word}", file.display(), line + 1));
            }
        }
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(&["TO", "DO"].concat()))
        {
            // A reminder names its issue: TODO(issue): …
            if ending == "rs" && !line.contains(&["TO", "DO("].concat()) {
                faults.push(format!(
                    "{}:{}: a reminder must name its issue in parentheses",
                    file.display(),
                    number + 1
                ));
            }
        }
    }
    Ok(())
}

/// Checks that only the crate `shell` has lists of programs.
fn check_programs(root: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    /// Names that hardly mean anything else.
    const PROGRAMS: &[&str] = &[
        "awk", "chgrp", "chmod", "chown", "doas", "egrep", "fgrep", "genv", "grep", "perl", "popd",
        "pushd", "rg", "rm", "rsync", "ruby", "sed", "shred", "sudo", "xargs",
    ];
    for file in files {
        let is_source = file.components().any(|part| part.as_os_str() == "src");
        let is_rust = file.extension().is_some_and(|ending| ending == "rs");
        // The probe of the sandbox starts programs itself.
        let exempt = [
            "crates/shell",
            "crates/test",
            "crates/sandbox/src/bin",
            "xtask",
        ];
        let is_exempt = exempt.iter().any(|folder| file.starts_with(folder));
        if !is_source || !is_rust || is_exempt {
            continue;
        }
        let text = std::fs::read_to_string(root.join(file))?;
        let named = |name: &&&str| text.contains(&format!("\"{name}\""));
        let found: Vec<&str> = PROGRAMS.iter().filter(named).copied().collect();
        if found.len() > 1 {
            faults.push(format!(
                "{}: a list of programs ({}); read the table of the crate `shell`",
                file.display(),
                found.join(", ")
            ));
        }
    }
    Ok(())
}

/// Checks that no two crates define a public type of one name.
fn check_type_names(root: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    let mut seen: BTreeMap<String, &Path> = BTreeMap::new();
    for file in files {
        let is_source = file.components().any(|part| part.as_os_str() == "src");
        let is_rust = file.extension().is_some_and(|ending| ending == "rs");
        if !is_source || !is_rust || !file.starts_with("crates") {
            continue;
        }
        let text = std::fs::read_to_string(root.join(file))?;
        for name in public_types(&text) {
            if let Some(first) = seen.insert(name.to_owned(), file) {
                faults.push(format!(
                    "{}: `{name}` is defined in {} already; qualify one of them",
                    file.display(),
                    first.display()
                ));
            }
        }
    }
    Ok(())
}

/// Returns the names of the public types that a source file defines.
fn public_types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let item = line.trim_start().strip_prefix("pub ")?;
        let mut words = item.split(|part: char| !part.is_alphanumeric() && part != '_');
        let kind = words.next()?;
        let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "union");
        words.next().filter(|_| is_type)
    })
}

/// Returns the lines of ignored tests that no other test of the file starts by name.
fn never_run(text: &str) -> Vec<usize> {
    let mark = ["#[", "ignore"].concat();
    let lines: Vec<&str> = text.lines().collect();
    let is_started = |at: usize| {
        let name = lines
            .get(at + 1)
            .and_then(|line| line.trim().strip_prefix("fn "));
        let name = name
            .and_then(|line| line.split('(').next())
            .unwrap_or_default();
        !name.is_empty() && text.contains(&format!("::{name}\")"))
    };
    let marked = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(&mark));
    marked
        .filter(|(at, _)| !is_started(*at))
        .map(|(at, _)| at + 1)
        .collect()
}

fn check_strays(files: &[PathBuf], faults: &mut Vec<String>) {
    for file in files {
        let mut parts = file.components();
        let first = parts
            .next()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default();
        let at_root = parts.next().is_none();
        let known = if at_root {
            ROOT_FILES.contains(&first.as_str())
        } else {
            ROOT_FOLDERS.contains(&first.as_str())
        };
        if !known {
            faults.push(format!(
                "{} is a stray file; if it belongs there, add it to xtask/src/tidy.rs",
                file.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_between_backticks() {
        let text = "a::b\n| x | `crates/a/b.rs::one` and `crates/a/c.rs::two` | `d` |\n";
        assert_eq!(
            named_tests(text),
            [(2, "crates/a/b.rs", "one"), (2, "crates/a/c.rs", "two")]
        );
    }

    #[test]
    fn public_types_are_found() {
        let text = "pub struct A<'a> {\n    pub enum B {\npub(crate) struct C;\npub fn d() {}\npub type E<T> = T;\n";
        assert_eq!(public_types(text).collect::<Vec<_>>(), ["A", "B", "E"]);
    }

    #[test]
    fn ignored_test_must_be_started_by_another() {
        let mark = ["#[", "ignore = \"x\"]"].concat();
        assert_eq!(never_run(&format!("{mark}\nfn a() {{}}\n")), [1]);
        assert_eq!(
            never_run(&format!("start(\"m::a\");\n{mark}\nfn a() {{}}\n")),
            [] as [usize; 0]
        );
        assert_eq!(
            never_run(&format!("start(\"m::b\");\n{mark}\nfn a() {{}}\n")),
            [2]
        );
    }
}
