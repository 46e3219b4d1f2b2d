//! A word of a command, as the shell would pass it on.

/// A word with its quotes taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What the program receives, unless `globs` has entries.
    pub text: Box<str>,
    /// Offsets in `text` of `*` and `?` that the shell will replace by the names of files. Such a
    /// word may become any number of words, each beginning with the same literal text.
    pub globs: Box<[u32]>,
}

impl Word {
    /// A word without patterns.
    pub fn plain(text: impl Into<Box<str>>) -> Self {
        Self {
            text: text.into(),
            globs: Box::default(),
        }
    }

    /// Tells whether the shell makes names of files of it.
    pub fn is_glob(&self) -> bool {
        !self.globs.is_empty()
    }
}
