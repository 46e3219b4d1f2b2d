//! Linux: the system's folders that every command may read, and the secrets in them that no command
//! may.

use std::fs::DirEntry;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// Depth and number of entries of `/etc` and `/usr/local/etc` that are looked at.
const MAX_DEPTH: usize = 4;
const MAX_ENTRIES: usize = 20_000;

/// Secrets in those folders. Files of `/etc` and `/usr/local/etc` that not every user may read are found
/// by their mode.
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

/// Returns the secrets in the system's folders that exist.
pub(crate) fn secrets() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SECRET
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .collect();
    // In subfolders, the mode is enough for every user but the owner, who is root.
    let depth = if rustix::process::geteuid().is_root() {
        MAX_DEPTH
    } else {
        0
    };
    for folder in ["/etc", "/usr/local/etc"] {
        found.extend(not_for_everybody(Path::new(folder), depth));
    }
    for entry in entries(Path::new("/etc/ssh")) {
        if entry.file_name().as_encoded_bytes().ends_with(b"_key") {
            found.push(entry.path());
        }
    }
    found.sort();
    found.dedup();
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns the files and folders in a folder that not every user may read.
fn not_for_everybody(root: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![(root.to_owned(), 0)];
    let mut left = MAX_ENTRIES;
    while let Some((folder, level)) = todo.pop() {
        for entry in entries(&folder).take(left) {
            left -= 1;
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            if facts.is_symlink() {
                continue;
            }
            if facts.permissions().mode() & 0o004 == 0 {
                found.push(entry.path());
            } else if facts.is_dir() && level < depth {
                todo.push((entry.path(), level + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_subfolders_are_found_by_their_mode() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        for (name, mode) in [("a/b/key", 0o600), ("a/b/open", 0o644), ("a/group", 0o640)] {
            let path = root.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        for folder in ["a", "a/b"] {
            let path = root.path().join(folder);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let mut found = not_for_everybody(root.path(), 4);
        found.sort();
        assert_eq!(
            found,
            ["a/b/key", "a/group"].map(|name| root.path().join(name))
        );
        assert_eq!(not_for_everybody(root.path(), 0), [] as [PathBuf; 0]);
    }
}
