//! Precedence among skills of the same name.

use std::cmp::Ordering;

use crate::scope::Scope;
use crate::skill::{Skill, SkillForm};

/// The order of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precedence {
    /// Program, project, extra, user, bundled: the rule of the Agent Skills guide.
    #[default]
    ProjectFirst,
    /// Program, user, project, extra, bundled: the rule of Claude Code.
    UserFirst,
}

impl Precedence {
    /// Compares two skills of the same name; the lesser one wins.
    ///
    /// A skill beats a command file. Then the scope decides, then the order of the roots. Within a
    /// root, a skill whose folder has its name beats one in another folder, such as a copy; then the
    /// path decides, so that the result never depends on the order of reading.
    pub fn compare(self, a: &Skill, b: &Skill) -> Ordering {
        let key = |skill: &Skill| {
            (
                skill.form == SkillForm::Command,
                self.rank(skill.id.origin.scope),
            )
        };
        key(a).cmp(&key(b)).then_with(|| {
            let order = |skill: &Skill| (skill.id.origin.order, skill.form);
            let (a_root, b_root) = (&a.id.origin, &b.id.origin);
            order(a)
                .cmp(&order(b))
                .then_with(|| a_root.cmp(b_root))
                .then_with(|| a.alias.is_some().cmp(&b.alias.is_some()))
                .then_with(|| a.id.path.cmp(&b.id.path))
        })
    }

    fn rank(self, scope: Scope) -> u8 {
        match (self, scope) {
            (_, Scope::Program) => 0,
            (Self::UserFirst, Scope::User) => 1,
            (_, Scope::Project) => 2,
            (_, Scope::Extra) => 3,
            (_, Scope::User) => 4,
            (_, Scope::Bundled) => 5,
            (_, Scope::Server) => 6,
        }
    }
}
