//! Builds settings and a context from a configuration and folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prowess_config::Config;
use prowess_policy::{Gate, NamedPath, WorkspacePaths};
use prowess_tools::{Services, Settings, ToolContext, ToolPaths};
use prowess_trust::{PackageLocks, TrustStore};

/// The folders of a host program. The library does not look them up itself, not even the home
/// folder.
#[derive(Clone, Debug, Default)]
pub struct HostPaths {
    /// The project.
    pub workspace: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The folder for state such as trust. If `None`, no skill is trusted.
    pub state: Option<PathBuf>,
    /// More folders of our own, which commands may not access.
    pub ours: Vec<PathBuf>,
    /// Paths that variables of the user name, from [`NamedPath::of`]. Commands may not write them.
    pub named: Vec<NamedPath>,
    /// The lockfiles that packages are checked against.
    pub packages: Option<Arc<dyn PackageLocks>>,
}

impl HostPaths {
    /// Creates the gate with the rules of a configuration.
    pub fn gate(&self, config: &Config) -> Gate {
        let spell = |path: &Path| path.to_string_lossy().into_owned().into();
        let mut gate = Gate {
            rules: config.permissions.clone(),
            mode: config.mode.unwrap_or_default(),
            ..Gate::default()
        };
        gate.places = WorkspacePaths {
            root: spell(&self.workspace),
            cwd: None,
            home: self
                .home
                .as_deref()
                .map_or_else(|| gate.places.home.clone(), spell),
        };
        gate
    }

    /// Returns the trust store as the project sees it, or `None` if there is no folder for state.
    pub fn trust(&self) -> Option<TrustStore> {
        let folder = self.state.as_ref()?;
        let store = TrustStore::new(folder.join("trust")).in_project(&self.workspace);
        Some(match &self.packages {
            Some(locks) => store.with_locks(Arc::clone(locks)),
            None => store,
        })
    }

    /// Returns the folder for long output, which has a folder for each session.
    pub fn outputs(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|folder| folder.join("outputs"))
    }

    /// Applies these folders and a configuration to settings.
    pub fn apply(&self, config: &Config, settings: &mut Settings) {
        // A path that ends in `/` is a folder.
        let state = self.state.iter().map(|folder| folder.join(""));
        let mut ours: Vec<PathBuf> = state.collect();
        ours.extend(self.ours.iter().cloned());
        settings.paths = ToolPaths {
            workspace: self.workspace.clone(),
            home: self.home.clone().unwrap_or_default(),
            ours,
            outputs: self.outputs(),
            named: self.named.clone(),
        };
        if let Some(strength) = config.sandbox {
            settings.strength = strength;
        }
        settings
            .writable
            .extend(config.writable_folders.iter().cloned());
        if let Some(skill_tool) = config.skill_tool {
            settings.skill_tool = skill_tool;
        }
        if let Some(commands) = config.skill_commands {
            settings.commands = commands;
        }
        if let Some(confine) = config.confine {
            settings.confine = confine;
        }
        if let Some(seconds) = config.timeout {
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            settings.deadline_ms = seconds.saturating_mul(1000);
        }
        for (name, grant) in &config.agents {
            let name: Box<str> = name.as_str().into();
            settings.agents.entry(name).or_insert_with(|| grant.clone());
        }
        for (name, tools) in &config.agent_tools {
            let tools = tools.iter().map(|tool| tool.as_str().into());
            let known = settings.agent_tools.entry(name.as_str().into());
            known.or_insert_with(|| tools.collect());
        }
    }

    /// Creates a context with the rules of a configuration and the trust of the user. Commands run
    /// only if the services have a runner.
    pub fn context(
        &self,
        config: &Config,
        mut services: Services,
        mut settings: Settings,
    ) -> ToolContext {
        self.apply(config, &mut settings);
        services.trust = self.trust();
        let mut gate = self.gate(config);
        gate.approvals = settings.approvals.clone();
        ToolContext {
            services,
            settings,
            gate: Mutex::new(gate),
            acting: None,
        }
    }
}
