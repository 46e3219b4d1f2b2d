//! Runs `git` on a bare repository in the cache. There is never a checkout, so no hook, filter,
//! attribute or link of the repository takes effect.
//!
//! The person's configuration counts: keys, credential helpers, proxies and `insteadOf`. The
//! environment is built from a list, addresses and refs are after `--`, and only the protocol of the
//! source is allowed, whatever a configuration says.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prowess_sandbox::in_own_session;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};

/// The oldest version of git that has every option that is used.
const OLDEST: (u32, u32) = (2, 30);
/// Maximum size of a listing of refs or files in bytes.
const MAX_LISTING: u64 = 128 * 1024 * 1024;
/// Maximum number of entries of a listing.
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum size of the kept end of standard error in bytes.
const MAX_STDERR: usize = 8 * 1024;
/// Maximum size of a commit or tag object in bytes.
const MAX_OBJECT: u64 = 1024 * 1024;
/// The time between two looks at deadlines and disk usage.
const WATCH: Duration = Duration::from_millis(100);
/// The time between two looks at disk usage.
const MEASURE: Duration = Duration::from_millis(500);

/// Variables that git inherits. All others, above all those that name commands or repositories, are
/// left out.
const INHERITED: &[&str] = &[
    "ALL_PROXY",
    "APPDATA",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GNUPGHOME",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KRB5CCNAME",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Settings that hold whatever a configuration says.
const SETTINGS: &[&str] = &[
    "protocol.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.followRedirects=false",
    "credential.interactive=false",
    "core.askPass=",
    "fetch.writeCommitGraph=false",
];

/// Deadlines and limits of one run of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitLimits {
    /// Time without progress.
    pub idle: Duration,
    /// Time for the whole run.
    pub total: Duration,
    /// Maximum size of a repository in the cache in bytes.
    pub disk: u64,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(2),
            total: Duration::from_mins(10),
            disk: 512 * 1024 * 1024,
        }
    }
}

/// Error from git.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no git.
    #[error("`git` is not installed, or not on `PATH`")]
    Missing,
    /// Git is too old.
    #[error("git {found} is too old; version 2.30 or newer is needed")]
    TooOld {
        /// The version.
        found: String,
    },
    /// `git --version` did not print a version.
    #[error("`git --version` did not print a version, but `{output}`")]
    NotGit {
        /// The first line of the output.
        output: String,
    },
    /// The repository does not exist.
    #[error("no repository at `{url}`")]
    NotFound {
        /// The address.
        url: String,
    },
    /// The server asks for credentials, or rejects them.
    #[error("`{url}` needs credentials, or does not exist: {reason}")]
    Credentials {
        /// The address.
        url: String,
        /// The message of git or ssh.
        reason: String,
    },
    /// The repository moved.
    #[error("`{url}` has moved{}", to.as_ref().map(|to| format!(" to `{to}`")).unwrap_or_default())]
    Moved {
        /// The address.
        url: String,
        /// The new address, if it is known.
        to: Option<String>,
    },
    /// A deadline passed.
    #[error("git stopped after {} s {}", seconds, if *idle { "without progress" } else { "in all" })]
    Timeout {
        /// The deadline in seconds.
        seconds: u64,
        /// `true` if there was no progress, `false` if the whole run took too long.
        idle: bool,
    },
    /// The repository is too large.
    #[error("`{url}` takes more than {limit} bytes on disk")]
    TooLarge {
        /// The address.
        url: String,
        /// The maximum.
        limit: u64,
    },
    /// The source does not have a commit.
    #[error("`{url}` does not have the commit {commit}")]
    NoCommit {
        /// The address.
        url: String,
        /// The commit.
        commit: String,
    },
    /// The address or ref cannot be passed to git.
    #[error("`{text}` is not an address or ref of git")]
    Refused {
        /// The text.
        text: String,
    },
    /// The protocol of an address is not allowed.
    #[error("git refused the protocol of `{url}`: {reason}")]
    Protocol {
        /// The address.
        url: String,
        /// The message of git.
        reason: String,
    },
    /// A signature cannot be checked.
    #[error("`ssh-keygen` is not installed, or not on `PATH`, and checks the signatures of tags")]
    NoSshKeygen,
    /// The output of git is not as expected.
    #[error("unexpected output of `git {command}`")]
    Output {
        /// The command.
        command: &'static str,
    },
    /// Git failed for another reason.
    #[error("`git {command}` failed: {reason}")]
    Failed {
        /// The command.
        command: &'static str,
        /// The last lines of standard error, without credentials.
        reason: String,
    },
    /// Starting git, or reading its output, failed.
    #[error("cannot run `git {command}`")]
    Run {
        /// The command.
        command: &'static str,
        /// The I/O error.
        source: io::Error,
    },
    /// Reading or writing the cache failed.
    #[error("cannot {verb} `{}`", path.display())]
    Cache {
        /// The action.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// The signature of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagSignature {
    /// The tag has no ssh signature.
    None,
    /// The signature is not one of the keys.
    Wrong,
    /// The signature is one of the keys.
    Good {
        /// The position of the key.
        key: usize,
        /// The text of the tag.
        text: String,
    },
}

/// The git program of a person.
#[derive(Clone, Debug)]
pub struct GitProgram {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    limits: GitLimits,
}

/// A ref of a remote repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRef {
    /// The full name.
    pub name: String,
    /// The object: for an annotated tag, the tag itself.
    pub object: String,
    /// The commit of an annotated tag.
    pub peeled: Option<String>,
}

