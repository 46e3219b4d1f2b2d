//! Which skills are loaded in one conversation.

use std::collections::BTreeMap;

use crate::activate::Activation;

/// The skills that are loaded, by name. One value for each conversation; whoever keeps the
/// conversation keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    skills: BTreeMap<Box<str>, LoadedSkill>,
}

/// A skill that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    /// The digest over its files when it was loaded.
    pub digest: String,
    /// A sum over what the model received.
    pub rendering: [u8; 32],
}

impl Loaded {
    /// Tells whether exactly this is loaded already.
    pub fn has(&self, activation: &Activation) -> bool {
        self.skills
            .get(&activation.name)
            .is_some_and(|known| known.rendering == activation.rendering())
    }

    /// Notes that a skill is loaded.
    pub fn insert(&mut self, activation: &Activation) {
        let skill = LoadedSkill {
            digest: activation.digest.clone(),
            rendering: activation.rendering(),
        };
        self.skills.insert(activation.name.clone(), skill);
    }

    /// Notes that a skill was loaded in an earlier part of the conversation.
    pub fn restore(&mut self, name: &str, digest: &str, rendering: [u8; 32]) {
        self.skills.insert(
            name.into(),
            LoadedSkill {
                digest: digest.to_owned(),
                rendering,
            },
        );
    }

    /// Forgets a skill. Tells whether it was loaded.
    pub fn remove(&mut self, name: &str) -> bool {
        self.skills.remove(name).is_some()
    }

    /// Looks one up.
    pub fn get(&self, name: &str) -> Option<&LoadedSkill> {
        self.skills.get(name)
    }

    /// Names of the skills that are loaded, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.skills.keys().map(|name| &**name)
    }
}
