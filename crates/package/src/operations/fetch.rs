//! Fetches packages into staging.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use prowess_traits::{FetchLimits, Fetched, Fetcher, OfferedSkills};
use url::Url;

use crate::archive::{ArchiveLimits, UnpackedArchive, unpack};
use crate::content::{CommitFiles, ContentReader, stage_found};
use crate::error::PackageError;
use crate::find::{FindOptions, FoundPackage, FoundPackages};
use crate::git::{Ancestry, GitError, GitProgram, GitRepository, RemoteRefs};
use crate::index::{self, IndexArtifact, IndexReader, IndexedContent, SkillIndex};
use crate::lock::{LockedFile, LockedKind, LockedPackage};
use crate::manifest::InstallSettings;
use crate::paths::lexical;
use crate::project::{ScopeKind, is_inside};
use crate::resolve::{
    AcceptedChanges, ChosenRef, RefChoice, ResolveNote, check_tag, choose_ref, hold_against,
    old_enough, version_of,
};
use crate::seen::SeenSources;
use crate::signature::{MAX_MINISIGN, MINISIGN_ENDING};
use crate::source::{
    ArchiveLocation, GitSource, LockedSource, PackageSource, SourceError, WantedRef,
    check_locked_allowed,
};
use crate::store::StagingFolder;
use crate::tree::{PackageTree, TreeError, TreeLimits, check_tree_path, digest_of_bytes};

use super::hosts::HostFetcher;
use super::plan::PlanNote;
use super::signed::SignedBy;
use super::{OperationError, PackageContext, PackageProgress};

/// Maximum size of an archive in bytes.
const MAX_ARCHIVE: usize = 64 * 1024 * 1024;
/// The timeout of an archive in milliseconds.
const ARCHIVE_DEADLINE: u64 = 600_000;
/// The timeout of a question to a site in milliseconds.
const SITE_DEADLINE: u64 = 30_000;
/// Maximum size of a SKILL.md that is read for its version and licence.
const MAX_TEXT: u64 = 1024 * 1024;

/// The start of the address of a repository or an archive on this machine.
const FILE_URL: &str = "file://";

/// Fetches from the sources of one operation. Sources are asked once.
pub(super) struct SourceFetcher<'a> {
    pub(super) context: &'a PackageContext,
    pub(super) settings: InstallSettings,
    staging: OnceCell<StagingFolder>,
    git: OnceCell<GitProgram>,
    repositories: RefCell<BTreeMap<String, Rc<GitRepository>>>,
    /// The skills of MCP servers.
    pub(super) offered: RefCell<BTreeMap<String, Rc<OfferedSkills>>>,
    refs: RefCell<BTreeMap<String, Rc<RemoteRefs>>>,
    number: Cell<u32>,
    web: HostFetcher,
    /// A source outside of the project that the person typed.
    typed_file: Option<String>,
}

/// A package that was fetched.
#[derive(Debug)]
pub(super) struct FetchedPackage {
    pub(super) locked: LockedPackage,
    pub(super) tree: Option<PackageTree>,
    pub(super) notes: Vec<PlanNote>,
}

/// An archive that was fetched and unpacked.
pub(super) struct FetchedArchive {
    pub(super) unpacked: UnpackedArchive,
    pub(super) digest: String,
    signed: Option<SignedBy>,
}

/// What the source says about a package, besides its files.
#[derive(Default)]
pub(super) struct PackageOrigin<'a> {
    pub(super) source: Option<LockedSource>,
    pub(super) wanted: Option<String>,
    pub(super) path: Option<String>,
    pub(super) chosen: Option<&'a ChosenRef>,
    pub(super) tree_id: Option<String>,
    pub(super) archive: Option<String>,
    /// A version that counts more than that of SKILL.md.
    pub(super) version: Option<&'a semver::Version>,
    pub(super) other_version: Option<&'a str>,
    pub(super) signed: Option<SignedBy>,
}

impl<'a> SourceFetcher<'a> {
    pub(super) fn new(context: &'a PackageContext, settings: InstallSettings) -> Self {
        Self {
            context,
            settings,
            staging: OnceCell::new(),
            git: OnceCell::new(),
            repositories: RefCell::default(),
            offered: RefCell::default(),
            refs: RefCell::default(),
            number: Cell::new(0),
            web: HostFetcher::new(context),
            typed_file: None,
        }
    }

