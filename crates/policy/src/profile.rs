//! Limits on what a command can access: plain data that the sandbox crate enforces.

use std::path::{Path, PathBuf};

use crate::approved::{Command, Plan};
use crate::named_paths::NamedPath;

/// The layers of the sandbox that a run requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Strength {
    /// Refuse to run where a layer is missing.
    #[default]
    Required,
    /// Use the available layers, and report the missing ones.
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

/// The files, resources and limits of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The layers of the sandbox that a run requires.
    pub strength: Strength,
    /// The folder it starts in. Absolute.
    pub cwd: PathBuf,
    /// Folders and files it may read, besides the system's (`/usr`, `/bin`, `/lib*`, `/etc` without
    /// its secrets, a minimal `/dev`, its own `/proc`). Absolute.
    pub readable: Vec<PathBuf>,
    /// Folders it may also write.
    pub writable: Vec<PathBuf>,
    /// Files and folders that stay unwritable although a writable folder contains them, even where
    /// they do not exist yet: start-up files, settings of editors and agents. A path that ends in
    /// `/` is a folder. Git's own folders are protected without being listed.
    pub protected: Vec<PathBuf>,
    /// Files and folders that stay unreadable although a readable folder contains them: keys. They
    /// cannot be created either. A path that ends in `/` is a folder.
    pub hidden: Vec<PathBuf>,
    /// The home folder of the user. If the command may write all of it, every name there that begins
    /// with a dot is unwritable. Absolute.
    pub home: Option<PathBuf>,
    /// Paths that variables of the user name. Those in a writable folder stay unwritable, and links in
    /// the others are followed.
    pub named: Vec<NamedPath>,
    /// Access to the git folder of the repository it starts in.
    pub git: GitAccess,
    /// Allows the network.
    pub network: bool,
    /// Variables of the environment beyond the fixed list, by name and value.
    pub environment: Vec<(Box<str>, Box<str>)>,
    /// The resource limits.
    pub limits: Limits,
}

/// Access to the git folder of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GitAccess {
    /// Read-only.
    #[default]
    Read,
    /// The git folder is writable, except for what makes git execute something: hooks, configuration,
    /// attributes, pointers to other folders. Nothing else is writable, so that no placeholder can be
    /// recorded.
    Record,
    /// As [`Record`](Self::Record), and the working tree is writable too.
    Write,
}

impl GitAccess {
    /// Returns the access that a checked command needs.
    ///
    /// Only one plain `git add`, `commit`, `stash`, `switch` or `tag` may write, with options that
    /// neither execute a program nor name another repository. `stash` and `switch` change files in
    /// the working tree as well, so they need a project that is writable.
    pub fn for_command(command: &Command, edits: bool) -> Self {
        let Plan::Words(words) = &command.plan else {
            return Self::Read;
        };
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let ["git", subcommand, arguments @ ..] = words.as_slice() else {
            return Self::Read;
        };
        let (options, access) = match *subcommand {
            "add" => (GIT_ADD, Self::Record),
            "commit" => (GIT_COMMIT, Self::Record),
            "tag" => (GIT_TAG, Self::Record),
            "switch" if edits => (GIT_SWITCH, Self::Write),
            "stash" if edits => (GIT_STASH, Self::Write),
            _ => return Self::Read,
        };
        let mut arguments = arguments.iter().copied();
        while let Some(word) = arguments.next() {
            if word == "--" {
                break;
            }
            if !word.starts_with('-') || word == "-" {
                continue;
            }
            match next_is_value(word, options) {
                // The value of `-m` is text, whatever it looks like.
                Some(true) if arguments.next().is_none() => return Self::Read,
                Some(_) => {}
                None => return Self::Read,
            }
        }
        access
    }
}

/// The value of an option of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// None.
    No,
    /// Only as `--option=value`. As the next word, it could be taken for an option here and not by
    /// git, or the other way around.
    Joined,
    /// The next word, or the rest of the same word.
    Next,
}

use Value::{Joined, Next, No};

