//! Reads files that a command of an earlier run may have created.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a regular file of at most `most` bytes. Anything else, such as a FIFO, is an error and is
/// never waited for.
pub(crate) fn bounded_read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file = File::options()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(facts.len().min(most)).unwrap_or(0));
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > most {
        let why = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn only_small_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(bounded_read(&file, 5).unwrap(), b"12345");
        assert!(bounded_read(&file, 4).is_err());
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(bounded_read(&fifo, 5).is_err());
        assert!(bounded_read(folder.path(), 5).is_err());
    }
}