impl RemoteRef {
    /// Returns the commit, if an annotated tag does not point to something else.
    pub fn commit(&self) -> &str {
        self.peeled.as_deref().unwrap_or(&self.object)
    }
}

/// The branches and tags of a remote repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteRefs {
    /// Branches and tags, sorted by name.
    pub refs: Vec<RemoteRef>,
    /// The full name of the default branch.
    pub default_branch: Option<String>,
    /// The commit of the default branch.
    pub head: Option<String>,
}

/// The type of an entry in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitEntryKind {
    /// A regular file.
    File,
    /// An executable file.
    Executable,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// A commit of another repository.
    Submodule,
}

/// A file or folder in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEntry {
    /// The path; replacement characters stand for bytes that are not UTF-8.
    pub path: String,
    /// `true` if the path is UTF-8.
    pub is_utf8: bool,
    /// The type.
    pub kind: GitEntryKind,
    /// The object.
    pub object: String,
    /// The size of a file in bytes.
    pub size: u64,
}

/// The relation of two commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// The first is an ancestor of the second, or the same.
    Ancestor,
    /// It is not: history was rewritten.
    Rewritten,
    /// The server does not give enough history.
    Unknown,
}

/// A bare repository in the cache, locked for this process.
#[derive(Debug)]
pub struct GitRepository {
    git: GitProgram,
    folder: PathBuf,
    url: String,
    _lock: File,
}

impl GitProgram {
    /// Finds git on the `PATH` of an environment, and checks its version.
    pub fn find(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        limits: GitLimits,
    ) -> Result<Self, GitError> {
        let environment: Vec<(OsString, OsString)> = environment
            .into_iter()
            .filter(|(name, _)| name.to_str().is_some_and(|name| INHERITED.contains(&name)))
            .collect();
        let program = find_program(&environment, "git").ok_or(GitError::Missing)?;
        let git = Self {
            program,
            environment,
            limits,
        };
        git.check_version()?;
        Ok(git)
    }

    fn check_version(&self) -> Result<(), GitError> {
        let output = self.run("version", None, &["--version".as_ref()], |output| {
            let mut text = Vec::new();
            output.take(MAX_STDERR as u64).read_to_end(&mut text)?;
            Ok(text)
        })?;
        let text = String::from_utf8_lossy(&output);
        // A wrapper may print other lines.
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("git version "));
        let Some(version) = line else {
            return Err(GitError::NotGit {
                output: text
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take(100)
                    .collect(),
            });
        };
        let mut numbers = version.split(['.', ' ', '-']).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= OLDEST => Ok(()),
            (Some(Ok(_)), Some(Ok(_))) => Err(GitError::TooOld {
                found: version.chars().take(40).collect(),
            }),
            _ => Err(GitError::NotGit {
                output: version.chars().take(100).collect(),
            }),
        }
    }

    /// Opens the repository of an address in the cache, and creates it if needed. Waits while another
    /// process uses it.
    pub fn open(&self, cache: &Path, url: &str) -> Result<GitRepository, GitError> {
        if !is_plain(url) || protocols(url).is_empty() {
            return Err(GitError::Refused { text: shown(url) });
        }
        let key = prowess_diag::hex(&Sha256::digest(url)[..16]);
        let parent = cache.join("packages/v1/git");
        let folder = parent.join(&key);
        let failed = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| GitError::Cache { verb, path, source }
        };
        fs::create_dir_all(&parent).map_err(failed("create", &parent))?;
        let lock_path = parent.join(format!("{key}.lock"));
        let lock = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&lock_path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(failed("lock", &lock_path))?;
        if !folder.join("HEAD").is_file() {
            // Left by a process that was killed while it created the repository.
            crate::store::remove_tree(&folder).map_err(failed("remove", &folder))?;
            let args: [&OsStr; 5] = [
                "init".as_ref(),
                "--quiet".as_ref(),
                "--bare".as_ref(),
                "--template=".as_ref(),
                folder.as_os_str(),
            ];
            self.run("init", None, &args, drain)?;
        }
        Ok(GitRepository {
            git: self.clone(),
            folder,
            url: url.to_owned(),
            _lock: lock,
        })
    }

    fn command(&self, repository: Option<&GitRepository>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let allowed = repository.map_or(&[][..], |repository| protocols(&repository.url));
        command.env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        for protocol in allowed {
            command
                .arg("-c")
                .arg(format!("protocol.{protocol}.allow=always"));
        }
        if let Some(repository) = repository {
            let mut place = OsString::from("--git-dir=");
            place.push(&repository.folder);
            command.arg(place);
        }
        in_own_session(&mut command);
        command
    }

    /// Runs git, and passes its standard output to `read`.
    fn run<T>(
        &self,
        name: &'static str,
        repository: Option<&GitRepository>,
        args: &[&OsStr],
        read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, GitError> {
        let mut command = self.command(repository);
        command.args(args);
        let folder = repository.map(|repository| &*repository.folder);
        let started = Running::start(name, &mut command, folder, self.limits)?;
        started.finish(repository, |output| read(output))
    }
}

/// Finds a program in the absolute folders of the `PATH` of an environment.
fn find_program(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, path)| path)
        .iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Returns the protocols that an address may use.
fn protocols(url: &str) -> &'static [&'static str] {
    match url.split_once("://") {
        Some(("https" | "ssh", _)) => &["https", "ssh"],
        Some(("file", _)) => &["file"],
        // Sources check that the host is this machine.
        Some(("http", _)) => &["http"],
        _ => &[],
    }
}

