//! Table of the folders that are searched for skills.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::{Scope, SkillOrigin};

/// Skill folders of a project or a home, highest precedence first.
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

/// Maximum number of parent folders searched for a repository.
const MAX_PARENTS: usize = 64;
/// Maximum size of the `.git` file of a worktree, in bytes.
const MAX_GIT_FILE: u64 = 4096;

/// Folders of a project or a home with slash commands as Markdown files.
pub const COMMAND_FOLDERS: &[&str] = &[".claude/commands"];

/// Content of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootContents {
    /// Folders with SKILL.md.
    Skills,
    /// Markdown files that are slash commands.
    Commands,
}

/// A folder that may contain skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRoot {
    /// Scope of the skills.
    pub scope: Scope,
    /// The folder, which may not exist.
    pub path: PathBuf,
    /// Agent that the folder belongs to: `agents`, `claude`; empty if none.
    pub vendor: String,
    /// For a nested root, the folder of the project that it belongs to: `apps/web`.
    pub nested: String,
    /// Content of the folder.
    pub holds: RootContents,
}

impl SkillRoot {
    fn new(scope: Scope, base: &Path, folder: &str, holds: RootContents) -> Self {
        let vendor = folder
            .strip_prefix('.')
            .and_then(|name| name.split('/').next());
        Self {
            scope,
            path: base.join(folder),
            vendor: vendor.unwrap_or_default().to_owned(),
            nested: String::new(),
            holds,
        }
    }

    /// Returns a root that belongs to no agent.
    pub(super) fn bare(scope: Scope, path: PathBuf) -> Self {
        let (vendor, nested) = (String::new(), String::new());
        Self {
            scope,
            path,
            vendor,
            nested,
            holds: RootContents::Skills,
        }
    }

    /// Returns the origin of the skills below this root.
    pub fn origin(&self, order: usize) -> SkillOrigin {
        let mut origin = SkillOrigin::new(
            self.scope,
            u32::try_from(order).unwrap_or(u32::MAX),
            super::location::escape(&self.path),
        );
        origin.vendor = self.vendor.as_str().into();
        origin.nested = self.nested.as_str().into();
        origin
    }
}

/// Paths that determine which folders are searched. The library never looks them up itself.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The current folder.
    pub current: PathBuf,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub config_home: Option<PathBuf>,
    /// Folders given by flag, configuration or environment: see [`Place::resolve`].
    pub extra: Vec<PathBuf>,
    /// Folders given by the project's own configuration, all of them inside the project.
    pub project_extra: Vec<PathBuf>,
    /// A single folder to search instead of all others.
    pub only: Option<PathBuf>,
    /// Folders to search instead of all others, each with its scope: those of an agent.
    pub agent_folders: Option<Vec<(Scope, PathBuf)>>,
    /// Folders of installed packages, which links in the project may lead to.
    pub packages: PackageFolders,
}

/// The folders of the packages that the lockfile of a project names. They are looked up at every
/// scan, because packages may be installed at any time.
#[derive(Clone, Default)]
pub struct PackageFolders(Option<Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>>);

impl PackageFolders {
    /// Creates a list from a function that returns the folders of now.
    pub fn new(list: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(list)))
    }

    fn list(&self) -> Vec<PathBuf> {
        self.0.as_ref().map(|list| list()).unwrap_or_default()
    }
}

impl fmt::Debug for PackageFolders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PackageFolders")
    }
}

impl Place {
    /// Resolves a folder that was named in [`Place::extra`]: `~` and `~/x` are in [`Place::home`], if
    /// there is one, and other relative paths are below [`Place::current`].
    pub fn resolve(&self, folder: &Path) -> PathBuf {
        let path = match (folder.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.current.join(folder),
        };
        without_dots(&path)
    }
}

/// Returns a path without `.` and `..`, which the sandbox does not accept. Links are resolved only if
/// there is a `..`, which may follow a link.
fn without_dots(path: &Path) -> PathBuf {
    let is_up = |part| matches!(part, std::path::Component::ParentDir);
    let real = (path.components().any(is_up)).then(|| std::fs::canonicalize(path).ok());
    real.flatten()
        .unwrap_or_else(|| path.components().collect())
}

