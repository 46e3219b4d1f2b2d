//! The trust verdict about an agent file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_flow::{AgentFile, AgentScope};
use prowess_registry::agent_place;

use crate::HiddenText;
use crate::store::{FileChange, TrustError, TrustKind, TrustState, TrustStore, digest_of_list};
use crate::summary::hidden_text_below;

/// The trust in an agent file as it was read: in the file itself, its prompts, commands and servers.
/// The skills of its agents are trusted on their own.
#[derive(Clone, Debug)]
pub struct AgentTrust {
    /// The agent file.
    pub path: PathBuf,
    /// The digest over all files that its agents were read from.
    pub digest: String,
    /// `true` if the file must be trusted before its agents may run.
    pub required: bool,
    /// The state in the trust store. `None` if no trust is required or there is no store.
    pub state: Option<TrustState>,
    /// The files that changed since the file was trusted.
    pub changes: Vec<FileChange>,
    /// The folder that the names of the files are relative to.
    root: PathBuf,
    /// Each file with its digest, as in a record.
    files: BTreeMap<String, String>,
}

/// The answer to the question whether the agents of a file may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentVerdict {
    /// They may.
    Trusted,
    /// The user never trusted the file.
    Untrusted,
    /// A file changed after the user trusted it.
    Changed {
        /// The first changed file, relative to the project.
        file: String,
    },
}

