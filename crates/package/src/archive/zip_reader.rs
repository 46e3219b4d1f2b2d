//! Reads a zip. The archive must be exactly what its entries describe: no data before, between or
//! after them, and local headers that agree with the central directory.

use std::io::Read;

use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;

use super::{ArchiveError, EntryFault, EntrySink, refused};
use crate::tree::MAX_TARGET;

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
const END_SIZE: usize = 22;
/// Maximum length of the comment of an archive, by its format.
const MAX_COMMENT: usize = 65_535;
/// Flags: encrypted, patched, strongly encrypted, masked headers.
const REFUSED_FLAGS: u16 = 1 | 1 << 5 | 1 << 6 | 1 << 13;
/// Flag: sizes and checksum follow the content.
const STREAMED: u16 = 1 << 3;
/// The system of an entry whose mode is known.
const UNIX: u8 = 3;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The extra field for sizes of 64 bits.
const ZIP64: u16 = 1;
/// The extra field for another name.
const OTHER_NAME: u16 = 0x7075;
/// The extra field for AES encryption.
const AES: u16 = 0x9901;

/// An entry of the central directory.
struct Central<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    offset: u64,
    mode: Option<u32>,
}

/// Reads little-endian numbers from a slice.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ArchiveError> {
        let (first, rest) = self.rest.split_at_checked(count).ok_or(DAMAGED)?;
        self.rest = rest;
        Ok(first)
    }

    fn word(&mut self) -> Result<u16, ArchiveError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn double(&mut self) -> Result<u32, ArchiveError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn quad(&mut self) -> Result<u64, ArchiveError> {
        Ok(u64::from(self.double()?) | u64::from(self.double()?) << 32)
    }
}

const DAMAGED: ArchiveError = ArchiveError::Damaged {
    reason: "it ends early",
};

pub(super) fn read(archive: &[u8], sink: &mut EntrySink) -> Result<(), ArchiveError> {
    let (mut directory, count, start) = find_directory(archive)?;
    if usize::from(count) > sink.limits.entries {
        return Err(ArchiveError::TooLarge {
            limit: sink.limits.entries as u64,
            what: "entries",
        });
    }
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(read_central(&mut directory)?);
    }
    if !directory.rest.is_empty() {
        return Err(ArchiveError::ExtraData);
    }
    entries.sort_by_key(|entry| entry.offset);
    let mut next = 0;
    for entry in &entries {
        if entry.offset < next {
            return Err(refused(entry.name, EntryFault::Disagreement));
        }
        if entry.offset != next {
            return Err(ArchiveError::ExtraData);
        }
        next = read_entry(&archive[..start], entry, sink)?;
    }
    if next != start as u64 {
        return Err(ArchiveError::ExtraData);
    }
    Ok(())
}

/// Returns the central directory, the number of its entries and its place.
fn find_directory(archive: &[u8]) -> Result<(Cursor<'_>, u16, usize), ArchiveError> {
    let last = archive.len().checked_sub(END_SIZE).ok_or(DAMAGED)?;
    let first = last.saturating_sub(MAX_COMMENT);
    let place = (first..=last)
        .rev()
        .find(|place| archive[*place..].starts_with(END))
        .ok_or(ArchiveError::Damaged {
            reason: "it has no central directory",
        })?;
    let mut end = Cursor {
        rest: &archive[place + END.len()..],
    };
    let (disk, directory_disk) = (end.word()?, end.word()?);
    let (here, count) = (end.word()?, end.word()?);
    let (size, offset) = (end.double()?, end.double()?);
    let comment = usize::from(end.word()?);
    if end.rest.len() != comment {
        return Err(ArchiveError::ExtraData);
    }
    let is_large = count == u16::MAX || size == u32::MAX || offset == u32::MAX;
    if disk != 0 || directory_disk != 0 || here != count || is_large {
        return Err(ArchiveError::Damaged {
            reason: "it is split, or larger than any package",
        });
    }
    let (offset, size) = (offset as usize, size as usize);
    if offset.checked_add(size) != Some(place) {
        return Err(ArchiveError::ExtraData);
    }
    let directory = Cursor {
        rest: &archive[offset..place],
    };
    Ok((directory, count, offset))
}

