//! Servers that are local programs. The protocol uses their standard input and output; nothing else
//! is shared with them.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_config::{McpServer, McpTransport};
use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::ClientPlace;
use super::error::ConnectError;

/// Maximum size of a message in bytes: the largest skill in Base64.
const MAX_MESSAGE: usize = 24 * 1024 * 1024;
/// Maximum size of the kept end of standard error, in bytes.
const MAX_STDERR: usize = 4 * 1024;
/// Time for a program to exit after its input is closed.
const GRACE: Duration = Duration::from_millis(500);

/// Returns the names of the environment variables that every program inherits.
pub fn harmless() -> impl Iterator<Item = &'static str> {
    "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR USER \
     XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR"
        .split(' ')
}

/// A running program. Dropping it kills the whole process group.
pub(crate) struct Program {
    child: Child,
    group: Option<Pid>,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    listener: Option<JoinHandle<()>>,
}

/// Transport over the pipes of a program.
pub(crate) type Pipes = AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>;

/// Returns `true` if a program without a path exists in a folder of `PATH`, or has a path.
fn is_on_path(command: &str, place: &ClientPlace) -> bool {
    let mut variables = place.environment.iter();
    let path = variables.find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.clone());
    let mut folders = path.iter().flat_map(std::env::split_paths);
    command.contains('/') || folders.any(|folder| folder.join(command).is_file())
}

/// Starts a program.
pub(crate) fn start(
    server: &McpServer,
    place: &ClientPlace,
) -> Result<(Program, Pipes), ConnectError> {
    let McpTransport::Program {
        command,
        args,
        env,
        cwd,
    } = &server.transport
    else {
        return Err(ConnectError::NoCommand);
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
        // Keep Ctrl-C from the program: the client stops it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ConnectError::ProgramNotFound {
                command: command.clone(),
            },
            // A folder of `PATH` that this user may not search gives "permission denied" for every
            // program that is not found elsewhere.
            std::io::ErrorKind::PermissionDenied if !is_on_path(command, place) => {
                ConnectError::ProgramNotFound {
                    command: command.clone(),
                }
            }
            _ => ConnectError::Spawn {
                command: command.clone(),
                why: error.to_string(),
            },
        })?;
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
    let (Some(output), Some(input), Some(errors)) = pipes else {
        return Err(ConnectError::Streams);
    };
    let stderr_tail = Arc::new(Mutex::default());
    let listener = Some(tokio::spawn(listen(errors, Arc::clone(&stderr_tail))));
    let pipes = Pipes::new(output, input).with_max_line_length(MAX_MESSAGE);
    Ok((
        Program {
            child,
            group,
            stderr_tail,
            listener,
        },
        pipes,
    ))
}

/// Keeps the end of standard error.
async fn listen(mut errors: ChildStderr, stderr_tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut stderr_tail = stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        stderr_tail.extend(&buffer[..length]);
        let over = stderr_tail.len().saturating_sub(MAX_STDERR);
        stderr_tail.drain(..over);
    }
}

impl Program {
    /// Waits briefly for the program to exit, and returns the last line of its standard error.
    pub(crate) async fn last_words(&mut self) -> Option<String> {
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        self.kill();
        if let Some(listener) = self.listener.take() {
            let _ = tokio::time::timeout(GRACE, listener).await;
        }
        let stderr_tail: Vec<u8> = {
            let stderr_tail = self
                .stderr_tail
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            stderr_tail.iter().copied().collect()
        };
        let stderr_tail = String::from_utf8_lossy(&stderr_tail);
        let last = stderr_tail
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty());
        last.map(str::to_owned)
    }

    fn kill(&mut self) {
        // Other processes of the group may outlive the program.
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
