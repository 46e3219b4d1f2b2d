//! Binary format of a skill head: numbers, the length of every text, then all texts concatenated.
//!
//! A second start spends most of its time reading heads, so the texts of a head are checked for
//! UTF-8 once as a whole, not one by one.

use std::sync::Arc;

use prowess_catalog::{FileStamp, Location, Skill, SkillForm, SkillId, SkillOrigin};

/// Size of the numbers before the lengths: two stamps, the fingerprint, problems, flags, and the
/// numbers of tags, metadata values and globs.
const NUMBERS: usize = 32 + 32 + 8 + 4 + 2 + 3 * 2;

/// Common suffix of all locations.
const FILE: &str = "/SKILL.md";

/// Bit flags: properties of a skill, and which texts it has.
mod flag {
    pub(super) const DESCRIBED: u16 = 1;
    pub(super) const MODEL_INVOCABLE: u16 = 1 << 1;
    pub(super) const USER_INVOCABLE: u16 = 1 << 2;
    pub(super) const PINNED: u16 = 1 << 3;
    pub(super) const SIDECAR: u16 = 1 << 4;
    pub(super) const ALIAS: u16 = 1 << 5;
    pub(super) const WHEN_TO_USE: u16 = 1 << 6;
    pub(super) const ARGUMENT_HINT: u16 = 1 << 7;
    pub(super) const VERSION: u16 = 1 << 8;
    pub(super) const CREATOR: u16 = 1 << 9;
    pub(super) const BY_AGENT: u16 = 1 << 10;
}

/// An encoded head. Texts are borrowed from the file.
pub(crate) struct Head<'a> {
    numbers: &'a [u8; NUMBERS],
    /// Lengths of the remaining texts, and those texts.
    lengths: &'a [u8],
    texts: &'a [u8],
}

/// Appends the head of a skill, without its location, which the reader knows. Returns `None` if a
/// value does not fit its field.
pub(crate) fn write(skill: &Skill, out: &mut Vec<u8>) -> Option<()> {
    let optional = [
        (flag::ALIAS, skill.alias.as_deref()),
        (flag::WHEN_TO_USE, skill.when_to_use.as_deref()),
        (flag::ARGUMENT_HINT, skill.argument_hint.as_deref()),
        (flag::VERSION, skill.version.as_deref()),
        (flag::CREATOR, skill.creator.as_deref()),
    ];
    let facts = [
        (flag::DESCRIBED, skill.described),
        (flag::MODEL_INVOCABLE, skill.model_invocable),
        (flag::USER_INVOCABLE, skill.user_invocable),
        (flag::PINNED, skill.pinned),
        (flag::SIDECAR, skill.sidecar.is_some()),
        (flag::BY_AGENT, skill.by_agent),
    ];
    let given = optional.iter().map(|(flag, text)| (*flag, text.is_some()));
    let flags = facts.into_iter().chain(given).filter(|(_, on)| *on);
    let flags = flags.fold(0, |flags, (flag, _)| flags | flag);
    for stamp in [skill.stamp, skill.sidecar.unwrap_or_default()] {
        out.extend_from_slice(&stamp.size.to_le_bytes());
        out.extend_from_slice(&stamp.modified.to_le_bytes());
        out.extend_from_slice(&stamp.changed.to_le_bytes());
        out.extend_from_slice(&stamp.inode.to_le_bytes());
    }
    out.extend_from_slice(&skill.fingerprint.to_le_bytes());
    out.extend_from_slice(&skill.problems.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    for count in [skill.tags.len(), skill.metadata.len(), skill.paths.len()] {
        out.extend_from_slice(&u16::try_from(count).ok()?.to_le_bytes());
    }
    let pairs = skill
        .metadata
        .iter()
        .flat_map(|(key, value)| [&**key, &**value]);
    let texts = [&*skill.id.path, &*skill.name, &*skill.description].into_iter();
    let texts = texts.chain(optional.into_iter().filter_map(|(_, text)| text));
    let texts = texts
        .chain(skill.tags.iter().map(|tag| &**tag))
        .chain(pairs);
    let texts = texts.chain(skill.paths.iter().map(|path| &**path));
    for text in texts.clone() {
        out.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
    }
    texts.for_each(|text| out.extend_from_slice(text.as_bytes()));
    Some(())
}

impl<'a> Head<'a> {
    /// Parses a head. Returns `None` if it is invalid.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (numbers, rest) = bytes.split_first_chunk::<NUMBERS>()?;
        let mut head = Self {
            numbers,
            lengths: &[],
            texts: &[],
        };
        let optional =
            flag::ALIAS | flag::WHEN_TO_USE | flag::ARGUMENT_HINT | flag::VERSION | flag::CREATOR;
        let [tags, metadata, paths] = head.counts();
        let given = (head.flags() & optional).count_ones() as usize;
        let texts = 3 + given + tags + 2 * metadata + paths;
        (head.lengths, head.texts) = rest.split_at_checked(4 * texts)?;
        Some(head)
    }

    /// Converts the head to a skill. Its location starts with `prefix`.
    pub(crate) fn into_skill(self, origin: &Arc<SkillOrigin>, prefix: &str) -> Option<Arc<Skill>> {
        let [tags, metadata, paths] = self.counts();
        let (flags, stamp, sidecar) = (self.flags(), self.stamp(0), self.sidecar());
        let mut texts = Texts {
            lengths: self.lengths,
            text: simdutf8::basic::from_utf8(self.texts).ok()?,
        };
        let has = |flag: u16| flags & flag != 0;
        let path = texts.next()?;
        let mut location = String::with_capacity(prefix.len() + path.len() + FILE.len());
        location.push_str(prefix);
        location.push_str(&path);
        location.push_str(FILE);
        Some(Arc::new(Skill {
            id: SkillId {
                origin: Arc::clone(origin),
                path,
            },
            name: texts.next()?,
            description: texts.next()?,
            alias: texts.optional(has(flag::ALIAS))?,
            when_to_use: texts.optional(has(flag::WHEN_TO_USE))?,
            argument_hint: texts.optional(has(flag::ARGUMENT_HINT))?,
            version: texts.optional(has(flag::VERSION))?,
            creator: texts.optional(has(flag::CREATOR))?,
            by_agent: has(flag::BY_AGENT),
            tags: list(tags, || texts.next())?,
            metadata: list(metadata, || Some((texts.next()?, texts.next()?)))?,
            paths: list(paths, || texts.next())?,
            described: has(flag::DESCRIBED),
            model_invocable: has(flag::MODEL_INVOCABLE),
            user_invocable: has(flag::USER_INVOCABLE),
            pinned: has(flag::PINNED),
            form: SkillForm::Folder,
            location: Location::from_text(location),
            stamp,
            sidecar,
            fingerprint: self.number(64),
            problems: u32::from_le_bytes(self.cell(72)),
            seal: None,
        }))
    }

    fn sidecar(&self) -> Option<FileStamp> {
        (self.flags() & flag::SIDECAR != 0).then(|| self.stamp(32))
    }

    fn flags(&self) -> u16 {
        u16::from_le_bytes(self.cell(76))
    }

    /// Returns the numbers of tags, metadata values and globs.
    fn counts(&self) -> [usize; 3] {
        [78, 80, 82].map(|at| u16::from_le_bytes(self.cell(at)).into())
    }

    fn stamp(&self, at: usize) -> FileStamp {
        FileStamp {
            size: self.number(at),
            modified: self.number(at + 8).cast_signed(),
            changed: self.number(at + 16).cast_signed(),
            inode: self.number(at + 24),
        }
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.cell(at))
    }

    fn cell<const N: usize>(&self, at: usize) -> [u8; N] {
        let cell = self.numbers.get(at..).and_then(|rest| rest.first_chunk());
        cell.copied().unwrap_or([0; N])
    }
}

