//! Captured output: the beginning, the end and the length of a stream.

use std::borrow::Cow;
use std::collections::VecDeque;

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Captured output, truncated in the middle if it was too long.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Captured {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end, if it is not part of the beginning.
    pub tail: Vec<u8>,
    /// The length of the stream in bytes.
    pub total: u64,
}

impl Captured {
    /// Bytes that were dropped between head and tail.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the text, with a line in the middle that says how much is missing.
    ///
    /// A character that was cut in two is dropped with the missing part; other bytes that are not
    /// UTF-8 become U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        if self.omitted() == 0 {
            if self.tail.is_empty() {
                return String::from_utf8_lossy(&self.head);
            }
            let whole = [self.head.as_slice(), self.tail.as_slice()].concat();
            return Cow::Owned(String::from_utf8_lossy(&whole).into_owned());
        }
        let (head, tail) = (without_cut_end(&self.head), without_cut_start(&self.tail));
        let missing = self.total - (head.len() + tail.len()) as u64;
        Cow::Owned(format!(
            "{}\n[{missing} bytes left out]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        ))
    }
}

/// Collects a stream within its bounds.
#[derive(Debug)]
pub(crate) struct Collector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    head_bytes: usize,
    tail_bytes: usize,
}

impl Collector {
    pub(crate) fn new(head_bytes: usize, tail_bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            head_bytes,
            tail_bytes,
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_bytes - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_bytes)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into(),
            total: self.total,
        }
    }
}

/// `bytes` without the beginning of a character at its end.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    for back in 1..=3.min(bytes.len()) {
        let at = bytes.len() - back;
        let byte = bytes[at];
        if byte & 0b1100_0000 == 0b1000_0000 {
            continue;
        }
        let length = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if length > back { &bytes[..at] } else { bytes };
    }
    bytes
}

/// `bytes` without the rest of a character at its start.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000)
        .count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(head: usize, tail: usize, pieces: &[&[u8]]) -> Captured {
        let mut collector = Collector::new(head, tail);
        for piece in pieces {
            collector.add(piece);
        }
        collector.finish()
    }

    #[test]
    fn keeps_head_and_tail_whatever_the_pieces() {
        let bytes: Vec<u8> = (0..=255).collect();
        for size in 1..=64 {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let kept = collect(10, 7, &pieces);
            assert_eq!(kept.head, bytes[..10]);
            assert_eq!(kept.tail, bytes[249..]);
            assert_eq!((kept.total, kept.omitted()), (256, 239));
        }
    }

    #[test]
    fn short_streams_are_whole() {
        let kept = collect(4, 4, &[b"abc", b"def"]);
        assert_eq!(kept.text(), "abcdef");
        assert_eq!(kept.omitted(), 0);
        assert_eq!(collect(4, 4, &[]).text(), "");
        assert_eq!(collect(0, 0, &[b"abc"]).omitted(), 3);
    }

    #[test]
    fn a_character_on_the_cut_goes_with_the_missing_part() {
        let text = "aä→😀".repeat(40);
        for head in 0..12 {
            for tail in 0..12 {
                let kept = collect(head, tail, &[text.as_bytes()]);
                let shown = kept.text();
                assert!(!shown.contains('\u{FFFD}'), "{head} {tail}: {shown}");
                assert!(shown.contains("bytes left out"));
            }
        }
    }

    #[test]
    fn other_bytes_become_replacement_characters() {
        assert_eq!(collect(9, 0, &[b"a\xffb"]).text(), "a\u{FFFD}b");
    }
}
