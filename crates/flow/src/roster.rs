//! All agents of a project and of a user, and which of them a name refers to.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess_diag::suggest;

use crate::model::{AgentDef, AgentFile, TeamDef};

/// The owner of an agent file. The project comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentScope {
    /// In the project.
    Project,
    /// In the home folder.
    User,
}

impl AgentScope {
    /// Returns the name for options, output and qualified names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// The agents of a project and of a user. Never changes.
#[derive(Clone, Debug, Default)]
pub struct AgentRoster {
    entries: Vec<RosterEntry>,
}

/// An agent, or a team that is addressed like one.
#[derive(Clone, Debug)]
pub struct RosterEntry {
    /// The name. Members of a team that has an entry agent are `TEAM/MEMBER`.
    pub name: Box<str>,
    /// The owner of the file.
    pub scope: AgentScope,
    /// The file.
    pub file: Arc<AgentFile>,
    /// The number of the agent in the file; `None` for a team.
    agent: Option<usize>,
    /// The position of the entry that has the same name and comes first.
    pub shadowed_by: Option<usize>,
}

impl RosterEntry {
    /// Returns the agent; for a team, the one that the user talks to.
    pub fn agent(&self) -> Option<&AgentDef> {
        if let Some(number) = self.agent {
            return self.file.agents.get(number);
        }
        let lead = self.file.team.as_ref()?.entry.as_ref()?;
        self.file.agents.iter().find(|agent| agent.name == *lead)
    }

    /// Returns the team, if this is one.
    pub fn team(&self) -> Option<&TeamDef> {
        self.file.team.as_ref().filter(|_| self.agent.is_none())
    }

    /// Returns `true` if this is a member of a team, which is addressed below its name.
    pub fn is_member(&self) -> bool {
        self.agent.is_some() && self.name.contains('/')
    }

    /// Returns the names of the agent without qualifiers. The agent that leads a team has the name
    /// of the team as well.
    pub fn names(&self) -> Vec<Box<str>> {
        let mut names = vec![self.name.clone()];
        let team = self.file.team.as_ref();
        if let Some((team, lead)) = team.and_then(|team| Some((team, team.entry.as_ref()?))) {
            let as_member = format!("{}/{lead}", team.name);
            if self.agent.is_none() {
                names.push(as_member.into());
            } else if *self.name == *as_member {
                names.push(team.name.as_str().into());
            }
        }
        names
    }

    /// Returns all names that refer to the agent, with and without qualifiers.
    pub fn spellings(&self) -> Vec<Box<str>> {
        let (scope, dialect) = (self.scope.as_str(), self.file.dialect.as_str());
        let spell = |name: Box<str>| {
            let qualified = [
                format!("{scope}:{name}"),
                format!("{dialect}:{name}"),
                format!("{scope}:{dialect}:{name}"),
            ];
            std::iter::once(name).chain(qualified.map(Into::into))
        };
        self.names().into_iter().flat_map(spell).collect()
    }

    /// Returns the name that refers to this entry even if another one has the same name.
    pub fn qualified(&self) -> String {
        let (scope, dialect) = (self.scope.as_str(), self.file.dialect.as_str());
        format!("{scope}:{dialect}:{}", self.name)
    }
}

/// The reason why a name refers to no agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNotFound {
    /// The most similar name.
    pub near: Option<Box<str>>,
}

impl AgentRoster {
    /// Combines files. Earlier files win within a scope, and the project wins over the user.
    pub fn new(files: impl IntoIterator<Item = (AgentScope, AgentFile)>) -> Self {
        let mut files: Vec<(AgentScope, Arc<AgentFile>)> = files
            .into_iter()
            .map(|(scope, file)| (scope, Arc::new(file)))
            .collect();
        files.sort_by_key(|(scope, _)| *scope);
        let mut entries: Vec<RosterEntry> = Vec::new();
        let mut firsts: BTreeMap<Box<str>, usize> = BTreeMap::new();
        for (scope, file) in files {
            // The session itself leads a roster, whose agents are addressed directly.
            let team = file.team.as_ref().filter(|team| team.entry.is_some());
            let mut add = |name: String, agent| {
                let name: Box<str> = name.into();
                let shadowed_by = firsts.get(&name).copied();
                firsts.entry(name.clone()).or_insert(entries.len());
                entries.push(RosterEntry {
                    name,
                    scope,
                    file: Arc::clone(&file),
                    agent,
                    shadowed_by,
                });
            };
            if let Some(team) = team {
                add(team.name.to_string(), None);
            }
            for (number, agent) in file.agents.iter().enumerate() {
                let name = match team {
                    Some(team) => format!("{}/{}", team.name, agent.name),
                    None => agent.name.to_string(),
                };
                add(name, Some(number));
            }
        }
        Self { entries }
    }

