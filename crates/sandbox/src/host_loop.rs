//! The host's side of a run: one loop without a thread.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prowess_policy::Profile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::{Captured, Collector, Stream};
use crate::error::{ExecError, Step};
use crate::helper::{ARGUMENT, Helper};
use crate::outcome::{End, LayerState, LayerStatus, Note, Stopped};
use crate::protocol::{self, END, Report, Spec};
use crate::runner::CommandOptions;

/// Time for which output is still read when every process is gone: the other end of the pipe may
/// have been passed to a process outside.
const DRAIN: Duration = Duration::from_millis(300);

/// Time in which the helper has to end everything, in addition to the grace period.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time between two checks whether the helper has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Bytes that are read at once, and the size of pipes where it can be set.
const CHUNK: usize = 256 * 1024;

/// The result of a run.
pub(crate) struct Done {
    pub(crate) end: End,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) duration: Duration,
    pub(crate) layers: Vec<LayerState>,
    pub(crate) notes: Vec<Note>,
}

/// The reason why a run has no result.
pub(crate) enum Failure {
    /// The namespaces could not be built. Nothing ran.
    Namespaces(Box<str>),
    Other(ExecError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(ExecError::Follow(error))
    }
}

/// Carries out a specification. The helper holds the locks until it ends.
pub(crate) fn drive(
    helper: &Helper,
    spec: &Spec,
    profile: &Profile,
    locks: &[File],
    options: &mut CommandOptions<'_>,
) -> Result<Done, Failure> {
    let start = Instant::now();
    let mut run = Run::start(helper, spec, profile, locks)?;
    let followed = run.follow(
        options,
        start + Duration::from_millis(profile.limits.deadline_ms),
    );
    let duration = start.elapsed();
    // Closing the socket has the helper end everything, if it is still there.
    drop(run.control.take());
    if followed.is_err() {
        run.end_helper();
    }
    let _ = run.child.wait();
    followed?;
    run.finish(helper, spec, profile, duration)
}

struct Run {
    child: Child,
    control: Option<UnixStream>,
    /// Bytes for the helper, of which `sent` are written.
    unsent: Vec<u8>,
    sent: usize,
    /// The received part of a message.
    heard: Vec<u8>,
    streams: [Option<io::PipeReader>; 2],
    collectors: [Collector; 2],
    reports: Vec<Report>,
    /// The command may have started. Earlier output is not the command's.
    ready: bool,
    stopped: Option<(Stopped, Instant)>,
    /// The helper has checked what the command left behind.
    is_checked: bool,
    grace: Duration,
}

