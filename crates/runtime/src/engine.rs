//! The engine: services and settings shared by sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess_agent::{RunLimit, TokenUsage};
use prowess_tools::names::SKILL_TOOLS;
use prowess_tools::{Services, Settings, Tool, ToolContext};
use prowess_traits::{FindModelError, Model, SessionStore, Update};

use crate::agent_profile::PreparedAgent;
use crate::budget_meter::BudgetMeter;
use crate::error::RuntimeError;

/// The services, settings and rules that sessions share. Clones refer to the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    model: Arc<dyn Model>,
    sessions: Arc<dyn SessionStore>,
    context: ToolContext,
    mission: Option<MissionParts>,
}

/// What the sessions of a mission's task have in common.
#[derive(Clone, Debug)]
pub(crate) struct MissionParts {
    /// The agents of the mission, by the names that find them.
    pub(crate) agents: Arc<BTreeMap<Box<str>, PreparedAgent>>,
    /// The models of the agents, by name.
    pub(crate) models: Arc<BTreeMap<Box<str>, Arc<dyn Model>>>,
    pub(crate) meter: Arc<BudgetMeter>,
    /// Maximum number of agents that one reply starts at a time.
    pub(crate) parallel: usize,
}

impl Engine {
    /// Creates an engine. The services must include a model and a session store. Each session works
    /// with a copy of the context.
    pub fn new(mut context: ToolContext) -> Result<Self, RuntimeError> {
        context.settings.known_tools = Some(tool_names(&context.services));
        let Services {
            model, sessions, ..
        } = &context.services;
        let model = model
            .as_ref()
            .ok_or(RuntimeError::Missing { service: "model" })?;
        let sessions = sessions.as_ref();
        let sessions = sessions.ok_or(RuntimeError::Missing {
            service: "session store",
        })?;
        let shared = Shared {
            model: Arc::clone(model),
            sessions: Arc::clone(sessions),
            context,
            mission: None,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns an engine for the sessions of a mission's task.
    pub(crate) fn for_mission(&self, parts: MissionParts, tools: &[Arc<dyn Tool>]) -> Self {
        let mut context = self.context().derive();
        for tool in tools {
            // A tool that is otherwise there only with a skill is a tool of the agents that list it.
            let services = &mut context.services;
            for known in [&mut services.tools, &mut services.skill_tools] {
                known.retain(|known| known.name() != tool.name());
            }
            services.tools.push(Arc::clone(tool));
        }
        context.settings.known_tools = Some(tool_names(&context.services));
        let shared = Shared {
            model: Arc::clone(self.model()),
            sessions: Arc::clone(self.sessions()),
            context,
            mission: Some(parts),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the parts of the mission that sessions of this engine belong to.
    pub(crate) fn mission(&self) -> Option<&MissionParts> {
        self.shared.mission.as_ref()
    }

    /// Counts the usage of a request against the budgets of a mission.
    pub(crate) fn spend(&self, usage: &TokenUsage) {
        if let Some(parts) = self.mission() {
            parts.meter.add(usage);
        }
    }

    /// Returns the limit of a mission that is reached. No request is sent then.
    pub(crate) fn reached_limit(&self) -> Option<RunLimit> {
        self.mission()?.meter.limit()
    }

    /// Returns the context that sessions start with.
    pub fn context(&self) -> &ToolContext {
        &self.shared.context
    }

    /// Returns the services of the program.
    pub fn services(&self) -> &Services {
        &self.shared.context.services
    }

    /// Returns the settings of the program.
    pub fn settings(&self) -> &Settings {
        &self.shared.context.settings
    }

    /// Returns the session store.
    pub fn sessions(&self) -> &Arc<dyn SessionStore> {
        &self.shared.sessions
    }

    /// Returns the default model, used unless a skill or a caller names another one.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.shared.model
    }

    /// Finds a model by name.
    pub(crate) fn find_model(&self, name: &str) -> Result<Arc<dyn Model>, RuntimeError> {
        let name = name.trim();
        if name.is_empty() || name == "inherit" || *name == *self.model().about().name {
            return Ok(Arc::clone(self.model()));
        }
        let own = self.mission().and_then(|parts| parts.models.get(name));
        if let Some(model) = own {
            return Ok(Arc::clone(model));
        }
        let found = match &self.services().models {
            Some(models) => models.find(name),
            None => Err(FindModelError::OnlyOne),
        };
        found.map_err(|source| RuntimeError::NoModel {
            name: name.into(),
            source,
        })
    }

    pub(crate) fn tell(&self, session: &str, depth: u8, update: Update<'_>) {
        for watcher in &self.services().watchers {
            watcher.update(session, depth, update);
        }
    }
}

/// Returns the names of all tools that a session can have.
fn tool_names(services: &Services) -> Arc<[Box<str>]> {
    let own = services.tools.iter().chain(&services.skill_tools);
    let owned = services.owned_tools.iter().map(|owned| &owned.tool);
    let own = own.chain(owned).map(|tool| tool.name());
    let mut names: Vec<Box<str>> = Vec::new();
    for name in SKILL_TOOLS.into_iter().chain(own) {
        if !names.iter().any(|known| **known == *name) {
            names.push(name.into());
        }
    }
    names.into()
}
