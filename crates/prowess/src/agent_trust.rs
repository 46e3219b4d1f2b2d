//! Trust in the agent files of a project.

use std::path::PathBuf;

use prowess_flow::{AgentFile, AgentScope};
use prowess_tools::AgentFileTrust;
use prowess_trust::{AgentTrust, TrustStore};

/// Lets the agents of the user run, and those of a project whose file the user trusted.
#[derive(Debug)]
pub struct RecordedAgentTrust {
    /// The trust store of the user. Without it, no file of a project is trusted.
    pub store: Option<TrustStore>,
    /// The folder in which agents work.
    pub project: PathBuf,
}

impl AgentFileTrust for RecordedAgentTrust {
    /// The one place that decides whether the agents of a file may run.
    fn is_trusted(&self, scope: AgentScope, file: &AgentFile) -> bool {
        AgentTrust::new(scope, file, self.store.as_ref(), &self.project)
            .is_ok_and(|trust| trust.is_trusted())
    }
}
