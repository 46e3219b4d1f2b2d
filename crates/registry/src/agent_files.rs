//! Finds the agent files of a project and of a user.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess_diag::wording::{self, io_reason};
use prowess_flow::{AgentFile, AgentScope, Dialect, MAX_FILE, MIN_FILE, ProjectFiles, read};
use prowess_spec::ReadFault;

use crate::fs::skill_folders::{Place, project_folders, repository};
use crate::resource::{ResourceError, SkillFolder};

/// Maximum number of agent files per folder of the table.
const MAX_FILES: usize = 1_000;
/// Maximum number of entries that are looked at per folder of the table.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of bytes of all agent files, and of the files that they name.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Maximum depth below a folder of the table.
const MAX_DEPTH: usize = 3;

/// A place where a system keeps agents.
struct AgentPlace {
    dialect: Dialect,
    /// A folder, or a file.
    path: &'static str,
    in_project: bool,
    in_home: bool,
    /// `true` if only the folder itself is searched.
    is_flat: bool,
}

impl AgentPlace {
    const fn both(dialect: Dialect, path: &'static str) -> Self {
        Self {
            dialect,
            path,
            in_project: true,
            in_home: true,
            is_flat: false,
        }
    }

    const fn project(dialect: Dialect, path: &'static str) -> Self {
        Self {
            in_home: false,
            ..Self::both(dialect, path)
        }
    }

    const fn flat(self) -> Self {
        Self {
            is_flat: true,
            ..self
        }
    }

    fn is_in(&self, scope: AgentScope) -> bool {
        match scope {
            AgentScope::Project => self.in_project,
            AgentScope::User => self.in_home,
        }
    }

    /// Returns `true` if a file of this name in the place is an agent file.
    fn has(&self, name: &str) -> bool {
        Dialect::of(&format!("{}/{name}", self.path)) == Some(self.dialect)
    }
}

/// The places, in order of precedence.
const PLACES: [AgentPlace; 13] = [
    AgentPlace::both(Dialect::Claude, ".claude/agents"),
    AgentPlace::both(Dialect::CoreAgent, ".agents/config.json"),
    AgentPlace::both(Dialect::Planck, ".planck/teams"),
    AgentPlace::project(Dialect::SkilledCrew, "").flat(),
    AgentPlace::both(Dialect::Codex, ".codex/agents"),
    AgentPlace::both(Dialect::OpenCode, ".opencode/agent"),
    AgentPlace::both(Dialect::OpenCode, ".opencode/agents"),
    AgentPlace {
        in_project: false,
        ..AgentPlace::both(Dialect::OpenCode, ".config/opencode/agent")
    },
    AgentPlace {
        in_project: false,
        ..AgentPlace::both(Dialect::OpenCode, ".config/opencode/agents")
    },
    AgentPlace::both(Dialect::Gemini, ".gemini/agents"),
    AgentPlace::project(Dialect::Copilot, ".github/agents"),
    AgentPlace::project(Dialect::Copilot, "agents").flat(),
    AgentPlace::both(Dialect::Copilot, ".copilot/agents"),
];

/// Returns the top folder, such as `.claude`, if a path in a home folder is that of an agent file in
/// one of the usual places.
pub fn agent_place(path: &str) -> Option<&'static str> {
    let mut places = PLACES.iter().filter(|place| place.is_in(AgentScope::User));
    let place = places.find(|place| Path::new(path).starts_with(place.path))?;
    place.path.split('/').next()
}

/// Returns the folders and files where systems keep agents, relative to a project or to a home
/// folder. A folder that has other files too is left out.
pub fn agent_places(scope: AgentScope) -> impl Iterator<Item = &'static str> {
    let places = PLACES.iter().filter(move |place| place.is_in(scope));
    places
        .filter(|place| !place.is_flat)
        .map(|place| place.path)
}

/// Returns `true` for the name of a hidden folder in which a system keeps agents, such as `.claude`.
fn is_marker(name: &str) -> bool {
    let scopes = [AgentScope::Project, AgentScope::User];
    let mut places = scopes.into_iter().flat_map(agent_places);
    name.starts_with('.') && places.any(|place| place.split('/').next() == Some(name))
}

/// The path of an agent file: the project, and the path in it.
#[derive(Clone, Debug)]
pub struct AgentPath {
    /// The project, without links.
    pub root: PathBuf,
    /// The path below it.
    pub path: String,
    /// The system whose format it has.
    pub dialect: Dialect,
}

impl AgentPath {
    /// Returns `None` if a path is not that of an agent file.
    pub fn of(path: &Path) -> Option<Self> {
        let given = path.is_file().then(|| std::path::absolute(path).ok())??;
        Self::with(path, Dialect::of(given.to_str()?)?)
    }

