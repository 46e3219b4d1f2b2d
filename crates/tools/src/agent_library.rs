//! The agents of files: which ones there are, and whether they may run.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use prowess_flow::{AgentDef, AgentFile, AgentRoster, AgentScope, PromptSource, RosterEntry};
use prowess_registry::{Place, agent_files};

/// Decides whether the agents of a file may run.
pub trait AgentFileTrust: Debug + Send + Sync {
    /// Returns `true` if the agents of a file may run.
    fn is_trusted(&self, scope: AgentScope, file: &AgentFile) -> bool;
}

/// Trusts the files of the user, and no file of a project.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserAgentsOnly;

impl AgentFileTrust for UserAgentsOnly {
    fn is_trusted(&self, scope: AgentScope, _: &AgentFile) -> bool {
        scope == AgentScope::User
    }
}

/// The agents of files that sessions can run as or start. The files are read on the first use.
#[derive(Debug)]
pub struct AgentLibrary {
    place: Place,
    /// More folders with teams of Planck.
    teams: Vec<(AgentScope, PathBuf)>,
    trust: Arc<dyn AgentFileTrust>,
    roster: OnceLock<AgentRoster>,
}

/// An agent of a file.
#[derive(Clone, Debug)]
pub struct FoundAgent {
    /// The agent, or a team that is addressed like one.
    pub entry: RosterEntry,
}

impl AgentLibrary {
    /// Creates a library of the agents that are visible from a place.
    pub fn new(place: Place, trust: Arc<dyn AgentFileTrust>) -> Self {
        Self {
            place,
            teams: Vec::new(),
            trust,
            roster: OnceLock::new(),
        }
    }

    /// Adds folders with teams of Planck.
    #[must_use]
    pub fn with_teams(self, teams: Vec<(AgentScope, PathBuf)>) -> Self {
        Self { teams, ..self }
    }

    /// Returns all agents, in order of precedence. Reads the files on the first call.
    pub fn roster(&self) -> &AgentRoster {
        self.roster.get_or_init(|| {
            let files = agent_files(&self.place, &self.teams).into_iter();
            AgentRoster::new(files.map(|found| (found.scope, found.file)))
        })
    }

    /// Finds an agent by its name or its qualified name.
    pub fn find(&self, name: &str) -> Option<FoundAgent> {
        self.roster().resolve(name).ok().map(FoundAgent::new)
    }

    /// Returns `true` if an agent may run.
    pub fn is_trusted(&self, agent: &FoundAgent) -> bool {
        let entry = &agent.entry;
        self.trust.is_trusted(entry.scope, &entry.file)
    }
}

impl FoundAgent {
    /// Creates an agent from an entry of a roster.
    pub fn new(entry: &RosterEntry) -> Self {
        Self {
            entry: entry.clone(),
        }
    }

    /// Returns the definition; for a team, the one of the agent that the user talks to.
    pub fn definition(&self) -> Option<&AgentDef> {
        self.entry.agent()
    }

    /// Returns the path of a file or folder that the agent's file names.
    pub fn path_of(&self, path: &str) -> PathBuf {
        self.entry.file.root.join(path)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.path_of(&self.entry.file.path)
    }

    /// Returns the digest over the file and the file of the instructions. Reads both.
    pub fn digest(&self) -> String {
        let prompt = self.definition().map(|agent| &agent.prompt_source);
        let prompt = match prompt {
            Some(PromptSource::File(path)) => Some(self.path_of(path)),
            _ => None,
        };
        let digests = [Some(self.path()), prompt].into_iter().flatten();
        let digests: Vec<String> = digests
            .map(|path| prowess_trust::digest_of(&path).unwrap_or_default())
            .collect();
        digests.join(" ")
    }
}
