//! Parses shell commands and knows what programs do with their words.
//!
//! [`lex`] is the strict parser: it returns the exact words of a line, or refuses it. [`finder`] is
//! the tolerant one: it finds every command that a line may run. [`programs`] is the table of
//! programs: what they start, write or send beyond what their name says, and which of their words
//! are code. [`placeholders`] decides where in a command a value may be filled in. [`suggest`]
//! proposes patterns for permission rules. [`pipeline`] finds commands in text of any kind. Validation, trust, permissions and rendering all decide
//! by these functions.
//!
//! The table reduces prompts; it is not a security boundary. The sandbox is.

#![warn(clippy::disallowed_methods)]

pub mod finder;
pub mod lexer;
pub mod pipeline;
pub mod placeholders;
pub mod programs;
pub mod script;
pub mod suggest;
pub mod word;

pub use lexer::{Join, LexRefusal, Redirect, ShellLine, SimpleCommand, lex, lex_bound};
pub use word::Word;