/// Returns `true` if a text can be an argument after `--`.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control)
}

/// Returns `true` if a text is the whole id of an object.
pub fn is_object_id(text: &str) -> bool {
    // As git writes them.
    crate::version::is_commit_id(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn shown(text: &str) -> String {
    without_credentials(text).chars().take(200).collect()
}

/// Removes user names and passwords from addresses in a text.
pub fn without_credentials(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        result.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\'' | '"'))
            .unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            // The user of an ssh address is no secret, but its password is.
            Some(user) if before.ends_with("ssh://") && !after[..user].contains(':') => {
                result.push_str(&after[..=user]);
                &after[user + 1..]
            }
            Some(user) => &after[user + 1..],
            None => after,
        };
    }
    result.push_str(rest);
    result
}

fn drain(output: &mut dyn Read) -> io::Result<()> {
    io::copy(&mut output.take(MAX_LISTING), &mut io::sink()).map(drop)
}

/// Reads a whole output within the limit.
fn read_listing(output: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    output.take(MAX_LISTING + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LISTING {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// The reason why the watch ended a run.
#[derive(Clone, Copy)]
enum Ended {
    Idle,
    Total,
    Disk,
}

/// A run of git under watch.
struct Running {
    name: &'static str,
    child: Child,
    limits: GitLimits,
    /// The number of bytes that git wrote to its outputs.
    progress: Arc<AtomicU64>,
    stderr: Option<thread::JoinHandle<Vec<u8>>>,
    ended: Arc<Mutex<Option<Ended>>>,
    /// Dropped to end the watch.
    _stop: mpsc::Sender<()>,
}

/// Counts what is read.
struct Counted<'a, R> {
    inner: R,
    progress: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Running {
    fn start(
        name: &'static str,
        command: &mut Command,
        watched: Option<&Path>,
        limits: GitLimits,
    ) -> Result<Self, GitError> {
        let mut child = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Run {
                command: name,
                source,
            },
        })?;
        let progress = Arc::new(AtomicU64::new(0));
        let stderr = child.stderr.take().map(|stderr| {
            let progress = Arc::clone(&progress);
            thread::spawn(move || keep_end(stderr, &progress))
        });
        let ended = Arc::new(Mutex::new(None));
        let (stop, stopped) = mpsc::channel();
        let watch = Watch {
            group: i32::try_from(child.id()).ok().and_then(Pid::from_raw),
            objects: watched.map(|folder| folder.join("objects")),
            limits,
            progress: Arc::clone(&progress),
            ended: Arc::clone(&ended),
        };
        thread::spawn(move || watch.run(&stopped));
        Ok(Self {
            name,
            child,
            limits,
            progress,
            stderr,
            ended,
            _stop: stop,
        })
    }

    fn finish<T>(
        mut self,
        repository: Option<&GitRepository>,
        read: impl FnOnce(&mut Counted<'_, ChildStdout>) -> io::Result<T>,
    ) -> Result<T, GitError> {
        let name = self.name;
        let run = |source| GitError::Run {
            command: name,
            source,
        };
        let output = self
            .child
            .stdout
            .take()
            .ok_or(GitError::Output { command: name })?;
        let progress = Arc::clone(&self.progress);
        let mut output = Counted {
            inner: output,
            progress: &progress,
        };
        let result = read(&mut output);
        if result.is_err() {
            self.kill();
        } else {
            // Git must not block on an output that was not read to its end.
            let _ = io::copy(&mut output, &mut io::sink());
        }
        drop(output);
        let status = self.child.wait().map_err(run)?;
        // Programs that git started may hold the pipe: they are ended as well.
        self.kill();
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok());
        let stderr = String::from_utf8_lossy(&stderr.unwrap_or_default()).into_owned();
        let url = || {
            repository
                .map(|repository| shown(&repository.url))
                .unwrap_or_default()
        };
        let ended = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Some(Ended::Disk) => {
                return Err(GitError::TooLarge {
                    url: url(),
                    limit: self.limits.disk,
                });
            }
            Some(Ended::Idle) => {
                return Err(GitError::Timeout {
                    seconds: self.limits.idle.as_secs(),
                    idle: true,
                });
            }
            Some(Ended::Total) => {
                return Err(GitError::Timeout {
                    seconds: self.limits.total.as_secs(),
                    idle: false,
                });
            }
            None => {}
        }
        if !status.success() && result.is_ok() {
            return Err(classify(name, &url(), &stderr));
        }
        result.map_err(run)
    }

    fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Keeps the end of standard error.
fn keep_end(mut stderr: impl Read, progress: &AtomicU64) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        progress.fetch_add(count as u64, Ordering::Relaxed);
        kept.extend_from_slice(&buffer[..count]);
        let over = kept.len().saturating_sub(MAX_STDERR);
        kept.drain(..over);
    }
    kept
}

/// Ends a run at its deadlines, and if it writes too much.
struct Watch {
    group: Option<Pid>,
    objects: Option<PathBuf>,
    limits: GitLimits,
    progress: Arc<AtomicU64>,
    ended: Arc<Mutex<Option<Ended>>>,
}

