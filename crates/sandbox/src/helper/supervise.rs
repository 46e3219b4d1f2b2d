//! The process that starts a command and waits until no process of it is left.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
#[cfg(not(target_os = "linux"))]
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, WaitStatus, getrlimit, setrlimit};

use super::index_watch::IndexWatch;
use super::inspect::HomeWatch;
use super::scratch::Scratch;
use super::{ARGUMENT, inspect, stage, stubs, sweep};
use crate::error::Step;
use crate::outcome::End;
#[cfg(target_os = "linux")]
use crate::protocol::Namespaces;
use crate::protocol::{self, Builder, END, Identity, Mount, Report, Spec};
use crate::sys::{self, Forked};

/// Longest time between two collections of orphans.
const TICK: Duration = Duration::from_millis(200);

/// Seconds by which the times of files can be before those of the clock.
const COARSE_TIMES: u64 = 2;

/// The start of a range of user numbers that no system assigns: below it are those of containers,
/// and above it those that overflow a signed number. Process ids fit in between.
const UNUSED_USERS: u32 = 0x7000_0000;

/// Runs the command of the specification on standard input.
pub(super) fn supervise() -> i32 {
    sys::reset_signals();
    // Close descriptors that the host leaked before anything is opened here.
    sys::close_from(3);
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else {
        return 125;
    };
    let mut control = UnixStream::from(control);
    match prepare(&mut control) {
        Ok(()) => 0,
        Err(refused) => {
            let _ = protocol::frame(&refused).and_then(|frame| control.write_all(&frame));
            125
        }
    }
}

fn prepare(control: &mut UnixStream) -> Result<(), Report> {
    let at = |step| move |error: io::Error| refused(step, &error);
    let _ = rustix::process::setsid();
    rustix::process::umask(Mode::from_raw_mode(0o077));
    #[cfg(target_os = "linux")]
    {
        // The command may have the same user: it must not read the helper's memory or descriptors.
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| refused(Step::Session, &error.into()))?;
    }
    // Held until this process ends.
    let mut locks = protocol::receive_descriptors(control).map_err(at(Step::Lock))?;
    let mut spec: Spec = protocol::read_frame(control).map_err(at(Step::Spec))?;
    if spec.identity == Some(Identity::Unused) {
        let unused = UNUSED_USERS
            + rustix::process::getpid()
                .as_raw_nonzero()
                .get()
                .unsigned_abs();
        spec.identity = Some(Identity::Fixed(unused, unused));
    }
    // Every placeholder and every mount needs a descriptor for a while.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: files.maximum.or(files.current),
            ..files
        },
    );
    let index = spec.written.as_ref().map(IndexWatch::new).transpose();
    let index = index.map_err(at(Step::Index))?;
    let held = stubs::hold(&spec.stubs).map_err(at(Step::Stubs))?;
    if let Some(namespaces) = &mut spec.namespaces {
        namespaces.mounts.retain(|mount| match mount {
            Mount::Read(path) => held.covers(&protocol::path(path)),
            _ => true,
        });
    }
    let home = spec.home.as_deref().map(HomeWatch::new).transpose();
    let home = home.map_err(at(Step::Stubs))?;
    let scratch = Scratch::create(&mut spec).map_err(at(Step::Scratch))?;
    let covered = covered(&spec).map_err(at(Step::Mount))?;
    let start = SystemTime::now().duration_since(UNIX_EPOCH);
    let start = start.map_or(0, |time| time.as_secs().saturating_sub(COARSE_TIMES));
    let start = i64::try_from(start).unwrap_or(0);
    let outcome = run(control, &spec, &mut locks);
    let is_other = |covered: &Covered| numbers(&covered.path).ok() != Some(covered.numbers);
    for Covered { path, .. } in covered.into_iter().filter(is_other) {
        let report = protocol::frame(&Report::Replaced(path)).map_err(at(Step::Spec))?;
        let _ = control.write_all(&report);
    }
    let trees = spec.inspected.iter();
    let trees = trees.flat_map(|tree| inspect::inspect(tree, start));
    let settings = home.iter().flat_map(HomeWatch::check);
    for report in index.iter().flat_map(checked).chain(trees).chain(settings) {
        let frame = protocol::frame(&report).map_err(at(Step::Spec))?;
        let _ = control.write_all(&frame);
    }
    for report in held.release() {
        let frame = protocol::frame(&report).map_err(at(Step::Spec))?;
        let _ = control.write_all(&frame);
    }
    let left = outcome?;
    let clean = protocol::frame(&Report::Clean { left }).map_err(at(Step::Spec))?;
    // The host may be gone.
    let _ = control.write_all(&clean);
    // The command decides how long this takes, so everything else is done before.
    if let Some(left) = scratch.and_then(Scratch::remove) {
        let frame = protocol::frame(&left).map_err(at(Step::Spec))?;
        let _ = control.write_all(&frame);
    }
    Ok(())
}

