//! A frozen set of skills.

use std::sync::Arc;

use prowess_diag::{suggest, wording};
use prowess_spec::name;

use crate::precedence::Precedence;
use crate::scope::{Origin, Scope};
use crate::skill::Skill;

/// Most names that a failed look-up suggests.
const MOST_NEAR: usize = 3;

/// A frozen set of skills, in order of name. Readers share it; a change makes another one.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Every skill, sorted by name, the winner of each name first.
    entries: Vec<Entry>,
    /// Places of the winners.
    listed: Arc<[u32]>,
    /// Names that lead to exactly one winner without being its name, sorted.
    aliases: Arc<[(Box<str>, u32)]>,
    generation: u64,
}

/// A skill and how it stands among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The place of the entry that took its name; nothing for a winner.
    shadowed_by: Option<u32>,
    /// The name with the nested folder before it, where there is one.
    qualified: Option<Box<str>>,
}

/// No skill answers to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// The name that was asked for.
    pub name: Box<str>,
    /// Names that come near, the nearest first.
    pub near: Vec<Box<str>>,
    /// How many skills there are.
    pub known: usize,
}

impl std::error::Error for NotFound {}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no skill named {}", wording::tick(&self.name))
    }
}

impl Entry {
    /// Returns the name by which people and models call the skill.
    pub fn name(&self) -> &str {
        self.qualified.as_deref().unwrap_or(&self.skill.name)
    }

    /// Tells whether another skill took its name.
    pub fn is_shadowed(&self) -> bool {
        self.shadowed_by.is_some()
    }
}

impl Catalog {
    /// Freezes a set of skills.
    pub fn new(skills: Vec<Arc<Skill>>, precedence: Precedence, generation: u64) -> Self {
        // Most names differ in their first letters, which are compared without going for the rest.
        let mut keyed: Vec<(u64, Entry)> = skills
            .into_iter()
            .map(|skill| Entry { qualified: shown_name(&skill), skill, shadowed_by: None })
            .map(|entry| (first_letters(entry.name()), entry))
            .collect();
        keyed.sort_unstable_by(|(first, a), (second, b)| {
            first.cmp(second).then_with(|| {
                a.name().cmp(b.name()).then_with(|| precedence.compare(&a.skill, &b.skill))
            })
        });
        let mut entries: Vec<Entry> = keyed.into_iter().map(|(_, entry)| entry).collect();
        let mut listed = Vec::new();
        let mut winner = 0;
        for index in 0..entries.len() {
            if index > 0 && entries[index].name() == entries[winner].name() {
                entries[index].shadowed_by = u32::try_from(winner).ok();
            } else {
                winner = index;
                listed.extend(u32::try_from(index));
            }
        }
        let (listed, aliases) = (listed.into(), Arc::default());
        let mut catalog = Self { entries, listed, aliases, generation };
        catalog.aliases = catalog.collect_aliases().into();
        catalog
    }

    /// Second names, and names of nested skills without their folder, where nothing else has them.
    fn collect_aliases(&self) -> Vec<(Box<str>, u32)> {
        let mut aliases: Vec<(Box<str>, u32)> = Vec::new();
        for &index in &*self.listed {
            let entry = &self.entries[index as usize];
            let nested = !entry.skill.id.origin.nested.is_empty();
            let bare = nested.then_some(&entry.skill.name);
            aliases
                .extend(entry.skill.alias.iter().chain(bare).map(|alias| (alias.clone(), index)));
        }
        // What looks like a qualified name, or like a place, must not lead anywhere else.
        aliases.retain(|(alias, _)| !is_label(alias) && !alias.starts_with('/'));
        aliases.sort_unstable();
        aliases.dedup();
        let is_unique = |at: usize| {
            let same = |other: Option<&(Box<str>, u32)>| {
                other.is_some_and(|(alias, _)| *alias == aliases[at].0)
            };
            let before = at.checked_sub(1).and_then(|at| aliases.get(at));
            !same(aliases.get(at + 1)) && !same(before)
        };
        let kept: Vec<bool> = (0..aliases.len())
            .map(|at| is_unique(at) && self.group(&aliases[at].0).is_empty())
            .collect();
        let mut kept = kept.into_iter();
        aliases.retain(|_| kept.next().unwrap_or(false));
        aliases
    }

    /// Returns the same set with other texts for some of its skills, without sorting it again.
    /// Nothing when a skill is new, or has another name: then the order may change.
    pub fn with_texts(&self, skills: &[Arc<Skill>], generation: u64) -> Option<Self> {
        let mut entries = self.entries.clone();
        for skill in skills {
            let old = self.entry_of(skill)?;
            if old.skill.alias != skill.alias || old.skill.form != skill.form {
                return None;
            }
            let start = entries.partition_point(|entry| entry.name() < old.name());
            let same_name = entries.get_mut(start..)?;
            let entry = same_name.iter_mut().find(|entry| entry.skill.id == skill.id)?;
            entry.skill = Arc::clone(skill);
        }
        let (listed, aliases) = (Arc::clone(&self.listed), Arc::clone(&self.aliases));
        Some(Self { entries, listed, aliases, generation })
    }

    /// Returns which version of the set this is.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the winners, in order of name.
    pub fn listed(&self) -> impl ExactSizeIterator<Item = &Entry> + Clone {
        self.listed.iter().map(|&index| &self.entries[index as usize])
    }

    /// Returns every skill, those of one name together, the winner first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry that took this one's name.
    pub fn winner_over(&self, entry: &Entry) -> Option<&Entry> {
        entry.shadowed_by.and_then(|index| self.entries.get(index as usize))
    }

