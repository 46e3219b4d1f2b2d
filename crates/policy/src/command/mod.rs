//! Command lines: what they say, proved or guessed.

pub mod finder;
pub mod lexer;
pub mod script;
pub mod word;

pub use lexer::{Join, Redirect, Refusal, Script, Simple, lex};
pub use word::Word;
