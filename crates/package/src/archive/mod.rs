//! Archives: `.tar.gz`, `.zip` and `.skill`, which is a zip.
//!
//! Headers are read one by one, and nothing is extracted by a library. The content of each file goes
//! to a staging folder under a number, so that no name of the archive becomes a name on disk before
//! it was checked.

mod tar_reader;
mod zip_reader;
mod zip_writer;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use zip_writer::ZipWriter;

use crate::content::{ContentError, ContentReader, EachContent};
use crate::find::{FindError, FindOptions, FoundPackages, SourceEntry, SourceEntryKind, find};
use crate::tree::{
    MAX_TARGET, TreeError, TreeNames, check_tree_path, digest_of_bytes, is_version_control,
};

/// Maximum size of a file that is read to find skills, in bytes.
const MAX_READ: u64 = 4 * 1024 * 1024;

/// Limits of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Maximum number of entries.
    pub entries: usize,
    /// Maximum size of the archive in bytes.
    pub compressed: u64,
    /// Maximum size of all files in bytes.
    pub total: u64,
    /// Maximum number of folders above a file.
    pub depth: usize,
    /// Maximum ratio of sizes after and before decompression.
    pub ratio: u64,
    /// Size in bytes up to which the ratio does not matter.
    pub ratio_from: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            entries: 10_000,
            compressed: 64 * 1024 * 1024,
            total: 256 * 1024 * 1024,
            depth: 16,
            ratio: 200,
            ratio_from: 1024 * 1024,
        }
    }
}

/// The reason why an entry of an archive is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The type is not a file, a folder or a symbolic link.
    #[error("it is not a file, a folder or a symbolic link")]
    Kind,
    /// The file is sparse.
    #[error("it is a sparse file")]
    Sparse,
    /// The entry is encrypted.
    #[error("it is encrypted")]
    Encrypted,
    /// The compression method is not supported.
    #[error("its compression method is not supported")]
    Method,
    /// Two headers of the entry disagree.
    #[error("its headers disagree")]
    Disagreement,
    /// The announced size or checksum is wrong.
    #[error("its size or checksum is wrong")]
    Content,
    /// A long name is too long.
    #[error("its name is too long")]
    LongName,
    /// A folder has content.
    #[error("it is a folder with content")]
    FolderContent,
}

/// Error from reading an archive. Nothing of it is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes are neither a gzip nor a zip.
    #[error("not a `.tar.gz` or `.zip` archive")]
    NotArchive,
    /// The archive is damaged or ends early.
    #[error("the archive is damaged: {reason}")]
    Damaged {
        /// The fault.
        reason: &'static str,
    },
    /// There is data before, between or after the entries.
    #[error("the archive has data outside its entries")]
    ExtraData,
    /// An entry is refused.
    #[error("the archive is refused because of `{path}`: {fault}")]
    Entry {
        /// The name of the entry.
        path: String,
        /// The reason.
        fault: EntryFault,
    },
    /// The archive exceeds a limit.
    #[error("the archive exceeds the limit of {limit} {what}")]
    TooLarge {
        /// The maximum.
        limit: u64,
        /// The unit.
        what: &'static str,
    },
    /// The content is far larger than the archive.
    #[error("the archive unpacks to more than {ratio} times its size")]
    Ratio {
        /// The maximum ratio.
        ratio: u64,
    },
    /// A path is refused.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Writing the staging folder failed.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// The files of an archive, in a staging folder under numbers.
#[derive(Debug)]
pub struct UnpackedArchive {
    folder: PathBuf,
    entries: Vec<SourceEntry>,
    /// The number of a file for each id.
    numbers: BTreeMap<String, String>,
}

impl UnpackedArchive {
    /// Returns the files and links.
    pub fn entries(&self) -> &[SourceEntry] {
        &self.entries
    }

    /// Finds the skills of the archive.
    pub fn find(&self, options: FindOptions<'_>) -> Result<FoundPackages, FindError> {
        find(self.entries.clone(), options, &mut |entry| {
            let number = self.numbers.get(&entry.id)?;
            let file = fs::File::open(self.folder.join(number)).ok()?;
            let mut bytes = Vec::new();
            file.take(MAX_READ).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        })
    }
}

impl ContentReader for UnpackedArchive {
    fn read_each(&self, ids: &[&str], each: &mut EachContent<'_>) -> Result<(), ContentError> {
        for (position, id) in ids.iter().enumerate() {
            let Some(number) = self.numbers.get(*id) else {
                each(position, None, &mut io::empty())?;
                continue;
            };
            let mut file = fs::File::open(self.folder.join(number))?;
            let size = file.metadata()?.len();
            each(position, Some(size), &mut file)?;
        }
        Ok(())
    }
}

/// Reads an archive into a new staging folder. One top folder is stripped if it is the only one.
pub fn unpack(
    archive: &[u8],
    into: &Path,
    limits: ArchiveLimits,
) -> Result<UnpackedArchive, ArchiveError> {
    if archive.len() as u64 > limits.compressed {
        return Err(ArchiveError::TooLarge {
            limit: limits.compressed,
            what: "bytes",
        });
    }
    fs::create_dir(into).map_err(|source| ArchiveError::Write {
        path: into.to_owned(),
        source,
    })?;
    let mut sink = EntrySink {
        folder: into.to_owned(),
        limits,
        names: TreeNames::default(),
        entries: Vec::new(),
        numbers: BTreeMap::new(),
        seen: 0,
        total: 0,
    };
    match archive {
        [0x1f, 0x8b, ..] => tar_reader::read(archive, &mut sink)?,
        [b'P', b'K', ..] => zip_reader::read(archive, &mut sink)?,
        _ => return Err(ArchiveError::NotArchive),
    }
    sink.finish()
}