fn read_central<'a>(directory: &mut Cursor<'a>) -> Result<Central<'a>, ArchiveError> {
    if directory.bytes(4)? != CENTRAL {
        return Err(ArchiveError::Damaged {
            reason: "the central directory is not readable",
        });
    }
    let made_by = directory.word()?;
    directory.word()?;
    let (flags, method) = (directory.word()?, directory.word()?);
    directory.bytes(4)?;
    let crc = directory.double()?;
    let (packed, unpacked) = (directory.double()?, directory.double()?);
    let name_length = usize::from(directory.word()?);
    let extra_length = usize::from(directory.word()?);
    let comment_length = usize::from(directory.word()?);
    let disk = directory.word()?;
    directory.word()?;
    let attributes = directory.double()?;
    let offset = directory.double()?;
    let name = directory.bytes(name_length)?;
    let extra = directory.bytes(extra_length)?;
    directory.bytes(comment_length)?;
    if disk != 0 {
        return Err(refused(name, EntryFault::Disagreement));
    }
    let mut entry = Central {
        name,
        flags,
        method,
        crc,
        packed: u64::from(packed),
        unpacked: u64::from(unpacked),
        offset: u64::from(offset),
        mode: (made_by >> 8 == u16::from(UNIX)).then_some(attributes >> 16),
    };
    let large = [
        (unpacked == u32::MAX).then_some(&mut entry.unpacked),
        (packed == u32::MAX).then_some(&mut entry.packed),
        (offset == u32::MAX).then_some(&mut entry.offset),
    ];
    read_extra(name, extra, large)?;
    Ok(entry)
}

/// Reads the extra fields: sizes of 64 bits, where the fields of 32 bits have no room.
fn read_extra<const N: usize>(
    name: &[u8],
    extra: &[u8],
    mut large: [Option<&mut u64>; N],
) -> Result<(), ArchiveError> {
    let mut cursor = Cursor { rest: extra };
    let mut has_large = false;
    // Some programs pad with up to three zeros.
    while cursor.rest.len() >= 4 {
        let (kind, length) = (cursor.word()?, cursor.word()?);
        let content = cursor.bytes(usize::from(length))?;
        match kind {
            ZIP64 if has_large => return Err(refused(name, EntryFault::Disagreement)),
            ZIP64 => {
                has_large = true;
                let mut fields = Cursor { rest: content };
                for field in large.iter_mut().flatten() {
                    **field = fields.quad()?;
                }
            }
            OTHER_NAME if content.get(5..) != Some(name) => {
                return Err(refused(name, EntryFault::Disagreement));
            }
            AES => return Err(refused(name, EntryFault::Encrypted)),
            _ => {}
        }
    }
    if !has_large && large.iter().any(Option::is_some) {
        return Err(refused(name, EntryFault::Content));
    }
    Ok(())
}

/// Reads an entry, and returns the place after it.
fn read_entry(
    archive: &[u8],
    entry: &Central<'_>,
    sink: &mut EntrySink,
) -> Result<u64, ArchiveError> {
    let name = entry.name;
    let disagree = || refused(name, EntryFault::Disagreement);
    let start = usize::try_from(entry.offset).map_err(|_| DAMAGED)?;
    let mut local = Cursor {
        rest: archive.get(start..).ok_or(DAMAGED)?,
    };
    if local.bytes(4)? != LOCAL {
        return Err(disagree());
    }
    local.word()?;
    let (flags, method) = (local.word()?, local.word()?);
    local.bytes(4)?;
    let crc = local.double()?;
    let (packed32, unpacked32) = (local.double()?, local.double()?);
    let name_length = usize::from(local.word()?);
    let extra_length = usize::from(local.word()?);
    let local_name = local.bytes(name_length)?;
    let extra = local.bytes(extra_length)?;
    if entry.flags & REFUSED_FLAGS != 0 || flags & REFUSED_FLAGS != 0 {
        return Err(refused(name, EntryFault::Encrypted));
    }
    if local_name != name || method != entry.method || flags != entry.flags {
        return Err(disagree());
    }
    if !matches!(method, STORED | DEFLATED) {
        return Err(refused(name, EntryFault::Method));
    }
    let (mut packed, mut unpacked) = (u64::from(packed32), u64::from(unpacked32));
    let large = [
        (unpacked32 == u32::MAX).then_some(&mut unpacked),
        (packed32 == u32::MAX).then_some(&mut packed),
    ];
    read_extra(name, extra, large)?;
    let is_streamed = flags & STREAMED != 0;
    let is_unknown = is_streamed && crc == 0 && packed == 0 && unpacked == 0;
    let agrees = crc == entry.crc && packed == entry.packed && unpacked == entry.unpacked;
    // A streamed entry of 64 bits announces sizes that are all ones.
    let is_wide = is_streamed && packed32 == u32::MAX;
    if !(agrees || is_unknown || is_wide) {
        return Err(disagree());
    }
    let length = usize::try_from(entry.packed).map_err(|_| DAMAGED)?;
    let content = local.bytes(length)?;
    let after = if is_streamed {
        skip_descriptor(local.rest, entry).ok_or_else(disagree)?
    } else {
        local.rest
    };
    add(entry, content, sink)?;
    Ok((archive.len() - after.len()) as u64)
}

