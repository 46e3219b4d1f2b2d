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

    /// Tells whether a path is known to be missing: the folder was listed whole and it is not there.
    pub fn is_missing(&self, path: &str) -> bool {
        self.files.is_some()
            && !self.truncated
            && self.file_name.as_deref() != Some(path)
            && self.entry(path).is_none()
    }

    /// Returns the paths of all files, for suggestions.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files
            .iter()
            .flatten()
            .filter(|file| file.kind == FileKind::File)
            .map(|file| &*file.path)
    }
}