    /// Like [`Self::of`]. In a folder `agents`, Markdown files without a dialect are those of Claude
    /// Code, as in its plugins.
    pub(crate) fn found(path: &Path) -> Option<Self> {
        let is_agent = path.extension().is_some_and(|ending| ending == "md")
            && path
                .file_name()
                .is_some_and(|name| !name.eq_ignore_ascii_case("README.md"));
        let parent = path.parent().and_then(Path::file_name);
        let is_plugin = is_agent && parent.is_some_and(|name| name == "agents");
        Self::of(path).or_else(|| is_plugin.then(|| Self::with(path, Dialect::Claude))?)
    }

    /// Returns the path of a file of this dialect. `None` if it is not a file.
    pub fn with(path: &Path, dialect: Dialect) -> Option<Self> {
        let given = path.is_file().then(|| std::path::absolute(path).ok())??;
        let parent = given.parent()?.canonicalize().ok()?;
        let path = parent.join(given.file_name()?);
        let folder = path.parent()?;
        // Without a repository, the folder that contains `.claude` and the like is the project.
        let marker = |folder: &&Path| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(is_marker)
        };
        let root = repository(folder).or_else(|| {
            let hidden = folder.ancestors().find(marker)?;
            hidden.parent()
        });
        let root = root.unwrap_or(folder).to_owned();
        let path = path.strip_prefix(&root).ok()?.to_str()?.to_owned();
        Some(Self {
            root,
            path,
            dialect,
        })
    }

    /// Reads the file.
    pub fn read(&self) -> Result<AgentFile, ReadFault> {
        read_agent_file(&self.root, &self.path, self.dialect)
    }
}

/// Returns the agent files below a folder, by path, and `true` if there are more than were looked
/// at. In a folder `agents`, Markdown files without a dialect are those of Claude Code, as in its
/// plugins. Other hidden folders are skipped, and links are not followed.
pub fn agent_paths_below(folder: &Path) -> (Vec<AgentPath>, bool) {
    let mut entries = 0;
    let mut waiting = vec![(folder.to_owned(), 0)];
    let mut files = Vec::new();
    let mut is_truncated = false;
    while let Some((folder, depth)) = waiting.pop() {
        let Ok(listing) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in listing.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES || files.len() > MAX_FILES {
                is_truncated = true;
                break;
            }
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
                continue;
            };
            if kind.is_dir() {
                let is_hidden = name.starts_with('.') && !is_marker(name);
                if depth == MAX_SEARCH_DEPTH {
                    is_truncated = true;
                } else if !is_hidden && name != "node_modules" {
                    waiting.push((entry.path(), depth + 1));
                }
            } else if kind.is_file() {
                let path = entry.path();
                let found = AgentPath::found(&path);
                files.extend(found.map(|found| (path, found)));
            }
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    (
        files.into_iter().map(|(_, file)| file).collect(),
        is_truncated,
    )
}

/// Maximum depth of folders that are searched for agent files.
const MAX_SEARCH_DEPTH: usize = 16;

/// An agent file and the folder that its paths are relative to.
#[derive(Clone, Debug)]
pub struct FoundAgentFile {
    /// The owner of the file.
    pub scope: AgentScope,
    /// The project or the home folder.
    pub root: PathBuf,
    /// The agents and the findings.
    pub file: AgentFile,
}

/// Reads the agent files of a project and of a user: those of the current folder and its parents up
/// to the repository, nearest first, then those of the home folder. `teams` are more folders with
/// teams of Planck.
pub fn agent_files(place: &Place, teams: &[(AgentScope, PathBuf)]) -> Vec<FoundAgentFile> {
    let home = place.home.as_deref();
    let mut found = Vec::new();
    let root = repository(&place.current).filter(|root| Some(*root) != home);
    let left = Cell::new(MAX_BYTES);
    for folder in project_folders(&place.current, home) {
        search(
            root.unwrap_or(folder),
            folder,
            AgentScope::Project,
            &left,
            &mut found,
        );
    }
    let teams_of = |wanted: AgentScope| {
        let teams = teams.iter().filter(move |(scope, _)| *scope == wanted);
        teams.map(|(_, folder)| place.resolve(folder))
    };
    for folder in teams_of(AgentScope::Project) {
        let root = root.unwrap_or(&place.current);
        search_teams(root, &folder, AgentScope::Project, &left, &mut found);
    }
    if let Some(home) = home {
        let left = Cell::new(MAX_BYTES);
        search(home, home, AgentScope::User, &left, &mut found);
    }
    for folder in teams_of(AgentScope::User) {
        let left = Cell::new(MAX_BYTES);
        search_teams(&folder, &folder, AgentScope::User, &left, &mut found);
    }
    found
}

