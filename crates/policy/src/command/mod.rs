//! Command lines: what they say, proved or guessed.

pub mod finder;
pub mod lexer;
pub mod script;
pub mod word;

pub use lexer::{Join, Redirect, Refusal, Script, Simple, lex, lex_bound};
pub use word::Word;
