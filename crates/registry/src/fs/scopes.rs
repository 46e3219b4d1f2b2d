//! Where skills are looked for, as one table.

use std::path::{Path, PathBuf};

/// Folders of a project or a home in which agents keep skills, highest first.
pub const SKILL_FOLDERS: &[&str] = &[
    ".agents/skills",
    ".prowess/skills",
    ".claude/skills",
    ".codex/skills",
    ".gemini/skills",
    ".opencode/skills",
    ".goose/skills",
    ".github/skills",
    ".planck/skills",
];

/// Folders above the current one that are searched for a repository.
const MAX_PARENTS: usize = 64;

/// What kind of place a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A folder of the project one works in.
    Project,
    /// A folder named by the user.
    Extra,
    /// A folder of the user's home.
    User,
}

impl Scope {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Extra => "extra",
            Self::User => "user",
        }
    }
}

/// One folder that may hold skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// What kind of place it is.
    pub scope: Scope,
    /// The folder. It need not exist.
    pub path: PathBuf,
}

/// Where the process stands. The library never looks this up itself.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The current folder.
    pub current: PathBuf,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub config_home: Option<PathBuf>,
    /// Folders named by flag, configuration or environment.
    pub extra: Vec<PathBuf>,
}

/// Returns every folder that may hold skills, highest precedence first.
pub fn roots(place: &Place) -> Vec<Root> {
    let mut roots = Vec::new();
    let mut add = |scope, path: PathBuf| {
        if !roots.iter().any(|root: &Root| root.path == path) {
            roots.push(Root { scope, path });
        }
    };
    for folder in project_folders(&place.current, place.home.as_deref()) {
        for name in SKILL_FOLDERS {
            add(Scope::Project, folder.join(name));
        }
    }
    for folder in &place.extra {
        add(Scope::Extra, place.current.join(folder));
    }
    if let Some(home) = &place.home {
        for name in SKILL_FOLDERS {
            add(Scope::User, home.join(name));
        }
    }
    if let Some(config) = &place.config_home {
        add(Scope::User, config.join("agents/skills"));
    }
    roots
}

/// The current folder and those above it, up to the repository's root. Outside a repository, the
/// current folder alone: skills of a stranger's parent folder are not ours. The home folder is
/// user scope, never project scope.
pub fn project_folders<'a>(current: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let above: Vec<&Path> = current.ancestors().take(MAX_PARENTS).collect();
    // `.git` is a folder in a checkout and a file in a worktree.
    let last = above.iter().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    above[..=last].iter().copied().filter(|folder| Some(*folder) != home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_folders_end_at_the_repository() {
        let world = tempfile::tempdir().unwrap();
        let repo = world.path().join("repo");
        let inner = repo.join("pkg/a");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(repo.join(".git")).unwrap();
        assert_eq!(project_folders(&inner, None), [inner.as_path(), &repo.join("pkg"), &repo]);
        assert_eq!(project_folders(world.path(), None), [world.path()]);
    }

    #[test]
    fn a_worktree_is_a_repository_too() {
        let world = tempfile::tempdir().unwrap();
        let inner = world.path().join("tree/sub");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(world.path().join("tree/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project_folders(&inner, None).len(), 2);
    }

    #[test]
    fn project_comes_before_extra_before_user() {
        let place = Place {
            current: "/nowhere/work".into(),
            home: Some("/nowhere/dwelling".into()),
            config_home: Some("/nowhere/dwelling/.config".into()),
            extra: vec!["more".into()],
        };
        let scopes: Vec<Scope> = roots(&place).iter().map(|root| root.scope).collect();
        assert!(scopes.is_sorted());
        assert_eq!(scopes.len(), 2 * SKILL_FOLDERS.len() + 2);
    }
}
