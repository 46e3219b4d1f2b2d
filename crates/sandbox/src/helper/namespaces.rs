//! Layer 2 with the kernel's own namespaces: no other program is needed.
//!
//! Three processes are involved. The *outer* one enters the new namespaces and stays in the old
//! process namespace; it ends when the inner one does. The *inner* one is the first process of the
//! new process namespace: it builds the root folder, drops its capabilities and starts the command.
//! The kernel ends every process of the namespace with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsmount, fsopen, mount, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{DumpableBehavior, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::supervise::{self, refused};
use crate::capabilities;
use crate::error::Step;
use crate::protocol::{self, Mount, Namespaces, Report, Spec};
use crate::sys::{self, Forked, MountAttributes};

/// Size of each folder that exists only inside, in bytes.
const SCRATCH_OPTIONS: &std::ffi::CStr = c"mode=1777,size=1073741824";

/// Devices of the host that exist inside.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Enters the namespaces and starts the command in them. Returns only if that failed.
pub(super) fn enter(spec: &Spec, wanted: &Namespaces, reporter: &io::PipeWriter) -> Report {
    if let Err(error) = unshare(wanted.network) {
        return Report::NoNamespaces(error);
    }
    let inner = match sys::fork() {
        Ok(Forked::Child) => {
            let code = match root(wanted, reporter) {
                Ok(()) => supervise::first_process(spec, reporter),
                Err(report) => {
                    supervise::say(reporter, &report);
                    125
                }
            };
            sys::leave(code)
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(error) => return Report::NoNamespaces(reason("start a process in", &error)),
    };
    supervise::silence();
    loop {
        match rustix::process::waitpid(Some(inner), WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::CHILD) => sys::leave(0),
            Err(_) => {}
        }
    }
}

/// Moves this process into new namespaces in which it has its own user and group, and no others.
fn unshare(network: bool) -> Result<(), Box<str>> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    // The files below belong to root while a process cannot be dumped.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).map_err(|error| reason("create", &error))?;
    die_with_parent();
    let write = |file: &str, text: String| {
        let opened = OpenOptions::new().write(true).open(file);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| reason("map users into", &error))
    };
    let (user, group) = (user.as_raw(), group.as_raw());
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn reason(what: &str, error: &io::Error) -> Box<str> {
    format!("the kernel does not let this user {what} namespaces: {error}").into()
}

fn die_with_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// A host path that will be mounted.
struct Source {
    tree: OwnedFd,
    path: PathBuf,
}

/// Builds the root folder and makes it this process's own.
fn root(wanted: &Namespaces, reporter: &io::PipeWriter) -> Result<(), Report> {
    die_with_parent();
    let unavailable =
        |error: rustix::io::Errno| Report::NoNamespaces(reason("mount in its", &error.into()));
    let everything = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", everything).map_err(unavailable)?;
    // Host paths are opened before the host's root goes away.
    let mut sources = Vec::new();
    for step in &wanted.mounts {
        let source = match step {
            Mount::Read(path) | Mount::Write(path) | Mount::Pin(path) => {
                Some(clone_tree(&protocol::path(path))?)
            }
            _ => None,
        };
        sources.push(source);
    }
    let devices: Vec<Source> = DEVICES
        .iter()
        .filter_map(|name| clone_tree(&Path::new("/dev").join(name)).ok())
        .collect();
    // The kernel allows a new `/proc` only while the old one is in sight.
    let processes = if let Ok(tree) = proc() {
        tree
    } else {
        // A container that hides parts of `/proc` allows no new one.
        supervise::say(reporter, &Report::SharedProc);
        clone_tree(Path::new("/proc"))?.tree
    };

    // Any folder will do: it is covered only in this namespace.
    let cover = ["/tmp", "/usr", "/etc"]
        .into_iter()
        .find(|folder| Path::new(folder).is_dir());
    let cover = cover.unwrap_or("/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("none", cover, "tmpfs", flags, c"mode=755").map_err(unavailable)?;
    rustix::process::chdir(cover).map_err(unavailable)?;
    rustix::process::pivot_root(".", ".").map_err(unavailable)?;
    unmount(".", UnmountFlags::DETACH).map_err(unavailable)?;
    rustix::process::chdir("/").map_err(unavailable)?;
    rustix::process::umask(Mode::from_raw_mode(0o022));

    let mut closed = Vec::new();
    for (step, source) in wanted.mounts.iter().zip(sources) {
        let failed = |error: io::Error| failed(&step.to_string(), &error);
        match step {
            Mount::Link { path, target } => {
                let path = protocol::path(path);
                parents(&path).map_err(failed)?;
                std::os::unix::fs::symlink(protocol::path(target), path).map_err(failed)?;
            }
            Mount::Proc => {
                // Root owns the settings of the kernel there.
                sys::mount_set(&processes, MountAttributes::Kernel, true).map_err(failed)?;
                attach_at(&processes, Path::new("/proc")).map_err(failed)?;
            }
            Mount::Dev => {
                dev(&devices).map_err(failed)?;
                closed.push("/dev".into());
            }
            Mount::Scratch(path) => scratch(&protocol::path(path)).map_err(failed)?,
            Mount::Folder(path) => std::fs::create_dir_all(protocol::path(path)).map_err(failed)?,
            Mount::Text { path, content } => {
                let path = protocol::path(path);
                parents(&path).map_err(failed)?;
                std::fs::write(path, content).map_err(failed)?;
            }
            Mount::Read(_) | Mount::Pin(_) | Mount::Write(_) => {
                let Some(source) = source else { continue };
                let read_only = !matches!(step, Mount::Write(_));
                attach(&source, read_only).map_err(failed)?;
            }
            Mount::HideFolder(path) => {
                let path = protocol::path(path);
                tmpfs(&path, c"mode=755").map_err(failed)?;
                closed.push(path);
            }
            Mount::HideFile(path) => hide_file(&protocol::path(path)).map_err(failed)?,
        }
    }
    renew().map_err(|error| failed("/", &error))?;
    // A folder that hides something may contain one that is granted, so it is closed last.
    closed.push("/".into());
    for path in closed {
        let failed = |error: io::Error| failed(&path.display().to_string(), &error);
        let folder = open(&path).map_err(failed)?;
        sys::mount_set(&folder, MountAttributes::ReadOnly, false).map_err(failed)?;
    }
    rustix::process::umask(Mode::from_raw_mode(0o077));
    capabilities::empty_bounds()
        .and_then(|()| capabilities::drop_all())
        .map_err(|why| refused(Step::Capabilities, &io::Error::other(&*why)))
}

/// Replaces every mount by a copy of it.
///
/// A mount with a file open for writing cannot become read-only, and the kernel may still be closing
/// files that were created while the root folder was built. Nothing was ever written through the copies.
fn renew() -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let root = open(Path::new("/"))?;
    let copy = open_tree(&root, "", flags)?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&copy, "", &root, "", both)?;
    rustix::process::fchdir(&copy)?;
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