/// Returns `true` if the word after an option is its value, or `None` if the option is not known.
///
/// Git decides from its own tables which word is a value. Both must agree, so only options of the
/// table are known, and only in the forms that it lists.
fn next_is_value(word: &str, options: &[(&str, Value)]) -> Option<bool> {
    let value_of = |name: &str| {
        let mut options = options.iter();
        options.find_map(|(option, value)| (*option == name).then_some(*value))
    };
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((name, _)) => value_of(name).filter(|value| *value != No).map(|_| false),
            None => match value_of(word)? {
                No => Some(false),
                Joined => None,
                Next => Some(true),
            },
        };
    }
    // A cluster of short options: `-am`. The rest after an option with a value would be its value.
    let mut letters = word.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match value_of(&format!("-{letter}"))? {
            No => {}
            Next if letters.peek().is_none() => return Some(true),
            // `-mtext` is the option and its value.
            Next if at == 1 => return Some(false),
            Next | Joined => return None,
        }
    }
    Some(false)
}

/// Options of `git add` with which it only adds.
const GIT_ADD: &[(&str, Value)] = &[
    ("-A", No),
    ("--all", No),
    ("--no-all", No),
    ("-u", No),
    ("--update", No),
    ("-f", No),
    ("--force", No),
    ("-n", No),
    ("--dry-run", No),
    ("-v", No),
    ("--verbose", No),
    ("-N", No),
    ("--intent-to-add", No),
    ("--ignore-errors", No),
    ("--chmod", Joined),
    ("--renormalize", No),
    ("--refresh", No),
];

/// Options of `git commit` without an editor, a signature, a trailer command or another repository.
const GIT_COMMIT: &[(&str, Value)] = &[
    ("-a", No),
    ("--all", No),
    ("-m", Next),
    ("--message", Next),
    ("-F", Next),
    ("--file", Next),
    ("-q", No),
    ("--quiet", No),
    ("-v", No),
    ("--verbose", No),
    ("--amend", No),
    ("--no-edit", No),
    ("--allow-empty", No),
    ("--allow-empty-message", No),
    ("-s", No),
    ("--signoff", No),
    ("--no-signoff", No),
    ("-n", No),
    ("--no-verify", No),
    ("--author", Joined),
    ("--date", Joined),
    ("--reset-author", No),
    ("--no-gpg-sign", No),
    ("-o", No),
    ("--only", No),
    ("-i", No),
    ("--include", No),
    ("--dry-run", No),
    ("--fixup", Joined),
    ("--squash", Joined),
    ("--short", No),
    ("--porcelain", No),
    ("--no-status", No),
    ("--cleanup", Joined),
];

/// Options of `git tag` without an editor or a signature.
const GIT_TAG: &[(&str, Value)] = &[
    ("-a", No),
    ("--annotate", No),
    ("-m", Next),
    ("--message", Next),
    ("-F", Next),
    ("--file", Next),
    ("-f", No),
    ("--force", No),
    ("-d", No),
    ("--delete", No),
    ("-l", No),
    ("--list", No),
    ("--sort", Joined),
    ("--format", Joined),
    ("--contains", Joined),
    ("--merged", Joined),
    ("--no-merged", Joined),
    ("--points-at", Joined),
    ("--no-sign", No),
    ("--no-column", No),
    ("-i", No),
    ("--ignore-case", No),
];

/// Options of `git switch`. The value of those that create a branch is the next word, which git does
/// not accept as a name if it begins with `-`.
const GIT_SWITCH: &[(&str, Value)] = &[
    ("-c", Next),
    ("--create", Next),
    ("-C", Next),
    ("--force-create", Next),
    ("--orphan", Next),
    ("-d", No),
    ("--detach", No),
    ("-f", No),
    ("--force", No),
    ("--discard-changes", No),
    ("-q", No),
    ("--quiet", No),
    ("-t", No),
    ("--no-track", No),
    ("--guess", No),
    ("--no-guess", No),
    ("-m", No),
    ("--merge", No),
    ("--progress", No),
    ("--no-progress", No),
];

/// Options of `git stash` and its subcommands.
const GIT_STASH: &[(&str, Value)] = &[
    ("-m", Next),
    ("--message", Next),
    ("-q", No),
    ("--quiet", No),
    ("-u", No),
    ("--include-untracked", No),
    ("-a", No),
    ("--all", No),
    ("-k", No),
    ("--keep-index", No),
    ("--no-keep-index", No),
    ("-S", No),
    ("--staged", No),
    ("--index", No),
];

