//! Finds folders that ignore the case of letters, or have other second names for their files.
//!
//! A mount covers one spelling of a name. Where the server of a file system ignores case (9p, FUSE,
//! shared folders of virtual machines), another spelling is another name of the same file for the
//! kernel, so that nothing in the folder can be protected or hidden. The same holds for the names that
//! Windows adds: short ones (`GIT~1`), and those with dots or blanks at the end.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::helper::unused_name;

/// Most names of a folder among which those to try are chosen.
const MAX_SCANNED: usize = 1024;

/// Most names of a folder that are tried.
const MAX_TRIED: usize = 64;

/// Most names of a folder that are listed to find out whether two spellings are two files.
const MAX_LISTED: usize = 200_000;

/// Returns `true` if a folder finds its files under other spellings of their names, or under second names.
///
/// The names in the folder decide. If there are none, its own name decides, or, at the top of a file
/// system, a file that is created for a moment.
pub(crate) fn ignores_case(folder: &Path) -> bool {
    names_ignore_case(folder, entries(folder))
        .or_else(|| {
            let (parent, name) = (folder.parent()?, folder.file_name()?);
            let device = |path: &Path| path.metadata().ok().map(|facts| facts.dev());
            let is_same = device(parent)? == device(folder)?;
            is_same.then(|| names_ignore_case(parent, [name.to_owned()]))?
        })
        .or_else(|| {
            let name = OsString::from(unused_name("case"));
            let path = folder.join(&name);
            // Where nothing can be created, there is nothing to protect.
            drop(std::fs::File::create_new(&path).ok()?);
            let found = names_ignore_case(folder, [name]);
            let _ = std::fs::remove_file(&path);
            found
        })
        .unwrap_or(false)
}

fn names_ignore_case(folder: &Path, names: impl IntoIterator<Item = OsString>) -> Option<bool> {
    let listed: OnceCell<BTreeSet<OsString>> = OnceCell::new();
    let finds = |name: &OsStr| folder.join(name).symlink_metadata().is_ok();
    let lists = |name: &OsStr| {
        let listed = listed.get_or_init(|| entries(folder).take(MAX_LISTED).collect());
        listed.contains(name)
    };
    decide(names, &finds, &lists)
}

fn entries(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name())
}

/// Decides from names of a folder, and from what the folder finds and lists. Returns `None` if none of
/// them can decide: the same letters in another case can be another file.
fn decide(
    names: impl IntoIterator<Item = OsString>,
    finds: &dyn Fn(&OsStr) -> bool,
    lists: &dyn Fn(&OsStr) -> bool,
) -> Option<bool> {
    // Names that begin with a dot are the protected ones, and have a short name where others have none.
    let (first, others): (Vec<_>, Vec<_>) = names
        .into_iter()
        .take(MAX_SCANNED)
        .partition(|name| name.as_bytes().starts_with(b"."));
    let (mut is_exact, mut has_no_short) = (false, false);
    for name in first.into_iter().chain(others).take(MAX_TRIED) {
        if is_exact && (has_no_short || !needs_short(&name)) {
            continue;
        }
        let is_second = |other: &OsString| finds(other) && !lists(other);
        if second_names(&name).iter().any(is_second) {
            return Some(true);
        }
        // It may have been removed meanwhile.
        has_no_short |= needs_short(&name) && finds(&name);
        let Some(other) = other_case(&name) else {
            continue;
        };
        if !finds(&other) {
            is_exact |= finds(&name);
        } else if !lists(&other) {
            return Some(true);
        }
    }
    is_exact.then_some(false)
}

/// Returns the names under which Windows finds a file besides its own.
fn second_names(name: &OsStr) -> Vec<OsString> {
    let bytes = name.as_bytes();
    let mut names = vec![[bytes, b"."].concat(), [bytes, b" "].concat()];
    if needs_short(name) {
        // The first letters of the name and the first of its ending, without dots and blanks.
        let plain = |bytes: &[u8]| -> Vec<u8> {
            let bytes = bytes.iter().filter(|byte| !b". ".contains(byte));
            bytes.map(u8::to_ascii_uppercase).collect()
        };
        let dot = bytes.iter().rposition(|byte| *byte == b'.');
        let (base, ending) = match dot.filter(|at| *at > 0) {
            Some(at) => (plain(&bytes[..at]), plain(&bytes[at + 1..])),
            None => (plain(bytes), Vec::new()),
        };
        let base = &base[..base.len().min(6)];
        let ending = &ending[..ending.len().min(3)];
        // Four files with the same first letters get these numbers.
        for number in 1..=4 {
            let mut short = [base, format!("~{number}").as_bytes()].concat();
            if !ending.is_empty() {
                short.extend([b".", ending].concat());
            }
            names.push(short);
        }
    }
    names.into_iter().map(OsString::from_vec).collect()
}

