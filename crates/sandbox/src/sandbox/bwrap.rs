//! Layer 2: the arguments of `bwrap`.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::paths::{Protected, Roots};
use super::plan::SYSTEM;
use super::within;
use crate::spec::{Bytes, Stub, bytes};

/// Where the helper is inside.
const HELPER: &str = "/.prowess-helper";

/// Most bytes that can be written to each folder that exists only inside.
const SCRATCH_BYTES: &str = "1073741824";

/// What stands on a path inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    Write,
    Read,
    Hide,
}

/// Finds `bwrap` where only the system's owner could have put it.
pub(super) fn find(folders: &[PathBuf], closed: &[PathBuf]) -> Result<PathBuf, Box<str>> {
    for folder in folders {
        let path = folder.join("bwrap");
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        let Ok(facts) = real.metadata() else { continue };
        if within(&real, closed) || facts.uid() != 0 || facts.mode() & 0o022 != 0 {
            return Err(format!("`{}` is not the system's own", path.display()).into());
        }
        return Ok(real);
    }
    Err("`bwrap` is not installed".into())
}

/// The program, its arguments up to the helper's own, and the place holders that it needs.
pub(super) fn arguments(
    program: &Path,
    roots: &Roots,
    hidden: &[PathBuf],
    network: bool,
    home: Option<&Path>,
    helper: &Path,
) -> (Vec<Bytes>, Vec<Stub>) {
    let mut all = vec![bytes(program)];
    let mut add = |words: &[&Path]| all.extend(words.iter().map(bytes));
    let flag = |name: &'static str| Path::new(name);

    for name in ["--unshare-user", "--unshare-all"] {
        add(&[flag(name)]);
    }
    if network {
        add(&[flag("--share-net")]);
    }
    add(&[flag("--cap-drop"), flag("ALL")]);
    for name in [
        "--clearenv",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
    ] {
        add(&[flag(name)]);
    }
    for folder in SYSTEM {
        let path = Path::new(folder);
        if let Ok(target) = path.read_link() {
            add(&[flag("--symlink"), &target, path]);
        } else if path.is_dir() {
            add(&[flag("--ro-bind"), path, path]);
        }
    }
    add(&[flag("--proc"), flag("/proc"), flag("--dev"), flag("/dev")]);
    add(&[
        flag("--size"),
        flag(SCRATCH_BYTES),
        flag("--tmpfs"),
        flag("/tmp"),
    ]);
    if let Some(home) = home.filter(|home| home.is_absolute()) {
        add(&[flag("--dir"), home]);
    }

    let (mounts, stubs) = mounts(roots, hidden);
    let mut empty = Vec::new();
    for (path, mount) in &mounts {
        match mount {
            Mount::Write => add(&[flag("--bind"), path, path]),
            Mount::Read => add(&[flag("--ro-bind"), path, path]),
            Mount::Hide if path.is_dir() => {
                add(&[flag("--tmpfs"), path]);
                empty.push(path);
            }
            Mount::Hide => add(&[flag("--ro-bind"), flag("/dev/null"), path]),
        }
    }
    add(&[flag("--ro-bind"), helper, flag(HELPER)]);
    // What hides something may have to hold a folder that is granted; it is closed last.
    for path in empty {
        add(&[flag("--remount-ro"), path]);
    }
    add(&[flag("--remount-ro"), flag("/"), flag("--"), flag(HELPER)]);
    (all, stubs)
}

/// What stands where, outer paths before inner ones, and the place holders.
fn mounts(roots: &Roots, hidden: &[PathBuf]) -> (BTreeMap<PathBuf, Mount>, Vec<Stub>) {
    let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    let mut put = |path: PathBuf, mount: Mount| {
        let now = mounts.entry(path).or_insert(mount);
        *now = (*now).max(mount);
    };
    for path in &roots.readable {
        put(path.clone(), Mount::Read);
    }
    for path in &roots.writable {
        put(path.clone(), Mount::Write);
    }
    let mut stubs = Vec::new();
    for protected in roots.protected.iter().filter(|protected| !protected.link) {
        for folder in between(protected, &roots.writable) {
            put(folder, Mount::Write);
        }
        let path = first_missing(&protected.path);
        if path
            .symlink_metadata()
            .map_or(true, |facts| facts.len() == 0 || facts.is_dir())
        {
            let folder = path != protected.path || path.is_dir();
            stubs.push(Stub {
                path: bytes(&path),
                folder,
            });
        }
        put(path, Mount::Read);
    }
    let bound = |path: &Path| {
        within(path, &roots.readable)
            || within(path, &roots.writable)
            || SYSTEM.iter().any(|folder| path.starts_with(folder))
    };
    for path in hidden.iter().filter(|path| bound(path)) {
        put(path.clone(), Mount::Hide);
    }
    stubs.dedup();
    (mounts, stubs)
}

/// The folders between a writable root and a protected path in it.
///
/// They are mounted on themselves: a folder that is a mount cannot be renamed. Otherwise `.git`
/// could be moved aside with the cover on `.git/hooks`, and a new one made in its place.
fn between(protected: &Protected, writable: &[PathBuf]) -> Vec<PathBuf> {
    let folders = protected.path.ancestors().skip(1);
    folders
        .filter(|folder| {
            writable
                .iter()
                .any(|root| folder.starts_with(root) && *folder != root)
        })
        .filter(|folder| folder.is_dir())
        .map(Path::to_owned)
        .collect()
}

/// The outermost part of a path that does not exist, or the path.
fn first_missing(path: &Path) -> PathBuf {
    let missing = path
        .ancestors()
        .take_while(|part| part.symlink_metadata().is_err())
        .last();
    missing.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_covers_and_hides() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "x").unwrap();
        std::fs::create_dir(root.join("keys")).unwrap();
        let protect = |path: &str| Protected {
            path: root.join(path),
            link: false,
        };
        let roots = Roots {
            writable: vec![root.clone()],
            protected: vec![protect("a/b/file"), protect("c/d"), protect("e")],
            ..Roots::default()
        };
        let (mounts, stubs) = mounts(&roots, &[root.join("keys"), "/root/.ssh".into()]);
        let shown: Vec<_> = mounts
            .iter()
            .map(|(path, mount)| (path.strip_prefix(&root).unwrap().to_str().unwrap(), *mount))
            .collect();
        let expected = [
            ("", Mount::Write),
            ("a", Mount::Write),
            ("a/b", Mount::Write),
            ("a/b/file", Mount::Read),
            ("c", Mount::Read),
            ("e", Mount::Read),
            ("keys", Mount::Hide),
        ];
        assert_eq!(shown, expected);
        let stub = |path: &str, folder| Stub {
            path: bytes(root.join(path)),
            folder,
        };
        assert_eq!(stubs, [stub("c", true), stub("e", false)]);
    }

    #[test]
    fn only_the_systems_own_program_counts() {
        let folder = tempfile::tempdir().unwrap();
        let absent = find(&[folder.path().into()], &[]).unwrap_err();
        assert_eq!(&*absent, "`bwrap` is not installed");
        std::fs::write(folder.path().join("bwrap"), "").unwrap();
        let closed = [folder.path().canonicalize().unwrap()];
        assert!(
            find(&[folder.path().into()], &closed).is_err(),
            "the command could write it"
        );
    }
}
