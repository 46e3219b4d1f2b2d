//! Settings about skills: their locations, visibility and share of the prompt.

use std::path::PathBuf;

use prowess_catalog::index::{self, HintOptions, IndexBudget, IndexLimit, Listing};
use prowess_catalog::visibility::{LoadRules, SkillGrantFault};
use prowess_catalog::{Catalog, SkillGrant, SkillNotFound, Visibility};
use prowess_policy::LoadableSkills;
use prowess_registry::{Place, WalkOptions};

use crate::Config;

/// An unusable agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent is not defined.
    #[error("no agent named `{name}`")]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// The agent refers to skills that do not exist.
    #[error("invalid skills for agent `{name}`")]
    Grant {
        /// The name.
        name: String,
        /// The cause.
        source: SkillGrantFault,
    },
}

impl Config {
    /// Returns the locations of skills. Typed folders come first, then those of the environment,
    /// which are already in `place`, then those of files.
    #[must_use]
    pub fn place(&self, typed: &[PathBuf], mut place: Place) -> Place {
        let environment = std::mem::take(&mut place.extra);
        place.extra = [typed, &environment, &self.dirs].concat();
        place.project_extra.clone_from(&self.project_dirs);
        place
    }

    /// Returns the limits of the search for skills.
    pub fn walk(&self) -> WalkOptions {
        let mut walk = WalkOptions::default();
        if let Some(folders) = self.max_folders {
            walk.max_folders = folders;
            walk.max_linked_folders = folders;
        }
        walk
    }

    /// Returns the visibility of skills for an agent, or without one.
    pub fn policy(&self, agent: Option<&str>, catalog: &Catalog) -> Result<Visibility, AgentError> {
        let grant = match agent {
            None => SkillGrant::default(),
            Some(name) => self.agents.get(name).cloned().ok_or_else(|| {
                let known = self.agents.keys().map(String::as_str);
                let near = prowess_diag::suggest::nearest(name, known).map(str::to_owned);
                AgentError::Unknown {
                    name: name.to_owned(),
                    near,
                }
            })?,
        };
        grant.check(catalog).map_err(|source| AgentError::Grant {
            name: agent.unwrap_or_default().to_owned(),
            source,
        })?;
        Ok(Visibility {
            locked: None,
            overrides: self.visibility.clone(),
            grant,
            only: self.only.clone(),
            rules: {
                let mode = self.mode.unwrap_or_default();
                let LoadableSkills { denied, allowed } = self.permissions.loadable_skills(mode);
                LoadRules { denied, allowed }
            },
            touched: None,
            search_waiting: false,
        })
    }

    /// Returns the maximum size of the skill index in a prompt: the requested number of tokens, the
    /// configured one, or one percent of the window.
    pub fn budget(&self, tokens: Option<usize>, window: Option<usize>) -> IndexBudget {
        let window = window.or(self.window).unwrap_or(index::DEFAULT_WINDOW);
        let mut budget = IndexBudget::of_window(window, index::DEFAULT_FRACTION);
        if let Some(tokens) = tokens.or(self.budget) {
            budget.limit = IndexLimit::Tokens(tokens);
        }
        if let Some(characters) = self.entry_characters {
            budget.entry_chars = characters;
        }
        budget
    }

    /// Returns the skills that the index lists: all, or the pinned and last used ones.
    pub fn listing(&self) -> Listing {
        let last_used = self.last_used.unwrap_or(index::LAST_USED);
        if self.sections == Some(true) {
            Listing::Sections { last_used }
        } else {
            Listing::All { last_used }
        }
    }

    /// Returns the limits of hints; `None` if they are disabled.
    pub fn hint(&self) -> Option<HintOptions> {
        let usual = HintOptions::default();
        self.hint.unwrap_or(true).then(|| HintOptions {
            skills: self.hint_skills.unwrap_or(usual.skills),
            tokens: self.hint_tokens.unwrap_or(usual.tokens),
        })
    }

    /// Returns the names in the settings that are not skills but similar to one, as written. A name
    /// that is similar to none may be a skill of another project.
    pub fn unknown_names(&self, catalog: &Catalog) -> Vec<(String, SkillNotFound)> {
        let settings = self
            .visibility
            .keys()
            .map(|name| (format!("`skills.visibility.{name}`"), name));
        let only =
            (self.only.iter().flatten()).map(|name| (format!("`{name}` in `skills.only`"), name));
        let denied = self.agents.iter().flat_map(|(agent, grant)| {
            grant
                .deny
                .iter()
                .map(move |name| (format!("`{name}` in `agents.{agent}.deny`"), name))
        });
        let faults = settings
            .chain(only)
            .chain(denied)
            .filter_map(|(written, name)| Some((written, catalog.resolve(name).err()?)));
        faults.filter(|(_, fault)| !fault.near.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_folders_come_before_environment_and_files() {
        let config = Config {
            dirs: vec!["files".into()],
            project_dirs: vec!["project".into()],
            ..Config::default()
        };
        let place = Place {
            extra: vec!["environment".into()],
            ..Place::default()
        };
        let place = config.place(&["typed".into()], place);
        assert_eq!(
            place.extra,
            ["typed", "environment", "files"].map(PathBuf::from)
        );
        assert_eq!(place.project_extra, [PathBuf::from("project")]);
    }

    #[test]
    fn requested_budget_overrides_configured_budget() {
        let config = Config {
            budget: Some(9),
            entry_characters: Some(7),
            ..Config::default()
        };
        assert_eq!(config.budget(Some(3), None).limit, IndexLimit::Tokens(3));
        assert_eq!(config.budget(None, None).limit, IndexLimit::Tokens(9));
        assert_eq!(config.budget(None, None).entry_chars, 7);
    }

    #[test]
    fn unknown_agent_is_reported_with_a_suggestion() {
        let mut config = Config::default();
        config
            .agents
            .insert("writer".to_owned(), SkillGrant::default());
        let catalog = Catalog::default();
        assert!(config.policy(Some("writer"), &catalog).is_ok());
        let Err(AgentError::Unknown { near, .. }) = config.policy(Some("writr"), &catalog) else {
            panic!("an unknown agent");
        };
        assert_eq!(near.as_deref(), Some("writer"));
    }
}
