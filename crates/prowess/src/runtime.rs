//! Sessions and sub-runs for a host program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_agent::{Effort, RunBudget};
use prowess_catalog::{Precedence, Visibility};
use prowess_config::Config;
use prowess_policy::{PermissionRules, Unattended};
use prowess_registry::resource::{Resource, SkillFolder};
use prowess_registry::{FileOptions, Place, Registry};
use prowess_render::Arguments;
use prowess_runtime::{
    AgentRun, CancellationToken, Ending, Engine, FinishedRun, Models, RuntimeError, Session,
    SkillRef, SubRun, Task, Update, Watcher,
};
use prowess_store::{MemorySessions, SystemClock};
use prowess_tools::{ActivationError, AgentLibrary, Services, Settings, Tool};
use prowess_traits::{Approver, Clock, CommandRunner, Model, SessionStore, UsageStore};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent_trust::RecordedAgentTrust;
use crate::host_paths::HostPaths;

/// Maximum size of a project's notes in bytes.
const MAX_NOTES: usize = 32 * 1024;

/// Skills, a model and tools, ready for conversations. Clones share one runtime.
#[derive(Clone, Debug)]
pub struct Runtime {
    engine: Engine,
}

impl Runtime {
    /// Creates a builder.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Returns the engine, the lower-level interface to sessions.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Starts a conversation. The title is shown in lists.
    pub async fn session(&self, title: &str) -> Result<Session, RuntimeError> {
        Session::start(&self.engine, title).await
    }

    /// Resumes a conversation.
    pub async fn resume(&self, id: &str) -> Result<Session, RuntimeError> {
        Session::resume(&self.engine, id, None).await
    }

    /// Prepares a task. The model finds the skills that it needs.
    pub fn task(&self, text: impl Into<String>) -> TaskRun<'_> {
        TaskRun {
            runtime: self,
            task: Task::new(text),
            cancel: CancellationToken::new(),
        }
    }

    /// Prepares a task for an agent: one of a file, of the settings or of the program, or a team,
    /// whose entry agent gets the task.
    ///
    /// ```no_run
    /// # async fn example(model: std::sync::Arc<dyn prowess::traits::Model>) -> Result<(), Box<dyn std::error::Error>> {
    /// use prowess::{Ending, Runtime};
    ///
    /// let runtime = Runtime::builder().project(".").model(model).build()?;
    /// let review = runtime.agent("reviewer").task("Review the last commit.");
    /// if let Ending::Submitted { value: text } = review.text().await? {
    ///     println!("{text}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn agent(&self, name: &str) -> AgentTask<'_> {
        AgentTask {
            runtime: self,
            run: AgentRun::new(name, ""),
            cancel: CancellationToken::new(),
        }
    }

    /// Starts a conversation with an agent. The title is shown in lists.
    pub async fn agent_session(&self, name: &str, title: &str) -> Result<Session, RuntimeError> {
        Session::start_agent(&self.engine, name, title, &CancellationToken::new()).await
    }

    /// Prepares a run of a skill: a name in the registry, or a skill that was defined or loaded.
    pub fn run_skill(&self, skill: impl Into<SkillRef>) -> SkillRun<'_> {
        SkillRun {
            runtime: self,
            sub: SubRun::new(skill.into()),
            named: Map::new(),
            fault: None,
            cancel: CancellationToken::new(),
        }
    }
}

/// A run of a skill that has not started yet.
#[derive(Debug)]
#[must_use = "a run starts with `text`, `submit` or `finish`"]
pub struct SkillRun<'r> {
    runtime: &'r Runtime,
    sub: SubRun,
    named: Map<String, Value>,
    /// The reason why the input is no JSON.
    fault: Option<serde_json::Error>,
    cancel: CancellationToken,
}

impl SkillRun<'_> {
    /// Sets one argument by name.
    pub fn arg(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.named.insert(name.to_owned(), value.into());
        self.sub.arguments = Arguments::from_json(Value::Object(self.named.clone()));
        self
    }

    /// Sets all arguments: one string, or a JSON value.
    pub fn args(mut self, value: impl Into<Value>) -> Self {
        self.sub.arguments = match value.into() {
            Value::String(text) => Arguments::from_text(text),
            other => Arguments::from_json(other),
        };
        self
    }

    /// Sets all arguments: the fields of a value, usually the type of a
    /// [`TypedSkill`](crate::TypedSkill). An error in the conversion to JSON is returned when the run
    /// starts.
    pub fn input<T: Serialize>(self, input: &T) -> Self {
        match serde_json::to_value(input) {
            Ok(value) => self.args(value),
            Err(error) => Self {
                fault: Some(error),
                ..self
            },
        }
    }

    /// Runs it, with or without a result schema, and returns all details of the outcome.
    pub async fn finish(mut self, schema: Option<Value>) -> Result<FinishedRun, RuntimeError> {
        if let Some(fault) = self.fault {
            let name = match &self.sub.skill {
                SkillRef::Name(name) => name.clone(),
                SkillRef::Definition(skill) => skill.name().into(),
                SkillRef::Resolved(skill) => skill.name().into(),
            };
            let errors = vec![fault.to_string()];
            return Err(ActivationError::Arguments { name, errors }.into());
        }
        self.sub.result = schema;
        self.runtime.engine.run_skill(self.sub, &self.cancel).await
    }

    /// Restricts the run to these of its tools.
    pub fn tools<'t>(mut self, names: impl IntoIterator<Item = &'t str>) -> Self {
        self.sub.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

/// A task that has not started yet.
#[derive(Debug)]
#[must_use = "a task starts with `text`, `submit` or `finish`"]
pub struct TaskRun<'r> {
    runtime: &'r Runtime,
    task: Task,
    cancel: CancellationToken,
}