    /// Returns the fetcher with the host of a source that was typed, which may be in a private network, or outside of the project.
    pub(super) fn typed(mut self, source: &PackageSource) -> Self {
        self.web.add(source);
        self.typed_file = self.outside(source);
        self
    }

    /// Returns the path of a local file or folder, as a manifest or a person writes it.
    pub(super) fn local_path(&self, path: &str) -> PathBuf {
        let home = self.context.environment.iter().find(|one| one.0 == "HOME");
        match (path.strip_prefix("~/"), home) {
            (Some(rest), Some((_, home))) => Path::new(home).join(rest),
            _ => lexical(&self.context.scope.root.join(path)),
        }
    }

    /// Returns the address of a repository or an archive on this machine that a project's file must
    /// not name, because it is outside of the project. Links count with where they lead.
    pub(super) fn outside(&self, source: &PackageSource) -> Option<String> {
        let url = match source {
            PackageSource::Git(git) => git.url.clone(),
            PackageSource::Archive {
                location: ArchiveLocation::File(path),
                ..
            } => self.file_url(path),
            _ => return None,
        };
        self.is_outside(&url).then_some(url)
    }

    fn file_url(&self, path: &str) -> String {
        format!("{FILE_URL}{}", self.local_path(path).display())
    }

    fn is_outside(&self, url: &str) -> bool {
        let scope = &self.context.scope;
        scope.kind == ScopeKind::Project
            && url
                .strip_prefix(FILE_URL)
                .is_some_and(|path| !is_inside(Path::new(path), &scope.root))
    }

    /// Refuses the address of a file outside of the project, unless the person typed it.
    fn check_local(&self, url: &str) -> Result<(), PackageError> {
        let is_named = || self.context.mirrors().urls().iter().any(|one| one == url);
        if !self.is_outside(url) || self.typed_file.as_deref() == Some(url) || is_named() {
            return Ok(());
        }
        let path = url.strip_prefix(FILE_URL).unwrap_or(url).to_owned();
        Err(SourceError::FileOutside { path }.into())
    }

    /// Returns the staging folder, which must live until the plan is applied.
    pub(super) fn into_staging(self) -> Option<StagingFolder> {
        self.staging.into_inner()
    }

    /// Returns a new path in the staging folder.
    pub(super) fn place(&self) -> Result<PathBuf, PackageError> {
        let staging = if let Some(staging) = self.staging.get() {
            staging
        } else {
            let made = self.context.store.stage()?;
            self.staging.get_or_init(|| made)
        };
        let number = self.number.get() + 1;
        self.number.set(number);
        Ok(staging.path().join(number.to_string()))
    }

    fn git(&self) -> Result<&GitProgram, PackageError> {
        if let Some(git) = self.git.get() {
            return Ok(git);
        }
        let environment = self.context.environment.iter().cloned();
        let found = GitProgram::find(environment, self.context.git_limits)?;
        Ok(self.git.get_or_init(|| found))
    }

    pub(super) fn online(&self, source: &str) -> Result<(), PackageError> {
        if self.context.offline {
            return Err(OperationError::Offline {
                source_text: source.to_owned(),
            }
            .into());
        }
        if !self.web.allows(source) {
            return Err(OperationError::PrivateHost {
                source_text: source.to_owned(),
            }
            .into());
        }
        Ok(())
    }

    pub(super) fn fetcher(&self, source: &str) -> Result<&dyn Fetcher, PackageError> {
        self.online(source)?;
        if !self.web.is_online() {
            return Err(OperationError::Offline {
                source_text: source.to_owned(),
            }
            .into());
        }
        Ok(&self.web)
    }

    /// Opens a repository in the cache. It is opened once, because it is locked.
    pub(super) fn repository(&self, url: &str) -> Result<Rc<GitRepository>, PackageError> {
        if let Some(open) = self.repositories.borrow().get(url) {
            return Ok(Rc::clone(open));
        }
        self.check_local(url)?;
        let open = Rc::new(self.git()?.open(&self.context.cache, url)?);
        let mut all = self.repositories.borrow_mut();
        all.insert(url.to_owned(), Rc::clone(&open));
        Ok(open)
    }