/// Returns all folders that may contain skills, highest precedence first. Nested folders of the
/// project are not included: [`nested_roots`](super::nested::nested_roots) finds those.
pub fn roots(place: &Place) -> Vec<SkillRoot> {
    if let Some(only) = &place.only {
        return vec![SkillRoot::bare(Scope::Extra, only.clone())];
    }
    if let Some(folders) = &place.agent_folders {
        let bare = |(scope, path): &(Scope, PathBuf)| SkillRoot::bare(*scope, path.clone());
        return folders.iter().map(bare).collect();
    }
    let mut roots: Vec<SkillRoot> = Vec::new();
    let mut known: HashSet<PathBuf> = HashSet::new();
    let mut add = |root: SkillRoot| {
        if known.insert(root.path.clone()) {
            roots.push(root);
        }
    };
    let mut folders: Vec<PathBuf> = project_folders(&place.current, place.home.as_deref())
        .into_iter()
        .map(Path::to_owned)
        .collect();
    // A worktree without skills uses those of its main checkout.
    let has_some = |folder: &PathBuf| SKILL_FOLDERS.iter().any(|name| folder.join(name).is_dir());
    if let Some(main) = folders.last().and_then(|last| main_checkout(last))
        && !folders.iter().any(has_some)
    {
        folders.push(main);
    }
    for folder in &folders {
        vendor_roots(Scope::Project, folder).for_each(&mut add);
    }
    for folder in &place.project_extra {
        add(SkillRoot::bare(Scope::Project, place.current.join(folder)));
    }
    for folder in &place.extra {
        add(SkillRoot::bare(Scope::Extra, place.resolve(folder)));
    }
    if let Some(home) = &place.home {
        vendor_roots(Scope::User, home).for_each(&mut add);
        // core-agent's older folder of the user.
        let (folder, holds) = (".core-agent/skills", RootContents::Skills);
        add(SkillRoot::new(Scope::User, home, folder, holds));
    }
    if let Some(config) = &place.config_home {
        add(SkillRoot {
            vendor: "config".into(),
            ..SkillRoot::new(Scope::User, config, "agents/skills", RootContents::Skills)
        });
    }
    roots
}

/// Returns the folders of all agents in a project or a home.
fn vendor_roots(scope: Scope, base: &Path) -> impl Iterator<Item = SkillRoot> {
    let skills = SKILL_FOLDERS
        .iter()
        .map(|name| (name, RootContents::Skills));
    let commands = COMMAND_FOLDERS
        .iter()
        .map(|name| (name, RootContents::Commands));
    skills
        .chain(commands)
        .map(move |(name, holds)| SkillRoot::new(scope, base, name, holds))
}

/// The folders that a folder of the project may lead to: the project, and the folders that the user
/// chose. A repository must not be able to expose other files of the user to a model.
#[derive(Clone, Debug, Default)]
pub struct LinkBounds {
    /// Paths without links.
    project: Vec<PathBuf>,
    /// The user's own roots, without links.
    own: Vec<PathBuf>,
    /// Roots of the project, as they are named.
    roots: Vec<PathBuf>,
    /// Folders of installed packages, without links.
    packages: HashSet<PathBuf>,
}

impl LinkBounds {
    /// Returns the bounds of the project around the current folder. `roots` are all its roots.
    pub fn new(place: &Place, roots: &[SkillRoot]) -> Self {
        let home = place.home.as_deref();
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let mut project: Vec<PathBuf> = Vec::new();
        let current = real(&place.current);
        let folders = [Some(place.current.as_path()), current.as_deref()];
        for folder in folders.into_iter().flatten() {
            // In a repository that is the home folder, the folder below it.
            let last = project_folders(folder, home).last().copied();
            project.extend(last.and_then(real));
            project.extend(last.and_then(main_checkout).as_deref().and_then(real));
        }
        let of = |own: bool| {
            let is_own = move |root: &&SkillRoot| (root.scope != Scope::Project) == own;
            roots.iter().filter(is_own).map(|root| root.path.clone())
        };
        Self {
            project,
            own: of(true).filter_map(|path| real(&path)).collect(),
            roots: of(false).collect(),
            packages: (place.packages.list().iter())
                .filter_map(|path| real(path))
                .collect(),
        }
    }

