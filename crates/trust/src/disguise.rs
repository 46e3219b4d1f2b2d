//! Finds grants for a file that is an interpreter under another name.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_policy::rule::{CommandRule, RuleSubject};
use prowess_shell::{Word, programs, suggest};

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

/// Finds files that are an interpreter under another name.
#[derive(Debug)]
pub(crate) struct Disguises {
    /// The folder of the skill.
    folder: PathBuf,
    /// The files of the skill, relative to its folder.
    files: Vec<PathBuf>,
    /// The interpreters of the system, read when they are needed.
    system: OnceCell<Vec<SystemProgram>>,
    /// The files of the skill that are interpreters, with the names of those.
    own: OnceCell<Option<Vec<NamedFile>>>,
}

/// A file, and the names of the programs that it is.
type NamedFile = (PathBuf, Vec<String>);

/// An interpreter of the system.
#[derive(Debug)]
struct SystemProgram {
    path: PathBuf,
    name: String,
    size: u64,
}

impl Disguises {
    /// Prepares a search. `folder` is absolute.
    pub(crate) fn new(folder: &Path, files: Vec<PathBuf>) -> Self {
        Self {
            folder: folder.to_owned(),
            files,
            system: OnceCell::new(),
            own: OnceCell::new(),
        }
    }

    /// Returns `true` if a rule matches commands of a file that is a link to an interpreter, or a copy
    /// of one, so that it allows everything.
    pub(crate) fn open(&self, rule: &RuleSubject) -> bool {
        match rule {
            RuleSubject::Command(CommandRule::Prefix(words)) => self.name_interpreter(words),
            RuleSubject::Command(CommandRule::Like(pattern)) => {
                self.name_interpreter(&suggest::words_before_star(pattern))
                    || self.match_interpreter(pattern)
            }
            _ => false,
        }
    }

    /// Returns `true` if one of the words is an interpreter that runs what follows.
    fn name_interpreter(&self, words: &[Word]) -> bool {
        // A word without a slash is judged by its name.
        let named = words.iter().enumerate();
        named
            .filter(|(_, word)| word.text.contains('/'))
            .any(|(at, word)| {
                // A command starts in the skill's folder, or in the project around it.
                let files = self.places().map(|place| place.join(&*word.text));
                let mut names = files.flat_map(|file| self.names_of(&file));
                names.any(|name| {
                    let mut words = words.to_vec();
                    words[at] = Word::plain(name);
                    opens(&words, at)
                })
            })
    }

    /// Returns `true` if the word with the first `*` of a pattern matches an interpreter. The `*` also
    /// matches all arguments.
    fn match_interpreter(&self, pattern: &str) -> bool {
        let before = pattern.split('*').next().unwrap_or_default();
        let (words, start) = before.rsplit_once(' ').unwrap_or(("", before));
        if start.is_empty() {
            return false;
        }
        let words: Vec<Word> = words.split_whitespace().map(Word::plain).collect();
        let opens = |name: String| {
            let mut all = words.clone();
            all.push(Word::plain(name));
            opens(&all, words.len())
        };
        let is_spelled = |file: &Path| {
            self.places().any(|place| {
                let inner = file.strip_prefix(place).ok().and_then(Path::to_str);
                inner.is_some_and(|inner| {
                    // A name without a slash is looked up in the system's folders.
                    inner.starts_with(start) && inner.contains('/')
                        || format!("./{inner}").starts_with(start)
                })
            }) || file.to_str().is_some_and(|file| file.starts_with(start))
        };
        let Some(own) = self.own() else {
            return true;
        };
        let mut own = own.iter().filter(|(file, _)| is_spelled(file));
        if own.any(|(_, names)| names.iter().cloned().any(opens)) {
            return true;
        }
        // Files outside the skill's folder, and paths with `..`. A name without a slash is no path.
        let Some((folder, beginning)) = start.rsplit_once('/') else {
            return false;
        };
        let folder = if folder.is_empty() { "/" } else { folder };
        let folders: BTreeSet<PathBuf> = self.places().map(|place| place.join(folder)).collect();
        folders
            .iter()
            .flat_map(|folder| entries(folder))
            .filter(|file| name_of(file).is_some_and(|name| name.starts_with(beginning)))
            .any(|file| {
                let names = self.names_of(&file).into_iter();
                names.chain(name_of(&file)).any(opens)
            })
    }

    /// Returns the folders that a relative path may start in.
    fn places(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take(MAX_PARENTS)
    }

