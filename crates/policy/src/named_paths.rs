//! Paths that variables of the user's environment name: folders of programs, and files that shells,
//! git and other programs read before they do anything else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A path that a variable names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// The variable.
    pub variable: Box<str>,
    /// The path, absolute. It can contain `..`. A path that ends in `/` is a folder.
    pub path: PathBuf,
    /// The use that programs make of it.
    pub role: NamedRole,
}

/// The use that programs make of a path that a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedRole {
    /// A folder whose files are executed by their names, whatever the user works on. Folders in it do
    /// not count.
    Programs,
    /// A file or folder of settings, which can name programs.
    Settings,
    /// A folder of a program, most of which is data.
    Data,
    /// A folder from which an interpreter loads modules, or a folder that stands for every folder. It
    /// is often the source code of the project, so that it stays writable.
    Code,
}

/// The form of the value of a variable.
#[derive(Clone, Copy)]
enum Form {
    /// Folders, separated by `:`.
    Folders,
    /// One folder.
    Folder,
    /// Files, separated by `:`, or by blanks.
    Libraries,
    /// Files, separated by `:`.
    Files,
    /// One file. Shells expand `~` and `$HOME` in some of them.
    File,
    /// One folder, of which these parts count. A part that ends in `/` is a folder.
    Parts(&'static [&'static str]),
    /// A command: its first word.
    Program,
}

use Form::{File, Files, Folder, Folders, Libraries, Parts, Program};
use NamedRole::{Code, Data, Programs, Settings};