/// The resource limits of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time in milliseconds.
    pub deadline_ms: u64,
    /// Time between SIGTERM and SIGKILL, in milliseconds.
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

/// The folders of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The folder of the skill that the command belongs to.
    pub skill: Option<PathBuf>,
    /// The project.
    pub workspace: PathBuf,
    /// `true` if the command may write in the project.
    pub edits: bool,
    /// The person's home folder.
    pub home: PathBuf,
    /// Our own folders: settings, state, cache. Never readable, never writable.
    pub ours: Vec<PathBuf>,
}

/// Paths in a project that decide what git, a shell, an editor or an agent executes later: read-only,
/// even where it does not exist yet. A name that ends in `/` is a folder. `.git` is not listed: the
/// sandbox protects every repository it finds.
pub const PROTECTED_IN_PROJECT: &[&str] = &[
    // Git, and programs that install hooks.
    ".gitmodules",
    ".githooks/",
    ".husky/",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".overcommit.yml",
    ".git-hooks/",
    ".lefthook/",
    ".lefthook-local/",
    "captainhook.json",
    "grumphp.yml",
    "grumphp.yaml",
    "hk.pkl",
    "prek.toml",
    ".rusty-hook.toml",
    ".huskyrc",
    ".huskyrc.js",
    ".huskyrc.json",
    ".lfsconfig",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    "lefthook-local.yml",
    "lefthook-local.yaml",
    "lefthook-local.toml",
    "lefthook-local.json",
    ".lefthook-local.yml",
    ".lefthook-local.yaml",
    ".lefthook-local.toml",
    ".lefthook-local.json",
    ".config/lefthook.yml",
    ".config/lefthook.yaml",
    ".config/lefthook.toml",
    ".config/lefthook.json",
    ".hg/",
    ".jj/",
    ".sl/",
    "_darcs/",
    ".github/workflows/",
    ".gitlab-ci.yml",
    ".circleci/",
    // Agents.
    ".agents/",
    ".prowess/",
    ".claude/",
    ".codex/",
    ".gemini/",
    ".cursor/",
    ".windsurf/",
    ".continue/",
    ".opencode/",
    ".roo/",
    ".kiro/",
    ".amazonq/",
    ".qwen/",
    ".goose/",
    ".goosehints",
    ".openhands/",
    ".planck/",
    ".trae/",
    ".kilocode/",
    ".factory/",
    ".junie/",
    ".augment/",
    ".crush/",
    ".copilot/",
    ".grok/",
    ".vibe/",
    ".iflow/",
    ".qoder/",
    ".codebuddy/",
    ".zencoder/",
    ".amp/",
    ".pi/",
    ".adal/",
    ".commandcode/",
    ".hermes/",
    ".kode/",
    ".mcpjam/",
    ".mux/",
    ".neovate/",
    ".pochi/",
    ".skills/",
    ".roomodes",
    ".roorules",
    ".kilocodemodes",
    "gptme.toml",
    ".rules",
    ".github/chatmodes/",
    ".github/instructions/",
    ".github/prompts/",
    ".github/agents/",
    ".github/hooks/",
    ".github/skills/",
    ".github/copilot-instructions.md",
    ".agent/",
    ".cline/",
    ".mcp.json",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    "opencode.json",
    "opencode.jsonc",
    ".crush.json",
    "crush.json",
    ".aider.conf.yml",
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    "WARP.md",
    // Editors.
    ".vscode/",
    ".idea/",
    ".run/",
    ".zed/",
    ".fleet/",
    ".devcontainer/",
    ".devcontainer.json",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".helix/",
    ".vim/",
    ".bsp/",
    ".luarc.json",
    ".lazygit.yml",
    "rust-analyzer.toml",
    ".rust-analyzer.toml",
    // Shells and what they start.
    ".envrc",
    ".envrc.local",
    ".direnv/",
    ".mise.toml",
    ".mise.local.toml",
    ".mise/",
    "mise.toml",
    "mise.local.toml",
    "mise.dev.toml",
    "mise/",
    ".config/mise.toml",
    ".config/mise/",
    ".tool-versions",
    ".autoenv.zsh",
    ".rvmrc",
    // What interpreters and debuggers execute when they start in the folder.
    ".Rprofile",
    ".irbrc",
    ".pryrc",
    ".iex.exs",
    ".ghci",
    ".ocamlinit",
    ".octaverc",
    ".pdbrc",
    ".byebugrc",
    ".perldb",
    // Build tools and package managers.
    ".cargo/",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/",
    ".pnpmfile.cjs",
    ".bazelrc",
    ".bazeliskrc",
    ".buckconfig",
    ".bundle/",
    "bunfig.toml",
    ".mvn/",
];

