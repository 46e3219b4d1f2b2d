//! The few system calls that no safe crate offers.
#![allow(
    unsafe_code,
    reason = "fork, close_range and signal dispositions have no safe wrapper"
)]

use std::io;

use rustix::process::Pid;

/// The two sides of a fork.
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks. The caller must be the only thread of its process: the helper is, because it forks before
/// anything could start one.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: the helper never starts a thread, so no lock can be held by a thread that the child
    // lacks, and the child may allocate and use std like any process.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or(io::ErrorKind::Other.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Exits without running exit handlers of the parent.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes any value and does not return.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call has no pointers. The owners of the descriptors must not use them
        // afterwards; the helper calls this before it opens any.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
        if done == 0 {
            return;
        }
    }
    for fd in open_from(first) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Marks every descriptor from `first` on to be closed when a program is started.
pub(crate) fn close_from_at_start(first: u32) {
    #[cfg(target_os = "linux")]
    {
        const CLOEXEC: u32 = 4;
        // SAFETY: the call has no pointers and closes nothing now.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    for fd in open_from(first) {
        // SAFETY: setting a flag of a descriptor that may not be open any more does no harm.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Resets and unblocks every signal. Otherwise the settings of the host program are inherited, and
/// an ignored SIGCHLD would lose the status of the command.
pub(crate) fn reset_signals() {
    for signal in 1..32 {
        // SAFETY: setting the default disposition installs no code; for KILL and STOP it fails.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is initialised by `sigemptyset` before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    // SAFETY: as above; std ignores SIGPIPE for the same reason: a closed pipe is an error value.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Returns the open descriptors from `first` on, or every possible number if they cannot be listed.
fn open_from(first: u32) -> Vec<i32> {
    let listed = ["/proc/self/fd", "/dev/fd"].iter().find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?;
        Some(
            entries
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .collect(),
        )
    });
    let all: Vec<i32> = listed.unwrap_or_else(|| (0..4096).collect());
    all.into_iter()
        .filter(|fd| u32::try_from(*fd).is_ok_and(|fd| fd >= first))
        .collect()
}

/// Takes ownership of a descriptor whose number the parent process passed.
pub(crate) fn take(number: i32) -> std::os::fd::OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the parent process passed this number for this program to own, and nothing else here
    // uses it. If it is not open, its first use fails.
    unsafe { std::os::fd::OwnedFd::from_raw_fd(number) }
}

/// Moves this process into new namespaces.
#[cfg(target_os = "linux")]
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    // SAFETY: the file table stays shared, which is what the function warns of; the helper has no
    // other thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Attributes that a mount gets in addition to those it has.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountAttributes {
    /// No set-user-id programs, no devices.
    Writable,
    /// The same, and read-only.
    ReadOnly,
    /// Read-only, no programs at all, no devices.
    Kernel,
    /// Read-only, which concerns the file of a device and not the device; no programs.
    Device,
}

/// Sets attributes of a mount, and of the mounts below it if `recursive`.
#[cfg(target_os = "linux")]
pub(crate) fn mount_set(
    mount: impl std::os::fd::AsFd,
    attributes: MountAttributes,
    recursive: bool,
) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    const READ_ONLY: u64 = 0x1;
    const NO_SET_USER: u64 = 0x2;
    const NO_DEVICES: u64 = 0x4;
    const NO_PROGRAMS: u64 = 0x8;
    const RECURSIVE: i32 = 0x8000;

    let set = match attributes {
        MountAttributes::Writable => NO_SET_USER | NO_DEVICES,
        MountAttributes::ReadOnly => NO_SET_USER | NO_DEVICES | READ_ONLY,
        MountAttributes::Kernel => NO_SET_USER | NO_DEVICES | NO_PROGRAMS | READ_ONLY,
        MountAttributes::Device => NO_SET_USER | NO_PROGRAMS | READ_ONLY,
    };
    // Set, clear, propagation, user namespace.
    let request: [u64; 4] = [set, 0, 0, 0];
    let flags = libc::AT_EMPTY_PATH | if recursive { RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the structure has four fields of 64 bits that live through
    // the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            request.as_ptr(),
            size_of_val(&request),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