/// Returns `true` if a name is not a short one already: eight letters, a dot and three.
fn needs_short(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let mut parts = bytes.split(|byte| *byte == b'.');
    let (base, ending) = (parts.next().unwrap_or_default(), parts.next());
    let is_odd = |byte: &u8| !byte.is_ascii() || b" +,;=[]".contains(byte);
    parts.next().is_some()
        || base.is_empty()
        || base.len() > 8
        || ending.is_some_and(|ending| ending.is_empty() || ending.len() > 3)
        || bytes.iter().any(is_odd)
}

/// Returns a name with each ASCII letter in the other case, or `None` if there is no letter.
fn other_case(name: &OsStr) -> Option<OsString> {
    let mut bytes = name.as_bytes().to_vec();
    for byte in &mut bytes {
        if byte.is_ascii_lowercase() {
            byte.make_ascii_uppercase();
        } else {
            byte.make_ascii_lowercase();
        }
    }
    let other = OsString::from_vec(bytes);
    (other != name).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decides for a folder with these files on a server.
    fn decided(files: &[&str], is_same: fn(&str, &str) -> bool) -> Option<bool> {
        let finds = |name: &OsStr| {
            files
                .iter()
                .any(|file| is_same(file, name.to_str().unwrap()))
        };
        let lists = |name: &OsStr| files.iter().any(|file| OsStr::new(file) == name);
        decide(files.iter().map(OsString::from), &finds, &lists)
    }

    #[test]
    fn names_decide_whether_a_folder_ignores_case() {
        let exact: fn(&str, &str) -> bool = |a, b| a == b;
        let loose: fn(&str, &str) -> bool = |a, b| a.eq_ignore_ascii_case(b);
        for (files, expected) in [
            (&[][..], [None, None]),
            // Without a letter, there is only one spelling.
            (&["1", "_", "é"], [None, None]),
            (&["1", ".git"], [Some(false), Some(true)]),
            (&["Makefile"], [Some(false), Some(true)]),
        ] {
            let found = [decided(files, exact), decided(files, loose)];
            assert_eq!(found, expected, "{files:?}");
        }
        // Short names, and dots and blanks at the end, on file systems that respect case.
        let short: fn(&str, &str) -> bool = |a, b| {
            let short = match a {
                ".git" => "GIT~1",
                ".gitignore" => "GITIGN~1",
                "package.lock.json" => "PACKAG~2.JSO",
                _ => a,
            };
            a == b || short == b
        };
        let ends: fn(&str, &str) -> bool = |a, b| a == b.trim_end_matches(['.', ' ']);
        for (files, expected) in [
            (&["a", "b.c", ".git"][..], [Some(true), Some(true)]),
            (&["package.lock.json"], [Some(true), Some(true)]),
            (&["1", ".gitignore"], [Some(true), Some(true)]),
            // Nothing here has a short name.
            (&["a", "b.c"], [Some(false), Some(true)]),
        ] {
            let found = [decided(files, short), decided(files, ends)];
            assert_eq!(found, expected, "{files:?}");
        }
        // Files with such names can exist.
        assert_eq!(decided(&[".git", "GIT~1", ".git."], exact), Some(false));
        // A command can create two files whose names differ in case.
        assert_eq!(decided(&["a", "A"], exact), None);
        assert_eq!(decided(&["a", "A", "b"], exact), Some(false));
    }

    #[test]
    fn folders_of_this_machine_are_probed_without_a_trace() {
        let root = tempfile::tempdir().unwrap();
        let empty = root.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        for name in ["a", "A"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        // The two files say nothing, and the folder `empty` does.
        assert!(!ignores_case(root.path()));
        assert!(!ignores_case(&empty));
        assert!(!ignores_case(Path::new("/")));
        assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    }
}
