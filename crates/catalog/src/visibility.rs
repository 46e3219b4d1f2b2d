//! Decides who may see and invoke a skill: for the index, tools, slash commands and spawned agents.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use prowess_spec::name;
use prowess_spec::wildcard::like;

use crate::catalog::{Catalog, CatalogEntry, SkillNotFound};
use crate::path_globs::PathGlobs;
use crate::scope::Scope;
use crate::skill::SkillId;
use crate::version::{satisfies, split_range};

/// A user's setting for one skill, strictest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisibilityOverride {
    /// As the skill declares.
    #[default]
    On,
    /// Models see only the name.
    NameOnly,
    /// Hidden from models; users may invoke it.
    UserOnly,
    /// Hidden from everyone.
    Off,
}

impl VisibilityOverride {
    /// Every setting.
    pub const ALL: [Self; 4] = [Self::On, Self::NameOnly, Self::UserOnly, Self::Off];

    /// Returns the name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::NameOnly => "name-only",
            Self::UserOnly => "user-only",
            Self::Off => "off",
        }
    }

    /// Parses the name used in configuration; also accepts Claude Code's `user-invocable-only`.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "user-invocable-only" {
            return Some(Self::UserOnly);
        }
        Self::ALL
            .into_iter()
            .find(|setting| setting.as_str() == word)
    }
}

/// The skills granted to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillGrant {
    /// The only skills it has; `None` for all, an empty list for none.
    pub allow: Option<Vec<String>>,
    /// Skills it does not have, even if `allow` lists them.
    pub deny: Vec<String>,
}

/// The reason why a grant is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillGrantFault {
    /// It names an unknown skill.
    Unknown(SkillNotFound),
    /// It names skills, but none are loaded.
    NothingLoaded,
}

impl std::error::Error for SkillGrantFault {}

impl std::fmt::Display for SkillGrantFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(fault) => {
                let loaded = prowess_diag::wording::count(fault.known, "loaded skill");
                write!(f, "{fault} among the {loaded}")
            }
            Self::NothingLoaded => f.write_str("the grant names skills, but none are loaded"),
        }
    }
}

/// The settings that determine visibility.
#[derive(Clone, Debug, Default)]
pub struct Visibility {
    /// The user's settings by skill name.
    pub overrides: BTreeMap<String, VisibilityOverride>,
    /// The skills granted to the agent.
    pub grant: SkillGrant,
    /// Lists of the only skills that exist here: a skill must be in each of them.
    pub only: Vec<Vec<String>>,
    /// The folders of the only skills of the project that exist here: those that its lockfile names.
    /// `None` if the lockfile does not matter.
    pub locked: Option<BTreeSet<PathBuf>>,
    /// The permission rules about loading skills.
    pub rules: LoadRules,
    /// Files that were read or written, relative to the current folder like nested folders. `None`
    /// if they are not tracked; skills with `paths` are then listed with their condition.
    pub touched: Option<Vec<String>>,
    /// Lets searches find skills that wait for their files. For callers whose files are unknown, such
    /// as MCP clients; the skills would wait forever.
    pub search_waiting: bool,
}

/// The names in permission rules about loading skills; `*` in a name matches any text. Skills that
/// cannot be loaded are not listed for models. A lookup still finds them, so that the gate can name
/// the rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRules {
    /// Skills that models may not load.
    pub denied: Vec<Box<str>>,
    /// The only skills that models may load; `None` for all.
    pub allowed: Option<Vec<Box<str>>>,
}

impl LoadRules {
    /// Returns `true` if a model may not load a skill with these names.
    fn forbids(&self, names: &[&str]) -> bool {
        let bare = |name: &str| name.rsplit(':').next().unwrap_or_default().to_owned();
        let is_denied = |pattern: &str| {
            (names.iter()).any(|name| like(pattern, name) || like(pattern, &bare(name)))
        };
        let is_allowed = |pattern: &str| names.iter().any(|name| like(pattern, name));
        self.denied.iter().any(|pattern| is_denied(pattern))
            || (self.allowed.as_ref())
                .is_some_and(|allowed| !allowed.iter().any(|pattern| is_allowed(pattern)))
    }
}

/// The audience of a listing or lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A model.
    Model,
    /// A user.
    Person,
}

/// The visible part of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillVisibility {
    /// Name and description.
    Full,
    /// Only the name.
    NameOnly,
    /// Not visible.
    Hidden(HiddenReason),
}

/// The reason why a skill is not visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenReason {
    /// Another skill of the same name wins.
    Shadowed,
    /// It is not granted to the agent, for which it does not exist.
    NotGranted,
    /// The user disabled it.
    SwitchedOff,
    /// `skills.only` does not list it.
    NotListed,
    /// No lockfile names it, and the settings allow locked skills only.
    NotLocked,
    /// The permissions do not allow models to load it.
    Denied,
    /// The user restricted it to users.
    LeftToPeople,
    /// Its author restricted it to users: `disable-model-invocation`.
    NotForModels,
    /// Its author restricted it to models: `user-invocable: false`.
    NotForPeople,
    /// No file that matches its `paths` was used yet.
    Waiting,
}

