//! Serialises the index for a cache.
//!
//! Bytes that are corrupt, of another version or of another format yield `None`, and the index is
//! rebuilt. Skills are not stored: each document has a hash of its skill, which identifies it among
//! the current skills.

use std::collections::HashMap;
use std::sync::Arc;

use super::index::SearchIndex;
use super::segment::{LENGTHS, Segment, small};
use prowess_catalog::Skill;

const MAGIC: &[u8; 8] = b"prwsrch1";
/// Increase when tokens, fields or the layout change.
const VERSION: u32 = 3;

impl SearchIndex {
    /// Serialises the index.
    pub fn to_bytes(&self) -> Vec<u8> {
        let piece = self.compact();
        let segment = &piece.segment;
        let mut out = Vec::with_capacity(segment.size() + 64);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        for count in [
            small(segment.skills.len()),
            segment.terms,
            small(segment.blocks.len()),
            small(segment.dictionary.len()),
            small(segment.postings.len()),
        ] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        for skill in &segment.skills {
            out.extend_from_slice(&skill.as_deref().map_or(0, skill_hash).to_le_bytes());
        }
        for length in segment.lengths.iter().flatten() {
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(&segment.breadths);
        for (dictionary, postings) in &segment.blocks {
            out.extend_from_slice(&dictionary.to_le_bytes());
            out.extend_from_slice(&postings.to_le_bytes());
        }
        out.extend_from_slice(&segment.dictionary);
        out.extend_from_slice(&segment.postings);
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
        let fixed = documents
            .checked_mul(9 + 2 * LENGTHS)?
            .checked_add(blocks.checked_mul(8)?)?;
        // Check the length before allocating anything.
        if rest.len() != fixed.checked_add(dictionary)?.checked_add(postings)? {
            return None;
        }
        let mut waiting: HashMap<u64, usize> = HashMap::with_capacity(skills.len());
        for (position, skill) in skills.iter().enumerate() {
            waiting.entry(skill_hash(skill)).or_insert(position);
        }
        let mut found = vec![false; skills.len()];
        let mut places = Vec::new();
        let mut segment = Segment {
            terms,
            ..Segment::default()
        };
        for _ in 0..documents {
            let position = waiting.remove(&u64::from_le_bytes(*take(&mut rest)?));
            if let Some(position) = position {
                found[position] = true;
            }
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
        rest = others;
        for _ in 0..blocks {
            let dictionary = u32::from_le_bytes(*take(&mut rest)?);
            segment
                .blocks
                .push((dictionary, u32::from_le_bytes(*take(&mut rest)?)));
        }
        let (words, lists) = rest.split_at_checked(dictionary)?;
        segment.dictionary = words.to_vec();
        segment.postings = lists.to_vec();
        let missing = found.iter().enumerate().filter(|(_, found)| !**found);
        let missing = missing.map(|(position, _)| position).collect();
        let index = Self::placed(segment, places.into());
        Some((index, missing))
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
