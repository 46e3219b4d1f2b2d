//! The index of a repository, as far as it says which folders git enters.
//!
//! `git status` enters every submodule of the index (a *gitlink*), whatever `.gitmodules` says.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::bounded_read::bounded_read;

/// Largest index that is read, in bytes: about a million files.
pub(crate) const MAX_INDEX: u64 = 128 << 20;

/// Most places of one index.
const MAX_PLACES: usize = 10_000;

const MODE_TYPE: u32 = 0o170_000;
const MODE_GITLINK: u32 = 0o160_000;
const MODE_FOLDER: u32 = 0o040_000;

/// The places of an index that matter, relative to the working tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Submodules.
    pub(crate) links: BTreeSet<PathBuf>,
    /// Folders of a sparse index, whose content is not listed.
    pub(crate) sparse: BTreeSet<PathBuf>,
}

/// Reads the index in a git folder. A repository without one has no submodules.
pub(crate) fn places(git_folder: &Path, hash: usize) -> io::Result<Places> {
    let mut places = Places::default();
    let index = git_folder.join("index");
    let bytes = match bounded_read(&index, MAX_INDEX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(places),
        bytes => bytes?,
    };
    if let Some(base) = parse(&bytes, hash, &mut places)? {
        let shared = git_folder.join(format!("sharedindex.{base}"));
        let bytes = bounded_read(&shared, MAX_INDEX)?;
        parse(&bytes, hash, &mut places)?;
    }
    Ok(places)
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Adds the places of an index. Returns the name of the index that it is based on, if it is split.
fn parse(bytes: &[u8], hash: usize, places: &mut Places) -> io::Result<Option<String>> {
    let cut = || invalid("it is truncated");
    let end = bytes.len().checked_sub(hash).ok_or_else(cut)?;
    let mut rest = Reader(&bytes[..end]);
    if rest.take(4).ok_or_else(cut)? != b"DIRC" {
        return Err(invalid("it is not an index of git"));
    }
    let version = rest.number().ok_or_else(cut)?;
    if !(2..=4).contains(&version) {
        return Err(invalid("its version is not supported"));
    }
    let count = rest.number().ok_or_else(cut)?;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let mode = rest.entry(version, hash, &mut name).ok_or_else(cut)?;
        let list = match mode & MODE_TYPE {
            MODE_GITLINK => &mut places.links,
            MODE_FOLDER => &mut places.sparse,
            _ => continue,
        };
        // In a split index, an entry without a name replaces one of the other file.
        if name.is_empty() {
            return Err(invalid("it is split, and changes a submodule"));
        }
        list.extend(place(&name));
        if list.len() > MAX_PLACES {
            return Err(invalid("it has too many submodules"));
        }
    }
    let mut base = None;
    while !rest.0.is_empty() {
        let signature = rest.take(4).ok_or_else(cut)?;
        let length = rest.number().ok_or_else(cut)?;
        let content = rest.take(length as usize).ok_or_else(cut)?;
        if signature == b"link" {
            let id = content.get(..hash).ok_or_else(cut)?;
            if id.iter().any(|byte| *byte != 0) {
                base = Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
    }
    Ok(base)
}

/// Returns the path of an entry, unless git would refuse it: it is always in the working tree and
/// never in a git folder.
pub(crate) fn place(name: &[u8]) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(name));
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")));
    (plain && !name.is_empty() && !name.contains(&0)).then(|| path.components().collect())
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    /// Takes one entry: sets its name, given the one before, and returns its mode.
    fn entry(&mut self, version: u32, hash: usize, name: &mut Vec<u8>) -> Option<u32> {
        let before = self.0.len();
        let facts = self.take(40)?;
        let mode = u32::from_be_bytes(*facts.get(24..)?.first_chunk()?);
        self.take(hash)?;
        let flags = u16::from_be_bytes(*self.take(2)?.first_chunk()?);
        if flags & 0x4000 != 0 {
            self.take(2)?;
        }
        if version == 4 {
            let dropped = self.variable_number()?;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let length = self.0.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(self.take(length)?);
        if version == 4 {
            self.take(1)?;
        } else {
            // One to eight NUL bytes, up to a multiple of eight.
            let used = before - self.0.len();
            let padding = self.take(8 - used % 8)?;
            if padding.iter().any(|byte| *byte != 0) {
                return None;
            }
        }
        Some(mode)
    }

    fn variable_number(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            let next = value.checked_add(1)?.checked_mul(128)?;
            value = next | usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A repository with two submodules in its index.
    fn repository(settings: &[&str], format: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .args(arguments)
                .current_dir(folder.path())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q", "--object-format", format]);
        for setting in settings {
            git(&[
                "config",
                setting.split_once('=').unwrap().0,
                setting.split_once('=').unwrap().1,
            ]);
        }
        for at in 0..50 {
            std::fs::write(folder.path().join(format!("file-{at}")), "").unwrap();
        }
        git(&["add", "."]);
        let id = "1".repeat(if format == "sha1" { 40 } else { 64 });
        for path in ["module", "vendor/a long name of a folder/x"] {
            let entry = format!("160000,{id},{path}");
            git(&["update-index", "--add", "--cacheinfo", &entry]);
        }
        folder
    }

    #[test]
    fn every_version_is_read() {
        for (settings, format) in [
            (&["index.version=2"][..], "sha1"),
            (&["index.version=3"], "sha1"),
            (&["index.version=4"], "sha1"),
            (&["index.version=4", "core.untrackedCache=true"], "sha256"),
            (&["core.splitIndex=true"], "sha1"),
        ] {
            let folder = repository(settings, format);
            let hash = if format == "sha1" { 20 } else { 32 };
            let places = places(&folder.path().join(".git"), hash).unwrap();
            let links: Vec<_> = places
                .links
                .iter()
                .map(|path| path.to_str().unwrap())
                .collect();
            assert_eq!(
                links,
                ["module", "vendor/a long name of a folder/x"],
                "{settings:?}"
            );
            assert_eq!(places.sparse.len(), 0);
        }
    }

    #[test]
    fn broken_index_is_an_error() {
        let folder = repository(&["index.version=2"], "sha1");
        let git = folder.path().join(".git");
        let bytes = std::fs::read(git.join("index")).unwrap();
        for length in (0..bytes.len() - 1).step_by(7) {
            std::fs::write(git.join("index"), &bytes[..length]).unwrap();
            assert!(places(&git, 20).is_err(), "{length}");
        }
        let mut unknown = bytes.clone();
        unknown[7] = 9;
        std::fs::write(git.join("index"), unknown).unwrap();
        assert!(places(&git, 20).is_err());
        std::fs::remove_file(git.join("index")).unwrap();
        assert_eq!(places(&git, 20).unwrap(), Places::default());
    }

    #[test]
    fn places_are_in_the_working_tree() {
        for name in ["../x", "/x", ".git/hooks", "a/.GIT/hooks", "a/../../x", ""] {
            assert_eq!(place(name.as_bytes()), None, "{name}");
        }
        assert_eq!(place(b"a/b/"), Some("a/b".into()));
    }
}