/// Searches a folder with teams. Files that were found already are left out.
fn search_teams(
    root: &Path,
    folder: &Path,
    scope: AgentScope,
    left: &Cell<usize>,
    found: &mut Vec<FoundAgentFile>,
) {
    let Some(top) = folder.strip_prefix(root).ok().and_then(Path::to_str) else {
        return;
    };
    let place = AgentPlace::both(Dialect::Planck, "teams");
    let known: BTreeSet<PathBuf> = found
        .iter()
        .map(|found| found.root.join(&*found.file.path))
        .collect();
    let mut new = Vec::new();
    search_place(root, top, &place, scope, left, &mut new);
    new.retain(|found| !known.contains(&found.root.join(&*found.file.path)));
    found.extend(new);
}

/// Reads one agent file below `root`.
pub fn read_agent_file(root: &Path, path: &str, dialect: Dialect) -> Result<AgentFile, ReadFault> {
    read_within(root, path, dialect, &Cell::new(MAX_BYTES))
}

/// Reads one agent file, if it and the files that it names have at most as many bytes as are left.
fn read_within(
    root: &Path,
    path: &str,
    dialect: Dialect,
    left: &Cell<usize>,
) -> Result<AgentFile, ReadFault> {
    let files = ProjectFolder::open(root, left)?;
    let bytes = files.read(path)?;
    let mut file = read(dialect, path, &bytes, &files);
    root.clone_into(&mut file.root);
    Ok(file)
}

/// Returns the text of an agent file below `root`.
pub fn read_agent_source(root: &Path, path: &str) -> Result<String, ReadFault> {
    let left = Cell::new(MAX_BYTES);
    let bytes = ProjectFolder::open(root, &left)?.read(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a text as if it were the content of an agent file below `root`.
pub fn read_agent_text(
    root: &Path,
    path: &str,
    dialect: Dialect,
    bytes: &[u8],
) -> Result<AgentFile, ReadFault> {
    let left = Cell::new(MAX_BYTES);
    let files = ProjectFolder::open(root, &left)?;
    let mut file = read(dialect, path, bytes, &files);
    root.clone_into(&mut file.root);
    Ok(file)
}

/// Searches the places below `folder`. Paths in the files must stay below `root`.
fn search(
    root: &Path,
    folder: &Path,
    scope: AgentScope,
    left: &Cell<usize>,
    found: &mut Vec<FoundAgentFile>,
) {
    let Some(prefix) = folder.strip_prefix(root).ok().and_then(Path::to_str) else {
        return;
    };
    for place in PLACES.iter().filter(|place| place.is_in(scope)) {
        let top = match (prefix, place.path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}/{path}"),
        };
        search_place(root, &top, place, scope, left, found);
    }
}

/// Reads the agent files of a place, at or below `top`.
fn search_place(
    root: &Path,
    top: &str,
    place: &AgentPlace,
    scope: AgentScope,
    left: &Cell<usize>,
    found: &mut Vec<FoundAgentFile>,
) {
    let mut listing = Listing::default();
    collect(root, top, place, 0, &mut listing);
    listing.paths.sort();
    let mut push = |mut file: AgentFile| {
        root.clone_into(&mut file.root);
        found.push(FoundAgentFile {
            scope,
            root: root.to_owned(),
            file,
        });
    };
    for path in listing.paths {
        let file = read_within(root, &path, place.dialect, left);
        push(file.unwrap_or_else(|fault| unread(place.dialect, &path, &fault)));
    }
    if listing.is_truncated {
        let folder = if top.is_empty() { "." } else { top };
        let message = format!(
            "too large: only the first {} agent files and {} entries are read",
            wording::thousands(MAX_FILES),
            wording::thousands(MAX_ENTRIES)
        );
        push(AgentFile::unread(place.dialect, folder, message));
    }
}

/// The files of a place.
#[derive(Default)]
struct Listing {
    paths: Vec<String>,
    /// Number of entries that were looked at.
    entries: usize,
    /// `true` if there are more files than were looked at.
    is_truncated: bool,
}

/// Collects the files of a place, relative to the root. Links to folders are not followed. Folders
/// are read in order of name, so that the limit always cuts off the same files.
fn collect(root: &Path, path: &str, place: &AgentPlace, depth: usize, listing: &mut Listing) {
    let full = root.join(path);
    if depth == 0 && !place.path.is_empty() && full.is_file() {
        listing.paths.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(&full) else {
        return;
    };
    let room = MAX_ENTRIES.saturating_sub(listing.entries);
    let mut entries = entries.flatten();
    let mut names: Vec<_> = (entries.by_ref().take(room))
        .filter_map(|entry| {
            let kind = entry.file_type().ok()?;
            Some((entry.file_name().into_string().ok()?, kind))
        })
        .collect();
    listing.is_truncated |= entries.next().is_some();
    listing.entries += names.len();
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, kind) in names {
        let inner = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}/{name}")
        };
        if kind.is_dir() {
            if !place.is_flat && depth + 1 < MAX_DEPTH {
                collect(root, &inner, place, depth + 1, listing);
            }
        } else if place.has(&name) {
            if listing.paths.len() == MAX_FILES {
                listing.is_truncated = true;
                return;
            }
            listing.paths.push(inner);
        }
    }
}