/// Folders in a project from which an agent reads skills, and in which authors write their own. Only
/// links to skills elsewhere are read-only there.
pub const LINKED_SKILL_FOLDERS: &[&str] = &["skills"];

/// Names of the same kind that are read-only in every subfolder that has them, as far as the sandbox
/// looks for repositories. So are those of [`PROTECTED_IN_PROJECT`], except folders whose names do not
/// begin with a dot: a subfolder can be the top of a repository. A name that begins with `*` is the end of a name, which counts at the top of
/// a project too.
pub const PROTECTED_IN_SUBFOLDERS: &[&str] = &[
    ".vscode",
    ".idea",
    ".claude",
    ".cursor",
    ".husky",
    ".githooks",
    ".mcp.json",
    ".envrc",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "*.code-workspace",
    "*.agent.md",
    "*.skilled_crew.yaml",
    "*.skilled_crew.yml",
];

/// The file that makes a folder with [`GIT_STORES`] a git folder, in which git executes what
/// [`GIT_EXECUTED`] says. The sandbox and the file tools protect these names in every folder.
pub const GIT_HEAD: &str = "HEAD";

/// The folders of a git folder without which git does not take it for one.
pub const GIT_STORES: &[&str] = &["objects/", "refs/"];

/// The parts of a git folder that decide what git executes. A name that ends in `/` is a folder.
pub const GIT_EXECUTED: &[&str] = &[
    "hooks/",
    "config",
    "config.worktree",
    "info/",
    "modules/",
    "commondir",
    "gitdir",
];

/// Paths in a home folder that decide what runs later: read-only.
pub const PROTECTED_IN_HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".pam_environment",
    ".gitconfig",
    ".vimrc",
    ".vim/",
    ".emacs",
    ".emacs.d/",
    ".tmux.conf",
    ".screenrc",
    ".pythonrc",
    ".gdbinit",
    ".lldbinit",
    ".npmrc",
    ".yarnrc",
    ".condarc",
    ".config/",
    ".local/bin/",
    ".local/share/applications/",
    ".local/share/systemd/",
    ".oh-my-zsh/",
    ".cargo/",
    ".agents/",
    ".claude/",
    ".claude.json",
    ".codex/",
    ".copilot/",
    ".core-agent/",
    ".gemini/",
    ".opencode/",
    ".planck/",
    ".cursor/",
    ".vscode-server/",
    "bin/",
    // What interpreters, version managers and build tools load.
    ".local/lib/",
    ".nvm/",
    ".pyenv/",
    ".rbenv/",
    ".asdf/",
    ".gradle/",
    "go/bin/",
    "Library/LaunchAgents/",
];

/// Paths of the system that shells, git, schedulers and services execute. A link in them can lead to a
/// project.
const EXECUTED_BY_SYSTEM: &[&str] = &[
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/bash_completion.d",
    "/etc/zsh",
    "/etc/zshenv",
    "/etc/zshrc",
    "/etc/fish",
    "/etc/gitconfig",
    "/etc/crontab",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/init.d",
    "/etc/rc.local",
    "/etc/systemd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ld.so.preload",
    "/etc/udev",
    "/etc/xdg",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib/systemd",
    "/var/spool/cron",
];

/// Returns `true` if a path belongs to what shells, git, schedulers and services of the system execute.
pub fn is_executed_by_system(path: &Path) -> bool {
    let mut executed = EXECUTED_BY_SYSTEM.iter();
    executed.any(|executed| path.starts_with(executed))
}

/// Returns `true` if a folder contains `path` or is `path`, in any spelling.
pub fn within_in_any_spelling(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || plain_spelling(path).starts_with(plain_spelling(folder))
}

