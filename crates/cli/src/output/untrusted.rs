//! Streams untrusted output.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use prowess_diag::sanitize;

/// Writes untrusted bytes to a stream. On a terminal, control characters are escaped; a pipe gets the
/// bytes unchanged.
#[derive(Debug)]
pub(crate) struct Foreign<W> {
    stream: W,
    is_terminal: bool,
    escape: fn(&str) -> Cow<'_, str>,
    /// An incomplete UTF-8 sequence at the end of the input so far.
    rest: Vec<u8>,
}

impl<W: Write + IsTerminal> Foreign<W> {
    /// Wraps a stream.
    pub(crate) fn new(stream: W) -> Self {
        Self {
            is_terminal: stream.is_terminal(),
            stream,
            escape: sanitize::block,
            rest: Vec::new(),
        }
    }
}

impl<W: Write> Foreign<W> {
    /// Writes a chunk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.is_terminal {
            self.rest.extend_from_slice(bytes);
            let whole = complete(&self.rest);
            let text = String::from_utf8_lossy(&self.rest[..whole]);
            self.stream.write_all((self.escape)(&text).as_bytes())?;
            self.rest.drain(..whole);
        } else {
            self.stream.write_all(bytes)?;
        }
        self.stream.flush()
    }

    /// Writes what is left at the end of the input.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(&self.rest);
        self.stream.write_all((self.escape)(&text).as_bytes())?;
        self.stream.flush()
    }
}

/// Writes JSON: unchanged to a pipe, and with control characters escaped as in JSON to a terminal.
#[derive(Debug)]
pub(crate) struct JsonLines<W>(Foreign<W>);

impl<W: Write + IsTerminal> JsonLines<W> {
    /// Wraps a stream.
    pub(crate) fn new(stream: W) -> Self {
        Self(Foreign {
            escape: sanitize::json,
            ..Foreign::new(stream)
        })
    }
}

impl<W: Write> Write for JsonLines<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.stream.flush()
    }
}

/// Returns the length of the longest prefix that does not end within a UTF-8 sequence.
fn complete(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for at in (tail..bytes.len()).rev() {
        let length = match bytes[at] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        return if at + length > bytes.len() {
            at
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(is_terminal: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut foreign = Foreign {
            stream: &mut stream,
            is_terminal,
            escape: sanitize::block,
            rest: Vec::new(),
        };
        for piece in pieces {
            foreign.write(piece).unwrap();
        }
        foreign.finish().unwrap();
        stream
    }

    #[test]
    fn control_characters_are_escaped_on_a_terminal() {
        let shown = pass(
            true,
            &[
                b"a\x1b[2Jb\x07\n",
                "é".as_bytes().split_at(1).0,
                "é".as_bytes().split_at(1).1,
            ],
        );
        assert_eq!(String::from_utf8(shown).unwrap(), "a\\u{1b}[2Jb\\u{7}\né");
        let shown = pass(true, &[b"\xf0\x9f", b"\x98\x80 \xff \xe2\x82"]);
        assert_eq!(String::from_utf8(shown).unwrap(), "😀 \u{fffd} \u{fffd}");
    }

    #[test]
    fn pipe_receives_bytes_unchanged() {
        assert_eq!(pass(false, &[b"a\x1b[2J\xff", b"\0"]), b"a\x1b[2J\xff\0");
    }
}
