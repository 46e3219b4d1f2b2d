//! Heads of skills, kept between two starts, so that the second one reads only what changed.
//!
//! One file for each root. It is written whole beside the old one and put in its place, so that two
//! processes may use it at once: the last one wins, and both versions are right. A file that is
//! damaged, foreign or from another version is as good as none.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::{Form, Origin, Skill, SkillId, Stamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// First bytes of a cache file; the last one is the version of its format.
const MAGIC: &[u8; 8] = b"PROWHED\x01";
/// Largest cache file that is read.
const MAX_CACHE: u64 = 1024 * 1024 * 1024;
/// A file that changed this shortly before it was read may change again without its time telling.
const RACY: i64 = 2_000_000_000;

/// Whether a version of a skill was at rest when a scan that began then read it, so that its times
/// tell it from any later one. As git does: what changed in the moment before is read again.
pub(crate) fn was_at_rest(skill: &Skill, began: i64) -> bool {
    let latest = |stamp: Stamp| stamp.modified.max(stamp.changed);
    let sidecar = skill.sidecar.map_or(i64::MIN, latest);
    latest(skill.stamp).max(sidecar) < began.saturating_sub(RACY)
}

/// Returns the time, in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}

/// What is remembered of one root.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The skills, as they were.
    pub(crate) skills: Vec<Arc<Skill>>,
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
    problems: u32,
}

impl Cache {
    /// Reads what is remembered of a root; nothing when there is nothing, or nothing usable.
    pub(crate) fn load(folder: &Path, root: &Path, origin: &Arc<Origin>) -> Self {
        Self { skills: read(&file_for(folder, root), origin).unwrap_or_default() }
    }

    /// Remembers the skills of a root that a scan found which began then, unless they are what is
    /// remembered already. Failing is no harm: the next start is slower.
    pub(crate) fn save(
        &self,
        folder: &Path,
        root: &Path,
        origin: &Arc<Origin>,
        (began, all): (i64, &[Arc<Skill>]),
    ) {
        let mut skills: Vec<&Arc<Skill>> = all
            .iter()
            .filter(|skill| Arc::ptr_eq(&skill.id.origin, origin) && skill.form == Form::Folder)
            .collect();
        skills.sort_unstable_by(|a, b| a.id.path.cmp(&b.id.path));
        let same = |(a, b): (&&Arc<Skill>, &Arc<Skill>)| Arc::ptr_eq(a, b);
        if skills.len() == self.skills.len() && skills.iter().zip(&self.skills).all(same) {
            return;
        }
        let _ = write(folder, &file_for(folder, root), began, &skills);
    }
}

fn file_for(folder: &Path, root: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("heads-{name}.bin"))
}

fn read(file: &Path, origin: &Arc<Origin>) -> Option<Vec<Arc<Skill>>> {
    // Whatever lies there: a FIFO must not keep us waiting.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > MAX_CACHE {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(facts.len()).ok()?);
    file.take(MAX_CACHE).read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    if crc32fast::hash(rest).to_le_bytes() != *sum {
        return None;
    }
    let (began, mut rest) = rest.split_first_chunk::<8>()?;
    let began = i64::from_le_bytes(*began);
    let mut skills = Vec::new();
    while !rest.is_empty() {
        let (head, left) = postcard::take_from_bytes::<Head<'_>>(rest).ok()?;
        rest = left;
        let skill = head.into_skill(origin);
        if was_at_rest(&skill, began) {
            skills.push(Arc::new(skill));
        }
    }
    Some(skills)
}

fn write(folder: &Path, file: &Path, began: i64, skills: &[&Arc<Skill>]) -> std::io::Result<()> {
    let mut body = began.to_le_bytes().to_vec();
    for skill in skills {
        body = postcard::to_extend(&Head::of(skill), body).map_err(std::io::Error::other)?;
    }
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new().prefix("heads-").tempfile_in(folder)?;
    temporary.write_all(MAGIC)?;
    temporary.write_all(&crc32fast::hash(&body).to_le_bytes())?;
    temporary.write_all(&body)?;
    temporary.persist(file)?;
    Ok(())
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
            };
            Arc::new(Skill::from_text(place, &parse(b"---\nname: a\n---\n"), None))
        };
        let skills: Vec<Arc<Skill>> = times.iter().enumerate().map(head).collect();
        Cache::default().save(folder.path(), root, &origin, (BEGAN, &skills));
        let cache = Cache::load(folder.path(), root, &origin);
        for skill in &cache.skills {
            assert!(skills.contains(skill));
        }
        cache.skills.iter().map(|skill| skill.id.path.parse().unwrap()).collect()
    }

    #[test]
    fn what_changed_just_before_it_was_read_is_read_again() {
        let (old, recent, later) = (BEGAN - 3 * SECOND, BEGAN - SECOND, BEGAN + SECOND);
        let times =
            [(old, None), (recent, None), (later, None), (old, Some(old)), (old, Some(recent))];
        assert_eq!(remembered(&times), [0, 3]);
    }
}
