//! Runs what the gate approved: bounded, cleaned up, inside a sandbox.
//!
//! [`Runner::run`] takes nothing but an [`Approved`](prowess_policy::Approved) command. Between the
//! host program and the command stands a *helper*: this program started once more under a hidden
//! first argument ([`maybe_run_helper`]). It owns the process tree of one command and nothing else,
//! so that clean-up can be thorough without touching children that the host program has of its own.
//! The helper builds the sandbox, starts the command inside, and returns only when no process of
//! the command is left.
//!
//! Layers, from `reference/security.md` §3.4:
//!
//! | layer | what | where |
//! |---|---|---|
//! | 0 | environment, descriptors, session, limits, deadline, the whole tree ended | everywhere |
//! | 1 | capabilities, Landlock, seccomp | Linux |
//! | 2 | namespaces through `bwrap` | Linux, if it is installed |
//! | 3 | another user, if the host program is root and layer 2 is not there | Linux |
//! | – | seatbelt | macOS, in place of 1 to 3 |

mod cancel;
mod capture;
mod doctor;
mod drive;
mod environment;
mod error;
mod helper;
mod outcome;
mod port;
mod program;
mod runner;
mod sandbox;
mod spec;
mod sys;

pub use cancel::{Cancel, Stop};
pub use capture::{Captured, Stream};
pub use doctor::{Task, Trial, layers, tasks};
pub use error::{ExecError, Step};
pub use helper::{Helper, maybe_run_helper};
pub use outcome::{End, Layer, LayerState, Note, Outcome, State, Stopped};
pub use runner::{OnOutput, Options, Runner};
pub use sandbox::seatbelt;
