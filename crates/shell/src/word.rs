//! Words of a command.

/// A word without quotes, as the program receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text that the program receives, unless `globs` has entries.
    pub text: Box<str>,
    /// Offsets in `text` of `*` and `?` that the shell expands to file names. Such a word may
    /// become any number of words that begin with the same literal text.
    pub globs: Box<[u32]>,
}

impl Word {
    /// Creates a word without patterns.
    pub fn plain(text: impl Into<Box<str>>) -> Self {
        Self {
            text: text.into(),
            globs: Box::default(),
        }
    }

    /// Returns `true` if the shell expands it to file names.
    pub fn is_glob(&self) -> bool {
        !self.globs.is_empty()
    }
}