    /// Returns all entries, in order of precedence.
    pub fn entries(&self) -> &[RosterEntry] {
        &self.entries
    }

    /// Finds an entry by its name, by `SCOPE:NAME`, `DIALECT:NAME` or `SCOPE:DIALECT:NAME`.
    pub fn resolve(&self, name: &str) -> Result<&RosterEntry, AgentNotFound> {
        let exact = self
            .entries
            .iter()
            .find(|entry| *entry.name == *name && entry.shadowed_by.is_none());
        let qualified = || {
            self.entries.iter().find(|entry| {
                let (scope, dialect) = (entry.scope.as_str(), entry.file.dialect.as_str());
                let rest = strip(name, scope).unwrap_or(name);
                let rest = strip(rest, dialect).unwrap_or(rest);
                rest.len() < name.len() && rest == &*entry.name
            })
        };
        // Names contain no colon, so a qualified name is never the name of another agent.
        exact.or_else(qualified).ok_or_else(|| AgentNotFound {
            near: suggest::nearest(name, self.entries.iter().map(|entry| &*entry.name))
                .map(Into::into),
        })
    }
}

/// Removes a qualifier and its colon.
fn strip<'n>(name: &'n str, qualifier: &str) -> Option<&'n str> {
    name.strip_prefix(qualifier)?.strip_prefix(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, ProjectFiles, read};
    use prowess_spec::ReadFault;

    struct NoFiles;

    impl ProjectFiles for NoFiles {
        fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
            Err(ReadFault::Missing)
        }
    }

    fn claude(name: &str, description: &str) -> AgentFile {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nx\n");
        let path = format!(".claude/agents/{name}.md");
        read(Dialect::Claude, &path, text.as_bytes(), &NoFiles)
    }

    #[test]
    fn project_wins_and_both_are_reachable() {
        let roster = AgentRoster::new([
            (AgentScope::User, claude("reviewer", "mine")),
            (AgentScope::Project, claude("reviewer", "theirs")),
            (AgentScope::User, claude("writer", "w")),
        ]);
        let of = |name: &str| {
            let entry = roster.resolve(name).ok()?;
            Some(entry.agent()?.description.to_string())
        };
        assert_eq!(of("reviewer").unwrap(), "theirs");
        assert_eq!(of("user:reviewer").unwrap(), "mine");
        assert_eq!(of("claude:reviewer").unwrap(), "theirs");
        assert_eq!(of("user:claude:reviewer").unwrap(), "mine");
        assert_eq!(of("codex:reviewer"), None);
        assert_eq!(roster.entries()[1].shadowed_by, Some(0));
        assert_eq!(roster.entries()[1].qualified(), "user:claude:reviewer");
        let near = roster.resolve("reviewr").unwrap_err().near;
        assert_eq!(near.as_deref(), Some("reviewer"));
    }

    #[test]
    fn team_is_addressed_by_its_name_and_members_below_it() {
        let text = r#"{"name": "dev", "members": [
            {"type": "orchestrator", "provider": "p", "model_id": "m", "description": "leads"},
            {"type": "builder", "provider": "p", "model_id": "m"}]}"#;
        let path = ".planck/teams/dev/TEAM.json";
        let team = read(Dialect::Planck, path, text.as_bytes(), &NoFiles);
        let roster = AgentRoster::new([(AgentScope::Project, team)]);
        let names: Vec<&str> = roster.entries().iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["dev", "dev/orchestrator", "dev/builder"]);
        let team = roster.resolve("dev").unwrap();
        assert!(team.team().is_some());
        assert_eq!(&*team.agent().unwrap().description, "leads");
        assert!(roster.resolve("dev/builder").unwrap().team().is_none());
        assert!(roster.resolve("builder").is_err());
    }
}
