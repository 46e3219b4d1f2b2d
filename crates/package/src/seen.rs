//! What this machine has seen of sources: the highest sequence of each index, the first sight of each
//! digest, the digests whose signature was checked, and the commits that repositories offered.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::fault::FaultPoints;
use crate::project::{read_text, write_new};
use crate::tree::digest_of_bytes;

/// Maximum number of records of each kind. The smallest keys are dropped.
const MAX_RECORDS: usize = 20_000;

/// Maximum number of repositories and wanted versions whose commits are recorded, and of commits of each.
const MAX_LOOKS: usize = 2_000;
const MAX_LOOK_COMMITS: usize = 64;

/// The records of this machine.
#[derive(Clone, Debug)]
pub struct SeenSources {
    folder: PathBuf,
}

#[derive(Default)]
struct Records {
    sequences: BTreeMap<String, u64>,
    digests: BTreeMap<String, i64>,
    /// The digest, and the key.
    signed: BTreeMap<String, i64>,
    /// The last look at what was wanted of a repository.
    looks: BTreeMap<String, OfferedCommits>,
}

/// The commits that a repository offered.
#[derive(Clone, Default)]
struct OfferedCommits {
    /// The time of the last look.
    time: i64,
    /// The commits at that time, and the last look that did not show them. 0 if each look did.
    commits: BTreeMap<String, i64>,
}

impl SeenSources {
    /// Opens the records below the state folder of Prowess.
    pub fn new(state: &Path) -> Self {
        Self {
            folder: state.join("packages/v1"),
        }
    }

    /// Returns the highest sequence of an index.
    pub fn sequence(&self, url: &str) -> Option<u64> {
        self.read().sequences.get(url).copied()
    }

    /// Returns the time of the first sight of a digest, in seconds since 1970.
    pub fn first_sight(&self, digest: &str) -> Option<i64> {
        self.read().digests.get(digest).copied()
    }

    /// Returns `true` if a signature of one of the keys over the files of a digest was checked.
    pub fn is_signed<'k>(&self, digest: &str, keys: impl IntoIterator<Item = &'k str>) -> bool {
        let records = self.read();
        let mut keys = keys.into_iter();
        keys.any(|key| records.signed.contains_key(&signed_key(digest, key)))
    }

    /// Records that the signature of a key over the files of a digest was checked.
    pub fn record_signed(&self, digest: &str, key: &str, now: i64) -> io::Result<()> {
        self.change(|records| {
            let key = signed_key(digest, key);
            records.signed.insert(key, now).is_none()
        })
    }

    /// Records the commits that a repository offers for what is wanted. Returns for each one the time
    /// since which it can be there at the earliest: that of the last look that did not show it. `None` if
    /// each look showed it, as the first one does.
    pub fn look(
        &self,
        url: &str,
        wanted: &str,
        commits: &[&str],
        now: i64,
    ) -> io::Result<Vec<Option<i64>>> {
        let key = digest_of_bytes(format!("{url}\n{wanted}").as_bytes());
        let mut since = Vec::new();
        self.change(|records| {
            let known = records.looks.get(&key).cloned();
            let first = known.as_ref().map_or(0, |known| known.time);
            let known = known.unwrap_or_default().commits;
            since = commits
                .iter()
                .map(|commit| known.get(*commit).copied().unwrap_or(first))
                .collect();
            let offered = commits.iter().zip(&since).take(MAX_LOOK_COMMITS);
            let commits = offered.map(|(commit, since)| ((*commit).to_owned(), *since));
            let look = OfferedCommits {
                time: now,
                commits: commits.collect(),
            };
            records.looks.insert(key, look);
            true
        })?;
        let since = since.into_iter();
        Ok(since
            .map(|since| Some(since).filter(|at| *at > 0))
            .collect())
    }

    /// Records a sequence and digests. A lower sequence changes nothing.
    pub fn record(
        &self,
        sequence: Option<(&str, u64)>,
        digests: &[&str],
        now: i64,
    ) -> io::Result<()> {
        self.change(|records| {
            let mut is_new = false;
            if let Some((url, number)) = sequence {
                let known = records.sequences.entry(url.to_owned()).or_default();
                is_new |= number > *known;
                *known = number.max(*known);
            }
            for digest in digests {
                if !records.digests.contains_key(*digest) {
                    records.digests.insert((*digest).to_owned(), now);
                    is_new = true;
                }
            }
            is_new
        })
    }

    /// Changes the records, and writes them if `change` returns `true`.
    fn change(&self, change: impl FnOnce(&mut Records) -> bool) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let lock = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(self.folder.join("seen.lock"))?;
        lock.lock()?;
        let mut records = self.read();
        if !change(&mut records) {
            return Ok(());
        }
        while records.sequences.len() > MAX_RECORDS {
            records.sequences.pop_first();
        }
        while records.digests.len() > MAX_RECORDS {
            records.digests.pop_first();
        }
        while records.signed.len() > MAX_RECORDS {
            records.signed.pop_first();
        }
        while records.looks.len() > MAX_LOOKS {
            // The oldest ones say least.
            let oldest = records.looks.iter().min_by_key(|(_, look)| look.time);
            let oldest = oldest.map(|(key, _)| key.clone()).unwrap_or_default();
            records.looks.remove(&oldest);
        }
        let looks: serde_json::Map<String, Value> = records
            .looks
            .iter()
            .map(|(key, look)| {
                let look = json!({ "time": look.time, "commits": look.commits });
                (key.clone(), look)
            })
            .collect();
        let text = json!({
            "version": 1,
            "looks": looks,
            "sequences": records.sequences,
            "digests": records.digests,
            "signed": records.signed,
        })
        .to_string();
        write_new(&self.file(), text.as_bytes(), &FaultPoints::default())
    }

    fn file(&self) -> PathBuf {
        self.folder.join("seen")
    }

    /// Reads the records. A damaged file counts as empty: it only makes checks weaker, and nothing
    /// else can be done about it.
    fn read(&self) -> Records {
        let text = read_text(&self.file()).ok().flatten().unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let numbers = |key: &str| value[key].as_object().cloned().unwrap_or_default();
        let times = |key: &str| {
            let numbers = numbers(key).into_iter();
            numbers
                .filter_map(|(key, value)| Some((key, value.as_i64()?)))
                .collect()
        };
        let looks = numbers("looks").into_iter().filter_map(|(key, look)| {
            let commits = look["commits"].as_object()?.iter();
            let commits = commits.filter_map(|(commit, at)| Some((commit.clone(), at.as_i64()?)));
            let look = OfferedCommits {
                time: look["time"].as_i64()?,
                commits: commits.collect(),
            };
            Some((key, look))
        });
        Records {
            looks: looks.collect(),
            sequences: numbers("sequences")
                .into_iter()
                .filter_map(|(key, value)| Some((key, value.as_u64()?)))
                .collect(),
            digests: times("digests"),
            signed: times("signed"),
        }
    }
}

