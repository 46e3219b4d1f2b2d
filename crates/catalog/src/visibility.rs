//! Who may see and invoke a skill. One function decides for index, tools, slash commands and
//! spawned agents alike.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use prowess_spec::name;

use crate::catalog::{Catalog, Entry, NotFound};
use crate::paths::PathGlobs;
use crate::skill::SkillId;

/// What a person set for one skill, the strictest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Override {
    /// As the skill says.
    #[default]
    On,
    /// Models see the name alone.
    NameOnly,
    /// Models do not see it; people may invoke it.
    UserOnly,
    /// Nobody sees it.
    Off,
}

impl Override {
    /// Every setting.
    pub const ALL: [Self; 4] = [Self::On, Self::NameOnly, Self::UserOnly, Self::Off];

    /// Returns the word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::NameOnly => "name-only",
            Self::UserOnly => "user-only",
            Self::Off => "off",
        }
    }

    /// Reads the word used in configuration; Claude Code's `user-invocable-only` is understood.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "user-invocable-only" {
            return Some(Self::UserOnly);
        }
        Self::ALL
            .into_iter()
            .find(|setting| setting.as_str() == word)
    }
}

/// Which skills an agent was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The only skills it has; nothing means all, an empty list means none.
    pub allow: Option<Vec<String>>,
    /// Skills it does not have, whatever else is said.
    pub deny: Vec<String>,
}

/// Why a grant makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantFault {
    /// It names a skill that does not exist.
    Unknown(NotFound),
    /// It names skills where there are none at all.
    NothingLoaded,
}

impl std::error::Error for GrantFault {}

impl std::fmt::Display for GrantFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(fault) => {
                let loaded = prowess_diag::wording::count(fault.known, "skill");
                write!(f, "{fault} among the {loaded} that are loaded")
            }
            Self::NothingLoaded => f.write_str("skills are named, but none is loaded"),
        }
    }
}

/// What decides about visibility.
#[derive(Clone, Debug, Default)]
pub struct Visibility {
    /// Settings of the person, by name of the skill.
    pub overrides: BTreeMap<String, Override>,
    /// What the agent was given.
    pub grant: Grant,
    /// Files that were read or written, seen from the current folder, as nested folders are; nothing where nobody keeps count,
    /// and then skills for certain files are listed with their condition.
    pub touched: Option<Vec<String>>,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A model.
    Model,
    /// A person.
    Person,
}

/// What somebody sees of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Name and description.
    Full,
    /// The name.
    NameOnly,
    /// Nothing.
    Hidden(Hidden),
}

/// Why somebody does not see a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Another skill has its name.
    Shadowed,
    /// The agent was not given it. To that agent it does not exist.
    NotGranted,
    /// A person switched it off.
    SwitchedOff,
    /// A person left it to people.
    LeftToPeople,
    /// Its author left it to people: `disable-model-invocation`.
    NotForModels,
    /// Its author left it to models: `user-invocable: false`.
    NotForPeople,
    /// None of the files it is meant for was touched yet.
    Waiting,
}

impl Hidden {
    /// Says why, as the end of "hidden: …".
    pub fn reason(self) -> &'static str {
        match self {
            Self::Shadowed => "another skill has its name",
            Self::NotGranted => "the agent was not given it",
            Self::SwitchedOff => "it is switched off in the configuration",
            Self::LeftToPeople => "the configuration leaves it to people",
            Self::NotForModels => "its author left it to people (`disable-model-invocation`)",
            Self::NotForPeople => "its author left it to models (`user-invocable: false`)",
            Self::Waiting => "none of the files in its `paths` was touched yet",
        }
    }

    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shadowed => "shadowed",
            Self::NotGranted => "not-granted",
            Self::SwitchedOff => "switched-off",
            Self::LeftToPeople => "left-to-people",
            Self::NotForModels => "not-for-models",
            Self::NotForPeople => "not-for-people",
            Self::Waiting => "waiting",
        }
    }
}

/// Why a look-up gives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such skill, or none that whoever asks may know of.
    NotFound(NotFound),
    /// There is one, and it is not for whoever asks.
    NotForYou {
        /// Its name.
        name: Box<str>,
        /// Why.
        why: Hidden,
    },
}

impl std::error::Error for Refusal {}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound(fault) => fault.fmt(f),
            Self::NotForYou { name, why } => {
                write!(
                    f,
                    "{} cannot be used: {}",
                    prowess_diag::wording::tick(name),
                    why.reason()
                )
            }
        }
    }
}

