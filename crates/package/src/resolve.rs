//! Decides which commit a package takes, from the refs of a repository and the locked entry.
//!
//! Each package is resolved alone: the highest version that fits. What was locked never moves
//! backwards or sideways without an explicit flag.

use semver::{Version, VersionReq};

use crate::error::PackageExit;
use crate::git::{Ancestry, RemoteRef, RemoteRefs};
use crate::lock::LockedPackage;
use crate::manifest::PackageEntry;
use crate::source::{GitSource, LockedSource, PackageSource, WantedRef};
use crate::version::{self, fits, parse_range, parse_version, tag_version};

const TAGS: &str = "refs/tags/";
const BRANCHES: &str = "refs/heads/";
/// Number of versions that an error names.
const SHOWN_VERSIONS: usize = 5;

/// The decision about a wanted version or ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefChoice {
    /// One commit.
    Take(ChosenRef),
    /// Versions that fit the range, the highest first. The first one is taken, unless it is too
    /// young.
    Versions(Vec<ChosenRef>),
    /// The repository has no versions in its tags: the range is held against the version that
    /// SKILL.md declares at this commit.
    HoldAgainstSkill(ChosenRef),
}

/// A commit to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenRef {
    /// The full name of the ref. `None` for a commit that is named by its id.
    pub name: Option<String>,
    /// A ref with this commit, for servers that do not give commits by their id.
    pub seen_at: Option<String>,
    /// The commit.
    pub commit: String,
    /// The version in the name of the tag.
    pub version: Option<Version>,
    /// The folder that the address of a page names.
    pub path: Option<String>,
}

/// Answers that a person gave in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// `--accept-moved-tag`.
    pub moved_tag: bool,
    /// `--allow-downgrade`, or the entry of the manifest changed.
    pub downgrade: bool,
    /// A rewritten history was accepted.
    pub rewritten: bool,
}

/// Something to tell about a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveNote {
    /// Tag and SKILL.md have other versions. The tag counts.
    OtherVersion {
        /// The version of the tag.
        tag: String,
        /// The version of SKILL.md.
        declared: String,
    },
    /// The server does not tell if the branch was rewritten.
    UnknownHistory {
        /// The branch.
        branch: String,
    },
    /// The locked tag does not exist any more.
    TagGone {
        /// The tag.
        tag: String,
    },
}

/// The reason why a package cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No ref has this name.
    #[error("the repository has no tag or branch `{name}`")]
    NoRef {
        /// The name.
        name: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// A tag and a branch have this name.
    #[error(
        "`{name}` is both a tag ({}) and a branch ({})",
        short(tag),
        short(branch)
    )]
    TagAndBranch {
        /// The name.
        name: String,
        /// The commit of the tag.
        tag: String,
        /// The commit of the branch.
        branch: String,
    },
    /// A tag or a branch is named like a commit id.
    #[error("`{name}` looks like a commit id, and is the name of a tag or branch as well")]
    NamedLikeCommit {
        /// The name.
        name: String,
    },
    /// Several commits begin with these digits.
    #[error("several commits begin with `{id}`")]
    ShortIdAmbiguous {
        /// The digits.
        id: String,
    },
    /// The start of a commit id that no ref has.
    #[error("no tag, branch or known commit is called `{id}`")]
    ShortIdUnknown {
        /// The digits.
        id: String,
    },
    /// The repository has no default branch.
    #[error("the repository is empty or has no default branch")]
    NoDefault,
    /// No version fits.
    #[error("no version fits `{range}`{}", available(versions))]
    NoVersion {
        /// The range.
        range: String,
        /// The highest versions, the highest first.
        versions: Vec<String>,
    },
    /// Two tags have one version and other commits.
    #[error("the tags `{one}` and `{two}` have one version and other commits")]
    TwoTags {
        /// The first tag.
        one: String,
        /// The second tag.
        two: String,
    },
    /// A range for a source without tags, whose SKILL.md has another version or none.
    #[error("`{range}` does not fit: the source has no tags with versions, and SKILL.md declares {}", declared.as_deref().map_or_else(|| "none".to_owned(), |version| format!("`{version}`")))]
    DeclaredVersion {
        /// The range.
        range: String,
        /// The version of SKILL.md.
        declared: Option<String>,
    },
    /// The installed version is not the wanted one.
    #[error("`{name}` has version {}, and `{range}` is wanted", found.as_deref().unwrap_or("none"))]
    OtherVersionInstalled {
        /// The package.
        name: String,
        /// The range.
        range: String,
        /// The version.
        found: Option<String>,
    },
    /// The locked tag has another commit now.
    #[error(
        "the tag `{tag}` was moved: it was commit {}, and is commit {} now",
        short(locked),
        short(now)
    )]
    MovedTag {
        /// The tag.
        tag: String,
        /// The locked commit.
        locked: String,
        /// The commit now.
        now: String,
    },
    /// A registry has another archive for the locked version.
    #[error("version {version} was replaced: its archive was {locked}, and is {now} now")]
    MovedVersion {
        /// The version.
        version: String,
        /// The digest of the locked archive.
        locked: String,
        /// The digest of the archive now.
        now: String,
    },
    /// The version is lower than the locked one.
    #[error("version {found} is lower than the locked {locked}")]
    Downgrade {
        /// The locked version.
        locked: String,
        /// The version that would be taken.
        found: String,
    },
    /// The branch does not contain the locked commit any more.
    #[error(
        "the history of `{branch}` was rewritten: commit {} is not part of it",
        short(locked)
    )]
    Rewritten {
        /// The branch.
        branch: String,
        /// The locked commit.
        locked: String,
    },
    /// The version is younger than the minimum age.
    #[error("version {version} is {} old, and `minimum-age` is {}", duration(*age), duration(*minimum))]
    TooYoung {
        /// The version or commit.
        version: String,
        /// Its age in seconds.
        age: u64,
        /// The minimum in seconds.
        minimum: u64,
    },
    /// An index or a registry has an older sequence than one that was seen.
    #[error("the index is older than one that was seen before: {found} after {seen}")]
    Stale {
        /// The highest sequence that was seen.
        seen: u64,
        /// The sequence now.
        found: u64,
    },
}

