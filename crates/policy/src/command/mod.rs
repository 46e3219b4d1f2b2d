//! Command lines: what they say, proved or guessed.

pub mod word;

pub use word::Word;