impl TaskRun<'_> {
    /// Runs it, with or without a result schema, and returns all details of the outcome.
    pub async fn finish(mut self, schema: Option<Value>) -> Result<FinishedRun, RuntimeError> {
        self.task.result = schema;
        self.runtime.engine.run_task(self.task, &self.cancel).await
    }
}

/// A task for an agent that has not started yet.
#[derive(Debug)]
#[must_use = "a task starts with `text`, `submit` or `finish`"]
pub struct AgentTask<'r> {
    runtime: &'r Runtime,
    run: AgentRun,
    cancel: CancellationToken,
}

impl AgentTask<'_> {
    /// Sets the task.
    pub fn task(mut self, text: impl Into<String>) -> Self {
        self.run.task = text.into();
        self
    }

    /// Runs it, with or without a result schema, and returns all details of the outcome.
    pub async fn finish(mut self, schema: Option<Value>) -> Result<FinishedRun, RuntimeError> {
        self.run.result = schema;
        self.runtime.engine.run_agent(self.run, &self.cancel).await
    }
}

/// Implements the options and the start of a run.
macro_rules! run {
    ($run:ident, $what:ident) => {
        impl $run<'_> {
            /// Sets the budget. Unset limits come from the skill or the runtime.
            pub fn budget(mut self, budget: RunBudget) -> Self {
                self.$what.budget = budget;
                self
            }

            /// Uses another model: `provider/name`.
            pub fn model(mut self, name: &str) -> Self {
                self.$what.model = Some(name.into());
                self
            }

            /// Sets the reasoning effort of the model.
            pub fn effort(mut self, effort: Effort) -> Self {
                self.$what.effort = Some(effort);
                self
            }

            /// Stops the run when the token is cancelled.
            pub fn cancelled_by(mut self, cancel: &CancellationToken) -> Self {
                self.cancel = cancel.clone();
                self
            }

            /// Runs it and returns the last text.
            pub async fn text(self) -> Result<Ending<String>, RuntimeError> {
                let finished = self.finish(None).await?;
                let text = finished.text.clone();
                Ok(finished.ending.map(|_| text))
            }

            /// Runs it and returns a typed value. The model receives the schema of the type.
            pub async fn submit<T: DeserializeOwned + JsonSchema>(
                self,
            ) -> Result<Ending<T>, RunError> {
                let schema = schemars::schema_for!(T).to_value();
                let ending = self.finish(Some(schema)).await?.ending;
                Ok(ending.try_map(serde_json::from_value)?)
            }
        }
    };
}

run!(SkillRun, sub);
run!(TaskRun, task);
run!(AgentTask, run);

/// Error from a run with a typed result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The result is valid against the schema but cannot be deserialized.
    #[error("cannot deserialize the result: {0}")]
    Read(#[from] serde_json::Error),
}

