//! The `paths` field: the files that a skill is for.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The globs of one skill. `*` does not match `/`, `**` does. An invalid glob matches nothing and
/// does not affect the others.
#[derive(Clone, Debug)]
pub struct PathGlobs {
    set: GlobSet,
    unread: Vec<Box<str>>,
}

impl PathGlobs {
    /// Compiles globs.
    pub fn new<T: AsRef<str>>(globs: &[T]) -> Self {
        let mut builder = GlobSetBuilder::new();
        let mut unread = Vec::new();
        for glob in globs {
            let glob = glob.as_ref();
            match GlobBuilder::new(glob)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
            {
                Ok(read) => {
                    builder.add(read);
                }
                Err(_) => unread.push(glob.into()),
            }
        }
        Self {
            set: builder.build().unwrap_or_else(|_| GlobSet::empty()),
            unread,
        }
    }

    /// Returns `true` if a path, relative to the project's root, matches.
    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// Returns the invalid globs.
    pub fn unread(&self) -> &[Box<str>] {
        &self.unread
    }
}