/// Receives the entries of an archive, in any order.
struct EntrySink {
    folder: PathBuf,
    limits: ArchiveLimits,
    names: TreeNames,
    entries: Vec<SourceEntry>,
    numbers: BTreeMap<String, String>,
    seen: usize,
    total: u64,
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(200).collect()
}

fn refused(name: &[u8], fault: EntryFault) -> ArchiveError {
    ArchiveError::Entry {
        path: shown(name),
        fault,
    }
}

impl EntrySink {
    /// Checks the name of an entry. Returns `None` for the root folder and for folders of version
    /// control, which are skipped.
    fn admit(&mut self, name: &[u8], is_folder: bool) -> Result<Option<String>, ArchiveError> {
        self.seen += 1;
        if self.seen > self.limits.entries {
            return Err(ArchiveError::TooLarge {
                limit: self.limits.entries as u64,
                what: "entries",
            });
        }
        let mut rest = name;
        // `tar` of the current folder begins every name with it.
        if let Some(inner) = rest.strip_prefix(b"./") {
            rest = inner;
        }
        if is_folder {
            rest = rest.strip_suffix(b"/").unwrap_or(rest);
            if rest.is_empty() || rest == b"." {
                return Ok(None);
            }
        }
        let path = check_tree_path(rest).map_err(|fault| TreeError::Path {
            path: shown(name),
            fault,
        })?;
        if path.matches('/').count() > self.limits.depth + 1 {
            return Err(TreeError::TooDeep {
                path: path.to_owned(),
                limit: self.limits.depth,
            }
            .into());
        }
        Ok((!is_version_control(path)).then(|| path.to_owned()))
    }

    /// Adds a folder. Folders are otherwise derived from the files in them.
    fn folder(&mut self, name: &[u8]) -> Result<(), ArchiveError> {
        self.admit(name, true).map(drop)
    }

    fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), ArchiveError> {
        let Some(path) = self.admit(name, false)? else {
            return Ok(());
        };
        if target.len() > MAX_TARGET {
            return Err(refused(name, EntryFault::LongName));
        }
        self.names.add(&path)?;
        // Not UTF-8: a target that leads to nothing.
        let text = String::from_utf8(target.to_owned()).unwrap_or_else(|_| "\0".to_owned());
        self.entries.push(SourceEntry {
            path,
            kind: SourceEntryKind::Link(text),
            id: digest_of_bytes(target),
            size: target.len() as u64,
        });
        Ok(())
    }

    /// Adds a file of exactly `size` bytes.
    fn file(
        &mut self,
        name: &[u8],
        is_executable: bool,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        let too_large = ArchiveError::TooLarge {
            limit: self.limits.total,
            what: "bytes in all",
        };
        match self.total.checked_add(size) {
            Some(total) if total <= self.limits.total => self.total = total,
            _ => return Err(too_large),
        }
        let path = self.admit(name, false)?;
        let number = self.entries.len().to_string();
        let target = self.folder.join(&number);
        let failed = |source| ArchiveError::Write {
            path: target.clone(),
            source,
        };
        let mut output: Box<dyn Write> = if path.is_some() {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&target)
                .map_err(failed)?;
            Box::new(file)
        } else {
            Box::new(io::sink())
        };
        let mut buffer = vec![0; 64 * 1024];
        let mut hasher = Sha256::new();
        let mut left = size;
        while left > 0 {
            let most = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let count = content
                .read(&mut buffer[..most])
                .map_err(|_| refused(name, EntryFault::Content))?;
            if count == 0 {
                return Err(refused(name, EntryFault::Content));
            }
            left -= count as u64;
            hasher.update(&buffer[..count]);
            output.write_all(&buffer[..count]).map_err(failed)?;
        }
        let Some(path) = path else {
            return Ok(());
        };
        self.names.add(&path)?;
        let kind = if is_executable {
            SourceEntryKind::Executable
        } else {
            SourceEntryKind::File
        };
        let id = format!("sha256:{}", prowess_diag::hex(&hasher.finalize()));
        self.numbers.entry(id.clone()).or_insert(number);
        self.entries.push(SourceEntry {
            path,
            kind,
            id,
            size,
        });
        Ok(())
    }

    fn finish(mut self) -> Result<UnpackedArchive, ArchiveError> {
        let top = |path: &str| path.split_once('/').map(|(top, _)| format!("{top}/"));
        let first = self.entries.first().and_then(|entry| top(&entry.path));
        if let Some(prefix) = first
            && self
                .entries
                .iter()
                .all(|entry| entry.path.starts_with(&prefix))
        {
            for entry in &mut self.entries {
                entry.path.drain(..prefix.len());
            }
        }
        for entry in &self.entries {
            if entry.path.matches('/').count() > self.limits.depth {
                return Err(TreeError::TooDeep {
                    path: entry.path.clone(),
                    limit: self.limits.depth,
                }
                .into());
            }
        }
        if self.entries.is_empty() {
            return Err(TreeError::Empty.into());
        }
        Ok(UnpackedArchive {
            folder: self.folder,
            entries: self.entries,
            numbers: self.numbers,
        })
    }

    /// Checks the ratio of what was unpacked to what was read.
    fn check_ratio(&self, packed: u64, unpacked: u64) -> Result<(), ArchiveError> {
        let most = packed.saturating_mul(self.limits.ratio);
        if unpacked > self.limits.ratio_from && unpacked > most {
            return Err(ArchiveError::Ratio {
                ratio: self.limits.ratio,
            });
        }
        Ok(())
    }
}