/// Returns a file that could not be read, with a finding.
fn unread(dialect: Dialect, path: &str, fault: &ReadFault) -> AgentFile {
    let why = match fault {
        ReadFault::Missing => "it is a broken link, or links out of the project".to_owned(),
        ReadFault::NotAFile(kind) => format!("it is {kind}"),
        ReadFault::TooLarge { bytes } => {
            format!("it has {}", wording::size(*bytes))
        }
        ReadFault::Unreadable(why) => why.clone(),
    };
    AgentFile::unread(dialect, path, format!("cannot read the file: {why}"))
}

/// The files of a project. A link that leaves it is not followed.
#[derive(Debug)]
pub struct OpenProject {
    folder: SkillFolder,
    /// Number of bytes that may still be read.
    left: Cell<usize>,
}

impl OpenProject {
    /// Opens the folder of a project.
    pub fn open(root: &Path) -> Result<Self, ReadFault> {
        let folder = SkillFolder::open(root).map_err(|error| fault(&error))?;
        Ok(Self {
            folder,
            left: Cell::new(MAX_BYTES),
        })
    }
}

impl ProjectFiles for OpenProject {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        read_below(&self.folder, &self.left, path)
    }

    fn exists(&self, path: &str) -> bool {
        exists_below(&self.folder, &self.left, path)
    }

    fn files_below(&self, folder: &str) -> Option<Vec<String>> {
        files_below(&self.folder.path().join(folder))
    }
}

/// The files of a project or of a home folder. A link that leaves it is not followed.
pub(crate) struct ProjectFolder<'l> {
    folder: SkillFolder,
    /// Number of bytes that may still be read.
    left: &'l Cell<usize>,
}

impl<'l> ProjectFolder<'l> {
    pub(crate) fn open(root: &Path, left: &'l Cell<usize>) -> Result<Self, ReadFault> {
        let folder = SkillFolder::open(root).map_err(|error| fault(&error))?;
        Ok(Self { folder, left })
    }
}

impl ProjectFiles for ProjectFolder<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        read_below(&self.folder, self.left, path)
    }

    fn exists(&self, path: &str) -> bool {
        exists_below(&self.folder, self.left, path)
    }
}

fn read_below(folder: &SkillFolder, left: &Cell<usize>, path: &str) -> Result<Vec<u8>, ReadFault> {
    let before = left.get();
    if before == 0 {
        let bytes = MAX_BYTES as u64;
        return Err(ReadFault::TooLarge { bytes });
    }
    left.set(before.saturating_sub(MIN_FILE));
    let bytes = folder.bytes(path, MAX_FILE.min(before) as u64);
    let bytes = bytes.map_err(|error| fault(&error))?;
    left.set(before.saturating_sub(bytes.len().max(MIN_FILE)));
    Ok(bytes)
}

fn exists_below(folder: &SkillFolder, left: &Cell<usize>, path: &str) -> bool {
    left.set(left.get().saturating_sub(MIN_FILE));
    let found = folder.bytes(path, 0).map_err(|error| fault(&error));
    !matches!(found, Err(ReadFault::Missing))
}

/// Lists the files below a folder. `None` if there are too many, or if it cannot be read.
fn files_below(top: &Path) -> Option<Vec<String>> {
    let mut waiting = vec![String::new()];
    let (mut files, mut entries) = (Vec::new(), 0);
    while let Some(inner) = waiting.pop() {
        for entry in std::fs::read_dir(top.join(&inner)).ok()?.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return None;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if inner.is_empty() {
                name
            } else {
                format!("{inner}/{name}")
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(path),
                _ => files.push(path),
            }
        }
    }
    files.sort();
    Some(files)
}

fn fault(error: &ResourceError) -> ReadFault {
    match error {
        ResourceError::Missing { .. } => ReadFault::Missing,
        ResourceError::NotAFile { kind, .. } => ReadFault::NotAFile(kind),
        ResourceError::TooLarge { size, .. } => ReadFault::TooLarge { bytes: *size },
        ResourceError::Read { source, .. } => {
            ReadFault::Unreadable(io_reason(source).to_lowercase())
        }
        ResourceError::Path { .. }
        | ResourceError::Outside { .. }
        | ResourceError::NotCovered { .. }
        | ResourceError::Replaced { .. } => {
            ReadFault::Unreadable("it links out of the project".to_owned())
        }
    }
}