/// A catalogue as somebody sees it.
#[derive(Clone, Debug)]
pub struct View<'c> {
    catalog: &'c Catalog,
    policy: &'c Visibility,
    who: Who,
    /// The skills that were granted; nothing means all.
    granted: Option<BTreeSet<&'c SkillId>>,
    /// What was denied, by name in its normal form.
    denied: BTreeSet<Cow<'c, str>>,
    /// What was denied, by skill.
    denied_skills: BTreeSet<&'c SkillId>,
    /// Settings of the person, by name in its normal form, and by skill.
    settings: BTreeMap<Cow<'c, str>, Override>,
    skill_settings: BTreeMap<&'c SkillId, Override>,
    /// Names of skills that are seen although another one has their name.
    names: BTreeMap<&'c SkillId, String>,
}

impl Grant {
    /// Tells whether every name means a skill.
    pub fn check(&self, catalog: &Catalog) -> Result<(), GrantFault> {
        for name in self.allow.iter().flatten() {
            if catalog.entries().is_empty() {
                return Err(GrantFault::NothingLoaded);
            }
            catalog.resolve(name).map_err(GrantFault::Unknown)?;
        }
        Ok(())
    }

    /// Returns what this grant and another both give. Names mean the skills that they mean now, so
    /// that two names of one skill are the same; what means none gives none.
    #[must_use]
    pub fn and(&self, other: &Self, catalog: &Catalog) -> Self {
        let id = |name: &String| catalog.lookup(name).map(|entry| &entry.skill.id);
        let allow = match (&self.allow, &other.allow) {
            (Some(ours), Some(theirs)) => {
                let theirs: BTreeSet<&SkillId> = theirs.iter().filter_map(id).collect();
                let both = |name: &&String| id(name).is_some_and(|id| theirs.contains(id));
                Some(ours.iter().filter(both).cloned().collect())
            }
            (ours, theirs) => ours.as_ref().or(theirs.as_ref()).cloned(),
        };
        Self {
            allow,
            deny: [&*self.deny, &*other.deny].concat(),
        }
    }
}

impl<'c> View<'c> {
    /// Looks at a catalogue as somebody.
    pub fn new(catalog: &'c Catalog, policy: &'c Visibility, who: Who) -> Self {
        let ids = |names: &'c [String]| -> BTreeSet<&'c SkillId> {
            let found = names.iter().filter_map(|name| catalog.lookup(name));
            found.map(|entry| &entry.skill.id).collect()
        };
        let Grant { allow, deny } = &policy.grant;
        let mut view = Self {
            catalog,
            policy,
            who,
            granted: allow.as_deref().map(ids),
            denied: deny.iter().map(|denied| name::normalise(denied)).collect(),
            denied_skills: ids(deny),
            settings: BTreeMap::new(),
            skill_settings: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        for (written, &setting) in &policy.overrides {
            let by_name = view.settings.entry(name::normalise(written)).or_default();
            *by_name = setting.max(*by_name);
            if let Some(entry) = catalog.lookup(written) {
                let by_skill = view.skill_settings.entry(&entry.skill.id).or_default();
                *by_skill = setting.max(*by_skill);
            }
        }
        view.names = view.granted_shadows();
        view
    }

    /// Skills that were granted by a qualified name while the one that took their name was not. They
    /// are seen under that name, or a project could empty an agent's list by shadowing.
    fn granted_shadows(&self) -> BTreeMap<&'c SkillId, String> {
        let Some(granted) = &self.granted else {
            return BTreeMap::new();
        };
        let is_seen = |entry: &&Entry| {
            let winner = self.catalog.winner_over(entry);
            granted.contains(&entry.skill.id)
                && winner.is_some_and(|winner| !self.is_granted(winner))
        };
        let seen = self.catalog.entries().iter().filter(is_seen);
        seen.map(|entry| (&entry.skill.id, self.catalog.qualified_name(entry)))
            .collect()
    }

    /// Returns the name under which a skill is seen.
    pub fn name<'v>(&'v self, entry: &'v Entry) -> &'v str {
        self.names
            .get(&entry.skill.id)
            .map_or_else(|| entry.name(), String::as_str)
    }

    /// Whether the agent was given a skill. A denied name is denied to every copy that has it, or
    /// a shadowed one would step in.
    fn is_granted(&self, entry: &Entry) -> bool {
        let skill = &entry.skill;
        let names = [
            Some(entry.name()),
            Some(&skill.name),
            skill.alias.as_deref(),
        ];
        let denied = names
            .into_iter()
            .flatten()
            .any(|name| self.denied.contains(name))
            || self.denied_skills.contains(&skill.id);
        !denied
            && self
                .granted
                .as_ref()
                .is_none_or(|granted| granted.contains(&skill.id))
    }