impl ResolveError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        match self {
            Self::MovedTag { .. }
            | Self::MovedVersion { .. }
            | Self::Downgrade { .. }
            | Self::Rewritten { .. }
            | Self::TooYoung { .. }
            | Self::Stale { .. } => PackageExit::Refused,
            _ => PackageExit::Failed,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoRef {
                near: Some(near), ..
            } => format!("did you mean `{near}`?"),
            // Other tools write the name of a skill after `@`.
            Self::NoRef { name, .. } if prowess_spec::SkillName::new(name).is_ok() => {
                format!("to choose a skill, name it after the source: `prowess add SOURCE {name}`")
            }
            Self::NoRef { .. } | Self::NoDefault | Self::Stale { .. } => return None,
            Self::TagAndBranch { name, .. } => {
                format!("choose one with `--tag {name}` or `--branch {name}`")
            }
            Self::NamedLikeCommit { name } => {
                format!("use `--tag {name}`, `--branch {name}`, or `--rev` with the whole id")
            }
            Self::ShortIdAmbiguous { .. } | Self::ShortIdUnknown { .. } => {
                "use `--rev` with the whole id".to_owned()
            }
            Self::NoVersion { .. } => "change the range in the manifest".to_owned(),
            Self::TwoTags { one, two } => {
                format!("choose one with `--tag {one}` or `--tag {two}`")
            }
            Self::DeclaredVersion { .. } => {
                "use `--branch`, `--tag` or `--rev` instead of a range".to_owned()
            }
            Self::OtherVersionInstalled { name, .. } => {
                format!("see what there is with `prowess update {name} --dry-run`")
            }
            Self::MovedTag { .. } | Self::MovedVersion { .. } => {
                "ask the author; accept it with `--accept-moved-tag`".to_owned()
            }
            Self::Downgrade { .. } => "accept it with `--allow-downgrade`".to_owned(),
            Self::Rewritten { .. } => {
                "ask the author; accept it with `--accept-rewritten`".to_owned()
            }
            Self::TooYoung { .. } => {
                "wait, or change `minimum-age` in `[install]` of your own configuration".to_owned()
            }
        };
        Some(hint)
    }
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn available(versions: &[String]) -> String {
    match versions {
        [] => String::new(),
        versions => format!(
            "; there is {}",
            prowess_diag::wording::all(versions.iter().take(SHOWN_VERSIONS))
        ),
    }
}

fn duration(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    prowess_diag::wording::count(usize::try_from(number).unwrap_or(usize::MAX), unit)
}

/// Chooses the ref of a git source. `package` is the name for tags such as `NAME-v1.2.3`. Short
/// commit ids are allowed only if the source was typed.
pub fn choose_ref(
    source: &GitSource,
    package: &str,
    refs: &RemoteRefs,
    is_typed: bool,
) -> Result<RefChoice, ResolveError> {
    match &source.wanted {
        WantedRef::Default => default(refs).map(RefChoice::Take),
        WantedRef::Commit(id) => Ok(RefChoice::Take(commit(id, source, package, refs))),
        WantedRef::Tag(name) => tag(name, source, package, refs).map(RefChoice::Take),
        WantedRef::Branch(name) => match find(refs, BRANCHES, name) {
            Some(found) => Ok(RefChoice::Take(taken(found, None))),
            None => Err(no_ref(name, refs)),
        },
        WantedRef::Any(name) => any(name, source, package, refs, is_typed).map(RefChoice::Take),
        WantedRef::Version(range) => range_of(range, source, package, refs),
        WantedRef::RefAndPath(text) => page(text, source, package, refs).map(RefChoice::Take),
    }
}

fn find<'r>(refs: &'r RemoteRefs, kind: &str, name: &str) -> Option<&'r RemoteRef> {
    refs.refs
        .iter()
        .find(|found| found.name.strip_prefix(kind) == Some(name))
}

fn taken(found: &RemoteRef, version: Option<Version>) -> ChosenRef {
    ChosenRef {
        name: Some(found.name.clone()),
        seen_at: Some(found.name.clone()),
        commit: found.commit().to_owned(),
        version,
        path: None,
    }
}

fn no_ref(name: &str, refs: &RemoteRefs) -> ResolveError {
    let names = refs.refs.iter().filter_map(|found| {
        let short = found.name.strip_prefix(TAGS);
        short.or_else(|| found.name.strip_prefix(BRANCHES))
    });
    ResolveError::NoRef {
        name: name.to_owned(),
        near: prowess_diag::suggest::nearest(name, names).map(str::to_owned),
    }
}

fn default(refs: &RemoteRefs) -> Result<ChosenRef, ResolveError> {
    let branch = refs.default_branch.as_ref();
    let found = branch.and_then(|name| refs.refs.iter().find(|found| found.name == *name));
    match (found, &refs.head) {
        (Some(found), _) => Ok(taken(found, None)),
        (None, Some(head)) => Ok(ChosenRef {
            name: branch.cloned(),
            seen_at: branch.cloned(),
            commit: head.clone(),
            version: None,
            path: None,
        }),
        (None, None) => Err(ResolveError::NoDefault),
    }
}

/// A commit by its id. Refs that are named like it do not count; a tag with this commit gives the
/// version.
fn commit(id: &str, source: &GitSource, package: &str, refs: &RemoteRefs) -> ChosenRef {
    let here = || refs.refs.iter().filter(|found| found.commit() == id);
    let version = here().find_map(|found| {
        let tag = found.name.strip_prefix(TAGS)?;
        tag_version(tag, Some(package), source.tag_prefix.as_deref())
    });
    ChosenRef {
        name: None,
        seen_at: here().next().map(|found| found.name.clone()),
        commit: id.to_owned(),
        version,
        path: None,
    }
}

