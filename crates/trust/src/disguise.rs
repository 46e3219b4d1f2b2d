//! Finds grants for a file that is an interpreter under another name.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_policy::{Actor, Effect, Gate, GateOutcome, PermissionRule, RuleSource};
use prowess_shell::{Word, programs};

use crate::skill_trust::with_folder;

/// Folders of the system's programs.
const SYSTEM: [&str; 6] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/opt/homebrew/bin",
];
/// Maximum number of programs in a folder to compare with.
const MAX_PROGRAMS: usize = 20_000;
/// Maximum number of parent folders that a relative path may start in.
const MAX_PARENTS: usize = 64;
/// Maximum length of a chain of links.
const MAX_LINKS: usize = 40;

/// Arguments with which an interpreter runs any code.
const CODE: [&str; 3] = ["-c 'any code'", "-e 'any code'", "'any code'"];
/// Maximum number of disguised files of a skill. With more, every grant for a path allows everything.
const MAX_DISGUISED: usize = 64;

/// The files of a skill that are links to an interpreter, or copies of one.
#[derive(Debug)]
pub(crate) struct DisguisedFiles<'f> {
    /// The absolute path of the skill's folder.
    folder: &'f Path,
    /// The interpreters of the system.
    system: Interpreters,
    /// The files, relative to the folder.
    files: Vec<&'f Path>,
}

impl<'f> DisguisedFiles<'f> {
    pub(crate) fn new(folder: &'f Path, files: impl Iterator<Item = &'f Path>) -> Self {
        let system = Interpreters::default();
        let is_disguised = |file: &&Path| {
            let names = system.names_of(&folder.join(file));
            names.iter().any(|name| Interpreters::is_open(name))
        };
        let files = files.filter(is_disguised).take(MAX_DISGUISED + 1).collect();
        Self {
            folder,
            system,
            files,
        }
    }

    /// Returns `true` if a grant allows a disguised interpreter to run everything.
    pub(crate) fn are_allowed_by(&self, grant: &str) -> bool {
        let Ok(grant) = with_folder(grant, Some(self.folder)) else {
            return false;
        };
        let Some(rest) = (grant.strip_prefix("Bash(")).or_else(|| grant.strip_prefix("bash:"))
        else {
            return false;
        };
        let words = || rest.split_inclusive([' ', '\t']).map(str::trim_end);
        // A wrapper such as `timeout 9` comes before the program.
        words().any(|word| self.is_named(&grant, word)) || self.is_matched(&grant, rest)
    }

    /// Returns `true` if a word of the grant is the path of a disguised file, anywhere on disk.
    fn is_named(&self, grant: &str, word: &str) -> bool {
        let end = word.find([':', '*', ')']).unwrap_or(word.len());
        let program = word[..end].trim_matches(['"', '\'']);
        if !program.contains('/') {
            // Everything else is judged by its name.
            return false;
        }
        // A command starts in the skill's folder, or in the project around it.
        let places = self.folder.ancestors().take(MAX_PARENTS);
        let mut files = places.map(|place| place.join(program));
        let file = files.find(|file| file.symlink_metadata().is_ok());
        let names = file.map(|file| self.system.names_of(&file));
        let mut names = names.iter().flatten();
        names.any(|name| allows_all(grant, program, name))
    }

    /// Returns `true` if the grant matches a command that runs any code with a disguised file of the
    /// skill.
    fn is_matched(&self, grant: &str, rest: &str) -> bool {
        if self.files.len() > MAX_DISGUISED {
            return rest.contains('/') || rest.contains('*');
        }
        if self.files.is_empty() || !rest.contains('*') {
            return false;
        }
        let mut gate = Gate::default();
        gate.rules.add(Effect::Allow, grant, RuleSource::BuiltIn);
        let allows = |line: &str| {
            let outcome = gate.command(line, &Actor::default());
            matches!(outcome, GateOutcome::Allowed(..))
        };
        let starts = rest.match_indices([' ', '\t']).map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
        let lines = |path: &str| {
            starts.iter().any(|start| {
                let wrapper = &rest[..*start];
                let mut lines = CODE.iter().map(|code| format!("{wrapper}{path} {code}"));
                lines.any(|line| allows(&line))
            })
        };
        self.files.iter().any(|file| {
            let whole = self.folder.join(file);
            let places = self.folder.ancestors().take(MAX_PARENTS);
            let inner = places.filter_map(|place| whole.strip_prefix(place).ok()?.to_str());
            let inner = inner.flat_map(|path| [path.to_owned(), format!("./{path}")]);
            let mut spellings = inner.chain(whole.to_str().map(str::to_owned));
            // A name without a slash is looked up in the search path.
            spellings.any(|path| path.contains('/') && lines(&path))
        })
    }
}

