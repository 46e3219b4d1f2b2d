//! Messages between the host program and the helper.
//!
//! Both are the same program, so the format may change with every version. Messages are sent over a
//! descriptor, because other processes can read the arguments and the environment of a process.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Step;
use crate::outcome::{End, LayerState};

/// Largest message in bytes.
const MAX_MESSAGE: usize = 256 << 20;

/// The byte with which the host asks the helper to end the command.
pub(crate) const END: u8 = b'T';

/// A path or a word as bytes: neither has to be UTF-8.
pub(crate) type Bytes = Vec<u8>;

/// Work for the helper.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) program: Bytes,
    pub(crate) words: Vec<Bytes>,
    pub(crate) environment: Vec<(Bytes, Bytes)>,
    pub(crate) cwd: Bytes,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) limits: Limits,
    /// The user and group to become.
    pub(crate) identity: Option<Identity>,
    /// Drop every capability.
    pub(crate) capabilities: bool,
    pub(crate) landlock: Option<Landlock>,
    pub(crate) seccomp: Option<Seccomp>,
    /// The namespaces to build, if the command gets its own.
    pub(crate) namespaces: Option<Namespaces>,
    /// The folder in which to create a scratch folder, unless the command has its own `/tmp`.
    pub(crate) scratch: Option<Bytes>,
    /// Protected paths that do not exist.
    pub(crate) stubs: Vec<Stub>,
    /// The repository that the command may write.
    pub(crate) written: Option<Written>,
    /// The repositories that are inspected after the run.
    pub(crate) inspected: Vec<Inspected>,
    /// The home folder, if the command may write all of it.
    pub(crate) home: Option<Bytes>,
    /// The host paths that `bwrap` has to mount, by device and inode.
    pub(crate) mounted: Vec<(Bytes, u64, u64)>,
    /// The layers whose state is already known.
    pub(crate) layers: Vec<LayerState>,
    /// Refuse to run if a layer cannot be applied.
    pub(crate) strict: bool,
}

/// A repository that the command may write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// The working tree of the command.
    pub(crate) tree: Bytes,
    /// The other working trees of the same index, which a `.git` file in each of them names.
    pub(crate) others: Vec<Bytes>,
    /// The folder with its index.
    pub(crate) own: Bytes,
    /// The folder with its submodules.
    pub(crate) common: Bytes,
    /// Length of an object's name in bytes.
    pub(crate) hash: u8,
}

/// A repository with a working tree in or around a writable folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inspected {
    /// The folder with its index.
    pub(crate) own: Bytes,
    /// Length of an object's name in bytes.
    pub(crate) hash: u8,
    /// Its working trees.
    pub(crate) trees: Vec<Bytes>,
    /// The writable folders.
    pub(crate) writable: Vec<Bytes>,
    /// The submodules of its index.
    pub(crate) links: Vec<Bytes>,
    /// Repositories in the places of tracked files.
    pub(crate) replaced: Vec<(Bytes, Option<PlaceId>)>,
    /// The command may write its git folder.
    pub(crate) is_written: bool,
}

/// The device and inode of a folder and of the `.git` in it.
pub(crate) type PlaceId = [(u64, u64); 2];

/// A protected path that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stub {
    pub(crate) path: Bytes,
    pub(crate) kind: StubKind,
}

/// The way in which a path that does not exist is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StubKind {
    /// An empty file is created, mounted read-only inside, and removed afterwards.
    File,
    /// The same with an empty folder.
    Folder,
    /// No placeholder is possible. A file that exists there after the run is removed.
    Absent,
}

/// The user and group of a command that has no namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Identity {
    /// Numbers derived from the helper's process id, which no other process has.
    Unused,
    /// Numbers that the host program chose.
    Fixed(u32, u32),
}

/// The namespaces of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Namespaces {
    pub(crate) builder: Builder,
    /// The steps that build the root folder, in order.
    pub(crate) mounts: Vec<Mount>,
    /// Share the host's network.
    pub(crate) network: bool,
}

/// The program that builds the namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Builder {
    /// The helper itself.
    Kernel,
    /// `bwrap`, which then starts the helper inside.
    Bwrap { program: Bytes, helper: Bytes },
}

/// One step in building the root folder of a command.
///
/// Host paths appear inside under the same name. A step may only refer to folders that an earlier
/// step created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mount {
    /// Creates a symbolic link.
    Link { path: Bytes, target: Bytes },
    /// Mounts a new `/proc`.
    Proc,
    /// Mounts a minimal `/dev`.
    Dev,
    /// Mounts an empty writable folder that disappears with the run.
    Scratch(Bytes),
    /// Creates an empty folder.
    Folder(Bytes),
    /// Creates a read-only file.
    Text { path: Bytes, content: Bytes },
    /// Mounts a host path read-only.
    Read(Bytes),
    /// Mounts a host path writable.
    Write(Bytes),
    /// Mounts a host's symbolic link over itself, so that it cannot be replaced.
    Pin(Bytes),
    /// Covers a host folder with an empty read-only one.
    HideFolder(Bytes),
    /// Covers a host file with one that cannot be read.
    HideFile(Bytes),
}

