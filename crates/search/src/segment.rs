//! An immutable segment of the index: a dictionary and the postings of each term.
//!
//! The dictionary is sorted and prefix-compressed in blocks. A posting is one number: the distance
//! from the previous document, a rough count in the body, and a flag for other fields. Most take
//! one or two bytes.

use std::sync::Arc;

use prowess_catalog::Skill;

/// The number of fields of a document.
pub(super) const FIELDS: usize = 8;
/// The number of fields with a length. The last field, the name without separators, has none.
pub(super) const LENGTHS: usize = 7;
pub(super) const NAME: usize = 0;
pub(super) const BODY: usize = 6;
pub(super) const WHOLE: usize = 7;
/// The number of terms per block of the dictionary.
const BLOCK: u32 = 16;

/// The count of a term in each field, four bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts(pub(super) u32);

impl Counts {
    pub(super) fn of(self, field: usize) -> u32 {
        (self.0 >> (4 * field)) & 15
    }

    /// Returns `true` if the term occurs in no other field than the body.
    #[inline]
    pub(super) fn is_only_body(self) -> bool {
        self.0 & !(15 << (4 * BODY)) == 0
    }

    pub(super) fn add(&mut self, field: usize) {
        if self.of(field) < 15 {
            self.0 += 1 << (4 * field);
        }
    }
}

/// Reduces a count to two bits.
fn rough(count: u32) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2..4 => 2,
        _ => 3,
    }
}

/// The number of words in each field of a document.
pub(super) type Lengths = [u16; LENGTHS];

/// Documents and their terms.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// The skill of each document; `None` if it was removed.
    pub(super) skills: Vec<Option<Arc<Skill>>>,
    pub(super) lengths: Vec<Lengths>,
    /// The factor for the score of each document, in 255ths.
    pub(super) breadths: Vec<u8>,
    pub(super) terms: u32,
    /// The start of each block in the dictionary and in the postings.
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) dictionary: Vec<u8>,
    pub(super) postings: Vec<u8>,
}

/// The location of a term's postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) documents: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Segment {
    /// Finds a term.
    pub(super) fn find(&self, term: &[u8]) -> Option<Entry> {
        let mut cursor = self.cursor_before(term);
        while let Some(entry) = cursor.next() {
            match cursor.term.as_slice().cmp(term) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(entry),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }

    /// Returns up to `most` terms with this prefix, in order.
    pub(super) fn beginning(&self, prefix: &[u8], most: usize) -> Vec<(Vec<u8>, Entry)> {
        let mut found = Vec::new();
        let mut cursor = self.cursor_before(prefix);
        while let Some(entry) = cursor.next() {
            if cursor.term.starts_with(prefix) {
                if found.len() == most {
                    break;
                }
                found.push((cursor.term.clone(), entry));
            } else if cursor.term.as_slice() > prefix {
                break;
            }
        }
        found
    }

    /// Returns an iterator over the postings of a term.
    pub(super) fn postings(&self, entry: Entry) -> Postings<'_> {
        let bytes = self
            .postings
            .get(entry.from as usize..entry.to as usize)
            .unwrap_or_default();
        Postings {
            bytes,
            document: 0,
            end: self.skills.len(),
        }
    }

    /// Returns a cursor at the start of the dictionary.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        self.cursor_at(0)
    }

    /// Returns a cursor at the block that would contain the term.
    fn cursor_before(&self, term: &[u8]) -> Cursor<'_> {
        let after = self
            .blocks
            .partition_point(|(from, _)| self.first_of(*from) <= term);
        self.cursor_at(after.saturating_sub(1))
    }

    fn cursor_at(&self, block: usize) -> Cursor<'_> {
        let (from, postings) = self.blocks.get(block).copied().unwrap_or_default();
        let bytes = self.dictionary.get(from as usize..).unwrap_or_default();
        Cursor {
            bytes,
            postings,
            term: Vec::new(),
        }
    }

    /// Returns the first term of a block, which is stored uncompressed.
    fn first_of(&self, from: u32) -> &[u8] {
        let mut bytes = self.dictionary.get(from as usize..).unwrap_or_default();
        let _shared = read(&mut bytes);
        let length = read(&mut bytes).unwrap_or(0) as usize;
        bytes.get(..length).unwrap_or_default()
    }

    /// Returns the size in bytes, without the skills.
    pub(super) fn size(&self) -> usize {
        self.skills.len() * size_of::<Option<Arc<Skill>>>()
            + self.lengths.len() * size_of::<Lengths>()
            + self.breadths.len()
            + self.blocks.len() * size_of::<(u32, u32)>()
            + self.dictionary.len()
            + self.postings.len()
    }
}

