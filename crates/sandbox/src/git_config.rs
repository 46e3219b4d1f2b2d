//! Configuration files of git, as far as they name other files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::Budget;
use crate::on_disk::exists;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Section and name in lower case, without the subsection: `diff.textconv`.
    pub(crate) key: String,
    pub(crate) subsection: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

impl Entry {
    /// The value as a path.
    pub(crate) fn path(&self) -> PathBuf {
        OsStr::from_bytes(&self.value).into()
    }
}

/// Endings that an interpreter adds to the name of a program.
const ENDINGS: &[&str] = &["", ".sh", ".py", ".js", ".cjs", ".mjs", ".ts", ".rb"];

/// The files that an interpreter runs if it is given a folder.
const MAINS: &[&str] = &["__main__.py", "index.js", "package.json"];

/// The words of a value that is a command.
fn words(value: &[u8]) -> impl Iterator<Item = PathBuf> {
    value
        .split(|byte| byte.is_ascii_whitespace() || b"!'\"`$(){};|&<>=,\\:".contains(byte))
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).into())
}

/// Levels of quotes in a command whose words are looked at: `sh -c "'a b' c"`.
const MAX_QUOTES: usize = 3;

/// The words of a command as a shell reads them, which can contain blanks and other separators, and
/// the whole value: git runs some programs without a shell.
fn shell_words(value: &[u8]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut todo = vec![(value.to_vec(), 0)];
    while let Some((text, depth)) = todo.pop() {
        if depth < MAX_QUOTES {
            let inner = unquoted(&text).into_iter().filter(|word| *word != text);
            todo.extend(inner.map(|word| (word, depth + 1)));
        }
        // The value of an option.
        let option = text.iter().position(|byte| *byte == b'=');
        let given = option.map(|at| &text[at + 1..]);
        for word in given.into_iter().chain([&*text]) {
            let word = word.strip_prefix(b"!").unwrap_or(word).trim_ascii();
            found.insert(OsStr::from_bytes(word).into());
        }
    }
    found
}

/// Splits a command outside of quotes.
fn unquoted(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if quote != Some(b'\'') => word.extend(bytes.next()),
            b'\'' | b'"' if quote.is_none() => quote = Some(byte),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_none() && (byte.is_ascii_whitespace() || b";|&<>()`".contains(&byte)) => {
                words.push(std::mem::take(&mut word));
            }
            _ => word.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Programs that run a package by its name: the one in `node_modules/.bin`, if there is one.
const PACKAGE_RUNNERS: &[&str] = &["npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx"];

/// Endings of the files that Python loads as a module. Each beats a later one, and a package beats
/// all of them.
fn module_endings() -> Vec<String> {
    let arch = std::env::consts::ARCH;
    let versions = (7..=16).flat_map(|minor| [format!("3{minor}"), format!("3{minor}t")]);
    let versions = versions.flat_map(|version| {
        ["gnu", "musl"].map(|system| format!(".cpython-{version}-{arch}-linux-{system}.so"))
    });
    let others = [".abi3.so", ".so", ".py", ".pyc"].map(str::to_owned);
    versions.chain(others).collect()
}

/// The files that a command names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Files that exist.
    pub(crate) files: Vec<PathBuf>,
    /// Paths that the command would use if they existed. A placeholder would be used as well.
    pub(crate) absent: Vec<PathBuf>,
}

