//! A word of a command, as the shell would pass it on.

pub use prowess_programs::Word;
