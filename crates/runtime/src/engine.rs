//! What sessions share.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use prowess_agent::{Budget, Effort};
use prowess_catalog::{SkillGrant, index};
use prowess_tools::{Tool, Workshop};
use prowess_traits::{Clock, Model, SessionStore};

use crate::error::RuntimeError;
use crate::watch::{Update, Watcher};

/// Finds models by name, for skills and sub-runs that ask for one.
pub trait Models: Send + Sync + Debug {
    /// Finds a model; the error says why not.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, String>;
}

/// What sessions share. Clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) parts: Arc<Parts>,
}

/// What an engine is made of.
#[derive(Debug)]
pub struct Parts {
    /// The model that is asked, unless a skill or a sub-run wants another.
    pub model: Arc<dyn Model>,
    /// Finds other models.
    pub models: Option<Arc<dyn Models>>,
    /// Where sessions are written down.
    pub store: Arc<dyn SessionStore>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Skills, rules, trust, whom to ask. Each session works with a copy.
    pub workshop: Workshop,
    /// Tools beside those for skills.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that are declared while a loaded skill names them in `allowed-tools`.
    pub tools_of_skills: Vec<Arc<dyn Tool>>,
    /// Who sees what happens.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// What can be chosen.
    pub settings: Settings,
}

/// What can be chosen for sessions.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the model is told about its work.
    pub instructions: String,
    /// What the project tells every agent: its `AGENTS.md`.
    pub project_notes: Option<String>,
    /// What a session may use.
    pub budget: Budget,
    /// What a sub-run may use, unless it says so itself.
    pub sub_budget: Budget,
    /// How hard models think.
    pub effort: Option<Effort>,
    /// How long the index may be.
    pub index: index::IndexBudget,
    /// Which skills get a line in it.
    pub listing: index::Listing,
    /// Whether the tools list has Agentick's `skill` beside `load_skill`.
    pub skill_tool: bool,
    /// Whether providers are asked to remember the beginning of conversations.
    pub cache: bool,
    /// Whether skills may work in the background (`background: true`); else they are waited for.
    pub background: bool,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// The agents that skills may name in `agent`, beside `general-purpose`, `Explore` and `Plan`, and
    /// which skills each was given. A name of those three takes skills away from that one.
    pub agents: BTreeMap<Box<str>, SkillGrant>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instructions: crate::INSTRUCTIONS.trim().to_owned(),
            project_notes: None,
            budget: Budget::turns(50),
            sub_budget: Budget::default(),
            effort: None,
            index: index::IndexBudget::default(),
            listing: index::Listing::default(),
            skill_tool: false,
            cache: true,
            background: false,
            max_tokens: None,
            agents: BTreeMap::new(),
        }
    }
}

impl Engine {
    /// Makes an engine.
    pub fn new(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    /// What it is made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The model that is asked where nobody says otherwise.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.parts.model
    }

    /// Finds a model by name.
    pub(crate) fn find_model(&self, name: &str) -> Result<Arc<dyn Model>, RuntimeError> {
        let name = name.trim();
        if name.is_empty() || name == "inherit" || *name == *self.parts.model.about().name {
            return Ok(Arc::clone(&self.parts.model));
        }
        let found = match &self.parts.models {
            Some(models) => models.find(name),
            None => Err("this program has one model only".to_owned()),
        };
        found.map_err(|why| RuntimeError::NoModel {
            name: name.into(),
            why,
        })
    }

    pub(crate) fn tell(&self, session: &str, depth: u8, update: Update<'_>) {
        for watcher in &self.parts.watchers {
            watcher.update(session, depth, update);
        }
    }
}
