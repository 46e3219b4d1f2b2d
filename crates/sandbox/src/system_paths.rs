//! Linux: the system's folders that every command may read, and the secrets in them that no command
//! may.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

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

/// Secrets in those folders. Files of `/etc` itself that not every user may read are found by their
/// mode.
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
    let entries = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries("/etc") {
        let facts = entry.metadata();
        if facts.is_ok_and(|f| !f.is_symlink() && f.permissions().mode() & 0o004 == 0) {
            found.push(entry.path());
        }
    }
    for entry in entries("/etc/ssh") {
        if entry.file_name().as_encoded_bytes().ends_with(b"_key") {
            found.push(entry.path());
        }
    }
    found
}
