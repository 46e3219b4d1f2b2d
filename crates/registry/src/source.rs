//! What a place that skills come from must be able to do.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use prowess_catalog::{Skill, SkillId};
use prowess_spec::ReadFault;

use crate::fs::read::SKILL_FILES;
use crate::fs::walk::Notice;
use crate::resource::{Error, Resource};

/// A place that skills come from.
///
/// Calls block: files and memory answer at once, and whoever lives in an asynchronous world hands
/// the call to a thread for blocking work.
pub trait SkillSource: Send + Sync + Debug {
    /// Reads what there is now. Skills of `known` whose text did not change are given back as they
    /// are, so that whoever compares two scans compares pointers.
    fn scan(&self, known: Known<'_>) -> Scan;

    /// Reads the text of a skill.
    fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault>;

    /// Reads a part of one of its files.
    fn file(&self, id: &SkillId, path: &str, offset: u64, limit: usize) -> Result<Resource, Error>;

    /// Reads the whole of one of its files, of at most so many bytes.
    fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, Error>;

    /// Lists its files with their sizes, SKILL.md included, in order of path. Nothing where they
    /// cannot all be named.
    fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>>;

    /// Tells whether a skill comes from here.
    fn owns(&self, id: &SkillId) -> bool;

    /// Folders that may come to hold skills; whoever watches looks at these.
    fn watched(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// What is known from an earlier scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The skills.
    pub skills: &'a [Arc<Skill>],
    /// Whether a skill whose new text cannot be used is kept as it was.
    pub keep_last_good: bool,
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The skills, in no particular order.
    pub skills: Vec<Arc<Skill>>,
    /// Skills that could not be read.
    pub faults: Vec<Fault>,
    /// What was not looked at.
    pub notices: Vec<Notice>,
}

/// A skill that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub location: Box<str>,
    /// Why it could not be read.
    pub why: FaultKind,
    /// Whether the version read before is still in use.
    pub kept: bool,
}

impl Fault {
    /// Tells whether it is about the skill that a file belongs to.
    pub(crate) fn is_about(&self, file: &std::path::Path) -> bool {
        let location = std::path::Path::new(&*self.location);
        // The folder is the skill's only where the file is called so; commands share theirs.
        let has_folder = SKILL_FILES.iter().any(|name| location.ends_with(name));
        let folder = location.parent().filter(|_| has_folder);
        file == location || folder.is_some_and(|folder| file.starts_with(folder))
    }
}

/// Why a skill could not be read, or could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The file could not be read.
    Read(ReadFault),
    /// Its text cannot be used, as one that is being written.
    Broken,
    /// It changed while it was read.
    Moving,
    /// It is a link that leads out of the project.
    Outside,
}

impl FaultKind {
    /// Returns the word used in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Read(_) => "unreadable",
            Self::Broken => "broken",
            Self::Moving => "moving",
            Self::Outside => "outside",
        }
    }
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(ReadFault::Missing) => f.write_str("there is no such file"),
            Self::Read(ReadFault::NotAFile(what)) => write!(f, "it is {what}, not a regular file"),
            Self::Read(ReadFault::TooLarge { bytes }) => {
                write!(
                    f,
                    "it has {}, more than is read",
                    prowess_diag::wording::size(*bytes)
                )
            }
            Self::Read(ReadFault::Unreadable(reason)) => f.write_str(reason),
            Self::Broken => f.write_str("its frontmatter cannot be read"),
            Self::Moving => f.write_str("it changed while it was read"),
            Self::Outside => f.write_str("it is a link that leads out of the project"),
        }
    }
}

/// Where skills stand in a list, by where they are on disk. It is made when somebody first asks:
/// most programs never see an edit, and one that does sees many.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Places by hash, the first skill of each.
    by_hash: Option<(RandomState, HashMap<u64, usize>)>,
}

impl Places {
    /// The place of the first skill of this list that is there. Ask always for the same list; a
    /// skill may give way to a later version of itself.
    pub(crate) fn find(&mut self, skills: &[Arc<Skill>], location: &str) -> Option<usize> {
        let is_there = |skill: &Arc<Skill>| *skill.location == *location;
        let (state, by_hash) = self.by_hash.get_or_insert_with(|| {
            let state = RandomState::new();
            let place = |(at, skill): (usize, &Arc<Skill>)| (state.hash_one(&*skill.location), at);
            let by_hash = skills.iter().enumerate().rev().map(place).collect();
            (state, by_hash)
        });
        let place = *by_hash.get(&state.hash_one(location))?;
        // Two places with one hash are as rare as can be, and no reason to be wrong.
        match skills.get(place) {
            Some(skill) if is_there(skill) => Some(place),
            _ => skills.iter().position(is_there),
        }
    }
}

/// A sum over a text: its length and a checksum. It notices changes; it does not withstand whoever
/// wants to hide one, which is what the digest is for.
pub(crate) fn fingerprint(text: &[u8]) -> u64 {
    (text.len() as u64) << 32 | u64::from(crc32fast::hash(text))
}

#[cfg(test)]
mod tests {
    use prowess_catalog::{FileStamp, Scope, SkillForm, SkillLocation, SkillOrigin};
    use prowess_spec::parse;

    use super::*;

    #[test]
    fn a_skill_is_found_by_its_place() {
        let origin = Arc::new(SkillOrigin::new(Scope::User, 0, "/root"));
        let skill = |location: &str| {
            let place = SkillLocation {
                id: SkillId {
                    origin: Arc::clone(&origin),
                    path: "x".into(),
                },
                form: SkillForm::Folder,
                location: location.into(),
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
        // Two roots may lead to one file; the first of them counts.
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