impl Watch {
    fn run(self, stopped: &mpsc::Receiver<()>) {
        let start = Instant::now();
        let mut seen = (0, 0);
        let mut moved = start;
        let mut measured = start;
        let mut size = 0;
        let wait = WATCH.min(self.limits.idle).min(self.limits.total);
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            let now = Instant::now();
            if now - measured >= MEASURE {
                measured = now;
                size = self
                    .objects
                    .as_deref()
                    .map_or(0, |folder| disk_usage(folder, 0));
            }
            let current = (self.progress.load(Ordering::Relaxed), size);
            if current != seen {
                (seen, moved) = (current, now);
            }
            let reason = if size > self.limits.disk {
                Ended::Disk
            } else if now - moved >= self.limits.idle {
                Ended::Idle
            } else if now - start >= self.limits.total {
                Ended::Total
            } else {
                continue;
            };
            *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            if let Some(group) = self.group {
                let _ = kill_process_group(group, Signal::KILL);
            }
            return;
        }
    }
}

/// Returns the size of the files in a folder of a repository.
fn disk_usage(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let mut total = 0;
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(facts) if facts.is_dir() && depth < 3 => {
                total += disk_usage(&entry.path(), depth + 1);
            }
            Ok(facts) => total += facts.len(),
            Err(_) => {}
        }
    }
    total
}

/// Turns the messages of git, ssh and curl into an error.
fn classify(command: &'static str, url: &str, stderr: &str) -> GitError {
    /// Texts in messages that mean that credentials are missing or wrong.
    const CREDENTIALS: &[&str] = &[
        "could not read Username",
        "could not read Password",
        "terminal prompts disabled",
        "Authentication failed",
        "Permission denied (",
        "Host key verification failed",
        "returned error: 401",
        "returned error: 403",
        "invalid credentials",
        "Bad credentials",
        "could not be established",
    ];
    /// Texts in messages that mean that there is no repository.
    const NOT_FOUND: &[&str] = &[
        "returned error: 404",
        "does not appear to be a git repository",
        "Repository not found",
        "repository not found",
        "' not found",
        "does not exist",
        "not a git repository",
    ];
    let text = without_credentials(stderr);
    let has = |texts: &[&str]| texts.iter().any(|part| text.contains(part));
    let reason = last_lines(&text);
    if has(CREDENTIALS) {
        return GitError::Credentials {
            url: url.to_owned(),
            reason,
        };
    }
    if ["301", "302", "303", "307", "308"]
        .iter()
        .any(|code| text.contains(&format!("returned error: {code}")))
    {
        return GitError::Moved {
            url: url.to_owned(),
            to: None,
        };
    }
    if text.contains("transport '") && text.contains("not allowed") {
        return GitError::Protocol {
            url: url.to_owned(),
            reason,
        };
    }
    if has(NOT_FOUND) {
        return GitError::NotFound {
            url: url.to_owned(),
        };
    }
    GitError::Failed { command, reason }
}

/// Returns the last lines of standard error that are not progress, on one line.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let first = lines.len().saturating_sub(3);
    let text = lines[first..].join("; ");
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text.chars().take(400).collect()
}

impl GitRepository {
    /// Returns the address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks the server for its branches and tags.
    pub fn refs(&self) -> Result<RemoteRefs, GitError> {
        let args = ["ls-remote", "--symref", "--", &self.url].map(AsRef::as_ref);
        let output = self.git.run("ls-remote", Some(self), &args, read_listing)?;
        parse_refs(&output).ok_or(GitError::Output {
            command: "ls-remote",
        })
    }

    /// Returns `true` if the cache has a commit with all its files.
    pub fn has_commit(&self, commit: &str) -> bool {
        // A ref is written only after the objects arrived.
        is_object_id(commit) && self.folder.join("refs/prowess").join(commit).is_file()
    }

    /// Fetches a commit, if the cache lacks it. `from` is the full name of the ref where the commit
    /// was seen, for servers that do not give commits by their id. If the commit is not there,
    /// nothing else is taken.
    pub fn fetch(&self, commit: &str, from: Option<&str>) -> Result<(), GitError> {
        if !is_object_id(commit) {
            return Err(GitError::Refused {
                text: shown(commit),
            });
        }
        if self.has_commit(commit) {
            return Ok(());
        }
        self.remove_parts();
        let first = match self.fetch_ref(commit, commit, Some(1)) {
            Ok(()) => return self.keep(commit, commit),
            Err(error @ (GitError::Failed { .. } | GitError::NotFound { .. })) => error,
            Err(error) => return Err(error),
        };
        let missing = || GitError::NoCommit {
            url: shown(&self.url),
            commit: commit.to_owned(),
        };
        let Some(name) = from else {
            return Err(match first {
                GitError::Failed { reason, .. } if !is_missing_commit(&reason) => {
                    GitError::Failed {
                        command: "fetch",
                        reason,
                    }
                }
                GitError::NotFound { url } => GitError::NotFound { url },
                _ => missing(),
            });
        };
        // The tip of the ref, then its whole history.
        for depth in [Some(1), None] {
            match self.fetch_ref(name, "candidate", depth) {
                Ok(()) => {}
                Err(GitError::Failed { reason, .. }) if is_missing_commit(&reason) => {
                    return Err(missing());
                }
                Err(error) => return Err(error),
            }
            if self.object_kind(commit)?.as_deref() == Some("commit") {
                return self.keep(commit, "candidate");
            }
        }
        Err(missing())
    }

    fn fetch_ref(&self, name: &str, into: &str, depth: Option<u32>) -> Result<(), GitError> {
        if !is_plain(name) || name.contains([':', '*', '^', '~', '?', '[', '\\', ' ']) {
            return Err(GitError::Refused { text: shown(name) });
        }
        let depth = depth.map_or_else(
            || "--depth=2147483647".to_owned(),
            |depth| format!("--depth={depth}"),
        );
        let spec = format!("+{name}:refs/prowess/incoming/{into}");
        let args = [
            "fetch",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--progress",
            "--force",
            &depth,
            "--",
            &self.url,
            &spec,
        ]
        .map(AsRef::as_ref);
        self.git.run("fetch", Some(self), &args, drain)
    }

