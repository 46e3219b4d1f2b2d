//! Runs an approved command and returns the record of its run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use std::sync::{Arc, OnceLock};

use prowess_policy::profile::{GitAccess, Strength};
use prowess_policy::{Approved, Command, Plan, Profile};

use crate::cancel::{Cancel, Stop};
use crate::capture::Stream;
use crate::environment::environment;
use crate::error::ExecError;
use crate::git::Granted;
use crate::granted_paths::{Roots, real, within};
use crate::helper::Helper;
use crate::host_loop::{Failure, drive};
use crate::layers::{Machine, sandbox};
use crate::outcome::{CommandOutcome, Layer};
use crate::own_git::{CONFIG, OwnGit};
use crate::project_lock::ProjectLock;
use crate::protocol::{Limits, Spec, bytes};
use crate::resolve_program::program;

/// Runs commands. It is cheap to clone and can be shared between threads.
#[derive(Clone, Debug)]
pub struct Runner {
    helper: Helper,
    inherited: Vec<(OsString, OsString)>,
    folders: Vec<PathBuf>,
    bwrap: Vec<PathBuf>,
    /// Set as soon as the kernel refused namespaces to a run: it will refuse them to the next.
    kernel_refuses: Arc<OnceLock<Box<str>>>,
    #[cfg(target_os = "linux")]
    secrets: Arc<crate::system_paths::KnownSecrets>,
    identity: Option<(u32, u32)>,
    scratch: PathBuf,
    without: Vec<(Layer, Box<str>)>,
    pub(crate) stop: Option<Stop>,
}

/// Receives output while a command runs.
pub type OnOutput<'a> = &'a mut dyn FnMut(Stream, &[u8]);

/// Options of one run.
#[derive(Default)]
pub struct CommandOptions<'a> {
    /// Standard input of the command; empty if `None`.
    pub stdin: Option<&'a [u8]>,
    /// Ends the run from another thread.
    pub cancel: Option<&'a Cancel>,
    /// Receives every byte of the output while the command runs.
    pub on_output: Option<OnOutput<'a>>,
}

impl std::fmt::Debug for CommandOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("stdin", &self.stdin.map(<[u8]>::len))
            .field("cancel", &self.cancel.is_some())
            .field("on_output", &self.on_output.is_some())
            .finish()
    }
}

impl Runner {
    /// Creates a runner that uses this program as its helper.
    pub fn new(helper: Helper) -> Self {
        Self {
            helper,
            inherited: Vec::new(),
            folders: Vec::new(),
            bwrap: [
                "/usr/bin",
                "/bin",
                "/usr/local/bin",
                "/run/current-system/sw/bin",
            ]
            .map(PathBuf::from)
            .into(),
            kernel_refuses: Arc::default(),
            #[cfg(target_os = "linux")]
            secrets: Arc::default(),
            identity: None,
            scratch: "/tmp".into(),
            without: Vec::new(),
            stop: None,
        }
    }

    /// Creates a runner that uses another program as its helper.
    pub fn with_helper(path: impl Into<PathBuf>) -> Self {
        Self::new(Helper::at(path))
    }

    /// The variables of the host program. Those on the fixed list reach commands: `HOME`, `LANG`,
    /// `LC_*`, `TERM`, `USER`.
    #[must_use]
    pub fn inherit(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.inherited = variables.into_iter().collect();
        self
    }

    /// Sets folders that are searched for programs before the system's. They are readable inside.
    #[must_use]
    pub fn search(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.folders = folders.into_iter().collect();
        self
    }

