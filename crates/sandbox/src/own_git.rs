//! The person's own configuration of git, copied for commands that may write a repository.
//!
//! The home folder is empty inside. Copies work also if a file is a link, and leave out what only the
//! network needs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::bounded_read::bounded_read;
use crate::git_config::{Entry, entries};

/// The folder of the copies inside.
const FOLDER: &str = "/.prowess";

/// The copy of the main file.
pub(crate) const CONFIG: &str = "/.prowess/gitconfig";

/// Most files that are copied, and most bytes of each.
const MAX_FILES: usize = 100;
const MAX_BYTES: u64 = 1 << 20;

/// Most files that include each other. Git allows as many.
const MAX_INCLUDES: usize = 10;

/// Sections that `git add`, `commit`, `stash`, `switch` and `tag` use. Others can have keys of
/// servers: the addresses of `url`, `credential` and `http`, and the tokens of other programs.
const COPIED: &[&str] = &[
    "advice",
    "apply",
    "attr",
    "author",
    "branch",
    "checkout",
    "color",
    "column",
    "commit",
    "committer",
    "core",
    "diff",
    "extensions",
    "feature",
    "filter",
    "gc",
    "i18n",
    "include",
    "includeif",
    "index",
    "init",
    "log",
    "mailmap",
    "merge",
    "notes",
    "pack",
    "rerere",
    "safe",
    "sparse",
    "stash",
    "status",
    "switch",
    "tag",
    "trailer",
    "user",
    "versionsort",
];

/// The files of a person that matter to git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnGit {
    /// Copies by their path inside.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// The patterns of ignored files.
    pub(crate) patterns: Vec<u8>,
}

impl OwnGit {
    /// Reads the configuration in a home folder. `excludes` are the ignore files that the repository
    /// itself names, which are used instead of the person's.
    pub(crate) fn read(home: &Path, excludes: &[PathBuf]) -> Self {
        let mut copied = Copied {
            home,
            count: 0,
            files: Vec::new(),
            excludes: Vec::new(),
        };
        let mut main = Vec::new();
        for name in [".config/git/config", ".gitconfig"] {
            main.extend(copied.copy(&home.join(name), 0));
        }
        if !main.is_empty() {
            copied.files.push((CONFIG.into(), main));
        }
        let default = home.join(".config/git/ignore");
        let excludes = match (excludes, copied.excludes.as_slice()) {
            ([], []) => vec![default],
            ([], own) => own.to_vec(),
            (local, _) => local.to_vec(),
        };
        let mut patterns = Vec::new();
        for file in excludes {
            patterns.extend(bounded_read(&file, MAX_BYTES).unwrap_or_default());
            patterns.push(b'\n');
        }
        Self {
            files: copied.files,
            patterns: if patterns.trim_ascii().is_empty() {
                Vec::new()
            } else {
                patterns
            },
        }
    }
}

struct Copied<'a> {
    home: &'a Path,
    /// Files that were included so far.
    count: usize,
    files: Vec<(PathBuf, Vec<u8>)>,
    excludes: Vec<PathBuf>,
}

impl Copied<'_> {
    /// Returns the text of a configuration file, in which paths lead to copies.
    fn copy(&mut self, file: &Path, depth: usize) -> Vec<u8> {
        let text = bounded_read(file, MAX_BYTES).unwrap_or_default();
        let folder = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let folder = folder.parent().unwrap_or(self.home);
        let mut copy = Vec::new();
        for mut entry in entries(&text) {
            let section = entry.key.split('.').next().unwrap_or_default();
            if !COPIED.contains(&section) {
                continue;
            }
            match &*entry.key {
                "include.path" | "includeif.path" => {
                    let included = folder.join(self.expand(&entry));
                    if depth == MAX_INCLUDES || self.count == MAX_FILES || !included.is_file() {
                        continue;
                    }
                    self.count += 1;
                    let text = self.copy(&included, depth + 1);
                    let Some(path) = self.add("gitconfig", text) else {
                        continue;
                    };
                    entry.value = path.into_os_string().as_encoded_bytes().to_vec();
                    entry.subsection = absolute_condition(&entry.subsection, folder);
                }
                "core.excludesfile" => {
                    self.excludes.push(self.expand(&entry));
                    continue;
                }
                "core.attributesfile" => {
                    let text = bounded_read(&self.expand(&entry), MAX_BYTES).unwrap_or_default();
                    let Some(path) = self.add("attributes", text) else {
                        continue;
                    };
                    entry.value = path.into_os_string().as_encoded_bytes().to_vec();
                }
                _ => {}
            }
            copy.extend(line(&entry));
        }
        copy
    }

    fn add(&mut self, name: &str, text: Vec<u8>) -> Option<PathBuf> {
        let number = self.files.len();
        let path = Path::new(FOLDER).join(format!("{name}-{number}"));
        (number < MAX_FILES).then(|| {
            self.files.push((path.clone(), text));
            path
        })
    }

    /// Returns the value as a path, with the home folder for `~`.
    fn expand(&self, entry: &Entry) -> PathBuf {
        match entry.value.strip_prefix(b"~/") {
            Some(rest) => self.home.join(OsStr::from_bytes(rest)),
            None => entry.path(),
        }
    }
}

