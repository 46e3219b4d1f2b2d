//! The attacks.
#![allow(
    unsafe_code,
    reason = "some attacks are system calls without a wrapper"
)]
#![allow(clippy::print_stdout, reason = "its output is all this program is for")]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

pub(crate) fn main() {
    for request in std::env::args().skip(1) {
        let (name, argument) = request.split_once('=').unwrap_or((&request, ""));
        match attack(name, argument) {
            Ok(()) => println!("{name} works"),
            Err(error) => println!("{name} blocked ({error})"),
        }
    }
}

fn attack(name: &str, argument: &str) -> io::Result<()> {
    let path = Path::new(argument);
    let beside = |suffix: &str| format!("{argument}{suffix}");
    match name {
        "git-head" => std::fs::remove_file(path).and_then(|()| File::create(path).map(drop)),
        "write" | "git-config" | "git-commondir" | "git-hook" => {
            OpenOptions::new().append(true).open(path)?.write_all(b"x")
        }
        "create" => {
            File::create_new(beside(".created"))?;
            std::fs::remove_file(beside(".created"))
        }
        "truncate" => truncate(path),
        "rename" => std::fs::rename(path, beside(".renamed"))
            .and_then(|()| std::fs::rename(beside(".renamed"), path)),
        "remove" => std::fs::remove_file(path).and_then(|()| File::create(path).map(drop)),
        "hard-link" => std::fs::hard_link(path, beside(".linked"))
            .and_then(|()| std::fs::remove_file(beside(".linked"))),
        "chmod" => {
            let mode = path.metadata()?.permissions().mode() ^ 0o001;
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode))
        }
        "utime" => touch(path),
        "chown" => std::os::unix::fs::chown(path, Some(12345), None),
        "read" | "read-shadow" => {
            let mut byte = [0];
            File::open(path)?.read_exact(&mut byte)
        }
        "read-environment" => {
            let text = std::fs::read(format!("/proc/{argument}/environ"))?;
            found(text.windows(13).any(|part| part == b"PROWESS_TEST_"))
        }
        "see-variables" => found(
            std::env::vars_os().any(|(name, _)| name.as_bytes().starts_with(b"PROWESS_TEST_")),
        ),
        "through-root" => OpenOptions::new()
            .append(true)
            .open(format!("/proc/{argument}"))?
            .write_all(b"x"),
        "tcp" => TcpStream::connect(argument).map(drop),
        "udp" => {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.send_to(b"x", argument).map(drop)
        }
        "abstract-socket" => {
            let address = SocketAddr::from_abstract_name(argument)?;
            UnixStream::connect_addr(&address).map(drop)
        }
        "path-socket" => UnixStream::connect(path).map(drop),
        // Either end of a pair of datagram sockets can send anywhere.
        "datagram-pair" => {
            let (one, _other) = UnixDatagram::pair()?;
            one.send_to(b"x", path).map(drop)
        }
        "shared-memory-make" => {
            let key = argument.parse().map_err(io::Error::other)?;
            // SAFETY: the call has no pointers.
            check(unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o666) })
        }
        "shared-memory" => {
            let key = argument.parse().map_err(io::Error::other)?;
            // SAFETY: the call has no pointers.
            let segment = unsafe { libc::shmget(key, 0, 0) };
            check(segment)?;
            // SAFETY: the kernel chooses the address of the mapping, which nothing here touches.
            let memory = unsafe { libc::shmat(segment, std::ptr::null(), 0) };
            check(if memory.addr() == usize::MAX { -1 } else { 0 })
        }
        "shared-memory-remove" => {
            let key = argument.parse().map_err(io::Error::other)?;
            // SAFETY: neither call reads or writes memory of this process.
            check(unsafe {
                let segment = libc::shmget(key, 0, 0);
                libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut())
            })
        }
        // Called without a buffer: any other error than a refusal shows that the kernel was reached.
        "open-tree-attr" | "statmount" | "listmount" => {
            let number = match name {
                "open-tree-attr" => 467,
                "statmount" => 457,
                _ => 458,
            };
            // SAFETY: every pointer is null, which the kernel reports as an error.
            unsafe { libc::syscall(number, 0, 0, 0, 0, 0) };
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EPERM | libc::ENOSYS) => Err(error),
                _ => Ok(()),
            }
        }
        "look" => path.symlink_metadata().map(drop),
        "signal" => {
            let pid = argument.parse().map_err(io::Error::other)?;
            // SAFETY: signal 0 only asks whether one may be sent.
            check(unsafe { libc::kill(pid, 0) })
        }
        "limits" => {
            let pid: i32 = argument.parse().map_err(io::Error::other)?;
            let mut now = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            let none = std::ptr::null();
            // SAFETY: the pointers are null or lead to a live value. The limit stays as it is.
            unsafe {
                check(libc::prlimit(pid, libc::RLIMIT_CORE, none, &raw mut now))?;
                let old = std::ptr::null_mut();
                check(libc::prlimit(pid, libc::RLIMIT_CORE, &raw const now, old))
            }
        }
        "priority" => {
            let pid: u32 = argument.parse().map_err(io::Error::other)?;
            // SAFETY: the calls have no pointers. The priority stays as it is.
            unsafe {
                let now = libc::getpriority(libc::PRIO_PROCESS, pid);
                check(libc::setpriority(libc::PRIO_PROCESS, pid, now))
            }
        }
        "affinity" => {
            let pid: i32 = argument.parse().map_err(io::Error::other)?;
            // SAFETY: all zeroes are a valid value.
            let mut now: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            let size = size_of_val(&now);
            // SAFETY: both calls take a pointer to a live value and its size.
            unsafe {
                check(libc::sched_getaffinity(pid, size, &raw mut now))?;
                check(libc::sched_setaffinity(pid, size, &raw const now))
            }
        }
        "device-mode" => {
            // SAFETY: the path is a C string. The mode stays as it is.
            check(unsafe { libc::chmod(c"/dev/full".as_ptr(), 0o666) })
        }
        "input-mode" => {
            // SAFETY: the descriptor is the standard input. The mode stays as it is.
            check(unsafe { libc::fchmod(0, 0o666) })
        }
        "ptrace" => {
            let pid: i32 = argument.parse().map_err(io::Error::other)?;
            // SAFETY: seizing changes nothing in the other process, and ends with this one.
            let done = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
            check(if done == 0 { 0 } else { -1 })
        }
        "host-name" => {
            let name = host_name();
            // SAFETY: pointer and length belong to one live buffer.
            check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })
        }
        "clock" => {
            // SAFETY: all zeroes are a valid value.
            let mut now: libc::timespec = unsafe { std::mem::zeroed() };
            // SAFETY: both calls take a pointer to a live value.
            unsafe {
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
                check(libc::clock_settime(libc::CLOCK_REALTIME, &raw const now))
            }
        }
        "mount" => mounted(path, c"none", c"tmpfs", 0),
        // The folder itself, which is empty: nothing of worth is ever in two places.
        "bind" => {
            let source = std::ffi::CString::new(argument)?;
            mounted(path, &source, c"", libc::MS_BIND)
        }
        // SAFETY: a new namespace for this process is all it does.
        "user-namespace" => check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }),
        // SAFETY: a new namespace for this process is all it does.
        "mount-namespace" => check(unsafe { libc::unshare(libc::CLONE_NEWNS) }),
        "io-uring" => {
            let mut parameters = [0_u8; 120];
            // SAFETY: the structure has 120 bytes, all of which may be zero.
            let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
            check(if fd < 0 { -1 } else { 0 })
        }
        "keyctl" => {
            // SAFETY: asks for the number of the session's key ring, and has no pointers.
            let key = unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) };
            check(if key < 0 { -1 } else { 0 })
        }
        "bpf" => {
            let attributes = [1_u32; 4];
            // SAFETY: makes a map of one entry from 16 readable bytes.
            let fd = unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_ptr(), 16) };
            // An unknown kind of map is refused by bpf itself: then the call was let through.
            let let_through = io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
            check(if fd >= 0 || let_through { 0 } else { -1 })
        }
        "set-user-bit" => {
            File::create(path)?;
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o4755))
        }
        "set-user-made" => {
            let _ = std::fs::remove_file(path);
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o4755)
                .open(path)?;
            found(file.metadata()?.permissions().mode() & 0o4000 != 0)
        }
        "device" => {
            let target = std::ffi::CString::new(argument)?;
            // SAFETY: the path is a C string; device 1:3 is the null device.
            let done = unsafe { libc::mknod(target.as_ptr(), libc::S_IFCHR | 0o600, 0x0103) };
            check(done).and_then(|()| std::fs::remove_file(path))
        }
        "capability" => {
            let status = std::fs::read_to_string("/proc/self/status")?;
            let mut sets = status.lines().filter(|line| line.starts_with("Cap"));
            found(sets.any(|line| {
                line.bytes()
                    .skip(7)
                    .any(|byte| byte.is_ascii_hexdigit() && byte != b'0')
            }))
        }
        "new-privileges" => {
            let status = std::fs::read_to_string("/proc/self/status")?;
            found(status.lines().any(|line| line == "NoNewPrivs:\t0"))
        }
        "descriptors" => {
            let open = std::fs::read_dir("/proc/self/fd")?.count();
            // The three streams, and the one that reads the folder.
            found(open > 4)
        }
        "x32" => {
            // SAFETY: the call number of getpid in the second numbering; it has no arguments.
            let pid = unsafe { libc::syscall(0x4000_0000 + libc::SYS_getpid) };
            check(if pid < 0 { -1 } else { 0 })
        }
        _ => Err(io::Error::other("no such attack")),
    }
}

