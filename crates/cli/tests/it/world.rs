//! Temporary environments to run the command in.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Timeout of a command, far above what any test needs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The user id of `nobody`.
pub(crate) const NOBODY: u32 = 65534;

/// A description without findings.
pub(crate) const DESCRIPTION: &str =
    "Fills in PDF forms. Use when the user asks to fill in a form.";

/// A project, used as the current folder, and a home folder.
#[derive(Debug)]
pub(crate) struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let world = prowess_test::World::new();
        // The sandbox may run as another user, who needs access.
        world.mode("..", 0o755);
        Self(world)
    }

    /// Returns a world with one skill without findings, `skills/release-notes`.
    pub(crate) fn with_a_good_skill() -> Self {
        let world = Self::new();
        world.good("skills/release-notes");
        world
    }

    /// Returns a world with a skill `greet` in the home folder, for runs.
    pub(crate) fn with_a_greeting() -> Self {
        let world = Self::new();
        world.file(
            "~/.agents/skills/greet/SKILL.md",
            "---\nname: greet\ndescription: Greets people. Use when a guest arrives.\n---\nSay good morning to $ARGUMENTS.\n",
        );
        world
    }

    /// Writes a file, and returns its path.
    pub(crate) fn file(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        self.make_file(path, contents)
    }

    /// Writes a file with permissions.
    pub(crate) fn file_with_mode(
        &self,
        path: &str,
        contents: impl AsRef<[u8]>,
        mode: u32,
    ) -> PathBuf {
        self.0.file(path, contents).mode(path, mode).path(path)
    }

    /// Creates a folder, and returns its path.
    pub(crate) fn folder(&self, path: impl AsRef<Path>) -> PathBuf {
        self.make_folder(path)
    }

    /// Creates a symbolic link, and returns its path.
    pub(crate) fn link(&self, path: &str, target: &str) -> PathBuf {
        self.0.link(path, target).path(path)
    }

    /// Writes a skill with this frontmatter and an ordinary body.
    pub(crate) fn skill(&self, folder: impl AsRef<Path>, frontmatter: &str) -> PathBuf {
        let file = folder.as_ref().join("SKILL.md");
        self.file(
            file,
            format!("---\n{frontmatter}---\n\n# Forms\n\n1. Read the form.\n2. Fill it in.\n"),
        )
    }

    /// Writes a skill without findings, named after its folder.
    pub(crate) fn good(&self, folder: &str) -> PathBuf {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        self.skill(
            folder,
            &format!("name: {name}\ndescription: {DESCRIPTION}\n"),
        )
    }

    /// Writes a skill named `name` in a folder with any name.
    pub(crate) fn named(&self, folder: impl AsRef<Path>, name: &str) -> PathBuf {
        self.skill(
            folder,
            &format!("name: {name}\ndescription: {DESCRIPTION}\n"),
        )
    }

    /// Runs `prowess` with these arguments.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        self.command(arguments).run()
    }

    /// Prepares `prowess` with these arguments.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Run<'_> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("~"))
            .env("PROWESS_HOME", self.path("~"))
            .current_dir(self.path(""))
            .args(arguments);
        Run {
            world: self,
            command,
            stdin: Vec::new(),
            patience: PATIENCE,
        }
    }
}

/// A command to run.
#[derive(Debug)]
pub(crate) struct Run<'w> {
    world: &'w World,
    command: Command,
    stdin: Vec<u8>,
    patience: Duration,
}

impl Run<'_> {
    /// Sets standard input.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Removes an environment variable.
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts the command, to read its lines as they are printed.
    pub(crate) fn start(self) -> Running {
        self.spawn(Stdio::null())
    }

    /// Starts the command, to type lines and read what it prints.
    pub(crate) fn talk(self) -> Running {
        self.spawn(Stdio::piped())
    }

    fn spawn(mut self, stdin: Stdio) -> Running {
        self.command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                // The receiver may be gone.
                lines
                    .map(|line| sender.send(line))
                    .take_while(Result::is_ok)
                    .count()
            });
        }
        let stdin = child.stdin.take();
        Running {
            child,
            stdin,
            lines,
        }
    }

    /// Sets the timeout.
    pub(crate) fn patience(mut self, seconds: u64) -> Self {
        self.patience = Duration::from_secs(seconds);
        self
    }

    /// Runs in another folder.
    pub(crate) fn dir(mut self, path: &str) -> Self {
        self.command.current_dir(self.world.path(path));
        self
    }

    /// Runs as another user.
    pub(crate) fn uid(mut self, uid: u32) -> Self {
        self.command.uid(uid).gid(uid);
        self
    }

    /// Runs as `nobody` if the tests run as root, because `nobody` has no home folder to fall back on.
    pub(crate) fn without_a_home(self) -> Self {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        if !is_root {
            return self;
        }
        // The other user needs access to the temporary folder.
        self.world.mode("..", 0o755);
        self.uid(NOBODY)
    }

    /// Sets standard output.
    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Output {
        self.command.stdout(stdout);
        self.finish().unwrap()
    }

    /// Runs the command.
    pub(crate) fn run(self) -> Output {
        self.try_run().unwrap()
    }

    /// Runs the command; fails if it cannot be started.
    pub(crate) fn try_run(mut self) -> std::io::Result<Output> {
        self.command.stdout(Stdio::piped());
        self.finish()
    }

    fn finish(mut self) -> std::io::Result<Output> {
        self.command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let shown = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        let mut child = self.command.spawn()?;
        // Close our copy of the pipe that was passed to the child.
        drop(self.command);
        let pid = child.id();
        let (stdin, bytes) = (child.stdin.take(), self.stdin);
        std::thread::spawn(move || {
            // The command may close the pipe without reading.
            let _ = stdin.map(|mut stdin| stdin.write_all(&bytes));
        });
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let output = receiver.recv_timeout(self.patience).unwrap_or_else(|_| {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            panic!("prowess {shown} hangs");
        })?;
        check_locks(self.world);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(
            output.status.signal(),
            None,
            "prowess {shown} was killed by a signal"
        );
        Ok(Output {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            project: self.world.text(""),
            home: self.world.text("~"),
        })
    }
}

