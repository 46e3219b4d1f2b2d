//! The digest of a skill, which identifies the exact content of its files.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Version control folders, which change independently of the skill. Everything else is hashed.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// Maximum number of files of a skill.
const MAX_FILES: usize = 10_000;
/// Maximum total size of the files of a skill, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum size of the text of a skill, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;
/// File names of the text of a skill.
const TEXTS: [&str; 2] = ["SKILL.md", "skill.md"];
/// Maximum folder depth of a skill.
const MAX_DEPTH: usize = 16;

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Path relative to the skill's folder.
    pub path: PathBuf,
    /// Size in bytes; for a link, the length of its target.
    pub size: u64,
    /// Type of the file.
    pub kind: FactKind,
}

/// Type of a file, as far as the digest depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A regular file.
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link. Hashed as its target path; only a linked SKILL.md is followed, for its
    /// text.
    Link,
}

/// Error from computing a digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// Reading a file or folder failed.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The skill exceeds the limits.
    #[error("the files of `{}` are too many or too large to hash", path.display())]
    TooLarge {
        /// The skill's folder.
        path: PathBuf,
    },
}

/// Lists the files of a skill, sorted by path. Devices, FIFOs and sockets are skipped.
pub fn files(folder: &Path) -> Result<Vec<FileFacts>, DigestError> {
    files_within(folder, MAX_FILES, MAX_BYTES)
}

/// Like [`files`], with explicit limits on the number of files and bytes.
pub fn files_within(
    folder: &Path,
    files: usize,
    bytes: u64,
) -> Result<Vec<FileFacts>, DigestError> {
    let mut found = Vec::new();
    collect(folder, Path::new(""), 0, &mut found, &mut { bytes }, files)?;
    found.sort_by(|a, b| {
        a.path
            .as_os_str()
            .as_bytes()
            .cmp(b.path.as_os_str().as_bytes())
    });
    Ok(found)
}

fn collect(
    root: &Path,
    inner: &Path,
    depth: usize,
    found: &mut Vec<FileFacts>,
    left: &mut u64,
    most: usize,
) -> Result<(), DigestError> {
    let folder = root.join(inner);
    let failed = |source| DigestError::Read {
        path: folder.clone(),
        source,
    };
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let path = inner.join(&name);
        let failed = |source| DigestError::Read {
            path: root.join(&path),
            source,
        };
        if entry.file_type().map_err(failed)?.is_dir() {
            if !VERSION_CONTROL
                .iter()
                .any(|skipped| OsStr::new(skipped) == name)
            {
                if depth >= MAX_DEPTH {
                    return Err(DigestError::TooLarge {
                        path: root.to_owned(),
                    });
                }
                collect(root, &path, depth + 1, found, left, most)?;
            }
            continue;
        }
        let metadata = entry.metadata().map_err(failed)?;
        let kind = match metadata.file_type() {
            kind if kind.is_symlink() => FactKind::Link,
            kind if !kind.is_file() => continue,
            _ if metadata.permissions().mode() & 0o111 != 0 => FactKind::Executable,
            _ => FactKind::File,
        };
        found.push(FileFacts {
            path,
            size: metadata.size(),
            kind,
        });
        let too_large = || DigestError::TooLarge {
            path: root.to_owned(),
        };
        *left = left.checked_sub(metadata.size()).ok_or_else(too_large)?;
        if found.len() > most {
            return Err(too_large());
        }
    }
    Ok(())
}

/// Returns the digest of a skill: `sha256:` and 64 hexadecimal digits.
///
/// SHA-256 over, for each file sorted by path: the length of the path, the path, one byte for the
/// type (0 file, 1 executable, 2 link), the length of the content, the content. Lengths are eight
/// bytes, little endian, so that different sets of files never give the same input. For a SKILL.md
/// that is a link, its text follows in the same way, preceded by a 3, because it is what a model
/// reads.
pub fn digest(folder: &Path, files: &[FileFacts]) -> Result<String, DigestError> {
    digest_and_text(folder, files, Path::new("")).map(|(digest, _)| digest)
}

