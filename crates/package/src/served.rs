//! Files of packages as MCP servers list them.

use prowess_traits::OfferedFile;

use crate::index::escaped;
use crate::lock::{LockedKind, LockedPackage};

/// Returns the files of a locked package as an MCP server lists them below the address of its folder,
/// without reading a file. `None` for a package with links, which servers do not have.
pub fn served_files(package: &LockedPackage, root: &str) -> Option<Vec<OfferedFile>> {
    let has_links = |kind| kind == LockedKind::Link;
    if package.digest.is_none() || package.files.iter().any(|file| has_links(file.kind)) {
        return None;
    }
    let file = |file: &crate::lock::LockedFile| OfferedFile {
        path: file.path.clone(),
        uri: format!("{root}/{}", escaped(&file.path).trim_start_matches("./")),
        size: file.size,
        digest: file.digest.clone(),
    };
    Some(package.files.iter().map(file).collect())
}
