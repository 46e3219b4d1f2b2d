//! Reads a `.tar.gz`.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use tar::Header;

use super::{ArchiveError, EntryFault, EntrySink, refused};

/// The size of a header, and of what sizes are rounded up to.
const BLOCK: usize = 512;
/// Maximum size of a long name or of extended headers in bytes.
const MAX_LONG: u64 = 4096;
/// Maximum size of global extended headers in bytes.
const MAX_GLOBAL: u64 = 64 * 1024;

/// The decompressed stream, with a limit on its size and its ratio.
struct Unzipped<'a> {
    inner: GzDecoder<&'a [u8]>,
    packed: u64,
    unpacked: u64,
    most: u64,
    ratio: (u64, u64),
    fault: Option<Excess>,
}

enum Excess {
    Size,
    Ratio,
}

impl Read for Unzipped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        let read = self.packed - self.inner.get_ref().len() as u64;
        let (ratio, from) = self.ratio;
        if self.unpacked > self.most {
            self.fault = Some(Excess::Size);
        } else if self.unpacked > from && self.unpacked > read.saturating_mul(ratio) {
            self.fault = Some(Excess::Ratio);
        }
        if self.fault.is_some() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(count)
    }
}

/// Names and sizes from the headers before an entry.
#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
}

pub(super) fn read(archive: &[u8], sink: &mut EntrySink) -> Result<(), ArchiveError> {
    let limits = sink.limits;
    let headers = (limits.entries as u64).saturating_mul(4 * BLOCK as u64);
    let mut stream = Unzipped {
        inner: GzDecoder::new(archive),
        packed: archive.len() as u64,
        unpacked: 0,
        // Headers and padding come on top of the files.
        most: limits.total.saturating_add(headers),
        ratio: (limits.ratio, limits.ratio_from),
        fault: None,
    };
    let read = read_entries(&mut stream, sink);
    match stream.fault {
        Some(Excess::Size) => {
            return Err(ArchiveError::TooLarge {
                limit: limits.total,
                what: "bytes in all",
            });
        }
        Some(Excess::Ratio) => {
            return Err(ArchiveError::Ratio {
                ratio: limits.ratio,
            });
        }
        None => read?,
    }
    // A second gzip member, or anything else after the first.
    if !stream.inner.get_ref().is_empty() {
        return Err(ArchiveError::ExtraData);
    }
    Ok(())
}

fn read_entries(stream: &mut Unzipped<'_>, sink: &mut EntrySink) -> Result<(), ArchiveError> {
    let mut extended = Extended::default();
    let mut headers = 0;
    loop {
        let mut block = [0; BLOCK];
        exact(stream, &mut block)?;
        if block == [0; BLOCK] {
            return end(stream);
        }
        headers += 1;
        // Each entry has at most three headers before it.
        if headers > sink.limits.entries.saturating_mul(4) {
            return Err(ArchiveError::TooLarge {
                limit: sink.limits.entries as u64,
                what: "entries",
            });
        }
        let header = Header::from_byte_slice(&block);
        check_sum(header)?;
        let size = header.entry_size().map_err(|_| ArchiveError::Damaged {
            reason: "a size is not a number",
        })?;
        match block[156] {
            b'x' => extended.read_pax(&long(stream, size, MAX_GLOBAL)?)?,
            b'g' => check_global(&long(stream, size, MAX_GLOBAL)?)?,
            b'L' => extended.long_name = Some(without_nul(long(stream, size, MAX_LONG)?)),
            b'K' => extended.long_link = Some(without_nul(long(stream, size, MAX_LONG)?)),
            kind => {
                let extended = std::mem::take(&mut extended);
                read_entry(stream, sink, header, kind, size, extended)?;
            }
        }
    }
}

