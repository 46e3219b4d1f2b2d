//! The agents of files: which ones there are, and whether they may run.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prowess_flow::{AgentDef, AgentFile, AgentRoster, AgentScope, PromptSource, RosterEntry};
use prowess_registry::{Place, agent_files_and_teams, read_agent_file};

/// Decides whether the agents of a file may run.
pub trait AgentFileTrust: Debug + Send + Sync {
    /// Returns `true` if the agents of a file may run. Paths in the file are relative to `root`.
    fn is_trusted(&self, scope: AgentScope, root: &Path, file: &AgentFile) -> bool;
}

/// Trusts the files of the user, and no file of a project.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserAgentsOnly;

impl AgentFileTrust for UserAgentsOnly {
    fn is_trusted(&self, scope: AgentScope, _: &Path, _: &AgentFile) -> bool {
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
    agents: OnceLock<ReadAgents>,
}

#[derive(Debug, Default)]
struct ReadAgents {
    roster: AgentRoster,
    /// The folder that the paths of each file are relative to.
    roots: Vec<(AgentScope, Box<str>, PathBuf)>,
}

/// An agent of a file.
#[derive(Clone, Debug)]
pub struct FoundAgent {
    /// The agent, or a team that is addressed like one.
    pub entry: RosterEntry,
    /// The folder that the paths of its file are relative to.
    pub root: PathBuf,
}

impl AgentLibrary {
    /// Creates a library of the agents that are visible from a place.
    pub fn new(place: Place, trust: Arc<dyn AgentFileTrust>) -> Self {
        Self {
            place,
            teams: Vec::new(),
            trust,
            agents: OnceLock::new(),
        }
    }

    /// Adds folders with teams of Planck.
    #[must_use]
    pub fn with_teams(self, teams: Vec<(AgentScope, PathBuf)>) -> Self {
        Self { teams, ..self }
    }

    fn agents(&self) -> &ReadAgents {
        self.agents.get_or_init(|| {
            let files = agent_files_and_teams(&self.place, &self.teams);
            let roots = files.iter();
            let roots = roots
                .map(|found| (found.scope, found.file.path.clone(), found.root.clone()))
                .collect();
            let files = files.into_iter().map(|found| (found.scope, found.file));
            ReadAgents {
                roster: AgentRoster::new(files),
                roots,
            }
        })
    }

    /// Returns all agents, in order of precedence. Reads the files on the first call.
    pub fn roster(&self) -> &AgentRoster {
        &self.agents().roster
    }

    /// Finds an agent by its name or its qualified name.
    pub fn find(&self, name: &str) -> Option<FoundAgent> {
        self.roster()
            .resolve(name)
            .ok()
            .map(|entry| self.found(entry))
    }

    /// Returns an entry of the roster with its root.
    pub fn found(&self, entry: &RosterEntry) -> FoundAgent {
        let is_file = |(scope, path, _): &&(AgentScope, Box<str>, PathBuf)| {
            *scope == entry.scope && *path == entry.file.path
        };
        let root = self.agents().roots.iter().find(is_file);
        FoundAgent {
            entry: entry.clone(),
            root: root.map(|(.., root)| root.clone()).unwrap_or_default(),
        }
    }

    /// Returns `true` if an agent may run.
    pub fn is_trusted(&self, agent: &FoundAgent) -> bool {
        let entry = &agent.entry;
        self.trust.is_trusted(entry.scope, &agent.root, &entry.file)
    }

    /// Returns `true` if an agent may run, and its file is as trusted now as when it was read. Reads
    /// the file again.
    pub fn is_trusted_now(&self, agent: &FoundAgent) -> bool {
        let file = &agent.entry.file;
        let now = read_agent_file(&agent.root, &file.path, file.dialect);
        let is_now = |now: &AgentFile| {
            self.trust.is_trusted(agent.entry.scope, &agent.root, now) && now.agents == file.agents
        };
        self.is_trusted(agent) && now.is_ok_and(|now| is_now(&now))
    }
}

impl FoundAgent {
    /// Returns the definition; for a team, the one of the agent that the user talks to.
    pub fn definition(&self) -> Option<&AgentDef> {
        self.entry.agent()
    }

    /// Returns the path of a file or folder that the agent's file names.
    pub fn path_of(&self, path: &str) -> PathBuf {
        self.root.join(path)
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