    /// Gives a commit that arrived a ref, if it is a commit.
    fn keep(&self, commit: &str, incoming: &str) -> Result<(), GitError> {
        if self.object_kind(commit)?.as_deref() != Some("commit") {
            return Err(GitError::NoCommit {
                url: shown(&self.url),
                commit: commit.to_owned(),
            });
        }
        let name = format!("refs/prowess/{commit}");
        let args = ["update-ref", "--no-deref", "--", &name, commit].map(AsRef::as_ref);
        self.git.run("update-ref", Some(self), &args, drain)?;
        let name = format!("refs/prowess/incoming/{incoming}");
        let args = ["update-ref", "--no-deref", "-d", "--", &name].map(AsRef::as_ref);
        self.git.run("update-ref", Some(self), &args, drain)
    }

    /// Removes packs that a killed process left.
    fn remove_parts(&self) {
        for folder in ["objects/pack", "objects", "."] {
            let Ok(entries) = fs::read_dir(self.folder.join(folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_part = name.starts_with("tmp_")
                    || name == "shallow.lock"
                    || name.starts_with("shallow_");
                if is_part {
                    let _ = fs::remove_file(entry.path());
                }
                if name.starts_with("tmp_objdir-") || name.starts_with("incoming-") {
                    let _ = crate::store::remove_tree(&entry.path());
                }
            }
        }
    }

    /// Returns the type of an object in the cache. `None` if it is not there.
    fn object_kind(&self, object: &str) -> Result<Option<String>, GitError> {
        let mut found = None;
        self.read_objects(&[object], &mut |_, object, content| {
            found = object.map(|object| object.kind.clone());
            drain(content)
        })?;
        Ok(found)
    }

    /// Lists the files and folders of a commit.
    pub fn listing(&self, commit: &str) -> Result<Vec<GitEntry>, GitError> {
        let args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit].map(AsRef::as_ref);
        if !is_object_id(commit) {
            return Err(GitError::Refused {
                text: shown(commit),
            });
        }
        let output = self.git.run("ls-tree", Some(self), &args, read_listing)?;
        parse_listing(&output).ok_or(GitError::Output { command: "ls-tree" })
    }

    /// Returns the id of the root folder of a commit, and the time of the commit in seconds since
    /// 1970.
    pub fn commit_facts(&self, commit: &str) -> Result<(String, i64), GitError> {
        let text = self.small_object(commit, "commit")?;
        let tree = text.lines().find_map(|line| line.strip_prefix("tree "));
        let time = header_time(&text, "committer ");
        match (tree, time) {
            (Some(tree), Some(time)) if is_object_id(tree) => Ok((tree.to_owned(), time)),
            _ => Err(GitError::Output {
                command: "cat-file",
            }),
        }
    }

    /// Returns the time of an annotated tag in seconds since 1970, after fetching the tag. `None` for
    /// a tag without an object of its own.
    pub fn tag_time(&self, tag: &RemoteRef) -> Result<Option<i64>, GitError> {
        let text = self.tag_text(tag)?;
        Ok(text.and_then(|text| header_time(&text, "tagger ")))
    }

    /// Returns the text of an annotated tag, after fetching it. `None` for a tag without an object of
    /// its own.
    fn tag_text(&self, tag: &RemoteRef) -> Result<Option<String>, GitError> {
        if tag.peeled.is_none() {
            return Ok(None);
        }
        if self.object_kind(&tag.object)?.is_none() {
            self.fetch_ref(&tag.name, "tag", Some(1))?;
        }
        self.small_object(&tag.object, "tag").map(Some)
    }

