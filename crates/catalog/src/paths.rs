//! `paths`: which files a skill is meant for.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The globs of one skill. `*` stays inside a folder, `**` does not; one that cannot be read
/// matches nothing and leaves the others alone.
#[derive(Clone, Debug)]
pub struct PathGlobs {
    set: GlobSet,
    unread: Vec<Box<str>>,
}

impl PathGlobs {
    /// Reads globs.
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

    /// Tells whether a path, from the project's root, is one of these files.
    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// Returns the globs that could not be read.
    pub fn unread(&self) -> &[Box<str>] {
        &self.unread
    }
}
