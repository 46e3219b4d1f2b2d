//! Reads, checks and fixes mission files.

use std::path::{Path, PathBuf};

use prowess_diag::FileReport;
use prowess_flow::mission::{MissionSettings, is_mission_file};
use prowess_registry::{MissionFiles, mission_folder, read_agent_source};
use prowess_spec::ReadFault;

/// A mission file at a path.
pub(super) struct MissionTarget {
    /// The project, without links.
    pub(super) root: PathBuf,
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

    /// Returns `true` if the file has blocks of missions: other programs have `.hcl` files too.
    pub(super) fn is_mission(&self) -> bool {
        let text = read_agent_source(&self.root, &self.path);
        text.is_ok_and(|text| is_mission_file(text.as_bytes()))
    }

    /// Checks the file with the others of its project, with another text if one is given. Returns the
    /// findings about the file itself.
    pub(super) fn read(
        &self,
        text: Option<&str>,
        settings: &MissionSettings<'_>,
    ) -> Result<Option<FileReport>, ReadFault> {
        let mut files = MissionFiles::read(&self.root)?;
        if let Some(text) = text
            && let Some(own) = files.files.iter_mut().find(|one| one.path == self.path)
        {
            own.bytes = Ok(text.as_bytes().to_vec());
        }
        Ok(self.own(&files.project(settings)?.1))
    }

    /// Returns the findings about all files of a project.
    pub(super) fn read_all(
        root: &Path,
        settings: &MissionSettings<'_>,
    ) -> Result<Vec<FileReport>, ReadFault> {
        Ok(MissionFiles::read(root)?.project(settings)?.1)
    }

    /// Returns the findings about the file itself.
    pub(super) fn own(&self, reports: &[FileReport]) -> Option<FileReport> {
        let mut reports = reports.iter();
        reports.find(|report| report.path == self.path).cloned()
    }
}
