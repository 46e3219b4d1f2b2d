//! The environment of a command: an allow-list, built for every run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::outcome::Note;

/// Variables that are inherited from the host program, besides `LC_*`.
const TAKEN: &[&str] = &["HOME", "LANG", "TERM", "USER"];

/// Folders of programs, in the order of the search path.
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// Parts of the names of secrets.
const SECRET_NAMES: &[&str] = &["TOKEN", "SECRET", "KEY", "PASS", "AUTH", "CRED"];

/// Variables that change what a program does before it runs.
const LOADERS: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BASH_XTRACEFD",
    "CDPATH",
    "ENV",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GLIBC_TUNABLES",
    "GLOBIGNORE",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LOCPATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "_JAVA_OPTIONS",
];

/// Beginnings of such names.
const LOADER_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "GIT_CONFIG",
    "NPM_CONFIG_",
    "npm_config_",
];

/// Prefixes of well-known kinds of keys.
const KEY_PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "AIza",
    "AKIA",
    "ASIA",
    "npm_",
    "pypi-",
    "hf_",
    "-----BEGIN ",
];

/// The environment of one run.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// By name, without `PATH` and `TMPDIR`.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// The search path.
    pub(crate) folders: Vec<PathBuf>,
    /// The folders of the search path that a person named.
    pub(crate) named: Vec<PathBuf>,
    /// Notes about what was left out.
    pub(crate) notes: Vec<Note>,
}

/// Builds the environment for one run.
///
/// Folders below a `closed` one are never searched for programs.
pub(crate) fn environment(
    inherited: &[(OsString, OsString)],
    given: &[(Box<str>, Box<str>)],
    folders: &[PathBuf],
    closed: &[PathBuf],
) -> Environment {
    let mut built = Environment::default();
    for (name, value) in inherited {
        let Some(known) = name.to_str() else { continue };
        if !TAKEN.contains(&known) && !known.starts_with("LC_") {
            continue;
        }
        match refusal(known, value) {
            None => drop(built.variables.insert(name.clone(), value.clone())),
            Some(why) => built.refuse(known, why),
        }
    }
    for (name, value) in given {
        match refusal(name, OsStr::new(&**value)) {
            None => drop(built.variables.insert((&**name).into(), (&**value).into())),
            Some(why) => built.refuse(name, why),
        }
    }
    let system = SYSTEM_FOLDERS
        .iter()
        .map(|folder| (PathBuf::from(folder), false));
    for (folder, named) in folders
        .iter()
        .map(|folder| (folder.clone(), true))
        .chain(system)
    {
        match left_out(&folder, closed) {
            None => {
                // A named folder appears inside under its real path.
                let real = if named {
                    folder.canonicalize()
                } else {
                    Ok(folder)
                };
                let Ok(folder) = real else { continue };
                if !built.folders.contains(&folder) {
                    built.named.extend(named.then(|| folder.clone()));
                    built.folders.push(folder);
                }
            }
            // A missing system folder is not reported.
            Some(Unsearched::Absent) if !named => {}
            Some(why) => {
                let why = why.text().into();
                built.notes.push(Note::PathFolderLeftOut { folder, why });
            }
        }
    }
    built
}

impl Environment {
    /// The value of `PATH`.
    pub(crate) fn path(&self) -> OsString {
        let folders: Vec<&OsStr> = self
            .folders
            .iter()
            .map(|folder| folder.as_os_str())
            .collect();
        folders.join(OsStr::new(":"))
    }

    /// Keeps `TMPDIR` if the command may write there. Otherwise the runner sets it.
    pub(crate) fn keep_scratch(&mut self, writable: &[PathBuf]) -> bool {
        let Some(given) = self.variables.get(OsStr::new("TMPDIR")) else {
            return false;
        };
        let real = Path::new(given).canonicalize();
        if real.is_ok_and(|real| writable.iter().any(|root| real.starts_with(root))) {
            return true;
        }
        self.variables.remove(OsStr::new("TMPDIR"));
        self.refuse("TMPDIR", "the command may not write there");
        false
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.notes.push(Note::VariableRefused {
            name: name.into(),
            why: why.into(),
        });
    }
}

/// Returns the reason why a variable must not reach a command.
fn refusal(name: &str, value: &OsStr) -> Option<&'static str> {
    let mut bytes = name.bytes();
    let starts = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Some("its name contains characters other than letters, digits and `_`");
    }
    let upper = name.to_ascii_uppercase();
    if LOADERS.contains(&upper.as_str())
        || LOADERS.contains(&name)
        || LOADER_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
    {
        return Some("it changes how programs start");
    }
    if SECRET_NAMES.iter().any(|part| upper.contains(part)) {
        return Some("its name looks like that of a secret");
    }
    if value.as_encoded_bytes().contains(&0) {
        return Some("its value has a NUL byte");
    }
    if value.to_str().is_some_and(looks_like_key) {
        return Some("its value looks like a key");
    }
    None
}

/// Returns `true` if any part of a value looks like a key.
fn looks_like_key(value: &str) -> bool {
    value.contains("-----BEGIN ")
        || value
            .split(|c: char| c.is_whitespace() || "\"'=,;:@/?&".contains(c))
            .any(|word| known_key(word) || random_looking(word))
}

fn known_key(word: &str) -> bool {
    let token = word.len() >= 16 && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    // A signed web token: three parts in Base64, the first one begins with `{"`.
    token || (word.starts_with("eyJ") && word.split('.').count() == 3)
}