    /// Sets the folders in which `bwrap` is looked for.
    #[must_use]
    pub fn bwrap_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.bwrap = folders.into_iter().collect();
        self
    }

    /// Sets the user and group that commands run as if this process is root and has no namespaces.
    /// Without it, each run has numbers that no other process has.
    #[must_use]
    pub fn identity(mut self, user: u32, group: u32) -> Self {
        self.identity = Some((user, group));
        self
    }

    /// Sets the folder for scratch folders of commands that have no `/tmp` of their own.
    #[must_use]
    pub fn scratch_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = folder.into();
        self
    }

    /// Sets the handle that ends all runs that were started through the trait.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Acts as if this machine lacked a layer: for tests and measurements.
    #[must_use]
    pub fn without(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        let because = |layer| (layer, "it is switched off".into());
        self.without.extend(layers.into_iter().map(because));
        self
    }

    /// Acts as if the kernel refused namespaces to this program: for tests and measurements.
    #[must_use]
    pub fn without_kernel_namespaces(mut self) -> Self {
        self.kernel_refuses = Arc::new(OnceLock::from(Box::from("they are switched off")));
        self
    }

    /// Runs a command and returns when no process of it is left.
    ///
    /// Blocks the calling thread.
    pub fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        options: CommandOptions<'_>,
    ) -> Result<CommandOutcome, ExecError> {
        // The working tree has to be writable, not just any folder.
        let edits = within(&real(&profile.cwd), &canonical(&profile.writable));
        let profile = &Profile {
            git: GitAccess::for_command(command.value(), edits),
            ..profile.clone()
        };
        let plan = &command.value().plan;
        if profile.git == GitAccess::Write && profile.strength != Strength::Off {
            let (readable, writable) = (canonical(&profile.readable), canonical(&profile.writable));
            let granted = Granted {
                cwd: &real(&profile.cwd),
                readable: &readable,
                writable: &writable,
            };
            if let Some((tree, _)) = granted.own(profile.git) {
                self.preview(plan, profile, tree, options.cancel)?;
            }
        }
        let mut outcome = self.run_plan(plan, profile, options)?;
        outcome.approved_by = command.by().into();
        Ok(outcome)
    }

    /// Runs a plan without an approval. Only [`Runner::run`] and the doctor call it.
    pub(crate) fn run_plan(
        &self,
        plan: &Plan,
        profile: &Profile,
        mut options: CommandOptions<'_>,
    ) -> Result<CommandOutcome, ExecError> {
        let mut without = self.without.clone();
        let lock = lock(profile, options.cancel)?;
        loop {
            let (spec, mut outcome) = self.prepare(plan, profile, &options, &without)?;
            match drive(&self.helper, &spec.0, profile, &lock.held, &mut options) {
                Ok(done) => {
                    outcome.end = done.end;
                    outcome.stopped = done.stopped;
                    outcome.stdout = done.stdout;
                    outcome.stderr = done.stderr;
                    outcome.duration = done.duration;
                    outcome.layers = done.layers;
                    outcome.layers.sort_by_key(|state| state.layer);
                    outcome.notes.extend(done.notes);
                    outcome.notes.extend(lock.notes);
                    let landlock = outcome.layer(Layer::Landlock);
                    if matches!(landlock, Some(crate::LayerStatus::Missing(_)))
                        && spec.0.landlock.is_some()
                    {
                        outcome.notes.extend(spec.1);
                    }
                    return Ok(outcome);
                }
                // Nothing ran. The next round uses the layers that are left, if they are enough.
                Err(Failure::Namespaces(why)) => {
                    let by_kernel = spec.0.namespaces.is_some_and(|namespaces| {
                        matches!(namespaces.builder, crate::protocol::Builder::Kernel)
                    });
                    if by_kernel {
                        // Another thread may have found it out first.
                        let _ = self.kernel_refuses.set(why);
                    } else {
                        without.push((Layer::Namespaces, why));
                    }
                }
                Err(Failure::Other(error)) => return Err(error),
            }
        }
    }

    /// Returns the specification with the notes to add if Landlock is missing, and the record so far.
    fn prepare(
        &self,
        plan: &Plan,
        profile: &Profile,
        options: &CommandOptions<'_>,
        without: &[(Layer, Box<str>)],
    ) -> Result<(Planned, CommandOutcome), ExecError> {
        let mut roots = Roots::of(profile)?;
        let cwd = profile.cwd.canonicalize().and_then(|cwd| {
            let folder = cwd.metadata()?.is_dir();
            if folder {
                Ok(cwd)
            } else {
                Err(std::io::ErrorKind::NotADirectory.into())
            }
        });
        let cwd = cwd.map_err(|source| ExecError::WorkingFolder {
            path: profile.cwd.clone(),
            source,
        })?;
        let closed = roots.closed(&cwd);
        let mut environment = environment(
            &self.inherited,
            &profile.environment,
            &self.folders,
            &closed,
        );
        let own_scratch = environment.keep_scratch(&roots.writable);
        let program = program(plan, &environment.folders, &cwd)?;
        let home = environment
            .variables
            .get(std::ffi::OsStr::new("HOME"))
            .map(PathBuf::from);
        roots.read_also(environment.named.iter().cloned());
        if profile.git != GitAccess::Read
            && let Some(home) = &home
        {
            roots.own_git = OwnGit::read(home, &roots.excludes);
        }
        if let Some(home) = home.as_deref().and_then(|home| home.canonicalize().ok())
            && roots.contains(&home)
        {
            environment
                .notes
                .push(crate::Note::HomeGranted { path: home });
        }
        let machine = Machine {
            root: rustix::process::geteuid().is_root(),
            kernel_refuses: self.kernel_refuses.get().cloned(),
            bwrap: self.bwrap.clone(),
            identity: self.identity,
            without: without.to_vec(),
            helper: self.helper.file().to_owned(),
            home,
            #[cfg(target_os = "linux")]
            secrets: Arc::clone(&self.secrets),
        };
        let mut sandbox = sandbox(&machine, profile, &roots)?;

        let mut variables: Vec<_> = environment
            .variables
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect();
        variables.push((b"PATH".to_vec(), bytes(environment.path())));
        let own_tmp = sandbox.namespaces.is_some();
        if profile.strength != Strength::Off {
            variables.extend(git_variables(profile.git, own_tmp, &roots));
        }
        if own_tmp && !own_scratch {
            variables.push((b"TMPDIR".to_vec(), b"/tmp".to_vec()));
        }
        let mut words: Vec<_> = program
            .words
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect();
        let mut file = bytes(&program.file);
        if let Some(first) = sandbox.prefix.first() {
            words[0] = std::mem::replace(&mut file, first.clone());
            words.splice(0..0, sandbox.prefix.iter().cloned());
        }
        let limits = &profile.limits;
        let is_confined = profile.strength != Strength::Off;
        let spec = Spec {
            program: file,
            words,
            environment: variables,
            cwd: bytes(&cwd),
            stdin: options.stdin.map(<[u8]>::to_vec),
            limits: Limits {
                grace_ms: limits.grace_ms,
                cpu_seconds: limits.cpu_seconds,
                memory_bytes: limits.memory_bytes,
                file_bytes: limits.file_bytes,
                open_files: limits.open_files,
                processes: limits.processes,
            },
            identity: sandbox.identity,
            capabilities: sandbox.capabilities,
            landlock: sandbox.landlock.take(),
            seccomp: sandbox.seccomp,
            namespaces: sandbox.namespaces.take(),
            scratch: (!own_tmp && !own_scratch).then(|| bytes(&self.scratch)),
            stubs: sandbox.stubs,
            mounted: Vec::new(),
            written: roots.written.filter(|_| is_confined),
            home: roots.home.filter(|_| is_confined).map(bytes),
            inspected: if is_confined {
                roots.inspected
            } else {
                Vec::new()
            },
            layers: sandbox.layers,
            strict: profile.strength == Strength::Required,
        };
        let outcome = CommandOutcome {
            end: crate::End::Code(0),
            stopped: None,
            stdout: crate::Captured::default(),
            stderr: crate::Captured::default(),
            duration: std::time::Duration::ZERO,
            layers: Vec::new(),
            words: program.record(),
            approved_by: Box::default(),
            notes: environment.notes.into_iter().chain(sandbox.notes).collect(),
        };
        Ok(((spec, sandbox.without_landlock), outcome))
    }

    pub(crate) fn helper_file(&self) -> &Path {
        self.helper.file()
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }
}