    /// Tells what is seen of a skill, and why not all.
    pub fn sight(&self, entry: &Entry) -> Sight {
        let is_hidden = entry.is_shadowed() && !self.names.contains_key(&entry.skill.id);
        if is_hidden {
            Sight::Hidden(Hidden::Shadowed)
        } else {
            self.sight_alone(entry)
        }
    }

    /// Returns `true` if a caller that names the skill may use it.
    pub fn admits(&self, entry: &Entry) -> bool {
        // Callers may name a skill that waits for its files; only a listing leaves it out.
        matches!(
            self.sight_alone(entry),
            Sight::Full | Sight::NameOnly | Sight::Hidden(Hidden::Waiting)
        )
    }

    /// What is seen of a skill that is asked for by a name that means it alone.
    fn sight_alone(&self, entry: &Entry) -> Sight {
        let skill = &entry.skill;
        if !self.is_granted(entry) {
            return Sight::Hidden(Hidden::NotGranted);
        }
        let setting = self.setting(entry);
        match (self.who, setting) {
            (_, Override::Off) => return Sight::Hidden(Hidden::SwitchedOff),
            (Who::Model, Override::UserOnly) => return Sight::Hidden(Hidden::LeftToPeople),
            _ => {}
        }
        match self.who {
            Who::Person if !skill.user_invocable => Sight::Hidden(Hidden::NotForPeople),
            Who::Model if !skill.model_invocable => Sight::Hidden(Hidden::NotForModels),
            Who::Model if !self.is_awake(entry) => Sight::Hidden(Hidden::Waiting),
            Who::Model if setting == Override::NameOnly => Sight::NameOnly,
            Who::Person | Who::Model => Sight::Full,
        }
    }

    fn setting(&self, entry: &Entry) -> Override {
        if self.settings.is_empty() {
            return Override::On;
        }
        // The strictest of all that mean the skill, by whatever name.
        let skill = &entry.skill;
        let names = [
            Some(entry.name()),
            Some(&skill.name),
            skill.alias.as_deref(),
        ];
        let by_name = names
            .into_iter()
            .flatten()
            .filter_map(|name| self.settings.get(name));
        let by_skill = self.skill_settings.get(&skill.id);
        by_name.chain(by_skill).copied().max().unwrap_or_default()
    }

    /// Whether one of the files that a skill is meant for was touched.
    fn is_awake(&self, entry: &Entry) -> bool {
        let Some(touched) = &self.policy.touched else {
            return true;
        };
        let skill = &entry.skill;
        let nested = &skill.id.origin.nested;
        let inside = |file: &String| {
            file.strip_prefix(&**nested)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if !nested.is_empty() && !touched.iter().any(inside) {
            return false;
        }
        if skill.paths.is_empty() {
            return true;
        }
        let globs = PathGlobs::new(&skill.paths);
        touched.iter().any(|file| globs.matches(file))
    }

    /// Returns what is seen, in order of name.
    pub fn visible(&self) -> impl Iterator<Item = (&'c Entry, Sight)> + '_ {
        self.catalog
            .entries()
            .iter()
            .filter_map(|entry| match self.sight(entry) {
                Sight::Hidden(_) => None,
                sight => Some((entry, sight)),
            })
    }

    /// Finds the skill that a name means. What was not granted or was switched off looks exactly
    /// like what does not exist.
    pub fn resolve(&self, asked: &str) -> Result<&'c Entry, Refusal> {
        #[cfg(feature = "counters")]
        crate::counters::count();
        let absent = || {
            let may_see = |entry: &Entry| !matches!(self.sight(entry), Sight::Hidden(_));
            Refusal::NotFound(self.catalog.not_found(asked, may_see))
        };
        let entry = self.catalog.lookup(asked).ok_or_else(absent)?;
        match self.sight_alone(entry) {
            Sight::Hidden(Hidden::NotGranted | Hidden::SwitchedOff) => Err(absent()),
            // People and models may name a skill themselves; only a listing waits for a file.
            Sight::Full | Sight::NameOnly | Sight::Hidden(Hidden::Waiting) => Ok(entry),
            Sight::Hidden(why) => Err(Refusal::NotForYou {
                name: entry.name().into(),
                why,
            }),
        }
    }
}