/// Returns the files below a folder that a command names.
///
/// The value is shell text. What a word means depends on variables, substitutions and `cd`, so that a
/// file counts as named if the last parts of a word lead to it from the folder or from a folder that
/// another word names. After `-m`, a word is also the name of a module; after `npx`, of a package.
/// Returns `None` if that would exceed the budget.
pub(crate) fn named_files(folder: &Path, value: &[u8], left: &mut Budget) -> Option<Named> {
    let words: Vec<PathBuf> = words(value).collect();
    let others = shell_words(value);
    let mut bases = vec![folder.to_owned()];
    for word in words.iter().chain(&others) {
        for end in ends(word) {
            left.inspect(1).then_some(())?;
            let named = folder.join(end);
            if named != folder && named.is_dir() {
                bases.push(named);
            }
        }
    }
    bases.sort();
    bases.dedup();
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    let endings = module_endings();
    for base in &bases {
        for end in others.iter().flat_map(|word| ends(word)) {
            let is_path = end.components().nth(1).is_some();
            let paths = if is_path { ENDINGS.len() } else { 1 };
            left.inspect(paths).then_some(())?;
            candidates(&base.join(end), is_path, &mut found, &mut absent);
        }
    }
    for (at, word) in words.iter().enumerate() {
        let is_module = at > 0 && words[at - 1] == Path::new("-m");
        // `git commit -m wip` names no module.
        let is_python = words[..at].iter().any(|word| {
            let name = word.file_name().unwrap_or_default().as_bytes();
            name.to_ascii_lowercase()
                .windows(2)
                .any(|part| part == b"py")
        });
        let is_runner = |word: &PathBuf| {
            let name = word.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| PACKAGE_RUNNERS.contains(&name))
        };
        let is_option = word.as_os_str().as_bytes().starts_with(b"-");
        let runs_package = !is_option && words[..at].iter().any(is_runner);
        for base in &bases {
            for end in ends(word) {
                let is_path = end.components().nth(1).is_some();
                let paths = if is_path { ENDINGS.len() } else { 1 };
                left.inspect(paths).then_some(())?;
                candidates(&base.join(end), is_path, &mut found, &mut absent);
            }
            if is_module && let Some(name) = word.to_str() {
                let parts: Vec<&str> = name.split('.').collect();
                left.inspect(ENDINGS.len() + parts.len()).then_some(())?;
                candidates(&base.join(parts.join("/")), true, &mut found, &mut absent);
                // Packages run their own code first, also if it is added later.
                for count in 1..=parts.len() {
                    let package = base.join(parts[..count].join("/"));
                    if package.is_dir() {
                        found.push(package.join("__init__.py"));
                    }
                    if !is_python {
                        continue;
                    }
                    left.inspect(endings.len() + 1).then_some(())?;
                    let files = endings.iter().map(|ending| with_ending(&package, ending));
                    let files = files.chain([package.clone()]);
                    absent.extend(files.filter(|path| !exists(path)));
                }
            }
            if runs_package && let Some(name) = word.file_name() {
                left.inspect(1).then_some(())?;
                let program = base.join("node_modules/.bin").join(name);
                if exists(&program) {
                    found.push(program);
                } else {
                    absent.push(program);
                }
            }
        }
    }
    for list in [&mut found, &mut absent] {
        list.sort();
        list.dedup();
    }
    let files = found;
    Some(Named { files, absent })
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Adds the files that a path can mean to an interpreter. A single word is more often a subcommand, so
/// that no ending is added to it. If only a file with an ending exists, one without it would be used
/// instead.
fn candidates(path: &Path, is_path: bool, found: &mut Vec<PathBuf>, absent: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mains = MAINS.iter().map(|main| path.join(main));
        found.extend(mains.filter(|main| main.is_file()));
    }
    let endings = if is_path { ENDINGS } else { &ENDINGS[..1] };
    for ending in endings {
        let file = with_ending(path, ending);
        if exists(&file) && !file.is_dir() {
            found.push(file);
            absent.extend((!exists(path)).then(|| path.to_owned()));
        }
    }
}

/// Returns a path and every end of it: `a/b/c`, `b/c`, `c`.
fn ends(path: &Path) -> impl Iterator<Item = &Path> {
    let parts = path.components().count();
    let mut rest = path.components();
    let ends = (0..parts).map(move |_| {
        let end = rest.as_path();
        rest.next();
        end
    });
    let is_plain = |end: &&Path| !end.as_os_str().is_empty() && end.file_name().is_some();
    ends.filter(is_plain)
}

/// Reads the settings of a file. Git refuses a file that is malformed; here the rest of it is read.
pub(crate) fn entries(text: &[u8]) -> Vec<Entry> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut bytes = text.iter().copied().peekable();
    let (mut section, mut subsection) = (String::new(), Vec::new());
    let mut found = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'#' | b';' => while bytes.next_if(|byte| *byte != b'\n').is_some() {},
            b'[' => (section, subsection) = header(&mut bytes),
            _ if byte.is_ascii_alphabetic() => {
                let mut key = vec![byte];
                while let Some(byte) = bytes.next_if(|it| it.is_ascii_alphanumeric() || *it == b'-')
                {
                    key.push(byte);
                }
                while bytes.next_if(|byte| b" \t\r".contains(byte)).is_some() {}
                let value = if bytes.next_if_eq(&b'=').is_some() {
                    value(&mut bytes)
                } else {
                    b"true".to_vec()
                };
                let key = String::from_utf8_lossy(&key).to_ascii_lowercase();
                found.push(Entry {
                    key: format!("{section}.{key}"),
                    subsection: subsection.clone(),
                    value,
                });
            }
            _ => {}
        }
    }
    found
}

type Bytes<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>;

/// Reads the rest of `[section "subsection"]`.
fn header(bytes: &mut Bytes<'_>) -> (String, Vec<u8>) {
    let (mut name, mut subsection) = (Vec::new(), Vec::new());
    let mut is_quoted = false;
    let mut is_name = true;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => break,
            b']' if !is_quoted => break,
            b'\\' if is_quoted => subsection.extend(bytes.next()),
            b'"' => {
                is_quoted = !is_quoted;
                is_name = false;
            }
            _ if is_quoted => subsection.push(byte),
            // The old form of a subsection: `[section.subsection]`.
            b'.' | b' ' | b'\t' if is_name => is_name = false,
            _ if is_name => name.push(byte),
            b' ' | b'\t' => {}
            _ => subsection.push(byte.to_ascii_lowercase()),
        }
    }
    (
        String::from_utf8_lossy(&name).to_ascii_lowercase(),
        subsection,
    )
}