fn tag(
    name: &str,
    source: &GitSource,
    package: &str,
    refs: &RemoteRefs,
) -> Result<ChosenRef, ResolveError> {
    let found = find(refs, TAGS, name).ok_or_else(|| no_ref(name, refs))?;
    let version = tag_version(name, Some(package), source.tag_prefix.as_deref());
    Ok(taken(found, version))
}

fn any(
    name: &str,
    source: &GitSource,
    package: &str,
    refs: &RemoteRefs,
    is_typed: bool,
) -> Result<ChosenRef, ResolveError> {
    let is_like_commit = version::is_short_id(name) && name.len() >= 7;
    let found_tag = find(refs, TAGS, name);
    let found_branch = find(refs, BRANCHES, name);
    match (found_tag, found_branch) {
        (Some(_), _) | (_, Some(_)) if is_like_commit => Err(ResolveError::NamedLikeCommit {
            name: name.to_owned(),
        }),
        (Some(tag), Some(branch)) => Err(ResolveError::TagAndBranch {
            name: name.to_owned(),
            tag: tag.commit().to_owned(),
            branch: branch.commit().to_owned(),
        }),
        (Some(_), None) => tag(name, source, package, refs),
        (None, Some(branch)) => Ok(taken(branch, None)),
        (None, None) if is_typed && version::is_short_id(name) => {
            let start = name.to_ascii_lowercase();
            let mut ids: Vec<&str> = refs
                .refs
                .iter()
                .map(RemoteRef::commit)
                .filter(|id| id.starts_with(&start))
                .collect();
            ids.sort_unstable();
            ids.dedup();
            match ids.as_slice() {
                [] => Err(ResolveError::ShortIdUnknown {
                    id: name.to_owned(),
                }),
                [id] => Ok(commit(id, source, package, refs)),
                _ => Err(ResolveError::ShortIdAmbiguous {
                    id: name.to_owned(),
                }),
            }
        }
        (None, None) => Err(no_ref(name, refs)),
    }
}

fn range_of(
    range: &VersionReq,
    source: &GitSource,
    package: &str,
    refs: &RemoteRefs,
) -> Result<RefChoice, ResolveError> {
    let prefix = source.tag_prefix.as_deref();
    let tags = || {
        refs.refs
            .iter()
            .filter_map(|found| Some((found, found.name.strip_prefix(TAGS)?)))
    };
    let versions = |package: Option<&str>, only_named: bool| -> Vec<(Version, &RemoteRef)> {
        tags()
            .filter(|(_, tag)| !only_named || tag_version(tag, None, None).is_none())
            .filter_map(|(found, tag)| Some((tag_version(tag, package, prefix)?, found)))
            .collect()
    };
    // In a repository of many packages, tags with the name of this one count alone.
    let mut all = match prefix {
        Some(_) => Vec::new(),
        None => versions(Some(package), true),
    };
    if all.is_empty() {
        all = versions(Some(package), false);
    }
    if all.is_empty() {
        return default(refs).map(RefChoice::HoldAgainstSkill);
    }
    all.sort_by(|one, two| two.0.cmp(&one.0));
    let mut fitting: Vec<(Version, &RemoteRef)> = Vec::new();
    for (version, found) in &all {
        if !fits(range, version) {
            continue;
        }
        match fitting.iter().find(|(known, _)| known == version) {
            None => fitting.push((version.clone(), found)),
            Some((_, known)) if known.commit() == found.commit() => {}
            Some((_, known)) => {
                let name = |found: &RemoteRef| found.name.trim_start_matches(TAGS).to_owned();
                return Err(ResolveError::TwoTags {
                    one: name(known),
                    two: name(found),
                });
            }
        }
    }
    if fitting.is_empty() {
        let versions = all.iter().map(|(version, _)| version.to_string());
        return Err(ResolveError::NoVersion {
            range: range.to_string(),
            versions: versions.take(SHOWN_VERSIONS).collect(),
        });
    }
    let fitting = fitting.into_iter();
    Ok(RefChoice::Versions(
        fitting
            .map(|(version, found)| taken(found, Some(version)))
            .collect(),
    ))
}

/// The ref and path of the address of a page: the longest name of a ref at the start.
fn page(
    text: &str,
    source: &GitSource,
    package: &str,
    refs: &RemoteRefs,
) -> Result<ChosenRef, ResolveError> {
    let path_after = |name: &str| {
        let rest = text.get(name.len()..).unwrap_or_default();
        let rest = rest.trim_matches('/');
        (!rest.is_empty()).then(|| rest.to_owned())
    };
    let first = text.split('/').next().unwrap_or_default();
    if version::is_commit_id(first) {
        let id = first.to_ascii_lowercase();
        return Ok(ChosenRef {
            path: path_after(first),
            ..commit(&id, source, package, refs)
        });
    }
    let ends = text.match_indices('/').map(|(at, _)| at);
    let mut ends: Vec<usize> = ends.chain([text.len()]).collect();
    ends.reverse();
    for end in ends {
        let name = &text[..end];
        let chosen = match (find(refs, TAGS, name), find(refs, BRANCHES, name)) {
            (Some(tag), Some(branch)) => {
                return Err(ResolveError::TagAndBranch {
                    name: name.to_owned(),
                    tag: tag.commit().to_owned(),
                    branch: branch.commit().to_owned(),
                });
            }
            (Some(_), None) => tag(name, source, package, refs)?,
            (None, Some(branch)) => taken(branch, None),
            (None, None) => continue,
        };
        return Ok(ChosenRef {
            path: path_after(name),
            ..chosen
        });
    }
    Err(no_ref(first, refs))
}

