//! Layer 2 where the kernel refuses namespaces to Prowess but allows them to `bwrap`.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::granted_paths::within;
use crate::protocol::{Bytes, Mount, Namespaces, bytes};

/// The path of the helper inside.
const HELPER: &str = "/.prowess-helper";

/// Size of each folder that exists only inside, in bytes.
const SCRATCH_BYTES: &str = "1073741824";

/// Finds `bwrap` where only the system's owner could have put it.
pub(super) fn find(folders: &[PathBuf], closed: &[PathBuf]) -> Result<PathBuf, Box<str>> {
    for folder in folders {
        let path = folder.join("bwrap");
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        let Ok(facts) = real.metadata() else { continue };
        // Something else that has the name, such as an empty file mounted over it.
        if !facts.is_file() || facts.len() == 0 || facts.mode() & 0o111 == 0 {
            continue;
        }
        if within(&real, closed) || facts.uid() != 0 || facts.mode() & 0o022 != 0 {
            return Err(
                format!("`{}` is writable by users other than root", path.display()).into(),
            );
        }
        return Ok(real);
    }
    Err("`bwrap` is not installed".into())
}

/// Returns the arguments of `bwrap` up to the helper's own. `text` returns the number of a
/// descriptor from which the bytes can be read.
pub(crate) fn arguments(
    namespaces: &Namespaces,
    helper: &[u8],
    text: &mut dyn FnMut(&[u8]) -> io::Result<String>,
) -> io::Result<Vec<Bytes>> {
    let mut all: Vec<Bytes> = Vec::new();
    let mut add = |words: &[&[u8]]| all.extend(words.iter().map(|word| word.to_vec()));
    add(&[b"--unshare-user", b"--unshare-all"]);
    if namespaces.network {
        add(&[b"--share-net"]);
    }
    add(&[b"--cap-drop", b"ALL", b"--clearenv", b"--disable-userns"]);
    add(&[b"--die-with-parent", b"--new-session", b"--as-pid-1"]);
    let mut closed: Vec<&Bytes> = Vec::new();
    for mount in &namespaces.mounts {
        match mount {
            Mount::Link { path, target } => add(&[b"--symlink", target, path]),
            Mount::Proc => add(&[b"--proc", b"/proc"]),
            Mount::Dev => add(&[b"--dev", b"/dev"]),
            Mount::Scratch(path) => {
                add(&[b"--size", SCRATCH_BYTES.as_bytes(), b"--tmpfs", path]);
            }
            Mount::Folder(path) => add(&[b"--dir", path]),
            Mount::Text { path, content } => {
                add(&[b"--ro-bind-data", text(content)?.as_bytes(), path]);
            }
            Mount::Read(path) => add(&[b"--ro-bind", path, path]),
            Mount::Write(path) => add(&[b"--bind", path, path]),
            // `bwrap` mounts on what a link leads to; Landlock protects the link.
            Mount::Pin(_) => {}
            Mount::HideFolder(path) => {
                add(&[b"--tmpfs", path]);
                closed.push(path);
            }
            Mount::HideFile(path) => add(&[b"--ro-bind", b"/dev/null", path]),
        }
    }
    add(&[b"--ro-bind", helper, HELPER.as_bytes()]);
    // A folder that hides something may contain one that is granted, so it is closed last.
    for path in closed {
        add(&[b"--remount-ro", path]);
    }
    add(&[b"--remount-ro", b"/", b"--", HELPER.as_bytes()]);
    Ok(all)
}

/// Returns the builder that uses this `bwrap` and this helper.
pub(super) fn builder(program: &Path, helper: &Path) -> crate::protocol::Builder {
    crate::protocol::Builder::Bwrap {
        program: bytes(program),
        helper: bytes(helper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_arguments() {
        let path = |path: &str| path.as_bytes().to_vec();
        let namespaces = Namespaces {
            builder: builder(Path::new("/usr/bin/bwrap"), Path::new("/helper")),
            mounts: vec![
                Mount::Read(path("/usr")),
                Mount::Link {
                    path: path("/bin"),
                    target: path("usr/bin"),
                },
                Mount::Proc,
                Mount::Dev,
                Mount::Scratch(path("/tmp")),
                Mount::Write(path("/w")),
                Mount::Pin(path("/w/link")),
                Mount::HideFolder(path("/w/keys")),
                Mount::HideFile(path("/w/token")),
                Mount::Text {
                    path: path("/.prowess/excludes"),
                    content: path("x"),
                },
            ],
            network: false,
        };
        let mut text = |_: &[u8]| Ok("11".to_owned());
        let words = arguments(&namespaces, b"/helper", &mut text).unwrap();
        let words: Vec<_> = words
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        assert_eq!(
            words.join(" "),
            "--unshare-user --unshare-all --cap-drop ALL --clearenv --disable-userns \
             --die-with-parent --new-session --as-pid-1 --ro-bind /usr /usr --symlink usr/bin /bin \
             --proc /proc --dev /dev --size 1073741824 --tmpfs /tmp --bind /w /w --tmpfs /w/keys \
             --ro-bind /dev/null /w/token --ro-bind-data 11 /.prowess/excludes \
             --ro-bind /helper /.prowess-helper --remount-ro /w/keys --remount-ro / -- \
             /.prowess-helper"
        );
    }

    #[test]
    fn program_must_belong_to_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let absent = find(&[folder.path().into()], &[]).unwrap_err();
        assert_eq!(&*absent, "`bwrap` is not installed");
        let program = folder.path().join("bwrap");
        let mode = |bits| std::os::unix::fs::PermissionsExt::from_mode(bits);
        for (content, bits) in [("", 0o755), ("x", 0o644)] {
            std::fs::write(&program, content).unwrap();
            std::fs::set_permissions(&program, mode(bits)).unwrap();
            let absent = find(&[folder.path().into()], &[]).unwrap_err();
            assert_eq!(&*absent, "`bwrap` is not installed");
        }
        std::fs::set_permissions(&program, mode(0o755)).unwrap();
        let closed = [folder.path().canonicalize().unwrap()];
        assert!(
            find(&[folder.path().into()], &closed).is_err(),
            "the command could write it"
        );
    }
}
