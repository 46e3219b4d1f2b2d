//! Sessions and sub-runs, put together for a host program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_agent::{Budget, Effort};
use prowess_catalog::{Precedence, Visibility};
use prowess_config::Config;
use prowess_registry::resource::{Resource, SkillFolder};
use prowess_registry::{FileOptions, Place, Registry};
use prowess_render::Arguments;
use prowess_runtime::{
    CancellationToken, Ending, Engine, Finished, Models, RuntimeError, Session, SkillRef, SubRun,
    Task, Update, Watcher,
};
use prowess_store::{MemorySessions, SystemClock};
use prowess_tools::{Services, Settings, Tool};
use prowess_traits::{Approver, Clock, CommandRunner, Model, SessionStore, UsageStore};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::compose::HostPaths;

/// Most bytes of a project's notes.
const MAX_NOTES: usize = 32 * 1024;

/// Skills, a model and tools, ready for conversations. Clones are the same runtime.
#[derive(Clone, Debug)]
pub struct Runtime {
    engine: Engine,
}

impl Runtime {
    /// Begins to put one together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The engine below, with everything that can be done with sessions.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Begins a conversation. The title is for lists.
    pub async fn session(&self, title: &str) -> Result<Session, RuntimeError> {
        Session::start(&self.engine, title).await
    }

    /// Takes a conversation up again where it was left.
    pub async fn resume(&self, id: &str) -> Result<Session, RuntimeError> {
        Session::resume(&self.engine, id, None).await
    }

    /// Does a task: the model finds the skills it needs.
    pub fn task(&self, text: impl Into<String>) -> TaskRun<'_> {
        TaskRun {
            runtime: self,
            task: Task::new(text),
            cancel: CancellationToken::new(),
        }
    }

    /// Runs a skill on its own: one of the registry by name, or a definition.
    pub fn run_skill(&self, skill: impl Into<SkillRef>) -> SkillRun<'_> {
        SkillRun {
            runtime: self,
            sub: SubRun::new(skill.into()),
            named: Map::new(),
            cancel: CancellationToken::new(),
        }
    }
}

/// A run of a skill that is about to begin.
#[derive(Debug)]
#[must_use = "a run begins with `text`, `submit` or `finish`"]
pub struct SkillRun<'r> {
    runtime: &'r Runtime,
    sub: SubRun,
    named: Map<String, Value>,
    cancel: CancellationToken,
}

impl SkillRun<'_> {
    /// Gives it one argument by name.
    pub fn arg(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.named.insert(name.to_owned(), value.into());
        self.sub.arguments = Arguments::from_json(Value::Object(self.named.clone()));
        self
    }

    /// Gives it arguments: one text, or a JSON value.
    pub fn args(mut self, value: impl Into<Value>) -> Self {
        self.sub.arguments = match value.into() {
            Value::String(text) => Arguments::from_text(text),
            other => Arguments::from_json(other),
        };
        self
    }

    /// Gives it only these tools, of those it may have.
    pub fn tools<'t>(mut self, names: impl IntoIterator<Item = &'t str>) -> Self {
        self.sub.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

/// A task that is about to begin.
#[derive(Debug)]
#[must_use = "a task begins with `text`, `submit` or `finish`"]
pub struct TaskRun<'r> {
    runtime: &'r Runtime,
    task: Task,
    cancel: CancellationToken,
}

/// What can be said of every run before it begins, and how it begins.
macro_rules! run {
    ($run:ident, $what:ident, $begin:ident) => {
        impl $run<'_> {
            /// Limits what it may use. What is not said here is as the skill or the runtime says.
            pub fn budget(mut self, budget: Budget) -> Self {
                self.$what.budget = budget;
                self
            }

            /// Asks another model: `provider/name`.
            pub fn model(mut self, name: &str) -> Self {
                self.$what.model = Some(name.into());
                self
            }

            /// Says how hard the model thinks.
            pub fn effort(mut self, effort: Effort) -> Self {
                self.$what.effort = Some(effort);
                self
            }

            /// Ends it when the token is cancelled.
            pub fn cancelled_by(mut self, cancel: &CancellationToken) -> Self {
                self.cancel = cancel.clone();
                self
            }

            /// Runs it, and returns the last text.
            pub async fn text(self) -> Result<Ending<String>, RuntimeError> {
                let finished = self.finish(None).await?;
                let text = finished.text.clone();
                Ok(finished.ending.map(|_| text))
            }

            /// Runs it, and returns a value of a type that the model is told about.
            pub async fn submit<T: DeserializeOwned + JsonSchema>(
                self,
            ) -> Result<Ending<T>, RunError> {
                let schema = schemars::schema_for!(T).to_value();
                let ending = self.finish(Some(schema)).await?.ending;
                Ok(ending.try_map(serde_json::from_value)?)
            }

            /// Runs it with or without a schema, and returns everything that is known of how it
            /// ended.
            pub async fn finish(mut self, schema: Option<Value>) -> Result<Finished, RuntimeError> {
                self.$what.result = schema;
                self.runtime.engine.$begin(self.$what, &self.cancel).await
            }
        }
    };
}

