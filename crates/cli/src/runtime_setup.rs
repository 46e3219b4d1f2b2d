//! Builds a runtime from the command line and the configuration.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::output::{Exit, Failure, Printer};
use prowess::agent::{Effort, RunBudget};
use prowess::config::Config;
use prowess::policy::Unattended;
use prowess::store::{MemorySessions, SqliteSessions, SystemClock, TolerantUsage};
use prowess::traits::{Approver, FindModelError, Model, SessionStore, UsageStore};
use prowess::{
    HostPaths, Models, RecordedAgentTrust, Runtime, Services, Settings, SkillSnapshot, ToolContext,
    WatchHandle, WatchOptions, Watcher,
};
use prowess_catalog::{CatalogEntry, Scope};
use prowess_diag::{sanitize, wording};
use prowess_http::WebFetcher;
use prowess_models::{ChooseError, ChosenModel, RecordingModel};
use prowess_render::Arguments;
use prowess_tools::AgentLibrary;
use serde_json::{Map, Value};

use crate::args::GlobalArgs;
use crate::env::{Environment, path_outside};
use crate::key_command;
use crate::live_config::ConfigFiles;
use crate::permissions::{self, Terminal};
use crate::usage_store;
use crate::visible_skills::Library;

/// Looks up a variable.
pub(crate) type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The services and settings of a command.
pub(crate) struct Setup {
    /// The trait objects.
    pub services: Services,
    /// The settings of sessions and tools.
    pub settings: Settings,
    /// The configuration.
    pub config: Config,
    /// The folders of the program.
    pub paths: HostPaths,
    /// The user configuration file, which may not exist.
    pub config_file: Option<PathBuf>,
    /// Looks up a variable.
    pub variables: Variables,
    /// `true` if sessions are stored on disk, so that another process can continue them.
    pub keeps_sessions: bool,
    /// The folder of markers. See [`Registry::settle`](prowess::Registry::settle).
    pub markers: Option<PathBuf>,
}

impl Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

/// Returns a function that looks up variables.
pub(crate) fn variables(environment: &Environment) -> Variables {
    let variables = Arc::clone(&environment.variables);
    Arc::new(move |name: &str| {
        let found = variables
            .iter()
            .find(|(known, _)| known.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    })
}

/// Arguments for the model, limits and permissions of a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// The model.
    #[arg(
        long,
        value_name = "MODEL",
        help_heading = "Model",
        help = "Model: `provider/name`, `echo`, `scripted:FILE`, `replay:FILE` [env: PROWESS_MODEL]"
    )]
    pub model: Option<String>,
    /// Reasoning effort: low, medium, high, xhigh, max
    #[arg(long, value_name = "EFFORT", help_heading = "Model")]
    pub effort: Option<String>,
    /// Maximum number of model turns
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub max_turns: Option<u32>,
    /// Limit the run: `tokens=50000`, `usd=0.50`, `time=5m` (can be repeated)
    #[arg(
        long,
        value_name = "LIMIT",
        value_delimiter = ',',
        help_heading = "Model"
    )]
    pub budget: Vec<String>,
    /// Record model requests and replies to a file, for `--model replay:FILE`
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub record: Option<PathBuf>,
    /// Allow without asking, e.g. `Bash(make test)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub approve: Vec<String>,
    /// Let the agent edit files of the project, subject to the rules
    #[arg(long, help_heading = "Permissions")]
    pub edits: bool,
}

