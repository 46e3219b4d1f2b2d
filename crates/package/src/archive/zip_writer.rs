//! Writes a zip: entries in the order given, without times, so that equal files are equal bytes.

use std::io::{self, Write};

use crc32fast::Hasher;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The first date that a zip can have: 1 January 1980.
const DATE: u16 = 0x21;
/// Version 2.0 is needed to unpack: folders and deflate.
const VERSION: u16 = 20;
/// Unix, version 2.0.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
const DEFLATED: u16 = 8;

/// A zip that is being written.
#[derive(Debug)]
pub struct ZipWriter {
    level: Compression,
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl ZipWriter {
    /// Creates an empty archive; its entries are compressed with a level from 0 to 9.
    pub fn new(level: u32) -> Self {
        Self {
            level: Compression::new(level.min(9)),
            bytes: Vec::new(),
            directory: Vec::new(),
            count: 0,
        }
    }

    /// Adds an entry with a mode of Unix.
    pub fn add(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
        let mut encoder = DeflateEncoder::new(Vec::new(), self.level);
        encoder.write_all(content)?;
        let packed = encoder.finish()?;
        let mut hasher = Hasher::new();
        hasher.update(content);
        let offset = u32::try_from(self.bytes.len()).map_err(|_| too_large())?;
        let mut facts = Vec::new();
        for word in [VERSION, UTF8, DEFLATED, 0, DATE] {
            facts.extend(word.to_le_bytes());
        }
        facts.extend(hasher.finalize().to_le_bytes());
        for size in [packed.len(), content.len()] {
            let size = u32::try_from(size).map_err(|_| too_large())?;
            facts.extend(size.to_le_bytes());
        }
        let length = u16::try_from(name.len()).map_err(|_| too_large())?;
        facts.extend(length.to_le_bytes());
        facts.extend(0_u16.to_le_bytes());
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&facts);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(&packed);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(MADE_BY.to_le_bytes());
        self.directory.extend(&facts);
        // No comment, disk 0, no internal attributes.
        self.directory.extend([0; 6]);
        self.directory.extend((mode << 16).to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count = self.count.checked_add(1).ok_or_else(too_large)?;
        Ok(())
    }

    /// Returns the archive.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let offset = u32::try_from(self.bytes.len()).map_err(too_large)?;
        let size = u32::try_from(self.directory.len()).map_err(too_large)?;
        self.bytes.extend(&self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(offset.to_le_bytes());
        self.bytes.extend([0; 2]);
        Ok(self.bytes)
    }
}
