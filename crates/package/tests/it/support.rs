//! Repositories, and processes that are killed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess_package::git::{GitLimits, GitProgram};

/// The first argument of this binary when it is started as a child.
pub(crate) const CHILD: &str = "--package-child";

/// A repository with a work tree, made with the real git.
pub(crate) struct Repository {
    pub(crate) folder: PathBuf,
}

impl Repository {
    pub(crate) fn create(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        let repository = Self { folder };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Runs git, and returns its output without the end of line.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.folder, args)
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn executable(&self, path: &str, text: &str) -> &Self {
        self.file(path, text);
        fs::set_permissions(self.folder.join(path), PermissionsExt::from_mode(0o755)).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    pub(crate) fn skill(&self, folder: &str, name: &str, version: &str, body: &str) -> &Self {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\nmetadata:\n  version: \"{version}\"\n---\n{body}\n"
        );
        let separator = if folder.is_empty() { "" } else { "/" };
        self.file(&format!("{folder}{separator}SKILL.md"), &text)
    }

    /// Commits everything, and returns the id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn tag(&self, name: &str) {
        self.git(&["tag", "-f", name]);
    }

    /// Returns the address for git.
    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.folder.display())
    }
}

pub(crate) fn git_in(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {errors}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Returns an environment with a home of its own.
pub(crate) fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    fs::create_dir_all(home).unwrap();
    vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ("HOME".into(), home.into()),
    ]
}

/// Returns the real git with a home of its own.
pub(crate) fn real_git(home: &Path) -> GitProgram {
    GitProgram::find(environment(home), GitLimits::default()).unwrap()
}
