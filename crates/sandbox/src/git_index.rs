//! The index of a repository, as far as it says which folders git enters.
//!
//! `git status` enters every submodule of the index (a *gitlink*), whatever `.gitmodules` says.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::bounded_read::bounded_read;
use crate::granted_paths::within;
use crate::on_disk::is_absent;

/// Largest index that is read, in bytes: about a million files.
pub(crate) const MAX_INDEX: u64 = 128 << 20;

/// Most places of one index.
const MAX_PLACES: usize = 10_000;

const MODE_TYPE: u32 = 0o170_000;
const MODE_GITLINK: u32 = 0o160_000;
const MODE_FOLDER: u32 = 0o040_000;
const MODE_FILE: u32 = 0o100_000;

/// The part of the flags that is the length of a name.
const NAME_MASK: usize = 0xfff;

/// The places of an index that matter, relative to the working tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Submodules.
    pub(crate) links: BTreeSet<PathBuf>,
    /// Folders of a sparse index, whose content is not listed.
    pub(crate) sparse: BTreeSet<PathBuf>,
    /// Tracked files that are repositories now. Git would enter them as submodules.
    pub(crate) replaced: Vec<PathBuf>,
    /// Tracked files and their folders that have become links.
    pub(crate) linked: BTreeSet<PathBuf>,
    /// Bytes that were read.
    pub(crate) bytes: u64,
    /// Folders that were inspected for `linked`.
    folders: BTreeSet<PathBuf>,
}

/// The tracked files to inspect.
#[derive(Clone, Copy)]
pub(crate) struct Tracked<'a> {
    /// The working trees of the index.
    pub(crate) trees: &'a [PathBuf],
    /// The folders to which the inspection is limited.
    pub(crate) inside: Option<&'a [PathBuf]>,
    /// The time in seconds since which files and folders that are links count as changed. Without it,
    /// none are looked for.
    pub(crate) linked_since: Option<i64>,
}

impl Tracked<'_> {
    /// Returns the places of a tracked file in which there is a repository.
    fn replaced(self, name: &[u8]) -> impl Iterator<Item = PathBuf> {
        let name = Path::new(OsStr::from_bytes(name));
        let paths = self.trees.iter().map(move |tree| tree.join(name));
        paths.filter(move |path| {
            self.inside.is_none_or(|folders| within(path, folders)) && is_repository(path)
        })
    }
}

impl Places {
    /// Adds a tracked file or a folder around it if it has become a link.
    fn add_linked(&mut self, tracked: Tracked<'_>, name: &[u8]) {
        let Some(since) = tracked.linked_since else {
            return;
        };
        let name = Path::new(OsStr::from_bytes(name));
        for tree in tracked.trees {
            let path = tree.join(name);
            if !tracked.inside.is_none_or(|folders| within(&path, folders)) {
                continue;
            }
            for part in path.ancestors().take_while(|part| part != tree) {
                if part != path && !self.folders.insert(part.to_owned()) {
                    break;
                }
                if let Ok(facts) = part.symlink_metadata()
                    && facts.is_symlink()
                    && facts.ctime() >= since
                    && self.linked.len() < MAX_PLACES
                {
                    self.linked.insert(part.to_owned());
                }
            }
        }
    }
}

