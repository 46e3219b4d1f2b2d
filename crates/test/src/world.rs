//! Temporary folders for tests: a project, a home, and the folder around both.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support fails by panicking"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A project and a home in a temporary folder, which is removed when the world is dropped.
///
/// Paths are relative to the project. `~/` is the home, and `../` is the folder around both. The
/// project contains an empty `.git`, so that nothing above it is part of it.
#[derive(Debug)]
pub struct World {
    root: PathBuf,
    _temp: Option<TempDir>,
}

impl World {
    /// Creates an empty world.
    pub fn new() -> Self {
        Self::create(tempfile::tempdir().unwrap())
    }

    /// Creates an empty world below `/var/tmp` that other users can read and whose project they can
    /// write: a sandbox may hide `/tmp` and may run commands as another user.
    pub fn shared() -> Self {
        let world = Self::create(tempfile::tempdir_in("/var/tmp").unwrap());
        world.mode("..", 0o755).mode("", 0o777);
        world
    }

    /// Opens a world that another process created and will remove.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            _temp: None,
        }
    }

    fn create(temp: TempDir) -> Self {
        let world = Self {
            root: temp.path().canonicalize().unwrap(),
            _temp: Some(temp),
        };
        world.folder(".git");
        world.folder("~");
        world
    }

    /// Returns the folder around the project and the home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file or folder.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        assert!(path.is_relative(), "`{}` is absolute", path.display());
        let (base, rest) = if let Ok(rest) = path.strip_prefix("~") {
            (self.root.join("home"), rest)
        } else if let Ok(rest) = path.strip_prefix("..") {
            (self.root.clone(), rest)
        } else {
            (self.root.join("project"), path)
        };
        // Joining an empty path would add a slash.
        if rest.as_os_str().is_empty() {
            base
        } else {
            base.join(rest)
        }
    }

    /// Returns the path of a file or folder as text.
    pub fn text(&self, path: impl AsRef<Path>) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    /// Returns a path of this world as [`Self::path`] reads it, and any other path as it is.
    pub fn relative(&self, path: impl AsRef<Path>) -> String {
        let path = path.as_ref();
        let bases = [
            ("", self.path("")),
            ("~", self.path("~")),
            ("..", self.root.clone()),
        ];
        let inner = bases.iter().find_map(|(name, base)| {
            let rest = path.strip_prefix(base).ok()?;
            Some(Path::new(name).join(rest))
        });
        inner.as_deref().unwrap_or(path).display().to_string()
    }

    /// Creates a folder and its parents.
    pub fn folder(&self, path: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Writes a file, and creates its parents.
    pub fn file(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
        self
    }

    /// Creates a folder and its parents, and returns its path.
    pub fn make_folder(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder(&path).path(path)
    }

    /// Writes a file, creates its parents, and returns its path.
    pub fn make_file(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        self.file(&path, contents).path(path)
    }

    /// Writes an executable Bash script.
    pub fn script(&self, path: impl AsRef<Path>, text: &str) -> &Self {
        self.file(&path, format!("#!/bin/bash\n{text}\n"));
        set_mode(&self.path(path), 0o755);
        self
    }

    /// Sets the permissions of a file or folder.
    pub fn mode(&self, path: impl AsRef<Path>, mode: u32) -> &Self {
        set_mode(&self.path(path), mode);
        self
    }

    /// Creates a symbolic link with exactly this target.
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Creates a symbolic link to a file or folder of this world.
    pub fn link_to(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        self.link(path, self.path(target))
    }

    /// Writes a skill into a folder. `frontmatter` is added to the name and the description.
    pub fn skill_in(&self, folder: impl AsRef<Path>, frontmatter: &str, body: &str) -> &Self {
        let folder = folder.as_ref();
        let name = folder.file_name().unwrap().to_str().unwrap();
        self.file(folder.join("SKILL.md"), skill_text(name, frontmatter, body))
    }

    /// Writes a skill of the user, which is trusted.
    pub fn skill(&self, name: &str, frontmatter: &str, body: &str) -> &Self {
        self.skill_in(format!("~/.agents/skills/{name}"), frontmatter, body)
    }

    /// Writes a skill of the project, which is not trusted.
    pub fn project_skill(&self, name: &str, frontmatter: &str, body: &str) -> &Self {
        self.skill_in(format!(".agents/skills/{name}"), frontmatter, body)
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns `true` if there is a file or folder.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Returns the names in a folder, sorted.
    pub fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the text of a `SKILL.md`. `frontmatter` is added to the name and the description.
pub fn skill_text(name: &str, frontmatter: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\n{frontmatter}---\n{body}\n"
    )
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_in_the_project_the_home_or_around_them() {
        let world = World::new();
        let root = world.root();
        assert_eq!(world.path("a/b"), root.join("project/a/b"));
        assert_eq!(world.path("~/a"), root.join("home/a"));
        assert_eq!(world.path("../a"), root.join("a"));
        for (path, name) in [("", "project"), ("~", "home"), ("..", "")] {
            assert_eq!(
                world.text(path),
                root.join(name).to_str().unwrap().trim_end_matches('/')
            );
        }
        for path in ["a/b", "~/a", "../a"] {
            assert_eq!(world.relative(world.path(path)), path);
        }
        assert_eq!(world.relative("/etc/x"), "/etc/x");
        assert_eq!(world.names(".."), ["home", "project"]);
        assert_eq!(world.names(""), [".git"]);
        assert_eq!(World::at(root).path("x"), world.path("x"));
    }

    #[test]
    fn files_links_and_skills_are_created() {
        let world = World::new();
        world
            .file("a/b", "text")
            .script("run.sh", "echo hi")
            .link("relative", "a/b")
            .link_to("~/absolute", "a/b")
            .skill("pdf", "version: 1\n", "Use pdftk.")
            .project_skill("csv", "", "Read it.");
        assert_eq!(world.read("relative"), "text");
        assert_eq!(world.read("~/absolute"), "text");
        let mode = fs::metadata(world.path("run.sh")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
        let skill = world.read("~/.agents/skills/pdf/SKILL.md");
        assert!(skill.starts_with("---\nname: pdf\n"), "{skill}");
        assert!(skill.ends_with("version: 1\n---\nUse pdftk.\n"), "{skill}");
        assert!(world.exists(".agents/skills/csv/SKILL.md"));
        assert!(!world.exists("~/.agents/skills/csv"));
    }

    #[test]
    fn the_folder_is_removed() {
        let world = World::shared();
        let root = world.root().to_owned();
        assert!(root.starts_with("/var/tmp"));
        let mode = |path: &str| fs::metadata(world.path(path)).unwrap().permissions().mode();
        assert_eq!((mode("..") & 0o777, mode("") & 0o777), (0o755, 0o777));
        drop(world);
        assert!(!root.exists());
    }
}
