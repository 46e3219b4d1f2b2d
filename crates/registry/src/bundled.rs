//! Skills bundled with the program.

use prowess_catalog::{Scope, SkillOrigin};

use crate::memory::{MemorySource, NewSkill};

/// A skill as it was bundled with a version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundledText {
    /// The name.
    pub name: &'static str,
    /// The version of the skill.
    pub version: &'static str,
    /// Its SKILL.md, which is its only file.
    pub text: &'static str,
}

/// Every text that was ever bundled; of each skill, the newest first. A text that is changed gets a new
/// version here, and the old one stays: copies of it in other folders are recognised by it.
const TEXTS: &[BundledText] = &[
    BundledText {
        name: "prowess",
        version: "1.1.0",
        text: include_str!("../../../skills/prowess/SKILL.md"),
    },
    BundledText {
        name: "prowess",
        version: "1.0.0",
        text: include_str!("bundled/prowess-1.0.0.md"),
    },
];

/// Returns the bundled skills of this program.
pub fn bundled_skills() -> impl Iterator<Item = &'static BundledText> {
    let is_newest = |(at, one): &(usize, &BundledText)| {
        let earlier = TEXTS.get(..*at).unwrap_or_default();
        !earlier.iter().any(|other| other.name == one.name)
    };
    let texts = TEXTS.iter().enumerate().filter(is_newest);
    texts.map(|(_, one)| one)
}

/// Returns every text of a bundled skill, the newest first.
pub fn bundled_history(name: &str) -> impl Iterator<Item = &'static BundledText> {
    TEXTS.iter().filter(move |one| one.name == name)
}

/// Returns the bundled skills as a source. Invalid texts are skipped; a test checks that all are
/// valid.
pub fn bundled() -> MemorySource {
    let source = MemorySource::new(SkillOrigin::new(Scope::Bundled, u32::MAX, "bundled"));
    for skill in bundled_skills().filter_map(|one| NewSkill::from_text(one.text).ok()) {
        source.add(skill);
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Known, SkillSource};

    #[test]
    fn bundled_skills_are_valid_and_have_their_versions() {
        let skills = bundled().scan(Known::default()).skills;
        assert_eq!(skills.len(), bundled_skills().count());
        for (skill, text) in skills.iter().zip(bundled_skills()) {
            assert_eq!(&*skill.name, text.name);
            assert_eq!(skill.version.as_deref(), Some(text.version));
        }
        let mut known: Vec<_> = TEXTS.iter().map(|one| (one.name, one.version)).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), TEXTS.len());
    }
}
