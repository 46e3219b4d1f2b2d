//! All environment variables that are read. No other code in the workspace reads any.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy;
use prowess_policy::NamedPath;
use prowess_policy::profile::is_home_setting;

/// Environment variables with a description; the reference documentation is generated from it.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    (
        "PROWESS_HOME",
        "Folder for configuration, data, state and cache, instead of the XDG folders",
    ),
    (
        "PROWESS_CONFIG_FILE",
        "User configuration file (default: `config.toml` in the configuration folder)",
    ),
    (
        "PROWESS_STORE_URL",
        "Database for sessions and skill usage: `sqlite:PATH` (default: `prowess.db` in the data folder)",
    ),
    (
        "PROWESS_SKILLS_PATH",
        "Additional skill folders, separated like `PATH`; `~` is the home folder",
    ),
    (
        "PLANCK_SKILLS_DIRS",
        "Additional skill folders of Planck, separated like `PATH`",
    ),
    (
        "PLANCK_TEAMS_DIRS",
        "Additional folders with teams of Planck, separated like `PATH`",
    ),
    (
        "PLANCK_DEFAULT_MODEL",
        "Model, unless a flag or the configuration sets one",
    ),
    (
        "PROWESS_VAR_NAME",
        "Value of the variable `name` of a mission",
    ),
    ("TZ", "Time zone of schedules without one"),
    (
        "PROWESS_NO_PROGRESS",
        "Hide progress if set to `1` or `true`",
    ),
    (
        "PROWESS_LOG",
        "Log filter for standard error, e.g. `prowess=debug`",
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTLP endpoint for traces, in builds with the feature `otel`",
    ),
    ("NO_COLOR", "Disable colours if set to any value"),
    (
        "CLICOLOR_FORCE",
        "Use colours even if the output is not a terminal",
    ),
    (
        "COLUMNS",
        "Width of the terminal, overriding the detected width",
    ),
    ("USER", "Name that `prowess answer` records with an answer"),
];

/// Arguments, folders and variables of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The command line.
    pub(crate) arguments: Vec<OsString>,
    /// The current folder.
    pub(crate) current: PathBuf,
    /// The home folder.
    pub(crate) home: Option<PathBuf>,
    /// The configuration folder shared by all programs (`XDG_CONFIG_HOME`).
    pub(crate) config_home: Option<PathBuf>,
    /// The data folder shared by all programs (`XDG_DATA_HOME`).
    pub(crate) data_home: Option<PathBuf>,
    /// The state folder shared by all programs (`XDG_STATE_HOME`).
    pub(crate) state_home: Option<PathBuf>,
    /// The cache folder shared by all programs (`XDG_CACHE_HOME`).
    pub(crate) cache_home: Option<PathBuf>,
    /// `PROWESS_HOME`
    pub(crate) prowess_home: Option<PathBuf>,
    /// `PROWESS_STORE_URL`
    pub(crate) store_url: Option<String>,
    /// `PROWESS_CONFIG_FILE`
    pub(crate) config_file: Option<PathBuf>,
    /// `PROWESS_SKILLS_PATH`
    pub(crate) skills_path: Vec<PathBuf>,
    /// The variables of Planck.
    pub(crate) planck: prowess_config::PlanckVariables,
    /// `PROWESS_NO_PROGRESS`
    pub(crate) no_progress: bool,
    /// `COLUMNS`
    pub(crate) columns: Option<usize>,
    /// All variables; a few of them are passed to sandboxed commands.
    pub(crate) variables: Arc<[(OsString, OsString)]>,
    /// This executable, used as the sandbox helper.
    pub(crate) helper: Option<prowess_sandbox::Helper>,
}

/// Removes relative folders, and those in a project, from a search path. If the project is the home
/// folder, its folders that begin with a dot stay: commands cannot write there.
pub(crate) fn path_outside(path: &OsStr, project: &Path, home: Option<&Path>) -> OsString {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(project);
    let home = home.map(real).filter(|home| home.starts_with(&root));
    let folders = std::env::split_paths(path).filter(|folder| {
        let place = real(folder);
        let is_inside = folder.starts_with(project) || place.starts_with(&root);
        let is_own = home
            .as_ref()
            .is_some_and(|home| is_home_setting(&place, home));
        folder.is_absolute() && (!is_inside || is_own)
    });
    std::env::join_paths(folders).unwrap_or_default()
}

impl Environment {
    /// Reads the environment of the process; missing values stay empty.
    pub(crate) fn read() -> Self {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let paths = |name: &str| {
            let value = std::env::var_os(name).unwrap_or_default();
            let paths = std::env::split_paths(&value);
            paths
                .filter(|path| !path.as_os_str().is_empty())
                .collect::<Vec<_>>()
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
            skills_path: paths("PROWESS_SKILLS_PATH"),
            planck: prowess_config::PlanckVariables {
                skills_dirs: paths("PLANCK_SKILLS_DIRS"),
                teams_dirs: paths("PLANCK_TEAMS_DIRS"),
                default_model: text("PLANCK_DEFAULT_MODEL").filter(|name| !name.is_empty()),
            },
            no_progress: text("PROWESS_NO_PROGRESS")
                .is_some_and(|value| matches!(value.as_str(), "1" | "true")),
            columns: text("COLUMNS").and_then(|value| value.parse().ok()),
            variables: std::env::vars_os().collect(),
            helper: None,
        }
    }