/// Returns the one spelling of a path that all its spellings have in common.
///
/// A file system can ignore the case of letters, characters that are not visible, and dots and blanks
/// at the end of a name. A project that is on another one today can be copied to it.
pub fn plain_spelling(path: &Path) -> PathBuf {
    let parts = path.iter().map(|part| match part.to_str() {
        Some(name) => spelling(name).into(),
        None => part.to_owned(),
    });
    parts.collect()
}

/// Returns the letters of a name that every file system compares.
fn spelling(name: &str) -> String {
    let is_seen = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let seen = name.chars().filter(is_seen);
    // Upper case first: some letters, such as the long s, have no other lower case.
    let letters = seen.flat_map(char::to_uppercase);
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    match letters.trim_end_matches(['.', ' ']) {
        "" => letters,
        trimmed => trimmed.to_owned(),
    }
}

/// Returns `true` if a path has, in any folder, one of the names that decide what runs later. For
/// places outside the project: any folder there may be a project, or a home folder. `home` is the
/// home folder of the user, where every name that begins with a dot counts.
pub fn runs_later(path: &Path, home: &Path) -> bool {
    let names: Vec<&str> = path
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .collect();
    let is_listed = |rest: &[&str], listed: &str| {
        let mut wanted = listed.split('/').filter(|name| !name.is_empty());
        let mut given = rest.iter();
        wanted.all(|name| {
            let given = given.next();
            given.is_some_and(|given| match name.strip_prefix('*') {
                Some(end) => spelling(given).ends_with(&spelling(end)),
                None => spelling(given) == spelling(name),
            })
        })
    };
    let lists = [
        PROTECTED_IN_PROJECT,
        PROTECTED_IN_SUBFOLDERS,
        PROTECTED_IN_HOME,
    ];
    is_home_setting(path, home)
        || (0..names.len()).any(|from| {
            let mut listed = lists.iter().copied().flatten();
            listed.any(|listed| is_listed(&names[from..], listed))
        })
}

