//! Reads the files of a skill from a commit or an archive.
//!
//! A link to a place in the same skill stays a link. A link to another place in the same commit is
//! replaced by the content of that place. Any other link refuses the skill.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::git::{GitEntry, GitEntryKind, GitError, GitRepository};
use crate::lock::LockedKind;
use crate::tree::{
    MAX_TARGET, PackageTree, PathFault, TreeBuilder, TreeError, TreeLimits, is_version_control,
};

/// Maximum number of links whose targets are read.
const MAX_LINKS: usize = 100_000;
/// Maximum number of links on the way to one place.
const MAX_HOPS: usize = 40;
/// Maximum number of folders that copied links lead to, each in the one before.
const MAX_NESTING: usize = 16;

/// The files of a commit or an archive, and the targets of their links.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles {
    entries: BTreeMap<String, GitEntry>,
    targets: BTreeMap<String, Vec<u8>>,
    /// The id of the root folder.
    root: String,
}

/// One file of a skill in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    path: String,
    kind: LockedKind,
    object: String,
    size: u64,
    from: Option<String>,
    /// The target of a link that stays a link.
    target: Option<Vec<u8>>,
}

/// Reads the content of files.
pub trait ContentReader {
    /// The error of the source.
    type Error: Into<CommitTreeError>;

    /// Reads the content of files in the order of the list. `each` gets the position, the size
    /// (`None` if the file is not there) and the content.
    fn read_each(
        &self,
        objects: &[&str],
        each: &mut dyn FnMut(usize, Option<u64>, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), Self::Error>;
}

impl ContentReader for GitRepository {
    type Error = GitError;

    fn read_each(
        &self,
        objects: &[&str],
        each: &mut dyn FnMut(usize, Option<u64>, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), GitError> {
        self.read_objects(objects, &mut |position, header, content| {
            let header = header.filter(|header| header.kind == "blob");
            each(position, header.map(|header| header.size), content)
        })
    }
}

/// Error from reading a skill from a commit or an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitTreeError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files of the skill cannot be a package.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// There is no such folder.
    #[error("there is no folder `{path}` in the source")]
    NoFolder {
        /// The path.
        path: String,
    },
    /// Reading the staging folder failed.
    #[error("cannot read the staging folder")]
    Staging(#[from] io::Error),
}

/// The end of a route through a commit.
struct Route {
    /// The path without links; empty for the root.
    end: String,
    /// `true` if the route leaves the folder it began in.
    leaves: bool,
}

impl SourceFiles {
    /// Lists a commit that the cache has, and reads the targets of its links.
    pub fn read(repository: &GitRepository, commit: &str) -> Result<Self, GitError> {
        let (root, _) = repository.commit_facts(commit)?;
        let listed = repository.listing(commit)?;
        let links: Vec<&GitEntry> = listed
            .iter()
            .filter(|entry| entry.kind == GitEntryKind::Link && entry.size <= MAX_TARGET as u64)
            .take(MAX_LINKS)
            .collect();
        let objects: Vec<&str> = links.iter().map(|link| &*link.object).collect();
        let mut targets = BTreeMap::new();
        if !objects.is_empty() {
            repository.read_objects(&objects, &mut |position, _, content| {
                let mut target = Vec::new();
                content.take(MAX_TARGET as u64).read_to_end(&mut target)?;
                targets.insert(links[position].path.clone(), target);
                Ok(())
            })?;
        }
        let entries = listed
            .into_iter()
            .map(|entry| (entry.path.clone(), entry))
            .collect();
        Ok(Self {
            entries,
            targets,
            root,
        })
    }

    /// Creates the list from entries without folders. `root` is the id of the root folder, if it has
    /// one.
    pub(crate) fn new(entries: Vec<GitEntry>, links: Vec<(String, Vec<u8>)>, root: String) -> Self {
        let mut all = BTreeMap::new();
        for entry in entries {
            let mut path = &*entry.path;
            while let Some(end) = path.rfind('/') {
                path = &path[..end];
                let folder = GitEntry {
                    path: path.to_owned(),
                    is_utf8: true,
                    kind: GitEntryKind::Folder,
                    object: String::new(),
                    size: 0,
                };
                all.entry(path.to_owned()).or_insert(folder);
            }
            all.insert(entry.path.clone(), entry);
        }
        Self {
            entries: all,
            targets: links.into_iter().collect(),
            root,
        }
    }

