//! The trust verdict about the files of a mission project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_flow::mission::MissionProject;

use crate::HiddenText;
use crate::store::{FileChange, TrustError, TrustKind, TrustState, TrustStore, digest_of_list};
use crate::summary::hidden_text_below;

/// The trust in a mission project as it was read: in its `.hcl` files and the texts that they load.
/// Skills in folders are trusted on their own.
#[derive(Clone, Debug)]
pub struct MissionTrust {
    /// The folder of the project.
    pub root: PathBuf,
    /// The digest over all files.
    pub digest: String,
    /// The state in the trust store. `None` if there is no store.
    pub state: Option<TrustState>,
    /// The files that changed since the project was trusted.
    pub changes: Vec<FileChange>,
    /// Each file with its digest, as in a record.
    files: BTreeMap<String, String>,
}

impl MissionTrust {
    /// Looks up the trust of a project.
    pub fn new(
        root: &Path,
        project: &MissionProject,
        store: Option<&TrustStore>,
    ) -> Result<Self, TrustError> {
        let files = project.files.iter();
        let files: BTreeMap<String, String> = files
            .map(|file| (file.path.to_string(), format!("file {}", file.digest)))
            .collect();
        let digest = format!("sha256:{}", digest_of_list(&files));
        let state = match store {
            Some(store) => Some(store.state_of(TrustKind::Missions, root, &digest)?),
            None => None,
        };
        let changes = state.as_ref().map(|state| state.changes(&files));
        Ok(Self {
            root: root.to_owned(),
            digest,
            changes: changes.unwrap_or_default(),
            state,
            files,
        })
    }

    /// Returns the names of the files that the trust covers, relative to the project.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Finds text in the files that is not visible to a reader. Fails if a file is not the one that the
    /// digest is about.
    pub fn hidden_text(&self) -> Result<Vec<HiddenText>, TrustError> {
        hidden_text_below(&self.root, &self.root, &self.files)
    }

    /// Returns `true` if missions of the project may run.
    pub fn is_trusted(&self) -> bool {
        self.state.as_ref().is_some_and(TrustState::is_trusted)
    }

    /// Returns `true` if a run that started with these files may go on: they are trusted, or were until
    /// others were trusted in their place. After trust was revoked, it may not.
    pub fn may_continue(&self) -> bool {
        let state = self.state.as_ref();
        state.is_some_and(|state| state.has_trusted(&self.digest))
    }

    /// Trusts the files as they were read.
    pub fn grant(&self, store: &TrustStore, now: u64) -> Result<(), TrustError> {
        let (kind, files) = (TrustKind::Missions, self.files.clone());
        store.grant_files(kind, &self.root, &self.digest, files, now)
    }
}

#[cfg(test)]
mod tests {
    use prowess_flow::mission::ProjectFile;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn hidden_text_is_about_the_files_of_the_digest() {
        let world = tempfile::tempdir().unwrap();
        let hidden = "a = \"x\u{202e}\"\n";
        std::fs::write(world.path().join("m.hcl"), hidden).unwrap();
        let digest = format!("sha256:{}", prowess_diag::hex(&Sha256::digest(hidden)));
        let project = MissionProject {
            files: vec![ProjectFile {
                path: "m.hcl".into(),
                digest: digest.into(),
            }],
            ..MissionProject::default()
        };
        let trust = MissionTrust::new(world.path(), &project, None).unwrap();
        assert_eq!(trust.hidden_text().unwrap().len(), 1);
        // Another file in its place, while the digest is shown.
        std::fs::write(world.path().join("m.hcl"), "a = 1\n").unwrap();
        assert!(trust.hidden_text().is_err());
    }
}
