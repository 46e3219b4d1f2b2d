//! The files of a source that was fetched: a commit or an archive.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::find::{
    FindError, FindOptions, FoundPackage, FoundPackages, SourceEntry, SourceEntryKind, find,
};
use crate::git::{GitEntryKind, GitError, GitRepository, ObjectSession};
use crate::lock::LockedKind;
use crate::tree::{MAX_TARGET, PackageTree, TreeBuilder, TreeError, TreeLimits};

/// Maximum number of links whose targets are read.
const MAX_LINKS: usize = 100_000;
/// Maximum size of a file that is read to find skills, in bytes.
const MAX_READ: u64 = 4 * 1024 * 1024;

/// Error from reading the files of a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files of the skill cannot be a package.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Reading the staging folder failed.
    #[error("cannot read the staging folder")]
    Staging(#[from] io::Error),
}

/// Receives the position, the size (`None` if the file is not there) and the content of a file.
pub type EachContent<'a> = dyn FnMut(usize, Option<u64>, &mut dyn Read) -> io::Result<()> + 'a;

/// Reads the content of files by their ids.
pub trait ContentReader {
    /// Reads the content of files in the order of the list.
    fn read_each(&self, ids: &[&str], each: &mut EachContent<'_>) -> Result<(), ContentError>;
}

impl ContentReader for GitRepository {
    fn read_each(&self, ids: &[&str], each: &mut EachContent<'_>) -> Result<(), ContentError> {
        self.read_objects(ids, &mut |position, header, content| {
            let header = header.filter(|header| header.kind == "blob");
            each(position, header.map(|header| header.size), content)
        })?;
        Ok(())
    }
}

/// The files of a commit. One process of git reads all of them.
#[derive(Debug)]
pub struct CommitFiles<'a> {
    repository: &'a GitRepository,
    session: RefCell<Option<ObjectSession>>,
    entries: Vec<SourceEntry>,
    folders: BTreeMap<String, String>,
}

impl<'a> CommitFiles<'a> {
    /// Lists a commit that the cache has, and reads the targets of its links.
    pub fn read(repository: &'a GitRepository, commit: &str) -> Result<Self, GitError> {
        let (root, _) = repository.commit_facts(commit)?;
        let listed = repository.listing(commit)?;
        let is_short = |size: u64| size <= MAX_TARGET as u64;
        let links: Vec<&str> = listed
            .iter()
            .filter(|entry| entry.kind == GitEntryKind::Link && is_short(entry.size))
            .take(MAX_LINKS)
            .map(|entry| &*entry.object)
            .collect();
        let mut targets = BTreeMap::new();
        if !links.is_empty() {
            repository.read_objects(&links, &mut |position, _, content| {
                let mut target = Vec::new();
                content.take(MAX_TARGET as u64).read_to_end(&mut target)?;
                // Not UTF-8: a target that leads to nothing.
                let target = String::from_utf8(target).unwrap_or_else(|_| "\0".to_owned());
                targets.insert(links[position].to_owned(), target);
                Ok(())
            })?;
        }
        let mut entries = Vec::new();
        let mut folders = BTreeMap::from([(String::new(), root)]);
        for entry in listed {
            let path = if entry.is_utf8 {
                entry.path
            } else {
                // A character that no package may have in a path, so that the skill is refused.
                entry.path.replace('\u{fffd}', "\0")
            };
            let kind = match entry.kind {
                GitEntryKind::Folder => {
                    folders.insert(path, entry.object);
                    continue;
                }
                GitEntryKind::File => SourceEntryKind::File,
                GitEntryKind::Executable => SourceEntryKind::Executable,
                GitEntryKind::Submodule => SourceEntryKind::Submodule,
                GitEntryKind::Link => {
                    let target = targets.get(&entry.object).cloned();
                    SourceEntryKind::Link(target.unwrap_or_else(|| "\0".to_owned()))
                }
            };
            entries.push(SourceEntry {
                path,
                kind,
                id: entry.object,
                size: entry.size,
            });
        }
        Ok(Self {
            repository,
            session: RefCell::default(),
            entries,
            folders,
        })
    }

    /// Returns the repository.
    pub fn repository(&self) -> &'a GitRepository {
        self.repository
    }

    /// Returns the files, links and submodules.
    pub fn entries(&self) -> &[SourceEntry] {
        &self.entries
    }

    /// Returns git's id of a folder. The root is the empty path.
    pub fn folder_id(&self, path: &str) -> Option<&str> {
        self.folders.get(path).map(String::as_str)
    }

    /// Uses the process that reads objects, which is started at first and after an error.
    fn with_session<T>(
        &self,
        read: impl FnOnce(&mut ObjectSession) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let mut slot = self.session.borrow_mut();
        let mut session = match slot.take() {
            Some(session) => session,
            None => self.repository.object_session()?,
        };
        let result = read(&mut session)?;
        *slot = Some(session);
        Ok(result)
    }

    /// Finds the skills of the commit.
    pub fn find(
        &self,
        options: FindOptions<'_>,
    ) -> Result<Result<FoundPackages, FindError>, GitError> {
        let mut fault = None;
        let found = find(self.entries.clone(), options, &mut |entry| {
            if fault.is_some() || entry.size > MAX_READ {
                return None;
            }
            let read = self.with_session(|session| session.read(&entry.id, MAX_READ));
            read.unwrap_or_else(|error| {
                fault = Some(error);
                None
            })
        });
        match fault {
            Some(fault) => Err(fault),
            None => Ok(found),
        }
    }
}

impl ContentReader for CommitFiles<'_> {
    fn read_each(&self, ids: &[&str], each: &mut EachContent<'_>) -> Result<(), ContentError> {
        self.with_session(|session| {
            session.read_each(ids, &mut |position, header, content| {
                let header = header.filter(|header| header.kind == "blob");
                each(position, header.map(|header| header.size), content)
            })
        })?;
        Ok(())
    }
}

/// Writes the files of a skill that was found to a new staging folder.
pub fn stage_found(
    found: &FoundPackage,
    source: &dyn ContentReader,
    into: PathBuf,
    limits: TreeLimits,
) -> Result<PackageTree, ContentError> {
    if found.bytes() > limits.bytes {
        // Before anything is written.
        return Err(TreeError::TooLarge {
            limit: limits.bytes,
        }
        .into());
    }
    let mut builder = TreeBuilder::create(into, limits)?;
    let (links, files): (Vec<_>, Vec<_>) = found
        .files
        .iter()
        .partition(|file| file.kind == LockedKind::Link);
    for link in links {
        builder.add_link(
            &link.path,
            link.target.as_deref().unwrap_or_default().as_bytes(),
        )?;
    }
    let ids: Vec<&str> = files.iter().map(|file| &*file.id).collect();
    let mut fault = None;
    let read = source.read_each(&ids, &mut |position, size, content| {
        let file = files[position];
        let added = match size {
            Some(size) => builder.add_file(&file.path, file.kind, size, file.from.clone(), content),
            None => Err(TreeError::Read {
                path: file.path.clone(),
                source: io::ErrorKind::NotFound.into(),
            }),
        };
        added.map_err(|error| {
            fault = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    read?;
    Ok(builder.finish()?)
}
