//! This program under another name: it owns the processes of one command.
//!
//! *supervise* reads what to do from standard input, starts the command, passes on what is reported,
//! and ends every process that is left. With layer 2 it starts `bwrap`, in which *inside* is the
//! first process of the new namespace. In both cases `stage` applies layer 1 and becomes the command.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod namespaces;
mod probe;
mod stage;
mod stubs;
mod supervise;
mod sweep;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) use probe::{NAMES, Probed, parse as parse_probe};

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__prowess-sandbox";

/// A program that becomes the helper when it is started with the hidden argument.
#[derive(Clone, Debug)]
pub struct Helper {
    /// What is started.
    program: PathBuf,
    /// Where its file is.
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

/// Becomes the helper if this process was started as one; otherwise returns the proof that it can.
///
/// Call it first thing in `main`, before any thread is started. A program that does not call it
/// cannot build a [`Runner`](crate::Runner) on itself: started once more it would do its own work
/// again.
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
    // An unreadable link leaves an empty path: starting that fails with its own error.
    let file = std::env::current_exe().unwrap_or_default();
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        file.clone()
    };
    Helper { program, file }
}