run!(SkillRun, sub, run_skill);
run!(TaskRun, task, run_task);

/// Why there is no typed result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run could not begin or go on.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The value fits the schema of the type, and not the type.
    #[error("the result fits the schema and cannot be read: {0}")]
    Read(#[from] serde_json::Error),
}

/// Why a runtime could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no model.
    #[error("a runtime needs a model: `Builder::model`")]
    NoModel,
    /// The engine refused the services.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
    /// The project's folder is not there.
    #[error("cannot find the project `{path}`")]
    NoProject {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Builds a [`Runtime`]. The defaults are safe: no home folder is read, nothing is trusted, every
/// prompt is declined, no command runs, sessions are kept in memory.
#[derive(Debug)]
pub struct Builder {
    project: Option<PathBuf>,
    paths: HostPaths,
    registry: Option<Registry>,
    config: Config,
    services: Services,
    settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        let services = Services::new(Arc::new(Registry::default()), Arc::new(SystemClock));
        Self {
            project: None,
            paths: HostPaths::default(),
            registry: None,
            config: Config::default(),
            services,
            settings: Settings::default(),
        }
    }
}

/// Optional services of a [`Builder`].
macro_rules! services {
    ($($(#[$doc:meta])* $service:ident: $kind:ty,)*) => {
        impl Builder {
            $($(#[$doc])*
            #[must_use]
            pub fn $service(mut self, $service: $kind) -> Self {
                self.services.$service = Some($service);
                self
            })*
        }
    };
}

services! {
    /// The model of sessions.
    model: Arc<dyn Model>,
    /// Finds the models that skills and sub-runs ask for by name.
    models: Arc<dyn Models>,
    /// Stores sessions.
    sessions: Arc<dyn SessionStore>,
    /// Records the use of skills.
    usage: Arc<dyn UsageStore>,
    /// Runs commands.
    runner: Arc<dyn CommandRunner>,
}

impl Builder {
    /// Skills from elsewhere than the project's folders.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// The skills that agents see.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.settings.visibility = visibility;
        self
    }

    /// Answers prompts.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.services.approver = approver;
        self
    }

    /// Returns the time.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.services.clock = clock;
        self
    }

    /// The project: its skills are found, and work happens there.
    #[must_use]
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// The folders of the host: home folder, trust.
    #[must_use]
    pub fn paths(mut self, paths: HostPaths) -> Self {
        self.paths = paths;
        self
    }

    /// The configuration: rules, mode, sandbox. It overrides the settings.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// A tool for every agent.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.services.tools.push(tool);
        self
    }

    /// Tools for every agent, such as [`file_tools`](prowess_tools::files::file_tools).
    #[must_use]
    pub fn tools(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.services.tools.extend(tools);
        self
    }

    /// A tool that is declared while a loaded skill names it in `allowed-tools`.
    #[must_use]
    pub fn skill_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.services.skill_tools.push(tool);
        self
    }

    /// Receives what happens in sessions.
    #[must_use]
    pub fn watcher(mut self, watcher: Arc<dyn Watcher>) -> Self {
        self.services.watchers.push(watcher);
        self
    }

    /// Calls a function with the session, its depth and what happened.
    #[must_use]
    pub fn watch(self, see: impl Fn(&str, u8, Update<'_>) + Send + Sync + 'static) -> Self {
        self.watcher(Arc::new(Seeing(see)))
    }

    /// All services at once. The trust store follows from the folders.
    #[must_use]
    pub fn services(mut self, services: Services) -> Self {
        self.registry = Some((*services.registry).clone());
        self.services = services;
        self
    }

    /// The settings of sessions and tools. The folders and the configuration override them; the
    /// visibility is set with them.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Builds the runtime.
    pub fn build(mut self) -> Result<Runtime, BuildError> {
        if self.services.model.is_none() {
            return Err(BuildError::NoModel);
        }
        if let Some(folder) = &self.project {
            let real = folder.canonicalize();
            let real = real.map_err(|source| BuildError::NoProject {
                path: folder.clone(),
                source,
            });
            self.paths.workspace = real?;
        }
        let workspace = &self.paths.workspace;
        let registry = self.registry.unwrap_or_else(|| {
            let place = Place {
                current: workspace.clone(),
                home: self.paths.home.clone(),
                ..Place::default()
            };
            Registry::open(place, FileOptions::default(), Precedence::default())
        });
        self.services.registry = Arc::new(registry);
        if self.services.sessions.is_none() {
            self.services.sessions = Some(Arc::new(MemorySessions::new()));
        }
        if self.settings.project_notes.is_none() {
            self.settings.project_notes = project_notes(workspace);
        }
        let context = self
            .paths
            .context(&self.config, self.services, self.settings);
        let engine = Engine::new(context)?;
        Ok(Runtime { engine })
    }
}

