//! Cache of skill heads between two process starts, so that the second start reads only what
//! changed.
//!
//! There is one file per root. It is replaced atomically, so that several processes can use it at
//! the same time: the last writer wins, and every version is valid. A file that is damaged or of
//! another version is ignored.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_catalog::location::plain_path;
use prowess_catalog::{FileStamp, Skill, SkillForm, SkillOrigin};
use sha2::{Digest, Sha256};

use crate::fs::walk::reserve_heap;
use crate::head_format::{self, Head};

/// Magic number of a cache file; the last byte is the format version.
const MAGIC: &[u8; 8] = b"PROWHED\x07";
/// Maximum size of a cache file, in bytes.
const MAX_CACHE: u64 = 1024 * 1024 * 1024;
/// Minimum size of a cache file that is read by two threads, in bytes.
const MIN_TWO_THREADS: usize = 1024 * 1024;
/// Minimum size of a part of the file, in bytes. Parts are read into the same buffer, because
/// allocating costs more than reading.
const PART: usize = 128 * 1024;
/// A file that changed this shortly before it was read may change again with the same time stamp,
/// in nanoseconds.
const RACY: i64 = 2_000_000_000;
/// Size of the header: magic number, checksum of the rest of the header and of the list, time,
/// number of heads, number of parts.
const HEADER: usize = 8 + 4 + 8 + 4 + 4;
/// Size of a part in the list: length, number of heads, checksum.
const ENTRY: usize = 4 + 4 + 4;
/// Minimum size of a head, in bytes. Bounds the memory that the head count of a part can request.
const MIN_HEAD: usize = 64;

/// Returns `true` if a skill had not changed just before a scan that began at `began`, so that its
/// time stamps distinguish it from any later version. As in git, files that changed just before are
/// read again.
pub(crate) fn was_at_rest(skill: &Skill, began: i64) -> bool {
    were_at_rest(skill.stamp, skill.sidecar, began)
}

pub(crate) fn were_at_rest(stamp: FileStamp, sidecar: Option<FileStamp>, began: i64) -> bool {
    let latest = |stamp: FileStamp| stamp.modified.max(stamp.changed);
    latest(stamp).max(sidecar.map_or(i64::MIN, latest)) < began.saturating_sub(RACY)
}

/// Returns the current time, in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}

/// Cached skills of one root, with an open-addressing hash table that is never full. Shared by the
/// walking threads, each of which looks up its own skills.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Start of the scan that the cache is from, in nanoseconds since 1970.
    began: i64,
    /// Number of heads.
    heads: usize,
    skills: Vec<Arc<Skill>>,
    /// Skills that were found again.
    found: Vec<AtomicBool>,
    table: Table,
    /// Common prefix of all locations.
    prefix: Box<str>,
}

impl Cache {
    /// Loads the cache of a root with several threads. Returns an empty cache if there is none or
    /// it is invalid. Locations start with `path`, the path by which the root is known.
    pub(crate) fn load(
        folder: &Path,
        root: &Path,
        path: &Path,
        origin: &Arc<SkillOrigin>,
        threads: usize,
    ) -> Self {
        let below = path.join("");
        let read = |prefix| read(&file_for(folder, root), prefix, origin, threads);
        // Locations are stored as text, so the path must not need escapes.
        plain_path(&below).and_then(read).unwrap_or_default()
    }

