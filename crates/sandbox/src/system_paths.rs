//! Linux: the system's folders that every command may read, and the secrets in them that no command
//! may.

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

/// Depth and number of entries of `/etc` that are looked at.
const MAX_DEPTH: usize = 4;
const MAX_ENTRIES: usize = 20_000;

/// Secrets in those folders. Files of `/etc` that not every user may read are found by their mode.
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
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    // In subfolders, the mode is enough for every user but the owner, who is root.
    let depth = if rustix::process::geteuid().is_root() {
        MAX_DEPTH
    } else {
        0
    };
    let mut todo = vec![(PathBuf::from("/etc"), 0)];
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
    for entry in entries(Path::new("/etc/ssh")) {
        if entry.file_name().as_encoded_bytes().ends_with(b"_key") {
            found.push(entry.path());
        }
    }
    found
}
