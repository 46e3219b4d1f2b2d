//! Fills arguments and variables into the body of a skill.
//!
//! A body is taken apart once, from the author's text ([`prepare`]). Filling it ([`Template::fill`])
//! puts values between the pieces and looks at none of them again, so no value can open a
//! placeholder or a command. The result is a list of [`Part`]s: text, and [`Slot`]s for the output
//! of commands that somebody else runs.
//!
//! A value reaches a command as a positional or a variable of the shell, never as text of its
//! script. Where that would not help, because the shell or another interpreter takes the value for
//! code, [`prepare`] refuses the skill and shows what to write instead.
//!
//! Everything here is a function of values: no file, no clock, no environment.

#![warn(clippy::disallowed_methods)]

mod arguments;
mod compat;
mod fill;
mod slot;
mod template;
mod variables;

pub use arguments::Arguments;
pub use compat::Compat;
pub use fill::{Became, FillError, Filled, MAX_BINDING, MAX_OUTPUT, Part, Rendered, Report};
pub use slot::{Slot, Withheld};
pub use template::{Commands, MAX_NAMES, Prepare, Refused, Template, prepare};
pub use variables::{Variable, Variables};