    /// Returns the value of an environment variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.to_str().map(ToOwned::to_owned))
    }

    /// Returns the name of the time zone: `TZ`, or that of the machine.
    pub(crate) fn time_zone(&self) -> String {
        let given = self.variable("TZ").filter(|zone| !zone.is_empty());
        let linked = || {
            let target = std::fs::read_link("/etc/localtime").ok()?;
            let (_, name) = target.to_str()?.split_once("zoneinfo/")?;
            Some(name.to_owned())
        };
        given.or_else(linked).unwrap_or_else(|| "UTC".to_owned())
    }

    /// Returns the locations of configuration files.
    pub(crate) fn settings(&self) -> prowess_config::ConfigPaths {
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
        prowess_config::ConfigPaths {
            current: self.current.clone(),
            home: self.home.clone(),
            user: self.config_file.clone().or_else(in_home).or_else(usual),
            is_named: self.config_file.is_some(),
            planck: self.planck.clone(),
        }
    }

    /// Returns the name of the user, for records.
    pub(crate) fn user(&self) -> String {
        let value = |wanted: &str| {
            let mut all = self.variables.iter();
            let (_, value) = all.find(|(name, _)| name.to_str() == Some(wanted))?;
            value.to_str().filter(|value| !value.is_empty())
        };
        value("USER").unwrap_or("user").to_owned()
    }

    /// Returns the cache folder, or `None` without a home folder.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        let in_home = self.prowess_home.as_ref().map(|home| home.join("cache"));
        in_home.or_else(|| self.cache_home.as_ref().map(|home| home.join("prowess")))
    }

    /// Returns the folder for trust and other state, or `None` without a home folder.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        let in_home = self.prowess_home.as_ref().map(|home| home.join("state"));
        in_home.or_else(|| self.state_home.as_ref().map(|home| home.join("prowess")))
    }

    /// Returns the database file, or `None` without a home folder.
    pub(crate) fn store_file(&self) -> Option<PathBuf> {
        let named = self.store_url.as_deref();
        let named = named.map(|url| PathBuf::from(url.strip_prefix("sqlite:").unwrap_or(url)));
        named.or_else(|| self.data_folder().map(|folder| folder.join("prowess.db")))
    }

    /// Returns the folder for data, or `None` without a home folder.
    pub(crate) fn data_folder(&self) -> Option<PathBuf> {
        let in_home = self.prowess_home.as_ref().map(|home| home.join("data"));
        in_home.or_else(|| self.data_home.as_ref().map(|home| home.join("prowess")))
    }

    /// Returns the runner for sandboxed commands, with the program folders of the configuration.
    pub(crate) fn runner(
        &self,
        config: &prowess_config::Config,
    ) -> Option<prowess_sandbox::Runner> {
        let helper = self.helper.clone()?;
        let runner = prowess_sandbox::Runner::new(helper);
        let runner = runner.search(config.program_folders.iter().cloned());
        Some(runner.inherit(self.variables.iter().cloned()))
    }

    /// Returns the paths that the variables of the user name: commands must not write them.
    pub(crate) fn named_paths(&self) -> Vec<NamedPath> {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| (&**name, &**value));
        NamedPath::of(variables, &self.current, self.home.as_deref())
    }

    /// Returns the variables for programs that Prowess starts without a sandbox. Their search path has
    /// no folders of the project: what is in them may have been written by a command.
    pub(crate) fn program_variables(&self) -> Vec<(OsString, OsString)> {
        let project = crate::permissions::workspace(self);
        let home = self.home.as_deref();
        let variables = self.variables.iter().cloned();
        let variables = variables.map(|(name, value)| match name.to_str() {
            Some("PATH") => (name, path_outside(&value, &project, home)),
            _ => (name, value),
        });
        variables.collect()
    }

    /// Returns the places that are searched for skills.
    pub(crate) fn place(&self) -> prowess_registry::Place {
        prowess_registry::Place {
            current: self.current.clone(),
            home: self.home.clone(),
            config_home: self.config_home.clone(),
            extra: self.skills_path.clone(),
            project_extra: Vec::new(),
            only: None,
            agent_folders: None,
            packages: crate::packages::folders(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_path_of_own_programs_has_no_folders_of_the_project() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        for folder in ["p/.venv/bin", "user/.local/bin", "user/tools"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("p/.venv"), root.join("way")).unwrap();
        let shown = root.display().to_string();
        let path = "R/p/.venv/bin:bin:.::R/way/bin:R/user/.local/bin:R/user/tools:/usr/bin:R/p2";
        let path = path.replace('R', &shown);
        let kept = |project: &str| {
            let home = root.join("user");
            let kept = path_outside(path.as_ref(), &root.join(project), Some(&home));
            kept.into_string().unwrap().replace(&shown, "R")
        };
        assert_eq!(kept("p"), "R/user/.local/bin:R/user/tools:/usr/bin:R/p2");
        assert_eq!(
            kept("user"),
            "R/p/.venv/bin:R/way/bin:R/user/.local/bin:/usr/bin:R/p2"
        );
    }
}