fn failed(what: &str, error: &io::Error) -> Report {
    refused(Step::Mount, &io::Error::other(format!("{what}: {error}")))
}

/// Opens a path without following a link anywhere in it: another run may write in a folder above.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    Ok(opened?)
}

/// Copies the mounts of a host path, attached nowhere yet.
fn clone_tree(path: &Path) -> Result<Source, Report> {
    let copy = || {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        Ok(open_tree(open(path)?, "", flags)?)
    };
    let tree = copy().map_err(|error: io::Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => Report::NoNamespaces(reason("mount in its", &error)),
        _ => failed(&path.display().to_string(), &error),
    })?;
    let path = path.to_owned();
    Ok(Source { tree, path })
}

/// Mounts a host path under its own name.
fn attach(source: &Source, read_only: bool) -> io::Result<()> {
    let attributes = if read_only {
        MountAttributes::ReadOnly
    } else {
        MountAttributes::Writable
    };
    sys::mount_set(&source.tree, attributes, true)?;
    attach_at(&source.tree, &source.path)
}

fn attach_at(tree: impl AsFd, path: &Path) -> io::Result<()> {
    let target = match open(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            parents(path)?;
            if rustix::fs::fstat(&tree)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
                std::fs::create_dir(path)?;
            } else {
                File::create_new(path)?;
            }
            open(path)?
        }
        Err(error) => return Err(error),
    };
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(&tree, "", &target, "", both)?)
}

/// Creates the folders above a path.
fn parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

fn tmpfs(path: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("none", path, "tmpfs", flags, options)?)
}

fn scratch(path: &Path) -> io::Result<()> {
    tmpfs(path, SCRATCH_OPTIONS)
}

/// Creates a `/proc` of this process namespace, attached nowhere yet.
fn proc() -> io::Result<OwnedFd> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(fsmount(&context, flags, MountAttrFlags::MOUNT_ATTR_NOEXEC)?)
}

fn dev(devices: &[Source]) -> io::Result<()> {
    let at =
        |what: &'static str| move |error: io::Error| io::Error::other(format!("{what}: {error}"));
    tmpfs(Path::new("/dev"), c"mode=755").map_err(at("tmpfs"))?;
    for device in devices {
        // Root owns these files, and they are the host's.
        sys::mount_set(&device.tree, MountAttributes::Device, false).map_err(at("device"))?;
        attach_at(&device.tree, &device.path).map_err(at("device"))?;
    }
    let links = [
        ("/proc/self/fd", "/dev/fd"),
        ("/proc/self/fd/0", "/dev/stdin"),
        ("/proc/self/fd/1", "/dev/stdout"),
        ("/proc/self/fd/2", "/dev/stderr"),
        ("pts/ptmx", "/dev/ptmx"),
    ];
    for (target, path) in links {
        std::os::unix::fs::symlink(target, path).map_err(at("link"))?;
    }
    std::fs::create_dir("/dev/pts").map_err(at("pts"))?;
    // Only root can have terminals of its own in its namespaces.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    let _ = mount("devpts", "/dev/pts", "devpts", flags, options);
    scratch(Path::new("/dev/shm")).map_err(at("shm"))
}

/// Covers a file with one that its owner cannot open.
fn hide_file(path: &Path) -> io::Result<()> {
    let empty = Path::new("/.prowess/hidden");
    parents(empty)?;
    if !empty.exists() {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o000)
            .open(empty)?;
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(open(empty)?, "", flags)?;
    sys::mount_set(&tree, MountAttributes::ReadOnly, false)?;
    attach_at(tree, path)
}
