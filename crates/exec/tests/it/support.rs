//! What the tests share: a workspace, commands that passed the gate, and what this machine can do.

use std::path::{Path, PathBuf};

use prowess_exec::{ExecError, Layer, Options, Outcome, Runner};
use prowess_policy::profile::{Profile, Strength};
use prowess_policy::{Actor, Answer, Approved, Command, Gate};

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_prowess-sandbox-helper");
pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_prowess-sandbox-probe");

/// A line that a person said yes to.
pub(crate) fn approved(line: &str) -> Approved<Command> {
    match Gate::default().command(line, &Actor::default()) {
        prowess_policy::Outcome::Allowed(command, _) => command,
        prowess_policy::Outcome::Ask(pending) => pending.answer(Answer::Once).unwrap().0,
        prowess_policy::Outcome::Denied(decision) => panic!("denied: {decision:?}"),
    }
}

/// Something in which a command can run and do harm.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) profile: Profile,
    pub(crate) runner: Runner,
}

impl Place {
    /// A folder with `work`, which is writable, and `outside`, which is not.
    pub(crate) fn new(strength: Strength) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        open_to_all(folder.path());
        for name in ["work", "outside"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            open_to_all(&folder.path().join(name));
        }
        let work = folder.path().join("work").canonicalize().unwrap();
        let mut profile = Profile::reading(&work);
        profile.strength = strength;
        profile.writable = vec![work];
        profile.readable.extend([HELPER, PROBE].map(PathBuf::from));
        profile.limits.deadline_ms = 60_000;
        Self { folder, profile, runner: Runner::with_helper(HELPER) }
    }

    pub(crate) fn work(&self) -> &Path {
        &self.profile.cwd
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("outside")
    }

    pub(crate) fn try_run(&self, line: &str) -> Result<Outcome, ExecError> {
        self.runner.run(&approved(line), &self.profile, Options::default())
    }

    pub(crate) fn run(&self, line: &str) -> Outcome {
        self.try_run(line).unwrap_or_else(|error| panic!("`{line}`: {error}"))
    }

    pub(crate) fn without(mut self, layers: &[Layer]) -> Self {
        self.runner = self.runner.without(layers.iter().copied());
        self
    }
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
}

pub(crate) fn root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn has_bwrap() -> bool {
    Path::new("/usr/bin/bwrap").exists()
}

/// Whether the tests of something can run. Where they cannot, that is said; where they must, as on
/// the machine that decides about a change, they fail.
pub(crate) fn can(what: &str, there: bool) -> bool {
    if !there {
        eprintln!("NOT RUN: {what} is not there");
        let must = std::env::var_os("PROWESS_TEST_REQUIRE_SANDBOX").is_some_and(|v| v == "1");
        assert!(!must, "{what} is not there, and PROWESS_TEST_REQUIRE_SANDBOX=1");
    }
    there
}

/// The strongest place there is here: `Required` where namespaces or root are there.
pub(crate) fn strongest() -> Place {
    let strength =
        if has_bwrap() || root() { Strength::Required } else { Strength::BestEffort };
    Place::new(strength)
}
