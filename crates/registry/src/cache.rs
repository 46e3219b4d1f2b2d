//! Heads of skills, kept between two starts, so that the second one reads only what changed.
//!
//! One file for each root. It is written whole beside the old one and put in its place, so that two
//! processes may use it at once: the last one wins, and both versions are right. A file that is
//! damaged, foreign or from another version is as good as none.

use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::{Form, Origin, Skill, Stamp};
use sha2::{Digest, Sha256};

use crate::head::{self, Head};

/// First bytes of a cache file; the last one is the version of its format.
const MAGIC: &[u8; 8] = b"PROWHED\x03";
/// Largest cache file that is read.
const MAX_CACHE: u64 = 1024 * 1024 * 1024;
/// A cache file of so many bytes is read by two threads.
const WORTH_TWO: usize = 1024 * 1024;
/// A file that changed this shortly before it was read may change again without its time telling.
const RACY: i64 = 2_000_000_000;
/// Bytes of one slot of the table: hash of the place, where the head begins, how long it is.
const SLOT: usize = 16;

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

/// What is remembered of one root: a table by hash, never full, in which a head stands where
/// its hash says or in one of the next slots; and heads that are only taken apart when somebody asks
/// for one. The threads that walk ask, each for its own.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    /// When the scan began that it is from, in nanoseconds since 1970.
    began: i64,
    /// How many heads there are, and in how many slots: a power of two, or none.
    heads: usize,
    slots: usize,
}

impl Cache {
    /// Reads what is remembered of a root; nothing when there is nothing, or nothing usable.
    pub(crate) fn load(folder: &Path, root: &Path) -> Self {
        read(&file_for(folder, root)).unwrap_or_default()
    }

    /// Tells whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.heads == 0
    }

    /// Returns the head of the skill at this path below the root, which lies there, if this very
    /// version of it is remembered.
    pub(crate) fn find(
        &self,
        path: &str,
        location: &str,
        stamp: Stamp,
        sidecar: Option<Stamp>,
        origin: &Arc<Origin>,
    ) -> Option<Skill> {
        if !were_at_rest(stamp, sidecar, self.began) {
            return None;
        }
        let wanted = hash(path);
        let mut at = wanted;
        for _ in 0..self.slots {
            let (found, head) = self.slot(at)?;
            if found == wanted {
                let head = Head::read(head)?;
                if head.path()? == path.as_bytes() {
                    let same = head.is_of(stamp, sidecar);
                    return same.then(|| head.into_skill(origin, location)).flatten();
                }
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// The hash and the head of a slot; nothing when it is empty.
    fn slot(&self, at: u64) -> Option<(u64, &[u8])> {
        let table = self.bytes.get(HEADER..)?;
        let at = usize::try_from(at & (self.slots as u64).checked_sub(1)?).ok()?;
        let cells = table.get(at.checked_mul(SLOT)?..)?.first_chunk::<SLOT>()?;
        let (hash, place) = cells.split_first_chunk::<8>()?;
        let (start, length) = place.split_first_chunk::<4>()?;
        let start = u32::from_le_bytes(*start) as usize;
        let length = u32::from_le_bytes(*length.first_chunk::<4>()?) as usize;
        let heads = table.get(self.slots.checked_mul(SLOT)?..)?;
        let head = heads.get(start..start.checked_add(length)?)?;
        (length > 0).then_some((u64::from_le_bytes(*hash), head))
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
        if fresh > 0 || skills.len() != self.heads {
            let _ = write(&file_for(folder, root), began, &skills);
        }
    }
}

/// Bytes before the table: magic, checksum, time, number of heads and of slots.
const HEADER: usize = 8 + 4 + 8 + 4 + 4;

/// A hash of a path below a root. Another release of ours or of the compiler gives other hashes; then
/// nothing is found and everything is read.
fn hash(path: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    path.hash(&mut hasher);
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
    let mut bytes = vec![0; usize::try_from(facts.len()).ok()?];
    // The system copies page by page, and nothing else can begin before it is done.
    let half = if bytes.len() < WORTH_TWO { bytes.len() } else { bytes.len() / 2 };
    let (first, second) = bytes.split_at_mut(half);
    std::thread::scope(|scope| {
        let file = &file;
        let read = |part: &mut [u8], at: usize| file.read_exact_at(part, at as u64).is_ok();
        let other = (!second.is_empty()).then(|| scope.spawn(move || read(second, half)));
        let both = read(first, 0) && other.is_none_or(|other| other.join().unwrap_or(false));
        both.then_some(())
    })?;
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
    let (heads, rest) = rest.split_first_chunk::<4>()?;
    let (slots, _) = rest.split_first_chunk::<4>()?;
    let began = i64::from_le_bytes(*began);
    let [heads, slots] = [heads, slots].map(|number| u32::from_le_bytes(*number) as usize);
    slots.is_power_of_two().then_some(Cache { bytes, began, heads, slots })
}

fn write(file: &Path, began: i64, skills: &[&Arc<Skill>]) -> std::io::Result<()> {
    let small = |n: usize| u32::try_from(n).map_err(std::io::Error::other);
    let slots = (skills.len() + skills.len() / 4 + 1).next_power_of_two();
    let mut heads = Vec::new();
    let mut table = vec![[0; SLOT]; slots];
    let mut is_free = vec![true; slots];
    for skill in skills {
        let start = heads.len();
        head::write(skill, &mut heads)
            .ok_or_else(|| std::io::Error::other("a head with too many values"))?;
        let hash = hash(&skill.id.path);
        // At most four fifths of the slots are taken, so there is always a free one.
        let mut at = usize::try_from(hash & (slots as u64 - 1)).unwrap_or(0);
        while !is_free[at] {
            at = (at + 1) % slots;
        }
        is_free[at] = false;
        let (number, place) = table[at].split_at_mut(8);
        number.copy_from_slice(&hash.to_le_bytes());
        place[..4].copy_from_slice(&small(start)?.to_le_bytes());
        place[4..].copy_from_slice(&small(heads.len() - start)?.to_le_bytes());
    }
    let mut body = began.to_le_bytes().to_vec();
    body.extend_from_slice(&small(skills.len())?.to_le_bytes());
    body.extend_from_slice(&small(slots)?.to_le_bytes());
    body.extend_from_slice(table.as_flattened());
    body.append(&mut heads);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.append(&mut body);
    write_cache(file, &bytes)
}

#[cfg(test)]
mod tests {
    use prowess_catalog::{Place, Scope, SkillId};
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
            let (path, place) = (&skill.id.path, &skill.location);
            let again = cache.find(path, place, skill.stamp, skill.sidecar, &origin);
            if let Some(again) = again {
                assert_eq!(again, **skill);
                found.push(number);
            }
            // Another version of it is not remembered.
            let other = Stamp { size: 1, ..skill.stamp };
            assert_eq!(cache.find(path, place, other, skill.sidecar, &origin), None);
        }
        assert_eq!(cache.find("x", "/root/x/SKILL.md", Stamp::default(), None, &origin), None);
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
