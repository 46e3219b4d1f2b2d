//! Heads of skills, kept between two starts, so that the second one reads only what changed.
//!
//! One file for each root. It is written whole beside the old one and put in its place, so that two
//! processes may use it at once: the last one wins, and both versions are right. A file that is
//! damaged, foreign or from another version is as good as none.

use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::{Form, Origin, Skill, SkillId, Stamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// First bytes of a cache file; the last one is the version of its format.
const MAGIC: &[u8; 8] = b"PROWHED\x02";
/// Largest cache file that is read.
const MAX_CACHE: u64 = 1024 * 1024 * 1024;
/// A file that changed this shortly before it was read may change again without its time telling.
const RACY: i64 = 2_000_000_000;
/// Bytes of one row of the table: hash of the place, where the head begins, how long it is.
const ROW: usize = 16;

/// Whether a version of a skill was at rest when a scan that began then read it, so that its times
/// tell it from any later one. As git does: what changed in the moment before is read again.
pub(crate) fn was_at_rest(skill: &Skill, began: i64) -> bool {
    were_at_rest(skill.stamp, skill.sidecar, began)
}

fn were_at_rest(stamp: Stamp, sidecar: Option<Stamp>, began: i64) -> bool {
    let latest = |stamp: Stamp| stamp.modified.max(stamp.changed);
    latest(stamp).max(sidecar.map_or(i64::MIN, latest)) < began.saturating_sub(RACY)
}

/// Returns the time, in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}

/// What is remembered of one root: a table, sorted by hash, and heads that are only taken apart
/// when somebody asks for one. The threads that walk ask, each for its own.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    /// When the scan began that it is from, in nanoseconds since 1970.
    began: i64,
    rows: usize,
}

/// A head as it is written. Texts are borrowed from the file while it is read.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    path: &'a str,
    name: &'a str,
    alias: Option<&'a str>,
    description: &'a str,
    described: bool,
    when_to_use: Option<&'a str>,
    argument_hint: Option<&'a str>,
    version: Option<&'a str>,
    creator: Option<&'a str>,
    #[serde(borrow)]
    tags: Vec<&'a str>,
    #[serde(borrow)]
    metadata: Vec<(&'a str, &'a str)>,
    #[serde(borrow)]
    paths: Vec<&'a str>,
    model_invocable: bool,
    user_invocable: bool,
    pinned: bool,
    location: &'a str,
    stamp: [u64; 4],
    sidecar: Option<[u64; 4]>,
    fingerprint: u64,
    problems: u32,
}

impl Cache {
    /// Reads what is remembered of a root; nothing when there is nothing, or nothing usable.
    pub(crate) fn load(folder: &Path, root: &Path) -> Self {
        read(&file_for(folder, root)).unwrap_or_default()
    }

    /// Tells whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the head of a skill, if this very version of it is remembered.
    pub(crate) fn find(
        &self,
        location: &str,
        stamp: Stamp,
        sidecar: Option<Stamp>,
        origin: &Arc<Origin>,
    ) -> Option<Skill> {
        if !were_at_rest(stamp, sidecar, self.began) {
            return None;
        }
        let wanted = hash(location);
        let mut row = self.first_row(wanted);
        while let Some((_, head)) = self.row(row).filter(|(found, _)| *found == wanted) {
            let head: Head<'_> = postcard::from_bytes(head).ok()?;
            if head.location == location {
                let same = unpack(head.stamp) == stamp && head.sidecar.map(unpack) == sidecar;
                return same.then(|| head.into_skill(origin));
            }
            row += 1;
        }
        None
    }

