//! Fills arguments and variables into the body of a skill.
//!
//! A body is parsed once, from the author's text ([`prepare`]). Filling it ([`Template::fill`])
//! inserts values between the pieces without parsing them, so a value cannot introduce a
//! placeholder or a command. The result is a list of [`RenderedPart`]s: text, and [`CommandSlot`]s for the output
//! of commands, which the caller runs.
//!
//! A value reaches a command as a positional parameter or variable of the shell, never as part of
//! its script. If the shell or another interpreter would still run the value as code, [`prepare`]
//! refuses the skill and says what to write instead.
//!
//! This crate is pure: no files, no clock, no environment.

#![warn(clippy::disallowed_methods)]

mod arguments;
mod command_slot;
mod compat;
mod fill;
mod template;
mod variables;

pub use arguments::Arguments;
pub use command_slot::{CommandSlot, RefusedCommand, WithheldCommand};
pub use compat::Compat;
pub use fill::{
    FillError, FillReport, Filled, MAX_BINDING, MAX_OUTPUT, Rendered, RenderedPart, Replacement,
};
pub use template::{
    CommandHandling, MAX_NAMES, PrepareOptions, RefusedTemplate, Template, literal, prepare,
};
pub use variables::{SkillVariables, Variable};
