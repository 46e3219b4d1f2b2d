//! The last steps before the command, in an order in which each one is still allowed: session,
//! limits, groups and user, capabilities, no new privileges, Landlock, seccomp.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::supervise::refused;
use crate::error::Step;
use crate::outcome::LayerState;
#[cfg(target_os = "linux")]
use crate::outcome::{Layer, LayerStatus};
use crate::protocol::{self, Identity, Report, Spec};
use crate::sys;

/// Becomes the command. Returns only if a step failed.
///
/// `others` are the processes that the user of the command already has.
pub(super) fn start(spec: &Spec, others: u64, reporter: &io::PipeWriter) -> Report {
    match steps(spec, others, reporter) {
        Ok(never) => match never {},
        Err(report) => report,
    }
}

fn steps(
    spec: &Spec,
    others: u64,
    reporter: &io::PipeWriter,
) -> Result<std::convert::Infallible, Report> {
    let at = |step| move |error: io::Error| refused(step, &error);
    // The call fails if this process leads a session already.
    let _ = rustix::process::setsid();
    reopen_null().map_err(at(Step::Input))?;
    limits(spec, others).map_err(at(Step::Limits))?;
    sys::close_from_at_start(3);
    let bounds = empty_bounds(spec);
    identity(spec).map_err(at(Step::Identity))?;
    std::env::set_current_dir(protocol::path(&spec.cwd)).map_err(at(Step::WorkingFolder))?;

    let mut layers = spec.layers.clone();
    confine(spec, bounds, &mut layers)?;

    let ready = protocol::frame(&Report::Ready(layers)).map_err(at(Step::Spec))?;
    (&*reporter).write_all(&ready).map_err(at(Step::Spec))?;
    let mut words = spec.words.iter().map(|word| OsStr::from_bytes(word));
    let mut command = Command::new(protocol::path(&spec.program));
    if let Some(name) = words.next() {
        command.arg0(name);
    }
    command.args(words).env_clear();
    command.envs(
        spec.environment
            .iter()
            .map(|(n, v)| (OsStr::from_bytes(n), OsStr::from_bytes(v))),
    );
    Err(refused(Step::Program, &command.exec()))
}

/// Opens the empty standard input once more, as it is in the namespaces of the command: there
/// `/dev/null` is on a mount that cannot be changed. The descriptor of the host's mount would let a
/// command of root change the mode of the device.
fn reopen_null() -> io::Result<()> {
    let facts = rustix::fs::fstat(rustix::stdio::stdin())?;
    let kind = rustix::fs::FileType::from_raw_mode(facts.st_mode);
    // Input that was given is a file without a name.
    if kind != rustix::fs::FileType::CharacterDevice {
        return Ok(());
    }
    let null = std::fs::File::open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdin(&null)?)
}

/// Applies the one part of layer 1 that needs privileges of the old user.
fn empty_bounds(spec: &Spec) -> Result<(), Box<str>> {
    #[cfg(target_os = "linux")]
    if spec.capabilities {
        return crate::capabilities::empty_bounds();
    }
    let _ = spec;
    Ok(())
}

/// Applies layer 1.
#[cfg(target_os = "linux")]
fn confine(
    spec: &Spec,
    bounds: Result<(), Box<str>>,
    layers: &mut Vec<LayerState>,
) -> Result<(), Report> {
    use crate::{capabilities, landlock, seccomp};

    let mut done = |layer, result: Result<(), Box<str>>| {
        let state = match result {
            Ok(()) => LayerStatus::On,
            Err(why) => LayerStatus::Missing(why),
        };
        let state = LayerState { layer, state };
        if spec.strict && state.state != LayerStatus::On {
            return Err(Report::Missing(state));
        }
        layers.push(state);
        Ok(())
    };
    if spec.capabilities {
        done(
            Layer::Capabilities,
            bounds.and_then(|()| capabilities::drop_all()),
        )?;
    }
    if let Some(rules) = &spec.landlock {
        done(Layer::Landlock, landlock::apply(rules))?;
    }
    if let Some(open) = spec.seccomp {
        done(Layer::Seccomp, seccomp::apply(open))?;
    }
    Ok(())
}

/// Other systems apply nothing from inside.
#[cfg(not(target_os = "linux"))]
fn confine(_: &Spec, _: Result<(), Box<str>>, _: &mut Vec<LayerState>) -> Result<(), Report> {
    Ok(())
}

fn limits(spec: &Spec, others: u64) -> io::Result<()> {
    let limits = &spec.limits;
    lower(Resource::Core, 0)?;
    lower(Resource::Cpu, limits.cpu_seconds)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    lower(Resource::Nproc, limits.processes.saturating_add(others))?;
    // macOS has no limit of the address space.
    #[cfg(target_os = "linux")]
    lower(Resource::As, limits.memory_bytes)?;
    Ok(())
}

/// Sets a limit, unless there is already a lower one.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(
        resource,
        Rlimit {
            current: Some(most),
            maximum: Some(most),
        },
    )?)
}

#[cfg(target_os = "linux")]
fn identity(spec: &Spec) -> io::Result<()> {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

    let Some(Identity::Fixed(user, group)) = spec.identity else {
        return Ok(());
    };
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    // These apply to the calling thread; the helper has no other.
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn identity(spec: &Spec) -> io::Result<()> {
    if spec.identity.is_some() {
        Err(io::ErrorKind::Unsupported.into())
    } else {
        Ok(())
    }
}

/// Returns `true` if the limit of processes applies to the command. It does not apply to root.
pub(super) fn limits_processes(spec: &Spec) -> bool {
    let root = rustix::process::getuid().is_root();
    spec.identity
        .map_or(!root, |identity| identity != Identity::Fixed(0, 0))
}

/// Counts the processes and threads that the user of the command already has. They count towards
/// the limit, except in namespaces, where the kernel starts from zero.
pub(super) fn others(spec: &Spec) -> u64 {
    #[cfg(target_os = "linux")]
    if limits_processes(spec) && spec.namespaces.is_none() {
        use std::os::unix::fs::MetadataExt;
        let user = match spec.identity {
            Some(Identity::Fixed(user, _)) => user,
            _ => rustix::process::getuid().as_raw(),
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        return processes
            .filter_map(|process| process.path().join("task").metadata().ok())
            .filter(|facts| facts.uid() == user)
            .map(|facts| facts.nlink().saturating_sub(2))
            .sum();
    }
    let _ = spec;
    0
}
