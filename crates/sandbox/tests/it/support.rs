//! What the tests share: a place to do harm in, commands that passed the gate, and what this
//! machine can do.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use prowess_policy::profile::{Profile, Strength};
use prowess_policy::{Actor, ApprovalAnswer, Approved, Command, Gate};
use prowess_sandbox::{CommandOptions, CommandOutcome, ExecError, Layer, Runner};
use prowess_test::harness::{not_run, skip_unless_required};

/// A user that owns nothing.
pub(crate) const NOBODY: u32 = 65534;

/// The helper, where every user can run it.
pub(crate) fn helper() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| for_everybody(Path::new(env!("CARGO_BIN_EXE_prowess-sandbox-helper"))))
}

/// The helper in a mount namespace of its own, if this process may create one: mounts of a control
/// are invisible to other processes and disappear with it.
pub(crate) fn private_helper() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            return helper().to_owned();
        }
        let folder = PathBuf::from(format!("/var/tmp/prowess-sandbox-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        mode(&folder, 0o755);
        let script = folder.join("private-helper");
        let text = format!(
            "#!/bin/sh\nexec unshare --mount --propagation private -- {} \"$@\"\n",
            helper().display()
        );
        std::fs::write(&script, text).unwrap();
        mode(&script, 0o755);
        script
    })
}

/// The program that tries to do harm.
pub(crate) fn probe() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| for_everybody(Path::new(env!("CARGO_BIN_EXE_prowess-sandbox-probe"))))
}

/// The file, or a copy of it where every user can run it.
pub(crate) fn for_everybody(file: &Path) -> PathBuf {
    let open = |path: &Path| {
        path.metadata()
            .is_ok_and(|f| f.permissions().mode() & 0o001 != 0)
    };
    if file.ancestors().all(open) {
        return file.to_owned();
    }
    let folder = PathBuf::from(format!("/var/tmp/prowess-sandbox-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    mode(&folder, 0o755);
    let copy = folder.join(file.file_name().unwrap());
    std::fs::copy(file, &copy).unwrap();
    mode(&copy, 0o755);
    copy
}

/// A line that a person said yes to.
pub(crate) fn approved(line: &str) -> Approved<Command> {
    match Gate::default().command(line, &Actor::default()) {
        prowess_policy::GateOutcome::Allowed(command, _) => command,
        prowess_policy::GateOutcome::Ask(pending) => {
            pending.answer(ApprovalAnswer::Once).unwrap().0
        }
        prowess_policy::GateOutcome::Denied(decision) => panic!("denied: {decision:?}"),
    }
}

/// Somewhere a command can run and do harm.
pub(crate) struct Place {
    pub(crate) folder: Folder,
    pub(crate) profile: Profile,
    pub(crate) runner: Runner,
}

impl Place {
    /// A folder with `work`, which is writable, and `outside`, which is not.
    pub(crate) fn new(strength: Strength) -> Self {
        let folder = Folder::new();
        mode(folder.path(), 0o755);
        let here = folder.path().canonicalize().unwrap();
        for (name, bits) in [("work", 0o777), ("outside", 0o755)] {
            std::fs::create_dir(here.join(name)).unwrap();
            mode(&here.join(name), bits);
        }
        let mut profile = Profile::reading(here.join("work"));
        profile.strength = strength;
        profile.writable = vec![here.join("work")];
        profile
            .readable
            .extend([helper(), probe()].map(Path::to_owned));
        profile.limits.deadline_ms = 120_000;
        Self {
            folder,
            profile,
            runner: Runner::with_helper(helper()),
        }
    }

    pub(crate) fn here(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn work(&self) -> &Path {
        &self.profile.cwd
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.here().join("outside")
    }

    pub(crate) fn try_run(&self, line: &str) -> Result<CommandOutcome, ExecError> {
        self.runner
            .run(&approved(line), &self.profile, CommandOptions::default())
    }

    pub(crate) fn run(&self, line: &str) -> CommandOutcome {
        self.try_run(line)
            .unwrap_or_else(|error| panic!("`{line}`: {error}"))
    }

    pub(crate) fn without<'a>(mut self, lacking: impl Into<Lacking<'a>>) -> Self {
        let lacking = lacking.into();
        self.runner = self.runner.without(lacking.layers.iter().copied());
        if lacking.kernel {
            self.runner = self.runner.without_kernel_namespaces();
        }
        self
    }
}

/// The parts that a set of layers lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacking<'a> {
    pub(crate) layers: &'a [Layer],
    /// The kernel's own namespaces, so that `bwrap` has to build them.
    pub(crate) kernel: bool,
}

impl<'a> From<&'a [Layer]> for Lacking<'a> {
    fn from(layers: &'a [Layer]) -> Self {
        let kernel = false;
        Self { layers, kernel }
    }
}