/// Variables with paths.
const VARIABLES: &[(&str, NamedRole, Form)] = &[
    // Programs and libraries that every program loads.
    ("PATH", Programs, Folders),
    ("LD_LIBRARY_PATH", Programs, Folders),
    ("LD_AUDIT", Settings, Libraries),
    ("LD_PRELOAD", Settings, Libraries),
    ("DYLD_LIBRARY_PATH", Programs, Folders),
    ("DYLD_INSERT_LIBRARIES", Settings, Libraries),
    ("GIT_EXEC_PATH", Programs, Folder),
    ("VIRTUAL_ENV", Programs, Parts(&["bin/"])),
    ("CONDA_PREFIX", Programs, Parts(&["bin/"])),
    ("GOBIN", Programs, Folder),
    ("PNPM_HOME", Programs, Folder),
    // Settings and data.
    ("XDG_CONFIG_HOME", Settings, Folder),
    ("XDG_CONFIG_DIRS", Settings, Folders),
    ("XDG_DATA_HOME", Data, Folder),
    ("XDG_DATA_HOME", Settings, Parts(DATA)),
    ("XDG_DATA_DIRS", Data, Folders),
    ("XDG_STATE_HOME", Data, Folder),
    ("XDG_CACHE_HOME", Data, Folder),
    // Shells.
    ("BASH_ENV", Settings, File),
    ("ENV", Settings, File),
    ("INPUTRC", Settings, File),
    ("ZDOTDIR", Settings, Parts(ZSH)),
    ("ZSH", Settings, Folder),
    ("OSH", Settings, Folder),
    ("STARSHIP_CONFIG", Settings, File),
    ("DIRENV_CONFIG", Settings, Folder),
    ("MISE_CONFIG_DIR", Settings, Folder),
    ("MISE_CONFIG_FILE", Settings, File),
    ("MISE_GLOBAL_CONFIG_FILE", Settings, File),
    ("LESSKEYIN", Settings, File),
    ("SCREENRC", Settings, File),
    ("WGETRC", Settings, File),
    // Git and what it starts.
    ("GIT_CONFIG", Settings, File),
    ("GIT_CONFIG_GLOBAL", Settings, File),
    ("GIT_CONFIG_SYSTEM", Settings, File),
    ("GIT_COMMON_DIR", Settings, Parts(GIT)),
    ("GIT_DIR", Settings, Parts(GIT)),
    ("GIT_TEMPLATE_DIR", Settings, Folder),
    ("GIT_ASKPASS", Settings, Program),
    ("GIT_EDITOR", Settings, Program),
    ("GIT_EXTERNAL_DIFF", Settings, Program),
    ("GIT_PAGER", Settings, Program),
    ("GIT_PROXY_COMMAND", Settings, Program),
    ("GIT_SEQUENCE_EDITOR", Settings, Program),
    ("GIT_SSH", Settings, Program),
    ("GIT_SSH_COMMAND", Settings, Program),
    ("SSH_ASKPASS", Settings, Program),
    ("SUDO_ASKPASS", Settings, Program),
    ("BROWSER", Settings, Program),
    ("EDITOR", Settings, Program),
    ("LESSOPEN", Settings, Program),
    ("MANPAGER", Settings, Program),
    ("PAGER", Settings, Program),
    ("SHELL", Settings, Program),
    ("VISUAL", Settings, Program),
    // Interpreters, build tools and clients.
    ("PYTHONSTARTUP", Settings, File),
    ("PYTHONUSERBASE", Settings, Parts(&["bin/", "lib/"])),
    ("PYTHONHOME", Data, Folder),
    ("PIP_CONFIG_FILE", Settings, File),
    ("UV_CONFIG_FILE", Settings, File),
    ("NPM_CONFIG_USERCONFIG", Settings, File),
    ("NPM_CONFIG_GLOBALCONFIG", Settings, File),
    ("npm_config_userconfig", Settings, File),
    ("npm_config_globalconfig", Settings, File),
    ("CARGO_HOME", Settings, Parts(CARGO)),
    ("RUSTC_WRAPPER", Settings, Program),
    ("GOENV", Settings, File),
    ("GRADLE_USER_HOME", Settings, Parts(GRADLE)),
    ("BAZELRC", Settings, File),
    ("CCACHE_CONFIGPATH", Settings, File),
    ("R_PROFILE_USER", Settings, File),
    ("R_ENVIRON_USER", Settings, File),
    ("PERL5DB", Settings, Program),
    ("OPENSSL_CONF", Settings, File),
    ("KUBECONFIG", Settings, Files),
    ("DOCKER_CONFIG", Settings, Folder),
    ("AWS_CONFIG_FILE", Settings, File),
    ("AWS_SHARED_CREDENTIALS_FILE", Settings, File),
    ("CLOUDSDK_CONFIG", Settings, Folder),
    ("TF_CLI_CONFIG_FILE", Settings, File),
    ("ANSIBLE_CONFIG", Settings, File),
    ("GNUPGHOME", Settings, Folder),
    ("CLAUDE_CONFIG_DIR", Settings, Folder),
    ("CODEX_HOME", Settings, Folder),
    // Modules.
    ("PYTHONPATH", Code, Folders),
    ("NODE_PATH", Code, Folders),
    ("PERL5LIB", Code, Folders),
    ("RUBYLIB", Code, Folders),
];

/// Parts of a folder for data that programs execute.
const DATA: &[&str] = &["applications/", "bash-completion/", "dbus-1/", "systemd/"];
/// Parts of a git folder that exist in each of them and decide what git executes.
const GIT: &[&str] = &["config", "hooks/"];
const ZSH: &[&str] = &[
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".zlogout",
    ".zsh/",
];
const CARGO: &[&str] = &["bin/", "config", "config.toml", "env"];
const GRADLE: &[&str] = &["gradle.properties", "init.gradle", "init.d/"];

/// Most paths of one variable.
const MAX_PATHS: usize = 256;

impl NamedPath {
    /// Returns the paths that the variables of a user name. A relative one counts from `current`.
    pub fn of<'a>(
        variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
        current: &Path,
        home: Option<&Path>,
    ) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (name, value) in variables {
            let known = VARIABLES.iter().filter(|(known, _, _)| name == *known);
            // Settings of git in variables: `core.hooksPath` or a program.
            let value_of_git = name.as_bytes().starts_with(b"GIT_CONFIG_VALUE_");
            let of_git = value_of_git.then_some(&("GIT_CONFIG_VALUE", Settings, Program));
            for (variable, role, form) in known.chain(of_git) {
                for (path, role) in paths(value, *role, *form, current, home) {
                    let is_listed = |it: &Self| it.path == path && it.role == role;
                    if !found.iter().any(is_listed) {
                        let variable = (*variable).into();
                        found.push(Self {
                            variable,
                            path,
                            role,
                        });
                    }
                }
            }
        }
        found
    }

    /// Returns `true` if the user named this path, or the folder of which it is the `bin`, as one that
    /// commands may write.
    pub fn is_granted(&self, folder: &Path) -> bool {
        self.path == folder || (self.path.ends_with("bin") && self.path.parent() == Some(folder))
    }
}