/// Returns `true` for a long word of mixed letters and digits, unlike anything a person types.
fn random_looking(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+_-.".contains(&byte);
    word.len() >= 32
        && word.bytes().all(plain)
        && word.bytes().filter(u8::is_ascii_digit).count() >= 3
        && word.bytes().filter(u8::is_ascii_uppercase).count() >= 3
        && word.bytes().filter(u8::is_ascii_lowercase).count() >= 3
}

enum Unsearched {
    Absent,
    Relative,
    Closed,
}

impl Unsearched {
    fn text(&self) -> &'static str {
        match self {
            Self::Absent => "it is not a folder",
            Self::Relative => "it is not absolute",
            Self::Closed => "the command, or a skill, may write there",
        }
    }
}

fn left_out(folder: &Path, closed: &[PathBuf]) -> Option<Unsearched> {
    // A colon in `PATH` ends the name of a folder.
    if !folder.is_absolute() || folder.as_os_str().as_encoded_bytes().contains(&b':') {
        return Some(Unsearched::Relative);
    }
    let Ok(real) = folder.canonicalize() else {
        return Some(Unsearched::Absent);
    };
    if !real.is_dir() {
        return Some(Unsearched::Absent);
    }
    let inside = closed
        .iter()
        .any(|root| real.starts_with(root) || folder.starts_with(root));
    inside.then_some(Unsearched::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(inherited: &[(&str, &str)], given: &[(&str, &str)]) -> Environment {
        let inherited: Vec<_> = inherited
            .iter()
            .map(|(n, v)| (OsString::from(n), OsString::from(v)))
            .collect();
        let given: Vec<_> = given
            .iter()
            .map(|(n, v)| ((*n).into(), (*v).into()))
            .collect();
        environment(&inherited, &given, &[], &[])
    }

    #[test]
    fn takes_only_the_list() {
        let built = build(
            &[
                ("HOME", "/root"),
                ("LANG", "C.UTF-8"),
                ("LC_ALL", "C"),
                ("TERM", "dumb"),
                ("USER", "x"),
                ("PATH", "/evil:."),
                ("EDITOR", "vi"),
                ("OPENAI_API_KEY", "sk-0123456789abcdef"),
                ("XDG_RUNTIME_DIR", "/run/user/0"),
                ("DISPLAY", ":0"),
            ],
            &[],
        );
        let names: Vec<_> = built
            .variables
            .keys()
            .map(|n| n.to_str().unwrap())
            .collect();
        assert_eq!(names, ["HOME", "LANG", "LC_ALL", "TERM", "USER"]);
        assert!(
            built.notes.is_empty(),
            "variables that were not given are not reported: {:?}",
            built.notes
        );
        assert!(!built.path().to_str().unwrap().contains("evil"));
    }

    #[test]
    fn refuses_by_name_and_by_value_even_when_given() {
        let refused = [
            ("MY_TOKEN", "x"),
            ("my_secret", "x"),
            ("KEYBOARD", "de"),
            ("DB_PASSWORD", "x"),
            ("X_AUTH", "x"),
            ("AWS_CREDENTIALS", "x"),
            ("LD_PRELOAD", "/x.so"),
            ("DYLD_INSERT_LIBRARIES", "/x"),
            ("BASH_ENV", "/x"),
            ("ENV", "/x"),
            ("BASH_FUNC_ls", "() { x; }"),
            ("IFS", "x"),
            ("PS4", "$(x)"),
            ("SHELLOPTS", "xtrace"),
            ("PATH", "/x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("bash_env", "/x"),
            ("A B", "x"),
            ("", "x"),
            ("A=B", "x"),
            ("A\0B", "x"),
            ("X", "a\0b"),
            ("X", "sk-proj-0123456789abcdef"),
            ("X", "Bearer ghp_0123456789abcdefghij"),
            ("X", "https://u:AKIAIOSFODNN7EXAMPLE@host/"),
            ("X", "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0"),
            ("X", "-----BEGIN RSA PRIVATE KEY-----\nx"),
            ("X", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3"),
        ];
        for (name, value) in refused {
            let built = build(&[], &[(name, value)]);
            assert!(built.variables.is_empty(), "{name}={value} must be refused");
            assert_eq!(built.notes.len(), 1, "{name}={value} must be reported");
        }
    }

    #[test]
    fn takes_what_is_given_and_harmless() {
        let given = [
            ("EDITOR", "vi"),
            ("COUNT", "17"),
            ("TARGET", "x86_64-unknown-linux-gnu"),
            ("COMMIT", "45673b8f00000000000000000000000000000000"),
            (
                "FILE",
                "/srv/x/projects/a-long-name/with/many/parts/Report2024.txt",
            ),
            (
                "TEXT",
                "a sentence of many words, with 3 numbers: 1, 2 and 3",
            ),
        ];
        let built = build(&[], &given);
        assert_eq!(built.variables.len(), given.len(), "{:?}", built.notes);
    }

    #[test]
    fn folders_below_a_closed_root_are_not_searched() {
        let open = environment(&[], &[], &[], &[]);
        assert!(open.folders.contains(&"/usr/bin".into()));
        let real = Path::new("/usr/bin").canonicalize().unwrap();
        let shut = environment(&[], &[], &["bin".into(), "/nowhere".into()], &[real]);
        assert!(!shut.folders.contains(&"/usr/bin".into()));
        let left_out = |folder: &str| {
            shut.notes.iter().any(
                |n| matches!(n, Note::PathFolderLeftOut { folder: f, .. } if f == Path::new(folder)),
            )
        };
        assert!(left_out("/usr/bin") && left_out("bin") && left_out("/nowhere"));
    }
}
