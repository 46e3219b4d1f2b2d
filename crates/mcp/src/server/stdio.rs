//! Standard input and output, reserved for the protocol.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::fs::FileType;
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

/// Time to finish pending answers after the client closes its end.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Time for running work to finish after that.
pub(crate) const LAST_WORK: Duration = Duration::from_millis(200);

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Reserves both streams for the protocol. Elsewhere in the process and in its children, reads from
/// standard input get end of file, and writes to standard output go to standard error.
pub(crate) fn take() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(stdout(), 3)?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(stderr())?;
    Ok((input, output))
}

/// Opens the streams for asynchronous use. Pipes and sockets are used directly; anything else, such
/// as a file or a terminal, is read on a thread.
pub(crate) fn open(input: OwnedFd, output: OwnedFd) -> io::Result<(Input, Output)> {
    let kind = |stream: &OwnedFd| {
        Ok::<_, io::Error>(FileType::from_raw_mode(rustix::fs::fstat(stream)?.st_mode))
    };
    let input: Input = match kind(&input)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(input)?),
        FileType::Socket => Box::new(socket(input)?),
        _ => Box::new(tokio::fs::File::from_std(File::from(input))),
    };
    let output: Output = match kind(&output)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(output)?),
        FileType::Socket => Box::new(socket(output)?),
        _ => Box::new(tokio::fs::File::from_std(File::from(output))),
    };
    Ok((input, output))
}

fn socket(stream: OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}
