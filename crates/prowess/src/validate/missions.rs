//! Reads, checks and fixes mission files.

use std::path::{Path, PathBuf};

use prowess_diag::FileReport;
use prowess_flow::mission::MissionSettings;
use prowess_registry::{MissionFiles, mission_folder};
use prowess_spec::ReadFault;

/// A mission file at a path.
pub(super) struct MissionTarget {
    /// The project, without links.
    root: PathBuf,
    /// The path below it.
    path: String,
}

impl MissionTarget {
    /// Returns `None` if a path is not that of an `.hcl` file.
    pub(super) fn new(path: &Path) -> Option<Self> {
        if path.extension()? != "hcl" || !path.is_file() {
            return None;
        }
        let given = std::path::absolute(path).ok()?;
        let folder = given.parent()?.canonicalize().ok()?;
        let path = folder.join(given.file_name()?);
        let root = mission_folder(&folder, None).unwrap_or(folder);
        let path = path.strip_prefix(&root).ok()?.to_str()?.to_owned();
        Some(Self { root, path })
    }

    /// Checks the file with the others of its project. Returns the findings about the file itself.
    pub(super) fn read(&self) -> Result<Option<FileReport>, ReadFault> {
        self.check(None)
    }

    /// Returns the findings about another text of the file.
    pub(super) fn read_text(&self, text: &str) -> Option<FileReport> {
        self.check(Some(text)).ok().flatten()
    }

    fn check(&self, text: Option<&str>) -> Result<Option<FileReport>, ReadFault> {
        let mut files = MissionFiles::read(&self.root)?;
        if let Some(text) = text
            && let Some(own) = files.files.iter_mut().find(|one| one.path == self.path)
        {
            own.bytes = Ok(text.as_bytes().to_vec());
        }
        let settings = MissionSettings::default();
        let (_, reports) = files.project(&settings)?;
        Ok(reports.into_iter().find(|report| report.path == self.path))
    }
}
