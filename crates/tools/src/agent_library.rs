//! The agents of files: which ones there are, and whether they may run.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use prowess_catalog::{Catalog, Scope};
use prowess_diag::{Diagnostic, FileReport};
use prowess_flow::{
    AgentDef, AgentFile, AgentRoster, AgentScope, PromptSource, RosterEntry, unknown_skill,
};
use prowess_registry::{Place, Registry, agent_files, read_agent_source};

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

/// The rule about skills that agents name and that do not exist.
pub const UNKNOWN_SKILL: &str = "agent-skill";

/// Adds findings about skills that the agents of a file name and that do not exist. `skills` are all
/// skills that are visible from `place`. Reads the skills of agents with a root.
pub fn check_skills(file: &mut AgentFile, skills: &Catalog, place: &Place) {
    let unknown: Vec<Diagnostic> = file
        .agents
        .iter()
        .flat_map(|agent| unknown_skills(file, agent, skills, place))
        .collect();
    if unknown.is_empty() {
        return;
    }
    let is_own = |report: &&mut FileReport| *report.path == *file.path;
    if let Some(own) = file.reports.iter_mut().find(is_own) {
        own.diagnostics.extend(unknown);
        own.diagnostics
            .sort_by_key(|finding| finding.span.map(|span| span.start));
        return;
    }
    let text = read_agent_source(&file.root, &file.path).ok();
    file.reports.push(FileReport {
        path: file.path.to_string(),
        text: text.map(Into::into),
        diagnostics: unknown,
    });
}

/// Returns findings about skills that an agent names and that do not exist.
fn unknown_skills(
    file: &AgentFile,
    agent: &AgentDef,
    skills: &Catalog,
    place: &Place,
) -> Vec<Diagnostic> {
    if agent.skill_names.is_empty() {
        return Vec::new();
    }
    let own = agent.root.as_ref().map(|root| {
        let folder = file.root.join(&**root).join("skills");
        let place = Place {
            agent_folders: Some(vec![(Scope::Project, folder)]),
            ..place.clone()
        };
        Registry::of_place(place).snapshot()
    });
    let skills = own.as_deref().unwrap_or(skills);
    let names = agent.skill_names.iter();
    let unknown = names.filter_map(|(name, span)| {
        let missing = skills.resolve(name).err()?;
        let near = missing.near.first().map(|near| &**near);
        Some(unknown_skill(name, *span, near))
    });
    unknown.collect()
}

#[cfg(test)]
mod tests {
    use prowess_policy::profile::{
        PROTECTED_IN_HOME, PROTECTED_IN_PROJECT, PROTECTED_IN_SUBFOLDERS,
    };
    use prowess_registry::agent_places;

    use super::*;

    /// The policy cannot depend on the registry, so its list is compared with the table of places.
    #[test]
    fn commands_cannot_write_where_agents_are_read() {
        for (scope, protected) in [
            (AgentScope::Project, PROTECTED_IN_PROJECT),
            (AgentScope::User, PROTECTED_IN_HOME),
        ] {
            for place in agent_places(scope) {
                let covers = |listed: &&str| match listed.strip_suffix('/') {
                    Some(folder) => std::path::Path::new(place).starts_with(folder),
                    None => place == *listed,
                };
                assert!(protected.iter().any(covers), "{scope:?}: {place}");
            }
        }
        // Files that may be in any folder, by the ends of their names.
        for name in ["x.agent.md", "x.skilled_crew.yaml", "x.skilled_crew.yml"] {
            assert!(prowess_flow::Dialect::of(name).is_some(), "{name}");
            let covers = |listed: &&str| {
                let end = listed.strip_prefix('*');
                end.is_some_and(|end| name.ends_with(end))
            };
            assert!(PROTECTED_IN_SUBFOLDERS.iter().any(covers), "{name}");
        }
    }
}