/// Returns the digest, and the content of the file `main`: exactly the bytes that were hashed. The
/// content is `None` if the file does not exist or is larger than the maximum text size.
pub fn digest_and_text(
    folder: &Path,
    files: &[FileFacts],
    main: &Path,
) -> Result<(String, Option<Vec<u8>>), DigestError> {
    #[cfg(feature = "counters")]
    crate::counters::hashed();
    let mut hasher = Sha256::new();
    let largest = files.iter().map(|file| file.size).max().unwrap_or(0);
    let mut buffer = vec![
        0;
        usize::try_from(largest)
            .unwrap_or(usize::MAX)
            .clamp(1, 64 * 1024)
    ];
    let mut text = None;
    for file in files {
        let path = folder.join(&file.path);
        let failed = |source| DigestError::Read {
            path: path.clone(),
            source,
        };
        let name = file.path.as_os_str().as_bytes();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        if file.kind == FactKind::Link {
            let target = std::fs::read_link(&path).map_err(failed)?;
            let target = target.as_os_str().as_bytes();
            hasher.update([2]);
            hasher.update((target.len() as u64).to_le_bytes());
            hasher.update(target);
            if TEXTS.iter().any(|name| file.path.as_os_str() == *name)
                && let Some(linked) = linked(&path)
            {
                hasher.update([3]);
                hasher.update((linked.len() as u64).to_le_bytes());
                hasher.update(&linked);
                let is_wanted = file.path == main && linked.len() as u64 <= MAX_TEXT;
                text = text.or(is_wanted.then_some(linked));
            }
            continue;
        }
        hasher.update([u8::from(file.kind == FactKind::Executable)]);
        hasher.update(file.size.to_le_bytes());
        let mut kept = (file.path == main && file.size <= MAX_TEXT).then(Vec::new);
        // The file may have been replaced by a link or a FIFO since it was listed.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = rustix::fs::open(&path, flags, Mode::empty());
        let opened = opened.map_err(|error| failed(error.into()))?;
        let mut content = std::fs::File::from(opened).take(file.size);
        let mut total = 0;
        loop {
            let count = content.read(&mut buffer).map_err(failed)?;
            if count == 0 {
                break;
            }
            total += count as u64;
            hasher.update(&buffer[..count]);
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(&buffer[..count]);
            }
        }
        if total != file.size {
            return Err(failed(std::io::Error::other(
                "the file changed while it was being read",
            )));
        }
        text = text.or(kept);
    }
    let digest = prowess_diag::hex(&hasher.finalize());
    Ok((format!("sha256:{digest}"), text))
}

/// Reads the target of a link if it is a regular file, up to the maximum text size.
fn linked(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.take(MAX_TEXT + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(folder: &Path) -> String {
        digest(folder, &files(folder).unwrap()).unwrap()
    }

    #[test]
    fn every_change_affects_the_digest() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/x"), "one").unwrap();
        let mut seen = vec![of(root)];
        let mut step = |change: &dyn Fn()| {
            change();
            let now = of(root);
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        step(&|| std::fs::write(root.join("a/x"), "two").unwrap());
        step(&|| std::fs::write(root.join("a/y"), "").unwrap());
        step(&|| std::fs::rename(root.join("a/y"), root.join("a/z")).unwrap());
        step(&|| {
            std::fs::set_permissions(root.join("a/x"), PermissionsExt::from_mode(0o755)).unwrap();
        });
        step(&|| std::os::unix::fs::symlink("a/x", root.join("l")).unwrap());
    }

    #[test]
    fn links_are_not_followed() {
        let world = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", world.path().join("l")).unwrap();
        let files = files(world.path()).unwrap();
        assert_eq!((files[0].kind, files[0].size), (FactKind::Link, 11));
    }

    #[test]
    fn text_of_a_linked_skill_file_is_hashed() {
        let world = tempfile::tempdir().unwrap();
        let [skill, text] = ["skill", "text.md"].map(|name| world.path().join(name));
        std::fs::create_dir(&skill).unwrap();
        std::os::unix::fs::symlink("../text.md", skill.join("other.md")).unwrap();
        let digests = |content: &str| {
            std::fs::write(&text, content).unwrap();
            of(&skill)
        };
        // Any other link is hashed as its target path.
        assert_eq!(digests("one"), digests("two"));
        std::os::unix::fs::symlink("../text.md", skill.join("SKILL.md")).unwrap();
        assert_ne!(digests("one"), digests("two"));
        let files = files(&skill).unwrap();
        let (_, found) = digest_and_text(&skill, &files, Path::new("SKILL.md")).unwrap();
        assert_eq!(found.as_deref(), Some(&b"two"[..]));
        // A broken link, or a link to a device, is hashed as a link only.
        for target in ["../gone.md", "/dev/zero"] {
            std::fs::remove_file(skill.join("SKILL.md")).unwrap();
            std::os::unix::fs::symlink(target, skill.join("SKILL.md")).unwrap();
            of(&skill);
        }
    }
}
