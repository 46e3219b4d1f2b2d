//! The files of a skill, as facts. Reading them from disk is the registry's work.

/// What is known of a skill's folder without opening its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The folder's name; nothing when the text did not come from a folder.
    pub folder: Option<String>,
    /// The name of the file that holds the skill: `SKILL.md`, or `skill.md`.
    pub file_name: Option<String>,
    /// Files and folders below the skill's folder, sorted by path; nothing when the folder was
    /// not listed, and then no rule may conclude that a file is missing.
    pub files: Option<Vec<PackageFile>>,
    /// Whether the listing was cut short by a limit.
    pub truncated: bool,
    /// The contents of `agents/openai.yaml`, if there is one and it could be read.
    pub sidecar: Option<String>,
}

/// One file or folder of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    /// Path from the skill's folder, with forward slashes. File names that are not UTF-8 appear
    /// with replacement characters and can be seen but not referred to.
    pub path: Box<str>,
    /// What it is.
    pub kind: FileKind,
    /// Whether it may be executed; nothing when that was not asked, or has no meaning here.
    pub executable: Option<bool>,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, or a link to one.
    File,
    /// A folder.
    Folder,
    /// A device, FIFO, socket, or a link that leads nowhere.
    Other,
}

/// What rules may ask about a skill's folder. The registry answers from disk, and only when asked;
/// a [`Package`] answers from memory.
pub trait Facts: std::fmt::Debug {
    /// Returns the folder's name; nothing when the text did not come from a folder.
    fn folder(&self) -> Option<&str>;
    /// Returns the name of the file that holds the skill.
    fn file_name(&self) -> Option<&str>;
    /// Tells what stands at a path of the folder.
    fn look(&self, path: &str) -> Look;
    /// Returns the paths of all files, sorted; none when they are not known.
    fn paths(&self) -> Vec<&str>;
    /// Returns the paths of skills inside this one.
    fn nested_skills(&self) -> Vec<&str>;
    /// Returns the contents of `agents/openai.yaml`, if there is one and it can be read.
    fn sidecar(&self) -> Option<&str>;
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A file, and whether it may be executed, where that is known.
    File(Option<bool>),
    /// A folder, or something else that is there.
    Other,
    /// Nothing.
    Missing,
    /// Nobody can tell.
    Unknown,
}

/// Why a skill's file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// There is no such file in the folder.
    Missing,
    /// It is something else: "a folder", "a FIFO", "a device", "a link that leads nowhere".
    NotAFile(&'static str),
    /// It is larger than we read.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The system says no.
    Unreadable(String),
}

impl Package {
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

impl Facts for Package {
    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    fn file_name(&self) -> Option<&str> {
        self.file_name.as_deref()
    }

    fn look(&self, path: &str) -> Look {
        match self.entry(path) {
            Some(entry) if entry.kind == FileKind::File => Look::File(entry.executable),
            Some(_) => Look::Other,
            None if self.file_name.as_deref() == Some(path) => Look::File(None),
            None if self.files.is_some() && !self.truncated => Look::Missing,
            None => Look::Unknown,
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