/// Returns the paths in a value.
fn paths(
    value: &OsStr,
    role: NamedRole,
    form: Form,
    current: &Path,
    home: Option<&Path>,
) -> Vec<(PathBuf, NamedRole)> {
    let path = |text: &OsStr| absolute(&expanded(text, home), current);
    let folder = |text: &OsStr| {
        if role == Programs && is_any_folder(text) {
            return Some((path(OsStr::new("."))?.join(""), Code));
        }
        Some((path(text)?.join(""), role))
    };
    let is_given = !value.is_empty();
    match form {
        Folders => split(value)
            .filter(|_| is_given)
            // Only an empty folder of programs means the current one.
            .filter(|text| role == Programs || !text.is_empty())
            .take(MAX_PATHS)
            .filter_map(|text| folder(&text))
            .collect(),
        Folder => folder(value).filter(|_| is_given).into_iter().collect(),
        Libraries => split(value)
            .flat_map(|text| words(&text))
            .take(MAX_PATHS)
            .filter_map(|text| Some((path(&text)?, role)))
            .collect(),
        Files => split(value)
            .filter(|text| !text.is_empty())
            .take(MAX_PATHS)
            .filter_map(|text| Some((path(&text)?, role)))
            .collect(),
        File => path(value)
            .filter(|_| is_given)
            .map(|path| (path, role))
            .into_iter()
            .collect(),
        Parts(parts) => path(value)
            .filter(|_| is_given)
            .iter()
            .flat_map(|folder| parts.iter().map(|part| (folder.join(part), role)))
            .collect(),
        Program => first_word(value)
            // A name without a folder is looked for in the search path.
            .filter(|word| word.as_encoded_bytes().contains(&b'/'))
            .and_then(|word| Some((path(&word)?, role)))
            .into_iter()
            .collect(),
    }
}

/// Returns `true` for an entry of a search path that means the folder in which the user is.
fn is_any_folder(text: &OsStr) -> bool {
    let mut parts = Path::new(text).components();
    parts.all(|part| part == Component::CurDir)
}

fn split(value: &OsStr) -> impl Iterator<Item = OsString> {
    let parts = value.as_bytes().split(|byte| *byte == b':');
    parts.map(|part| OsStr::from_bytes(part).to_owned())
}

fn words(text: &OsStr) -> Vec<OsString> {
    let words = text.as_bytes().split(u8::is_ascii_whitespace);
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect()
}

/// Returns the program of a command, without quotes. Words that set variables are left out.
fn first_word(value: &OsStr) -> Option<OsString> {
    let text = value
        .to_str()?
        .trim_start_matches(['|', '-', ' ', '@', '%']);
    let is_assignment = |word: &&str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            let mut letters = name.chars();
            letters.all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty()
        })
    };
    let quoted = ['"', '\''].iter().find_map(|quote| {
        let (word, _) = text.strip_prefix(*quote)?.split_once(*quote)?;
        Some(word)
    });
    let mut words = text.split_whitespace().skip_while(is_assignment);
    let word = quoted.or_else(|| words.next())?;
    Some(word.trim_matches(['"', '\'']).into())
}