impl ModelArgs {
    /// Parses the limits.
    pub(crate) fn limits(&self) -> Result<RunBudget, Failure> {
        let mut budget = RunBudget {
            turns: self.max_turns,
            ..RunBudget::default()
        };
        for text in &self.budget {
            let wrong = || {
                Failure::new(format!("invalid value `{text}` for `--budget`"))
                    .hint("e.g. `tokens=50000`, `usd=0.50` or `time=5m`")
            };
            let (what, value) = text.split_once('=').ok_or_else(wrong)?;
            match what {
                "tokens" => budget.tokens = Some(value.parse().map_err(|_| wrong())?),
                "usd" => budget.micros = Some(micros(value).ok_or_else(wrong)?),
                "time" => budget.milliseconds = Some(milliseconds(value).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
        Ok(budget)
    }

    /// Parses the reasoning effort.
    pub(crate) fn effort(&self) -> Result<Option<Effort>, Failure> {
        let Some(word) = &self.effort else {
            return Ok(None);
        };
        let effort = Effort::parse(word).ok_or_else(|| {
            Failure::new(format!("invalid value `{word}` for `--effort`"))
                .hint("expected `low`, `medium`, `high`, `xhigh` or `max`")
        })?;
        Ok(Some(effort))
    }
}

/// Arguments for prompts that no terminal can answer.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct WaitArgs {
    /// Without a terminal, deny what needs approval instead of waiting for `prowess answer`
    #[arg(long, help_heading = "Permissions")]
    pub no_wait: bool,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a number of dollars that fits"
)]
fn micros(dollars: &str) -> Option<u64> {
    let dollars: f64 = dollars.trim_start_matches('$').parse().ok()?;
    (dollars.is_finite() && (0.0..1e9).contains(&dollars)).then(|| (dollars * 1e6).round() as u64)
}

/// Parses a duration: `90`, `90s`, `5m`, `1h`.
fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

impl Setup {
    /// Opens the library, and builds the services and settings of a command.
    pub(crate) fn open(
        global: &GlobalArgs,
        environment: &Environment,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let library = Library::open(global, environment, printer)?;
        let mut setup = Self::new(library, None, environment)?;
        setup.services.approver = Arc::new(Terminal::beside(printer.live()));
        Ok(setup)
    }

    /// Builds the services and settings of a command, with the skills that an agent sees.
    pub(crate) fn new(
        library: Library,
        agent: Option<&str>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let settings = Settings {
            visibility: library.policy(agent)?,
            ..Settings::default()
        };
        let mut services = Services::new(Arc::new(library.registry), Arc::new(SystemClock));
        services.live = Some(Arc::new(ConfigFiles::new(environment, &library.config)));
        services.approver = Arc::new(Terminal::default());
        services.runner = environment
            .runner(&library.config)
            .map(|runner| Arc::new(runner) as _);
        services.usage = usage_store::store(environment).map(|store| {
            let store = TolerantUsage::new(Arc::new(store), Arc::new(SystemClock));
            Arc::new(store) as Arc<dyn UsageStore>
        });
        services.sessions = Some(match environment.store_file() {
            Some(file) => Arc::new(SqliteSessions::new(file)),
            None => Arc::new(MemorySessions::new()),
        });
        let paths = permissions::paths(environment);
        let trust = RecordedAgentTrust {
            store: paths.trust(),
            project: paths.workspace.clone(),
        };
        let teams = library.config.team_folders.iter();
        let teams = teams.map(|folder| (folder.scope, folder.path.clone()));
        let agents =
            AgentLibrary::new(environment.place(), Arc::new(trust)).with_teams(teams.collect());
        services.agents = Some(Arc::new(agents));
        Ok(Self {
            services,
            settings,
            config: library.config,
            paths,
            config_file: environment.settings().user,
            variables: variables(environment),
            keeps_sessions: environment.store_file().is_some(),
            markers: environment
                .state_folder()
                .map(|folder| folder.join("watch")),
        })
    }

    /// Watches the skill folders, so that sessions notice changes.
    pub(crate) fn watch(&self) -> Watching {
        let registry = &self.services.registry;
        let watching = registry.watch_in_background(WatchOptions::default(), self.markers.clone());
        Watching(Some(watching))
    }

    /// Returns the context that a session would start with, unless flags say otherwise: with the
    /// size and the kind of listing that the configuration and the model select, before any file was
    /// used. Without a `model`, the usual one is assumed.
    pub(crate) fn starting_context(&self, model: Option<&str>) -> ToolContext {
        let model = self.expected_model(model);
        let window = index_window(&self.config, model.as_deref());
        let mut context = self.context();
        let settings = &mut context.settings;
        settings.index = self.config.budget(None, window);
        settings.listing = self.config.listing();
        settings.hint = self.config.hint();
        settings.visibility.touched.get_or_insert_default();
        context
    }

