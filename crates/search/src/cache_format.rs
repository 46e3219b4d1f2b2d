//! Serialises the index for a cache.
//!
//! Bytes that are corrupt, of another version or of another format yield `None`, and the index is
//! rebuilt. Skills are not stored: each document has a hash of its skill, which identifies it among
//! the current skills.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::fuzzy_names::NameWords;
use super::index::{IndexSegment, SearchIndex};
use super::segment::{LENGTHS, Segment, small};
use prowess_catalog::Skill;

const MAGIC: &[u8; 8] = b"prwsrch1";
/// Increase when tokens, fields or the layout change.
const VERSION: u32 = 4;

impl SearchIndex {
    /// Serialises the index.
    pub fn to_bytes(&self) -> Vec<u8> {
        let piece = self.compact();
        let (segment, names) = (&piece.segment, piece.names());
        let mut out = Vec::with_capacity(segment.size() + names.size() + 64);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        for count in [
            small(segment.skills.len()),
            segment.terms,
            small(segment.blocks.len()),
            small(segment.dictionary.len()),
            small(segment.postings.len()),
        ]
        .into_iter()
        .chain(names.counts())
        {
            out.extend_from_slice(&count.to_le_bytes());
        }
        for skill in &segment.skills {
            out.extend_from_slice(&skill.as_deref().map_or(0, skill_hash).to_le_bytes());
        }
        for length in segment.lengths.iter().flatten() {
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(&segment.breadths);
        out.extend_from_slice(&piece.name_lengths);
        for (dictionary, postings) in &segment.blocks {
            out.extend_from_slice(&dictionary.to_le_bytes());
            out.extend_from_slice(&postings.to_le_bytes());
        }
        out.extend_from_slice(&segment.dictionary);
        out.extend_from_slice(&segment.postings);
        names.write(&mut out);
        let sum = checksum(&out[20..]).to_le_bytes();
        out[12..20].copy_from_slice(&sum);
        out
    }

    /// Deserialises an index and assigns its documents to the current skills.
    ///
    /// Returns the positions of new and changed skills, which have no document yet; the caller adds
    /// them with [`SearchIndex::with_changes`]. Documents without a current skill are dropped.
    /// Returns `None` for bytes that this version did not write.
    pub fn from_bytes(bytes: &[u8], skills: &[Arc<Skill>]) -> Option<(Self, Vec<usize>)> {
        let mut rest = bytes
            .strip_prefix(MAGIC)?
            .strip_prefix(&VERSION.to_le_bytes())?;
        let sum = u64::from_le_bytes(*take(&mut rest)?);
        if checksum(rest) != sum {
            return None;
        }
        let mut count = || Some(u32::from_le_bytes(*take(&mut rest)?));
        let (documents, terms, blocks) = (count()? as usize, count()?, count()? as usize);
        let (dictionary, postings) = (count()? as usize, count()? as usize);
        let names = [count()?, count()?, count()?];
        let fixed = documents
            .checked_mul(10 + 2 * LENGTHS)?
            .checked_add(blocks.checked_mul(8)?)?
            .checked_add(NameWords::stored_size(names)?)?;
        // Check the length before allocating anything.
        if rest.len() != fixed.checked_add(dictionary)?.checked_add(postings)? {
            return None;
        }
        let mut finder = SkillFinder::new(skills);
        let mut places = Vec::new();
        let mut segment = Segment {
            terms,
            ..Segment::default()
        };
        for _ in 0..documents {
            let position = finder.find(u64::from_le_bytes(*take(&mut rest)?));
            places.push(position.map_or(u32::MAX, small));
            segment
                .skills
                .push(position.map(|position| Arc::clone(&skills[position])));
        }
        for _ in 0..documents {
            let mut lengths = [0; LENGTHS];
            for length in &mut lengths {
                *length = u16::from_le_bytes(*take(&mut rest)?);
            }
            segment.lengths.push(lengths);
        }
        let (breadths, others) = rest.split_at_checked(documents)?;
        segment.breadths = breadths.to_vec();
        let (name_lengths, others) = others.split_at_checked(documents)?;
        rest = others;
        for _ in 0..blocks {
            let dictionary = u32::from_le_bytes(*take(&mut rest)?);
            segment
                .blocks
                .push((dictionary, u32::from_le_bytes(*take(&mut rest)?)));
        }
        let (words, others) = rest.split_at_checked(dictionary)?;
        let (lists, others) = others.split_at_checked(postings)?;
        segment.dictionary = words.to_vec();
        segment.postings = lists.to_vec();
        let names = NameWords::read(others, names, documents)?;
        let base = IndexSegment::stored(segment, name_lengths.to_vec(), names);
        let index = Self::placed(base, places.into());
        Some((index, finder.missing()))
    }
}

/// Finds skills by their hash. They are usually asked for in order, so that a table is rarely
/// needed.
struct SkillFinder {
    hashes: Vec<u64>,
    is_found: Vec<bool>,
    /// The position of the skill that is expected next.
    next: usize,
    table: OnceCell<HashMap<u64, usize>>,
}

impl SkillFinder {
    fn new(skills: &[Arc<Skill>]) -> Self {
        Self {
            hashes: skills.iter().map(|skill| skill_hash(skill)).collect(),
            is_found: vec![false; skills.len()],
            next: 0,
            table: OnceCell::new(),
        }
    }

    /// Returns the position of a skill that was not found before.
    fn find(&mut self, hash: u64) -> Option<usize> {
        let position = if self.hashes.get(self.next) == Some(&hash) {
            self.next
        } else {
            let table = || self.hashes.iter().copied().zip(0..).collect();
            *self.table.get_or_init(table).get(&hash)?
        };
        self.next = position + 1;
        let is_found = self.is_found.get_mut(position)?;
        (!std::mem::replace(is_found, true)).then_some(position)
    }

    /// Returns the positions of the skills that were not found.
    fn missing(self) -> Vec<usize> {
        let found = self.is_found.iter().enumerate();
        found
            .filter(|(_, found)| !**found)
            .map(|(position, _)| position)
            .collect()
    }
}

/// Takes the next `N` bytes.
fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

/// Hashes everything that identifies a version of a skill.
fn skill_hash(skill: &Skill) -> u64 {
    let mut sum = Checksum::new();
    for text in [
        &skill.id.origin.root,
        &skill.id.path,
        &skill.name,
        &skill.description,
    ] {
        sum.add(&text.len().to_le_bytes());
        sum.add(text.as_bytes());
    }
    sum.add(&skill.fingerprint.to_le_bytes());
    sum.finish()
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Checksum::new();
    sum.add(bytes);
    sum.finish()
}

/// A checksum against corruption. It does not protect against tampering.
struct Checksum(u64);

impl Checksum {
    fn new() -> Self {
        Self(0x243f_6a88_85a3_08d3)
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}