    /// Checks the ssh signature of a tag with `git verify-tag`, against public keys as `TYPE BASE64`.
    ///
    /// The programs and lists of keys of the person's configuration do not count: the signature must
    /// be one of these keys, checked by the `ssh-keygen` on `PATH`.
    pub fn verify_tag(&self, tag: &RemoteRef, keys: &[&str]) -> Result<TagSignature, GitError> {
        let Some(text) = self.tag_text(tag)? else {
            return Ok(TagSignature::None);
        };
        let is_signed = text
            .lines()
            .any(|line| line == "-----BEGIN SSH SIGNATURE-----");
        if !is_signed {
            return Ok(TagSignature::None);
        }
        let program = find_program(&self.git.environment, "ssh-keygen");
        let program = program.ok_or(GitError::NoSshKeygen)?;
        let setting = |key: &str, value: &Path| {
            let mut setting = OsString::from(format!("{key}="));
            setting.push(value);
            setting
        };
        for (position, key) in keys.iter().enumerate() {
            // One file for each key, so that the answer names the key.
            let allowed = self.allowed_signers(key)?;
            let settings = [
                setting("gpg.format", Path::new("ssh")),
                setting("gpg.ssh.program", &program),
                setting("gpg.ssh.allowedSignersFile", allowed.path()),
                setting("gpg.ssh.revocationFile", Path::new("")),
                setting("gpg.minTrustLevel", Path::new("fully")),
                // Another kind of signature starts nothing.
                setting("gpg.program", Path::new("/dev/null")),
                setting("gpg.openpgp.program", Path::new("/dev/null")),
                setting("gpg.x509.program", Path::new("/dev/null")),
            ];
            let mut args: Vec<&OsStr> = Vec::new();
            for setting in &settings {
                args.extend([OsStr::new("-c"), setting.as_os_str()]);
            }
            args.extend(["verify-tag", "--raw", &tag.object].map(OsStr::new));
            match self.git.run("verify-tag", Some(self), &args, drain) {
                Ok(()) => {
                    return Ok(TagSignature::Good {
                        key: position,
                        text,
                    });
                }
                Err(
                    GitError::Failed { .. }
                    | GitError::NotFound { .. }
                    | GitError::Credentials { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(TagSignature::Wrong)
    }

    /// Writes a file that allows one key for signatures of git.
    fn allowed_signers(&self, key: &str) -> Result<tempfile::NamedTempFile, GitError> {
        let parent = self.folder.parent().unwrap_or(&self.folder);
        let failed = |source| GitError::Cache {
            verb: "write",
            path: parent.to_owned(),
            source,
        };
        let mut file = tempfile::NamedTempFile::new_in(parent).map_err(failed)?;
        writeln!(file, "signer namespaces=\"git\" {key}").map_err(failed)?;
        Ok(file)
    }

    fn small_object(&self, object: &str, kind: &str) -> Result<String, GitError> {
        let mut found = None;
        self.read_objects(&[object], &mut |_, header, content| {
            if header.is_some_and(|header| header.kind == kind && header.size <= MAX_OBJECT) {
                let mut bytes = Vec::new();
                content.take(MAX_OBJECT).read_to_end(&mut bytes)?;
                found = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            drain(content)
        })?;
        found.ok_or(GitError::Output {
            command: "cat-file",
        })
    }

    /// Reads the content of objects in the order of the list. `each` gets the position, the header
    /// (`None` if the object is not there) and the content.
    pub fn read_objects(
        &self,
        objects: &[&str],
        each: &mut EachObject<'_>,
    ) -> Result<(), GitError> {
        if let Some(bad) = objects.iter().find(|object| !is_object_id(object)) {
            return Err(GitError::Refused { text: shown(bad) });
        }
        let mut command = self.git.command(Some(self));
        command
            .args(["cat-file", "--batch", "--buffer"])
            .stdin(Stdio::piped());
        let mut running = Running::start(
            "cat-file",
            &mut command,
            Some(&self.folder),
            self.git.limits,
        )?;
        let input = running.child.stdin.take();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut input = io::BufWriter::new(input?);
                for object in objects {
                    // Git may have ended: its status says why.
                    writeln!(input, "{object}").ok()?;
                }
                input.flush().ok()
            });
            running.finish(Some(self), |output| {
                let mut output = BufReader::with_capacity(64 * 1024, output);
                for (position, object) in objects.iter().enumerate() {
                    read_object(&mut output, object, position, each)?;
                }
                Ok(())
            })
        })
    }

    /// Starts a process that reads objects one by one.
    pub fn object_session(&self) -> Result<ObjectSession, GitError> {
        let mut command = self.git.command(Some(self));
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped());
        let mut running = Running::start("cat-file", &mut command, None, self.git.limits)?;
        let pipes = (running.child.stdin.take(), running.child.stdout.take());
        let (Some(input), Some(output)) = pipes else {
            return Err(GitError::Output {
                command: "cat-file",
            });
        };
        Ok(ObjectSession {
            running,
            input,
            output: BufReader::new(output),
        })
    }

    /// Compares two commits. Fetches the history of `name`, the ref whose commit is `new`, without
    /// files if the server can.
    pub fn ancestry(&self, old: &str, new: &str, name: &str) -> Result<Ancestry, GitError> {
        if old == new {
            return Ok(Ancestry::Ancestor);
        }
        if !is_object_id(old) || !is_object_id(new) || !is_plain(name) || name.contains(':') {
            return Err(GitError::Refused { text: shown(name) });
        }
        // A repository of its own: here history is whole, and files may be missing.
        let mut folder = self.folder.clone().into_os_string();
        folder.push(".history");
        let folder = PathBuf::from(folder);
        if !folder.join("HEAD").is_file() {
            let args: [&OsStr; 5] = [
                "init".as_ref(),
                "--quiet".as_ref(),
                "--bare".as_ref(),
                "--template=".as_ref(),
                folder.as_os_str(),
            ];
            self.git.run("init", None, &args, drain)?;
        }
        let history = HistoryRepository { of: self, folder };
        let known = |commit: &str| history.has(commit);
        if !known(new)? {
            history.fetch(name)?;
        }
        if !known(new)? {
            return Ok(Ancestry::Unknown);
        }
        if !known(old)? {
            let is_shallow = history.folder.join("shallow").is_file();
            return Ok(if is_shallow {
                Ancestry::Unknown
            } else {
                Ancestry::Rewritten
            });
        }
        history.is_ancestor(old, new)
    }
}

/// Number of ids that always fit the pipe to git.
const MAX_PIPED: usize = 256;

/// A process that reads objects one by one.
pub struct ObjectSession {
    running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl std::fmt::Debug for ObjectSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ObjectSession")
    }
}