/// Collects `count` values. Returns `None` if one is missing.
fn list<T>(count: usize, mut next: impl FnMut() -> Option<T>) -> Option<Vec<T>> {
    // Collecting into an `Option` would not reserve the capacity.
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(next()?);
    }
    Some(values)
}

/// Concatenated texts, taken one by one.
struct Texts<'a> {
    lengths: &'a [u8],
    text: &'a str,
}

impl Texts<'_> {
    fn next(&mut self) -> Option<Box<str>> {
        let (length, lengths) = self.lengths.split_first_chunk::<4>()?;
        let (text, rest) = self
            .text
            .split_at_checked(u32::from_le_bytes(*length) as usize)?;
        (self.lengths, self.text) = (lengths, rest);
        Some(text.into())
    }

    /// Returns the next text if it is present. The outer `None` means that the data is invalid.
    #[expect(clippy::option_option, reason = "the outer one is for `?`")]
    fn optional(&mut self, is_there: bool) -> Option<Option<Box<str>>> {
        if is_there {
            self.next().map(Some)
        } else {
            Some(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use prowess_catalog::Scope;

    use super::*;

    fn skill(full: bool) -> (Arc<SkillOrigin>, Skill) {
        let origin = Arc::new(SkillOrigin::new(Scope::User, 0, "/root"));
        let text = |text: &str| full.then(|| Box::from(text));
        let skill = Skill {
            id: SkillId {
                origin: Arc::clone(&origin),
                path: "group/技能".into(),
            },
            name: "name".into(),
            alias: text("alias"),
            description: if full { "Ünïcode".into() } else { "".into() },
            described: full,
            when_to_use: text("when"),
            argument_hint: text(""),
            version: text("1.0"),
            creator: text("agent"),
            by_agent: full,
            tags: text("tag").into_iter().chain(text("other")).collect(),
            metadata: text("key").into_iter().zip(text("value")).collect(),
            paths: text("*.rs").into_iter().collect(),
            model_invocable: full,
            user_invocable: !full,
            pinned: full,
            form: SkillForm::Folder,
            location: Location::from_text("/root/group/技能/SKILL.md"),
            stamp: FileStamp {
                size: 1,
                modified: -2,
                changed: i64::MAX,
                inode: u64::MAX,
            },
            sidecar: full.then_some(FileStamp {
                size: 5,
                modified: 6,
                changed: 7,
                inode: 8,
            }),
            fingerprint: 1 << 40,
            problems: 3,
            seal: None,
        };
        (origin, skill)
    }

    #[test]
    fn heads_round_trip() {
        for full in [false, true] {
            let (origin, skill) = skill(full);
            let mut bytes = Vec::new();
            write(&skill, &mut bytes).unwrap();
            let head = Head::read(&bytes).unwrap();
            assert_eq!(head.into_skill(&origin, "/root/"), Some(Arc::new(skill)));
        }
    }

    #[test]
    fn truncated_heads_are_rejected() {
        let (origin, skill) = skill(true);
        let mut bytes = Vec::new();
        write(&skill, &mut bytes).unwrap();
        for end in 0..bytes.len() {
            let head = Head::read(&bytes[..end]);
            assert_eq!(
                head.and_then(|head| head.into_skill(&origin, "/x")),
                None,
                "{end}"
            );
        }
        // Lengths that end inside a character.
        let at = NUMBERS;
        bytes[at] -= 1;
        let head = Head::read(&bytes).unwrap();
        assert_eq!(head.into_skill(&origin, "/x"), None);
    }
}