/// Undoes what the command did to the repository that it may write, and returns the reports.
fn checked(index: &IndexWatch) -> Vec<Report> {
    let mut reports = Vec::new();
    if let Some((path, restored)) = index.check() {
        let why = restored.err().map(|error| error.to_string().into());
        reports.push(Report::IndexRestored(protocol::bytes(path), why));
    }
    match index.remove_links() {
        Ok(links) => {
            let links = links.into_iter().map(protocol::bytes);
            reports.extend(links.map(Report::Removed));
        }
        Err(error) => {
            let path = protocol::bytes(index.folder());
            reports.push(Report::IndexRestored(path, Some(error.to_string().into())));
        }
    }
    reports
}

/// A read-only path in a writable folder.
struct Covered {
    path: Vec<u8>,
    numbers: (u64, u64),
    /// Keeps the file, so that no other one gets its inode.
    _file: Option<File>,
}

/// Returns the read-only paths in writable folders. The kernel removes a mount if the file below it is
/// replaced outside, so that the new file is writable inside.
fn covered(spec: &Spec) -> io::Result<Vec<Covered>> {
    let mounts = spec.namespaces.iter().flat_map(|it| &it.mounts);
    let writable: BTreeSet<PathBuf> = mounts
        .clone()
        .filter_map(|mount| match mount {
            Mount::Write(path) => Some(protocol::path(path)),
            _ => None,
        })
        .collect();
    let is_inside = |path: &[u8]| {
        let path = protocol::path(path);
        path.ancestors().any(|folder| writable.contains(folder))
    };
    // The mounts need descriptors as well.
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4;
    let mut covered = Vec::new();
    for mount in mounts {
        let (Mount::Read(path) | Mount::Pin(path)) = mount else {
            continue;
        };
        if is_inside(path) {
            let file = opened(path)?;
            let facts = file.metadata()?;
            let is_kept = (covered.len() as u64) < most;
            covered.push(Covered {
                path: path.clone(),
                numbers: (facts.dev(), facts.ino()),
                _file: is_kept.then_some(file),
            });
        }
    }
    Ok(covered)
}

/// Starts the command and waits for its processes. Returns how many could not be ended.
fn run(control: &mut UnixStream, spec: &Spec, locks: &mut Vec<OwnedFd>) -> Result<u32, Report> {
    let at = |step| move |error: io::Error| refused(step, &error);
    let group = Group::new(spec);
    if !group.limits_processes() && !stage::limits_processes(spec) {
        let note = protocol::frame(&Report::ProcessesUnlimited).map_err(at(Step::Spec))?;
        let _ = control.write_all(&note);
    }
    let others = stage::others(spec);
    let (reports, reporter) = io::pipe().map_err(at(Step::Fork))?;
    let leader = match sys::fork().map_err(at(Step::Fork))? {
        Forked::Child => {
            group.join();
            drop(reports);
            locks.clear();
            let error = become_command(spec, others, &reporter);
            let _ = protocol::frame(&error).and_then(|frame| (&reporter).write_all(&frame));
            sys::leave(125)
        }
        Forked::Parent(pid) => pid,
    };
    drop(reporter);
    silence();
    let end = follow(control, &reports, leader, spec);
    let (left, late) = sweep::end_all(&group, leader);
    // All reports are in the pipe now.
    forward_rest(control, reports);
    // In namespaces, the first process there reports the exact end.
    if spec.namespaces.is_none()
        && let Some(end) = end.or(late)
        && let Ok(frame) = protocol::frame(&Report::Ended(end))
    {
        let _ = control.write_all(&frame);
    }
    Ok(left)
}