impl ObjectSession {
    /// Reads the content of objects in the order of the list, like [`GitRepository::read_objects`].
    /// After an error the session cannot be used.
    pub fn read_each(
        &mut self,
        objects: &[&str],
        each: &mut EachObject<'_>,
    ) -> Result<(), GitError> {
        if let Some(bad) = objects.iter().find(|object| !is_object_id(object)) {
            return Err(GitError::Refused { text: shown(bad) });
        }
        let (input, output) = (&mut self.input, &mut self.output);
        let progress = &self.running.progress;
        let read = thread::scope(|scope| {
            let write = move || -> Option<()> {
                let mut input = io::BufWriter::new(input);
                for object in objects {
                    writeln!(input, "{object}").ok()?;
                }
                input.flush().ok()
            };
            // Git blocks on output that is not read, and then reads no more ids.
            if objects.len() > MAX_PIPED {
                scope.spawn(write);
            } else {
                write();
            }
            for (position, object) in objects.iter().enumerate() {
                read_object(output, object, position, each)?;
                progress.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        read.map_err(|source| GitError::Run {
            command: "cat-file",
            source,
        })
    }

    /// Reads a file. Returns `None` if it is not there, or larger than `most`.
    pub fn read(&mut self, object: &str, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        let run = |source| GitError::Run {
            command: "cat-file",
            source,
        };
        if !is_object_id(object) {
            return Err(GitError::Refused {
                text: shown(object),
            });
        }
        writeln!(self.input, "{object}").map_err(run)?;
        let mut found = None;
        let read = read_object(&mut self.output, object, 0, &mut |_, header, content| {
            let is_small = |header: &ObjectHeader| header.kind == "blob" && header.size <= most;
            if header.is_some_and(is_small) {
                let mut bytes = Vec::new();
                content.take(most).read_to_end(&mut bytes)?;
                found = Some(bytes);
            }
            Ok(())
        });
        read.map_err(run)?;
        self.running.progress.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }
}

/// The history of a repository, without files.
struct HistoryRepository<'a> {
    of: &'a GitRepository,
    folder: PathBuf,
}

impl HistoryRepository<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.of.git.command(None);
        let allowed = protocols(&self.of.url);
        command.env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
        for protocol in allowed {
            command
                .arg("-c")
                .arg(format!("protocol.{protocol}.allow=always"));
        }
        let mut place = OsString::from("--git-dir=");
        place.push(&self.folder);
        command.arg(place).args(args);
        command
    }