    /// Returns the entries, sorted by path.
    pub fn entries(&self) -> impl Iterator<Item = &GitEntry> {
        self.entries.values()
    }

    /// Returns the target of a link.
    pub fn target(&self, path: &str) -> Option<&[u8]> {
        self.targets.get(path).map(Vec::as_slice)
    }

    /// Returns git's id of a folder, after following links. The root is the empty path.
    pub fn folder_id(&self, path: &str) -> Option<String> {
        let end = self.folder(path)?;
        if end.is_empty() {
            return Some(self.root.clone());
        }
        let entry = self.entries.get(&end)?;
        (entry.kind == GitEntryKind::Folder).then(|| entry.object.clone())
    }

    /// Returns the object and size of a regular file, after following links.
    pub fn file(&self, path: &str) -> Option<(&str, u64)> {
        let end = self.follow("", path, "", 0)?.end;
        let entry = self.entries.get(&end)?;
        let is_file = matches!(entry.kind, GitEntryKind::File | GitEntryKind::Executable);
        is_file.then_some((&*entry.object, entry.size))
    }

    /// Returns the path of a folder without links.
    fn folder(&self, path: &str) -> Option<String> {
        let end = self.follow("", path, "", 0)?.end;
        self.is_folder(&end).then_some(end)
    }

    fn is_folder(&self, path: &str) -> bool {
        path.is_empty()
            || self
                .entries
                .get(path)
                .is_some_and(|entry| entry.kind == GitEntryKind::Folder)
    }

    /// Follows a path from a folder without links. `home` is the folder that counts as inside.
    /// Returns `None` if it is absolute, leaves the repository, loops or leads to nothing.
    fn follow(&self, from: &str, path: &str, home: &str, hops: usize) -> Option<Route> {
        if path.starts_with('/') || hops > MAX_HOPS {
            return None;
        }
        let mut current = from.to_owned();
        let mut leaves = !is_within(&current, home);
        for part in path.split('/') {
            match part {
                "" | "." => continue,
                ".." => {
                    if current.is_empty() {
                        return None;
                    }
                    current.truncate(current.rfind('/').unwrap_or(0));
                }
                part => {
                    if !self.is_folder(&current) {
                        return None;
                    }
                    let next = if current.is_empty() {
                        part.to_owned()
                    } else {
                        format!("{current}/{part}")
                    };
                    let entry = self.entries.get(&next)?;
                    if entry.kind == GitEntryKind::Link {
                        let target = std::str::from_utf8(self.targets.get(&next)?).ok()?;
                        let route = self.follow(&current, target, home, hops + 1)?;
                        leaves |= route.leaves;
                        current = route.end;
                    } else {
                        current = next;
                    }
                }
            }
            leaves |= !is_within(&current, home);
        }
        Some(Route {
            end: current,
            leaves,
        })
    }

    /// Lists the files of the skill in a folder.
    fn items(&self, folder: &str, limit: usize) -> Result<Vec<Item>, CommitTreeError> {
        let home = self
            .folder(folder)
            .ok_or_else(|| CommitTreeError::NoFolder {
                path: folder.to_owned(),
            })?;
        let mut items = Vec::new();
        let place = Place {
            home: &home,
            folder: &home,
            prefix: "",
            is_copy: false,
        };
        self.collect(&place, &mut vec![], limit, &mut items)?;
        items.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        Ok(items)
    }

    fn collect(
        &self,
        place: &Place<'_>,
        above: &mut Vec<String>,
        limit: usize,
        items: &mut Vec<Item>,
    ) -> Result<(), TreeError> {
        let start = if place.folder.is_empty() {
            String::new()
        } else {
            format!("{}/", place.folder)
        };
        for (path, entry) in self.entries.range(start.clone()..) {
            let Some(rest) = path.strip_prefix(&start) else {
                break;
            };
            let own = format!("{}{rest}", place.prefix);
            if is_version_control(rest) || entry.kind == GitEntryKind::Folder {
                continue;
            }
            if !entry.is_utf8 {
                return Err(TreeError::Path {
                    path: own,
                    fault: PathFault::NotUtf8,
                });
            }
            if items.len() >= limit {
                return Err(TreeError::TooMany { limit });
            }
            let from = place.is_copy.then(|| path.clone());
            match entry.kind {
                GitEntryKind::Submodule => return Err(TreeError::Submodule { path: own }),
                GitEntryKind::File => items.push(item(own, entry, LockedKind::File, from)),
                GitEntryKind::Executable => {
                    items.push(item(own, entry, LockedKind::Executable, from));
                }
                GitEntryKind::Link => self.link(place, path, own, above, limit, items)?,
                GitEntryKind::Folder => {}
            }
        }
        Ok(())
    }