    /// Asks a repository for its refs, once.
    pub(super) fn refs(&self, url: &str) -> Result<Rc<RemoteRefs>, PackageError> {
        if let Some(refs) = self.refs.borrow().get(url) {
            return Ok(Rc::clone(refs));
        }
        self.online(url)?;
        self.context
            .report(&PackageProgress::Resolving { source: url });
        let refs = self.repository(url)?.refs();
        let refs = Rc::new(refs.map_err(|error| self.with_address(error))?);
        let mut all = self.refs.borrow_mut();
        all.insert(url.to_owned(), Rc::clone(&refs));
        Ok(refs)
    }

    /// Finds out where a repository moved, which git does not say.
    fn with_address(&self, error: GitError) -> PackageError {
        let GitError::Moved { url, to: None } = error else {
            return error.into();
        };
        let to = ask_for_refs(&self.web, &url).and_then(|fetched| {
            let to = fetched.elsewhere.unwrap_or(fetched.url);
            let to = to
                .split_once("/info/refs")
                .map(|(address, _)| address.to_owned());
            to.filter(|to| *to != url)
        });
        GitError::Moved { url, to }.into()
    }

    /// Chooses the commit of a git source.
    pub(super) fn choose(
        &self,
        source: &GitSource,
        package: &str,
        is_typed: bool,
    ) -> Result<(ChosenRef, bool), PackageError> {
        // A whole commit id needs no question to the server.
        if let WantedRef::Commit(id) = &source.wanted
            && self.settings.minimum_age.is_none()
            && self.repository(&source.url)?.has_commit(id)
        {
            let chosen = ChosenRef {
                name: None,
                seen_at: None,
                commit: id.clone(),
                version: None,
                path: None,
            };
            return Ok((chosen, false));
        }
        let refs = self.refs(&source.url)?;
        let (candidates, is_held) = match choose_ref(source, package, &refs, is_typed)? {
            RefChoice::Take(one) => (vec![one], false),
            RefChoice::Versions(all) => (all, false),
            RefChoice::HoldAgainstSkill(one) => (vec![one], true),
        };
        let minimum = self.settings.minimum_age;
        let since = self.since(source, &candidates);
        let chosen = old_enough(&candidates, self.context.now, minimum, |candidate| {
            let repository = self.fetch_commit(&source.url, candidate)?;
            let (_, commit) = repository.commit_facts(&candidate.commit)?;
            let tag = refs
                .refs
                .iter()
                .find(|one| Some(&one.name) == candidate.name.as_ref());
            let tag = tag
                .map(|tag| repository.tag_time(tag))
                .transpose()?
                .flatten();
            let stated = tag.map_or(commit, |tag| tag.max(commit));
            // The author states the date. It was not there when this machine looked last.
            let since = since.get(&candidate.commit).copied().flatten();
            Ok::<_, PackageError>(Some(since.map_or(stated, |since| since.max(stated))))
        })??;
        Ok((chosen.clone(), is_held))
    }

    /// Returns the times since which commits can be in a repository at the earliest, for `minimum-age`.
    fn since(&self, source: &GitSource, candidates: &[ChosenRef]) -> BTreeMap<String, Option<i64>> {
        if self.settings.minimum_age.is_none() {
            return BTreeMap::new();
        }
        let seen = SeenSources::new(&self.context.state);
        let commits: Vec<&str> = candidates.iter().map(|one| &*one.commit).collect();
        let wanted = source.wanted.lock_text().unwrap_or_default();
        let now = self.context.now;
        // What cannot be remembered only makes the check weaker.
        let times = seen.look(&source.url, &wanted, &commits, now);
        let commits = commits.into_iter().map(str::to_owned);
        commits.zip(times.unwrap_or_default()).collect()
    }

    fn fetch_commit(
        &self,
        url: &str,
        chosen: &ChosenRef,
    ) -> Result<Rc<GitRepository>, PackageError> {
        let repository = self.repository(url)?;
        if !repository.has_commit(&chosen.commit) {
            self.online(url)?;
            self.context
                .report(&PackageProgress::Fetching { source: url });
            let from = chosen.seen_at.as_deref().or(chosen.name.as_deref());
            let fetched = repository.fetch(&chosen.commit, from);
            fetched.map_err(|error| self.with_address(error))?;
        }
        Ok(repository)
    }

    /// Compares two commits of a branch.
    pub(super) fn ancestry(
        &self,
        url: &str,
        old: &str,
        new: &str,
        branch: &str,
    ) -> Result<Ancestry, PackageError> {
        self.online(url)?;
        Ok(self.repository(url)?.ancestry(old, new, branch)?)
    }