    fn has(&self, commit: &str) -> Result<bool, GitError> {
        self.answers(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
    }

    fn fetch(&self, name: &str) -> Result<(), GitError> {
        let spec = format!("+{name}:refs/prowess/history");
        let mut command = self.command(&[
            "fetch",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--progress",
            "--filter=tree:0",
            "--",
            &self.of.url,
            &spec,
        ]);
        let limits = self.of.git.limits;
        let running = Running::start("fetch", &mut command, Some(&self.folder), limits)?;
        running.finish(Some(self.of), |output| drain(output))
    }

    fn is_ancestor(&self, old: &str, new: &str) -> Result<Ancestry, GitError> {
        let is = self.answers(&["merge-base", "--is-ancestor", old, new])?;
        Ok(if is {
            Ancestry::Ancestor
        } else {
            Ancestry::Rewritten
        })
    }

    /// Returns `true` if a command succeeds, and `false` if it says no.
    fn answers(&self, args: &[&str]) -> Result<bool, GitError> {
        let mut command = self.command(args);
        let limits = self.of.git.limits;
        let running = Running::start("merge-base", &mut command, Some(&self.folder), limits)?;
        match running.finish(Some(self.of), |output| drain(output)) {
            Ok(()) => Ok(true),
            Err(GitError::Failed { .. } | GitError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Receives the position, the header (`None` if the object is not there) and the content of an object.
pub type EachObject<'a> =
    dyn FnMut(usize, Option<&ObjectHeader>, &mut dyn Read) -> io::Result<()> + 'a;

/// The header of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectHeader {
    /// The type: `blob`, `commit`, `tag` or `tree`.
    pub kind: String,
    /// The size in bytes.
    pub size: u64,
}

fn is_missing_commit(reason: &str) -> bool {
    [
        "not our ref",
        "couldn't find remote ref",
        "unadvertised object",
        "Server does not allow request",
        "not a valid object",
        "no such remote ref",
        "bad object",
        "did not send all necessary objects",
    ]
    .iter()
    .any(|text| reason.contains(text))
}

fn read_object(
    output: &mut BufReader<impl Read>,
    object: &str,
    position: usize,
    each: &mut EachObject<'_>,
) -> io::Result<()> {
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, "unexpected output");
    let mut line = Vec::new();
    output.by_ref().take(512).read_until(b'\n', &mut line)?;
    let line = std::str::from_utf8(&line).map_err(|_| unexpected())?;
    let mut words = line.trim_end_matches('\n').split(' ');
    if words.next() != Some(object) {
        return Err(unexpected());
    }
    let (kind, size) = (words.next(), words.next());
    if kind == Some("missing") {
        return each(position, None, &mut io::empty());
    }
    let (Some(kind), Some(Ok(size))) = (kind, size.map(str::parse::<u64>)) else {
        return Err(unexpected());
    };
    let header = ObjectHeader {
        kind: kind.to_owned(),
        size,
    };
    let mut content = output.by_ref().take(size);
    each(position, Some(&header), &mut content)?;
    if content.limit() > 0 {
        io::copy(&mut content, &mut io::sink())?;
    }
    let mut end = [0];
    output.read_exact(&mut end)?;
    if end == *b"\n" {
        Ok(())
    } else {
        Err(unexpected())
    }
}

fn header_time(text: &str, key: &str) -> Option<i64> {
    let header = text.split("\n\n").next()?;
    let line = header.lines().find_map(|line| line.strip_prefix(key))?;
    let mut words = line.rsplit(' ');
    words.next()?;
    words.next()?.parse().ok()
}

fn parse_refs(output: &[u8]) -> Option<RemoteRefs> {
    let mut all = RemoteRefs::default();
    for line in output.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        // Names that are not UTF-8 cannot be in a manifest.
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let (object, name) = line.split_once('\t')?;
        if let Some(target) = object.strip_prefix("ref: ") {
            if name == "HEAD" {
                all.default_branch = Some(target.to_owned());
            }
            continue;
        }
        if !is_object_id(object) {
            return None;
        }
        if name == "HEAD" {
            all.head = Some(object.to_owned());
        }
        if !name.starts_with("refs/heads/") && !name.starts_with("refs/tags/") {
            continue;
        }
        if let Some(tag) = name.strip_suffix("^{}") {
            if let Some(last) = all.refs.last_mut().filter(|last| last.name == tag) {
                last.peeled = Some(object.to_owned());
            }
            continue;
        }
        if all.refs.len() >= MAX_ENTRIES {
            return None;
        }
        all.refs.push(RemoteRef {
            name: name.to_owned(),
            object: object.to_owned(),
            peeled: None,
        });
    }
    all.refs.sort_by(|a, b| a.name.cmp(&b.name));
    Some(all)
}

fn parse_listing(output: &[u8]) -> Option<Vec<GitEntry>> {
    let mut entries = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        if line.is_empty() {
            continue;
        }
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let facts = std::str::from_utf8(&line[..tab]).ok()?;
        let mut words = facts.split(' ').filter(|word| !word.is_empty());
        let (mode, _, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let kind = match mode {
            "040000" => GitEntryKind::Folder,
            "120000" => GitEntryKind::Link,
            "160000" => GitEntryKind::Submodule,
            "100755" => GitEntryKind::Executable,
            _ => GitEntryKind::File,
        };
        if entries.len() >= MAX_ENTRIES || !is_object_id(object) {
            return None;
        }
        let path = String::from_utf8_lossy(&line[tab + 1..]);
        entries.push(GitEntry {
            is_utf8: matches!(path, std::borrow::Cow::Borrowed(_)),
            path: path.into_owned(),
            kind,
            object: object.to_owned(),
            size: size.parse().unwrap_or(0),
        });
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_removed_from_texts() {
        for (text, expected) in [
            (
                "fatal: unable to access 'https://me:secret@host/x': no",
                "fatal: unable to access 'https://host/x': no",
            ),
            ("https://token@host", "https://host"),
            ("ssh://git@host/x", "ssh://git@host/x"),
            ("ssh://git:secret@host/x", "ssh://host/x"),
            ("https://host/a@b", "https://host/a@b"),
            (
                "https://a:b@c:d@host/x https://e:f@h",
                "https://host/x https://h",
            ),
            ("no address", "no address"),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn messages_become_typed_errors() {
        let of = |text: &str| classify("fetch", "https://host/x", text);
        for text in [
            "fatal: could not read Username for 'https://host': terminal prompts disabled",
            "git@host: Permission denied (publickey).",
            "Host key verification failed.",
            "fatal: unable to access 'https://host/x/': The requested URL returned error: 403",
        ] {
            assert!(matches!(of(text), GitError::Credentials { .. }), "{text}");
        }
        let moved =
            "fatal: unable to access 'https://host/x/': The requested URL returned error: 301";
        assert!(matches!(of(moved), GitError::Moved { .. }));
        let none = "fatal: repository 'https://host/x/' not found";
        assert!(matches!(of(none), GitError::NotFound { .. }));
        let refused = "fatal: transport 'ext' not allowed";
        assert!(matches!(of(refused), GitError::Protocol { .. }));
        match of("a\rb\nfatal: https://me:pw@host broke\n") {
            GitError::Failed { reason, .. } => {
                assert_eq!(reason, "a; b; fatal: https://host broke");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn listings_are_parsed() {
        let id = "a".repeat(40);
        let text = format!(
            "100644 blob {id}       3\tSKILL.md\0\
             100755 blob {id}      12\ta/run me\0\
             120000 blob {id}       4\tl\0\
             160000 commit {id}       -\tm\0\
             040000 tree {id}       -\ta\0"
        );
        let entries = parse_listing(text.as_bytes()).unwrap();
        let kinds: Vec<_> = entries
            .iter()
            .map(|entry| (entry.kind, entry.size, &*entry.path))
            .collect();
        assert_eq!(
            kinds,
            [
                (GitEntryKind::File, 3, "SKILL.md"),
                (GitEntryKind::Executable, 12, "a/run me"),
                (GitEntryKind::Link, 4, "l"),
                (GitEntryKind::Submodule, 0, "m"),
                (GitEntryKind::Folder, 0, "a"),
            ]
        );
        assert_eq!(parse_listing(b"nonsense\0"), None);
        let refs = format!(
            "ref: refs/heads/main\tHEAD\n{id}\tHEAD\n{id}\trefs/heads/main\n{id}\trefs/pull/1/head\n{id}\trefs/tags/v1\n{}\trefs/tags/v1^{{}}\n",
            "b".repeat(40)
        );
        let refs = parse_refs(refs.as_bytes()).unwrap();
        assert_eq!(refs.default_branch.as_deref(), Some("refs/heads/main"));
        let names: Vec<_> = refs
            .refs
            .iter()
            .map(|one| (&*one.name, &one.commit()[..1]))
            .collect();
        assert_eq!(names, [("refs/heads/main", "a"), ("refs/tags/v1", "b")]);
    }
}