/// Replaces the folder of the file in a condition that begins with it: `gitdir:./work/`.
fn absolute_condition(condition: &[u8], folder: &Path) -> Vec<u8> {
    for kind in [&b"gitdir:"[..], b"gitdir/i:"] {
        let rest = condition.strip_prefix(kind);
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(b"./")) {
            let folder = folder.as_os_str().as_bytes();
            return [kind, folder, b"/", rest].concat();
        }
    }
    condition.to_vec()
}

/// Writes a setting.
fn line(entry: &Entry) -> Vec<u8> {
    let (section, key) = entry.key.split_once('.').unwrap_or_default();
    let quoted = |text: &[u8]| {
        let escape = |byte: &u8| match byte {
            b'"' => b"\\\"".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            b'\n' => b"\\n".to_vec(),
            byte => vec![*byte],
        };
        let text: Vec<u8> = text.iter().flat_map(escape).collect();
        [b"\"", &*text, b"\""].concat()
    };
    let section = if entry.subsection.is_empty() {
        section.as_bytes().to_vec()
    } else {
        [section.as_bytes(), b" ", &quoted(&entry.subsection)].concat()
    };
    let value = quoted(&entry.value);
    [
        b"[",
        &*section,
        b"]\n\t",
        key.as_bytes(),
        b" = ",
        &value,
        b"\n",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        home
    }

    #[test]
    fn configuration_is_copied_with_what_it_includes() {
        let home = home(&[
            (
                ".gitconfig",
                "[core]\n excludesFile = ~/ignored # mine\n[http \"x\"]\n extraHeader = SECRET\n\
                 [user]\n name = \"A \\\"B\\\" \\\\ C\"\n\
                 [includeIf \"gitdir:./work/\"]\n path = work.inc\n[include]\n path = absent\n",
            ),
            ("work.inc", "[user]\n email = work@example.org\n"),
            (".config/git/config", "[diff]\n noprefix\n"),
            ("ignored", ".env\n"),
            (".config/git/ignore", "not this\n"),
        ]);
        let own = OwnGit::read(home.path(), &[]);
        let text = |at: usize| String::from_utf8(own.files[at].1.clone()).unwrap();
        let folder = home.path().canonicalize().unwrap();
        assert_eq!(own.files.len(), 2);
        assert_eq!(own.files[0].0, Path::new("/.prowess/gitconfig-0"));
        assert_eq!(text(0), "[user]\n\temail = \"work@example.org\"\n");
        let expected = format!(
            "[diff]\n\tnoprefix = \"true\"\n[user]\n\tname = \"A \\\"B\\\" \\\\ C\"\n\
             [includeif \"gitdir:{}/work/\"]\n\tpath = \"/.prowess/gitconfig-0\"\n",
            folder.display()
        );
        assert_eq!(text(1), expected);
        assert_eq!(own.patterns, b".env\n\n");
    }

    #[test]
    fn ignore_file_has_a_default_and_a_repository_overrides_it() {
        let home = home(&[(".config/git/ignore", "*.swp\n"), ("local", "*.key\n")]);
        assert_eq!(OwnGit::read(home.path(), &[]).patterns, b"*.swp\n\n");
        let local = [home.path().join("local")];
        assert_eq!(OwnGit::read(home.path(), &local).patterns, b"*.key\n\n");
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(OwnGit::read(nothing.path(), &[]), OwnGit::default());
    }

    /// Files that include each other end.
    #[test]
    fn includes_are_bounded() {
        let home = home(&[(".gitconfig", "[include]\n path = .gitconfig\n")]);
        assert_eq!(OwnGit::read(home.path(), &[]).files.len(), MAX_INCLUDES + 1);
        let all = "[include]\n path = .gitconfig\n".repeat(100);
        std::fs::write(home.path().join(".gitconfig"), all).unwrap();
        assert!(OwnGit::read(home.path(), &[]).files.len() <= MAX_FILES + 1);
    }
}
