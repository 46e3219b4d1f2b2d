//! What a command may touch while it runs: plain data that the exec crate turns into a sandbox.

use std::path::PathBuf;

/// How much of the sandbox must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Strength {
    /// Refuse to run where a layer is missing.
    #[default]
    Required,
    /// Use the layers there are, and report.
    BestEffort,
    /// No sandbox. Limits, environment and clean-up still hold.
    Off,
}

impl Strength {
    /// Every strength, the strongest first.
    pub const ALL: [Self; 3] = [Self::Required, Self::BestEffort, Self::Off];

    /// The word used in settings and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::BestEffort => "best-effort",
            Self::Off => "off",
        }
    }

    /// Reads the word used in settings.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|strength| strength.as_str() == word)
    }
}

/// What a command may touch, and how much of everything it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// How much of the sandbox must be there.
    pub strength: Strength,
    /// The folder it starts in. Absolute.
    pub cwd: PathBuf,
    /// Folders and files it may read, besides the system's (`/usr`, `/bin`, `/lib*`, `/etc` without
    /// its secrets, a minimal `/dev`, its own `/proc`). Absolute.
    pub readable: Vec<PathBuf>,
    /// Folders it may also write.
    pub writable: Vec<PathBuf>,
    /// Files and folders that stay unwritable although a writable folder holds them, even where
    /// they do not exist yet: `.git/hooks`, `.git/config`, start-up files, our own settings.
    pub protected: Vec<PathBuf>,
    /// Files and folders that stay unreadable although a readable folder holds them: keys.
    pub hidden: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// Variables of the environment beyond the fixed list, by name and value.
    pub environment: Vec<(Box<str>, Box<str>)>,
    /// How much it may use.
    pub limits: Limits,
}

/// How much of everything a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time in milliseconds.
    pub deadline_ms: u64,
    /// Time between the polite and the impolite signal, in milliseconds.
    pub grace_ms: u64,
    /// Bytes that are kept of the beginning of each output stream.
    pub head_bytes: usize,
    /// Bytes that are kept of the end of each output stream.
    pub tail_bytes: usize,
    /// Processor time in seconds.
    pub cpu_seconds: u64,
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Largest file it may write, in bytes.
    pub file_bytes: u64,
    /// Most open files.
    pub open_files: u64,
    /// Most processes at a time.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline_ms: 30_000,
            grace_ms: 2_000,
            head_bytes: 512 * 1024,
            tail_bytes: 512 * 1024,
            cpu_seconds: 600,
            memory_bytes: 8 << 30,
            file_bytes: 1 << 30,
            open_files: 1024,
            processes: 512,
        }
    }
}

/// Where work happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The folder of the skill that the command belongs to.
    pub skill: Option<PathBuf>,
    /// The project.
    pub workspace: PathBuf,
    /// Whether the command may write in the project.
    pub edits: bool,
    /// The person's home folder.
    pub home: PathBuf,
    /// Our own folders: settings, state, cache. Never readable, never writable.
    pub ours: Vec<PathBuf>,
}

/// What in a project decides what runs later, below its root: unwritable, even where it does not
/// exist yet. One list, so that adding a file is one line.
pub const PROTECTED_IN_PROJECT: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/info",
    ".git/modules",
    ".gitmodules",
    ".agents",
    ".prowess",
    ".claude",
    ".codex",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
    ".husky",
    ".github/workflows",
];

/// What in a home folder decides what runs later: unwritable.
pub const PROTECTED_IN_HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".gitconfig",
    ".vimrc",
    ".config",
    ".local/bin",
    ".cargo",
    ".agents",
    ".claude",
    ".codex",
    ".gemini",
];

/// What in a home folder holds keys: unreadable.
pub const KEYS_IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".local/share/keyrings",
    ".password-store",
];

impl Profile {
    /// The profile of ordinary work: reads the skill and the project, writes the scratch folder that
    /// every run gets and, where agreed, the project; no network. It starts in the skill's folder, or in the project.
    pub fn for_work(setting: &Setting) -> Self {
        let cwd = setting.skill.as_ref().unwrap_or(&setting.workspace);
        let mut profile = Self::reading(cwd);
        if !profile.readable.contains(&setting.workspace) {
            profile.readable.push(setting.workspace.clone());
        }
        if setting.edits {
            profile.writable.push(setting.workspace.clone());
        }
        let below = |folder: &PathBuf, names: &[&str]| {
            names
                .iter()
                .map(|name| folder.join(name))
                .collect::<Vec<_>>()
        };
        profile.protected = below(&setting.workspace, PROTECTED_IN_PROJECT);
        profile
            .protected
            .extend(below(&setting.home, PROTECTED_IN_HOME));
        // A skill that rewrites itself would be another skill than the one that was trusted.
        profile.protected.extend(setting.skill.clone());
        profile.hidden = below(&setting.home, KEYS_IN_HOME);
        profile.hidden.extend(setting.ours.iter().cloned());
        profile
    }

    /// A profile that reads and starts in `cwd`, writes nowhere, and has no network.
    pub fn reading(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            strength: Strength::default(),
            readable: vec![cwd.clone()],
            cwd,
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: false,
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting {
            skill: Some("/w/.agents/skills/x".into()),
            workspace: "/w".into(),
            edits: true,
            home: "/h".into(),
            ours: vec!["/h/.local/state/prowess".into()],
        }
    }

    #[test]
    fn work_starts_in_the_skill_and_writes_only_where_agreed() {
        let profile = Profile::for_work(&setting());
        assert_eq!(profile.cwd, PathBuf::from("/w/.agents/skills/x"));
        assert_eq!(profile.writable, [PathBuf::from("/w")]);
        assert!(!profile.network);
        assert!(profile.protected.contains(&"/w/.git/hooks".into()));
        assert!(profile.protected.contains(&"/w/.agents/skills/x".into()));
        assert!(profile.hidden.contains(&"/h/.ssh".into()));
        assert!(profile.hidden.contains(&"/h/.local/state/prowess".into()));
        let looking = Profile::for_work(&Setting {
            edits: false,
            ..setting()
        });
        assert_eq!(looking.writable, [] as [PathBuf; 0]);
    }
}