/// A position in the dictionary.
pub(super) struct Cursor<'s> {
    bytes: &'s [u8],
    postings: u32,
    /// The term of the last entry.
    pub(super) term: Vec<u8>,
}

impl Cursor<'_> {
    /// Advances to the next term.
    pub(super) fn next(&mut self) -> Option<Entry> {
        let shared = read(&mut self.bytes)? as usize;
        let length = read(&mut self.bytes)? as usize;
        let rest = self.bytes.get(..length)?;
        self.bytes = &self.bytes[length..];
        self.term.truncate(shared);
        self.term.extend_from_slice(rest);
        let documents = read(&mut self.bytes)?;
        let size = read(&mut self.bytes)?;
        let from = self.postings;
        self.postings = from.checked_add(size)?;
        Some(Entry {
            documents,
            from,
            to: self.postings,
        })
    }
}

/// Iterates over the documents of a term, in order, with its counts.
#[derive(Clone, Debug)]
pub(super) struct Postings<'s> {
    bytes: &'s [u8],
    document: u32,
    end: usize,
}

impl Iterator for Postings<'_> {
    type Item = (u32, Counts);

    #[inline]
    fn next(&mut self) -> Option<(u32, Counts)> {
        let head = read(&mut self.bytes)?;
        self.document = self.document.checked_add(head >> 3)?;
        if self.document as usize >= self.end {
            self.bytes = &[];
            return None;
        }
        // 0, 1, 2 or 4, the inverse of `rough`.
        let body = (0x4210_u32 >> (4 * ((head >> 1) & 3))) & 15;
        let mut counts = body << (4 * BODY);
        if head & 1 != 0 {
            counts |= others(&mut self.bytes)?;
        }
        Some((self.document, Counts(counts)))
    }
}