/// Returns `true` if the grant allows everything with another program in its place.
fn allows_all(grant: &str, program: &str, name: &str) -> bool {
    let grant = grant.replacen(program, name, 1);
    PermissionRule::parse(&grant, Effect::Allow).is_ok_and(|rule| rule.is_unrestricted())
}

/// The interpreters of the system by size, looked up when the first file is compared.
#[derive(Debug, Default)]
struct Interpreters {
    by_size: OnceCell<BTreeMap<u64, Vec<PathBuf>>>,
}

impl Interpreters {
    /// Returns `true` if a program of this name runs any code.
    fn is_open(name: &str) -> bool {
        programs::is_unrestricted(&[Word::plain(name)])
    }

    /// Returns the other names of a file: those of the targets of its links, and of the interpreters
    /// with the same content.
    fn names_of(&self, file: &Path) -> Vec<String> {
        let mut names = names_of_targets(file);
        names.extend(self.same_as(file));
        names
    }

    fn by_size(&self) -> &BTreeMap<u64, Vec<PathBuf>> {
        self.by_size.get_or_init(|| {
            let mut found: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
            let entries = SYSTEM.iter().flat_map(|folder| {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                entries.take(MAX_PROGRAMS).map(|entry| entry.path())
            });
            for path in entries.filter(|path| name_of(path).is_some_and(|it| Self::is_open(&it))) {
                if let Ok(facts) = fs::metadata(&path)
                    && facts.is_file()
                {
                    found.entry(facts.len()).or_default().push(path);
                }
            }
            found
        })
    }

    /// Returns the names of the interpreters with the same content as a file.
    fn same_as(&self, file: &Path) -> Vec<String> {
        let Ok(facts) = fs::metadata(file) else {
            return Vec::new();
        };
        // A script is judged by its name.
        if !facts.is_file() || starts_with_shebang(file) {
            return Vec::new();
        }
        let candidates = self.by_size().get(&facts.len()).into_iter().flatten();
        let same = candidates.filter(|other| have_same_bytes(file, other).unwrap_or(false));
        same.filter_map(|path| name_of(path)).collect()
    }
}

/// Returns the names of the targets of a chain of links.
fn names_of_targets(file: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut current = file.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&current) else {
            break;
        };
        current = current.parent().unwrap_or(Path::new("")).join(target);
        names.extend(name_of(&current));
    }
    // The last link may lead through others in its path.
    if !names.is_empty() {
        names.extend(fs::canonicalize(file).ok().as_deref().and_then(name_of));
    }
    names
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

fn starts_with_shebang(file: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

fn have_same_bytes(one: &Path, other: &Path) -> std::io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_copies_of_interpreters_are_found() {
        let world = tempfile::tempdir().unwrap();
        let folder = world.path().join("skills/s");
        fs::create_dir_all(&folder).unwrap();
        fs::copy("/bin/sh", folder.join("copy")).unwrap();
        fs::write(folder.join("plain.sh"), "#!/bin/sh\n").unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
        };
        link("/bin/sh", "link");
        link("link", "chain");
        link("plain.sh", "fine");
        link("loop", "loop");
        let files = ["chain", "copy", "fine", "link", "loop", "plain.sh"].map(Path::new);
        let files = DisguisedFiles::new(&folder, files.into_iter());
        for (grant, expected) in [
            ("Bash(./link:*)", true),
            ("bash:./link *", true),
            ("Bash(./chain:*)", true),
            ("Bash(./copy *)", true),
            ("Bash(skills/s/link:*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/link:*)", true),
            ("Bash(./link -x:*)", true),
            ("Bash(./link build.sh:*)", false),
            ("Bash(./plain.sh:*)", false),
            ("Bash(./fine:*)", false),
            ("Bash(./loop:*)", false),
            ("Bash(./gone:*)", false),
            ("Bash(link:*)", false),
            ("Read(./link)", false),
            // Patterns and wrappers.
            ("Bash(${CLAUDE_SKILL_DIR}/*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/co*)", true),
            ("Bash(skills/s/*)", true),
            ("bash:./*", true),
            ("Bash(timeout 9 ${CLAUDE_SKILL_DIR}/copy:*)", true),
            ("Bash(timeout 9 ./link *)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/plain*)", false),
            ("Bash(timeout 9 ./plain.sh:*)", false),
            ("Bash(git log:*)", false),
        ] {
            assert_eq!(files.are_allowed_by(grant), expected, "{grant}");
        }
    }
}