/// Becomes the command, in the new process. Returns only if something failed.
fn become_command(spec: &Spec, others: u64, reporter: &io::PipeWriter) -> Report {
    if let Err(error) = standard_input(spec) {
        return refused(Step::Input, &error);
    }
    let Some(namespaces) = &spec.namespaces else {
        return stage::start(spec, others, reporter);
    };
    match &namespaces.builder {
        #[cfg(target_os = "linux")]
        Builder::Kernel => super::namespaces::enter(spec, namespaces, reporter),
        #[cfg(target_os = "linux")]
        Builder::Bwrap { program, helper } => {
            match start_bwrap(spec, namespaces, program, helper, reporter) {
                Ok(never) => match never {},
                Err(error) => refused(Step::Namespaces, &error),
            }
        }
        #[cfg(not(target_os = "linux"))]
        _ => refused(Step::Namespaces, &io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(target_os = "linux")]
fn start_bwrap(
    spec: &Spec,
    namespaces: &Namespaces,
    program: &[u8],
    helper: &[u8],
    reporter: &io::PipeWriter,
) -> io::Result<std::convert::Infallible> {
    let mut inner = spec.clone();
    inner.stdin = None;
    for mount in &namespaces.mounts {
        if let Mount::Read(path) | Mount::Write(path) = mount {
            let (device, inode) = numbers(path)?;
            inner.mounted.push((path.clone(), device, inode));
        }
    }
    let mut message = anonymous_file()?;
    message.write_all(&protocol::frame(&inner)?)?;
    message.rewind()?;
    // These two stay open in `bwrap`, which passes on descriptors that it does not know.
    let message = rustix::io::fcntl_dupfd_cloexec(&message, 10)?;
    let reporter = rustix::io::fcntl_dupfd_cloexec(reporter, 10)?;
    for fd in [&message, &reporter] {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
    }
    let number = |fd: &OwnedFd| std::os::fd::AsRawFd::as_raw_fd(fd).to_string();
    // Texts are passed as files without a name, which stay open as well.
    let mut texts = Vec::new();
    let mut text = |content: &[u8]| {
        let mut file = anonymous_file()?;
        file.write_all(content)?;
        file.rewind()?;
        let file = rustix::io::fcntl_dupfd_cloexec(&file, 10)?;
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
        let shown = number(&file);
        texts.push(file);
        Ok(shown)
    };
    let arguments = crate::bwrap::arguments(namespaces, helper, &mut text)?;
    let mut command = Command::new(protocol::path(program));
    command.args(arguments.iter().map(|word| protocol::path(word)));
    command.args([ARGUMENT, "inside", &number(&message), &number(&reporter)]);
    Err(command.env_clear().exec())
}

/// Runs as the first process in the namespaces that `bwrap` made.
pub(super) fn inside(message: &str, reporter: &str) -> i32 {
    sys::reset_signals();
    let (Ok(message), Ok(reporter)) = (message.parse(), reporter.parse()) else {
        return 125;
    };
    let mut message = File::from(sys::take(message));
    let reporter = io::PipeWriter::from(sys::take(reporter));
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let spec: Spec = match protocol::read_frame(&mut message) {
        Ok(spec) => spec,
        Err(error) => {
            say(&reporter, &refused(Step::Spec, &error));
            return 125;
        }
    };
    drop(message);
    #[cfg(target_os = "linux")]
    if let Err(error) = check_mounts(&spec) {
        // It is inside, so this is not a reason to try again with fewer layers.
        say(&reporter, &Report::Inside);
        say(&reporter, &refused(Step::Mount, &error));
        return 125;
    }
    first_process(&spec, &reporter)
}

/// Returns the device and inode of a path, in which no part may be a link.
fn numbers(path: &[u8]) -> io::Result<(u64, u64)> {
    let facts = opened(path)?.metadata()?;
    Ok((facts.dev(), facts.ino()))
}

/// Opens a path, in which no part may be a link but the last.
fn opened(path: &[u8]) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    return Ok(super::namespaces::open(&protocol::path(path))?.into());
    #[cfg(not(target_os = "linux"))]
    File::open(protocol::path(path))
}

/// Fails if `bwrap` mounted something else: it follows links, and a command of another run may have
/// replaced a folder by one in the meantime.
#[cfg(target_os = "linux")]
fn check_mounts(spec: &Spec) -> io::Result<()> {
    for (path, device, inode) in &spec.mounted {
        if numbers(path).ok() != Some((*device, *inode)) {
            let path = protocol::path(path);
            let why = format!("`{}` changed while it was mounted", path.display());
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

/// Sends a report; a host that is gone needs none.
pub(super) fn say(reporter: &io::PipeWriter, report: &Report) {
    let _ = protocol::frame(report).and_then(|frame| (&*reporter).write_all(&frame));
}

/// As the first process in the namespaces, starts the command and reports how it ended. Every other
/// process of the namespace ends with this one. Returns the exit code.
pub(super) fn first_process(spec: &Spec, reporter: &io::PipeWriter) -> i32 {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    say(reporter, &Report::Inside);
    let leader = match sys::fork() {
        Ok(Forked::Child) => {
            say(reporter, &stage::start(spec, 0, reporter));
            sys::leave(125)
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(error) => {
            say(reporter, &refused(Step::Fork, &error));
            return 125;
        }
    };
    silence();
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => {
                if let Some(end) = end_of(status) {
                    say(reporter, &Report::Ended(end));
                    return 0;
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 125,
        }
    }
}

/// Waits until the leader has ended, or has to be ended.
fn follow(
    control: &mut UnixStream,
    reports: &io::PipeReader,
    leader: Pid,
    spec: &Spec,
) -> Option<End> {
    let watch = sweep::watch(leader);
    let mut reports = Some(reports);
    let mut until: Option<Instant> = None;
    loop {
        while let Some((pid, status)) = sweep::reap() {
            if pid == leader {
                return end_of(status);
            }
        }
        let now = Instant::now();
        if until.is_some_and(|until| until <= now) {
            return None;
        }
        let wait = until.map_or(TICK, |until| until - now).min(TICK);
        let (commanded, reported) = wait_for(control, reports, watch.as_ref(), wait);
        if reported && let Some(pipe) = reports {
            let mut buffer = [0; 4096];
            match (&mut &*pipe).read(&mut buffer) {
                Ok(0) | Err(_) => reports = None,
                Ok(count) => drop(control.write_all(&buffer[..count])),
            }
        }
        if commanded {
            let mut byte = [0];
            match control.read(&mut byte) {
                Ok(1) if byte[0] == END && until.is_none() => {
                    until = Some(Instant::now() + Duration::from_millis(spec.limits.grace_ms));
                    // The outer and the first process of a namespace would take all with them.
                    sweep::ask_to_end(if spec.namespaces.is_some() { 2 } else { 0 });
                }
                Ok(1) => {}
                // The host is gone, or cancels the grace period.
                _ => return None,
            }
        }
    }
}

/// Waits for a message of the host, a report, or the end of the leader.
fn wait_for(
    control: &UnixStream,
    reports: Option<&io::PipeReader>,
    watch: Option<&OwnedFd>,
    wait: Duration,
) -> (bool, bool) {
    let mut fds = vec![PollFd::new(control, PollFlags::IN)];
    fds.extend(reports.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    fds.extend(watch.map(|fd| PollFd::new(fd, PollFlags::IN)));
    // Without a descriptor for the leader, its end is polled.
    let wait = if watch.is_some() {
        wait
    } else {
        wait.min(Duration::from_millis(5))
    };
    let Ok(timeout) = Timespec::try_from(wait) else {
        return (false, false);
    };
    let _ = poll(&mut fds, Some(&timeout));
    let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    (ready(0), reports.is_some() && ready(1))
}

/// Forwards the rest of the pipe without waiting for a process that could not be ended.
fn forward_rest(control: &mut UnixStream, reports: io::PipeReader) {
    let mut rest = Vec::new();
    let _ = rustix::io::ioctl_fionbio(&reports, true);
    let _ = reports.take(1 << 20).read_to_end(&mut rest);
    let _ = control.write_all(&rest);
}

/// Replaces the control socket with the standard input of the command.
fn standard_input(spec: &Spec) -> io::Result<()> {
    let input = match &spec.stdin {
        None => File::open("/dev/null")?,
        Some(bytes) => {
            let mut file = anonymous_file()?;
            file.write_all(bytes)?;
            file.rewind()?;
            file
        }
    };
    Ok(rustix::stdio::dup2_stdin(input.as_fd())?)
}

/// Creates a file without a name.
fn anonymous_file() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::memfd_create("prowess", rustix::fs::MemfdFlags::CLOEXEC)?.into());
    #[cfg(not(target_os = "linux"))]
    {
        let name = format!("/tmp/prowess-input-{}", std::process::id());
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name)?;
        std::fs::remove_file(&name)?;
        Ok(file)
    }
}

/// Closes the command's streams here, so that the host sees their end when the command closes them.
pub(super) fn silence() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Returns the end of a process, if it has ended.
pub(super) fn end_of(status: WaitStatus) -> Option<End> {
    status
        .exit_status()
        .map(End::Code)
        .or_else(|| status.terminating_signal().map(End::Signal))
}

pub(super) fn refused(step: Step, error: &io::Error) -> Report {
    let detail = error.to_string().into();
    Report::Refused {
        step,
        errno: error.raw_os_error().unwrap_or(0),
        detail,
    }
}

/// The control group of the command.
#[cfg(target_os = "linux")]
pub(super) use super::cgroup::Group;

#[cfg(not(target_os = "linux"))]
pub(super) struct Group;

#[cfg(not(target_os = "linux"))]
impl Group {
    fn new(_: &Spec) -> Self {
        Self
    }

    fn limits_processes(&self) -> bool {
        false
    }

    fn join(&self) {}

    pub(super) fn kill(&self) {}
}
