//! Finds the agent files of a project and of a user.

use std::path::Path;

use prowess_diag::wording::io_reason;
use prowess_flow::{AgentFile, AgentScope, Dialect, MAX_FILE, ProjectFiles, read};
use prowess_spec::ReadFault;

use crate::fs::skill_folders::{Place, project_folders, repository};
use crate::resource::{ResourceError, SkillFolder};

/// Maximum number of agent files per folder of the table.
const MAX_FILES: usize = 1_000;
/// Maximum number of entries that are looked at per folder of the table.
const MAX_ENTRIES: usize = 10_000;
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

/// An agent file and the folder that its paths are relative to.
#[derive(Clone, Debug)]
pub struct FoundAgentFile {
    /// The owner of the file.
    pub scope: AgentScope,
    /// The project or the home folder.
    pub root: std::path::PathBuf,
    /// The agents and the findings.
    pub file: AgentFile,
}

/// Reads the agent files of a project and of a user: those of the current folder and its parents up
/// to the repository, nearest first, then those of the home folder.
pub fn agent_files(place: &Place) -> Vec<FoundAgentFile> {
    let home = place.home.as_deref();
    let mut found = Vec::new();
    let root = repository(&place.current).filter(|root| Some(*root) != home);
    for folder in project_folders(&place.current, home) {
        search(
            root.unwrap_or(folder),
            folder,
            AgentScope::Project,
            &mut found,
        );
    }
    if let Some(home) = home {
        search(home, home, AgentScope::User, &mut found);
    }
    found
}

/// Reads one agent file below `root`.
pub fn read_agent_file(root: &Path, path: &str, dialect: Dialect) -> Result<AgentFile, ReadFault> {
    let files = ProjectFolder::open(root)?;
    let bytes = files.read(path)?;
    Ok(read(dialect, path, &bytes, &files))
}

/// Reads a text as if it were the content of an agent file below `root`.
pub fn read_agent_text(
    root: &Path,
    path: &str,
    dialect: Dialect,
    bytes: &[u8],
) -> Result<AgentFile, ReadFault> {
    let files = ProjectFolder::open(root)?;
    Ok(read(dialect, path, bytes, &files))
}

/// Searches the places below `folder`. Paths in the files must stay below `root`.
fn search(root: &Path, folder: &Path, scope: AgentScope, found: &mut Vec<FoundAgentFile>) {
    let Some(prefix) = folder.strip_prefix(root).ok().and_then(Path::to_str) else {
        return;
    };
    let is_here = |place: &&AgentPlace| match scope {
        AgentScope::Project => place.in_project,
        AgentScope::User => place.in_home,
    };
    for place in PLACES.iter().filter(is_here) {
        let mut paths = Vec::new();
        let mut entries = 0;
        let top = match (prefix, place.path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}/{path}"),
        };
        collect(root, &top, place, 0, &mut entries, &mut paths);
        paths.sort();
        for path in paths {
            let file = read_agent_file(root, &path, place.dialect)
                .unwrap_or_else(|fault| unread(place.dialect, &path, &fault));
            found.push(FoundAgentFile {
                scope,
                root: root.to_owned(),
                file,
            });
        }
    }
}

/// Collects the files of a place, relative to the root. Links to folders are not followed.
fn collect(
    root: &Path,
    path: &str,
    place: &AgentPlace,
    depth: usize,
    entries: &mut usize,
    paths: &mut Vec<String>,
) {
    let full = root.join(path);
    if depth == 0 && !place.path.is_empty() && full.is_file() {
        paths.push(path.to_owned());
        return;
    }
    let Ok(listing) = std::fs::read_dir(&full) else {
        return;
    };
    for entry in listing.flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES || paths.len() >= MAX_FILES {
            return;
        }
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            continue;
        };
        let inner = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}/{name}")
        };
        if kind.is_dir() {
            if !place.is_flat && depth + 1 < MAX_DEPTH {
                collect(root, &inner, place, depth + 1, entries, paths);
            }
        } else if is_agent_file(place.dialect, name) {
            paths.push(inner);
        }
    }
}

/// Returns `true` if a file in a place of the dialect is an agent file.
fn is_agent_file(dialect: Dialect, name: &str) -> bool {
    let folder = match dialect {
        Dialect::Claude => ".claude/agents",
        Dialect::OpenCode => ".opencode/agent",
        Dialect::Gemini => ".gemini/agents",
        Dialect::Codex => ".codex/agents",
        Dialect::CoreAgent => ".agents",
        Dialect::Copilot | Dialect::Planck | Dialect::SkilledCrew => "",
    };
    Dialect::of(&format!("{folder}/{name}")) == Some(dialect)
}

/// Returns a file that could not be read, with a finding.
fn unread(dialect: Dialect, path: &str, fault: &ReadFault) -> AgentFile {
    let why = match fault {
        ReadFault::Missing => "it is a broken link, or links out of the project".to_owned(),
        ReadFault::NotAFile(kind) => format!("it is {kind}"),
        ReadFault::TooLarge { bytes } => {
            format!("it has {}", prowess_diag::wording::size(*bytes))
        }
        ReadFault::Unreadable(why) => why.clone(),
    };
    AgentFile::unread(dialect, path, format!("cannot read the file: {why}"))
}

/// The files of a project or of a home folder. A link that leaves it is not followed.
pub(crate) struct ProjectFolder(SkillFolder);

impl ProjectFolder {
    pub(crate) fn open(root: &Path) -> Result<Self, ReadFault> {
        let folder = SkillFolder::open(root).map_err(|error| fault(&error))?;
        Ok(Self(folder))
    }
}

impl ProjectFiles for ProjectFolder {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        let bytes = self.0.bytes(path, MAX_FILE as u64);
        bytes.map_err(|error| fault(&error))
    }
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
