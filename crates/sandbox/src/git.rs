//! The repositories in the folders of a profile: what git reads from them, and what it executes.
//!
//! Write access to `.git/config`, a hook, `.git/commondir` or a `.git` file decides what the next
//! `git status` executes outside of the sandbox. So all of `.git` is read-only, and stays absent
//! where it is absent. A checked git command ([`GitAccess::Write`]) may write the rest of the one
//! repository that it runs in.

use std::path::{Path, PathBuf};

use prowess_policy::profile::{GIT_EXECUTED, GIT_HEAD, GIT_STORES, GitAccess};

use crate::granted_paths::within;
use crate::granted_paths::{Guard, real};

/// Depth below a writable root down to which repositories are looked for.
const MAX_DEPTH: usize = 4;

/// Folders that are read in that search.
const MAX_FOLDERS: usize = 2000;

/// Folders that are not searched: they are large and contain no repository to work on.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv"];

/// Bytes that are read of a file that points to another folder.
const MAX_POINTER: usize = 8 << 10;

/// Returns the protection of a part of a git folder.
fn guard(name: &str) -> (&str, Guard) {
    match name.strip_suffix('/') {
        Some(name) => (name, Guard::Folder),
        // No placeholder can keep these absent: git fails if they exist and are empty.
        None if matches!(name, "commondir" | "gitdir") => (name, Guard::Watch),
        None => (name, Guard::File),
    }
}

/// Paths that the repositories add to a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Git {
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<(PathBuf, Guard)>,
}

/// The folders to which a `.git` file points.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linked {
    /// The folder of this working tree: `HEAD`, `index`.
    own: PathBuf,
    /// The folder that all working trees share: `config`, `objects`, `refs`.
    common: PathBuf,
}

/// Looks for repositories in and around the granted folders, which exist and have no links.
pub(super) fn look(
    cwd: &Path,
    readable: &[PathBuf],
    writable: &[PathBuf],
    access: GitAccess,
) -> Git {
    let mut git = Git::default();
    let granted = || readable.iter().chain(writable);
    let own = (access == GitAccess::Write)
        .then(|| cwd.ancestors().find(|folder| exists(&folder.join(".git"))))
        .flatten()
        .filter(|folder| granted().any(|root| folder.starts_with(root)));
    // A working tree whose repository is elsewhere can be read like any other.
    for folder in granted() {
        git.readable
            .extend(linked(folder).into_iter().flat_map(both));
    }
    for root in writable {
        let mut folders = nested(root);
        folders.extend(submodules(root));
        folders.push(root.clone());
        for folder in folders.iter().filter(|folder| own != Some(folder)) {
            git.protected.push((folder.join(".git"), Guard::Folder));
            let is_git_folder = looks_like_git_folder(folder);
            // Without a repository of its own, a folder becomes one with the file `HEAD`.
            if is_git_folder || !has_repository(folder) {
                git.protected.push((folder.join(GIT_HEAD), Guard::File));
            }
            if is_git_folder {
                git.protect_executed(folder);
            }
        }
    }
    if let Some(folder) = own {
        git.open(folder);
    }
    git
}

impl Git {
    /// Makes the repository of a working tree writable, but for what git executes.
    fn open(&mut self, folder: &Path) {
        let pointer = folder.join(".git");
        if pointer.is_dir() && !pointer.is_symlink() {
            self.protect_executed(&pointer);
            self.protected
                .push((pointer.join("worktrees"), Guard::Folder));
            self.writable.push(pointer);
            return;
        }
        self.protected.push((pointer, Guard::File));
        let Some(linked) = linked(folder) else { return };
        self.protect_executed(&linked.common);
        if linked.own != linked.common {
            self.protect_executed(&linked.own);
            // Parts of the main working tree and of the other linked ones.
            for name in ["HEAD", "index"] {
                self.protected
                    .push((linked.common.join(name), Guard::Watch));
            }
            let others = std::fs::read_dir(linked.common.join("worktrees"));
            let others = others.into_iter().flatten().flatten();
            let others = others.map(|entry| entry.path()).take(MAX_FOLDERS);
            self.protected.extend(
                others
                    .filter(|other| *other != linked.own)
                    .map(|other| (other, Guard::Folder)),
            );
        }
        self.writable.extend(both(linked));
    }

    fn protect_executed(&mut self, folder: &Path) {
        let parts = GIT_EXECUTED.iter().map(|name| guard(name));
        self.protected
            .extend(parts.map(|(name, guard)| (folder.join(name), guard)));
    }
}