    /// Returns `true` if the cache is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.heads == 0
    }

    /// Returns the index of the skill at a location, if exactly this version of it is cached.
    pub(crate) fn find(
        &self,
        location: &str,
        stamp: FileStamp,
        sidecar: Option<FileStamp>,
    ) -> Option<usize> {
        if !were_at_rest(stamp, sidecar, self.began) {
            return None;
        }
        let inner = location.strip_prefix(&*self.prefix)?;
        let is_there = |number| {
            self.skill(number)
                .is_some_and(|skill| skill.location.text() == location)
        };
        let number = self.table.find(inner, is_there)?;
        let skill = self.skill(number)?;
        (skill.stamp == stamp && skill.sidecar == sidecar).then_some(number)
    }

    /// Returns the skill with an index.
    pub(crate) fn skill(&self, number: usize) -> Option<&Skill> {
        self.skills.get(number).map(|skill| &**skill)
    }

    /// Marks a skill as still present.
    pub(crate) fn keep(&self, number: usize) {
        if let Some(found) = self.found.get(number) {
            found.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the skills that are still present.
    pub(crate) fn take_kept(&mut self) -> impl Iterator<Item = Arc<Skill>> {
        let skills = std::mem::take(&mut self.skills).into_iter();
        let found = std::mem::take(&mut self.found);
        skills
            .zip(found)
            .filter_map(|(skill, found)| found.into_inner().then_some(skill))
    }

    /// Saves the skills of a root, unless all of them came from the cache and none is missing.
    /// Errors are ignored: the next start is only slower.
    pub(crate) fn save(
        &self,
        folder: &Path,
        root: &Path,
        origin: &Arc<SkillOrigin>,
        (began, all): (i64, &[Arc<Skill>]),
        fresh: usize,
    ) {
        let mine = |skill: &&Arc<Skill>| {
            Arc::ptr_eq(&skill.id.origin, origin) && skill.form == SkillForm::Folder
        };
        let mut skills: Vec<&Arc<Skill>> = all.iter().filter(mine).collect();
        if fresh > 0 || skills.len() != self.heads {
            // Sort in the order of the catalogue, which then need not sort them at the next start.
            skills.sort_by(|a, b| a.name.cmp(&b.name));
            let _ = write(&file_for(folder, root), began, &skills);
        }
    }
}

/// Hash table from texts to indices, with a random seed.
#[derive(Debug, Default)]
struct Table {
    seed: u64,
    /// Slots, a power of two: half of the hash above the index plus one; 0 if empty.
    slots: Vec<AtomicU64>,
}

impl Table {
    fn with_room(count: usize) -> Self {
        let slots = (count + count / 4 + 1).next_power_of_two();
        let slots = (0..slots).map(|_| AtomicU64::new(0)).collect();
        Self {
            seed: RandomState::new().hash_one(0),
            slots,
        }
    }

    /// Inserts an index. At most four fifths of the slots are used, so there is always a free one.
    fn insert(&self, text: &str, number: usize) -> Option<()> {
        let (mark, mut at) = self.place(text);
        let last = self.slots.len().checked_sub(1)?;
        let number = u32::try_from(number).ok()?.checked_add(1)?;
        let new = (u64::from(mark) << 32) | u64::from(number);
        // `Relaxed` is enough: all threads are joined before the first lookup.
        let any = Ordering::Relaxed;
        while self
            .slots
            .get(at & last)?
            .compare_exchange(0, new, any, any)
            .is_err()
        {
            at += 1;
        }
        Some(())
    }

    fn find(&self, text: &str, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let (mark, at) = self.place(text);
        let last = self.slots.len().checked_sub(1)?;
        for at in at..=at + last {
            let slot = self.slots.get(at & last)?.load(Ordering::Relaxed);
            let number = usize::try_from(slot & u64::from(u32::MAX))
                .ok()?
                .checked_sub(1)?;
            if slot >> 32 == u64::from(mark) && is_it(number) {
                return Some(number);
            }
        }
        None
    }

    /// Returns two halves of a hash. A few instructions per eight bytes: every skill is looked up
    /// once.
    fn place(&self, text: &str) -> (u32, usize) {
        const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = words
            .iter()
            .chain([&last])
            .map(|word| u64::from_le_bytes(*word));
        let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
        let hash = words.fold(self.seed ^ text.len() as u64, mix);
        let halves = hash.to_le_bytes();
        let [low, high] = [0, 1].map(|half| u32::from_le_bytes(halves.as_chunks().0[half]));
        (low, high as usize)
    }
}

fn file_for(folder: &Path, root: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    folder.join(format!("heads-{}.bin", prowess_diag::hex(&hash[..12])))
}

/// Opens a cache file. Does not block on a FIFO, and rejects files that are too large.
fn open_cache(file: &Path) -> Option<(File, usize)> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(file)
        .ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > MAX_CACHE {
        return None;
    }
    Some((file, usize::try_from(facts.len()).ok()?))
}

/// Reads a whole cache file.
pub(crate) fn read_cache(file: &Path) -> Option<Vec<u8>> {
    let (file, length) = open_cache(file)?;
    let mut bytes = vec![0; length];
    // Copying takes the time here, so use two threads.
    let half = if bytes.len() < MIN_TWO_THREADS {
        bytes.len()
    } else {
        bytes.len() / 2
    };
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

/// Replaces a cache file atomically.
pub(crate) fn write_cache(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new()
        .prefix("new-")
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.persist(file)?;
    Ok(())
}

/// A part of the file.
struct Part {
    at: usize,
    length: usize,
    /// Index of the first head, and number of heads.
    first: usize,
    heads: usize,
    sum: u32,
}

fn read(file: &Path, prefix: &str, origin: &Arc<SkillOrigin>, threads: usize) -> Option<Cache> {
    let (file, length) = open_cache(file)?;
    let (began, heads, parts) = read_list(&file, length)?;
    let reader = Reader {
        file,
        prefix,
        origin,
        next: AtomicUsize::new(0),
        table: Table::with_room(heads),
        done: parts.iter().map(|_| Mutex::default()).collect(),
        parts,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(reader.parts.len()) {
            scope.spawn(|| reader.work());
        }
        reader.work();
    });
    let mut skills = Vec::with_capacity(heads);
    for done in reader.done {
        skills.append(&mut done.into_inner().unwrap_or_else(PoisonError::into_inner)?);
    }
    let found = skills.iter().map(|_| AtomicBool::new(false)).collect();
    let (table, prefix) = (reader.table, prefix.into());
    Some(Cache {
        began,
        heads,
        skills,
        found,
        table,
        prefix,
    })
}

