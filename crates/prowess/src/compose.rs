//! Puts a workshop together from settings and folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prowess_catalog::Policy;
use prowess_config::Config;
use prowess_policy::{Gate, WorkspacePaths as GatePlaces};
use prowess_registry::Registry;
use prowess_tools::{Places, Settings, Workshop};
use prowess_traits::Clock;
use prowess_trust::TrustStore;

/// Where the host keeps things. Nothing here is looked up: a library does not read the home folder.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The project.
    pub workspace: PathBuf,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// Where state is kept, such as trust; nothing to trust nobody.
    pub state: Option<PathBuf>,
    /// Further folders of our own, which no command may touch.
    pub ours: Vec<PathBuf>,
}

impl Host {
    /// The gate with the rules of the settings.
    pub fn gate(&self, config: &Config) -> Gate {
        let spell = |path: &Path| path.to_string_lossy().into_owned().into();
        let mut gate = Gate {
            rules: config.permissions.clone(),
            mode: config.mode.unwrap_or_default(),
            ..Gate::default()
        };
        gate.places = GatePlaces {
            root: spell(&self.workspace),
            cwd: None,
            home: self
                .home
                .as_deref()
                .map_or_else(|| gate.places.home.clone(), spell),
        };
        gate
    }

    /// Where trust is kept.
    pub fn trust(&self) -> Option<TrustStore> {
        self.state
            .as_ref()
            .map(|folder| TrustStore::new(folder.join("trust")))
    }

    /// A workshop with the rules of the settings and the trust of the person. It runs nothing until
    /// it is given a runner.
    pub fn workshop(
        &self,
        registry: &Registry,
        config: &Config,
        visibility: Policy,
        clock: Arc<dyn Clock>,
    ) -> Workshop {
        let mut ours: Vec<PathBuf> = self.state.iter().cloned().collect();
        ours.extend(self.ours.iter().cloned());
        Workshop {
            visibility,
            gate: Mutex::new(self.gate(config)),
            trust: self.trust(),
            places: Places {
                workspace: self.workspace.clone(),
                home: self.home.clone().unwrap_or_default(),
                ours,
                outputs: self.state.as_ref().map(|folder| folder.join("outputs")),
            },
            settings: Settings {
                strength: config.sandbox.unwrap_or_default(),
                commands: config.skill_commands.unwrap_or(true),
                confine: config.confine.unwrap_or(false),
                deadline_ms: config
                    .timeout
                    .map_or(Settings::default().deadline_ms, |seconds| {
                        u64::try_from(seconds)
                            .unwrap_or(u64::MAX)
                            .saturating_mul(1000)
                    }),
                ..Settings::default()
            },
            ..Workshop::reading(Arc::new(registry.clone()), clock)
        }
    }
}
