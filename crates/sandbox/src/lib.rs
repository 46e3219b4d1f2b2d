//! Runs approved commands in a sandbox, within limits, and leaves no process behind.
//!
//! [`Runner::run`] accepts only an [`Approved`](prowess_policy::Approved) command. It starts a
//! *helper*: the host program itself with a hidden first argument ([`maybe_run_helper`]). The helper
//! owns the process tree of one command, so it can end all of it without touching other children of
//! the host. It builds the sandbox, starts the command inside, and exits when no process of the
//! command is left.
//!
//! Layers (`docs/concepts/sandbox.md` has the details):
//!
//! | layer | what | where |
//! |---|---|---|
//! | 0 | environment, descriptors, session, limits, deadline, the whole tree ended | everywhere |
//! | 1 | capabilities, Landlock, seccomp | Linux |
//! | 2 | namespaces, built by the helper or by `bwrap` | Linux, if the kernel allows them |
//! | 3 | another user, if the host program is root and layer 2 is missing | Linux |
//! | – | seatbelt | macOS, instead of 1 to 3 |

mod bounded_read;
#[cfg(target_os = "linux")]
mod bwrap;
mod cancel;
#[cfg(target_os = "linux")]
mod capabilities;
mod capture;
mod command_runner;
mod doctor;
mod environment;
mod error;
mod git;
mod git_config;
mod git_index;
mod git_preview;
mod granted_paths;
mod helper;
mod host_loop;
#[cfg(target_os = "linux")]
mod landlock;
mod layers;
#[cfg(target_os = "linux")]
mod layers_linux;
mod letter_case;
#[cfg(target_os = "linux")]
mod mounts;
mod on_disk;
mod outcome;
mod own_git;
mod own_session;
mod project_lock;
mod protocol;
mod resolve_program;
mod runner;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod sys;
#[cfg(target_os = "linux")]
mod system_paths;

pub use cancel::{Cancel, Stop};
pub use capture::{Captured, Stream};
pub use doctor::{SelfTest, Trial, layers, tasks};
pub use error::{ExecError, Step};
pub use granted_paths::protected_paths;
pub use helper::{Helper, maybe_run_helper};
pub use outcome::{CommandOutcome, End, Layer, LayerState, LayerStatus, Note, Stopped};
pub use own_session::in_own_session;
pub use runner::{CommandOptions, OnOutput, Runner};
