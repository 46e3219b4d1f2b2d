//! Skills that are shipped inside the program.

use prowess_catalog::{Scope, SkillOrigin};

use crate::memory::{MemorySource, NewSkill};

/// The texts, by name of the skill.
const SKILLS: &[&str] = &[include_str!("../../../skills/prowess/SKILL.md")];

/// Returns the bundled skills as a source. A text that were not valid would be left out; a test
/// holds each of them to the rules.
pub fn bundled() -> MemorySource {
    let source = MemorySource::new(SkillOrigin::new(Scope::Bundled, u32::MAX, "bundled"));
    for skill in SKILLS
        .iter()
        .filter_map(|text| NewSkill::from_text(*text).ok())
    {
        source.add(skill);
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Known, SkillSource};

    #[test]
    fn every_bundled_skill_is_valid() {
        assert_eq!(bundled().scan(Known::default()).skills.len(), SKILLS.len());
    }
}
