//! From an approved command to the record of its run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prowess_policy::{Approved, Command, Plan, Profile};

use crate::cancel::{Cancel, Stop};
use crate::capture::Stream;
use crate::drive::{Failure, drive};
use crate::environment::environment;
use crate::error::ExecError;
use crate::helper::Helper;
use crate::outcome::{Layer, Outcome};
use crate::program::program;
use crate::sandbox::{Machine, Roots, sandbox};
use crate::spec::{Limits, Spec, bytes};

/// Runs commands, one at a time for each call. Cheap to clone, and shared between threads at will.
#[derive(Clone, Debug)]
pub struct Runner {
    helper: Helper,
    inherited: Vec<(OsString, OsString)>,
    folders: Vec<PathBuf>,
    bwrap: Vec<PathBuf>,
    identity: (u32, u32),
    scratch: PathBuf,
    without: Vec<(Layer, Box<str>)>,
    pub(crate) stop: Option<Stop>,
}

/// Who sees the output of a command while it comes.
pub type OnOutput<'a> = &'a mut dyn FnMut(Stream, &[u8]);

/// What belongs to one run besides its command and its profile.
#[derive(Default)]
pub struct Options<'a> {
    /// What the command reads from standard input; nothing if it is left out.
    pub stdin: Option<&'a [u8]>,
    /// With what somebody else can end the run.
    pub cancel: Option<&'a Cancel>,
    /// Who sees the output while it comes, every byte of it.
    pub on_output: Option<OnOutput<'a>>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("stdin", &self.stdin.map(<[u8]>::len))
            .field("cancel", &self.cancel.is_some())
            .field("on_output", &self.on_output.is_some())
            .finish()
    }
}

impl Runner {
    /// A runner that uses this program as its helper.
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
            identity: (65534, 65534),
            scratch: "/tmp".into(),
            without: Vec::new(),
            stop: None,
        }
    }

    /// A runner that uses another program as its helper.
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

    /// Folders that are searched for programs before the system's.
    #[must_use]
    pub fn search(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.folders = folders.into_iter().collect();
        self
    }

    /// Folders in which `bwrap` is looked for.
    #[must_use]
    pub fn bwrap_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.bwrap = folders.into_iter().collect();
        self
    }

    /// The user and group that commands run as if this process is root and has no namespaces.
    #[must_use]
    pub fn identity(mut self, user: u32, group: u32) -> Self {
        self.identity = (user, group);
        self
    }

    /// The folder in which scratch folders are made, if a command has no `/tmp` of its own.
    #[must_use]
    pub fn scratch_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = folder.into();
        self
    }

    /// With what somebody ends all runs that were started through the port.
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

    /// Runs a command and returns when no process of it is left.
    ///
    /// It blocks: call it from a thread that may wait.
    pub fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        options: Options<'_>,
    ) -> Result<Outcome, ExecError> {
        let mut outcome = self.run_plan(&command.value().plan, profile, options)?;
        outcome.approved_by = command.by().into();
        Ok(outcome)
    }

    /// Runs what nobody approved; only [`Runner::run`], tests and the helper's own probe call it.
    pub(crate) fn run_plan(
        &self,
        plan: &Plan,
        profile: &Profile,
        mut options: Options<'_>,
    ) -> Result<Outcome, ExecError> {
        let mut without = self.without.clone();
        loop {
            let (spec, mut outcome) = self.prepare(plan, profile, &options, &without)?;
            match drive(&self.helper, &spec.0, profile, &mut options) {
                Ok(done) => {
                    outcome.end = done.end;
                    outcome.stopped = done.stopped;
                    outcome.stdout = done.stdout;
                    outcome.stderr = done.stderr;
                    outcome.duration = done.duration;
                    outcome.layers = done.layers;
                    outcome.layers.sort_by_key(|state| state.layer);
                    outcome.notes.extend(done.notes);
                    let landlock = outcome.layer(Layer::Landlock);
                    if matches!(landlock, Some(crate::State::Missing(_)))
                        && spec.0.landlock.is_some()
                    {
                        outcome.notes.extend(spec.1);
                    }
                    return Ok(outcome);
                }
                // Nothing ran. What is left may still do: the next round decides.
                Err(Failure::Namespaces(why)) => without.push((Layer::Namespaces, why)),
                Err(Failure::Other(error)) => return Err(error),
            }
        }
    }

    /// What the helper is told, what to say if Landlock is missing, and the record so far.
    fn prepare(
        &self,
        plan: &Plan,
        profile: &Profile,
        options: &Options<'_>,
        without: &[(Layer, Box<str>)],
    ) -> Result<((Spec, Vec<crate::Note>), Outcome), ExecError> {
        let roots = Roots::of(profile)?;
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
        let machine = Machine {
            root: rustix::process::geteuid().is_root(),
            bwrap: self.bwrap.clone(),
            identity: self.identity,
            without: without.to_vec(),
            helper: self.helper.file().to_owned(),
            home,
        };
        let mut sandbox = sandbox(&machine, profile, &roots)?;

        let mut variables: Vec<_> = environment
            .variables
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect();
        variables.push((b"PATH".to_vec(), bytes(environment.path())));
        let own_tmp = sandbox.namespaces.is_some();
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
            layers: sandbox.layers,
            strict: profile.strength == prowess_policy::profile::Strength::Required,
        };
        let outcome = Outcome {
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