struct Seeing<F>(F);

impl<F> std::fmt::Debug for Seeing<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seeing")
    }
}

impl<F: Fn(&str, u8, Update<'_>) + Send + Sync> Watcher for Seeing<F> {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        (self.0)(session, depth, update);
    }
}

/// What a project tells every agent: `AGENTS.md`, from its folder up to the repository's root. Nobody
/// was asked about it, so it comes from nowhere else: a link leads to another text (`.md`) of the
/// repository or nowhere, and without a repository only the folder itself counts.
fn project_notes(folder: &Path) -> Option<String> {
    let root = folder
        .ancestors()
        .find(|place| place.join(".git").exists())
        .unwrap_or(folder);
    let root = root.canonicalize().ok()?;
    let inside = SkillFolder::open(&root).ok()?;
    let folder = folder.canonicalize().ok()?;
    for place in folder
        .ancestors()
        .take_while(|place| place.starts_with(&root))
    {
        let Ok(real) = place.join("AGENTS.md").canonicalize() else {
            continue;
        };
        let is_text = real
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("md"));
        let inner = real
            .strip_prefix(&root)
            .ok()
            .and_then(Path::to_str)
            .filter(|_| is_text);
        let found = inner.and_then(|inner| inside.read(inner, 0, MAX_NOTES).ok());
        let Some(Resource::Text { text, next, .. }) = found else {
            continue;
        };
        let mut text = text.trim().to_owned();
        if next.is_some() {
            text.push_str("\n[the rest of AGENTS.md was left out: it is too long]");
        }
        return (!text.is_empty()).then_some(text);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn notes_are_the_project_s_own() {
        let world = tempfile::tempdir().unwrap();
        let (root, sub) = (world.path().join("repo"), world.path().join("repo/sub"));
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(&sub).unwrap();
        for (file, text) in [
            ("AGENTS.md", "above"),
            ("key", "secret"),
            ("repo/.env", "secret"),
            ("repo/B.md", "b"),
        ] {
            std::fs::write(world.path().join(file), text).unwrap();
        }
        let link = root.join("AGENTS.md");
        assert_eq!(
            project_notes(&root),
            None,
            "nothing above the repository counts"
        );
        for (target, notes) in [
            ("../key", None),
            ("../AGENTS.md", None),
            (".env", None),
            ("/etc/hostname", None),
            ("nowhere.md", None),
            ("B.md", Some("b")),
        ] {
            symlink(target, &link).unwrap();
            assert_eq!(project_notes(&sub).as_deref(), notes, "{target}");
            std::fs::remove_file(&link).unwrap();
        }
        std::fs::write(&link, "x".repeat(MAX_NOTES + 1)).unwrap();
        assert!(project_notes(&sub).is_some_and(|notes| notes.ends_with("it is too long]")));
        std::fs::remove_dir(root.join(".git")).unwrap();
        assert_eq!(
            project_notes(&sub),
            None,
            "without a repository only the folder counts"
        );
    }

    #[test]
    fn nobody_waits_for_a_fifo() {
        let world = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(world.path().join("AGENTS.md"))
            .status();
        assert!(made.unwrap().success());
        assert_eq!(project_notes(world.path()), None);
    }
}
