//! Every environment variable we read, in one place. Nothing else in the workspace reads one.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy;

/// Every variable we read, and what it does; the documentation is made from this table.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    (
        "PROWESS_HOME",
        "One folder for configuration and data, instead of the usual ones",
    ),
    (
        "PROWESS_CONFIG_FILE",
        "The user's configuration file (default: `config.toml` in the configuration folder)",
    ),
    (
        "PROWESS_STORE_URL",
        "Where the use of skills is remembered: `sqlite:PATH` (default: `prowess.db` in the data folder)",
    ),
    (
        "PROWESS_SKILLS_PATH",
        "More folders with skills, separated like `PATH`",
    ),
    (
        "PROWESS_NO_PROGRESS",
        "Show no progress on the terminal when set to `1` or `true`",
    ),
    (
        "PROWESS_LOG",
        "What to tell on standard error, like `prowess=debug`",
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "The collector that gets spans, in builds with the feature `otel`",
    ),
    ("NO_COLOR", "Print no colours when set to anything"),
    (
        "CLICOLOR_FORCE",
        "Print colours even when the output is not a terminal",
    ),
    (
        "COLUMNS",
        "Width of the terminal, instead of what the terminal reports",
    ),
];

/// What the process was started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The command line.
    pub(crate) arguments: Vec<OsString>,
    /// The current folder.
    pub(crate) current: PathBuf,
    /// The home folder.
    pub(crate) home: Option<PathBuf>,
    /// Where configuration of all programs lies.
    pub(crate) config_home: Option<PathBuf>,
    /// Where data of all programs lies.
    pub(crate) data_home: Option<PathBuf>,
    /// Where state of all programs lies.
    pub(crate) state_home: Option<PathBuf>,
    /// Where caches of all programs lie.
    pub(crate) cache_home: Option<PathBuf>,
    /// `PROWESS_HOME`
    pub(crate) prowess_home: Option<PathBuf>,
    /// `PROWESS_STORE_URL`
    pub(crate) store_url: Option<String>,
    /// `PROWESS_CONFIG_FILE`
    pub(crate) config_file: Option<PathBuf>,
    /// `PROWESS_SKILLS_PATH`
    pub(crate) skills_path: Vec<PathBuf>,
    /// `PROWESS_NO_PROGRESS`
    pub(crate) no_progress: bool,
    /// `COLUMNS`
    pub(crate) columns: Option<usize>,
    /// Every variable; a few of them reach commands that are run.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// This program as the helper that stands round one command.
    pub(crate) helper: Option<prowess_sandbox::Helper>,
}

impl Environment {
    /// Reads what there is; what is missing stays empty.
    pub(crate) fn read() -> Self {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let text = |name: &str| std::env::var(name).ok();
        let base = etcetera::base_strategy::Xdg::new().ok();
        Self {
            arguments: std::env::args_os().collect(),
            current: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
            config_home: base.as_ref().map(BaseStrategy::config_dir),
            data_home: base.as_ref().map(BaseStrategy::data_dir),
            state_home: base.as_ref().and_then(BaseStrategy::state_dir),
            cache_home: base.as_ref().map(BaseStrategy::cache_dir),
            prowess_home: path("PROWESS_HOME"),
            store_url: text("PROWESS_STORE_URL").filter(|url| !url.is_empty()),
            config_file: path("PROWESS_CONFIG_FILE"),
            skills_path: std::env::var_os("PROWESS_SKILLS_PATH")
                .map(|value| {
                    std::env::split_paths(&value)
                        .filter(|path| !path.as_os_str().is_empty())
                        .collect()
                })
                .unwrap_or_default(),
            no_progress: text("PROWESS_NO_PROGRESS")
                .is_some_and(|value| matches!(value.as_str(), "1" | "true")),
            columns: text("COLUMNS").and_then(|value| value.parse().ok()),
            variables: std::env::vars_os().collect(),
            helper: None,
        }
    }

    /// Where configuration is looked for.
    pub(crate) fn settings(&self) -> prowess_config::Sources {
        let in_home = || {
            self.prowess_home
                .as_ref()
                .map(|home| home.join("config.toml"))
        };
        let usual = || {
            self.config_home
                .as_ref()
                .map(|home| home.join("prowess/config.toml"))
        };
        prowess_config::Sources {
            current: self.current.clone(),
            home: self.home.clone(),
            user: self.config_file.clone().or_else(in_home).or_else(usual),
            is_named: self.config_file.is_some(),
        }
    }

    /// Where caches are kept; nothing where there is no home.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        let in_home = self.prowess_home.as_ref().map(|home| home.join("cache"));
        in_home.or_else(|| self.cache_home.as_ref().map(|home| home.join("prowess")))
    }

    /// Where trust and other state is kept; nothing where there is no home.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        let in_home = self.prowess_home.as_ref().map(|home| home.join("state"));
        in_home.or_else(|| self.state_home.as_ref().map(|home| home.join("prowess")))
    }

    /// The database; nothing where there is no home.
    pub(crate) fn store_file(&self) -> Option<PathBuf> {
        let named = self.store_url.as_deref();
        let named = named.map(|url| PathBuf::from(url.strip_prefix("sqlite:").unwrap_or(url)));
        let in_home = || self.prowess_home.as_ref().map(|home| home.join("data"));
        let usual = || self.data_home.as_ref().map(|home| home.join("prowess"));
        named.or_else(|| {
            in_home()
                .or_else(usual)
                .map(|folder| folder.join("prowess.db"))
        })
    }

    /// Runs commands in the sandbox, with the programs that the user's settings name.
    pub(crate) fn runner(
        &self,
        config: &prowess_config::Config,
    ) -> Option<prowess_sandbox::Runner> {
        let helper = self.helper.clone()?;
        let runner = prowess_sandbox::Runner::new(helper);
        let runner = runner.search(config.program_folders.iter().cloned());
        Some(runner.inherit(self.variables.iter().cloned()))
    }

    /// Where skills are looked for from here.
    pub(crate) fn place(&self) -> prowess_registry::Place {
        prowess_registry::Place {
            current: self.current.clone(),
            home: self.home.clone(),
            config_home: self.config_home.clone(),
            extra: self.skills_path.clone(),
            project_extra: Vec::new(),
            only: None,
        }
    }
}
