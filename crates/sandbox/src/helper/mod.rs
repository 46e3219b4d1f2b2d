//! The helper: the host program in another role, which owns the processes of one command.
//!
//! `supervise` reads the specification from standard input, starts the command, forwards reports and
//! ends every process that is left. `namespaces` builds layer 2; where `bwrap` has to do it, `inside`
//! is the first process there. `stage` applies layer 1 and becomes the command.

#[cfg(target_os = "linux")]
mod cgroup;
mod index_watch;
mod inspect;
#[cfg(target_os = "linux")]
mod namespaces;
mod probe;
mod scratch;
mod stage;
mod stubs;
mod supervise;
mod sweep;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) use inspect::place_id;
pub(crate) use probe::{NAMES, Probed, parse as parse_probe};
pub(crate) use stubs::{remove_leftover, unused_name};

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__prowess-sandbox";

/// A program that becomes the helper when it is started with the hidden argument.
#[derive(Clone, Debug)]
pub struct Helper {
    /// The program that is started.
    program: PathBuf,
    /// The file of the program.
    file: PathBuf,
}

impl Helper {
    /// A program whose `main` calls [`maybe_run_helper`].
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let program = path.into();
        Self {
            file: program.clone(),
            program,
        }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// Becomes the helper if this process was started as one. Otherwise returns the handle with which a
/// [`Runner`](crate::Runner) starts this program as its helper.
///
/// Call it first in `main`, before any thread is started.
pub fn maybe_run_helper() -> Helper {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == OsStr::new(ARGUMENT))
    {
        let rest: Vec<_> = arguments.collect();
        let words: Vec<&str> = rest.iter().filter_map(|word| word.to_str()).collect();
        let code = match words.as_slice() {
            ["supervise"] => supervise::supervise(),
            ["inside", spec, report] => supervise::inside(spec, report),
            ["probe", arguments @ ..] => probe::run(arguments),
            _ => 125,
        };
        #[expect(
            clippy::exit,
            reason = "as the helper, this process is not the host program"
        )]
        std::process::exit(code);
    }
    // Starting an empty path fails with its own error.
    let file = std::env::current_exe().unwrap_or_default();
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        file.clone()
    };
    Helper { program, file }
}