    /// Returns `true` if a folder is not of the project, or is, without links, within the bounds.
    pub fn allow(&self, folder: &Path) -> bool {
        !self.roots.iter().any(|root| folder.starts_with(root))
            || std::fs::canonicalize(folder).is_ok_and(|real| self.contain(&real))
    }

    /// Returns `true` if a path without links is within the bounds.
    pub(super) fn contain(&self, real: &Path) -> bool {
        let mut places = self.project.iter().chain(&self.own);
        places.any(|place| real.starts_with(place)) || self.packages.contains(real)
    }

    /// Returns `true` if a path without links is one of the user's own roots, outside the project.
    pub(super) fn is_own(&self, real: &Path) -> bool {
        let mut project = self.project.iter();
        self.own.iter().any(|own| own == real) && !project.any(|place| real.starts_with(place))
    }
}

/// Returns `true` if a folder is one of the roots.
pub(super) fn contains(roots: &[SkillRoot], path: &Path) -> bool {
    roots.iter().any(|root| root.path == path)
}

/// Returns the main checkout of a worktree, whose `.git` is a file that points to a folder below
/// the checkout's `.git`, which points back.
fn main_checkout(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    let text = read_small(&file)?;
    let named = folder.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = named
        .parent()
        .filter(|parent| parent.ends_with(".git/worktrees"))?;
    let main = worktrees.parent()?.parent()?;
    // A project may write any path into its `.git`. Only a checkout that knows the worktree counts.
    let back = read_small(&named.join("gitdir"))?;
    let back = std::fs::canonicalize(named.join(back.trim())).ok()?;
    (back == std::fs::canonicalize(&file).ok()?).then(|| main.to_owned())
}

/// Reads a small regular file. A project may replace it at any time, so that the opened file is
/// checked, a FIFO is not waited for, and the read is bounded.
fn read_small(file: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(file)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = file.take(MAX_GIT_FILE + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= MAX_GIT_FILE).then_some(text)
}

/// Returns the repository that contains a folder.
pub fn repository(current: &Path) -> Option<&Path> {
    let above: Vec<&Path> = current.ancestors().take(MAX_PARENTS).collect();
    top_of_repository(&above).map(|at| above[at])
}

/// Returns `true` if git takes a folder for the top of a repository: `.git` is a folder with what git
/// needs, or the file of a worktree or submodule.
fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    match std::fs::metadata(&git) {
        Ok(facts) if facts.is_dir() => {
            let has = |name: &str| git.join(name).symlink_metadata().is_ok();
            has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
        }
        Ok(facts) if facts.is_file() => {
            read_small(&git).is_some_and(|text| text.starts_with("gitdir:"))
        }
        _ => false,
    }
}

/// Returns the position of the repository among a folder and its parents. A `.git` that git ignores
/// counts only if there is no repository: a command may have created it in a subfolder.
fn top_of_repository(above: &[&Path]) -> Option<usize> {
    let has_git = |folder: &&Path| folder.join(".git").exists();
    let mut folders = above.iter();
    folders
        .position(|folder| is_repository(folder))
        .or_else(|| above.iter().position(has_git))
}

/// Returns the folders around the project that belong to repositories around it, the nearest one first:
/// the project is a submodule, or a command created a repository in a subfolder. Their settings only
/// restrict. Folders of other users do not count, and neither does the home folder.
pub fn outer_folders<'a>(current: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let above = current.ancestors().take(MAX_PARENTS);
    let above: Vec<&Path> = above.take_while(|folder| Some(*folder) != home).collect();
    let Some(inner) = top_of_repository(&above) else {
        return Vec::new();
    };
    let outermost = above.iter().rposition(|folder| is_repository(folder));
    let around = outermost.and_then(|outermost| above.get(inner + 1..=outermost));
    let user = rustix::process::geteuid().as_raw();
    let is_own = |folder: &&Path| {
        let owner = folder.metadata().map(|facts| facts.uid());
        owner.is_ok_and(|owner| owner == user || owner == 0)
    };
    let around = around.unwrap_or_default().iter().copied();
    around.filter(is_own).collect()
}

