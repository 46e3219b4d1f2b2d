//! macOS: a profile for `sandbox-exec`, as text.

use std::path::{Path, PathBuf};

use prowess_policy::Profile;

/// The program that applies a profile.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The parameter of the profile that the helper completes.
pub(crate) const SCRATCH: &str = "SCRATCH=";

/// Folders of the system that every command may read.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/Library/Frameworks",
    "/Library/Preferences/Logging",
    "/opt/homebrew",
    "/private/etc",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/select",
];

/// Secrets in those folders.
const SECRET: &[&str] = &[
    "/private/etc/master.passwd",
    "/private/etc/sudoers",
    "/private/etc/sudoers.d",
    "/private/etc/ssh",
];

/// Devices without content.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/fd",
    "/dev/dtracehelper",
];

/// Writes the profile. If several rules match a path, the last one counts, so denials come after
/// grants. Rules also apply to paths that do not exist.
pub fn profile(profile: &Profile) -> String {
    let mut text = String::from(
        "(version 1)\n\
         (deny default)\n\
         (allow process-exec process-fork)\n\
         (allow signal (target same-sandbox))\n\
         (allow process-info* (target same-sandbox))\n\
         (allow sysctl-read)\n\
         (allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\")\n  \
           (global-name \"com.apple.system.logger\"))\n\
         (allow file-read-metadata)\n",
    );
    let mut rule = |verb: &str, what: &str, paths: &mut dyn Iterator<Item = &Path>| {
        let filters: Vec<String> = paths
            .map(|path| format!("\n  (subpath {})", quoted(path)))
            .collect();
        if !filters.is_empty() {
            text.push_str(&format!("({verb} {what}{})\n", filters.concat()));
        }
    };
    let readable = profile
        .readable
        .iter()
        .chain(&profile.writable)
        .map(PathBuf::as_path);
    rule("allow", "file-read*", &mut paths(SYSTEM).chain(readable));
    rule(
        "allow",
        "file-read* file-write-data file-ioctl",
        &mut paths(DEVICES),
    );
    rule(
        "allow",
        "file-write*",
        &mut profile.writable.iter().map(PathBuf::as_path),
    );
    rule(
        "deny",
        "file-write*",
        &mut profile.protected.iter().map(PathBuf::as_path),
    );
    let hidden = profile.hidden.iter().map(PathBuf::as_path);
    rule(
        "deny",
        "file-read* file-write*",
        &mut paths(SECRET).chain(hidden),
    );
    // Moving the folder around a protected path would uncover the path.
    let above = profile.protected.iter().flat_map(|path| {
        let inside = |folder: &&Path| profile.writable.iter().any(|root| folder.starts_with(root));
        path.ancestors()
            .skip(1)
            .take_while(inside)
            .collect::<Vec<_>>()
    });
    let above: Vec<String> = above
        .map(|folder| format!("\n  (literal {})", quoted(folder)))
        .collect();
    if !above.is_empty() {
        text.push_str(&format!("(deny file-write-unlink{})\n", above.concat()));
    }
    // The helper creates the scratch folder and passes its path.
    text.push_str("(allow file-read* file-write* (subpath (param \"SCRATCH\")))\n");
    text.push_str("(deny file-write-setugid)\n");
    if profile.network {
        text.push_str("(allow network-outbound network-inbound (local ip) (remote ip))\n");
        text.push_str("(allow system-socket)\n");
    }
    text
}

fn paths<'a>(list: &'a [&'a str]) -> impl Iterator<Item = &'a Path> {
    list.iter().map(|path| Path::new(*path))
}

/// A path as a string of the profile language.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for part in path.to_string_lossy().chars() {
        match part {
            '"' | '\\' => text.extend(['\\', part]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            _ => text.push(part),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_then_denies() {
        let mut given = Profile::reading("/work/a \"b\"\\c");
        given.writable = vec!["/work/out".into()];
        given.protected = vec!["/work/out/.git/hooks".into()];
        given.hidden = vec!["/work/out/key".into()];
        let text = profile(&given);
        let at = |part: &str| {
            text.find(part)
                .unwrap_or_else(|| panic!("{part} is not in\n{text}"))
        };
        assert!(at("(deny default)") < at("(allow file-read*"));
        assert!(
            at(r#"(subpath "/work/a \"b\"\\c")"#)
                < at("(allow file-write*\n  (subpath \"/work/out\"))")
        );
        assert!(
            at("(allow file-write*")
                < at("(deny file-write*\n  (subpath \"/work/out/.git/hooks\"))")
        );
        assert!(at("/private/etc/master.passwd") < at("(subpath \"/work/out/key\")"));
        at("(deny file-write-unlink\n  (literal \"/work/out/.git\")\n  (literal \"/work/out\"))");
        assert!(!text.contains("network"));
        assert_eq!(text.matches('(').count(), text.matches(')').count());

        given.network = true;
        assert!(profile(&given).contains("(allow network-outbound"));
        let bare = profile(&Profile::reading("/x"));
        assert!(!bare.contains("(allow file-write*"), "{bare}");
    }
}