impl std::fmt::Display for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (word, path) = match self {
            Self::Link { path, target } => {
                let (path, target) = (self::path(path), self::path(target));
                return write!(f, "link {} -> {}", path.display(), target.display());
            }
            Self::Proc => return f.write_str("proc /proc"),
            Self::Dev => return f.write_str("dev /dev"),
            Self::Scratch(path) => ("scratch", path),
            Self::Folder(path) => ("folder", path),
            Self::Text { path, .. } => ("text", path),
            Self::Read(path) => ("read", path),
            Self::Write(path) => ("write", path),
            Self::Pin(path) => ("pin", path),
            Self::HideFolder(path) => ("hide-folder", path),
            Self::HideFile(path) => ("hide-file", path),
        };
        write!(f, "{word} {}", self::path(path).display())
    }
}

/// Limits of the command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) grace_ms: u64,
    pub(crate) cpu_seconds: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) processes: u64,
}

/// The rules of Landlock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Landlock {
    pub(crate) rules: Vec<Rule>,
    /// Allow TCP.
    pub(crate) network: bool,
    /// The required version of the interface.
    pub(crate) least: u32,
}

/// Access to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) path: Bytes,
    pub(crate) access: Access,
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Read and run.
    Read,
    /// Read, run, write, create, remove.
    Write,
    /// Read and write an existing device.
    Device,
}

/// System calls that the filter allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seccomp {
    /// Internet sockets.
    pub(crate) network: bool,
    /// System V and POSIX message queues, semaphores and shared memory.
    pub(crate) ipc: bool,
    /// Priorities of other processes, which are its own in a process namespace.
    pub(crate) processes: bool,
}

/// A message of the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The namespaces are built.
    Inside,
    /// The kernel refuses to build namespaces; nothing ran.
    NoNamespaces(Box<str>),
    /// The command sees the host's `/proc`.
    SharedProc,
    /// A path that has to stay absent was created during the run and is removed.
    Removed(Bytes),
    /// A protected path is another file or folder than the one that was mounted.
    Replaced(Bytes),
    /// The index named this repository as a new submodule and is restored, or cannot be.
    IndexRestored(Bytes, Option<Box<str>>),
    /// A path that has to stay absent was created during the run and cannot be removed.
    NotRemoved(Bytes, Box<str>),
    /// The index names this repository as a new submodule, which was not protected.
    Added(Bytes),
    /// The layers are applied; the program starts next.
    Ready(Vec<LayerState>),
    /// A step failed; nothing ran.
    Refused {
        step: Step,
        errno: i32,
        detail: Box<str>,
    },
    /// A layer that is required is missing; nothing ran.
    Missing(LayerState),
    /// Nothing limits the number of processes.
    ProcessesUnlimited,
    /// The command itself ended.
    Ended(End),
    /// Every process is gone except for `left`.
    Clean { left: u32 },
    /// The scratch folder cannot be removed.
    ScratchLeft(Bytes, Box<str>),
    /// A tracked file became a link to this place outside of the writable folders.
    LinkedOut(Bytes, Bytes),
}

/// Encodes a message, preceded by its length.
pub(crate) fn frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    Ok([length.to_le_bytes().as_slice(), &body].concat())
}

/// Takes one message from the front of `buffer`, if it is complete.
pub(crate) fn unframe<T: DeserializeOwned>(buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((length, rest)) = buffer.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(body) = rest.get(..length) else {
        return Ok(None);
    };
    let message = postcard::from_bytes(body).map_err(io::Error::other)?;
    buffer.drain(..4 + length);
    Ok(Some(message))
}

/// Most descriptors in one message. The kernel allows a few more.
const MAX_DESCRIPTORS: usize = 64;

/// Sends descriptors, in messages of one byte that says how many there are. The last one has none.
pub(crate) fn send_descriptors<Fd: AsFd>(to: &UnixStream, descriptors: &[Fd]) -> io::Result<()> {
    for part in descriptors.chunks(MAX_DESCRIPTORS).chain([&[][..]]) {
        let borrowed: Vec<BorrowedFd<'_>> = part.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let count = [u8::try_from(part.len()).map_err(io::Error::other)?];
        let message = [io::IoSlice::new(&count)];
        sendmsg(to, &message, &mut ancillary, SendFlags::empty())?;
    }
    Ok(())
}

/// Receives descriptors, which are closed when a program is started.
pub(crate) fn receive_descriptors(from: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut received = Vec::new();
    loop {
        let mut count = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut message = [io::IoSliceMut::new(&mut count)];
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let read = recvmsg(from, &mut message, &mut ancillary, flags)?;
        let before = received.len();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                received.extend(descriptors);
            }
        }
        for descriptor in &received[before..] {
            rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
        }
        match (read.bytes, usize::from(count[0])) {
            (0, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
            (_, count) if count != received.len() - before => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            (_, 0) => return Ok(received),
            _ => {}
        }
    }
}

/// Reads one message, blocking until it is complete.
pub(crate) fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    postcard::from_bytes(&body).map_err(io::Error::other)
}

/// The bytes of a path.
pub(crate) fn bytes(path: impl AsRef<OsStr>) -> Bytes {
    path.as_ref().as_bytes().to_vec()
}

/// The path of bytes.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}