/// Returns the data after a descriptor that agrees with the central directory.
fn skip_descriptor<'a>(rest: &'a [u8], entry: &Central<'_>) -> Option<&'a [u8]> {
    let rest = rest.strip_prefix(DESCRIPTOR).unwrap_or(rest);
    let rest = rest.strip_prefix(&entry.crc.to_le_bytes())?;
    let wide = |rest: &'a [u8]| {
        rest.strip_prefix(&entry.packed.to_le_bytes())?
            .strip_prefix(&entry.unpacked.to_le_bytes())
    };
    let narrow = |rest: &'a [u8]| {
        let packed = u32::try_from(entry.packed).ok()?.to_le_bytes();
        let unpacked = u32::try_from(entry.unpacked).ok()?.to_le_bytes();
        rest.strip_prefix(&packed)?.strip_prefix(&unpacked)
    };
    // An empty wide descriptor begins like a narrow one: what follows decides.
    let is_next = |rest: &&[u8]| rest.is_empty() || rest.starts_with(LOCAL);
    wide(rest)
        .filter(is_next)
        .or_else(|| narrow(rest).filter(is_next))
}

fn add(entry: &Central<'_>, content: &[u8], sink: &mut EntrySink) -> Result<(), ArchiveError> {
    const KIND: u32 = 0o170_000;
    let name = entry.name;
    let mode = entry.mode.unwrap_or(0);
    let is_folder = name.ends_with(b"/");
    match mode & KIND {
        0 | 0o100_000 if !is_folder => {}
        0o120_000 if !is_folder => {
            if entry.unpacked > MAX_TARGET as u64 {
                return Err(refused(name, EntryFault::LongName));
            }
            let mut target = Vec::new();
            let mut reader = Checked::new(entry, content, sink)?;
            let read = reader
                .by_ref()
                .take(MAX_TARGET as u64)
                .read_to_end(&mut target);
            read.map_err(|_| refused(name, EntryFault::Content))?;
            reader.finish()?;
            return sink.link(name, &target);
        }
        0 | 0o040_000 if is_folder => {
            if entry.unpacked != 0 {
                return Err(refused(name, EntryFault::FolderContent));
            }
            return sink.folder(name);
        }
        _ => return Err(refused(name, EntryFault::Kind)),
    }
    let mut reader = Checked::new(entry, content, sink)?;
    sink.file(name, mode & 0o111 != 0, entry.unpacked, &mut reader)?;
    reader.finish()
}

/// The content of an entry, with its size and checksum.
struct Checked<'a> {
    inner: Method<'a>,
    name: &'a [u8],
    size: u64,
    crc: u32,
    seen: u64,
    hasher: Hasher,
}

enum Method<'a> {
    Stored(&'a [u8]),
    Deflated(DeflateDecoder<&'a [u8]>),
}

impl<'a> Checked<'a> {
    fn new(entry: &Central<'a>, content: &'a [u8], sink: &EntrySink) -> Result<Self, ArchiveError> {
        sink.check_ratio(entry.packed, entry.unpacked)?;
        let inner = if entry.method == STORED {
            Method::Stored(content)
        } else {
            Method::Deflated(DeflateDecoder::new(content))
        };
        Ok(Self {
            inner,
            name: entry.name,
            size: entry.unpacked,
            crc: entry.crc,
            seen: 0,
            hasher: Hasher::new(),
        })
    }

    /// Checks that the content ended where it should.
    fn finish(mut self) -> Result<(), ArchiveError> {
        let wrong = || refused(self.name, EntryFault::Content);
        let mut more = [0];
        let is_over = match &mut self.inner {
            Method::Stored(rest) => rest.is_empty(),
            Method::Deflated(decoder) => {
                matches!(decoder.read(&mut more), Ok(0)) && decoder.get_ref().is_empty()
            }
        };
        let is_right = self.seen == self.size && self.hasher.clone().finalize() == self.crc;
        if is_over && is_right {
            Ok(())
        } else {
            Err(wrong())
        }
    }
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match &mut self.inner {
            Method::Stored(rest) => rest.read(buffer)?,
            Method::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.seen += count as u64;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