/// Returns the first candidate that is old enough. `date` returns the newest date of a candidate in
/// seconds since 1970; a candidate without a date is never old enough.
pub fn old_enough<E>(
    candidates: &[ChosenRef],
    now: i64,
    minimum: Option<u64>,
    mut date: impl FnMut(&ChosenRef) -> Result<Option<i64>, E>,
) -> Result<Result<&ChosenRef, ResolveError>, E> {
    let mut youngest = None;
    for candidate in candidates {
        let Some(minimum) = minimum.filter(|minimum| *minimum > 0) else {
            return Ok(Ok(candidate));
        };
        let age = date(candidate)?.map_or(0, |date| now.saturating_sub(date));
        // A date in the future is no age.
        let age = u64::try_from(age).unwrap_or(0);
        if age >= minimum {
            return Ok(Ok(candidate));
        }
        youngest.get_or_insert_with(|| ResolveError::TooYoung {
            version: candidate
                .version
                .as_ref()
                .map_or_else(|| short(&candidate.commit).to_owned(), ToString::to_string),
            age,
            minimum,
        });
    }
    Ok(Err(youngest.unwrap_or(ResolveError::NoDefault)))
}

/// Returns the version of a package: of the tag, else of SKILL.md, else of a plugin or an index.
pub fn version_of(
    tag: Option<&Version>,
    declared: Option<&str>,
    other: Option<&str>,
) -> (Option<String>, Option<ResolveNote>) {
    let declared = declared.map(str::trim).filter(|text| !text.is_empty());
    match (tag, declared) {
        (Some(tag), Some(declared)) if parse_version(declared).as_ref() != Some(tag) => {
            let note = ResolveNote::OtherVersion {
                tag: tag.to_string(),
                declared: declared.to_owned(),
            };
            (Some(tag.to_string()), Some(note))
        }
        (Some(tag), _) => (Some(tag.to_string()), None),
        (None, declared) => (declared.or(other).map(str::to_owned), None),
    }
}

/// Holds a range against the version that SKILL.md declares.
pub fn hold_against(range: &VersionReq, declared: Option<&str>) -> Result<(), ResolveError> {
    let version = declared.and_then(parse_version);
    if version.is_some_and(|version| fits(range, &version)) {
        Ok(())
    } else {
        Err(ResolveError::DeclaredVersion {
            range: range.to_string(),
            declared: declared.map(str::to_owned),
        })
    }
}

/// Checks a version that a caller asked for, as in `load_skill pdf@^2`. A version that is not
/// semantic is compared for equality.
pub fn check_wanted(name: &str, wanted: &str, found: Option<&str>) -> Result<(), ResolveError> {
    let is_equal = found.is_some_and(|found| found == wanted);
    let is_fitting = || {
        let range = parse_range(wanted)?;
        let version = parse_version(found?)?;
        Some(fits(&range, &version))
    };
    if is_equal || is_fitting() == Some(true) {
        Ok(())
    } else {
        Err(ResolveError::OtherVersionInstalled {
            name: name.to_owned(),
            range: wanted.to_owned(),
            found: found.map(str::to_owned),
        })
    }
}

/// Refuses a locked tag that has another commit now. For `update` and `sync`.
pub fn check_tag(
    locked: &LockedPackage,
    refs: &RemoteRefs,
    accepted: AcceptedChanges,
) -> Result<Option<ResolveNote>, ResolveError> {
    let (Some(name), Some(old)) = (&locked.git_ref, &locked.commit) else {
        return Ok(None);
    };
    let Some(tag) = name.strip_prefix(TAGS) else {
        return Ok(None);
    };
    match find(refs, TAGS, tag) {
        None => Ok(Some(ResolveNote::TagGone {
            tag: tag.to_owned(),
        })),
        Some(found) if found.commit() == old || accepted.moved_tag => Ok(None),
        Some(found) => Err(ResolveError::MovedTag {
            tag: tag.to_owned(),
            locked: old.clone(),
            now: found.commit().to_owned(),
        }),
    }
}

/// Refuses a lower version, and a branch whose history was rewritten. `version` is the new version,
/// and `ancestry` the relation of the locked commit to the new one: `None` if they need none, because the
/// manifest asks for something else than before.
pub fn check_update(
    locked: &LockedPackage,
    chosen: &ChosenRef,
    version: Option<&str>,
    ancestry: Option<Ancestry>,
    accepted: AcceptedChanges,
) -> Result<Option<ResolveNote>, ResolveError> {
    let old = locked.version.as_deref();
    let versions = old
        .and_then(parse_version)
        .zip(version.and_then(parse_version));
    if let Some((old, new)) = versions
        && new < old
        && !accepted.downgrade
    {
        return Err(ResolveError::Downgrade {
            locked: old.to_string(),
            found: new.to_string(),
        });
    }
    let (Some(ancestry), Some(old)) = (ancestry, &locked.commit) else {
        return Ok(None);
    };
    let branch = chosen.name.as_deref().unwrap_or("HEAD");
    let branch = branch.strip_prefix(BRANCHES).unwrap_or(branch);
    if *old == chosen.commit {
        return Ok(None);
    }
    match ancestry {
        Ancestry::Rewritten if !accepted.rewritten => Err(ResolveError::Rewritten {
            branch: branch.to_owned(),
            locked: old.clone(),
        }),
        Ancestry::Unknown => Ok(Some(ResolveNote::UnknownHistory {
            branch: branch.to_owned(),
        })),
        Ancestry::Ancestor | Ancestry::Rewritten => Ok(None),
    }
}

/// Refuses an index or a registry that is older than one that was seen.
pub fn check_sequence(seen: Option<u64>, found: Option<u64>) -> Result<(), ResolveError> {
    match (seen, found) {
        (Some(seen), found) if found.unwrap_or(0) < seen => Err(ResolveError::Stale {
            seen,
            found: found.unwrap_or(0),
        }),
        _ => Ok(()),
    }
}