impl HiddenReason {
    /// Returns the reason, to be used after "hidden: ".
    pub fn reason(self) -> &'static str {
        match self {
            Self::Shadowed => "another skill of the same name takes precedence",
            Self::NotGranted => "it is not granted to the agent",
            Self::SwitchedOff => "it is disabled in the configuration",
            Self::NotListed => "`skills.only` does not list it",
            Self::NotLocked => "no lockfile names it, and `only-locked` is set",
            Self::Denied => "the permissions do not allow loading it",
            Self::LeftToPeople => "the configuration restricts it to users",
            Self::NotForModels => "its author restricted it to users (`disable-model-invocation`)",
            Self::NotForPeople => "its author restricted it to models (`user-invocable: false`)",
            Self::Waiting => "no file that matches its `paths` has been used yet",
        }
    }

    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shadowed => "shadowed",
            Self::NotGranted => "not-granted",
            Self::SwitchedOff => "switched-off",
            Self::NotListed => "not-listed",
            Self::NotLocked => "not-locked",
            Self::Denied => "denied",
            Self::LeftToPeople => "left-to-people",
            Self::NotForModels => "not-for-models",
            Self::NotForPeople => "not-for-people",
            Self::Waiting => "waiting",
        }
    }
}

/// The reason why a lookup is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupRefusal {
    /// There is no such skill, or the caller may not know of it.
    NotFound(SkillNotFound),
    /// The skill exists, but not for this audience.
    NotForYou {
        /// Its name.
        name: Box<str>,
        /// The reason.
        why: HiddenReason,
    },
    /// The skill exists in a version that is not in the range that was asked for.
    OtherVersion {
        /// Its name.
        name: Box<str>,
        /// The range.
        wanted: Box<str>,
        /// Its version. `None` if it has none.
        found: Option<Box<str>>,
    },
}

impl std::error::Error for LookupRefusal {}

impl std::fmt::Display for LookupRefusal {
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
            Self::OtherVersion {
                name,
                wanted,
                found,
            } => {
                let [name, wanted] = [name, wanted].map(prowess_diag::wording::tick);
                match found {
                    Some(found) => write!(f, "{name} has version {found}, not {wanted}"),
                    None => write!(f, "{name} has no version, and {wanted} was asked for"),
                }
            }
        }
    }
}

/// A catalogue as seen by an audience.
#[derive(Clone, Debug)]
pub struct CatalogView<'c> {
    catalog: &'c Catalog,
    policy: &'c Visibility,
    who: Audience,
    /// The granted skills; `None` for all.
    granted: Option<BTreeSet<&'c SkillId>>,
    /// The skills of each list in `only`.
    only: Vec<BTreeSet<&'c SkillId>>,
    /// Denied names, in normal form.
    denied: BTreeSet<Cow<'c, str>>,
    /// Denied skills.
    denied_skills: BTreeSet<&'c SkillId>,
    /// The user's settings by name in normal form, and by skill.
    settings: BTreeMap<Cow<'c, str>, VisibilityOverride>,
    skill_settings: BTreeMap<&'c SkillId, VisibilityOverride>,
    /// Qualified names of skills that are visible although another one has their name.
    names: BTreeMap<&'c SkillId, String>,
}

impl SkillGrant {
    /// Checks that every name resolves to a skill.
    pub fn check(&self, catalog: &Catalog) -> Result<(), SkillGrantFault> {
        for name in self.allow.iter().flatten() {
            if catalog.entries().is_empty() {
                return Err(SkillGrantFault::NothingLoaded);
            }
            catalog.resolve(name).map_err(SkillGrantFault::Unknown)?;
        }
        Ok(())
    }

