//! Linux: the system's folders that every command may read, and the secrets in them that no command
//! may.

use std::collections::VecDeque;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::Access;

use crate::granted_paths::within;

/// Folders of the system that every command may read.
pub(crate) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/nix/store",
];

/// Folders in which files that not every user may read are secrets.
const SEARCHED: &[&str] = &["/etc", "/usr/local"];

/// Most entries of each of them that are inspected, and most secrets in each.
const MAX_ENTRIES: usize = 50_000;
const MAX_FOUND: usize = 2_000;

/// Time for which a search counts. A command that runs meanwhile sees new files as well.
const FRESH: Duration = Duration::from_secs(5);

/// Secrets in the system's folders that are closed whatever their mode.
const SECRET: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Devices without content.
pub(crate) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// The secrets in the system's folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secrets {
    /// Exists, and has no link in it.
    pub(crate) paths: Vec<PathBuf>,
    /// Folders that have too many files to be searched.
    pub(crate) unsearched: Vec<PathBuf>,
}

/// The result of the last search, which is shared by the runs of a runner.
#[derive(Debug, Default)]
pub(crate) struct KnownSecrets(Mutex<Option<(Instant, Vec<PathBuf>, Secrets)>>);

impl KnownSecrets {
    /// Returns the secrets in the system's folders, except for what is granted there.
    pub(crate) fn get(&self, granted: &[PathBuf]) -> Secrets {
        // Granting one of the folders as a whole opens no secret.
        let in_searched = |path: &&PathBuf| {
            let mut searched = SEARCHED.iter().map(Path::new);
            searched.any(|folder| path.starts_with(folder) && *path != folder)
        };
        let granted: Vec<PathBuf> = granted.iter().filter(in_searched).cloned().collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, of, secrets)) = &*known
            && at.elapsed() < FRESH
            && *of == granted
        {
            let mut secrets = secrets.clone();
            // What was removed meanwhile cannot be covered.
            secrets.paths.retain(|path| path.symlink_metadata().is_ok());
            return secrets;
        }
        let secrets = secrets(&granted);
        *known = Some((Instant::now(), granted, secrets.clone()));
        secrets
    }
}

fn secrets(granted: &[PathBuf]) -> Secrets {
    let mut secrets = Secrets::default();
    let listed = SECRET.iter().map(PathBuf::from);
    secrets.paths.extend(listed.filter(|path| path.exists()));
    for folder in SEARCHED.iter().map(Path::new) {
        let (found, is_cut) = not_for_everybody(folder, granted, MAX_ENTRIES);
        secrets.paths.extend(found);
        secrets.unsearched.extend(is_cut.then(|| folder.to_owned()));
    }
    for entry in entries(Path::new("/etc/ssh")) {
        if entry.file_name().as_encoded_bytes().ends_with(b"_key") {
            secrets.paths.push(entry.path());
        }
    }
    secrets.paths.sort();
    secrets.paths.dedup();
    secrets
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns the files and folders in a folder that this user may read, and not every user, and `true`
/// if there are more. Folders at the top are searched first.
fn not_for_everybody(root: &Path, granted: &[PathBuf], most: usize) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let mut todo = VecDeque::from([root.to_owned()]);
    let mut left = most;
    while let Some(folder) = todo.pop_front() {
        if within(&folder, granted) {
            continue;
        }
        for entry in entries(&folder) {
            let Some(less) = left.checked_sub(1) else {
                return (found, true);
            };
            left = less;
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            // The mode of a link says nothing.
            if facts.is_symlink() {
                continue;
            }
            let path = entry.path();
            let needed = if facts.is_dir() { 0o005 } else { 0o004 };
            let is_open = facts.permissions().mode() & needed == needed;
            let is_around = granted.iter().any(|root| root.starts_with(&path));
            if is_open || is_around {
                if facts.is_dir() {
                    todo.push_back(path);
                }
            } else if is_ours(&path, &facts) {
                if found.len() == MAX_FOUND {
                    return (found, true);
                }
                found.push(path);
            }
        }
    }
    (found, false)
}

/// Returns `true` if this user owns a path, or may read it by a group or an access-control list.
fn is_ours(path: &Path, facts: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    // The owner can give all permissions back.
    user.is_root()
        || facts.uid() == user.as_raw()
        || rustix::fs::access(path, Access::READ_OK).is_ok()
        || facts.is_dir() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("a/b/c/d/e/f")).unwrap();
        std::fs::create_dir_all(at("listed")).unwrap();
        for (name, mode) in [
            ("a/b/key", 0o600),
            ("a/b/open", 0o644),
            ("a/group", 0o640),
            ("a/b/c/d/e/f/key", 0o600),
            ("listed/open", 0o644),
            ("program", 0o700),
        ] {
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        for folder in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/b/c/d/e/f"] {
            std::fs::set_permissions(at(folder), PermissionsExt::from_mode(0o755)).unwrap();
        }
        // Only the group may open what everybody may list.
        std::fs::set_permissions(at("listed"), PermissionsExt::from_mode(0o754)).unwrap();
        root
    }

    fn found(root: &Path, granted: &[&str], most: usize) -> (Vec<String>, bool) {
        let granted: Vec<PathBuf> = granted.iter().map(|name| root.join(name)).collect();
        let (found, is_cut) = not_for_everybody(root, &granted, most);
        let shown = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        let mut found: Vec<String> = found.iter().map(shown).collect();
        found.sort();
        (found, is_cut)
    }

    #[test]
    fn secrets_in_subfolders_are_found_by_their_mode() {
        let tree = tree();
        let all = ["a/b/c/d/e/f/key", "a/b/key", "a/group", "listed", "program"];
        let all = all.map(str::to_owned).to_vec();
        assert_eq!(found(tree.path(), &[], 100), (all, false));
    }

    #[test]
    fn search_that_is_cut_is_reported() {
        let tree = tree();
        let (found, is_cut) = found(tree.path(), &[], 5);
        assert!(is_cut);
        // The top is searched first.
        assert!(found.contains(&"program".to_owned()), "{found:?}");
    }

    /// A project can be in one of these folders, with files that only its owner may read.
    #[test]
    fn what_is_granted_is_no_secret() {
        let tree = tree();
        let (found, _) = found(tree.path(), &["a/b", "listed/inner"], 100);
        assert_eq!(found, ["a/group", "program"]);
    }

    #[test]
    fn searches_are_remembered_for_what_is_granted() {
        let known = KnownSecrets::default();
        let first = known.get(&["/nowhere".into()]);
        assert_eq!(known.get(&[]), first);
        let at = || known.0.lock().unwrap().as_ref().unwrap().0;
        let before = at();
        assert_eq!(known.get(&["/etc".into(), "/".into()]), first);
        assert_eq!(at(), before);
        known.get(&["/etc/skel".into()]);
        assert!(at() > before, "another grant is another search");
    }
}