/// A specification, and the notes to add if Landlock is missing.
type Planned = (Spec, Vec<crate::Note>);

/// Locks the folders that a command may write.
fn lock(profile: &Profile, cancel: Option<&Cancel>) -> Result<ProjectLock, ExecError> {
    if profile.strength == Strength::Off {
        return Ok(ProjectLock::default());
    }
    let (readable, mut writable) = (canonical(&profile.readable), canonical(&profile.writable));
    let granted = Granted {
        cwd: &real(&profile.cwd),
        readable: &readable,
        writable: &writable,
    };
    let own = granted.own(profile.git);
    if let Some(linked) = own.and_then(|(_, linked)| linked) {
        writable.extend([linked.own, linked.common]);
    }
    let wait = std::time::Duration::from_millis(profile.limits.deadline_ms);
    ProjectLock::acquire(&writable, wait, cancel)
}

fn canonical(paths: &[PathBuf]) -> Vec<PathBuf> {
    let paths = paths.iter();
    paths.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the variables with which git works in the sandbox.
///
/// Files of other owners are the rule there, and a configuration file that can be seen but not read
/// would be fatal to git. A command that may write the git folder executes no hook, monitor, editor
/// or signing program, and enters no submodule.
fn git_variables(access: GitAccess, namespaces: bool, roots: &Roots) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut settings = vec![("safe.directory", "*")];
    let mut keys = Vec::new();
    let mut variables: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut set = |name: &str, value: &[u8]| variables.push((name.into(), value.into()));
    if namespaces {
        settings.push(("core.excludesFile", "/.prowess/excludes"));
        if roots
            .own_git
            .files
            .iter()
            .any(|(path, _)| path == Path::new(CONFIG))
        {
            set("GIT_CONFIG_GLOBAL", CONFIG.as_bytes());
        }
    } else {
        set("GIT_CONFIG_GLOBAL", b"/dev/null");
        settings.push(("core.excludesFile", "/dev/null"));
        settings.push(("core.attributesFile", "/dev/null"));
    }
    if access != GitAccess::Read {
        set("GIT_EDITOR", b"false");
        settings.extend([
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("commit.gpgSign", "false"),
            ("tag.gpgSign", "false"),
            ("tag.forceSignAnnotated", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            // Git must not enter a repository that is in the working tree: its filters would run.
            ("diff.ignoreSubmodules", "all"),
            ("diff.submodule", "short"),
            ("status.submoduleSummary", "false"),
            ("submodule.recurse", "false"),
        ]);
        let ignoring = roots.ignoring.iter();
        keys.extend(ignoring.map(|name| [b"submodule.", &**name, b".ignore"].concat()));
    }
    let settings = settings.into_iter();
    let settings = settings.map(|(key, value)| (key.into(), value));
    let settings: Vec<(Vec<u8>, &str)> = settings
        .chain(keys.into_iter().map(|key| (key, "all")))
        .collect();
    set("GIT_CONFIG_COUNT", settings.len().to_string().as_bytes());
    for (at, (key, value)) in settings.into_iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{at}"), &key);
        set(&format!("GIT_CONFIG_VALUE_{at}"), value.as_bytes());
    }
    variables
}
