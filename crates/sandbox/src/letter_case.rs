//! Finds folders that ignore the case of letters.
//!
//! A mount covers one spelling of a name. Where the server of a file system ignores case (9p, FUSE,
//! shared folders of virtual machines), another spelling is another name of the same file for the
//! kernel, so that nothing in the folder can be protected or hidden.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::helper::unused_name;

/// Most names of a folder that are tried.
const MAX_TRIED: usize = 64;

/// Most names of a folder that are listed to find out whether two spellings are two files.
const MAX_LISTED: usize = 200_000;

/// Returns `true` if a folder finds its files under other spellings of their names.
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
    for name in names.into_iter().take(MAX_TRIED) {
        let Some(other) = other_case(&name) else {
            continue;
        };
        // It may have been removed meanwhile.
        if !finds(&other) {
            if finds(&name) {
                return Some(false);
            }
        } else if !lists(&other) {
            return Some(true);
        }
    }
    None
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