    /// Returns the files of the skill, and those in folders that its links lead to, which are
    /// interpreters. `None` if there are too many to look at.
    fn own(&self) -> Option<&[NamedFile]> {
        let find = || {
            let (mut found, mut linked) = (Vec::new(), 0);
            for file in self.files.iter().map(|file| self.folder.join(file)) {
                if file.is_symlink() {
                    let inner = entries(&file);
                    linked += inner.len();
                    if linked >= MAX_PROGRAMS {
                        return None;
                    }
                    found.extend(inner.into_iter().map(|file| {
                        let names = self.names_of(&file).into_iter().chain(name_of(&file));
                        let names = names.collect::<Vec<_>>();
                        (file, names)
                    }));
                }
                let names = self.names_of(&file);
                found.push((file, names));
            }
            found.retain(|(_, names)| !names.is_empty());
            Some(found)
        };
        self.own.get_or_init(find).as_deref()
    }

    /// Returns the names of the programs that a file is a link to, or a copy of.
    fn names_of(&self, file: &Path) -> Vec<String> {
        let mut names = link_names(file);
        names.extend(self.same_as(file));
        names
    }

    /// Returns the names of the interpreters of the system with the same content as a file.
    fn same_as(&self, file: &Path) -> Vec<String> {
        let Ok(facts) = fs::metadata(file) else {
            return Vec::new();
        };
        if !facts.is_file() {
            return Vec::new();
        }
        let system = self.system.get_or_init(system_programs).iter();
        system
            .filter(|other| other.size == facts.len())
            // A script is judged by its name.
            .filter(|_| !starts_with_shebang(file))
            .filter(|other| have_same_bytes(file, &other.path).unwrap_or(false))
            .map(|other| other.name.clone())
            .collect()
    }
}

/// Returns `true` if a grant for these words allows everything because of the program at an index,
/// which another one may start: `timeout 9 sh`.
// Each step needs a word of a rule, which has at most 512 bytes.
fn opens(words: &[Word], at: usize) -> bool {
    let starts = || programs::inspect(words).starts.into_iter();
    programs::is_unrestricted(words)
        || starts().any(|start| (1..=at).contains(&start) && opens(&words[start..], at - start))
}

/// Returns the files in a folder, empty if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.take(MAX_PROGRAMS).map(|entry| entry.path());
    entries.filter(|path| !path.is_dir()).collect()
}

/// Returns the interpreters of the system.
fn system_programs() -> Vec<SystemProgram> {
    let files = SYSTEM.iter().flat_map(|folder| entries(Path::new(folder)));
    let program = |path: PathBuf| {
        let name = name_of(&path)?;
        let facts = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let is_open = programs::is_unrestricted(&[Word::plain(&*name)]);
        is_open.then_some(SystemProgram {
            name,
            size: facts.len(),
            path,
        })
    };
    files.filter_map(program).collect()
}

/// Returns the names of the targets of a chain of links.
fn link_names(file: &Path) -> Vec<String> {
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
    use prowess_policy::Effect;

    use super::*;
    use crate::skill_trust::rule_in_folder;

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
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::create_dir_all(folder.join("fine-bin")).unwrap();
        fs::copy("/bin/sh", folder.join("bin/fmt")).unwrap();
        fs::write(folder.join("fine-bin/fmt.sh"), "#!/bin/sh\n").unwrap();
        link("/bin", "all");
        let files = [
            "bin/fmt",
            "fine-bin/fmt.sh",
            "copy",
            "plain.sh",
            "link",
            "all",
        ];
        let disguises = Disguises::new(&folder, files.map(PathBuf::from).into());
        for (grant, expected) in [
            ("Bash(${CLAUDE_SKILL_DIR}/bin/*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/bin/f*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/bin/fmt*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/b*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/bin/* --check)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/fine-bin/../bin/*)", true),
            ("Bash(${CLAUDE_SKILL_DIR}/all/*)", true),
            ("Bash(skills/s/bin/*)", true),
            ("Bash(./bin/*)", true),
            ("Bash(./skills/s/b*)", true),
            ("Bash(timeout 9 ${CLAUDE_SKILL_DIR}/bin/fmt:*)", true),
            ("Bash(timeout 9 nice ./bin/fmt *)", true),
            ("Bash(timeout 9 ./bin/f*)", true),
            ("Bash(\"${CLAUDE_SKILL_DIR}/bin/fmt\" *)", true),
            ("Bash(/bin/*)", true),
            ("Bash(lin*)", false),
            ("Bash(${CLAUDE_SKILL_DIR}/bin/fmt)", false),
            ("Bash(${CLAUDE_SKILL_DIR}/bin/g*)", false),
            ("Bash(${CLAUDE_SKILL_DIR}/fine-bin/*)", false),
            ("Bash(timeout 9 ./fine-bin/fmt.sh:*)", false),
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
        ] {
            let rule = rule_in_folder(grant, Effect::Allow, Some(&folder)).unwrap();
            assert_eq!(disguises.open(&rule.subject), expected, "{grant}");
        }
    }
}