fn both(linked: Linked) -> [PathBuf; 2] {
    [linked.common, linked.own]
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns `true` if git finds a repository in the folder. An empty `.git`, such as a placeholder of
/// another run, is none.
fn has_repository(folder: &Path) -> bool {
    let pointer = folder.join(".git");
    pointer.is_file() || exists(&pointer.join("HEAD"))
}

/// Returns `true` if git would take the folder itself for a repository.
fn looks_like_git_folder(folder: &Path) -> bool {
    let has_stores = || GIT_STORES.iter().all(|name| folder.join(name).is_dir());
    exists(&folder.join(GIT_HEAD)) && (exists(&folder.join("commondir")) || has_stores())
}

/// Follows the `.git` file of a linked working tree or a submodule.
///
/// The folder it names must point back, and have the place that git gives it. Otherwise a project
/// could name any repository of the person and have it mounted.
fn linked(folder: &Path) -> Option<Linked> {
    let pointer = folder.join(".git");
    if !pointer
        .symlink_metadata()
        .is_ok_and(|facts| facts.is_file())
    {
        return None;
    }
    let own = folder.join(read(&pointer)?.strip_prefix("gitdir:")?.trim());
    let own = own.canonicalize().ok()?;
    let Some(common) = read(&own.join("commondir")) else {
        let names_folder = || {
            let config = read(&own.join("config"))?;
            let named = config.lines().find_map(|line| {
                let (key, value) = line.split_once('=')?;
                (key.trim() == "worktree").then(|| own.join(value.trim()))
            })?;
            Some(named.canonicalize().ok()? == folder)
        };
        return (names_folder() == Some(true)).then(|| Linked {
            common: own.clone(),
            own,
        });
    };
    let common = own.join(common.trim()).canonicalize().ok()?;
    let back = own.join(read(&own.join("gitdir"))?.trim());
    let is_theirs = own.parent() == Some(&common.join("worktrees"));
    (is_theirs && real(&back) == pointer).then_some(Linked { own, common })
}

/// Reads a small text file.
fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    let read = file.take(MAX_POINTER as u64).read_to_string(&mut text);
    read.is_ok().then_some(text)
}

