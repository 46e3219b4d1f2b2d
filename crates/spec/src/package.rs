//! The files of a skill as plain data. The registry reads them from disk.

/// The contents of a skill's folder, without the contents of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageListing {
    /// The folder's name; `None` if the text did not come from a folder.
    pub folder: Option<String>,
    /// The name of the skill's file: `SKILL.md` or `skill.md`.
    pub file_name: Option<String>,
    /// Files and folders below the skill's folder, sorted by path. `None` if the folder was not
    /// listed; rules must not then conclude that a file is missing.
    pub files: Option<Vec<PackageFile>>,
    /// `true` if a limit cut the listing short.
    pub truncated: bool,
    /// The contents of `agents/openai.yaml`, if it exists and is readable.
    pub sidecar: Option<String>,
}

/// One file or folder of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    /// Path relative to the skill's folder, with forward slashes. Names that are not UTF-8 contain
    /// replacement characters and cannot be opened by this path.
    pub path: Box<str>,
    /// The kind of file.
    pub kind: FileKind,
    /// `true` if the file is executable; `None` if unknown or not applicable.
    pub executable: Option<bool>,
}

/// The kind of a folder entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, or a symlink to one.
    File,
    /// A folder.
    Folder,
    /// A device, FIFO, socket or broken symlink.
    Other,
}

/// Facts about a skill's folder that rules may query. The registry answers lazily from disk; a
/// [`PackageListing`] answers from memory.
pub trait PackageFacts: std::fmt::Debug {
    /// Returns the folder's name; `None` if the text did not come from a folder.
    fn folder(&self) -> Option<&str>;
    /// Returns the name of the skill's file.
    fn file_name(&self) -> Option<&str>;
    /// Returns the status of a path in the folder.
    fn look(&self, path: &str) -> PathStatus;
    /// Returns the paths of all files, sorted; empty if they are unknown.
    fn paths(&self) -> Vec<&str>;
    /// Returns the paths of skills nested in this one.
    fn nested_skills(&self) -> Vec<&str>;
    /// Returns the contents of `agents/openai.yaml`, if it exists and is readable.
    fn sidecar(&self) -> Option<&str>;
}

/// The status of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStatus {
    /// A file; `Some(true)` if it is executable, `None` if unknown.
    File(Option<bool>),
    /// A folder or another kind of file.
    Other,
    /// No such file.
    Missing,
    /// Not known.
    Unknown,
}

/// The reason why a skill's file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// The folder contains no such file.
    Missing,
    /// Not a regular file: "a folder", "a FIFO", "a device", "a broken link".
    NotAFile(&'static str),
    /// Larger than the limit.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The operating system reported this error.
    Unreadable(String),
}

impl PackageListing {
    /// Returns a package of which only the folder's name is known.
    pub fn named(folder: impl Into<String>) -> Self {
        Self {
            folder: Some(folder.into()),
            file_name: Some("SKILL.md".into()),
            ..Self::default()
        }
    }

    /// Returns the entry at a path.
    pub fn entry(&self, path: &str) -> Option<&PackageFile> {
        let files = self.files.as_deref()?;
        files
            .binary_search_by(|file| (*file.path).cmp(path))
            .ok()
            .map(|index| &files[index])
    }
}

impl PackageFacts for PackageListing {
    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    fn file_name(&self) -> Option<&str> {
        self.file_name.as_deref()
    }

    fn look(&self, path: &str) -> PathStatus {
        match self.entry(path) {
            Some(entry) if entry.kind == FileKind::File => PathStatus::File(entry.executable),
            Some(_) => PathStatus::Other,
            None if self.file_name.as_deref() == Some(path) => PathStatus::File(None),
            None if self.files.is_some() && !self.truncated => PathStatus::Missing,
            None => PathStatus::Unknown,
        }
    }

    fn paths(&self) -> Vec<&str> {
        let files = self
            .files
            .iter()
            .flatten()
            .filter(|file| file.kind == FileKind::File);
        files.map(|file| &*file.path).collect()
    }

    fn nested_skills(&self) -> Vec<&str> {
        let mut paths = self.paths();
        paths.retain(|path| path.ends_with("/SKILL.md"));
        paths
    }

    fn sidecar(&self) -> Option<&str> {
        self.sidecar.as_deref()
    }
}
