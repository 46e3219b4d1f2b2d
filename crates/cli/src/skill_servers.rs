//! The MCP servers of the person as sources of packages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_diag::sanitize;
use prowess_mcp::{Client, ClientPlace, harmless};
use prowess_traits::{OfferedSkills, SkillServerError, SkillServers};

use crate::commands::mcp_servers::{self, Configured};
use crate::env::Environment;
use crate::runtime_setup::{Variables, model_settings, variables};
use crate::visible_skills;

/// Asks the servers of the person's own settings. The servers of a project's files are not used: its
/// manifest must not start programs that it brings along.
pub(crate) struct OwnServers {
    environment: Environment,
    clients: Mutex<BTreeMap<String, Arc<StartedServer>>>,
}

/// A server that was started, with what its errors must not show.
struct StartedServer {
    client: Client,
    configured: Configured,
}

impl fmt::Debug for OwnServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnServers")
    }
}

impl OwnServers {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            environment: environment.clone(),
            clients: Mutex::default(),
        }
    }

    /// Starts a server at its first use.
    fn started(&self, server: &str) -> Result<Arc<StartedServer>, SkillServerError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(server) {
            return Ok(Arc::clone(known));
        }
        let failed = |message: String| SkillServerError::Failed {
            server: server.to_owned(),
            message,
        };
        let (config, _) = visible_skills::settings(&self.environment)
            .map_err(|failure| failed(failure.message))?;
        let variables: Variables = variables(&self.environment);
        let home = self.environment.home.as_deref();
        let mut configured = mcp_servers::of_person(&config, home, &variables);
        configured.keep_only(server);
        let Some(settings) = configured.first() else {
            return Err(match configured.note_about(server) {
                Some(note) => failed(note),
                None => SkillServerError::Unknown {
                    server: server.to_owned(),
                },
            });
        };
        let place = ClientPlace {
            folder: mcp_servers::neutral_folder(home),
            environment: harmless()
                .filter_map(|name| Some((name.to_owned(), variables(name)?)))
                .collect(),
            http: Some(
                model_settings(&variables)
                    .map_err(|failure| failed(failure.message))?
                    .http,
            ),
        };
        let client = Client::connect(std::slice::from_ref(settings), &place)
            .map_err(|error| failed(format!("cannot start the MCP client: {error}")))?;
        let started = Arc::new(StartedServer { client, configured });
        clients.insert(server.to_owned(), Arc::clone(&started));
        Ok(started)
    }
}

impl StartedServer {
    /// Removes secrets from an error.
    fn redacted(&self, error: SkillServerError) -> SkillServerError {
        match error {
            SkillServerError::Failed { server, message } => SkillServerError::Failed {
                server,
                message: sanitize::line(&self.configured.redacted(&message)).into_owned(),
            },
            other => other,
        }
    }
}

impl SkillServers for OwnServers {
    fn list(&self, server: &str) -> Result<OfferedSkills, SkillServerError> {
        let started = self.started(server)?;
        let offered = started.client.offered_skills(server);
        offered.map_err(|error| started.redacted(error))
    }

    fn read(&self, server: &str, skill: &str, path: &str) -> Result<Vec<u8>, SkillServerError> {
        let started = self.started(server)?;
        let content = started.client.offered_file(server, skill, path);
        content.map_err(|error| started.redacted(error))
    }
}
