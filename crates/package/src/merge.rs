//! Merges three versions of a skill: base, mine, theirs.