    fn link(
        &self,
        place: &Place<'_>,
        path: &str,
        own: String,
        above: &mut Vec<String>,
        limit: usize,
        items: &mut Vec<Item>,
    ) -> Result<(), TreeError> {
        let target = self.targets.get(path).map_or(&[][..], Vec::as_slice);
        let refused = || TreeError::Link {
            path: own.clone(),
            target: String::from_utf8_lossy(target).chars().take(200).collect(),
        };
        let text = std::str::from_utf8(target).map_err(|_| refused())?;
        let parent = path.rfind('/').map_or("", |end| &path[..end]);
        let route = if text.is_empty() {
            None
        } else {
            self.follow(parent, text, place.home, 1)
        };
        let route = route.ok_or_else(refused)?;
        let Some(entry) = self.entries.get(&route.end) else {
            // The root of the repository, which contains the link.
            return Err(refused());
        };
        if !place.is_copy && !route.leaves {
            items.push(Item {
                path: own,
                kind: LockedKind::Link,
                object: String::new(),
                size: target.len() as u64,
                from: None,
                target: Some(target.to_owned()),
            });
            return Ok(());
        }
        let from = Some(route.end.clone());
        match entry.kind {
            GitEntryKind::File => items.push(item(own, entry, LockedKind::File, from)),
            GitEntryKind::Executable => items.push(item(own, entry, LockedKind::Executable, from)),
            GitEntryKind::Folder => {
                let loops = is_within(path, &route.end) || above.contains(&route.end);
                if loops || above.len() >= MAX_NESTING {
                    return Err(refused());
                }
                above.push(route.end.clone());
                let inner = Place {
                    home: place.home,
                    folder: &route.end,
                    prefix: &format!("{own}/"),
                    is_copy: true,
                };
                self.collect(&inner, above, limit, items)?;
                above.pop();
            }
            GitEntryKind::Submodule => return Err(TreeError::Submodule { path: own }),
            GitEntryKind::Link => return Err(refused()),
        }
        Ok(())
    }

    /// Writes the files of the skill in a folder to a new staging folder.
    pub fn stage<R: ContentReader>(
        &self,
        source: &R,
        folder: &str,
        into: PathBuf,
        limits: TreeLimits,
    ) -> Result<PackageTree, CommitTreeError> {
        let items = self.items(folder, limits.files)?;
        let total = items
            .iter()
            .map(|item| item.size)
            .fold(0, u64::saturating_add);
        if total > limits.bytes {
            // Before anything is written.
            return Err(TreeError::TooLarge {
                limit: limits.bytes,
            }
            .into());
        }
        let mut builder = TreeBuilder::create(into, limits)?;
        let (links, files): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.target.is_some());
        for link in links {
            builder.add_link(&link.path, link.target.as_deref().unwrap_or_default())?;
        }
        let objects: Vec<&str> = files.iter().map(|item| &*item.object).collect();
        let mut fault = None;
        let read = source.read_each(&objects, &mut |position, size, content| {
            let item = files[position];
            let added = match size {
                Some(size) => {
                    builder.add_file(&item.path, item.kind, size, item.from.clone(), content)
                }
                None => Err(TreeError::Read {
                    path: item.path.clone(),
                    source: io::ErrorKind::NotFound.into(),
                }),
            };
            added.map_err(|error| {
                fault = Some(error);
                io::ErrorKind::Other.into()
            })
        });
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        read.map_err(Into::into)?;
        Ok(builder.finish()?)
    }
}

/// The folder whose files are collected.
struct Place<'a> {
    /// The folder of the skill.
    home: &'a str,
    /// The folder that is listed.
    folder: &'a str,
    /// The path of the listed folder in the skill, with a slash at the end.
    prefix: &'a str,
    /// `true` if a link leads here from the skill.
    is_copy: bool,
}