/// Reads the header and the list of parts: start of the scan, number of heads, parts.
fn read_list(file: &File, length: usize) -> Option<(i64, usize, Vec<Part>)> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let (sum, numbers) = header.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
    let (began, rest) = numbers.split_first_chunk::<8>()?;
    let (heads, parts) = rest.split_first_chunk::<4>()?;
    let [heads, parts] =
        [heads, parts.first_chunk()?].map(|number| u32::from_le_bytes(*number) as usize);
    let size = parts.checked_mul(ENTRY).filter(|size| *size <= length)?;
    let mut list = vec![0; size];
    file.read_exact_at(&mut list, HEADER as u64).ok()?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(numbers);
    hasher.update(&list);
    if hasher.finalize().to_le_bytes() != *sum {
        return None;
    }
    let (mut at, mut first) = (HEADER + size, 0);
    let mut parts = Vec::with_capacity(parts);
    for entry in list.as_chunks::<ENTRY>().0 {
        let (numbers, _) = entry.as_chunks::<4>();
        let [size, heads, sum] = [0, 1, 2].map(|cell| u32::from_le_bytes(numbers[cell]));
        let (size, heads) = (size as usize, heads as usize);
        parts.push(Part {
            at,
            length: size,
            first,
            heads,
            sum,
        });
        at = at.checked_add(size).filter(|at| *at <= length)?;
        first = first
            .checked_add(heads)
            .filter(|_| heads <= size / MIN_HEAD)?;
    }
    if at != length || first != heads {
        return None;
    }
    Some((i64::from_le_bytes(*began), heads, parts))
}

/// State shared by the threads that read a file.
struct Reader<'a> {
    file: File,
    prefix: &'a str,
    origin: &'a Arc<SkillOrigin>,
    parts: Vec<Part>,
    /// Next part to read.
    next: AtomicUsize,
    /// Indices of the skills by location.
    table: Table,
    /// Skills of each part; `None` if the part is invalid.
    done: Vec<Mutex<Option<Vec<Arc<Skill>>>>>,
}

impl Reader<'_> {
    fn work(&self) {
        let mut buffer = Vec::new();
        for round in 0.. {
            if round % PARTS_PER_RESERVE == 0 {
                reserve_heap();
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(part), Some(done)) = (self.parts.get(number), self.done.get(number)) else {
                return;
            };
            let skills = self.read_part(part, &mut buffer);
            *done.lock().unwrap_or_else(PoisonError::into_inner) = skills;
        }
    }

    fn read_part(&self, part: &Part, buffer: &mut Vec<u8>) -> Option<Vec<Arc<Skill>>> {
        buffer.resize(part.length, 0);
        self.file.read_exact_at(buffer, part.at as u64).ok()?;
        if crc32fast::hash(buffer) != part.sum {
            return None;
        }
        let mut skills = Vec::with_capacity(part.heads);
        let mut rest = &buffer[..];
        while let Some((length, heads)) = rest.split_first_chunk::<4>() {
            let (head, heads) = heads.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            let skill = Head::read(head)?.into_skill(self.origin, self.prefix)?;
            // An id that is escaped differs from the path on disk and is not found by it.
            if skills.len() < part.heads && !skill.id.path.contains('\\') {
                let inner = skill.location.text().strip_prefix(self.prefix)?;
                self.table.insert(inner, part.first + skills.len())?;
            }
            skills.push(skill);
            rest = heads;
        }
        (skills.len() == part.heads).then_some(skills)
    }
}

/// Number of parts read per call of [`reserve_heap`].
const PARTS_PER_RESERVE: usize = 4;

fn write(file: &Path, began: i64, skills: &[&Arc<Skill>]) -> std::io::Result<()> {
    let small = |n: usize| u32::try_from(n).map_err(std::io::Error::other);
    let mut heads = Vec::new();
    let mut list = Vec::new();
    let (mut start, mut count) = (0, 0);
    for (number, skill) in skills.iter().enumerate() {
        let at = heads.len();
        heads.extend_from_slice(&[0; 4]);
        head_format::write(skill, &mut heads)
            .ok_or_else(|| std::io::Error::other("too many values in a skill head"))?;
        let length = small(heads.len() - at - 4)?;
        heads[at..at + 4].copy_from_slice(&length.to_le_bytes());
        count += 1;
        let part = &heads[start..];
        if part.len() >= PART || number + 1 == skills.len() {
            for cell in [small(part.len())?, small(count)?, crc32fast::hash(part)] {
                list.extend_from_slice(&cell.to_le_bytes());
            }
            (start, count) = (heads.len(), 0);
        }
    }
    let mut rest = began.to_le_bytes().to_vec();
    rest.extend_from_slice(&small(skills.len())?.to_le_bytes());
    rest.extend_from_slice(&small(list.len() / ENTRY)?.to_le_bytes());
    rest.append(&mut list);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&crc32fast::hash(&rest).to_le_bytes());
    bytes.append(&mut rest);
    bytes.append(&mut heads);
    write_cache(file, &bytes)
}