/// Checks that the lockfiles of packages fit their schema after each command. A lockfile that cannot be
/// parsed was damaged by its test.
fn check_locks(world: &World) {
    for path in [".agents/prowess.lock", "~/prowess.lock"] {
        let text = std::fs::read_to_string(world.path(path)).unwrap_or_default();
        if text.is_empty() || prowess_package::LockFile::parse(&text).is_err() {
            continue;
        }
        let value: toml::Table = toml::from_str(&text).unwrap();
        let value = serde_json::to_value(value).unwrap();
        let schema = (prowess_package::lock::LOCK_SCHEMA.build)();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?}\n{text}");
    }
}

/// A running command, killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl Running {
    /// Waits for a matching line on standard output or standard error.
    #[track_caller]
    pub(crate) fn line(&self, fits: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if fits(&line) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("{error}; these lines came:\n{}", seen.join("\n")),
            }
        }
    }
}

impl Running {
    /// Sends an interrupt, as Ctrl-C does, and returns the exit code.
    pub(crate) fn interrupt(self) -> Option<i32> {
        self.signal("INT")
    }

    /// Sends a signal, and returns the exit code.
    pub(crate) fn signal(mut self, name: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let name = format!("-{name}");
        let sent = Command::new("kill").args([&*name, &pid]).status().unwrap();
        assert!(sent.success());
        prowess_test::wait_for_exit(&mut self.child).code()
    }

    /// Types a line, and waits for a matching line of output.
    #[track_caller]
    pub(crate) fn say(&mut self, text: &str, fits: impl Fn(&str) -> bool) -> String {
        self.send(text);
        self.line(fits)
    }

    /// Types a line.
    #[track_caller]
    pub(crate) fn send(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{text}").unwrap();
    }

    /// Ends the input, and waits until the command has printed everything.
    #[track_caller]
    pub(crate) fn close(mut self) -> Vec<String> {
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        let mut rest = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => rest.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => return rest,
                Err(error) => panic!("{error}; these lines came:\n{}", rest.join("\n")),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    project: String,
    home: String,
}

impl Output {
    /// Returns exit code and output, without parts that differ between runs.
    pub(crate) fn snapshot(&self) -> String {
        format!(
            "exit: {}\n----- stdout -----\n{}\n----- stderr -----\n{}",
            self.code,
            self.filter(&self.stdout),
            self.filter(&self.stderr)
        )
    }

    /// Returns standard error, without parts that differ between runs.
    pub(crate) fn errors(&self) -> String {
        self.filter(&self.stderr)
    }

    /// Parses standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}", self.snapshot()))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.snapshot());
        self
    }

    fn filter(&self, text: &str) -> String {
        let text = text
            .replace(&self.project, "[WORLD]")
            .replace(&self.home, "[HOME]");
        digests(&times(&text))
    }
}

/// Replaces `in 3 ms`, `in less than 1 ms` and `in 1.2 s` at the end of a line or before a comma with
/// `in [TIME]`.
fn times(text: &str) -> String {
    let is_time = |text: &str| {
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        text == "less than 1 ms"
            || text.strip_suffix(" ms").is_some_and(number)
            || text.strip_suffix(" s").is_some_and(number)
    };
    text.split_inclusive('\n')
        .map(|line| {
            let Some((before, after)) = line.rsplit_once(" in ") else {
                return line.to_owned();
            };
            let end = after.find([',', '\n']).unwrap_or(after.len());
            let (time, rest) = after.split_at(end);
            if is_time(time) {
                format!("{before} in [TIME]{rest}")
            } else {
                line.to_owned()
            }
        })
        .collect()
}

fn digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        result.push_str("sha256:");
        result.push_str(if rest.len() < part.len() {
            "[DIGEST]"
        } else {
            ""
        });
        result.push_str(rest);
    }
    result
}