impl<'a, const N: usize> From<&'a [Layer; N]> for Lacking<'a> {
    fn from(layers: &'a [Layer; N]) -> Self {
        layers.as_slice().into()
    }
}

/// A folder that is removed on drop, unless something is mounted in it.
pub(crate) struct Folder(Option<tempfile::TempDir>);

impl Folder {
    pub(crate) fn new() -> Self {
        // Not `/tmp`: inside, that is another one.
        let base = std::env::var_os("PROWESS_TEST_BASE").unwrap_or_else(|| "/var/tmp".into());
        Self(Some(tempfile::tempdir_in(base).unwrap()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let Some(folder) = self.0.take() else { return };
        let mounts = std::fs::read_to_string("/proc/self/mountinfo");
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        if mounts.map_or(true, |mounts| mounts.contains(name)) {
            let path = folder.keep();
            eprintln!("{} is kept: something is mounted in it", path.display());
            std::process::abort();
        }
    }
}

pub(crate) fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
}

/// A process in the role of the runtime, with a key in its environment.
pub(crate) struct Runtime(Child);

impl Runtime {
    pub(crate) fn start() -> Self {
        let child = std::process::Command::new("/bin/cat")
            .env("PROWESS_TEST_KEY", "sk-0123456789abcdef")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut runtime = Self(child);
        // When the answer comes, it is `cat` and no longer a copy of this process.
        runtime.0.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        std::io::Read::read_exact(runtime.0.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        runtime
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The variables that turn a skip into a failure, for the machine that decides about a change.
pub(crate) const REQUIRE_SANDBOX: &str = "PROWESS_TEST_REQUIRE_SANDBOX";
const REQUIRE_BWRAP: &str = "PROWESS_TEST_REQUIRE_BWRAP";
const NO_BWRAP: &str = "the tests of the fallback: `bwrap` is not installed";
const NO_ROOT: &str = "what only root can do";

fn has_bwrap() -> bool {
    let found = Path::new("/usr/bin/bwrap").metadata();
    found.is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// Returns `true` if `bwrap` is installed and can be executed.
pub(crate) fn can_bwrap() -> bool {
    if !has_bwrap() {
        not_run(NO_BWRAP, REQUIRE_BWRAP);
    }
    has_bwrap()
}

/// Skips the test without `bwrap`.
pub(crate) fn need_bwrap() {
    if !has_bwrap() {
        skip_unless_required(NO_BWRAP, REQUIRE_BWRAP);
    }
}

/// Returns `true` if this process is root and can act as other users.
pub(crate) fn can_identity() -> bool {
    if !root() {
        not_run(NO_ROOT, REQUIRE_SANDBOX);
    }
    root()
}

/// Skips the test unless this process is root.
pub(crate) fn need_root() {
    if !root() {
        skip_unless_required(NO_ROOT, REQUIRE_SANDBOX);
    }
}

/// The variable with the role of a process that does not run the tests.
const ROLE: &str = "PROWESS_TEST_ROLE";

/// Returns the role of this process, or `None` if it runs the tests.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Prepares this program as another process with a role of `main.rs`.
pub(crate) fn in_role(role: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role);
    command
}

/// Runs a role as a user that owns nothing, and returns its output.
pub(crate) fn as_ordinary_user(role: &str) -> String {
    use std::os::unix::process::CommandExt;
    let program = for_everybody(&std::env::current_exe().unwrap());
    let output = std::process::Command::new(program)
        .env(ROLE, role)
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .env("HOME", "/nonexistent")
        .env_remove(REQUIRE_SANDBOX)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as {NOBODY}: {text}\n{errors}");
    assert!(
        text.contains(&role_finished(role)),
        "`{role}` did not run: {text}"
    );
    format!("{text}\n{errors}")
}

/// Returns the last line of a process with a role.
pub(crate) fn role_finished(role: &str) -> String {
    format!("role {role} finished")
}

/// The sets of layers that are strong enough to be required, as far as this user can have them.
pub(crate) fn strong_sets() -> Vec<(&'static str, Lacking<'static>)> {
    let mut sets = vec![("layers 1 and 2", Lacking::from(&[]))];
    if can_bwrap() {
        let kernel = true;
        let layers = &[];
        sets.push(("layers 1 and 2 by bwrap", Lacking { layers, kernel }));
    }
    if can_identity() {
        sets.push(("layers 1 and 3", Lacking::from(&[Layer::Namespaces])));
    }
    sets
}