fn item(path: String, entry: &GitEntry, kind: LockedKind, from: Option<String>) -> Item {
    Item {
        path,
        kind,
        object: entry.object.clone(),
        size: entry.size,
        from,
        target: None,
    }
}

/// Returns `true` if a path is a folder or below it.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `F` file, `X` executable, `M` submodule, or a link with its target.
    fn files(listed: &[(&str, &str)]) -> SourceFiles {
        let mut all = SourceFiles {
            root: "0".repeat(40),
            ..SourceFiles::default()
        };
        for (path, what) in listed {
            let kind = match *what {
                "F" => GitEntryKind::File,
                "X" => GitEntryKind::Executable,
                "M" => GitEntryKind::Submodule,
                target => {
                    all.targets
                        .insert((*path).to_owned(), target.as_bytes().to_vec());
                    GitEntryKind::Link
                }
            };
            let mut parent = *path;
            while let Some(end) = parent.rfind('/') {
                parent = &parent[..end];
                let folder = entry(parent, GitEntryKind::Folder);
                all.entries.insert(parent.to_owned(), folder);
            }
            all.entries.insert((*path).to_owned(), entry(path, kind));
        }
        all
    }

    fn entry(path: &str, kind: GitEntryKind) -> GitEntry {
        GitEntry {
            path: path.to_owned(),
            is_utf8: true,
            kind,
            object: "1".repeat(40),
            size: 1,
        }
    }

    fn shown(files: &SourceFiles, folder: &str) -> Result<Vec<String>, String> {
        let items = files
            .items(folder, 100)
            .map_err(|error| error.to_string())?;
        let line = |item: Item| match (item.target, item.from) {
            (Some(target), _) => format!("{} -> {}", item.path, String::from_utf8_lossy(&target)),
            (None, Some(from)) => format!("{} from {from}", item.path),
            (None, None) => item.path,
        };
        Ok(items.into_iter().map(line).collect())
    }

    #[test]
    fn links_inside_stay_and_links_to_the_commit_are_copied() {
        let all = files(&[
            ("common/terms.md", "F"),
            ("common/deep/x", "X"),
            ("common/deep/up", "../terms.md"),
            ("skills/pdf/SKILL.md", "F"),
            ("skills/pdf/.hg/store", "F"),
            ("skills/pdf/inner", "SKILL.md"),
            ("skills/pdf/round", "../pdf/SKILL.md"),
            ("skills/pdf/terms.md", "../../common/terms.md"),
            ("skills/pdf/deep", "../../common/deep"),
            ("alias", "skills/pdf"),
        ]);
        let expected = [
            "SKILL.md",
            "deep/up from common/terms.md",
            "deep/x from common/deep/x",
            "inner -> SKILL.md",
            "round from skills/pdf/SKILL.md",
            "terms.md from common/terms.md",
        ];
        assert_eq!(shown(&all, "skills/pdf").unwrap(), expected);
        // A skill folder that is a link is the folder it leads to.
        assert_eq!(shown(&all, "alias").unwrap(), expected);
        assert!(all.folder_id("alias").is_some());
        assert!(shown(&all, "gone").is_err());
        assert!(shown(&all, "common/terms.md").is_err());
    }

    #[test]
    fn other_links_and_submodules_refuse_the_skill() {
        for target in [
            "/etc/passwd",
            "../../../x",
            "gone",
            "l",
            "..",
            ".",
            "../../other/loop",
            "../m",
        ] {
            let all = files(&[
                ("skills/pdf/SKILL.md", "F"),
                ("skills/pdf/l", target),
                ("skills/m", "M"),
                ("other/loop/back", "../../skills/pdf"),
                ("other/x", "F"),
            ]);
            let found = shown(&all, "skills/pdf");
            // A link to the folder itself stays inside, and is refused when links are checked.
            let stays = target == ".";
            assert_eq!(found.is_ok(), stays, "{target}: {found:?}");
        }
        let all = files(&[("s/SKILL.md", "F"), ("s/m", "M")]);
        assert!(shown(&all, "s").unwrap_err().contains("submodule"));
    }
}
