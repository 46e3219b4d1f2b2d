//! The runner and the sandbox, on this machine.

mod support;
mod runs;
