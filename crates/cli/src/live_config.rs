//! Changes of the configuration while a session runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_config::{Config, ConfigPaths};
use prowess_tools::{LiveSettings, SettingsSource, SettingsVersion};

use crate::env::Environment;
use crate::targets;

/// The configuration files of the user and of the project.
#[derive(Debug)]
pub(crate) struct ConfigFiles {
    paths: ConfigPaths,
    environment: Environment,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    texts: Vec<(PathBuf, String)>,
    version: SettingsVersion,
}

impl ConfigFiles {
    /// Creates a source that starts with a configuration that was read from the files.
    pub(crate) fn new(environment: &Environment, config: &Config) -> Self {
        let paths = environment.settings();
        let state = State {
            texts: prowess_config::texts(&paths),
            version: SettingsVersion {
                settings: Arc::new(live(config)),
                ..SettingsVersion::default()
            },
        };
        Self {
            paths,
            environment: environment.clone(),
            state: Mutex::new(state),
        }
    }

    /// Returns the settings in the changed files, and a message for the user. Files with errors
    /// change nothing.
    fn read(&self) -> (Option<LiveSettings>, String) {
        let show = |path: &Path| targets::display(path, &self.environment);
        let loaded = prowess_config::load(&self.paths, &show);
        match loaded.faults.first() {
            Some(fault) => (
                None,
                format!("{fault}; the previous settings stay in effect. Run `prowess doctor`"),
            ),
            None => (
                Some(live(&loaded.config)),
                "the configuration changed; restrictions apply now, new permissions from the next start".to_owned(),
            ),
        }
    }
}

impl SettingsSource for ConfigFiles {
    fn current(&self) -> SettingsVersion {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = prowess_config::texts(&self.paths);
        if texts != state.texts {
            state.texts = texts;
            let (settings, message) = self.read();
            state.version.number += 1;
            state.version.message = Some(message.into());
            if let Some(settings) = settings {
                state.version.settings = Arc::new(settings);
            }
        }
        state.version.clone()
    }
}

/// Returns the settings that running sessions follow.
fn live(config: &Config) -> LiveSettings {
    LiveSettings {
        rules: config.permissions.clone(),
        mode: config.mode.unwrap_or_default(),
        overrides: config.visibility.clone(),
        only: config.only.clone(),
        commands: config.skill_commands.unwrap_or(true),
        confine: config.confine.unwrap_or_default(),
    }
}
