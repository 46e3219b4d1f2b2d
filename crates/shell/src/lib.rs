//! Reads shell lines and knows what programs do with their words.
//!
//! [`lex`] is the strict reader: it proves what a line says, or refuses. [`finder`] is the tolerant
//! one: it finds every command that a line may run. [`programs`] is the option table: what a program
//! starts, writes or sends beyond what its name says. [`placeholders`] decides where in a command a
//! value may be filled in.
//!
//! The table reduces prompts; it is not a security boundary. The sandbox is.

#![warn(clippy::disallowed_methods)]

pub mod finder;
pub mod lexer;
pub mod placeholders;
pub mod programs;
pub mod script;
pub mod suggest;
pub mod word;

pub use lexer::{Join, Redirect, Refusal, Script, Simple, lex, lex_bound};
pub use word::Word;
