//! The engine: services and settings shared by sessions.

use std::sync::Arc;

use prowess_tools::names::SKILL_TOOLS;
use prowess_tools::{Services, Settings, ToolContext};
use prowess_traits::{FindModelError, Model, SessionStore, Update};

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
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
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