impl AgentTrust {
    /// Looks up the trust of an agent file. `project` is the folder in which agents work.
    pub fn new(
        scope: AgentScope,
        file: &AgentFile,
        store: Option<&TrustStore>,
        project: &Path,
    ) -> Result<Self, TrustError> {
        let path = file.root.join(&*file.path);
        let sources = file.sources.iter();
        let files: BTreeMap<String, String> = sources
            .map(|(name, digest)| (name.to_string(), format!("file {digest}")))
            .collect();
        let digest = format!("sha256:{}", digest_of_list(&files));
        let required = is_agent_file_trust_required(scope, file, project);
        let state = match store {
            Some(store) if required => Some(store.state_of(TrustKind::Agents, &path, &digest)?),
            _ => None,
        };
        let changes = state.as_ref().map(|state| state.changes(&files));
        let changes = changes.unwrap_or_default();
        Ok(Self {
            path,
            digest,
            required,
            state,
            changes,
            root: file.root.clone(),
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
        hidden_text_below(&self.root, &self.path, &self.files)
    }

    /// Returns `true` if the agents of the file may run.
    pub fn is_trusted(&self) -> bool {
        !self.required || self.state.as_ref().is_some_and(TrustState::is_trusted)
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> AgentVerdict {
        if self.is_trusted() {
            return AgentVerdict::Trusted;
        }
        match self.changes.first() {
            Some(change) => AgentVerdict::Changed {
                file: change.file().to_owned(),
            },
            None => AgentVerdict::Untrusted,
        }
    }

    /// Trusts the files as they were read.
    pub fn grant(&self, store: &TrustStore, now: u64) -> Result<(), TrustError> {
        let (kind, files) = (TrustKind::Agents, self.files.clone());
        store.grant_files(kind, &self.path, &self.digest, files, now)
    }
}

/// Returns `true` if an agent file must be trusted before its agents may run: it belongs to a
/// project, or an agent in `project` can write one of its files.
fn is_agent_file_trust_required(scope: AgentScope, file: &AgentFile, project: &Path) -> bool {
    match scope {
        AgentScope::Project => true,
        AgentScope::User => {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let (home, project) = (real(&file.root), real(project));
            // If the home folder is the project, the folders of agents in it are protected. A folder
            // with teams that the settings name is not.
            let place = agent_place(&file.path);
            let top = place.map(|place| real(&home.join(place)));
            let is_protected = |path: &Path| {
                home.starts_with(&project) && top.as_ref().is_some_and(|top| path.starts_with(top))
            };
            let is_editable = |name: &str| {
                let path = real(&home.join(name));
                path.starts_with(&project) && !is_protected(&path)
            };
            file.sources.keys().any(|name| is_editable(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use prowess_flow::Dialect;
    use prowess_registry::read_agent_file;

    use super::*;

    const TEAM: &str = r#"{"members": [{"type": "orchestrator", "provider": "p", "model_id": "m",
        "system_prompt": "lead.md"}]}"#;
    const PATH: &str = ".planck/teams/dev/TEAM.json";

    fn world() -> (tempfile::TempDir, PathBuf, TrustStore) {
        let world = tempfile::tempdir().unwrap();
        let project = world.path().join("project");
        let folder = project.join(".planck/teams/dev");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("TEAM.json"), TEAM).unwrap();
        fs::write(folder.join("lead.md"), "Lead.").unwrap();
        let store = TrustStore::new(world.path().join("trust"));
        (world, project, store)
    }

    fn trust(scope: AgentScope, root: &Path, store: &TrustStore, project: &Path) -> AgentTrust {
        let file = read_agent_file(root, PATH, Dialect::Planck).unwrap();
        AgentTrust::new(scope, &file, Some(store), project).unwrap()
    }

    #[test]
    fn trust_is_bound_to_every_file_of_the_agents() {
        let (_world, project, store) = world();
        let look = || trust(AgentScope::Project, &project, &store, &project);
        assert_eq!(look().verdict(), AgentVerdict::Untrusted);
        assert_eq!(look().files().len(), 2);
        look().grant(&store, 7).unwrap();
        assert_eq!(look().verdict(), AgentVerdict::Trusted);
        for name in [".planck/teams/dev/lead.md", PATH] {
            let before = fs::read_to_string(project.join(name)).unwrap();
            fs::write(project.join(name), format!("{before}\n")).unwrap();
            let file = name.to_owned();
            assert_eq!(look().verdict(), AgentVerdict::Changed { file });
            assert!(!look().is_trusted());
            fs::write(project.join(name), before).unwrap();
            assert!(look().is_trusted());
        }
        assert!(
            store
                .revoke(TrustKind::Agents, &project.join(PATH))
                .unwrap()
        );
        assert_eq!(look().verdict(), AgentVerdict::Untrusted);
    }

    #[test]
    fn grant_covers_what_was_shown_and_not_what_is_there_now() {
        let (_world, project, store) = world();
        let look = || trust(AgentScope::Project, &project, &store, &project);
        let shown = look();
        fs::write(project.join(".planck/teams/dev/lead.md"), "Obey me.").unwrap();
        shown.grant(&store, 7).unwrap();
        assert!(!look().is_trusted());
    }

    #[test]
    fn user_files_need_no_trust_unless_the_project_contains_them() {
        let (world, home, store) = world();
        let project = world.path().join("other");
        fs::create_dir(&project).unwrap();
        let look = |project: &Path| trust(AgentScope::User, &home, &store, project);
        assert!(look(&project).is_trusted() && !look(&project).required);
        // The home folder itself is the project: the folder of the agents is protected.
        assert!(!look(&home).required);
        // A prompt that an agent in the project could edit.
        let inside = home.join("work");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("lead.md"), "Lead.").unwrap();
        let prompt = home.join(".planck/teams/dev/lead.md");
        fs::remove_file(&prompt).unwrap();
        std::os::unix::fs::symlink("../../../work/lead.md", &prompt).unwrap();
        assert!(look(&inside).required && look(&home).required);
        assert!(!look(&project).required);
    }

    #[test]
    fn trust_in_a_server_file_or_a_skill_is_no_trust_in_agents() {
        let (_world, project, store) = world();
        let path = project.join(PATH);
        for kind in [TrustKind::Skill, TrustKind::Command, TrustKind::Servers] {
            let digest = crate::digest_of(&path).unwrap();
            store.grant(kind, &path, &digest, 7).unwrap();
        }
        let found = trust(AgentScope::Project, &project, &store, &project);
        assert_eq!(found.verdict(), AgentVerdict::Untrusted);
    }
}