    /// Returns every skill of a name, the winner first.
    pub fn group(&self, name: &str) -> &[Entry] {
        let start = self.entries.partition_point(|entry| entry.name() < name);
        let length = self.entries[start..].partition_point(|entry| entry.name() == name);
        &self.entries[start..start + length]
    }

    /// Returns the entry of a skill.
    pub fn entry_of(&self, skill: &Skill) -> Option<&Entry> {
        let name = shown_name(skill);
        let same_name = self.group(name.as_deref().unwrap_or(&skill.name));
        same_name.iter().find(|entry| entry.skill.id == skill.id)
    }

    /// Finds the skill that a name means: a name, a qualified name (`user:pdf`, `user/codex:pdf`,
    /// `apps/web:deploy`), a second name that nothing else has, or the location of its file.
    pub fn resolve(&self, asked: &str) -> Result<&Entry, NotFound> {
        self.lookup(asked).ok_or_else(|| self.not_found(asked, |_| true))
    }

    pub(crate) fn lookup(&self, written: &str) -> Option<&Entry> {
        let asked = name::normalise(written);
        if let Some(entry) = self.group(&asked).first() {
            return Some(entry);
        }
        // Names of commands and of nested skills have colons too, and so may a root.
        for (at, _) in asked.match_indices(':') {
            let (label, bare) = (&asked[..at], &asked[at + 1..]);
            let fits = |entry: &&Entry| {
                labels(&entry.skill.id.origin).any(|own| name::normalise(&own) == label)
            };
            if let Some(entry) = self.group(bare).iter().find(fits) {
                return Some(entry);
            }
        }
        if let Ok(at) = self.aliases.binary_search_by(|(alias, _)| (**alias).cmp(&asked)) {
            return self.entries.get(self.aliases[at].1 as usize);
        }
        self.entries.iter().find(|entry| *entry.skill.location == *written)
    }

    /// Says that there is no such skill, suggesting only what may be seen.
    pub(crate) fn not_found(&self, asked: &str, may_see: impl Fn(&Entry) -> bool) -> NotFound {
        let mut names: Vec<&str> =
            self.listed().filter(|entry| may_see(entry)).map(Entry::name).collect();
        let known = names.len();
        let bare = asked.rsplit_once(':').map_or(asked, |(_, bare)| bare);
        let mut near: Vec<Box<str>> = Vec::new();
        while near.len() < MOST_NEAR {
            let found = suggest::nearest(asked, names.iter().copied())
                .or_else(|| suggest::nearest(bare, names.iter().copied()));
            let Some(found) = found else { break };
            near.push(found.into());
            names.retain(|name| *name != found);
        }
        // A part of a name is what people type who do not remember the rest.
        if near.is_empty() && bare.chars().count() >= 3 {
            let parts = names.iter().filter(|name| name.contains(bare)).take(MOST_NEAR);
            near.extend(parts.map(|name| Box::from(*name)));
        }
        NotFound { name: asked.into(), near, known }
    }

    /// Returns a name that leads to exactly this entry: its own for a winner, else a qualified one,
    /// else its location.
    pub fn qualified_name(&self, entry: &Entry) -> String {
        if !entry.is_shadowed() {
            return entry.name().to_owned();
        }
        let bare = entry.name();
        let leads_here = |label: &String| {
            let found = self.lookup(&format!("{label}:{bare}"));
            found.is_some_and(|found| found.skill.id == entry.skill.id)
        };
        let mut labels = labels(&entry.skill.id.origin);
        let label = labels.find(leads_here);
        label.map_or_else(|| entry.skill.location.to_string(), |label| format!("{label}:{bare}"))
    }
}

/// The first eight bytes of a name, as a number that sorts as they do.
fn first_letters(name: &str) -> u64 {
    let mut letters = [0; 8];
    for (letter, byte) in letters.iter_mut().zip(name.bytes()) {
        *letter = byte;
    }
    u64::from_be_bytes(letters)
}

/// The name that a skill is called by, where it is not simply its own: a nested one has its folder
/// before it, and one that looks like the qualified name of another, `user:pdf`, has its scope.
fn shown_name(skill: &Skill) -> Option<Box<str>> {
    let Origin { nested, scope, .. } = &*skill.id.origin;
    if nested.is_empty() && !skill.name.contains(':') {
        return None;
    }
    let own = if nested.is_empty() {
        skill.name.to_string()
    } else {
        // Names are compared in their normal form; a path may be written in another one.
        name::normalise(&format!("{nested}:{}", skill.name)).into_owned()
    };
    if is_label(&own) {
        return Some(format!("{}:{own}", scope.as_str()).into());
    }
    (!nested.is_empty()).then(|| own.into())
}

/// Whether a name begins with the word of a scope, as a qualified name does.
fn is_label(name: &str) -> bool {
    let mut parts = name.splitn(2, [':', '/']);
    let first = parts.next().unwrap_or_default();
    parts.next().is_some() && Scope::parse(first).is_some()
}

/// What may stand before the colon of a qualified name, the shortest first.
fn labels(origin: &Origin) -> impl Iterator<Item = String> {
    let scope = origin.scope.as_str();
    let vendor = (!origin.vendor.is_empty()).then(|| format!("{scope}/{}", origin.vendor));
    let root = (origin.scope != Scope::Program).then(|| origin.root.to_string());
    std::iter::once(scope.to_owned()).chain(vendor).chain(root)
}
