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

impl Profile {
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
