//! Skills bundled with the program.

use prowess_catalog::{Scope, SkillOrigin};

use crate::memory::{MemorySource, NewSkill};

/// Texts of the bundled skills.
const SKILLS: &[&str] = &[include_str!("../../../skills/prowess/SKILL.md")];

/// Returns the bundled skills as a source. Invalid texts are skipped; a test checks that all are
/// valid.
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
    fn bundled_skills_are_valid() {
        assert_eq!(bundled().scan(Known::default()).skills.len(), SKILLS.len());
    }
}