fn read_entry(
    stream: &mut Unzipped<'_>,
    sink: &mut EntrySink,
    header: &Header,
    kind: u8,
    size: u64,
    extended: Extended,
) -> Result<(), ArchiveError> {
    let short = header.path_bytes().into_owned();
    let name = match (extended.path, extended.long_name) {
        (Some(_), Some(_)) => return Err(refused(&short, EntryFault::Disagreement)),
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => short,
    };
    let is_sparse = kind == b'S' || header.as_gnu().is_some_and(tar::GnuHeader::is_extended);
    if is_sparse {
        return Err(refused(&name, EntryFault::Sparse));
    }
    if extended.size.is_some_and(|other| other != size) {
        return Err(refused(&name, EntryFault::Disagreement));
    }
    let is_folder = kind == b'5' || (matches!(kind, 0 | b'0') && name.ends_with(b"/"));
    if is_folder {
        if size != 0 {
            return Err(refused(&name, EntryFault::FolderContent));
        }
        return sink.folder(&name);
    }
    match kind {
        0 | b'0' => {
            let mode = header.mode().map_err(|_| ArchiveError::Damaged {
                reason: "a mode is not a number",
            })?;
            sink.file(&name, mode & 0o111 != 0, size, stream)?;
            skip_padding(stream, size)
        }
        b'2' => {
            let target = match (extended.link, extended.long_link) {
                (Some(_), Some(_)) => return Err(refused(&name, EntryFault::Disagreement)),
                (Some(target), None) | (None, Some(target)) => target,
                (None, None) => header.link_name_bytes().unwrap_or_default().into_owned(),
            };
            if size != 0 {
                return Err(refused(&name, EntryFault::Content));
            }
            sink.link(&name, &target)
        }
        _ => Err(refused(&name, EntryFault::Kind)),
    }
}

impl Extended {
    /// Reads records of the form `LENGTH KEY=VALUE\n`.
    fn read_pax(&mut self, records: &[u8]) -> Result<(), ArchiveError> {
        for_each_record(records, |key, value| {
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    self.size = Some(size.ok_or(ArchiveError::Damaged {
                        reason: "a size is not a number",
                    })?);
                }
                _ if key.starts_with(b"GNU.sparse") => {
                    return Err(refused(value, EntryFault::Sparse));
                }
                _ => {}
            }
            if value.len() as u64 > MAX_LONG && matches!(key, b"path" | b"linkpath") {
                return Err(refused(value, EntryFault::LongName));
            }
            Ok(())
        })
    }
}

/// Global headers may have comments, but nothing that changes entries.
fn check_global(records: &[u8]) -> Result<(), ArchiveError> {
    for_each_record(records, |key, value| {
        let changes = matches!(key, b"path" | b"linkpath" | b"size") || key.starts_with(b"GNU.");
        if changes {
            return Err(refused(value, EntryFault::Disagreement));
        }
        Ok(())
    })
}

fn for_each_record(
    mut records: &[u8],
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let damaged = || ArchiveError::Damaged {
        reason: "an extended header is not readable",
    };
    while !records.is_empty() {
        let space = records
            .iter()
            .position(|byte| *byte == b' ')
            .ok_or_else(damaged)?;
        let length: usize = std::str::from_utf8(&records[..space])
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(damaged)?;
        if length <= space + 1 || length > records.len() {
            return Err(damaged());
        }
        let (record, rest) = records.split_at(length);
        let record = record[space + 1..]
            .strip_suffix(b"\n")
            .ok_or_else(damaged)?;
        let equals = record
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or_else(damaged)?;
        each(&record[..equals], &record[equals + 1..])?;
        records = rest;
    }
    Ok(())
}

fn long(stream: &mut Unzipped<'_>, size: u64, most: u64) -> Result<Vec<u8>, ArchiveError> {
    if size > most {
        return Err(refused(b"", EntryFault::LongName));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    exact(stream, &mut bytes)?;
    skip_padding(stream, size)?;
    Ok(bytes)
}

fn without_nul(mut name: Vec<u8>) -> Vec<u8> {
    if name.last() == Some(&0) {
        name.pop();
    }
    name
}

fn exact(stream: &mut impl Read, buffer: &mut [u8]) -> Result<(), ArchiveError> {
    stream
        .read_exact(buffer)
        .map_err(|_| ArchiveError::Damaged {
            reason: "it ends early",
        })
}

fn skip_padding(stream: &mut Unzipped<'_>, size: u64) -> Result<(), ArchiveError> {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    if over == 0 {
        return Ok(());
    }
    let mut padding = [0; BLOCK];
    exact(stream, &mut padding[over..])
}

/// Reads the rest, which may only be zeros.
fn end(stream: &mut Unzipped<'_>) -> Result<(), ArchiveError> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream
            .read(&mut buffer)
            .map_err(|_| ArchiveError::Damaged {
                reason: "it ends early",
            })?;
        if count == 0 {
            return Ok(());
        }
        if buffer[..count].iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::ExtraData);
        }
    }
}

fn check_sum(header: &Header) -> Result<(), ArchiveError> {
    let bytes = header.as_bytes();
    let sum: u32 = bytes
        .iter()
        .enumerate()
        .map(|(position, byte)| match position {
            148..156 => u32::from(b' '),
            _ => u32::from(*byte),
        })
        .sum();
    if header.cksum().ok() != Some(sum) {
        return Err(ArchiveError::Damaged {
            reason: "the checksum of a header is wrong",
        });
    }
    Ok(())
}