/// Replaces the home folder at the beginning of a path.
fn expanded(text: &OsStr, home: Option<&Path>) -> PathBuf {
    let path = Path::new(text);
    let rest = ["~", "$HOME", "${HOME}"]
        .iter()
        .find_map(|name| path.strip_prefix(name).ok());
    match (rest, home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Returns an absolute path without `.`. What `..` means depends on links.
fn absolute(path: &Path, current: &Path) -> Option<PathBuf> {
    let plain: PathBuf = current.join(path).components().collect();
    let is_whole = plain.is_absolute() && !plain.as_os_str().as_encoded_bytes().contains(&0);
    is_whole.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable, its value, and the paths that it names.
    type Case = (
        &'static str,
        &'static str,
        &'static [(&'static str, NamedRole)],
    );

    fn named(variable: &str, value: &str) -> Vec<(String, NamedRole)> {
        let variables = [(OsStr::new(variable), OsStr::new(value))];
        let home = Some(Path::new("/h"));
        let found = NamedPath::of(variables, Path::new("/w"), home).into_iter();
        let found = found.map(|it| (it.path.to_str().unwrap().to_owned(), it.role));
        found.collect()
    }

    #[test]
    fn variables_name_paths() {
        let cases: &[Case] = &[
            (
                "PATH",
                "/w/.venv/bin:node_modules/.bin:/usr/bin:../x",
                &[
                    ("/w/.venv/bin/", Programs),
                    ("/w/node_modules/.bin/", Programs),
                    ("/usr/bin/", Programs),
                    ("/w/../x/", Programs),
                ],
            ),
            (
                "PATH",
                "/usr/bin::.:./",
                &[("/usr/bin/", Programs), ("/w/", Code)],
            ),
            ("PATH", "", &[]),
            ("PATH", "~/tools", &[("/h/tools/", Programs)]),
            ("VIRTUAL_ENV", "/w/.venv", &[("/w/.venv/bin/", Programs)]),
            ("BASH_ENV", "$HOME/env.sh", &[("/h/env.sh", Settings)]),
            ("ENV", "${HOME}/env.sh", &[("/h/env.sh", Settings)]),
            (
                "KUBECONFIG",
                "/a:/b::",
                &[("/a", Settings), ("/b", Settings)],
            ),
            ("XDG_CONFIG_HOME", "/w/conf", &[("/w/conf/", Settings)]),
            (
                "XDG_CONFIG_DIRS",
                "/a::/b",
                &[("/a/", Settings), ("/b/", Settings)],
            ),
            ("XDG_STATE_HOME", "", &[]),
            (
                "PYTHONPATH",
                "src:lib",
                &[("/w/src/", Code), ("/w/lib/", Code)],
            ),
            ("EDITOR", "vim", &[]),
            ("EDITOR", "/w/edit -w", &[("/w/edit", Settings)]),
            (
                "GIT_SSH_COMMAND",
                "A=1 './my ssh' -v",
                &[("/w/my", Settings)],
            ),
            (
                "GIT_SSH_COMMAND",
                "'/w/my ssh' -v",
                &[("/w/my ssh", Settings)],
            ),
            ("LESSOPEN", "| /w/less.sh %s", &[("/w/less.sh", Settings)]),
            (
                "LD_PRELOAD",
                "/w/a.so /w/b.so:/w/c.so",
                &[
                    ("/w/a.so", Settings),
                    ("/w/b.so", Settings),
                    ("/w/c.so", Settings),
                ],
            ),
            ("GIT_CONFIG_VALUE_3", "/w/hooks", &[("/w/hooks", Settings)]),
            ("GIT_CONFIG_VALUE_4", "true", &[]),
            (
                "GIT_DIR",
                "/w/dots",
                &[("/w/dots/config", Settings), ("/w/dots/hooks/", Settings)],
            ),
            ("UNKNOWN", "/w/x", &[]),
        ];
        for (variable, value, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(path, role)| ((*path).to_owned(), *role))
                .collect();
            assert_eq!(named(variable, value), expected, "{variable}={value}");
        }
        let shell: Vec<String> = named("ZDOTDIR", "/w").into_iter().map(|it| it.0).collect();
        assert!(shell.contains(&"/w/.zshrc".to_owned()) && !shell.contains(&"/w".to_owned()));
    }

    #[test]
    fn folder_that_the_user_granted_is_known() {
        let path = NamedPath {
            variable: "PATH".into(),
            path: "/w/.venv/bin/".into(),
            role: Programs,
        };
        for (folder, expected) in [
            ("/w/.venv/bin", true),
            ("/w/.venv", true),
            ("/w", false),
            ("/w/.venv/bin/x", false),
        ] {
            assert_eq!(path.is_granted(Path::new(folder)), expected, "{folder}");
        }
    }
}
