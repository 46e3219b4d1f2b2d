//! A server that is a program: its standard input and output are the protocol, nothing else is
//! shared with it.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_config::{McpServer, Reach};
use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::ClientPlace;

/// Most bytes of a message: the largest skill that is read, in base 64.
const MAX_MESSAGE: usize = 24 * 1024 * 1024;
/// How much of what a program says beside the protocol is kept.
const MAX_WORDS: usize = 4 * 1024;
/// How long a program has to end after its input ended.
const GRACE: Duration = Duration::from_millis(500);

/// The variables of the person that every program sees.
pub fn harmless() -> impl Iterator<Item = &'static str> {
    "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR USER \
     XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR"
        .split(' ')
}

/// A program that runs. Dropping it kills it, with all that it started.
pub(crate) struct Program {
    child: Child,
    group: Option<Pid>,
    words: Arc<Mutex<VecDeque<u8>>>,
    listener: Option<JoinHandle<()>>,
}

/// What the protocol goes over.
pub(crate) type Pipes = AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>;

/// Starts a program.
pub(crate) fn start(server: &McpServer, place: &ClientPlace) -> Result<(Program, Pipes), String> {
    let Reach::Program {
        command,
        args,
        env,
        cwd,
    } = &server.reach
    else {
        return Err("it is not a program".to_owned());
    };
    let folder = cwd
        .as_ref()
        .map_or_else(|| place.folder.clone(), |cwd| place.folder.join(cwd));
    let mut child = Command::new(command)
        .args(args)
        .env_clear()
        .envs(place.environment.iter().map(|(name, value)| (name, value)))
        .envs(env)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C is for us; we end it ourselves.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no program `{command}`"),
            _ => format!("cannot start `{command}`: {error}"),
        })?;
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
    let (Some(output), Some(input), Some(errors)) = pipes else {
        return Err("it has no pipes".to_owned());
    };
    let words = Arc::new(Mutex::default());
    let listener = Some(tokio::spawn(listen(errors, Arc::clone(&words))));
    let pipes = Pipes::new(output, input).with_max_line_length(MAX_MESSAGE);
    Ok((
        Program {
            child,
            group,
            words,
            listener,
        },
        pipes,
    ))
}

/// Keeps the end of what a program says.
async fn listen(mut errors: ChildStderr, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&buffer[..length]);
        let over = words.len().saturating_sub(MAX_WORDS);
        words.drain(..over);
    }
}

impl Program {
    /// Waits a moment for its end, and returns the last line that it said beside the protocol.
    pub(crate) async fn last_words(&mut self) -> Option<String> {
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        self.kill();
        if let Some(listener) = self.listener.take() {
            let _ = tokio::time::timeout(GRACE, listener).await;
        }
        let words: Vec<u8> = {
            let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            words.iter().copied().collect()
        };
        let words = String::from_utf8_lossy(&words);
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        last.map(str::to_owned)
    }

    fn kill(&mut self) {
        // The group may live on without the program that began it.
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