    /// Returns the name of the model that a session would use, without a request: [`Self::model`]
    /// selects it. Returns `None` if only a server on this machine knows it.
    fn expected_model(&self, typed: Option<&str>) -> Option<String> {
        let configured = self
            .config
            .model
            .as_deref()
            .filter(|_| (self.variables)("PROWESS_MODEL").is_none());
        let name = typed.or(configured);
        // A configured command prints the key; it is not run only to learn that there is one.
        let keys = self.config.keys.keys();
        let by_command: Vec<_> = keys
            .filter_map(|provider| prowess_models::key_variable(provider))
            .collect();
        let lookup = |name: &str| {
            let is_printed = by_command.contains(&name);
            (self.variables)(name).or_else(|| is_printed.then(|| "set".to_owned()))
        };
        let variable = lookup("PROWESS_MODEL");
        let replayed = name.or(variable.as_deref());
        if let Some(file) = replayed.and_then(|name| name.trim().strip_prefix("replay:")) {
            let model = prowess_models::ReplayModel::open(Path::new(file)).ok()?;
            return Some(model.about().name.to_string());
        }
        prowess_models::expected_name(name, &lookup)
    }

    /// Selects the model.
    pub(crate) async fn model(&self, args: &ModelArgs) -> Result<ChosenModel, Failure> {
        let variables = self.lookup();
        let settings = model_settings(&variables)?;
        let configured = self
            .config
            .model
            .as_deref()
            .filter(|_| variables("PROWESS_MODEL").is_none());
        let name = args.model.as_deref().or(configured);
        let lookup = move |name: &str| variables(name);
        let mut chosen = prowess_models::choose(name, &lookup, &settings)
            .await
            .map_err(|error| no_model(&error))?;
        if let Some(file) = &args.record {
            let recording = RecordingModel::open(Arc::clone(&chosen.model), file)
                .map_err(|error| Failure::new("cannot record the session").cause(error))?;
            chosen.model = Arc::new(recording);
        }
        Ok(chosen)
    }

    /// Returns a variable lookup that falls back to key commands.
    fn lookup(&self) -> Variables {
        let variables = Arc::clone(&self.variables);
        let path = variables("PATH").map(|path| {
            let (project, home) = (&self.paths.workspace, self.paths.home.as_deref());
            path_outside(path.as_ref(), project, home)
        });
        key_command::with_commands(variables, &self.config.keys, self.neutral_folder(), path)
    }

    /// Returns the folder in which the user's own programs start: the home folder, or the root. In
    /// the project, `npx`, `python -m` and the like would run programs of the project, which may
    /// not be trusted, outside the sandbox.
    pub(crate) fn neutral_folder(&self) -> PathBuf {
        crate::commands::mcp_servers::neutral_folder(self.paths.home.as_deref())
    }

    /// Prints a note if a skill of the project is used instead of the user's own skill of this name.
    pub(crate) fn note_shadowed(&self, name: &str, printer: &Printer) {
        let catalog = self.services.registry.snapshot();
        let Ok(used) = catalog.resolve(name) else {
            return;
        };
        let name = used.name();
        let is_own = |other: &&CatalogEntry| {
            matches!(other.skill.id.origin.scope, Scope::User | Scope::Extra)
                && other.is_shadowed()
                && other.name() == name
        };
        if used.skill.id.origin.scope == Scope::Project
            && let Some(own) = catalog.entries().iter().find(is_own)
        {
            let own = format!("{}:{name}", own.skill.id.origin.scope.as_str());
            printer.note(
                &format!(
                    "{} is the skill of this project, not your own",
                    wording::tick(name)
                ),
                &format!("to run your own, use {}", wording::tick(own)),
            );
        }
    }

    /// Sets what sessions do if no terminal can answer a prompt. A session that is not stored cannot
    /// wait.
    pub(crate) fn wait(&mut self, args: &WaitArgs) {
        let configured = self.config.unattended.unwrap_or(Unattended::Wait);
        self.settings.unattended = if args.no_wait || !self.keeps_sessions {
            Unattended::Deny
        } else {
            configured
        };
    }

    /// Applies the flags that give permissions.
    pub(crate) fn permit(&mut self, approve: &[String], edits: bool) -> Result<(), Failure> {
        self.settings.approvals = permissions::approvals(approve)?;
        self.settings.edits = edits;
        Ok(())
    }

    /// Returns the context of tools, which prompts on the terminal.
    pub(crate) fn context(&self) -> ToolContext {
        self.paths
            .context(&self.config, self.services.clone(), self.settings.clone())
    }

    /// Returns the session store.
    pub(crate) fn sessions(&self) -> Arc<dyn SessionStore> {
        match &self.services.sessions {
            Some(sessions) => Arc::clone(sessions),
            None => Arc::new(MemorySessions::new()),
        }
    }