    /// Finds the skills of a commit, and passes them on with the files of the commit.
    pub(super) fn with_commit<T>(
        &self,
        url: &str,
        chosen: &ChosenRef,
        all_paths: bool,
        each: impl FnOnce(&CommitFiles<'_>, &FoundPackages) -> Result<T, PackageError>,
    ) -> Result<T, PackageError> {
        let repository = self.fetch_commit(url, chosen)?;
        let files = CommitFiles::read(&repository, &chosen.commit)?;
        let options = FindOptions {
            source_name: source_name(url),
            all_paths,
        };
        let found = files.find(options)??;
        each(&files, &found)
    }

    /// Stages a skill of a commit.
    pub(super) fn git_package(
        &self,
        name: &str,
        source: &GitSource,
        chosen: &ChosenRef,
        is_held: bool,
        found: &FoundPackage,
        files: &CommitFiles<'_>,
    ) -> Result<FetchedPackage, PackageError> {
        let signed = self.check_tag(&source.url, chosen.name.as_deref(), &chosen.commit)?;
        let tree = self.stage(name, found, files)?;
        let declared = Declared::of(&tree.folder);
        if is_held && let WantedRef::Version(range) = &source.wanted {
            hold_against(range, declared.version.as_deref())?;
        }
        let origin = PackageOrigin {
            source: Some(LockedSource::Git(source.url.clone())),
            wanted: source.wanted.lock_text(),
            path: Some(found.folder.clone()).filter(|folder| !folder.is_empty()),
            chosen: Some(chosen),
            tree_id: files.folder_id(&found.folder).map(str::to_owned),
            signed,
            ..PackageOrigin::default()
        };
        self.finish(name, origin, declared, tree)
    }

    pub(super) fn stage(
        &self,
        name: &str,
        found: &FoundPackage,
        source: &dyn ContentReader,
    ) -> Result<PackageTree, PackageError> {
        self.context.report(&PackageProgress::Staging { name });
        if !found.folder.is_empty() {
            check_tree_path(found.folder.as_bytes()).map_err(|fault| TreeError::Path {
                path: found.folder.clone(),
                fault,
            })?;
        }
        let place = self.place()?;
        Ok(stage_found(found, source, place, TreeLimits::default())?)
    }

    /// Reads an archive into staging, after checking its digest and its signature.
    pub(super) fn archive(
        &self,
        location: &ArchiveLocation,
        expected: Option<&str>,
    ) -> Result<FetchedArchive, PackageError> {
        let bytes = match location {
            ArchiveLocation::Url(url) => self.download(url)?,
            ArchiveLocation::File(path) => {
                self.check_local(&self.file_url(path))?;
                self.read_file(path, MAX_ARCHIVE)?
            }
        };
        let digest = digest_of_bytes(&bytes);
        if let Some(expected) = expected.filter(|expected| *expected != digest) {
            let shown = match location {
                ArchiveLocation::Url(path) | ArchiveLocation::File(path) => path,
            };
            return Err(OperationError::Digest {
                name: shown.clone(),
                locked: expected.to_owned(),
                found: digest,
            }
            .into());
        }
        let source = archive_source(location);
        let signed = self.check_archive(&source, None, &bytes, &|| match location {
            ArchiveLocation::Url(url) => {
                let fetcher = self.fetcher(url)?;
                let url = index::parse(url, url)?;
                Ok(index::get_signature(fetcher, &url, &[])?)
            }
            ArchiveLocation::File(path) => {
                let path = format!("{path}{MINISIGN_ENDING}");
                match self.read_file(&path, MAX_MINISIGN) {
                    Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
                    Err(PackageError::File { source, .. })
                        if source.kind() == std::io::ErrorKind::NotFound =>
                    {
                        Ok(None)
                    }
                    Err(error) => Err(error),
                }
            }
        })?;
        let unpacked = unpack(&bytes, &self.place()?, ArchiveLimits::default())?;
        Ok(FetchedArchive {
            unpacked,
            digest,
            signed,
        })
    }

    fn download(&self, url: &str) -> Result<Vec<u8>, PackageError> {
        use crate::index::IndexError;
        let fetcher = self.fetcher(url)?;
        self.context
            .report(&PackageProgress::Fetching { source: url });
        let limits = FetchLimits {
            bytes: MAX_ARCHIVE,
            deadline_ms: ARCHIVE_DEADLINE,
            private: true,
        };
        let url = url.to_owned();
        let fetched = fetcher
            .fetch(&url, &limits)
            .map_err(|error| IndexError::Fetch {
                url: url.clone(),
                reason: error.message,
            })?;
        match fetched {
            Fetched {
                elsewhere: Some(to),
                ..
            } => Err(IndexError::Moved { url, to }.into()),
            Fetched {
                status: 200,
                cut: false,
                body,
                ..
            } => Ok(body),
            Fetched { status: 200, .. } => Err(IndexError::TooLarge {
                url,
                limit: MAX_ARCHIVE,
            }
            .into()),
            Fetched { status, .. } => Err(IndexError::Status { url, status }.into()),
        }
    }

    fn read_file(&self, path: &str, most: usize) -> Result<Vec<u8>, PackageError> {
        let path = self.local_path(path);
        let failed = |source| PackageError::File {
            verb: "read",
            path: path.clone(),
            source,
        };
        let file = fs::File::open(&path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(std::io::ErrorKind::InvalidInput.into()));
        }
        let mut bytes = Vec::new();
        // One byte more, so that a file that is too large is refused as such.
        let most = most as u64 + 1;
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// Stages a skill of an archive.
    pub(super) fn archive_package(
        &self,
        name: &str,
        location: &ArchiveLocation,
        archive: &FetchedArchive,
        found: &FoundPackage,
    ) -> Result<FetchedPackage, PackageError> {
        let tree = self.stage(name, found, &archive.unpacked)?;
        let origin = PackageOrigin {
            source: Some(archive_source(location)),
            path: Some(found.folder.clone()).filter(|folder| !folder.is_empty()),
            archive: Some(archive.digest.clone()),
            signed: archive.signed.clone(),
            ..PackageOrigin::default()
        };
        let declared = Declared::of(&tree.folder);
        self.finish(name, origin, declared, tree)
    }

    /// Reads the index of a site.
    pub(super) fn index(&self, url: &str) -> Result<SkillIndex, PackageError> {
        let fetcher = self.fetcher(url)?;
        self.context
            .report(&PackageProgress::Resolving { source: url });
        let seen = SeenSources::new(&self.context.state);
        let reader = IndexReader {
            fetcher,
            other_origins: false,
        };
        Ok(reader.read(url, &|place| seen.sequence(place))?)
    }

    /// Fetches a skill of an index.
    pub(super) fn index_package(
        &self,
        name: &str,
        url: &str,
        index: &SkillIndex,
        skill: &str,
    ) -> Result<FetchedPackage, PackageError> {
        let entry = index.get(skill)?;
        let fetcher = self.fetcher(url)?;
        self.context
            .report(&PackageProgress::Fetching { source: url });
        let reader = IndexReader {
            fetcher,
            other_origins: false,
        };
        let place = self.place()?;
        fs::create_dir(&place).map_err(|source| PackageError::File {
            verb: "write",
            path: place.clone(),
            source,
        })?;
        let source = LockedSource::Index(url.to_owned());
        let signers = self.signers(&source, Some(skill));
        if matches!(entry.content, IndexedContent::Files { .. }) {
            signers.refuse_unsigned(url)?;
        }
        let signed = RefCell::new(None);
        let check = |url: &Url, content: &[u8]| {
            let found = signers.check_archive(url.as_str(), content, || {
                index::get_signature(fetcher, url, &[])
            })?;
            *signed.borrow_mut() = found;
            Ok(())
        };
        let (tree, archive) = match reader.fetch(index, entry, &place, &check)? {
            IndexArtifact::Tree(tree) => (tree, None),
            IndexArtifact::Archive(unpacked, digest) => {
                let options = FindOptions {
                    source_name: skill,
                    all_paths: true,
                };
                let found = unpacked.find(options)?;
                let found = found.select("").or_else(|_| found.select(skill))?;
                (self.stage(name, found, &unpacked)?, Some(digest))
            }
        };
        let seen = SeenSources::new(&self.context.state);
        let sequence = index.sequence.map(|number| (&*index.url, number));
        // What cannot be remembered only makes later checks weaker.
        let _ = seen.record(sequence, &[&tree.digest], self.context.now);
        let origin = PackageOrigin {
            source: Some(source),
            path: Some(skill.to_owned()),
            archive: archive.clone(),
            other_version: entry.version.as_deref(),
            signed: signed.into_inner(),
            ..PackageOrigin::default()
        };
        let declared = Declared::of(&tree.folder);
        let mut package = self.finish(name, origin, declared, tree)?;
        if index.format == index::SkillIndexFormat::Files {
            package.notes.push(PlanNote::FirstSight {
                name: name.to_owned(),
            });
        }
        Ok(package)
    }

    /// Finds out what a site is: a git repository, or a site with an index.
    pub(super) fn site(
        &self,
        url: &str,
        wanted: &WantedRef,
    ) -> Result<PackageSource, PackageError> {
        let fetcher = self.fetcher(url)?;
        self.context
            .report(&PackageProgress::Resolving { source: url });
        let is_git = ask_for_refs(fetcher, url).is_some_and(|answer| {
            let media = answer.media_type.as_deref().unwrap_or_default();
            answer.status == 200 && media.starts_with("application/x-git-upload-pack-advertisement")
        });
        if is_git {
            return Ok(PackageSource::Git(GitSource {
                url: url.to_owned(),
                path: None,
                wanted: wanted.clone(),
                tag_prefix: None,
            }));
        }
        Ok(PackageSource::Index {
            url: url.to_owned(),
            name: None,
        })
    }

    /// Creates the entry of a folder of the person's own.
    pub(super) fn path_package(
        &self,
        name: &str,
        path: &str,
    ) -> Result<FetchedPackage, PackageError> {
        let folder = self.local_path(path);
        let is_skill = ["SKILL.md", "skill.md"]
            .iter()
            .any(|file| folder.join(file).is_file());
        if !is_skill {
            return Err(OperationError::NotASkill { path: folder }.into());
        }
        let locked = LockedPackage {
            path: Some(path.to_owned()),
            ..empty(name, LockedSource::Path)
        };
        Ok(FetchedPackage {
            locked,
            tree: None,
            notes: Vec::new(),
        })
    }

    /// Fetches the bytes of a locked package again. They must be the locked ones.
    pub(super) fn refetch(&self, locked: &LockedPackage) -> Result<PackageTree, PackageError> {
        for patterns in &self.settings.sources {
            let path = locked.path.as_deref();
            let shorthand = self.settings.shorthand();
            check_locked_allowed(&locked.source, path, patterns, shorthand)?;
        }
        let path = locked.path.as_deref().unwrap_or_default();
        let (tree, signed) = match &locked.source {
            LockedSource::Git(url) => self.refetch_git(url, locked, path)?,
            LockedSource::Archive(text) => {
                let location = match text.strip_prefix("file:") {
                    Some(path) => ArchiveLocation::File(path.to_owned()),
                    None => ArchiveLocation::Url(text.clone()),
                };
                let archive = self.archive(&location, locked.archive.as_deref())?;
                let options = FindOptions {
                    source_name: &locked.name,
                    all_paths: true,
                };
                let found = archive.unpacked.find(options)?;
                let tree = self.stage(&locked.name, found.select(path)?, &archive.unpacked)?;
                (tree, archive.signed)
            }
            LockedSource::Index(url) => {
                let index = self.index(url)?;
                let package = self.index_package(&locked.name, url, &index, path)?;
                let tree = package.tree;
                (
                    tree.ok_or(OperationError::Unsupported { kind: "index" })?,
                    None,
                )
            }
            LockedSource::Path => return Err(OperationError::Unsupported { kind: "path" }.into()),
            LockedSource::Mcp(server) => (self.refetch_served(server, locked, path)?, None),
            LockedSource::Registry(registry) => self.refetch_registry(registry, locked, path)?,
        };
        let expected = locked.digest.as_deref().unwrap_or_default();
        if tree.digest != expected {
            return Err(OperationError::Digest {
                name: locked.name.clone(),
                locked: expected.to_owned(),
                found: tree.digest,
            }
            .into());
        }
        self.record_signed(&tree, signed.as_ref());
        Ok(tree)
    }

    fn refetch_git(
        &self,
        url: &str,
        locked: &LockedPackage,
        path: &str,
    ) -> Result<(PackageTree, Option<SignedBy>), PackageError> {
        let commit = locked.commit.clone().unwrap_or_default();
        let repository = self.repository(url)?;
        if !repository.has_commit(&commit) {
            let refs = self.refs(url)?;
            check_tag(locked, &refs, AcceptedChanges::default())?;
        }
        let chosen = ChosenRef {
            name: locked.git_ref.clone(),
            seen_at: locked.git_ref.clone(),
            commit,
            version: None,
            path: None,
        };
        let signed = self.check_tag(url, chosen.name.as_deref(), &chosen.commit)?;
        let tree = self.with_commit(url, &chosen, true, |files, found| {
            self.stage(&locked.name, found.select(path)?, files)
        })?;
        Ok((tree, signed))
    }
}

fn archive_source(location: &ArchiveLocation) -> LockedSource {
    LockedSource::Archive(match location {
        ArchiveLocation::Url(url) => url.clone(),
        ArchiveLocation::File(path) => format!("file:{path}"),
    })
}

/// Asks a site for the refs of a git repository.
fn ask_for_refs(fetcher: &dyn Fetcher, url: &str) -> Option<Fetched> {
    let limits = FetchLimits {
        bytes: 4096,
        deadline_ms: SITE_DEADLINE,
        private: true,
    };
    let address = format!(
        "{}/info/refs?service=git-upload-pack",
        url.trim_end_matches('/')
    );
    fetcher.fetch(&address, &limits).ok()
}

/// Returns the name of a source: the last part of its address.
pub(super) fn source_name(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    let last = url.rsplit(['/', ':']).next().unwrap_or(url);
    last.strip_suffix(".git").unwrap_or(last)
}

/// What SKILL.md declares.
#[derive(Default)]
pub(super) struct Declared {
    version: Option<String>,
    license: Option<String>,
}

impl Declared {
    pub(super) fn of(folder: &Path) -> Self {
        let read = |name: &str| {
            let file = fs::File::open(folder.join(name)).ok()?;
            let mut bytes = Vec::new();
            file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        let Some(bytes) = ["SKILL.md", "skill.md"].into_iter().find_map(read) else {
            return Self::default();
        };
        let parsed = prowess_spec::parse(&bytes);
        let text = |value: &Option<prowess_spec::manifest::SpannedText<'_>>| {
            let value = value.as_ref().filter(|text| !text.is_blank())?;
            Some(value.value.trim().to_owned())
        };
        Self {
            version: text(&parsed.manifest.version),
            license: text(&parsed.manifest.license),
        }
    }
}

fn empty(name: &str, source: LockedSource) -> LockedPackage {
    LockedPackage {
        name: name.to_owned(),
        version: None,
        wanted: None,
        source,
        path: None,
        git_ref: None,
        commit: None,
        tree: None,
        digest: None,
        archive: None,
        license: None,
        signer: None,
        files: Vec::new(),
        extra: toml::Table::default(),
    }
}

/// Creates the locked package of files that are in staging.
pub(super) fn fetched(
    name: &str,
    origin: PackageOrigin<'_>,
    declared: Declared,
    tree: PackageTree,
) -> FetchedPackage {
    let tag = origin.chosen.and_then(|chosen| chosen.version.as_ref());
    let tag = tag.or(origin.version);
    let (version, note) = version_of(tag, declared.version.as_deref(), origin.other_version);
    let mut notes = Vec::new();
    if let Some(ResolveNote::OtherVersion { tag, declared }) = note {
        notes.push(PlanNote::VersionDiffers {
            name: name.to_owned(),
            tag,
            declared,
        });
    }
    if tree.is_large() {
        notes.push(PlanNote::Large {
            name: name.to_owned(),
            files: tree.files.len(),
            bytes: tree.bytes,
        });
    }
    let locked = LockedPackage {
        version,
        wanted: origin.wanted,
        path: origin.path,
        git_ref: origin.chosen.and_then(|chosen| chosen.name.clone()),
        commit: origin.chosen.map(|chosen| chosen.commit.clone()),
        tree: origin.tree_id,
        digest: Some(tree.digest.clone()),
        archive: origin.archive,
        license: declared.license,
        signer: origin.signed.map(|signed| signed.name),
        files: tree.files.clone(),
        ..empty(name, origin.source.unwrap_or(LockedSource::Path))
    };
    FetchedPackage {
        locked,
        tree: Some(tree),
        notes,
    }
}

/// Returns `true` if two lists have the same files.
pub(super) fn same_files(one: &[LockedFile], two: &[LockedFile]) -> bool {
    let facts = |file: &LockedFile| -> (String, u64, String, LockedKind) {
        (file.path.clone(), file.size, file.digest.clone(), file.kind)
    };
    one.iter().map(facts).eq(two.iter().map(facts))
}
