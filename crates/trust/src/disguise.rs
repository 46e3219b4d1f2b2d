//! Finds grants for a file that is an interpreter under another name.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_policy::{Effect, PermissionRule};
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

/// Returns `true` if a grant names a file that is a link to an interpreter, or a copy of one, so that
/// it allows everything. `folder` is the skill's.
pub(crate) fn is_interpreter(grant: &str, folder: &Path) -> bool {
    let grant = with_folder(grant, Some(folder));
    // The program is the first word with a slash; everything else is judged by its name.
    let Some(program) = program(&grant).filter(|program| program.contains('/')) else {
        return false;
    };
    // A command starts in the skill's folder, or in the project around it.
    let places = folder.ancestors().take(MAX_PARENTS);
    let mut files = places.map(|place| place.join(program));
    let Some(file) = files.find(|file| file.symlink_metadata().is_ok()) else {
        return false;
    };
    names_of(&file)
        .iter()
        .any(|name| allows_all(&grant, program, name))
        || {
            let same = same_as(&file);
            same.iter().any(|name| allows_all(&grant, program, name))
        }
}

/// Returns the program of a grant for commands: the word after the parenthesis or the colon.
fn program(grant: &str) -> Option<&str> {
    let rest = grant
        .strip_prefix("Bash(")
        .or_else(|| grant.strip_prefix("bash:"))?;
    let end = rest.find([' ', ':', '*', ')']).unwrap_or(rest.len());
    Some(rest[..end].trim_matches(['"', '\'']))
}

/// Returns `true` if the grant allows everything with another program in its place.
fn allows_all(grant: &str, program: &str, name: &str) -> bool {
    let grant = grant.replacen(program, name, 1);
    PermissionRule::parse(&grant, Effect::Allow).is_ok_and(|rule| rule.is_unrestricted())
}

/// Returns the names of the targets of a chain of links.
fn names_of(file: &Path) -> Vec<String> {
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

/// Returns the names of the interpreters of the system with the same content as a file.
fn same_as(file: &Path) -> Vec<String> {
    let is_open = |name: &str| programs::is_unrestricted(&[Word::plain(name)]);
    let Ok(facts) = fs::metadata(file) else {
        return Vec::new();
    };
    // A script is judged by its name.
    if !facts.is_file() || starts_with_shebang(file) {
        return Vec::new();
    }
    let candidates = SYSTEM.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(MAX_PROGRAMS).map(|entry| entry.path())
    });
    let is_same = |other: &PathBuf| {
        name_of(other).is_some_and(|name| is_open(&name))
            && fs::metadata(other).is_ok_and(|other| other.is_file() && other.len() == facts.len())
            && have_same_bytes(file, other).unwrap_or(false)
    };
    let same = candidates.filter(is_same);
    same.filter_map(|path| name_of(&path)).collect()
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
        ] {
            assert_eq!(is_interpreter(grant, &folder), expected, "{grant}");
        }
    }
}