/// Reads the other fields: a bit for each, followed by counts if any is above 1.
fn others(bytes: &mut &[u8]) -> Option<u32> {
    let (&mask, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut counts = 0;
    for (bit, field) in OTHERS.into_iter().enumerate() {
        if mask & (1 << bit) != 0 {
            let mut count = 1;
            if mask & 128 != 0 {
                let (&many, rest) = bytes.split_first()?;
                *bytes = rest;
                count = u32::from(many & 15);
            }
            counts |= count << (4 * field);
        }
    }
    Some(counts)
}

/// All fields but the body.
const OTHERS: [usize; 7] = [0, 1, 2, 3, 4, 5, WHOLE];

/// Writes a segment, term by term in order.
#[derive(Debug, Default)]
pub(super) struct Writer {
    segment: Segment,
    term: Vec<u8>,
    /// Start of the current term's postings, the number of its documents, and the last of them.
    from: usize,
    documents: u32,
    last: u32,
}

impl Writer {
    pub(super) fn new(
        skills: Vec<Option<Arc<Skill>>>,
        lengths: Vec<Lengths>,
        breadths: Vec<u8>,
    ) -> Self {
        Self {
            segment: Segment {
                skills,
                lengths,
                breadths,
                ..Segment::default()
            },
            ..Self::default()
        }
    }

    /// Adds a document to the current term. Documents must be in ascending order.
    pub(super) fn posting(&mut self, document: u32, counts: Counts) {
        let out = &mut self.segment.postings;
        let mask = OTHERS
            .into_iter()
            .enumerate()
            .filter(|(_, field)| counts.of(*field) > 0)
            .fold(0_u8, |mask, (bit, _)| mask | 1 << bit);
        let gap = document - self.last;
        write(
            out,
            gap << 3 | u32::from(rough(counts.of(BODY))) << 1 | u32::from(mask != 0),
        );
        if mask != 0 {
            let many = OTHERS.into_iter().any(|field| counts.of(field) > 1);
            out.push(mask | if many { 128 } else { 0 });
            if many {
                let fields = OTHERS.into_iter().map(|field| counts.of(field));
                // Four bits each, so the low byte is enough.
                out.extend(
                    fields
                        .filter(|count| *count > 0)
                        .map(|count| count.to_le_bytes()[0]),
                );
            }
        }
        self.last = document;
        self.documents += 1;
    }

    /// Ends a term. Terms must be in ascending order; a term without documents is dropped.
    pub(super) fn term(&mut self, term: &[u8]) {
        if self.documents > 0 {
            let segment = &mut self.segment;
            let shared = if segment.terms.is_multiple_of(BLOCK) {
                segment
                    .blocks
                    .push((small(segment.dictionary.len()), small(self.from)));
                0
            } else {
                self.term
                    .iter()
                    .zip(term)
                    .take_while(|(one, other)| one == other)
                    .count()
            };
            write(&mut segment.dictionary, small(shared));
            write(&mut segment.dictionary, small(term.len() - shared));
            segment.dictionary.extend_from_slice(&term[shared..]);
            write(&mut segment.dictionary, self.documents);
            write(
                &mut segment.dictionary,
                small(segment.postings.len() - self.from),
            );
            segment.terms += 1;
            self.term.clear();
            self.term.extend_from_slice(term);
        }
        self.from = self.segment.postings.len();
        self.documents = 0;
        self.last = 0;
    }

    pub(super) fn finish(mut self) -> Segment {
        self.segment.blocks.shrink_to_fit();
        self.segment.dictionary.shrink_to_fit();
        self.segment.postings.shrink_to_fit();
        self.segment
    }
}

/// Merges segments without the documents that `alive` rejects. The order is kept.
pub(super) fn merge(sources: &[(&Segment, &dyn Fn(u32) -> bool)]) -> Segment {
    let mut skills = Vec::new();
    let mut lengths = Vec::new();
    let mut breadths = Vec::new();
    let mut numbers: Vec<Vec<u32>> = Vec::new();
    for (segment, alive) in sources {
        let mut renumbered = Vec::with_capacity(segment.skills.len());
        for (document, skill) in (0..).zip(&segment.skills) {
            if skill.is_some() && alive(document) {
                renumbered.push(small(skills.len()));
                skills.push(skill.clone());
                lengths.push(segment.lengths[document as usize]);
                breadths.push(segment.breadths[document as usize]);
            } else {
                renumbered.push(u32::MAX);
            }
        }
        numbers.push(renumbered);
    }
    let mut writer = Writer::new(skills, lengths, breadths);
    let mut cursors: Vec<_> = sources
        .iter()
        .map(|(segment, _)| {
            let mut cursor = segment.cursor();
            let entry = cursor.next();
            (cursor, entry)
        })
        .collect();
    let mut term = Vec::new();
    loop {
        let waiting = cursors.iter().filter(|(_, entry)| entry.is_some());
        let Some(least) = waiting.map(|(cursor, _)| cursor.term.as_slice()).min() else {
            break;
        };
        term.clear();
        term.extend_from_slice(least);
        for ((cursor, entry), ((segment, _), numbers)) in
            cursors.iter_mut().zip(sources.iter().zip(&numbers))
        {
            let Some(found) = entry.filter(|_| cursor.term == term) else {
                continue;
            };
            for (document, counts) in segment.postings(found) {
                let number = numbers[document as usize];
                if number != u32::MAX {
                    writer.posting(number, counts);
                }
            }
            *entry = cursor.next();
        }
        writer.term(&term);
    }
    writer.finish()
}

/// Converts a count. Indexes stay below 4 GiB, so it fits.
pub(super) fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Writes a variable-length number.
fn write(out: &mut Vec<u8>, mut number: u32) {
    while number >= 128 {
        out.push(number.to_le_bytes()[0] | 128);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Reads a variable-length number; `None` if it is truncated or too long.
#[inline]
fn read(bytes: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 128 {
        return Some(u32::from(first));
    }
    let mut number = u32::from(first & 127);
    for shift in [7, 14, 21, 28] {
        let (&next, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(next & 127).checked_shl(shift)?;
        if next < 128 {
            return Some(number);
        }
    }
    None
}
