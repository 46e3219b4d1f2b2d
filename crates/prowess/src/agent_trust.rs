//! Trust in the agent files of a project.

use std::path::Path;

use prowess_flow::{AgentFile, AgentScope};
use prowess_tools::AgentFileTrust;
use prowess_trust::TrustStore;

/// Lets the agents of the user run, and those of a project whose file the user trusted.
#[derive(Debug)]
pub struct RecordedAgentTrust {
    /// The trust store of the user. Without it, no file of a project is trusted.
    pub store: Option<TrustStore>,
}

impl AgentFileTrust for RecordedAgentTrust {
    /// The one place that decides whether the agents of a file may run.
    fn is_trusted(&self, scope: AgentScope, _root: &Path, _file: &AgentFile) -> bool {
        match scope {
            AgentScope::User => true,
            // There is no record for agent files yet.
            AgentScope::Project => false,
        }
    }
}
