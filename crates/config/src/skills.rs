//! What the settings say about skills: where they are, who sees them, how much room they get.

use std::path::PathBuf;

use prowess_catalog::index::{self, Budget, Limit};
use prowess_catalog::visibility::GrantFault;
use prowess_catalog::{Catalog, Grant, NotFound, Visibility};
use prowess_registry::Place;

use crate::Config;

/// Why there is no policy for an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentFault {
    /// The configuration does not define it.
    #[error("no agent named `{name}`")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The nearest one there is.
        near: Option<String>,
    },
    /// It is given skills that do not exist.
    #[error("the agent `{name}` is given what is not there")]
    Grant {
        /// Its name.
        name: String,
        /// What is wrong.
        source: GrantFault,
    },
}

impl Config {
    /// Returns where skills are looked for. What was typed counts more than the environment, which
    /// is already in `place`, and that more than files.
    #[must_use]
    pub fn place(&self, typed: &[PathBuf], mut place: Place) -> Place {
        let environment = std::mem::take(&mut place.extra);
        place.extra = [typed, &environment, &self.dirs].concat();
        place.project_extra.clone_from(&self.project_dirs);
        place
    }

    /// Returns what decides about visibility, for an agent or for everybody.
    pub fn policy(&self, agent: Option<&str>, catalog: &Catalog) -> Result<Visibility, AgentFault> {
        let grant = match agent {
            None => Grant::default(),
            Some(name) => self.agents.get(name).cloned().ok_or_else(|| {
                let known = self.agents.keys().map(String::as_str);
                let near = prowess_diag::suggest::nearest(name, known).map(str::to_owned);
                AgentFault::Unknown {
                    name: name.to_owned(),
                    near,
                }
            })?,
        };
        grant.check(catalog).map_err(|source| AgentFault::Grant {
            name: agent.unwrap_or_default().to_owned(),
            source,
        })?;
        Ok(Visibility {
            overrides: self.visibility.clone(),
            grant,
            touched: None,
        })
    }

    /// Returns how long the listing of skills in a prompt may be, in tokens: what was asked for,
    /// else what is configured, else a hundredth of the window.
    pub fn budget(&self, tokens: Option<usize>, window: Option<usize>) -> Budget {
        let window = window.or(self.window).unwrap_or(index::DEFAULT_WINDOW);
        let mut budget = Budget::of_window(window, index::DEFAULT_FRACTION);
        if let Some(tokens) = tokens.or(self.budget) {
            budget.limit = Limit::Tokens(tokens);
        }
        if let Some(characters) = self.entry_characters {
            budget.entry_chars = characters;
        }
        budget
    }

    /// Returns the names in the settings that mean no skill, but nearly do, and how they are
    /// written. One that is far from all others may be a skill of another project.
    pub fn unknown_names(&self, catalog: &Catalog) -> Vec<(String, NotFound)> {
        let settings = self
            .visibility
            .keys()
            .map(|name| (format!("`skills.visibility.{name}`"), name));
        let denied = self.agents.iter().flat_map(|(agent, grant)| {
            grant
                .deny
                .iter()
                .map(move |name| (format!("`{name}` in `agents.{agent}.deny`"), name))
        });
        let faults = settings
            .chain(denied)
            .filter_map(|(written, name)| Some((written, catalog.resolve(name).err()?)));
        faults.filter(|(_, fault)| !fault.near.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_before_the_environment_and_files() {
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
    fn a_budget_that_was_asked_for_counts_more_than_a_configured_one() {
        let config = Config {
            budget: Some(9),
            entry_characters: Some(7),
            ..Config::default()
        };
        assert_eq!(config.budget(Some(3), None).limit, Limit::Tokens(3));
        assert_eq!(config.budget(None, None).limit, Limit::Tokens(9));
        assert_eq!(config.budget(None, None).entry_chars, 7);
    }

    #[test]
    fn an_agent_that_nobody_defined_is_named_with_its_neighbour() {
        let mut config = Config::default();
        config.agents.insert("writer".to_owned(), Grant::default());
        let catalog = Catalog::default();
        assert!(config.policy(Some("writer"), &catalog).is_ok());
        let Err(AgentFault::Unknown { near, .. }) = config.policy(Some("writr"), &catalog) else {
            panic!("an unknown agent");
        };
        assert_eq!(near.as_deref(), Some("writer"));
    }
}