    /// Returns the client for web pages.
    #[expect(clippy::unused_self, reason = "a part of the setup")]
    pub(crate) fn fetcher(&self) -> Result<Arc<dyn prowess::traits::Fetcher>, Failure> {
        let fetcher = WebFetcher::new(AGENT).map_err(|error| {
            Failure::new("cannot create the HTTP client for web pages").cause(error)
        })?;
        Ok(Arc::new(fetcher))
    }

    /// Builds the runtime.
    pub(crate) fn runtime(
        mut self,
        args: &ModelArgs,
        model: Arc<dyn Model>,
        approver: Arc<dyn Approver>,
        watchers: Vec<Arc<dyn Watcher>>,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Runtime, Failure> {
        self.permit(&args.approve, args.edits)?;
        let configured = self.config.effort.as_deref().and_then(Effort::parse);
        self.settings.effort = args.effort()?.or(configured);
        let window = index_window(&self.config, Some(&model.about().name));
        self.settings.index = self.config.budget(None, window);
        self.settings.index_follows_model =
            self.config.budget.is_none() && self.config.window.is_none();
        self.settings.listing = self.config.listing();
        self.settings.hint = self.config.hint();
        change(&mut self.settings);
        let fetcher = self.fetcher()?;
        let models = Named {
            variables: self.lookup(),
            in_use: model.about().name.clone(),
        };
        let own = std::mem::take(&mut self.services.tools);
        let changing = prowess_tools::files::changing_web_tools(&fetcher);
        self.services.skill_tools.extend(changing);
        self.services.tools = prowess_tools::files::file_tools(Some(fetcher));
        self.services.tools.extend(own);
        self.services.model = Some(model);
        self.services.models = Some(Arc::new(models));
        self.services.approver = approver;
        self.services.watchers = watchers;
        Runtime::builder()
            .paths(self.paths)
            .config(self.config)
            .services(self.services)
            .settings(self.settings)
            .build()
            .map_err(|error| Failure::new(error.to_string()))
    }
}

/// Converts the arguments of a skill, given as one string, as JSON or as pairs; `null` if there are none.
pub(crate) fn arguments(
    text: Option<&str>,
    json: Option<&str>,
    pairs: &[String],
) -> Result<Value, Failure> {
    if let Some(text) = text {
        return Ok(Value::String(text.to_owned()));
    }
    if let Some(text) = json {
        return serde_json::from_str(text).map_err(|error| {
            Failure::new("invalid JSON in `--args-json`")
                .cause(error)
                .hint("e.g. `{\"file\": \"a.pdf\"}`")
        });
    }
    let mut object = Map::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::new(format!(
                "invalid value `{pair}` for `--arg`: expected NAME=VALUE"
            ))
            .hint("e.g. `--arg file=a.pdf`")
        })?;
        object.insert(name.to_owned(), value.into());
    }
    Ok(if object.is_empty() {
        Value::Null
    } else {
        Value::Object(object)
    })
}

/// Returns an error if a pair names an argument that a skill with declared arguments does not have.
pub(crate) fn check_pairs(skill: &SkillSnapshot, pairs: &[String]) -> Result<(), Failure> {
    let declared = declared(skill);
    let typed = pairs.iter().filter_map(|pair| pair.split_once('='));
    let mut unknown = typed.filter(|(name, _)| !declared.contains(name));
    let Some((unknown, _)) = unknown.next().filter(|_| !declared.is_empty()) else {
        return Ok(());
    };
    let (skill, unknown) = (shown(&skill.name), shown(unknown));
    let noun = match declared.len() {
        1 => "argument is",
        _ => "arguments are",
    };
    let declared = wording::all(declared.into_iter().map(shown));
    Err(
        Failure::new(format!("skill {skill} has no argument {unknown}"))
            .hint(format!("its {noun} {declared}")),
    )
}

/// Prints a note if declared arguments of a skill have no value.
pub(crate) fn note_missing(skill: &SkillSnapshot, given: &Arguments, printer: &Printer) {
    let missing = given.missing(&declared(skill));
    let noun = match missing.len() {
        0 => return,
        1 => "argument",
        _ => "arguments",
    };
    let (skill, missing) = (
        shown(&skill.name),
        wording::all(missing.into_iter().map(shown)),
    );
    printer.note(
        &format!("note: skill {skill} got no value for the {noun} {missing}"),
        "pass each value with `--arg NAME=VALUE`",
    );
}