/// Finds the folders below a root that are repositories.
fn nested(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = std::collections::VecDeque::from([(root.to_owned(), 0)]);
    let mut read = 0;
    while let Some((folder, depth)) = todo.pop_front() {
        read += 1;
        if read > MAX_FOLDERS {
            break;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_repository =
                name == ".git" || (name == "HEAD" && looks_like_git_folder(&folder));
            if is_repository && folder != root && !found.contains(&folder) {
                found.push(folder.clone());
            }
            if is_folder && depth < MAX_DEPTH && !SKIPPED.iter().any(|skipped| name == *skipped) {
                todo.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

/// Returns the folders of the submodules that `.gitmodules` names: git looks into each for `.git`.
fn submodules(root: &Path) -> Vec<PathBuf> {
    let text = read(&root.join(".gitmodules")).unwrap_or_default();
    let paths = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| root.join(value.trim().trim_matches('"')))
    });
    paths
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| within(path, &[root.to_owned()]) && path.is_dir() && path != root)
        .take(MAX_FOLDERS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(folders: &[&str], files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for folder in folders {
                std::fs::create_dir_all(tree.at(folder)).unwrap();
            }
            for (file, text) in files {
                let text = text.replace("{}", tree.at("").to_str().unwrap().trim_end_matches('/'));
                std::fs::write(tree.at(file), text).unwrap();
            }
            tree
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn look(&self, cwd: &str, writable: &[&str], access: GitAccess) -> Vec<String> {
            let writable: Vec<PathBuf> = writable.iter().map(|path| self.at(path)).collect();
            let git = look(&self.at(cwd), &[self.at(cwd)], &writable, access);
            let short = |path: &Path| {
                path.strip_prefix(self.at(""))
                    .unwrap()
                    .display()
                    .to_string()
            };
            let mut lines: Vec<String> = Vec::new();
            lines.extend(git.readable.iter().map(|path| format!("r {}", short(path))));
            lines.extend(git.writable.iter().map(|path| format!("w {}", short(path))));
            let protected = git.protected.iter();
            lines.extend(protected.map(|(path, guard)| format!("{guard:?} {}", short(path))));
            lines.sort();
            lines.dedup();
            lines
        }
    }

    #[test]
    fn every_repository_in_a_writable_folder_is_protected() {
        let tree = Tree::new(
            &[
                "w/.git",
                "w/a/b/.git",
                "w/node_modules/x/.git",
                "w/sub",
                "w/bare/objects",
                "w/bare/refs",
            ],
            &[
                (
                    "w/.gitmodules",
                    "[submodule \"s\"]\n\tpath = sub\n\turl = x\n",
                ),
                ("w/bare/HEAD", "ref: refs/heads/main\n"),
                ("w/.git/HEAD", "ref: refs/heads/main\n"),
            ],
        );
        let found = tree.look("w", &["w"], GitAccess::Read);
        for line in [
            "Folder w/.git",
            "Folder w/a/b/.git",
            "Folder w/sub/.git",
            "File w/sub/HEAD",
            "File w/bare/HEAD",
            "File w/bare/config",
            "Folder w/bare/hooks",
        ] {
            assert!(found.contains(&line.to_owned()), "{line}: {found:#?}");
        }
        assert!(!found.iter().any(|line| line.contains("node_modules")));
        assert!(!found.contains(&"File w/HEAD".to_owned()));
        let none = Tree::new(&["w/sub"], &[]);
        assert_eq!(
            none.look("w", &["w"], GitAccess::Read),
            ["File w/HEAD", "Folder w/.git"]
        );
        assert_eq!(none.look("w", &[], GitAccess::Read), [] as [&str; 0]);
    }

    #[test]
    fn git_commands_may_write_what_git_does_not_execute() {
        let tree = Tree::new(&["w/.git", "w/src"], &[]);
        let found = tree.look("w/src", &["w"], GitAccess::Write);
        let expected = [
            "File w/.git/config",
            "File w/.git/config.worktree",
            "Folder w/.git/hooks",
            "Folder w/.git/info",
            "Folder w/.git/modules",
            "Folder w/.git/worktrees",
            "Watch w/.git/commondir",
            "Watch w/.git/gitdir",
            "w w/.git",
        ];
        assert_eq!(found, expected);
        // A repository that contains the project stays read-only.
        let outer = Tree::new(&[".git", "w/src"], &[]);
        let found = outer.look("w/src", &["w"], GitAccess::Write);
        assert_eq!(found, ["File w/HEAD", "Folder w/.git"]);
    }

    fn worktree(back: &str) -> Tree {
        Tree::new(
            &["main/.git/worktrees/w", "main/.git/worktrees/other", "w"],
            &[
                ("w/.git", "gitdir: {}/main/.git/worktrees/w\n"),
                ("main/.git/worktrees/w/commondir", "../..\n"),
                ("main/.git/worktrees/w/gitdir", back),
            ],
        )
    }

    #[test]
    fn linked_worktrees_are_followed_if_they_point_back() {
        let tree = worktree("{}/w/.git\n");
        let found = tree.look("w", &["w"], GitAccess::Read);
        assert_eq!(
            found,
            ["Folder w/.git", "r main/.git", "r main/.git/worktrees/w"]
        );
        let found = tree.look("w", &["w"], GitAccess::Write);
        for line in [
            "w main/.git",
            "w main/.git/worktrees/w",
            "File w/.git",
            "Folder main/.git/hooks",
            "Folder main/.git/worktrees/other",
            "Watch main/.git/HEAD",
            "Watch main/.git/worktrees/w/commondir",
        ] {
            assert!(found.contains(&line.to_owned()), "{line}: {found:#?}");
        }
        let stranger = worktree("{}/elsewhere/.git\n");
        assert_eq!(
            stranger.look("w", &["w"], GitAccess::Read),
            ["Folder w/.git"]
        );
    }

    #[test]
    fn a_project_cannot_name_the_repository_of_another() {
        let tree = Tree::new(
            &["secret/.git", "w/fake"],
            &[
                ("w/.git", "gitdir: fake\n"),
                ("w/fake/commondir", "{}/secret/.git\n"),
                ("w/fake/gitdir", "{}/w/.git\n"),
            ],
        );
        assert_eq!(tree.look("w", &["w"], GitAccess::Read), ["Folder w/.git"]);
        let tree = Tree::new(
            &["secret/.git", "w"],
            &[
                ("w/.git", "gitdir: ../secret/.git\n"),
                ("secret/.git/config", "[core]\n\tbare = false\n"),
            ],
        );
        assert_eq!(tree.look("w", &["w"], GitAccess::Write), ["File w/.git"]);
    }
}