/// Returns `true` if a path is in the home folder, below a name that begins with a dot: programs read
/// their settings there.
pub fn is_home_setting(path: &Path, home: &Path) -> bool {
    let inner = path.strip_prefix(home).ok();
    inner
        .filter(|_| home.is_absolute())
        .and_then(|inner| inner.components().next())
        .is_some_and(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Paths in a home folder with keys and private data: unreadable. A name that ends in `/` is a folder.
pub const KEYS_IN_HOME: &[&str] = &[
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".kube/",
    ".docker/",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".git-credentials",
    ".terraform.d/",
    ".terraformrc",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".nuget/NuGet/",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".local/share/keyrings/",
    ".password-store/",
    ".config/gcloud/",
    ".config/gh/",
    ".config/glab-cli/",
    ".config/git/credentials",
    ".config/op/",
    ".config/rclone/",
    ".config/sops/",
    ".config/hub/",
    ".config/doctl/",
    ".config/github-copilot/",
    // Agents.
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".gemini/google_accounts.json",
    ".qwen/oauth_creds.json",
    ".config/goose/secrets.yaml",
    ".local/share/opencode/auth.json",
    ".config/opencode/auth.json",
    ".cursor/mcp.json",
    ".config/anthropic/",
    ".config/openai/",
    // Histories: keys are typed into shells.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".local/share/fish/fish_history",
    // Browsers.
    ".mozilla/",
    ".thunderbird/",
    ".config/google-chrome/",
    ".config/chromium/",
    ".config/BraveSoftware/",
    ".config/microsoft-edge/",
    ".config/vivaldi/",
    "Library/Keychains/",
    "Library/Cookies/",
    "Library/Application Support/Google/Chrome/",
    "Library/Application Support/Firefox/",
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
        profile.protected = below(&setting.workspace, PROTECTED_IN_PROJECT);
        profile
            .protected
            .extend(below(&setting.home, PROTECTED_IN_HOME));
        // A skill that rewrites itself would be another skill than the one that was trusted.
        profile.protected.extend(setting.skill.clone());
        profile.home = Some(setting.home.clone()).filter(|home| home.is_absolute());
        profile.hidden = below(&setting.home, KEYS_IN_HOME);
        profile.hidden.extend(setting.ours.iter().cloned());
        profile
    }

    /// Makes a folder writable, with the same protected paths as a project.
    pub fn write_also(&mut self, folder: &Path) {
        self.writable.push(folder.to_owned());
        self.protected.extend(below(folder, PROTECTED_IN_PROJECT));
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
            home: None,
            named: Vec::new(),
            git: GitAccess::Read,
            network: false,
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }
}

fn below(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
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
        assert!(profile.protected.contains(&"/w/.husky".into()));
        assert!(profile.protected.contains(&"/w/.agents/skills/x".into()));
        assert!(profile.hidden.contains(&"/h/.ssh".into()));
        assert!(profile.hidden.contains(&"/h/.local/state/prowess".into()));
        let looking = Profile::for_work(&Setting {
            edits: false,
            ..setting()
        });
        assert_eq!(looking.writable, [] as [PathBuf; 0]);
    }

    #[test]
    fn names_that_decide_what_runs_later_count_in_every_folder() {
        for (path, expected) in [
            ("/h/.bashrc", true),
            ("/h/.unknown-manager/init.sh", true),
            ("/h/.local/lib/python3.11/site-packages/x.pth", true),
            ("/h/go/bin/x", true),
            ("/h/other/.envrc", true),
            ("/h/other/sub/.VSCode/tasks.json", true),
            ("/h/other/a.code-workspace", true),
            ("/srv/me/.bashrc", true),
            ("/srv/x/.config/mise.toml", true),
            ("/usr/local/bin/x", true),
            ("/h/notes/a.md", false),
            ("/h/notes/bin.md", false),
            ("/srv/.hidden/a.md", false),
            ("/h", false),
        ] {
            let found = runs_later(Path::new(path), Path::new("/h"));
            assert_eq!(found, expected, "{path}");
        }
        assert!(!runs_later(Path::new("/a/.x"), Path::new("")));
    }

    #[test]
    fn other_spellings_of_a_path_are_the_same_path() {
        for (path, folder, expected) in [
            ("/w/.git/config", "/w/.git", true),
            ("/w/.GIT/config", "/w/.git", true),
            ("/w/.vscode", "/w/.VSCode", true),
            // The sign for kelvin and the long s.
            ("/w/\u{212a}eys/x", "/w/keys", true),
            ("/w/.v\u{17f}code/x", "/w/.vscode", true),
            ("/w/.g\u{200c}it/x", "/w/.git", true),
            ("/w/.git./x", "/w/.git", true),
            ("/w/.git ", "/w/.git", true),
            ("/w/.gitx", "/w/.git", false),
            ("/w/...", "/w/.", true),
            ("/w/a", "/w/...", false),
            ("/w", "/w/.git", false),
            ("/x/.git", "/w/.git", false),
        ] {
            let found = within_in_any_spelling(Path::new(path), Path::new(folder));
            assert_eq!(found, expected, "{path} in {folder}");
        }
        assert!(runs_later(Path::new("/s/.v\u{17f}code/x"), Path::new("/h")));
    }

    fn git(words: &[&str], edits: bool) -> GitAccess {
        let plan = Plan::Words(words.iter().map(|word| (*word).into()).collect());
        let command = Command {
            text: words.join(" ").into(),
            plan,
        };
        GitAccess::for_command(&command, edits)
    }

    #[test]
    fn plain_git_commands_may_write_the_git_folder() {
        let allowed: &[&[&str]] = &[
            &["git", "add", "."],
            &["git", "add", "-A"],
            &["git", "add", "--", "-odd-name"],
            &["git", "add", "-f", "file", "--chmod=+x"],
            &["git", "commit", "-m", "-c core.editor=x is only text"],
            &["git", "commit", "-am", "--git-dir=x is text too"],
            &["git", "commit", "--message=text", "--no-edit", "--amend"],
            &["git", "commit", "-F", "message.txt"],
            &["git", "tag", "v1"],
            &["git", "tag", "-a", "v1", "-m", "text"],
            &["git", "tag", "--format=%(refname)", "--sort=-v:refname"],
            &[
                "git",
                "commit",
                "--author=A <a@b>",
                "-mtext",
                "--fixup=HEAD",
            ],
            &["git", "switch", "-c", "topic"],
            &["git", "switch", "-"],
            &["git", "stash"],
            &["git", "stash", "push", "-u", "-m", "text"],
            &["git", "stash", "pop"],
        ];
        for words in allowed {
            let access = match words[1] {
                "stash" | "switch" => GitAccess::Write,
                _ => GitAccess::Record,
            };
            assert_eq!(git(words, true), access, "{words:?}");
        }
        for words in [&["git", "add", "."][..], &["git", "commit", "-m", "x"]] {
            assert_eq!(git(words, false), GitAccess::Record, "{words:?}");
        }
        for words in [&["git", "stash"][..], &["git", "switch", "x"]] {
            assert_eq!(git(words, false), GitAccess::Read, "{words:?}");
        }
    }

    #[test]
    fn other_commands_may_not() {
        let refused: &[&[&str]] = &[
            &["git"],
            &["git", "status"],
            &["git", "config", "core.fsmonitor", "x"],
            &["git", "-c", "core.fsmonitor=x", "add", "."],
            &["git", "-C", "elsewhere", "add", "."],
            &["git", "--git-dir=x", "add", "."],
            &["git", "--exec-path=x", "commit"],
            &["git", "--work-tree", "x", "add", "."],
            &["git", "add", "-p"],
            &["git", "add", "-i"],
            &["git", "add", "--edit"],
            &["git", "add", "-Ap"],
            &["git", "commit", "-e"],
            &["git", "commit", "--edit", "-m", "x"],
            &["git", "commit", "-S"],
            &["git", "commit", "-Skey", "-m", "x"],
            &["git", "commit", "--gpg-sign=x"],
            &["git", "commit", "-p"],
            &["git", "commit", "-m", "x", "--template=t"],
            &["git", "commit", "-m", "x", "--unknown"],
            &["git", "tag", "-s", "v1"],
            &["git", "tag", "-u", "key", "v1"],
            &["git", "tag", "-e", "v1"],
            &["git", "switch", "--recurse-submodules", "x"],
            &["git", "switch", "-m", "--recurse-submodules", "x"],
            &["git", "tag", "-d", "-s", "v1"],
            &["git", "stash", "push", "--patch"],
            &["git", "add", "-mx"],
            &["git", "commit", "-mm", "--gpg-sign"],
            &["git", "commit", "-m", "x", "--gpg-sign"],
            &["git", "commit", "-m", " x", "-ma", "-S"],
            &["git", "stash", "-p"],
            // Git takes the next word for the value, and what follows for an option.
            &["git", "tag", "--format", "-m", "-s", "-m", "text", "v1"],
            &["git", "tag", "--sort", "-m", "-s", "v1"],
            &["git", "tag", "--contains", "-m", "-s", "v1"],
            &["git", "commit", "--trailer", "-m", "-S", "-m", "y"],
            &["git", "commit", "--trailer=a: b", "-m", "y"],
            &["git", "commit", "--fixup", "-m", "-S"],
            &["git", "commit", "--cleanup", "-m", "-S"],
            &["git", "commit", "--author", "-m", "-S"],
            &["git", "commit", "-amx", "-S"],
            &["git", "commit", "-uno", "-m", "-S"],
            &["git", "add", "--chmod", "+x"],
            &["git", "add", "--all=x"],
            &["git", "checkout", "x"],
            &["git", "merge", "x"],
            &["git", "rebase", "-x", "cmd"],
            &["git", "gc"],
            &["git", "init"],
            &["git", "worktree", "add", "x"],
            &["git", "submodule", "add", "x"],
            &["/usr/bin/git", "add", "."],
            &["./git", "add", "."],
            &["env", "git", "add", "."],
            &["sh", "-c", "git add ."],
            &["GIT", "add", "."],
        ];
        for words in refused {
            assert_eq!(git(words, true), GitAccess::Read, "{words:?}");
        }
        for plan in [
            Plan::Script("git add . && git commit -m x".into()),
            Plan::AsTyped("git add .".into()),
        ] {
            let command = Command {
                text: "git add .".into(),
                plan,
            };
            assert_eq!(GitAccess::for_command(&command, true), GitAccess::Read);
        }
    }
}