/// Reads the index in a git folder. A repository without one has no submodules.
pub(crate) fn places(
    git_folder: &Path,
    hash: usize,
    tracked: Option<Tracked<'_>>,
) -> io::Result<Places> {
    let mut places = Places::default();
    let index = git_folder.join("index");
    let bytes = match bounded_read(&index, MAX_INDEX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(places),
        bytes => bytes?,
    };
    if let Some(base) = parse(&bytes, hash, tracked, &mut places)? {
        let shared = git_folder.join(format!("sharedindex.{base}"));
        let bytes = bounded_read(&shared, MAX_INDEX)?;
        parse(&bytes, hash, tracked, &mut places)?;
    }
    Ok(places)
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Adds the places of an index. Returns the name of the index that it is based on, if it is split.
///
/// What two readers could understand differently is an error: a command may have written it.
fn parse(
    bytes: &[u8],
    hash: usize,
    tracked: Option<Tracked<'_>>,
    places: &mut Places,
) -> io::Result<Option<String>> {
    let cut = || invalid("it is truncated");
    places.bytes += bytes.len() as u64;
    let end = bytes.len().checked_sub(hash).ok_or_else(cut)?;
    let content = &bytes[..end];
    let mut rest = Reader(content);
    if rest.take(4).ok_or_else(cut)? != b"DIRC" {
        return Err(invalid("it is not an index of git"));
    }
    let version = rest.number().ok_or_else(cut)?;
    if !(2..=4).contains(&version) {
        return Err(invalid("its version is not supported"));
    }
    let count = rest.number().ok_or_else(cut)?;
    let table = Table::read(content, hash)?;
    let mut name: Vec<u8> = Vec::new();
    for number in 0..count {
        let is_block = table.check(content.len() - rest.0.len(), number)?;
        let mode = rest.entry(version, hash, is_block, &mut name);
        let mode = mode.ok_or_else(|| invalid("it is truncated or has an invalid entry"))?;
        let list = match mode & MODE_TYPE {
            MODE_GITLINK => &mut places.links,
            MODE_FOLDER => &mut places.sparse,
            _ => {
                if let Some(tracked) = tracked.filter(|_| !name.is_empty()) {
                    places.replaced.extend(tracked.replaced(&name));
                    if mode & MODE_TYPE == MODE_FILE {
                        places.add_linked(tracked, &name);
                    }
                }
                continue;
            }
        };
        // In a split index, an entry without a name replaces one of the other file.
        if name.is_empty() {
            return Err(invalid("it is split, and changes a submodule"));
        }
        // Git does not check the names that it reads.
        list.insert(place(&name).ok_or_else(|| invalid("a submodule has an invalid name"))?);
        if list.len() > MAX_PLACES {
            return Err(invalid("it has too many submodules"));
        }
    }
    if table
        .end
        .is_some_and(|end| end != content.len() - rest.0.len())
        || table.count > count
    {
        return Err(invalid("its tables do not fit its entries"));
    }
    let mut base = None;
    while !rest.0.is_empty() {
        let (signature, content) = rest.extension().ok_or_else(cut)?;
        if signature == b"link" {
            let id = content.get(..hash).ok_or_else(cut)?;
            if id.iter().any(|byte| *byte != 0) {
                base = Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
    }
    Ok(base)
}

/// Returns `true` if a path is a folder with a repository, or may be one. A link is none.
pub(crate) fn is_repository(path: &Path) -> bool {
    let pointer = path.join(".git");
    match pointer.symlink_metadata() {
        Err(error) if is_absent(&pointer, &error) => false,
        _ => !path.is_symlink(),
    }
}

/// The tables with which git reads the entries in several threads. It trusts them.
#[derive(Default)]
struct Table {
    /// The end of the entries.
    end: Option<usize>,
    /// The positions of blocks, with the number of the first entry of each.
    blocks: BTreeMap<usize, u32>,
    firsts: BTreeSet<u32>,
    /// The number of entries in all blocks.
    count: u32,
}

impl Table {
    /// Finds the tables as git does: from the end of the file.
    fn read(content: &[u8], hash: usize) -> io::Result<Self> {
        let mut table = Self::default();
        let odd = || invalid("its tables are invalid");
        let size = 4 + 4 + 4 + hash;
        let Some(start) = content.len().checked_sub(size) else {
            return Ok(table);
        };
        let mut rest = Reader(&content[start..]);
        let Some((b"EOIE", last)) = rest.extension().filter(|_| rest.0.is_empty()) else {
            return Ok(table);
        };
        let end = Reader(last).number().ok_or_else(odd)? as usize;
        table.end = Some(end);
        let mut rest = Reader(content.get(end..).ok_or_else(odd)?);
        while !rest.0.is_empty() {
            let (signature, content) = rest.extension().ok_or_else(odd)?;
            if signature != b"IEOT" {
                continue;
            }
            let mut entries = Reader(content);
            if entries.number() != Some(1) || table.count != 0 {
                return Err(odd());
            }
            while !entries.0.is_empty() {
                let at = entries.number().ok_or_else(odd)? as usize;
                let count = entries.number().ok_or_else(odd)?;
                table.blocks.insert(at, table.count);
                table.firsts.insert(table.count);
                table.count = table.count.checked_add(count).ok_or_else(odd)?;
            }
        }
        Ok(table)
    }

    /// Returns `true` if a block begins with this entry. Fails if the table says otherwise.
    fn check(&self, at: usize, number: u32) -> io::Result<bool> {
        let begins = self.blocks.get(&at);
        let is_expected = begins.is_none_or(|first| *first == number);
        let is_named = begins.is_some() || !self.firsts.contains(&number);
        if is_expected && is_named {
            Ok(begins.is_some())
        } else {
            Err(invalid("its tables do not fit its entries"))
        }
    }
}

/// Returns the path of an entry, unless git would refuse to add it: it is always in the working tree
/// and never in a git folder.
pub(crate) fn place(name: &[u8]) -> Option<PathBuf> {
    // A folder of a sparse index ends in `/`.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let is_plain =
        |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git");
    let is_valid = name.split(|byte| *byte == b'/').all(is_plain) && !name.contains(&0);
    is_valid.then(|| PathBuf::from(OsStr::from_bytes(name)))
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

    /// Takes an extension: its signature and its content.
    fn extension(&mut self) -> Option<(&'a [u8; 4], &'a [u8])> {
        let (signature, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        let length = self.number()?;
        Some((signature, self.take(length as usize)?))
    }

    /// Takes one entry: sets its name, given the one before, and returns its mode. The first entry of
    /// a block must not use the name before.
    fn entry(
        &mut self,
        version: u32,
        hash: usize,
        is_block: bool,
        name: &mut Vec<u8>,
    ) -> Option<u32> {
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
            if is_block && !name.is_empty() {
                return None;
            }
        } else {
            name.clear();
        }
        let length = self.0.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(self.take(length)?);
        // Git uses the length in the flags, unless it is too long for them.
        if name.len().min(NAME_MASK) != usize::from(flags) & NAME_MASK {
            return None;
        }
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
            let places = places(&folder.path().join(".git"), hash, None).unwrap();
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
            assert!(places(&git, 20, None).is_err(), "{length}");
        }
        let mut unknown = bytes.clone();
        unknown[7] = 9;
        std::fs::write(git.join("index"), unknown).unwrap();
        assert!(places(&git, 20, None).is_err());
        std::fs::remove_file(git.join("index")).unwrap();
        assert_eq!(places(&git, 20, None).unwrap(), Places::default());
    }

    #[test]
    fn places_are_in_the_working_tree() {
        for name in ["../x", "/x", ".git/hooks", "a/.GIT/hooks", "a/../../x", ""] {
            assert_eq!(place(name.as_bytes()), None, "{name}");
        }
        for name in ["./x", "a//b", "a/./b", "a\0b", "a/"] {
            let is_valid = name == "a/";
            assert_eq!(place(name.as_bytes()).is_some(), is_valid, "{name}");
        }
        assert_eq!(place(b"a/b/"), Some("a/b".into()));
    }

    /// Builds an entry as git writes it in version 2, with any length in its flags.
    fn entry(mode: u32, name: &[u8], length: u16) -> Vec<u8> {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.extend([1; 32]);
        entry.extend(length.to_be_bytes());
        entry.extend(name);
        entry.resize((entry.len() + 8) & !7, 0);
        entry
    }

    fn index(entries: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let head = [&b"DIRC\0\0\0\x02"[..], &count.to_be_bytes()].concat();
        [head, entries.concat(), extensions.to_vec(), vec![0; 20]].concat()
    }

    fn links(bytes: &[u8]) -> io::Result<usize> {
        let mut places = Places::default();
        parse(bytes, 20, None, &mut places)?;
        Ok(places.links.len())
    }

    /// Git uses the length in the flags, and does not check names.
    #[test]
    fn entry_that_git_reads_differently_is_an_error() {
        let file = entry(0o100_644, b"a", 1);
        assert_eq!(
            links(&index(&[file.clone(), entry(MODE_GITLINK, b"m", 1)], b"")).unwrap(),
            1
        );
        let long = vec![b'x'; 5000];
        assert_eq!(
            links(&index(&[entry(MODE_GITLINK, &long, 0xfff)], b"")).unwrap(),
            1
        );
        for odd in [
            entry(0o100_644, b"zA\0more", 7),
            entry(0o100_644, b"zA", 40),
            entry(MODE_GITLINK, b".GIT/emb", 8),
            entry(MODE_GITLINK, b"./zz", 4),
            entry(MODE_GITLINK, b"q/../zz", 7),
            entry(MODE_GITLINK, b"/zz", 3),
        ] {
            assert!(
                links(&index(&[file.clone(), odd.clone()], b"")).is_err(),
                "{odd:?}"
            );
        }
    }

    /// Git reads the entries where the tables say that they are.
    #[test]
    fn tables_must_fit_the_entries() {
        let entries = [entry(0o100_644, b"a", 1), entry(MODE_GITLINK, b"m", 1)];
        let size = u32::try_from(entries[0].len()).unwrap();
        let check = |blocks: &[(u32, u32)], end: u32| {
            let blocks = blocks
                .iter()
                .map(|(at, count)| [at.to_be_bytes(), count.to_be_bytes()].concat());
            let table = [
                &1_u32.to_be_bytes()[..],
                &blocks.collect::<Vec<_>>().concat(),
            ]
            .concat();
            let length = u32::try_from(table.len()).unwrap();
            let table = [&b"IEOT"[..], &length.to_be_bytes(), &table].concat();
            let last = [&b"EOIE\0\0\0\x18"[..], &end.to_be_bytes(), &[7; 20]].concat();
            links(&index(&entries, &[table, last].concat())).is_ok()
        };
        let end = 12 + 2 * size;
        assert!(check(&[(12, 1), (12 + size, 1)], end));
        assert!(check(&[(12, 2)], end) && check(&[], end));
        for (blocks, end) in [
            (&[(12, 1), (12 + size, 2)][..], end),
            (&[(12, 1), (20, 1)], end),
            (&[(12 + size, 1)], end),
            (&[(12, 3)], end),
            (&[(12, 2)], end - 8),
        ] {
            assert!(!check(blocks, end), "{blocks:?} {end}");
        }
    }

    #[test]
    fn tracked_files_that_became_links_since_a_time_are_found() {
        let folder = repository(&[], "sha1");
        let root = folder.path();
        let trees = [root.to_owned()];
        std::fs::create_dir(root.join("sub")).unwrap();
        for name in ["a", "b", "sub/c"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let add = Command::new("git")
            .args(["add", "a", "b", "sub/c"])
            .current_dir(root)
            .status();
        assert!(add.unwrap().success());
        std::fs::remove_file(root.join("a")).unwrap();
        std::os::unix::fs::symlink("/elsewhere", root.join("a")).unwrap();
        std::fs::rename(root.join("sub"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", root.join("sub")).unwrap();
        let found = |linked_since| {
            let tracked = Tracked {
                trees: &trees,
                inside: None,
                linked_since,
            };
            let places = places(&root.join(".git"), 20, Some(tracked)).unwrap();
            places.linked.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found(Some(0)), ["a", "sub"].map(|name| root.join(name)));
        let now = root.join("sub").symlink_metadata().unwrap().ctime();
        assert_eq!(found(Some(now + 1)), [] as [PathBuf; 0]);
        assert_eq!(found(None), [] as [PathBuf; 0]);
    }
}