    /// Returns the intersection of two grants. Names are resolved first, so that two names of one
    /// skill are equal; unknown names grant nothing.
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

impl<'c> CatalogView<'c> {
    /// Creates a view of a catalogue.
    pub fn new(catalog: &'c Catalog, policy: &'c Visibility, who: Audience) -> Self {
        let ids = |names: &'c [String]| -> BTreeSet<&'c SkillId> {
            let found = names.iter().filter_map(|name| catalog.lookup(name));
            found.map(|entry| &entry.skill.id).collect()
        };
        let SkillGrant { allow, deny } = &policy.grant;
        let mut view = Self {
            catalog,
            policy,
            who,
            granted: allow.as_deref().map(ids),
            only: policy.only.iter().map(|names| ids(names)).collect(),
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

    /// Returns skills granted by a qualified name whose winner is not granted. They are visible
    /// under that name; otherwise a project could empty an agent's list by shadowing.
    fn granted_shadows(&self) -> BTreeMap<&'c SkillId, String> {
        let Some(granted) = &self.granted else {
            return BTreeMap::new();
        };
        let is_seen = |entry: &&CatalogEntry| {
            let winner = self.catalog.winner_over(entry);
            granted.contains(&entry.skill.id)
                && winner.is_some_and(|winner| !self.is_granted(winner))
        };
        let seen = self.catalog.entries().iter().filter(is_seen);
        seen.map(|entry| (&entry.skill.id, self.catalog.qualified_name(entry)))
            .collect()
    }

    /// Returns the name under which a skill is visible.
    pub fn name<'v>(&'v self, entry: &'v CatalogEntry) -> &'v str {
        self.names
            .get(&entry.skill.id)
            .map_or_else(|| entry.name(), String::as_str)
    }

    /// Returns `true` if the agent has a skill. A denied name applies to every copy; otherwise a
    /// shadowed one would take its place.
    fn is_granted(&self, entry: &CatalogEntry) -> bool {
        let skill = &entry.skill;
        let denied = names_of(entry).any(|name| self.denied.contains(name))
            || self.denied_skills.contains(&skill.id);
        !denied
            && self
                .granted
                .as_ref()
                .is_none_or(|granted| granted.contains(&skill.id))
    }

    /// Returns the visible part of a skill, or the reason why it is hidden.
    pub fn visibility(&self, entry: &CatalogEntry) -> SkillVisibility {
        let is_hidden = entry.is_shadowed() && !self.names.contains_key(&entry.skill.id);
        if is_hidden {
            SkillVisibility::Hidden(HiddenReason::Shadowed)
        } else {
            self.direct_visibility(entry)
        }
    }

    /// Returns the part of a skill that a search shows. Like [`Self::visibility`], but with
    /// [`Visibility::search_waiting`] a skill that waits for its files can be found.
    pub fn searchable(&self, entry: &CatalogEntry) -> SkillVisibility {
        match self.visibility(entry) {
            SkillVisibility::Hidden(HiddenReason::Waiting) if self.policy.search_waiting => {
                match self.setting(entry) {
                    VisibilityOverride::NameOnly => SkillVisibility::NameOnly,
                    _ => SkillVisibility::Full,
                }
            }
            sight => sight,
        }
    }

    /// Returns the globs of the files that a skill waits for. Empty if it waits for none.
    pub fn awaited_files(&self, entry: &CatalogEntry) -> Vec<String> {
        let skill = &entry.skill;
        if self.is_awake(entry) {
            Vec::new()
        } else if skill.paths.is_empty() {
            vec![format!("{}/**", skill.id.origin.nested)]
        } else {
            skill.paths.iter().map(ToString::to_string).collect()
        }
    }

    /// Returns `true` if a caller that names the skill may use it.
    pub fn admits(&self, entry: &CatalogEntry) -> bool {
        // Callers may name a skill that waits for its files; only a listing leaves it out. The gate
        // decides about denied skills.
        matches!(
            self.direct_visibility(entry),
            SkillVisibility::Full
                | SkillVisibility::NameOnly
                | SkillVisibility::Hidden(HiddenReason::Waiting | HiddenReason::Denied)
        )
    }

    /// Returns the visible part of a skill that was requested by an unambiguous name.
    fn direct_visibility(&self, entry: &CatalogEntry) -> SkillVisibility {
        let skill = &entry.skill;
        if !self.is_granted(entry) {
            return SkillVisibility::Hidden(HiddenReason::NotGranted);
        }
        if !self.only.iter().all(|listed| listed.contains(&skill.id)) {
            return SkillVisibility::Hidden(HiddenReason::NotListed);
        }
        if !self.is_locked(entry) {
            return SkillVisibility::Hidden(HiddenReason::NotLocked);
        }
        let setting = self.setting(entry);
        match (self.who, setting) {
            (_, VisibilityOverride::Off) => {
                return SkillVisibility::Hidden(HiddenReason::SwitchedOff);
            }
            (Audience::Model, VisibilityOverride::UserOnly) => {
                return SkillVisibility::Hidden(HiddenReason::LeftToPeople);
            }
            _ => {}
        }
        match self.who {
            Audience::Person if !skill.user_invocable => {
                SkillVisibility::Hidden(HiddenReason::NotForPeople)
            }
            Audience::Model if !skill.model_invocable => {
                SkillVisibility::Hidden(HiddenReason::NotForModels)
            }
            Audience::Model if self.is_load_denied(entry) => {
                SkillVisibility::Hidden(HiddenReason::Denied)
            }
            Audience::Model if !self.is_awake(entry) => {
                SkillVisibility::Hidden(HiddenReason::Waiting)
            }
            Audience::Model if setting == VisibilityOverride::NameOnly => SkillVisibility::NameOnly,
            Audience::Person | Audience::Model => SkillVisibility::Full,
        }
    }

    /// Returns `true` unless only locked skills of the project exist here, and this is another one.
    fn is_locked(&self, entry: &CatalogEntry) -> bool {
        let skill = &entry.skill;
        let Some(locked) = &self.policy.locked else {
            return true;
        };
        skill.id.origin.scope != Scope::Project
            || skill.path().is_some_and(|path| locked.contains(&path))
    }

    /// Returns `true` if the permission rules do not allow models to load a skill.
    fn is_load_denied(&self, entry: &CatalogEntry) -> bool {
        let rules = &self.policy.rules;
        let has_rules = !rules.denied.is_empty() || rules.allowed.is_some();
        has_rules && rules.forbids(&names_of(entry).collect::<Vec<_>>())
    }

    fn setting(&self, entry: &CatalogEntry) -> VisibilityOverride {
        if self.settings.is_empty() {
            return VisibilityOverride::On;
        }
        // The strictest setting for any name of the skill applies.
        let skill = &entry.skill;
        let by_name = names_of(entry).filter_map(|name| self.settings.get(name));
        let by_skill = self.skill_settings.get(&skill.id);
        by_name.chain(by_skill).copied().max().unwrap_or_default()
    }

    /// Returns `true` if a file that the skill is for was used.
    fn is_awake(&self, entry: &CatalogEntry) -> bool {
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

    /// Returns the visible skills, sorted by name.
    pub fn visible(&self) -> impl Iterator<Item = (&'c CatalogEntry, SkillVisibility)> + '_ {
        self.catalog
            .entries()
            .iter()
            .filter_map(|entry| match self.visibility(entry) {
                SkillVisibility::Hidden(_) => None,
                sight => Some((entry, sight)),
            })
    }

    /// Returns `true` if a skill other than the bundled ones can be listed or found. Otherwise models
    /// get no index and no tools about skills.
    pub fn has_skills(&self) -> bool {
        self.catalog.entries().iter().any(|entry| {
            entry.skill.id.origin.scope != Scope::Bundled
                && !matches!(self.searchable(entry), SkillVisibility::Hidden(_))
        })
    }

    /// Resolves a name, or `NAME@RANGE` with a range of versions. `version_of` returns the version of
    /// a skill.
    pub fn resolve_version(
        &self,
        asked: &str,
        version_of: impl Fn(&CatalogEntry) -> Option<Box<str>>,
    ) -> Result<&'c CatalogEntry, LookupRefusal> {
        // A name may have an `@` of its own.
        let split = split_range(asked).filter(|_| self.catalog.lookup(asked).is_none());
        let Some((name, range)) = split else {
            return self.resolve(asked);
        };
        let entry = self.resolve(name)?;
        let found = version_of(entry);
        if satisfies(&range, found.as_deref()) {
            return Ok(entry);
        }
        Err(LookupRefusal::OtherVersion {
            name: self.name(entry).into(),
            wanted: range.to_string().into(),
            found,
        })
    }

    /// Resolves a name. A skill that is not granted or is disabled is indistinguishable from one
    /// that does not exist.
    pub fn resolve(&self, asked: &str) -> Result<&'c CatalogEntry, LookupRefusal> {
        #[cfg(feature = "counters")]
        crate::counters::count();
        let absent = || {
            let may_see = |entry: &CatalogEntry| {
                !matches!(self.visibility(entry), SkillVisibility::Hidden(_))
            };
            LookupRefusal::NotFound(self.catalog.not_found(asked, may_see))
        };
        let entry = self.catalog.lookup(asked).ok_or_else(absent)?;
        match self.direct_visibility(entry) {
            SkillVisibility::Hidden(
                HiddenReason::NotGranted
                | HiddenReason::NotListed
                | HiddenReason::NotLocked
                | HiddenReason::SwitchedOff,
            ) => Err(absent()),
            // Users and models may name a skill directly; only listings wait for a matching file.
            // The gate decides about denied skills.
            SkillVisibility::Full
            | SkillVisibility::NameOnly
            | SkillVisibility::Hidden(HiddenReason::Waiting | HiddenReason::Denied) => Ok(entry),
            SkillVisibility::Hidden(why) => Err(LookupRefusal::NotForYou {
                name: entry.name().into(),
                why,
            }),
        }
    }
}

/// Returns the names of a skill.
fn names_of(entry: &CatalogEntry) -> impl Iterator<Item = &str> {
    let skill = &entry.skill;
    let names = [
        Some(entry.name()),
        Some(&*skill.name),
        skill.alias.as_deref(),
    ];
    names.into_iter().flatten()
}