/// Reads a value up to the end of its line.
fn value(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    // White space at the end does not count, unless it is quoted.
    let mut length = 0;
    let mut is_quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => break,
            b'"' => is_quoted = !is_quoted,
            b'#' | b';' if !is_quoted => while bytes.next_if(|byte| *byte != b'\n').is_some() {},
            b'\\' => {
                bytes.next_if_eq(&b'\r');
                match bytes.next() {
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(b'\n') | None => continue,
                    Some(other) => value.push(other),
                }
                length = value.len();
            }
            b' ' | b'\t' | b'\r' if !is_quoted => {
                if !value.is_empty() {
                    value.push(byte);
                }
            }
            _ => {
                value.push(byte);
                length = value.len();
            }
        }
    }
    value.truncate(length);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = b"\xef\xbb\xbf# caf\xe9\n[Core]\n\thooksPath = scripts/hooks ; ours\n\tbare\n\
            [diff \"a ] \\\" b\"] textConv = \"tools/t c\" -x # y\r\n\
            [include.x]\nPATH=a\\\nb  \r\n[submodule \"s\"]\n path = \"q # r\"\n";
        let found: Vec<(String, String)> = entries(text)
            .into_iter()
            .map(|entry| (entry.key, String::from_utf8(entry.value).unwrap()))
            .collect();
        let expected = [
            ("core.hookspath", "scripts/hooks"),
            ("core.bare", "true"),
            ("diff.textconv", "tools/t c -x"),
            ("include.path", "ab"),
            ("submodule.path", "q # r"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_name_files() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        for file in [
            "tools/a",
            "b",
            "d/e",
            "pkg/sub/mod.py",
            "tools/run.js",
            "git",
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "").unwrap();
        }
        for (value, expected) in [
            ("!sh 'tools/a' && ./b --c=d/e", &["b", "d/e", "tools/a"][..]),
            (
                "$(git rev-parse --show-toplevel)/tools/a %f",
                &["git", "tools/a"],
            ),
            ("\"$ROOT\"/tools/a", &["tools/a"]),
            ("cd tools && exec ./a", &["tools/a"]),
            ("node tools/run", &["tools/run.js"]),
            (
                "python3 -m pkg.sub.mod",
                &["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/mod.py"],
            ),
            ("/usr/bin/env true", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|path| at(path)).collect();
            let mut left = Budget::default();
            let named = named_files(tree.path(), value.as_bytes(), &mut left).unwrap();
            let mut found = named.files;
            found.retain(|path| path.starts_with(tree.path()));
            // `./b` and `b` are the same file.
            found = found
                .iter()
                .map(|path| path.components().collect())
                .collect();
            found.dedup();
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn commands_name_files_with_blanks_and_separators() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        for file in ["my tools/a", "x,y/b=c", "d/run.js"] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "").unwrap();
        }
        for (value, expected) in [
            ("'my tools/a' %f", "my tools/a"),
            ("my\\ tools/a", "my tools/a"),
            ("my tools/a", "my tools/a"),
            ("!\"$ROOT/my tools/a\" x", "my tools/a"),
            ("sh -c \"'my tools/a' x\"", "my tools/a"),
            ("run --config='my tools/a'", "my tools/a"),
            ("./x,y/b=c", "x,y/b=c"),
        ] {
            let named = named_files(tree.path(), value.as_bytes(), &mut Budget::default());
            let files = named.unwrap().files.into_iter();
            let files: Vec<PathBuf> = files.map(|path| path.components().collect()).collect();
            assert!(files.contains(&at(expected)), "{value}: {files:?}");
        }
        // Node prefers the file without the ending.
        let named = named_files(tree.path(), b"node d/run", &mut Budget::default()).unwrap();
        assert_eq!(named.files, [at("d/run.js")]);
        assert!(named.absent.contains(&at("d/run")), "{named:?}");
    }

    #[test]
    fn commands_name_files_that_do_not_exist() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        std::fs::create_dir(at("pkg")).unwrap();
        std::fs::write(at("pkg/mod.py"), "").unwrap();
        for (value, expected, others) in [
            (
                "\"/usr/bin/python3\" -m tool",
                &["tool", "tool.py", "tool.so"][..],
                &["mod"][..],
            ),
            (
                "python3 -m pkg.mod",
                &["pkg.py", "pkg/mod", "pkg/mod.abi3.so"],
                &["pkg", "pkg/mod.py"],
            ),
            (
                "npx --no-install tool",
                &["node_modules/.bin/tool"],
                &["tool", "node_modules/.bin/npx"],
            ),
            ("git commit -m tool", &[], &["tool", "tool.py"]),
            (
                "sh tool",
                &[],
                &["tool", "tool.py", "node_modules/.bin/tool"],
            ),
        ] {
            let mut left = Budget::default();
            let named = named_files(tree.path(), value.as_bytes(), &mut left).unwrap();
            let is_named = |path: &&str| named.absent.contains(&at(path));
            assert!(expected.iter().all(&is_named), "{value}: {named:?}");
            assert!(!others.iter().any(is_named), "{value}: {named:?}");
        }
    }
}
