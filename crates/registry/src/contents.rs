//! Reads a skill once: its text, its file list and its digest come from the same bytes.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use prowess_catalog::{Skill, SkillForm};
use prowess_spec::ReadFault;

use crate::digest::{self, FactKind, FileFacts};
use crate::registry::{ReadError, Registry};
use crate::resource::{ResourceError, SkillFolder};
use crate::source::SourceFaultKind;

/// Most files of a skill that [`Registry::read_if_small`] reads.
const SMALL_FILES: usize = 64;
/// Most bytes of a skill that [`Registry::read_if_small`] reads: less than a millisecond of work.
const SMALL_BYTES: u64 = 256 * 1024;

/// The contents of a skill as one read found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillContents {
    /// The text of its SKILL.md, or of the file that is the skill.
    pub text: Vec<u8>,
    /// Its files, sorted by path.
    pub files: Vec<FileFacts>,
    /// The digest over all its files.
    pub digest: String,
}

/// An error from reading the contents of a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// The files could not be listed or hashed.
    #[error("cannot hash `{}`", path.display())]
    Hash {
        /// The folder or file of the skill.
        path: PathBuf,
        /// The cause.
        source: digest::DigestError,
    },
    /// A file could not be found or read.
    #[error("cannot {verb} `{}`", path.display())]
    File {
        /// The operation that failed.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The source of the skill could not return its text.
    #[error(transparent)]
    Source(#[from] ReadError),
}

impl Registry {
    /// Reads the contents of a skill. Opens each file once.
    pub fn read(&self, skill: &Skill) -> Result<SkillContents, ContentsError> {
        let Some(path) = skill_path(skill) else {
            return self.read_from_source(skill);
        };
        let main = skill.main_file();
        let read = match self.open_folder(skill) {
            Some(Ok(folder)) => read_folder(&folder, main),
            Some(Err(ReadError::File(ResourceError::Missing { .. }))) => {
                return Err(ReadError::Text(SourceFaultKind::Read(ReadFault::Missing)).into());
            }
            Some(Err(ReadError::File(ResourceError::Read { source, .. })))
                if source.kind() == io::ErrorKind::NotFound =>
            {
                return Err(ReadError::Text(SourceFaultKind::Read(ReadFault::Missing)).into());
            }
            Some(Err(error)) => return Err(error.into()),
            None => read_path(&path, main),
        };
        match read {
            Ok(Read {
                text: Some(text),
                files,
                digest,
            }) => Ok(SkillContents {
                text,
                files,
                digest,
            }),
            Ok(Read { files, digest, .. }) => Ok(SkillContents {
                text: self.text(&skill.id)?,
                files,
                digest,
            }),
            // An unreadable SKILL.md is the more useful error.
            Err(error) => Err(self.text(&skill.id).err().map_or(error, Into::into)),
        }
    }

    /// Reads the contents of a skill that is a folder with a few small files. Returns `None` for
    /// any other skill, and if reading fails; [`Registry::read`] reports the error.
    pub fn read_if_small(&self, skill: &Skill) -> Option<SkillContents> {
        // Without the scan after an error: the caller reads again, and gets the error.
        let source = self.source_of(&skill.id).ok();
        let source = source.filter(|_| skill.form == SkillForm::Folder)?;
        let folder = source.open_folder(&skill.id)?.ok()?;
        let files = folder.files_within(SMALL_FILES, SMALL_BYTES).ok()?;
        let main = skill.main_file()?;
        let read = folder.digest_and_text_within(&files, Path::new(main), SMALL_BYTES);
        let (digest, text) = read.ok()?;
        Some(SkillContents {
            text: text?,
            files,
            digest,
        })
    }

    /// Returns the digest of a skill as it is now, without keeping its text.
    pub fn digest(&self, skill: &Skill) -> Result<String, ContentsError> {
        if let Some(folder) = self.open_folder(skill) {
            return read_folder(&folder.map_err(ContentsError::from)?, None)
                .map(|read| read.digest);
        }
        if let Some(path) = skill_path(skill) {
            return digest_of(&path);
        }
        let catalog = self.snapshot();
        let entry = catalog.entry_of(skill).ok_or(ReadError::Gone)?;
        Ok(digest_in_memory(&entry.skill))
    }

    /// Opens the folder of a skill, which must still be the one that the last scan found. Returns
    /// `None` if the skill is a single file or not on disk.
    pub fn open_folder(&self, skill: &Skill) -> Option<Result<SkillFolder, ReadError>> {
        if skill.form != SkillForm::Folder {
            return None;
        }
        let Ok(source) = self.source_of(&skill.id) else {
            // A skill that was given by the caller, not found by a source.
            let folder = skill_path(skill)?;
            return Some(SkillFolder::open(&folder).map_err(ReadError::from));
        };
        let folder = source.open_folder(&skill.id)?;
        Some(folder.map_err(|error| self.unread(error)))
    }

    /// Reads a skill that is not on disk.
    fn read_from_source(&self, skill: &Skill) -> Result<SkillContents, ContentsError> {
        let text = self.text(&skill.id)?;
        let files = self.files(&skill.id).unwrap_or_default();
        let facts = |(path, size): (String, u64)| FileFacts {
            path: path.into(),
            size,
            kind: FactKind::File,
        };
        Ok(SkillContents {
            text,
            files: files.into_iter().map(facts).collect(),
            digest: digest_in_memory(skill),
        })
    }
}

/// Returns the folder of a skill, or its file if a single file is the skill. Returns `None` if it
/// is not on disk.
pub fn skill_path(skill: &Skill) -> Option<PathBuf> {
    skill.path()
}

/// Returns the digest over all files of a skill: a folder, or a single file.
pub fn digest_of(path: &Path) -> Result<String, ContentsError> {
    read_path(path, None).map(|read| read.digest)
}

/// Returns the text of the main file of a skill, and the digest over all its files: both of the same
/// bytes. `main` is `None` for a single file. The text is `None` if it is too large.
pub fn text_and_digest(
    path: &Path,
    main: Option<&str>,
) -> Result<(Option<Vec<u8>>, String), ContentsError> {
    let read = read_path(path, main)?;
    Ok((read.text, read.digest))
}

/// Lists the files of a skill, with the folder that their paths are relative to.
pub fn files_of(path: &Path) -> Result<(PathBuf, Vec<FileFacts>), ContentsError> {
    let failed = |verb, source| ContentsError::File {
        verb,
        path: path.to_owned(),
        source,
    };
    let metadata = fs::symlink_metadata(path).map_err(|source| failed("read", source))?;
    if metadata.is_symlink() {
        let real = fs::canonicalize(path).map_err(|source| failed("find", source))?;
        return files_of(&real);
    }
    if metadata.is_dir() {
        let files = digest::files(path).map_err(|source| ContentsError::Hash {
            path: path.to_owned(),
            source,
        })?;
        return Ok((path.to_owned(), files));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        let source = io::Error::other("it is neither a folder nor a file");
        return Err(failed("read", source));
    };
    let kind = if metadata.permissions().mode() & 0o111 == 0 {
        FactKind::File
    } else {
        FactKind::Executable
    };
    let file = FileFacts {
        path: name.into(),
        size: metadata.len(),
        kind,
    };
    Ok((folder.to_owned(), vec![file]))
}

struct Read {
    files: Vec<FileFacts>,
    digest: String,
    text: Option<Vec<u8>>,
}

/// Reads every file below a path once, and keeps the content of the main file.
fn read_path(path: &Path, main: Option<&str>) -> Result<Read, ContentsError> {
    let (folder, files) = files_of(path)?;
    let folder = SkillFolder::open(&folder).map_err(ReadError::from)?;
    read_files(&folder, files, main)
}

/// Reads every file of an open folder once, and keeps the content of the main file.
fn read_folder(folder: &SkillFolder, main: Option<&str>) -> Result<Read, ContentsError> {
    let files = folder.files().map_err(|source| ContentsError::Hash {
        path: folder.path().to_owned(),
        source,
    })?;
    read_files(folder, files, main)
}

fn read_files(
    folder: &SkillFolder,
    files: Vec<FileFacts>,
    main: Option<&str>,
) -> Result<Read, ContentsError> {
    let main = main
        .map(Path::new)
        .or(files.first().map(|file| &*file.path));
    let main = main.unwrap_or(Path::new(""));
    let read = folder.digest_and_text(&files, main);
    let (digest, text) = read.map_err(|source| ContentsError::Hash {
        path: folder.path().to_owned(),
        source,
    })?;
    Ok(Read {
        files,
        digest,
        text,
    })
}

/// Returns the digest that the source guarantees, or one derived from the text's fingerprint.
fn digest_in_memory(skill: &Skill) -> String {
    match &skill.seal {
        Some(seal) => seal.to_string(),
        None => format!("memory:{:016x}", skill.fingerprint),
    }
}