fn check(done: i32) -> io::Result<()> {
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn found(yes: bool) -> io::Result<()> {
    if yes {
        Ok(())
    } else {
        Err(io::Error::other("nothing found"))
    }
}

/// Mounts on an empty folder and unmounts at once. Clean-up would remove the files of a mount that
/// stays.
fn mounted(on: &Path, source: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    if std::fs::read_dir(on).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(io::Error::other("not an empty folder"));
    }
    let on = std::ffi::CString::new(on.as_os_str().as_bytes())?;
    // SAFETY: every pointer is a C string that lives through the call.
    let done = unsafe {
        libc::mount(
            source.as_ptr(),
            on.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
    check(done)?;
    // SAFETY: as above.
    check(unsafe { libc::umount2(on.as_ptr(), libc::MNT_DETACH) })
}

fn truncate(path: &Path) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string that lives through the call.
    check(unsafe { libc::truncate(path.as_ptr(), 0) })
}

fn host_name() -> Vec<u8> {
    std::fs::read("/proc/sys/kernel/hostname")
        .unwrap_or_default()
        .trim_ascii_end()
        .to_vec()
}

/// Sets both times through the path: through an open file it would be the opening that is refused.
fn touch(path: &Path) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string; no times mean now.
    check(unsafe { libc::utimes(path.as_ptr(), std::ptr::null()) })
}