/// Returns the current folder and its parents up to the root of the repository. Outside a
/// repository, only the current folder: skills in a parent folder may belong to another user. The
/// home folder is user scope, never project scope.
pub fn project_folders<'a>(current: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let above: Vec<&Path> = current.ancestors().take(MAX_PARENTS).collect();
    // `.git` is a folder in a checkout and a file in a worktree.
    let last = top_of_repository(&above).unwrap_or(0);
    above[..=last]
        .iter()
        .copied()
        .filter(|folder| Some(*folder) != home)
        .collect()
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
        assert_eq!(
            project_folders(&inner, None),
            [inner.as_path(), &repo.join("pkg"), &repo]
        );
        assert_eq!(project_folders(world.path(), None), [world.path()]);
    }

    #[test]
    fn folder_that_git_ignores_does_not_end_a_repository() {
        let world = tempfile::tempdir().unwrap();
        let repo = world.path().join("repo");
        let inner = repo.join("pkg/a");
        std::fs::create_dir_all(inner.join(".git/objects")).unwrap();
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(repo.join(".git").join(folder)).unwrap();
        }
        std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(repository(&inner), Some(&*repo));
        assert_eq!(project_folders(&inner, None).len(), 3);
        assert!(outer_folders(&inner, None).is_empty());
        // A repository in a subfolder is a project of its own, and those around it restrict it.
        let nested = repo.join("nested");
        let below = nested.join("deep");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(nested.join(".git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(repository(&below), Some(&*nested));
        assert_eq!(outer_folders(&below, None), [repo.as_path()]);
        assert!(outer_folders(&below, Some(&repo)).is_empty());
        assert!(outer_folders(&repo, None).is_empty());
    }

    #[test]
    fn worktree_is_a_repository() {
        let world = tempfile::tempdir().unwrap();
        let inner = world.path().join("tree/sub");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(world.path().join("tree/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project_folders(&inner, None).len(), 2);
    }

    #[test]
    fn order_is_project_extra_user() {
        let place = Place {
            current: "/nowhere/work".into(),
            home: Some("/nowhere/dwelling".into()),
            config_home: Some("/nowhere/dwelling/.config".into()),
            extra: vec!["more".into()],
            project_extra: Vec::new(),
            only: None,
            agent_folders: None,
            packages: PackageFolders::default(),
        };
        let scopes: Vec<Scope> = roots(&place).iter().map(|root| root.scope).collect();
        assert!(scopes.is_sorted());
        // The last ones are `more`, `.core-agent/skills` and `agents/skills` of the configuration.
        assert_eq!(
            scopes.len(),
            2 * (SKILL_FOLDERS.len() + COMMAND_FOLDERS.len()) + 3
        );
    }

    #[test]
    fn worktree_without_skills_uses_the_main_checkout() {
        let world = tempfile::tempdir().unwrap();
        let (main, tree) = (world.path().join("main"), world.path().join("tree"));
        std::fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(main.join(".claude/skills")).unwrap();
        std::fs::create_dir(&tree).unwrap();
        let named = main.join(".git/worktrees/tree");
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", named.display())).unwrap();
        let point_back = |to: &Path| {
            std::fs::write(named.join("gitdir"), format!("{}\n", to.display())).unwrap();
        };
        let place = Place {
            current: tree.clone(),
            ..Place::default()
        };
        let has_main = |place| {
            roots(&place)
                .iter()
                .any(|root| root.path.starts_with(&main))
        };
        assert!(!has_main(place.clone()), "no way back");
        point_back(&world.path().join("other/.git"));
        assert!(!has_main(place.clone()), "another worktree");
        point_back(&tree.join(".git"));
        assert!(has_main(place.clone()));
        point_back(Path::new("../../../../tree/.git"));
        assert!(has_main(place.clone()), "a relative path");
        std::fs::create_dir_all(tree.join(".agents/skills")).unwrap();
        assert!(!has_main(place));
    }
}
