//! Replaces a file, whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Why a file was not replaced. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else wrote to it since it was read.
    #[error("{} changed while it was being fixed", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It is a link to a file somewhere else.
    #[error("{} is reached through a link that leads out of its folder", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// The system says no.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Puts `new` in the place of a file that still holds `expected` and lies, links resolved, in one
/// of the `places`. Permissions stay; a link stays
/// a link. A crash leaves either the old text or the new one.
pub fn replace_file(
    path: &Path,
    places: &[PathBuf],
    expected: &[u8],
    new: &[u8],
) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let target = std::fs::canonicalize(path).map_err(failed)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    // A link inside a skill may lead to its other files, never to files that are not part of it.
    let own = path
        .parent()
        .filter(|own| !own.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // And a linked folder may lead anywhere: only what was named is written.
    let is_named = places
        .iter()
        .any(|place| target.starts_with(place) || place.starts_with(folder));
    if !is_named || !folder.starts_with(std::fs::canonicalize(own).map_err(failed)?) {
        return Err(Error::Outside {
            path: path.to_owned(),
        });
    }
    let permissions = std::fs::metadata(&target).map_err(failed)?.permissions();
    let mut file = tempfile::Builder::new()
        .prefix(".prowess-")
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(new).map_err(failed)?;
    file.as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    // As late as can be: what is lost by a change after this, a lock would not have saved either.
    if std::fs::read(&target).map_err(failed)? != expected {
        return Err(Error::Changed {
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
    fn the_file_is_replaced_with_its_permissions_and_through_links() {
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
    fn a_link_that_leads_out_is_not_followed() {
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
        assert!(matches!(result, Err(Error::Outside { .. })));
        assert_eq!(std::fs::read(&other).unwrap(), b"old");
    }

    #[test]
    fn a_file_that_changed_is_left_alone() {
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
            Err(Error::Changed { .. })
        ));
        assert_eq!(std::fs::read(&file).unwrap(), b"theirs");
        assert_eq!(
            std::fs::read_dir(world.path()).unwrap().count(),
            1,
            "no temporary file stays behind"
        );
    }
}
