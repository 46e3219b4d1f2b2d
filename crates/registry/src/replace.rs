//! Replaces a file atomically.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Error from replacing a file. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The file changed since it was read.
    #[error("`{}` was modified by another program; try again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is a link to a file outside its folder.
    #[error("`{}` is a link to a file outside its folder", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// Writing failed.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// Replaces a file with `new`, if it still contains `expected` and is, after resolving links,
/// inside one of the `places`. Keeps permissions and links. After a crash the file has either the
/// old or the new content.
pub fn replace_file(
    path: &Path,
    places: &[PathBuf],
    expected: &[u8],
    new: &[u8],
) -> Result<(), ReplaceError> {
    let failed = |source| ReplaceError::Write {
        path: path.to_owned(),
        source,
    };
    let target = std::fs::canonicalize(path).map_err(failed)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    // A link inside a skill may point to other files of the skill, never to files outside.
    let own = path
        .parent()
        .filter(|own| !own.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // A linked folder may point anywhere: only write inside the named places.
    let is_named = places.iter().any(|place| {
        target.starts_with(place) || (place.parent() == Some(folder) && place.is_file())
    });
    if !is_named || !folder.starts_with(std::fs::canonicalize(own).map_err(failed)?) {
        return Err(ReplaceError::Outside {
            path: path.to_owned(),
        });
    }
    let permissions = std::fs::metadata(&target).map_err(failed)?.permissions();
    let mut file = tempfile::Builder::new()
        .prefix(".prowess-")
        .tempfile_in(folder)
        // Without the name of the temporary file.
        .map_err(|error| failed(error.kind().into()))?;
    file.write_all(new).map_err(failed)?;
    file.as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    // Check as late as possible. A change after this would be lost even with a lock.
    if std::fs::read(&target).map_err(failed)? != expected {
        return Err(ReplaceError::Changed {
            path: path.to_owned(),
        });
    }
    file.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn permissions_and_links_are_kept() {
        let world = tempfile::tempdir().unwrap();
        let (file, link) = (world.path().join("f"), world.path().join("l"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("f", &link).unwrap();
        replace_file(
            &link,
            &[world.path().canonicalize().unwrap()],
            b"old",
            b"new",
        )
        .unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn link_to_the_outside_is_rejected() {
        let world = tempfile::tempdir().unwrap();
        let (skill, other) = (world.path().join("skill"), world.path().join("other"));
        std::fs::create_dir(&skill).unwrap();
        std::fs::write(&other, "old").unwrap();
        std::os::unix::fs::symlink(&other, skill.join("SKILL.md")).unwrap();
        let result = replace_file(
            &skill.join("SKILL.md"),
            &[world.path().canonicalize().unwrap()],
            b"old",
            b"new",
        );
        assert!(matches!(result, Err(ReplaceError::Outside { .. })));
        assert_eq!(std::fs::read(&other).unwrap(), b"old");
    }

    #[test]
    fn changed_file_is_not_replaced() {
        let world = tempfile::tempdir().unwrap();
        let file = world.path().join("f");
        std::fs::write(&file, "theirs").unwrap();
        assert!(matches!(
            replace_file(
                &file,
                &[world.path().canonicalize().unwrap()],
                b"old",
                b"new"
            ),
            Err(ReplaceError::Changed { .. })
        ));
        assert_eq!(std::fs::read(&file).unwrap(), b"theirs");
        assert_eq!(
            std::fs::read_dir(world.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }
}
