//! The trait of skill sources.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use prowess_catalog::{Location, Scope, Skill, SkillId};
use prowess_spec::{NotASkill, ReadFault};
use serde_json::Value;

use crate::fs::read::SKILL_FILES;
use crate::fs::walk::ScanNotice;
use crate::resource::{Resource, ResourceError, SkillFolder};

/// A source of skills.
///
/// Calls block. Asynchronous callers run them on a thread for blocking work.
pub trait SkillSource: Send + Sync + Debug {
    /// Scans for skills. Skills of `known` whose text did not change are returned as the same
    /// `Arc`, so that two scans can be compared by pointer.
    fn scan(&self, known: Known<'_>) -> Scan;

    /// Reads the text of a skill.
    fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault>;

    /// Reads a part of one of a skill's files.
    fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, ResourceError>;

    /// Reads all of one of a skill's files, at most `most` bytes.
    fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, ResourceError>;

    /// Lists a skill's files with their sizes, including SKILL.md, sorted by path. Returns `None`
    /// if a file name is not UTF-8 or there are too many files.
    fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>>;

    /// Opens the folder of a skill, which must still be the one that the last scan found. Returns
    /// `None` if the skill has no folder.
    fn open_folder(&self, _id: &SkillId) -> Option<Result<SkillFolder, ResourceError>> {
        None
    }

    /// Returns the JSON Schema of a skill's arguments, if the program that defined it gave one.
    fn input_schema(&self, _id: &SkillId) -> Option<Arc<Value>> {
        None
    }

    /// Returns `true` if a skill comes from this source.
    fn owns(&self, id: &SkillId) -> bool;

    /// Returns the folders that are searched for skills, as of the last scan, including ones that do
    /// not exist yet.
    fn searched(&self) -> Vec<SearchedFolder> {
        Vec::new()
    }
}

/// A folder that is searched for skills. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedFolder {
    /// Scope of its skills.
    pub scope: Scope,
    /// The folder, or the file of a single-file skill, as it was named.
    pub path: PathBuf,
}

/// Result of an earlier scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The skills.
    pub skills: &'a [Arc<Skill>],
    /// If `true`, a skill whose new text is unusable is kept in its last good version.
    pub keep_last_good: bool,
}

/// Result of a scan.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The skills, in no particular order.
    pub skills: Vec<Arc<Skill>>,
    /// Skills that could not be read.
    pub faults: Vec<SourceFault>,
    /// Folders that were skipped.
    pub notices: Vec<ScanNotice>,
}

/// A skill that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFault {
    /// Path or URI of the skill.
    pub location: Location,
    /// Reason.
    pub why: SourceFaultKind,
    /// `true` if the last good version is still in use.
    pub kept: bool,
}

impl SourceFault {
    /// Returns `true` if the fault concerns the skill that a file belongs to.
    pub(crate) fn is_about(&self, file: &std::path::Path) -> bool {
        let location = &*self.location.path();
        // Only a SKILL.md owns its folder; commands share theirs.
        let has_folder = SKILL_FILES.iter().any(|name| location.ends_with(name));
        let folder = location.parent().filter(|_| has_folder);
        file == location || folder.is_some_and(|folder| file.starts_with(folder))
    }
}

/// Reason why a skill could not be read or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFaultKind {
    /// The file could not be read.
    Read(ReadFault),
    /// The text is unusable, for example because it is being written.
    Broken,
    /// The file changed while it was being read.
    Moving,
    /// The file is a link to a target outside the project.
    Outside,
    /// The file is not a skill.
    NotASkill(NotASkill),
}

impl SourceFaultKind {
    /// Returns the identifier used in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Read(_) => "unreadable",
            Self::Broken => "broken",
            Self::Moving => "moving",
            Self::Outside => "outside",
            Self::NotASkill(_) => "not-a-skill",
        }
    }
}

impl std::fmt::Display for SourceFaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(ReadFault::Missing) => f.write_str("there is no such file"),
            Self::Read(ReadFault::NotAFile(what)) => write!(f, "it is {what}, not a regular file"),
            Self::Read(ReadFault::TooLarge { bytes }) => {
                write!(
                    f,
                    "it is too large ({})",
                    prowess_diag::wording::size(*bytes)
                )
            }
            Self::Read(ReadFault::Unreadable(reason)) => f.write_str(reason),
            Self::Broken => f.write_str("its frontmatter is invalid"),
            Self::Moving => f.write_str("it changed while it was being read"),
            Self::Outside => f.write_str("it is a link to a file outside the project"),
            Self::NotASkill(why) => write!(f, "{why}"),
        }
    }
}

/// Positions of skills in a list, by location. Built on first use: most processes never see an
/// edit, and those that do see many.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Position of the first skill for each hash.
    by_hash: Option<(RandomState, HashMap<u64, usize>)>,
}

impl Places {
    /// Returns the position of the first skill whose location has this text. Always pass the same list; its
    /// skills may be replaced by later versions of themselves.
    pub(crate) fn find(&mut self, skills: &[Arc<Skill>], location: &str) -> Option<usize> {
        let is_there = |skill: &Arc<Skill>| skill.location.text() == location;
        let (state, by_hash) = self.by_hash.get_or_insert_with(|| {
            let state = RandomState::new();
            let place =
                |(at, skill): (usize, &Arc<Skill>)| (state.hash_one(skill.location.text()), at);
            let by_hash = skills.iter().enumerate().rev().map(place).collect();
            (state, by_hash)
        });
        let place = *by_hash.get(&state.hash_one(location))?;
        // Hash collisions are rare, but must not give a wrong result.
        match skills.get(place) {
            Some(skill) if is_there(skill) => Some(place),
            _ => skills.iter().position(is_there),
        }
    }
}

/// Returns the length and a checksum of a text. It detects accidental changes only; the digest
/// protects against deliberate ones.
pub(crate) fn fingerprint(text: &[u8]) -> u64 {
    (text.len() as u64) << 32 | u64::from(crc32fast::hash(text))
}

#[cfg(test)]
mod tests {
    use prowess_catalog::{FileStamp, SkillForm, SkillLocation, SkillOrigin};
    use prowess_spec::parse;

    use super::*;

    #[test]
    fn skill_is_found_by_location() {
        let origin = Arc::new(SkillOrigin::new(Scope::User, 0, "/root"));
        let skill = |location: &str| {
            let place = SkillLocation {
                id: SkillId {
                    origin: Arc::clone(&origin),
                    path: "x".into(),
                },
                form: SkillForm::Folder,
                location: Location::from_text(location),
                given: None,
                stamp: FileStamp::default(),
                sidecar: None,
                fingerprint: 7,
            };
            Arc::new(Skill::from_text(
                place,
                &parse(b"---\nname: a\n---\n"),
                None,
            ))
        };
        // Two roots may contain the same file; the first one counts.
        let skills = [skill("/a"), skill("/b"), skill("/b"), skill("/c")];
        let mut places = Places::default();
        for (location, expected) in [
            ("/b", Some(1)),
            ("/c", Some(3)),
            ("/a", Some(0)),
            ("/d", None),
            ("", None),
        ] {
            assert_eq!(places.find(&skills, location), expected, "{location}");
        }
    }
}
