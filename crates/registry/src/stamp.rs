//! File stamps: a cheap way to see that a file did not change.

use std::path::Path;

use prowess_catalog::FileStamp;

use crate::cache;

/// Returns the stamp of a regular file, following links. `None` if there is no such file.
pub fn file_stamp(path: &Path) -> Option<FileStamp> {
    crate::fs::read::stamp(rustix::fs::CWD, path.as_os_str())
}

/// Returns `true` if a file with this stamp has not changed for a while, so that a later change
/// gives another stamp.
pub fn is_at_rest(stamp: FileStamp) -> bool {
    cache::were_at_rest(stamp, None, cache::now())
}