    /// The first row whose hash is not below the wanted one.
    fn first_row(&self, wanted: u64) -> usize {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.row(middle).is_some_and(|(found, _)| found < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn row(&self, row: usize) -> Option<(u64, &[u8])> {
        let table = self.bytes.get(HEADER..)?;
        let cells = table.get(row.checked_mul(ROW)?..)?.first_chunk::<ROW>()?;
        if row >= self.rows {
            return None;
        }
        let (hash, place) = cells.split_first_chunk::<8>()?;
        let (start, length) = place.split_first_chunk::<4>()?;
        let start = u32::from_le_bytes(*start) as usize;
        let length = u32::from_le_bytes(*length.first_chunk::<4>()?) as usize;
        let heads = table.get(self.rows.checked_mul(ROW)?..)?;
        Some((u64::from_le_bytes(*hash), heads.get(start..start.checked_add(length)?)?))
    }

    /// Remembers the skills of a root, unless all of them came from here and none is missing.
    /// Failing is no harm: the next start is slower.
    pub(crate) fn save(
        &self,
        folder: &Path,
        root: &Path,
        origin: &Arc<Origin>,
        (began, all): (i64, &[Arc<Skill>]),
        fresh: usize,
    ) {
        let mine = |skill: &&Arc<Skill>| {
            Arc::ptr_eq(&skill.id.origin, origin) && skill.form == Form::Folder
        };
        let skills: Vec<&Arc<Skill>> = all.iter().filter(mine).collect();
        if fresh > 0 || skills.len() != self.rows {
            let _ = write(&file_for(folder, root), began, &skills);
        }
    }
}

/// Bytes before the table: magic, checksum, time, number of rows.
const HEADER: usize = 8 + 4 + 8 + 4;

/// A hash of a place. Another release of ours or of the compiler gives other hashes; then nothing is
/// found and everything is read.
fn hash(location: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    location.hash(&mut hasher);
    hasher.finish()
}

fn file_for(folder: &Path, root: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("heads-{name}.bin"))
}

/// Reads a file of the cache, whatever lies there: a FIFO must not keep us waiting, nor a large
/// file fill our memory.
pub(crate) fn read_cache(file: &Path) -> Option<Vec<u8>> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > MAX_CACHE {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(facts.len()).ok()?);
    file.take(MAX_CACHE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Puts a file of the cache in its place, whole or not at all.
pub(crate) fn write_cache(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new().prefix("new-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.persist(file)?;
    Ok(())
}

fn read(file: &Path) -> Option<Cache> {
    let bytes = read_cache(file)?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    if crc32fast::hash(rest).to_le_bytes() != *sum {
        return None;
    }
    let (began, rest) = rest.split_first_chunk::<8>()?;
    let (rows, _) = rest.split_first_chunk::<4>()?;
    let (began, rows) = (i64::from_le_bytes(*began), u32::from_le_bytes(*rows) as usize);
    Some(Cache { bytes, began, rows })
}

fn write(file: &Path, began: i64, skills: &[&Arc<Skill>]) -> std::io::Result<()> {
    let small = |n: usize| u32::try_from(n).map_err(std::io::Error::other);
    let mut heads = Vec::new();
    let mut table: Vec<(u64, u32, u32)> = Vec::with_capacity(skills.len());
    for skill in skills {
        let start = heads.len();
        heads = postcard::to_extend(&Head::of(skill), heads).map_err(std::io::Error::other)?;
        table.push((hash(&skill.location), small(start)?, small(heads.len() - start)?));
    }
    table.sort_unstable();
    let mut body = began.to_le_bytes().to_vec();
    body.extend_from_slice(&small(skills.len())?.to_le_bytes());
    for (hash, start, length) in table {
        body.extend_from_slice(&hash.to_le_bytes());
        body.extend_from_slice(&start.to_le_bytes());
        body.extend_from_slice(&length.to_le_bytes());
    }
    body.append(&mut heads);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.append(&mut body);
    write_cache(file, &bytes)
}

fn pack(stamp: Stamp) -> [u64; 4] {
    [stamp.size, stamp.modified.cast_unsigned(), stamp.changed.cast_unsigned(), stamp.inode]
}

fn unpack([size, modified, changed, inode]: [u64; 4]) -> Stamp {
    Stamp { size, modified: modified.cast_signed(), changed: changed.cast_signed(), inode }
}

impl<'a> Head<'a> {
    fn of(skill: &'a Skill) -> Self {
        Self {
            path: &skill.id.path,
            name: &skill.name,
            alias: skill.alias.as_deref(),
            description: &skill.description,
            described: skill.described,
            when_to_use: skill.when_to_use.as_deref(),
            argument_hint: skill.argument_hint.as_deref(),
            version: skill.version.as_deref(),
            creator: skill.creator.as_deref(),
            tags: skill.tags.iter().map(|tag| &**tag).collect(),
            metadata: skill.metadata.iter().map(|(key, value)| (&**key, &**value)).collect(),
            paths: skill.paths.iter().map(|path| &**path).collect(),
            model_invocable: skill.model_invocable,
            user_invocable: skill.user_invocable,
            pinned: skill.pinned,
            location: &skill.location,
            stamp: pack(skill.stamp),
            sidecar: skill.sidecar.map(pack),
            fingerprint: skill.fingerprint,
            problems: skill.problems,
        }
    }

    fn into_skill(self, origin: &Arc<Origin>) -> Skill {
        let texts = |texts: Vec<&str>| texts.into_iter().map(Box::from).collect();
        Skill {
            id: SkillId { origin: Arc::clone(origin), path: self.path.into() },
            name: self.name.into(),
            alias: self.alias.map(Box::from),
            description: self.description.into(),
            described: self.described,
            when_to_use: self.when_to_use.map(Box::from),
            argument_hint: self.argument_hint.map(Box::from),
            version: self.version.map(Box::from),
            creator: self.creator.map(Box::from),
            tags: texts(self.tags),
            metadata: self
                .metadata
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            paths: texts(self.paths),
            model_invocable: self.model_invocable,
            user_invocable: self.user_invocable,
            pinned: self.pinned,
            form: Form::Folder,
            location: self.location.into(),
            stamp: unpack(self.stamp),
            sidecar: self.sidecar.map(unpack),
            fingerprint: self.fingerprint,
            problems: self.problems,
        }
    }
}

#[cfg(test)]
mod tests {
    use prowess_catalog::{Place, Scope};
    use prowess_spec::parse;

    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// When the scan began that is remembered.
    const BEGAN: i64 = 1_000 * SECOND;

    /// The names that a second start takes from the cache, of skills with these times: of the text
    /// and of the sidecar.
    fn remembered(times: &[(i64, Option<i64>)]) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let (root, origin) = (Path::new("/root"), Arc::new(Origin::new(Scope::User, 0, "/root")));
        let head = |(number, &(changed, sidecar)): (usize, &(i64, Option<i64>))| {
            let place = Place {
                id: SkillId { origin: Arc::clone(&origin), path: number.to_string().into() },
                form: Form::Folder,
                location: format!("/root/{number}/SKILL.md").into(),
                given: None,
                stamp: Stamp { changed, ..Stamp::default() },
                sidecar: sidecar.map(|modified| Stamp { modified, ..Stamp::default() }),
                fingerprint: 7,
            };
            Arc::new(Skill::from_text(place, &parse(b"---\nname: a\n---\n"), None))
        };
        let skills: Vec<Arc<Skill>> = times.iter().enumerate().map(head).collect();
        Cache::default().save(folder.path(), root, &origin, (BEGAN, &skills), 0);
        let cache = Cache::load(folder.path(), root);
        let mut found = Vec::new();
        for (number, skill) in skills.iter().enumerate() {
            let again = cache.find(&skill.location, skill.stamp, skill.sidecar, &origin);
            if let Some(again) = again {
                assert_eq!(again, **skill);
                found.push(number);
            }
            // Another version of it is not remembered.
            let other = Stamp { size: 1, ..skill.stamp };
            assert_eq!(cache.find(&skill.location, other, skill.sidecar, &origin), None);
        }
        assert_eq!(cache.find("/root/x", Stamp::default(), None, &origin), None);
        found
    }

    #[test]
    fn what_changed_just_before_it_was_read_is_read_again() {
        let (old, recent, later) = (BEGAN - 3 * SECOND, BEGAN - SECOND, BEGAN + SECOND);
        let times =
            [(old, None), (recent, None), (later, None), (old, Some(old)), (old, Some(recent))];
        assert_eq!(remembered(&times), [0, 3]);
    }
}