impl Run {
    fn start(
        helper: &Helper,
        spec: &Spec,
        profile: &Profile,
        locks: &[File],
    ) -> Result<Self, Failure> {
        let (control, theirs) = UnixStream::pair()?;
        // They wait in the socket until the helper takes them.
        protocol::send_descriptors(&control, locks)?;
        control.set_nonblocking(true)?;
        let ((out, out_end), (err, err_end)) = (io::pipe()?, io::pipe()?);
        for pipe in [&out, &err] {
            #[cfg(target_os = "linux")]
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, CHUNK);
            rustix::io::ioctl_fionbio(pipe, true).map_err(io::Error::from)?;
        }
        let child = Command::new(helper.program())
            .args([ARGUMENT, "supervise"])
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(out_end)
            .stderr(err_end)
            .spawn()
            .map_err(|source| {
                let path = helper.file().to_owned();
                Failure::Other(ExecError::Helper { path, source })
            })?;
        let limits = &profile.limits;
        let collector = || Collector::new(limits.head_bytes, limits.tail_bytes);
        Ok(Self {
            child,
            control: Some(control),
            unsent: protocol::frame(spec)?,
            sent: 0,
            heard: Vec::new(),
            streams: [Some(out), Some(err)],
            collectors: [collector(), collector()],
            reports: Vec::new(),
            ready: false,
            stopped: None,
            is_checked: false,
            grace: Duration::from_millis(limits.grace_ms),
        })
    }

    /// Waits until the helper has ended the command, for a limited time, and kills it otherwise. What
    /// a command left behind is inspected and removed by the helper.
    fn end_helper(&mut self) {
        let until = Instant::now() + self.grace + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
    }

    /// Follows the run until the helper is gone and its output read.
    fn follow(
        &mut self,
        options: &mut CommandOptions<'_>,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let mut buffer = vec![0; CHUNK];
        let mut drain: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if self.stopped.is_none() && self.control.is_some() && now >= deadline {
                self.stop(Stopped::Deadline, now);
            }
            let over = self.stopped.filter(|_| !self.is_checked);
            let over = over.map(|(_, at)| at + self.grace + PATIENCE);
            if self.control.is_some() && over.is_some_and(|over| now >= over) {
                let _ = self.child.kill();
                self.control = None;
            }
            if self.control.is_none() {
                let until = *drain.get_or_insert(now + DRAIN);
                if now >= until || self.streams.iter().all(Option::is_none) {
                    return Ok(());
                }
            }
            let next = match (drain, over) {
                (Some(drain), _) => drain,
                (None, Some(over)) => over,
                // The command has ended, and the helper is still at work.
                (None, None) if self.is_checked || now >= deadline => now + PATIENCE,
                (None, None) => deadline,
            };
            let woken = self.wait(options, next.saturating_duration_since(now))?;
            if woken.cancelled && self.stopped.is_none() {
                self.stop(Stopped::Cancelled, Instant::now());
            }
            if woken.writable {
                self.send()?;
            }
            if woken.readable {
                self.listen(&mut buffer)?;
            }
            for (at, stream) in [Stream::Out, Stream::Err].into_iter().enumerate() {
                if woken.streams[at] {
                    self.read(at, stream, &mut buffer, options);
                }
            }
        }
    }

    /// Asks the helper to end the command, unless it has just ended by itself.
    fn stop(&mut self, why: Stopped, now: Instant) {
        if !self
            .reports
            .iter()
            .any(|report| matches!(report, Report::Ended(_)))
        {
            self.unsent.push(END);
            self.stopped = Some((why, now));
        }
    }

    fn wait(&self, options: &CommandOptions<'_>, timeout: Duration) -> Result<Woken, Failure> {
        let mut fds = Vec::with_capacity(4);
        let mut places = [None; 4];
        if let Some(control) = &self.control {
            let write = if self.sent < self.unsent.len() {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            places[0] = Some(fds.len());
            fds.push(PollFd::new(control, PollFlags::IN | write));
            if self.stopped.is_none()
                && let Some(cancel) = options.cancel
            {
                places[1] = Some(fds.len());
                fds.push(PollFd::from_borrowed_fd(cancel.descriptor(), PollFlags::IN));
            }
        }
        // Output before the command starts is not the command's.
        if self.ready || self.control.is_none() {
            for (at, stream) in self.streams.iter().enumerate() {
                if let Some(stream) = stream {
                    places[2 + at] = Some(fds.len());
                    fds.push(PollFd::new(stream, PollFlags::IN));
                }
            }
        }
        // A very long deadline is waited for in parts.
        let timeout = Timespec::try_from(timeout.min(Duration::from_hours(1)));
        match poll(&mut fds, timeout.ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let flags = |place: Option<usize>| {
            place
                .and_then(|at| fds.get(at))
                .map_or(PollFlags::empty(), PollFd::revents)
        };
        let readable = |place| flags(place).intersects(!PollFlags::OUT);
        Ok(Woken {
            writable: flags(places[0]).contains(PollFlags::OUT),
            readable: readable(places[0]),
            cancelled: readable(places[1]),
            streams: [readable(places[2]), readable(places[3])],
        })
    }

    fn send(&mut self) -> Result<(), Failure> {
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        match control.write(&self.unsent[self.sent..]) {
            Ok(count) => self.sent += count,
            Err(error) if retry(&error) => {}
            // The helper is gone; its last reports are read next.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.sent = self.unsent.len();
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn listen(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        match control.read(buffer) {
            Ok(0) => self.control = None,
            Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
            Err(error) if retry(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.control = None,
            Err(error) => return Err(error.into()),
        }
        while let Some(report) = protocol::unframe(&mut self.heard)? {
            self.ready |= matches!(report, Report::Ready(_));
            self.is_checked |= matches!(report, Report::Clean { .. });
            self.reports.push(report);
        }
        Ok(())
    }

    fn read(
        &mut self,
        at: usize,
        stream: Stream,
        buffer: &mut [u8],
        options: &mut CommandOptions<'_>,
    ) {
        let Some(pipe) = &mut self.streams[at] else {
            return;
        };
        match pipe.read(buffer) {
            Ok(0) => self.streams[at] = None,
            Ok(count) => {
                self.collectors[at].add(&buffer[..count]);
                if self.ready
                    && let Some(on_output) = &mut options.on_output
                {
                    on_output(stream, &buffer[..count]);
                }
            }
            Err(error) if retry(&error) => {}
            Err(_) => self.streams[at] = None,
        }
    }

    fn finish(
        self,
        helper: &Helper,
        spec: &Spec,
        profile: &Profile,
        duration: Duration,
    ) -> Result<Done, Failure> {
        let [stdout, stderr] = self.collectors.map(Collector::finish);
        let (mut end, mut layers, mut notes, mut inside) = (None, Vec::new(), Vec::new(), false);
        let mut undone = false;
        for report in self.reports {
            match report {
                Report::Inside => inside = true,
                Report::NoNamespaces(why) => return Err(Failure::Namespaces(why)),
                Report::SharedProc => notes.push(Note::SharedProc),
                Report::Removed(path) => notes.push(Note::Removed {
                    path: protocol::path(&path),
                }),
                Report::Replaced(path) => notes.push(Note::Replaced {
                    path: protocol::path(&path),
                }),
                Report::IndexRestored(path, why) => {
                    undone = true;
                    let path = protocol::path(&path);
                    notes.push(match why {
                        None => Note::IndexRestored { path },
                        Some(why) => Note::IndexNotRestored { path, why },
                    });
                }
                Report::NotRemoved(path, why) => {
                    undone = true;
                    let path = protocol::path(&path);
                    notes.push(Note::NotRemoved { path, why });
                }
                Report::Added(path) => notes.push(Note::Added {
                    path: protocol::path(&path),
                }),
                Report::Ready(states) => layers = states,
                Report::Refused {
                    step,
                    errno,
                    detail,
                } => {
                    return Err(Failure::Other(failed(step, errno, &detail, spec, profile)));
                }
                Report::Missing(LayerState { layer, state }) => {
                    let (LayerStatus::Missing(why) | LayerStatus::Off(why)) = state else {
                        continue;
                    };
                    return Err(Failure::Other(ExecError::LayerMissing { layer, why }));
                }
                Report::ProcessesUnlimited => notes.push(Note::ProcessesUnlimited),
                Report::Ended(how) => end = Some(how),
                Report::Clean { left: 0 } => {}
                Report::Clean { left } => notes.push(Note::Survivors(left)),
                Report::ScratchLeft(path, why) => notes.push(Note::ScratchLeft {
                    path: protocol::path(&path),
                    why,
                }),
                Report::LinkedOut(path, target) => notes.push(Note::LinkedOut {
                    path: protocol::path(&path),
                    target: protocol::path(&target),
                }),
            }
        }
        let last_line = || {
            let text = stderr.text();
            let line = text
                .trim()
                .lines()
                .next_back()
                .unwrap_or("it ended without a message");
            Box::from(line)
        };
        let by_bwrap = spec.namespaces.as_ref().is_some_and(|namespaces| {
            matches!(namespaces.builder, protocol::Builder::Bwrap { .. })
        });
        if by_bwrap && !inside && self.stopped.is_none() {
            return Err(Failure::Namespaces(last_line()));
        }
        if !self.is_checked {
            undone = true;
            notes.push(Note::Unchecked);
        }
        // The host ended the run before the command could start or report.
        let end = match (end, self.stopped) {
            // What it did was undone, or should have been.
            (Some(End::Code(0)), _) if undone => End::Code(1),
            (Some(end), _) => end,
            (None, Some(_)) => End::Signal(9),
            (None, None) => {
                let path = helper.file().to_owned();
                return Err(Failure::Other(ExecError::HelperLost {
                    path,
                    why: last_line(),
                }));
            }
        };
        let stopped = self.stopped.map(|(why, _)| why);
        Ok(Done {
            end,
            stopped,
            stdout,
            stderr,
            duration,
            layers,
            notes,
        })
    }
}

#[derive(Default)]
struct Woken {
    writable: bool,
    readable: bool,
    cancelled: bool,
    streams: [bool; 2],
}

fn retry(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Translates a failed step into an error for the caller.
fn failed(step: Step, errno: i32, detail: &str, spec: &Spec, profile: &Profile) -> ExecError {
    let source = match errno {
        0 => io::Error::other(detail.to_owned()),
        errno => io::Error::from_raw_os_error(errno),
    };
    match step {
        Step::WorkingFolder => ExecError::WorkingFolder {
            path: profile.cwd.clone(),
            source,
        },
        Step::Program if errno == libc::E2BIG => ExecError::TooLong,
        Step::Program => {
            let path = protocol::path(&spec.program);
            ExecError::NotExecutable {
                path,
                why: source.to_string().into(),
            }
        }
        step => ExecError::Start { step, source },
    }
}
