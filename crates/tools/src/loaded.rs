//! The skills that are loaded in one conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess_agent::ActiveSkill;
use prowess_policy::PermissionRules;

use crate::activate::Activation;
use crate::snapshot::{SkillHandle, SkillSnapshot};

/// The skills that are loaded in one conversation, by name.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    skills: BTreeMap<Box<str>, LoadedEntry>,
    /// A skill that the caller resolved for the next call.
    resolved: Option<SkillHandle>,
    /// Restrictions of skills that are loaded, but not in this list.
    restrictions: PermissionRules,
}

#[derive(Clone, Debug)]
struct LoadedEntry {
    active: ActiveSkill,
    snapshot: Option<Arc<SkillSnapshot>>,
}

impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        let active = |loaded: &Self| -> Vec<ActiveSkill> {
            let entries = loaded.skills.values();
            entries.map(|entry| entry.active.clone()).collect()
        };
        active(self) == active(other)
    }
}

impl Eq for Loaded {}

impl Loaded {
    /// Returns `true` if the skill is loaded with exactly this text.
    pub fn has(&self, activation: &Activation) -> bool {
        self.get(activation.name())
            .is_some_and(|known| known.rendering == activation.rendering)
    }

    /// Adds a skill that a model loads, and returns it as an event records it. One that a person
    /// invoked earlier stays one.
    pub fn insert(&mut self, activation: &Activation) -> ActiveSkill {
        let by_user = self.get(activation.name()).is_some_and(|it| it.by_user);
        self.add(activation, by_user)
    }

    /// Adds a skill that a person invokes, and returns it as an event records it.
    pub fn insert_by_user(&mut self, activation: &Activation) -> ActiveSkill {
        self.add(activation, true)
    }

    fn add(&mut self, activation: &Activation, by_user: bool) -> ActiveSkill {
        let active = ActiveSkill {
            by_user,
            ..activation.active()
        };
        let entry = LoadedEntry {
            active: active.clone(),
            snapshot: Some(Arc::clone(&activation.snapshot)),
        };
        self.skills.insert(active.name.clone(), entry);
        active
    }

    /// Adds a skill that was loaded earlier in the conversation. If `snapshot` is `None`, an
    /// existing snapshot is kept.
    pub fn restore(&mut self, active: ActiveSkill, snapshot: Option<Arc<SkillSnapshot>>) {
        let known = self.skills.remove(&active.name);
        let snapshot = snapshot.or_else(|| known?.snapshot);
        let name = active.name.clone();
        self.skills.insert(name, LoadedEntry { active, snapshot });
    }

    /// Adds the skills of another conversation.
    pub fn merge(&mut self, other: Self) {
        self.skills.extend(other.skills);
    }

    /// Returns `true` if a person invoked the skill and it restricts what may be done: with
    /// `disallowed-tools` or hooks.
    pub(crate) fn is_users_restriction(&self, name: &str) -> bool {
        let Some(entry) = self.skills.get(name).filter(|entry| entry.active.by_user) else {
            return false;
        };
        // Without its files it is unknown what it restricts.
        entry.snapshot.as_ref().is_none_or(|skill| {
            let tools = skill.trust.restrictions();
            tools.is_some_and(PermissionRules::is_restricting)
                || !skill.effects.hooks.handlers.is_empty()
        })
    }

    /// Removes a skill. Returns `true` if it was loaded.
    pub fn remove(&mut self, name: &str) -> bool {
        self.skills.remove(name).is_some()
    }

    /// Removes a skill whose text no longer fits. The `disallowed-tools` of one that a person invoked
    /// stay in force.
    pub fn drop_text(&mut self, name: &str) {
        let Some(entry) = self.skills.remove(name) else {
            return;
        };
        let skill = entry.snapshot.filter(|skill| !skill.is_served());
        let skill = skill.filter(|_| entry.active.by_user);
        if let Some(tools) = skill.as_ref().and_then(|skill| skill.trust.restrictions()) {
            self.restrictions.restrict(tools);
        }
    }

    /// Returns a loaded skill.
    pub fn get(&self, name: &str) -> Option<&ActiveSkill> {
        self.skills.get(name).map(|entry| &entry.active)
    }

    /// Returns the names of the loaded skills, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.skills.keys().map(|name| &**name)
    }

    /// Returns the snapshots of the loaded skills, sorted by name.
    pub fn snapshots(&self) -> impl Iterator<Item = &Arc<SkillSnapshot>> {
        self.skills
            .values()
            .filter_map(|entry| entry.snapshot.as_ref())
    }

    /// Returns the deny rules of the loaded skills that were trusted when they were loaded: their
    /// `disallowed-tools`, until they are unloaded. An edit of the skill's files does not lift them.
    pub(crate) fn restrictions(&self) -> PermissionRules {
        let mut restrictions = self.restrictions.clone();
        let skills = self.snapshots().filter(|skill| !skill.is_served());
        for tools in skills.filter_map(|skill| skill.trust.restrictions()) {
            restrictions.restrict(tools);
        }
        restrictions
    }

    /// Returns a list without skills that keeps their restrictions, for a caller that wants every
    /// skill in full.
    #[must_use]
    pub fn restrictions_only(&self) -> Self {
        Self {
            restrictions: self.restrictions(),
            ..Self::default()
        }
    }

    /// Keeps a resolved skill for the next call, so that the call does not resolve it again.
    pub fn set_resolved(&mut self, skill: SkillHandle) {
        self.resolved = Some(skill);
    }

    /// Takes the resolved skill if it has this name.
    pub(crate) fn take_resolved(&mut self, asked: &str) -> Option<SkillHandle> {
        self.resolved.take().filter(|skill| skill.asked() == asked)
    }
}