#[cfg(test)]
mod tests {
    use prowess_catalog::{Location, Scope, SkillId, SkillLocation};
    use prowess_spec::parse;

    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// Start of the cached scan.
    const BEGAN: i64 = 1_000 * SECOND;

    /// Returns the indices of the skills that a second start takes from the cache, for skills whose
    /// text and sidecar have these times.
    fn remembered(times: &[(i64, Option<i64>)]) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let (root, origin) = (
            Path::new("/root"),
            Arc::new(SkillOrigin::new(Scope::User, 0, "/root")),
        );
        let head = |(number, &(changed, sidecar)): (usize, &(i64, Option<i64>))| {
            let place = SkillLocation {
                id: SkillId {
                    origin: Arc::clone(&origin),
                    path: number.to_string().into(),
                },
                form: SkillForm::Folder,
                location: Location::from_text(format!("/root/{number}/SKILL.md")),
                given: None,
                stamp: FileStamp {
                    changed,
                    ..FileStamp::default()
                },
                sidecar: sidecar.map(|modified| FileStamp {
                    modified,
                    ..FileStamp::default()
                }),
                fingerprint: 7,
            };
            Arc::new(Skill::from_text(
                place,
                &parse(b"---\nname: a\n---\n"),
                None,
            ))
        };
        let skills: Vec<Arc<Skill>> = times.iter().enumerate().map(head).collect();
        Cache::default().save(folder.path(), root, &origin, (BEGAN, &skills), 0);
        let mut cache = Cache::load(folder.path(), root, root, &origin, 2);
        let mut found = Vec::new();
        for (number, skill) in skills.iter().enumerate() {
            let again = cache.find(skill.location.text(), skill.stamp, skill.sidecar);
            if let Some(again) = again {
                assert_eq!(cache.skill(again), Some(&**skill));
                cache.keep(again);
                found.push(number);
            }
            // A different version is not found.
            let other = FileStamp {
                size: 1,
                ..skill.stamp
            };
            assert_eq!(
                cache.find(skill.location.text(), other, skill.sidecar),
                None
            );
        }
        assert_eq!(
            cache.find("/root/x/SKILL.md", FileStamp::default(), None),
            None
        );
        let kept: Vec<_> = cache.take_kept().collect();
        assert_eq!(
            kept,
            found
                .iter()
                .map(|&at| Arc::clone(&skills[at]))
                .collect::<Vec<_>>()
        );
        found
    }

    #[test]
    fn recently_changed_files_are_read_again() {
        let (old, recent, later) = (BEGAN - 3 * SECOND, BEGAN - SECOND, BEGAN + SECOND);
        let times = [
            (old, None),
            (recent, None),
            (later, None),
            (old, Some(old)),
            (old, Some(recent)),
        ];
        assert_eq!(remembered(&times), [0, 3]);
    }

    /// Enough heads for several parts, so that several threads read them.
    #[test]
    fn many_heads_round_trip_with_several_threads() {
        let times = vec![(BEGAN - 3 * SECOND, None); 3_000];
        assert_eq!(remembered(&times), (0..3_000).collect::<Vec<_>>());
    }

    #[test]
    fn truncated_or_corrupt_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heads");
        let origin = Arc::new(SkillOrigin::new(Scope::User, 0, "/root"));
        let place = SkillLocation {
            id: SkillId {
                origin: Arc::clone(&origin),
                path: "a".into(),
            },
            form: SkillForm::Folder,
            location: Location::from_text("/root/a/SKILL.md"),
            given: None,
            stamp: FileStamp::default(),
            sidecar: None,
            fingerprint: 7,
        };
        let skill = Arc::new(Skill::from_text(
            place,
            &parse(b"---\nname: a\n---\n"),
            None,
        ));
        write(&file, BEGAN, &[&skill]).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let heads = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&file, "/root/", &origin, 2).map_or(0, |cache| cache.heads)
        };
        assert_eq!(heads(&bytes), 1);
        for at in 0..bytes.len() {
            assert_eq!(heads(&bytes[..at]), 0, "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(heads(&changed), 0, "changed at {at}");
        }
    }
}