fn signed_key(digest: &str, key: &str) -> String {
    format!("{digest} {}", digest_of_bytes(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_not_older_than_the_last_look_without_them() {
        let world = tempfile::tempdir().unwrap();
        let seen = SeenSources::new(world.path());
        let look = |commits: &[&str], now| seen.look("https://a", "^1", commits, now).unwrap();
        assert_eq!(look(&["1"], 100), [None]);
        assert_eq!(look(&["2", "1"], 200), [Some(100), None]);
        assert_eq!(look(&["2", "1"], 300), [Some(100), None]);
        assert_eq!(look(&["3"], 400), [Some(300)]);
        // Another wish is another list.
        assert_eq!(seen.look("https://a", "^2", &["9"], 500).unwrap(), [None]);
        seen.record(Some(("https://b", 5)), &[], 600).unwrap();
        assert_eq!(look(&["3"], 700), [Some(300)]);
    }

    #[test]
    fn highest_sequence_and_first_sight_are_kept() {
        let world = tempfile::tempdir().unwrap();
        let seen = SeenSources::new(world.path());
        assert_eq!(seen.sequence("https://a"), None);
        seen.record(Some(("https://a", 5)), &["sha256:1"], 100)
            .unwrap();
        seen.record(Some(("https://a", 3)), &["sha256:1", "sha256:2"], 200)
            .unwrap();
        assert_eq!(seen.sequence("https://a"), Some(5));
        assert_eq!(seen.first_sight("sha256:1"), Some(100));
        assert_eq!(seen.first_sight("sha256:2"), Some(200));
        seen.record_signed("sha256:1", "key", 300).unwrap();
        assert!(seen.is_signed("sha256:1", ["other", "key"]));
        assert!(!seen.is_signed("sha256:1", ["other"]));
        assert!(!seen.is_signed("sha256:2", ["key"]));
        assert_eq!(seen.sequence("https://a"), Some(5));
    }
}
