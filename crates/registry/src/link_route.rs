//! Follows the links of a skill, to find those that leave its folder.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::digest::repository_of;

/// Maximum number of links that are followed.
const MAX_LINKS: usize = 40;
/// Maximum number of parts of a path.
const MAX_PARTS: usize = 4096;
/// Maximum size of a file outside the folder whose content is hashed, in bytes.
const MAX_CONTENT: u64 = 16 * 1024 * 1024;

/// The route of a link that leaves the folder of its skill: the links on it, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideRoute {
    /// The links outside the folder on the route.
    pub through: Vec<PathBuf>,
    /// The targets of all links on the route, as they are written.
    targets: Vec<Vec<u8>>,
    /// The end of the route, without links. `None` if it does not exist.
    end: Option<PathBuf>,
    /// The repository in the folder, which counts as outside because no digest covers it.
    repository: Option<PathBuf>,
}

/// Follows a link. `folder` is the real path of the skill's folder, `link` a path below it whose
/// parents are not links. Returns `None` if every link on the route is in the folder, and so is the
/// target.
pub fn outside_route(folder: &Path, link: &Path) -> Option<OutsideRoute> {
    let mut route = OutsideRoute {
        through: Vec::new(),
        targets: Vec::new(),
        end: None,
        repository: repository_of(folder),
    };
    let mut current = folder.to_owned();
    let mut parts: VecDeque<OsString> = parts_of(link);
    let mut steps = 0;
    while let Some(part) = parts.pop_front() {
        steps += 1;
        if steps > MAX_PARTS || route.targets.len() > MAX_LINKS {
            return Some(route);
        }
        if part == ".." {
            current.pop();
            continue;
        }
        let next = current.join(&part);
        let Ok(facts) = next.symlink_metadata() else {
            // A broken link may be given a target later.
            return Some(route);
        };
        if !facts.is_symlink() {
            current = next;
            continue;
        }
        let Ok(target) = std::fs::read_link(&next) else {
            return Some(route);
        };
        if !route.is_covered(folder, &next) {
            route.through.push(next);
        }
        if target.is_absolute() {
            current = PathBuf::from("/");
        }
        for part in parts_of(&target).into_iter().rev() {
            parts.push_front(part);
        }
        route.targets.push(target.into_os_string().into_vec());
    }
    let is_inside = route.is_covered(folder, &current) && route.through.is_empty();
    route.end = Some(current);
    (!is_inside).then_some(route)
}

fn parts_of(path: &Path) -> VecDeque<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

impl OutsideRoute {
    /// Returns the path at the end of the route, without links. `None` if it does not exist.
    pub fn end(&self) -> Option<&Path> {
        self.end.as_deref()
    }

    /// Returns `true` if the link leads to a folder outside, whose files no digest covers.
    pub fn leads_to_folder(&self, folder: &Path) -> bool {
        let is_outside = |end: &&PathBuf| !self.is_covered(folder, end) && end.is_dir();
        self.end.as_ref().is_some_and(|end| is_outside(&end))
    }

    /// Returns `true` if the digest of the folder covers a path without links.
    fn is_covered(&self, folder: &Path, path: &Path) -> bool {
        let mut repository = self.repository.iter();
        path.starts_with(folder) && !repository.any(|repository| path.starts_with(repository))
    }

    /// Adds the route and the content of a file at its end to a digest. The content of a folder
    /// outside is not added. A very large file is identified by its size, inode and times. Reads at
    /// most `left` bytes, and subtracts the bytes that it read. Returns `false` if that is too few.
    pub(crate) fn hash(&self, hasher: &mut Sha256, left: &mut u64) -> bool {
        let mut put = |tag: u8, bytes: &[u8]| {
            hasher.update([tag]);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        // The first target is hashed as the link itself.
        for target in self.targets.iter().skip(1) {
            put(4, target);
        }
        match self.end.as_deref().and_then(|end| content(end, left)) {
            Some(FileContent::Identity(content)) => put(5, &content),
            Some(FileContent::TooLarge) => return false,
            None => put(6, b""),
        }
        true
    }
}

/// The content of a regular file outside the folder.
enum FileContent {
    /// Bytes that identify the content.
    Identity(Vec<u8>),
    /// The file is larger than the number of bytes that may still be read.
    TooLarge,
}

/// Reads a regular file of at most `left` bytes. The path has no links. Returns `None` if it cannot
/// be read.
fn content(path: &Path, left: &mut u64) -> Option<FileContent> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let file = std::fs::File::from(opened);
    let facts = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut identity = vec![u8::from(facts.mode() & 0o111 != 0)];
    if facts.len() <= MAX_CONTENT {
        let Some(rest) = left.checked_sub(facts.len()) else {
            return Some(FileContent::TooLarge);
        };
        *left = rest;
        let mut hasher = Sha256::new();
        let mut file = file.take(facts.len());
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        identity.extend_from_slice(&hasher.finalize());
    } else {
        let stamp = crate::file_stamp(path)?;
        identity.extend_from_slice(format!("{stamp:?}").as_bytes());
    }
    Some(FileContent::Identity(identity))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_that_leave_the_folder_have_a_route() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let folder = root.join("skill");
        std::fs::create_dir_all(folder.join("real/deep")).unwrap();
        std::fs::create_dir(root.join("tools")).unwrap();
        std::fs::write(folder.join("real/run.sh"), "x").unwrap();
        symlink("../skill/real/run.sh", root.join("tools/current")).unwrap();
        symlink("skill/real", root.join("loop-back")).unwrap();
        for (name, target, expected) in [
            ("plain", "real/run.sh", None),
            ("folder", "real", None),
            ("up", "real/deep/../run.sh", None),
            ("around", "../skill/real/run.sh", None),
            ("chain", "plain", None),
            ("hop", "../tools/current", Some(vec!["tools/current"])),
            ("hop-folder", "../loop-back", Some(vec!["loop-back"])),
            ("hop-inside", "../loop-back/run.sh", Some(vec!["loop-back"])),
            ("twice", "hop", Some(vec!["tools/current"])),
            ("out", "../tools", Some(vec![])),
            ("gone", "../gone", Some(vec![])),
            ("circle", "circle", Some(vec![])),
        ] {
            symlink(target, folder.join(name)).unwrap();
            let route = outside_route(&folder, Path::new(name));
            let through = route.map(|route| route.through);
            let expected =
                expected.map(|names| names.iter().map(|name| root.join(name)).collect::<Vec<_>>());
            assert_eq!(through, expected, "{name}");
        }
        // A repository in the folder is not hashed, so it counts as outside.
        symlink(".git/hooks/x.sh", folder.join("in-git")).unwrap();
        symlink(".git", folder.join("git")).unwrap();
        std::fs::create_dir_all(folder.join(".git/hooks")).unwrap();
        std::fs::write(folder.join(".git/hooks/x.sh"), "x").unwrap();
        assert_eq!(outside_route(&folder, Path::new("in-git")), None);
        for name in ["HEAD", "objects", "refs"] {
            std::fs::write(folder.join(".git").join(name), "x").unwrap();
        }
        for (name, is_folder) in [("in-git", false), ("git", true)] {
            let route = outside_route(&folder, Path::new(name)).unwrap();
            assert_eq!(route.leads_to_folder(&folder), is_folder, "{name}");
        }
    }
}