/// The first difference between an entry of the manifest and the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDifference {
    /// Another source.
    Source,
    /// Another folder, name or address in the source.
    Path,
    /// Another version or ref.
    Wanted,
    /// The locked version does not fit the range.
    Version,
    /// Another digest of an archive.
    Digest,
}

impl EntryDifference {
    /// Returns the description.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "the source",
            Self::Path => "the path",
            Self::Wanted => "the wanted version",
            Self::Version => "the version",
            Self::Digest => "the digest",
        }
    }
}

/// Compares an entry of the manifest with the locked package. Returns `None` if the lock satisfies
/// the manifest.
pub fn difference(entry: &PackageEntry, locked: &LockedPackage) -> Option<EntryDifference> {
    let is_same_source = match (&entry.source, entry.source.locked()) {
        (_, Some(source)) => source.is_same_place(&locked.source),
        (PackageSource::Site { url, .. }, None) => {
            let git = LockedSource::Git(url.clone());
            git.is_same_place(&locked.source) || locked.source == LockedSource::Index(url.clone())
        }
        (_, None) => false,
    };
    if !is_same_source {
        return Some(EntryDifference::Source);
    }
    let path = entry.source.locked_path();
    if path.is_some() && path != locked.path.as_deref() {
        return Some(EntryDifference::Path);
    }
    if let PackageSource::Archive { digest, .. } = &entry.source
        && digest.is_some()
        && *digest != locked.archive
    {
        return Some(EntryDifference::Digest);
    }
    let wanted = entry.source.wanted()?;
    let is_wanted = match wanted {
        WantedRef::Default | WantedRef::Any(_) | WantedRef::RefAndPath(_) => {
            wanted.lock_text() == locked.wanted
        }
        WantedRef::Version(range) => {
            locked.wanted.as_deref().and_then(parse_range).as_ref() == Some(range)
        }
        WantedRef::Tag(name) => locked.git_ref == Some(format!("{TAGS}{name}")),
        WantedRef::Branch(name) => locked.git_ref == Some(format!("{BRANCHES}{name}")),
        WantedRef::Commit(id) => locked.commit.as_ref() == Some(id),
    };
    if !is_wanted {
        return Some(EntryDifference::Wanted);
    }
    if let WantedRef::Version(range) = wanted {
        let version = locked.version.as_deref().and_then(parse_version);
        if !version.is_some_and(|version| fits(range, &version)) {
            return Some(EntryDifference::Version);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;
    use crate::source::{DEFAULT_SHORTHAND, SourceOrigin};

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    /// Builds refs from `name digit`; the default branch is `main`.
    fn refs(list: &[(&str, char)]) -> RemoteRefs {
        let mut refs: Vec<RemoteRef> = list
            .iter()
            .map(|(name, digit)| RemoteRef {
                name: format!("refs/{name}"),
                object: id(*digit),
                peeled: None,
            })
            .collect();
        refs.sort_by(|one, two| one.name.cmp(&two.name));
        RemoteRefs {
            refs,
            default_branch: Some("refs/heads/main".to_owned()),
            head: Some(id('0')),
        }
    }

    fn choose_for(
        text: &str,
        package: &str,
        refs: &RemoteRefs,
        is_typed: bool,
    ) -> Result<String, ResolveError> {
        let source = PackageSource::parse(text, DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap();
        let PackageSource::Git(git) = source else {
            panic!("{text}")
        };
        let line = |chosen: &ChosenRef| {
            let name = chosen
                .name
                .as_deref()
                .unwrap_or("-")
                .trim_start_matches("refs/");
            let version = chosen.version.as_ref().map(|version| format!(" {version}"));
            let path = chosen.path.as_ref().map(|path| format!(" /{path}"));
            format!(
                "{name} {}{}{}",
                &chosen.commit[..1],
                version.unwrap_or_default(),
                path.unwrap_or_default()
            )
        };
        Ok(match choose_ref(&git, package, refs, is_typed)? {
            RefChoice::Take(chosen) => line(&chosen),
            RefChoice::Versions(list) => {
                let lines: Vec<String> = list.iter().map(line).collect();
                lines.join(", ")
            }
            RefChoice::HoldAgainstSkill(chosen) => format!("hold {}", line(&chosen)),
        })
    }

    fn choose(text: &str, refs: &RemoteRefs) -> Result<String, ResolveError> {
        choose_for(text, "pdf", refs, true)
    }

    #[test]
    fn range_takes_the_highest_version_and_not_the_newest_tag() {
        let refs = refs(&[
            ("heads/main", '0'),
            ("tags/v1.4.2", '1'),
            ("tags/v1.10.0", '2'),
            ("tags/v1.9.0", '3'),
            ("tags/v2.0.0", '4'),
            ("tags/v1.11.0-rc.1", '5'),
            ("tags/nightly", '6'),
        ]);
        let first = |text: &str| {
            choose(text, &refs).map(|line| line.split(", ").next().unwrap().to_owned())
        };
        assert_eq!(first("o/r@^1.4").as_deref(), Ok("tags/v1.10.0 2 1.10.0"));
        assert_eq!(first("o/r@1.4").as_deref(), Ok("tags/v1.4.2 1 1.4.2"));
        assert_eq!(first("o/r@v1").as_deref(), Ok("tags/v1.10.0 2 1.10.0"));
        assert_eq!(first("o/r@*").as_deref(), Ok("tags/v2.0.0 4 2.0.0"));
        // Pre-releases only if the range names one.
        assert_eq!(
            first("o/r@^1.11.0-rc.0").as_deref(),
            Ok("tags/v1.11.0-rc.1 5 1.11.0-rc.1")
        );
        let error = first("o/r@^3").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no version fits `^3`; there is 2.0.0, 1.11.0-rc.1, 1.10.0, 1.9.0 and 1.4.2"
        );
    }

    #[test]
    fn tags_of_one_package_count_alone() {
        let refs = refs(&[
            ("heads/main", '0'),
            ("tags/v9.0.0", '1'),
            ("tags/pdf-v1.0.0", '2'),
            ("tags/pdf@1.1.0", '3'),
            ("tags/pdf/v1.2.0", '4'),
            ("tags/xlsx-v5.0.0", '5'),
        ]);
        assert_eq!(
            choose("o/r@*", &refs).as_deref(),
            Ok("tags/pdf/v1.2.0 4 1.2.0, tags/pdf@1.1.0 3 1.1.0, tags/pdf-v1.0.0 2 1.0.0")
        );
        assert_eq!(
            choose_for("o/r@*", "docx", &refs, true).as_deref(),
            Ok("tags/v9.0.0 1 9.0.0")
        );
        let mut git =
            match PackageSource::parse("o/r@^5", DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap() {
                PackageSource::Git(git) => git,
                other => panic!("{other:?}"),
            };
        git.tag_prefix = Some("xlsx-".to_owned());
        let chosen = choose_ref(&git, "pdf", &refs, true).unwrap();
        assert!(matches!(chosen, RefChoice::Versions(list) if list[0].commit == id('5')));
    }

    #[test]
    fn two_tags_of_one_version_must_agree() {
        let same = refs(&[
            ("heads/main", '0'),
            ("tags/v1.0.0", '1'),
            ("tags/1.0.0", '1'),
        ]);
        assert!(choose("o/r@^1", &same).is_ok());
        let other = refs(&[
            ("heads/main", '0'),
            ("tags/v1.0.0", '1'),
            ("tags/1.0.0", '2'),
        ]);
        assert!(matches!(
            choose("o/r@^1", &other),
            Err(ResolveError::TwoTags { .. })
        ));
    }

    #[test]
    fn tag_and_branch_of_one_name_are_an_error_with_both_flags() {
        let refs = refs(&[
            ("heads/main", '0'),
            ("heads/next", '1'),
            ("tags/next", '2'),
            ("tags/only", '3'),
        ]);
        let error = choose("o/r@next", &refs).unwrap_err();
        assert!(matches!(error, ResolveError::TagAndBranch { .. }));
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("--tag next") && hint.contains("--branch next"),
            "{hint}"
        );
        assert_eq!(choose("o/r@only", &refs).as_deref(), Ok("tags/only 3"));
        assert_eq!(choose("o/r@main", &refs).as_deref(), Ok("heads/main 0"));
        assert_eq!(choose("o/r", &refs).as_deref(), Ok("heads/main 0"));
        // The same through a page.
        let page = choose("https://github.com/o/r/tree/next/skills", &refs);
        assert!(matches!(page, Err(ResolveError::TagAndBranch { .. })));
        let named = |wanted| {
            let git = GitSource {
                url: "https://github.com/o/r".to_owned(),
                path: None,
                wanted,
                tag_prefix: None,
            };
            match choose_ref(&git, "pdf", &refs, false) {
                Ok(RefChoice::Take(chosen)) => chosen.commit,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(named(WantedRef::Tag("next".to_owned())), id('2'));
        assert_eq!(named(WantedRef::Branch("next".to_owned())), id('1'));
    }

    #[test]
    fn ref_named_like_a_commit_is_not_followed() {
        let name = id('a');
        let branch = format!("heads/{name}");
        let list = refs(&[
            ("heads/main", '0'),
            (&branch, '6'),
            ("tags/deadbeef", '7'),
            ("tags/v1.0.0", 'b'),
        ]);
        // The commit with this id, whatever the branch has.
        assert_eq!(choose(&format!("o/r@{name}"), &list).as_deref(), Ok("- a"));
        let page = format!("https://github.com/o/r/tree/{name}/skills/x");
        assert_eq!(choose(&page, &list).as_deref(), Ok("- a /skills/x"));
        let error = choose("o/r@deadbeef", &list).unwrap_err();
        assert!(matches!(error, ResolveError::NamedLikeCommit { .. }));
        // The version of a tag with the commit.
        assert_eq!(
            choose(&format!("o/r@{}", id('b')), &list).as_deref(),
            Ok("- b 1.0.0")
        );
    }

    #[test]
    fn short_ids_must_be_typed_and_unique() {
        let list = refs(&[("heads/main", 'a'), ("heads/x", 'b'), ("heads/y", 'b')]);
        assert_eq!(choose("o/r@bbbbbbb", &list).as_deref(), Ok("- b"));
        assert!(matches!(
            choose("o/r@ccccccc", &list),
            Err(ResolveError::ShortIdUnknown { .. })
        ));
        let in_file = choose_for("o/r@bbbbbbb", "pdf", &list, false);
        assert!(matches!(in_file, Err(ResolveError::NoRef { .. })));
        let mut twins = list.clone();
        twins.refs[0].object = format!("bbbbbbb{}", "0".repeat(33));
        assert!(matches!(
            choose("o/r@bbbbbbb", &twins),
            Err(ResolveError::ShortIdAmbiguous { .. })
        ));
    }

    #[test]
    fn longest_ref_of_a_page_wins() {
        let list = refs(&[
            ("heads/main", '0'),
            ("heads/release", '1'),
            ("heads/release/1", '2'),
            ("tags/v1.0.0", '3'),
        ]);
        for (rest, expected) in [
            ("main", "heads/main 0"),
            ("main/skills/pdf", "heads/main 0 /skills/pdf"),
            ("release/1/skills", "heads/release/1 2 /skills"),
            ("release/2/skills", "heads/release 1 /2/skills"),
            ("v1.0.0/x", "tags/v1.0.0 3 1.0.0 /x"),
        ] {
            let text = format!("https://github.com/o/r/tree/{rest}");
            assert_eq!(choose(&text, &list).as_deref(), Ok(expected), "{rest}");
        }
        assert!(choose("https://github.com/o/r/tree/gone/x", &list).is_err());
    }

    #[test]
    fn name_of_a_skill_after_the_at_sign_gets_a_hint() {
        let list = refs(&[("heads/main", '0')]);
        let error = choose("o/r@web-design", &list).unwrap_err();
        assert_eq!(
            error.hint().as_deref(),
            Some("to choose a skill, name it after the source: `prowess add SOURCE web-design`")
        );
        let error = choose("o/r@mian", &list).unwrap_err();
        assert_eq!(error.hint().as_deref(), Some("did you mean `main`?"));
    }

    #[test]
    fn range_without_tags_is_held_against_the_skill() {
        let list = refs(&[("heads/main", '0'), ("tags/nightly", '1')]);
        assert_eq!(
            choose("o/r@^1.4", &list).as_deref(),
            Ok("hold heads/main 0")
        );
        let range = parse_range("^1.4").unwrap();
        assert!(hold_against(&range, Some("1.5")).is_ok());
        for declared in [Some("2.0.0"), Some("1.3.9"), Some("latest"), None] {
            let error = hold_against(&range, declared).unwrap_err();
            assert!(matches!(error, ResolveError::DeclaredVersion { .. }));
        }
        let empty = RemoteRefs::default();
        assert_eq!(choose("o/r@^1", &empty), Err(ResolveError::NoDefault));
        assert_eq!(choose("o/r", &empty), Err(ResolveError::NoDefault));
    }

    #[test]
    fn version_of_the_tag_counts_more_than_that_of_the_skill() {
        let tag = Version::new(1, 4, 2);
        assert_eq!(
            version_of(Some(&tag), Some("1.4.2"), None),
            (Some("1.4.2".to_owned()), None)
        );
        let (version, note) = version_of(Some(&tag), Some("1.4.1"), None);
        assert_eq!(version.as_deref(), Some("1.4.2"));
        assert!(matches!(note, Some(ResolveNote::OtherVersion { .. })));
        assert_eq!(
            version_of(None, Some(" rolling "), Some("3")).0.as_deref(),
            Some("rolling")
        );
        assert_eq!(version_of(None, None, Some("3")).0.as_deref(), Some("3"));
        assert_eq!(version_of(None, None, None), (None, None));
    }

    #[test]
    fn asked_version_is_compared_with_the_one_that_is_there() {
        assert!(check_wanted("pdf", "^2", Some("2.1.0")).is_ok());
        assert!(check_wanted("pdf", "rolling", Some("rolling")).is_ok());
        let error = check_wanted("pdf", "^2", Some("1.4.2")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`pdf` has version 1.4.2, and `^2` is wanted"
        );
        assert!(check_wanted("pdf", "^2", None).is_err());
        assert!(check_wanted("pdf", "rolling", Some("1.0.0")).is_err());
    }

    fn locked(text: &str) -> LockedPackage {
        LockedPackage {
            name: "pdf".to_owned(),
            version: Some("1.4.2".to_owned()),
            wanted: None,
            source: LockedSource::Git("https://github.com/o/r".to_owned()),
            path: Some("skills/pdf".to_owned()),
            git_ref: Some(text.to_owned()),
            commit: Some(id('1')),
            tree: None,
            digest: None,
            archive: None,
            license: None,
            signer: None,
            files: Vec::new(),
            extra: toml::Table::new(),
        }
    }

    #[test]
    fn moved_tag_is_refused_with_both_commits() {
        let old = locked("refs/tags/v1.4.2");
        let now = refs(&[("heads/main", '0'), ("tags/v1.4.2", '2')]);
        let error = check_tag(&old, &now, AcceptedChanges::default()).unwrap_err();
        assert_eq!(error.exit(), PackageExit::Refused);
        let text = error.to_string();
        assert!(
            text.contains("111111111111") && text.contains("222222222222"),
            "{text}"
        );
        let accepted = AcceptedChanges {
            moved_tag: true,
            ..AcceptedChanges::default()
        };
        assert_eq!(check_tag(&old, &now, accepted), Ok(None));
        let same = refs(&[("tags/v1.4.2", '1')]);
        assert_eq!(check_tag(&old, &same, AcceptedChanges::default()), Ok(None));
        let gone = check_tag(&old, &refs(&[]), AcceptedChanges::default());
        assert!(matches!(gone, Ok(Some(ResolveNote::TagGone { .. }))));
        // An annotated tag is compared by its commit.
        let mut annotated = same.clone();
        annotated.refs[0].object = id('9');
        annotated.refs[0].peeled = Some(id('1'));
        assert_eq!(
            check_tag(&old, &annotated, AcceptedChanges::default()),
            Ok(None)
        );
        assert_eq!(
            check_tag(&locked("refs/heads/main"), &now, AcceptedChanges::default()),
            Ok(None)
        );
    }

    #[test]
    fn lower_version_and_rewritten_history_are_refused() {
        let chosen = |name: &str, digit: char| ChosenRef {
            name: Some(name.to_owned()),
            seen_at: None,
            commit: id(digit),
            version: None,
            path: None,
        };
        let none = AcceptedChanges::default();
        let all = AcceptedChanges {
            moved_tag: true,
            downgrade: true,
            rewritten: true,
        };
        let old = locked("refs/tags/v1.4.2");
        let lower = chosen("refs/tags/v1.3.0", '2');
        let error = check_update(&old, &lower, Some("1.3.0"), None, none).unwrap_err();
        assert!(matches!(error, ResolveError::Downgrade { .. }));
        assert_eq!(error.exit(), PackageExit::Refused);
        assert_eq!(
            check_update(&old, &lower, Some("1.3.0"), None, all),
            Ok(None)
        );
        assert_eq!(
            check_update(&old, &lower, Some("1.4.3"), None, none),
            Ok(None)
        );
        assert_eq!(
            check_update(&old, &lower, Some("older"), None, none),
            Ok(None)
        );
        let old = locked("refs/heads/main");
        let next = chosen("refs/heads/main", '2');
        let with =
            |ancestry, accepted| check_update(&old, &next, Some("1.4.2"), ancestry, accepted);
        assert_eq!(with(Some(Ancestry::Ancestor), none), Ok(None));
        assert!(matches!(
            with(Some(Ancestry::Rewritten), none),
            Err(ResolveError::Rewritten { .. })
        ));
        assert_eq!(with(Some(Ancestry::Rewritten), all), Ok(None));
        assert!(matches!(
            with(Some(Ancestry::Unknown), none),
            Ok(Some(ResolveNote::UnknownHistory { .. }))
        ));
        // Another name of the default branch does not change what it must contain.
        let other = chosen("refs/heads/next", '2');
        assert!(matches!(
            check_update(&old, &other, None, Some(Ancestry::Rewritten), none),
            Err(ResolveError::Rewritten { .. })
        ));
        // Another branch that the manifest asks for, or the same commit, is not a rewritten one.
        assert_eq!(check_update(&old, &other, None, None, none), Ok(None));
        let same = chosen("refs/heads/main", '1');
        assert_eq!(
            check_update(&old, &same, None, Some(Ancestry::Rewritten), none),
            Ok(None)
        );
    }

    #[test]
    fn older_index_is_refused() {
        assert!(check_sequence(None, None).is_ok());
        assert!(check_sequence(Some(3), Some(3)).is_ok());
        for found in [Some(2), None] {
            let error = check_sequence(Some(3), found).unwrap_err();
            assert_eq!(error.exit(), PackageExit::Refused);
        }
    }

    #[test]
    fn young_versions_are_skipped() {
        let list = refs(&[
            ("heads/main", '0'),
            ("tags/v1.0.0", '1'),
            ("tags/v1.1.0", '2'),
            ("tags/v1.2.0", '3'),
        ]);
        let git =
            match PackageSource::parse("o/r@^1", DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap() {
                PackageSource::Git(git) => git,
                other => panic!("{other:?}"),
            };
        let RefChoice::Versions(candidates) = choose_ref(&git, "pdf", &list, false).unwrap() else {
            panic!("versions");
        };
        let day = 86_400;
        let now = 100 * day;
        let dates = |chosen: &ChosenRef| -> Result<Option<i64>, ()> {
            Ok(match &chosen.commit[..1] {
                "3" => Some(now + day),
                "2" => Some(now - day),
                _ => Some(now - 10 * day),
            })
        };
        let pick = |days: u64| {
            old_enough(&candidates, now, Some(days * 86_400), dates)
                .unwrap()
                .map(|chosen| chosen.commit[..1].to_owned())
        };
        assert_eq!(pick(0).as_deref(), Ok("3"));
        assert_eq!(pick(1).as_deref(), Ok("2"));
        assert_eq!(pick(3).as_deref(), Ok("1"));
        let error = pick(30).unwrap_err();
        assert_eq!(
            error.to_string(),
            "version 1.2.0 is 0 seconds old, and `minimum-age` is 30 days"
        );
        assert_eq!(error.exit(), PackageExit::Refused);
        let unknown = old_enough(&candidates, now, Some(1), |_| Ok::<_, ()>(None)).unwrap();
        assert!(unknown.is_err());
    }

    #[test]
    fn lock_is_held_against_the_manifest() {
        let check = |entry: &str, change: &dyn Fn(&mut LockedPackage)| {
            let text = format!("[packages]\npdf = {entry}\n");
            let (manifest, report) = manifest::read("x", &text, SourceOrigin::Person);
            assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
            let mut package = locked("refs/tags/v1.4.2");
            package.wanted = Some("^1.4".to_owned());
            change(&mut package);
            difference(&manifest.packages[0], &package)
        };
        let same = |_: &mut LockedPackage| {};
        assert_eq!(check("'o/r@^1.4'", &same), None);
        assert_eq!(check("'https://github.com/o/r.git@^1.4'", &same), None);
        assert_eq!(check("'o/r/skills/pdf@^1.4'", &same), None);
        assert_eq!(
            check("'o/other@^1.4'", &same),
            Some(EntryDifference::Source)
        );
        assert_eq!(
            check("'o/r/skills/x@^1.4'", &same),
            Some(EntryDifference::Path)
        );
        assert_eq!(check("'o/r@^1.5'", &same), Some(EntryDifference::Wanted));
        assert_eq!(check("'o/r'", &same), Some(EntryDifference::Wanted));
        let lower = |package: &mut LockedPackage| package.version = Some("1.3.0".to_owned());
        assert_eq!(check("'o/r@^1.4'", &lower), Some(EntryDifference::Version));
        assert_eq!(check("{ git = 'o/r', tag = 'v1.4.2' }", &same), None);
        assert_eq!(
            check("{ git = 'o/r', tag = 'v1.4.3' }", &same),
            Some(EntryDifference::Wanted)
        );
        assert_eq!(
            check("{ git = 'o/r', branch = 'v1.4.2' }", &same),
            Some(EntryDifference::Wanted)
        );
        assert_eq!(
            check(&format!("{{ git = 'o/r', rev = '{}' }}", id('1')), &same),
            None
        );
        assert_eq!(
            check(&format!("{{ git = 'o/r', rev = '{}' }}", id('2')), &same),
            Some(EntryDifference::Wanted)
        );
        let live = |package: &mut LockedPackage| {
            package.source = LockedSource::Path;
            package.path = Some("../x".to_owned());
        };
        assert_eq!(check("{ path = '../x' }", &live), None);
        assert_eq!(
            check("{ path = '../y' }", &live),
            Some(EntryDifference::Path)
        );
        let site = |package: &mut LockedPackage| {
            package.source = LockedSource::Index("https://h.example".to_owned());
        };
        assert_eq!(
            check("'https://h.example'", &|package| {
                site(package);
                package.wanted = None;
            }),
            None
        );
    }
}