fn declared(skill: &SkillSnapshot) -> Vec<&str> {
    let names = skill.document.arguments.iter();
    names.map(AsRef::as_ref).collect()
}

fn shown(name: &str) -> String {
    wording::tick(sanitize::line(name))
}

/// Environment variables that select or configure models.
pub(crate) use prowess_models::variable_list;

/// User agent of our HTTP requests.
pub(crate) const AGENT: &str = concat!("prowess/", env!("CARGO_PKG_VERSION"));

/// Returns the context window that the size of the skill index depends on: the configured one, or
/// that of a well-known model. `None` for the default.
pub(crate) fn index_window(config: &Config, model: Option<&str>) -> Option<usize> {
    let known = model.and_then(|name| {
        let name = name.strip_prefix("replay/").unwrap_or(name);
        let name = name.split_once('/').map_or(name, |(_, name)| name);
        usize::try_from(prowess_models::known(name)?.window).ok()
    });
    config.window.or(known)
}

/// Watches the skill folders until it is dropped.
#[derive(Debug)]
pub(crate) struct Watching(Option<WatchHandle>);

impl Drop for Watching {
    /// Does not wait for a scan: the command is about to exit.
    fn drop(&mut self) {
        if let Some(watching) = self.0.take() {
            watching.detach();
        }
    }
}

pub(crate) fn model_settings(
    variables: &Variables,
) -> Result<prowess_models::ModelSettings, Failure> {
    let lookup = |name: &str| variables(name);
    prowess_models::ModelSettings::from_variables(AGENT, &lookup)
        .map_err(|error| Failure::new("cannot create the HTTP client for models").cause(error))
}

/// Converts a failed model selection into an error with hints.
pub(crate) fn no_model(error: &ChooseError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ChooseError::Nothing => Failure::new("no model is configured")
            .hint("set an API key: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`")
            .hint("or start Ollama, llama.cpp, vLLM or LM Studio locally, or set `PROWESS_BASE_URL` to an OpenAI-compatible server")
            .hint(format!("or select one with `--model PROVIDER/NAME`; providers: {}", prowess_models::provider_names()))
            .hint("or run `prowess demo`, which needs no model")
            .exit(Exit::NoKey),
        ChooseError::NoKey { .. } | ChooseError::Key { .. } => {
            failure.hint("run `prowess doctor` to see which keys are set").exit(Exit::NoKey)
        }
        _ => failure.hint("run `prowess doctor`"),
    }
}

/// Resolves models requested by skills.
struct Named {
    variables: Variables,
    /// The name of the model in use, whose provider resolves Claude Code's words for models.
    in_use: Box<str>,
}

impl Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Named")
    }
}

impl Models for Named {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, FindModelError> {
        let settings = model_settings(&self.variables)
            .map_err(|failure| FindModelError::Unusable(failure.message.into()))?;
        let lookup = |name: &str| (self.variables)(name);
        let family = match prowess_models::family_model(name, &self.in_use) {
            Some(family) => Some(family.map_err(|error| FindModelError::Unusable(error.into()))?),
            None => None,
        };
        let name = family.as_deref().unwrap_or(name);
        // A skill or an agent chose the name.
        let chosen = prowess_models::open_provider(name, &lookup, &settings);
        chosen
            .map(|chosen| chosen.model)
            .map_err(|error| FindModelError::Unusable(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_or_refused() {
        let limits = |texts: &[&str]| {
            let budget = texts.iter().map(|&text| text.to_owned()).collect();
            ModelArgs {
                budget,
                max_turns: Some(3),
                ..ModelArgs::default()
            }
            .limits()
        };
        let read = limits(&["tokens=50000", "usd=0.50", "time=5m"]).unwrap();
        let expected = RunBudget {
            turns: Some(3),
            tokens: Some(50_000),
            micros: Some(500_000),
            milliseconds: Some(300_000),
        };
        assert_eq!(read, expected);
        assert_eq!(limits(&["usd=$2"]).unwrap().micros, Some(2_000_000));
        for wrong in [
            "tokens",
            "tokens=x",
            "usd=-1",
            "usd=nan",
            "time=5x",
            "time=99999999999999999999h",
            "turns=5",
        ] {
            assert!(limits(&[wrong]).is_err(), "{wrong}");
        }
    }
}