/// Error from building a runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model is set.
    #[error("a runtime needs a model; call `RuntimeBuilder::model`")]
    NoModel,
    /// The engine refused the services.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
    /// The project's folder cannot be resolved.
    #[error("cannot find the project `{path}`")]
    NoProject {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Builds a [`Runtime`]. The defaults are safe: no home folder is read, no skill is trusted, every
/// prompt is declined, no commands run, and sessions are kept in memory.
#[derive(Debug)]
pub struct RuntimeBuilder {
    project: Option<PathBuf>,
    paths: HostPaths,
    registry: Option<Registry>,
    config: Config,
    services: Services,
    settings: Settings,
}

impl Default for RuntimeBuilder {
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

/// Optional services of a [`RuntimeBuilder`].
macro_rules! services {
    ($($(#[$doc:meta])* $service:ident: $kind:ty,)*) => {
        impl RuntimeBuilder {
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
    /// Sets the model of sessions.
    model: Arc<dyn Model>,
    /// Sets the resolver for models that skills and sub-runs name.
    models: Arc<dyn Models>,
    /// Sets the store of sessions.
    sessions: Arc<dyn SessionStore>,
    /// Sets the store of skill usage.
    usage: Arc<dyn UsageStore>,
    /// Sets the runner of commands.
    runner: Arc<dyn CommandRunner>,
}

impl RuntimeBuilder {
    /// Sets the registry, instead of the skills in the project's folders.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Sets which skills agents can see.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.settings.visibility = visibility;
        self
    }

    /// Sets the approver, which answers prompts.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.services.approver = approver;
        self
    }

    /// Sets what sessions do if the approver has no user to ask. The default is to deny. With
    /// [`Unattended::Wait`] a run ends as [`Ending::Waiting`](crate::Ending::Waiting), and continues
    /// after [`SessionStore::answer`] with [`Runtime::resume`], in this process or another one.
    ///
    /// ```
    /// use prowess::policy::Unattended;
    ///
    /// let builder = prowess::Runtime::builder().unattended(Unattended::Wait);
    /// # drop(builder);
    /// ```
    #[must_use]
    pub fn unattended(mut self, unattended: Unattended) -> Self {
        self.settings.unattended = unattended;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.services.clock = clock;
        self
    }

    /// Sets the project, which provides skills and is the working folder.
    #[must_use]
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// Sets the folders of the host.
    #[must_use]
    pub fn paths(mut self, paths: HostPaths) -> Self {
        self.paths = paths;
        self
    }

    /// Sets the configuration: rules, mode, sandbox. It overrides the settings.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets allow rules that approve requests in advance, like `--approve`. They also answer the
    /// prompts that ask rules require; deny rules still apply.
    #[must_use]
    pub fn approvals(mut self, rules: PermissionRules) -> Self {
        self.settings.approvals = rules;
        self
    }

    /// Adds a tool for every agent.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.services.tools.push(tool);
        self
    }

    /// Adds tools for every agent, such as [`file_tools`](prowess_tools::files::file_tools).
    #[must_use]
    pub fn tools(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.services.tools.extend(tools);
        self
    }

    /// Adds a tool that is declared while a loaded skill names it in `allowed-tools`.
    #[must_use]
    pub fn skill_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.services.skill_tools.push(tool);
        self
    }

    /// Adds a watcher, which receives the updates of sessions.
    #[must_use]
    pub fn watcher(mut self, watcher: Arc<dyn Watcher>) -> Self {
        self.services.watchers.push(watcher);
        self
    }

    /// Adds a function that is called with the session, its depth and each update.
    #[must_use]
    pub fn watch(self, watch: impl Fn(&str, u8, Update<'_>) + Send + Sync + 'static) -> Self {
        self.watcher(Arc::new(FnWatcher(watch)))
    }

    /// Sets all services. The trust store comes from the folders.
    #[must_use]
    pub fn services(mut self, services: Services) -> Self {
        self.registry = Some((*services.registry).clone());
        self.services = services;
        self
    }

    /// Sets the settings of sessions and tools, including the visibility. The folders and the
    /// configuration override them.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the agents of files, instead of those of the project and of the home folder.
    #[must_use]
    pub fn agents(mut self, agents: AgentLibrary) -> Self {
        self.services.agents = Some(Arc::new(agents));
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
            let options = FileOptions {
                walk: self.config.walk(),
                ..FileOptions::default()
            };
            Registry::open(place, options, Precedence::default())
        });
        self.services.registry = Arc::new(registry);
        if self.services.agents.is_none() {
            let place = Place {
                current: workspace.clone(),
                home: self.paths.home.clone(),
                ..Place::default()
            };
            let trust = RecordedAgentTrust {
                store: self.paths.trust(),
                project: workspace.clone(),
            };
            let library = AgentLibrary::new(place, Arc::new(trust));
            self.services.agents = Some(Arc::new(library));
        }
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

struct FnWatcher<F>(F);

impl<F> std::fmt::Debug for FnWatcher<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FnWatcher")
    }
}

impl<F: Fn(&str, u8, Update<'_>) + Send + Sync> Watcher for FnWatcher<F> {
    fn update(&self, session: &str, depth: u8, update: Update<'_>) {
        (self.0)(session, depth, update);
    }
}

/// Reads the notes of a project for agents: the nearest `AGENTS.md` between its folder and the root
/// of the repository. They are read without a prompt, so files outside the repository are never
/// used: a symbolic link must point to a `.md` file inside it. Without a repository, only the
/// folder itself is searched.
fn project_notes(folder: &Path) -> Option<String> {
    let root = prowess_registry::fs::skill_folders::repository(folder).unwrap_or(folder);
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
            text.push_str("\n[truncated: AGENTS.md is too long]");
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
    fn notes_come_only_from_the_repository() {
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
            "files above the repository are ignored"
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
        assert!(project_notes(&sub).is_some_and(|notes| notes.ends_with("is too long]")));
        std::fs::remove_dir(root.join(".git")).unwrap();
        assert_eq!(
            project_notes(&sub),
            None,
            "without a repository only the folder is searched"
        );
    }

    #[test]
    fn fifo_is_ignored() {
        let world = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(world.path().join("AGENTS.md"))
            .status();
        assert!(made.unwrap().success());
        assert_eq!(project_notes(world.path()), None);
    }
}
