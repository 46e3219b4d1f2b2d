//! An immutable set of skills.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use prowess_diag::{suggest, wording};
use prowess_spec::name;

use crate::entries::{self, Block, Entries, EntryName, EntryPosition, Listed};
use crate::precedence::Precedence;
use crate::scope::{Scope, SkillOrigin};
use crate::skill::{Skill, SkillForm};
use crate::sorted_part::{CatalogPart, Merged};

/// Maximum number of suggestions for an unknown name.
const MOST_NEAR: usize = 3;
/// Up to this many skills of one name, a linear search is fast enough.
const FEW: usize = 16;

/// An immutable set of skills, sorted by name. Readers share it; a change creates a new one.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Every skill, sorted by name, the winner of each name first.
    blocks: Vec<Block>,
    /// The number of skills, and the number of winners.
    count: usize,
    listed: usize,
    /// Aliases that identify exactly one winner, sorted.
    aliases: Arc<[(Box<str>, EntryPosition)]>,
    /// Computed on first use.
    labelled: OnceLock<Labelled>,
    generation: u64,
}

/// For each name shared by many skills: the first of them for each label.
type Labelled = HashMap<EntryPosition, HashMap<Box<str>, usize>>;

/// A skill and its position among the others.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The skill.
    pub skill: Arc<Skill>,
    /// `true` if another entry has the same name and wins.
    pub(crate) shadowed: bool,
    /// `true` if it may have an alias. Most have none and are skipped.
    pub(crate) has_alias: bool,
    /// The name to call it by.
    pub(crate) name: EntryName,
}

/// A lookup failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillNotFound {
    /// The requested name.
    pub name: Box<str>,
    /// Similar names, nearest first.
    pub near: Vec<Box<str>>,
    /// The number of skills.
    pub known: usize,
}

impl std::error::Error for SkillNotFound {}

impl std::fmt::Display for SkillNotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no skill named {}", wording::tick(&self.name))
    }
}

impl CatalogEntry {
    /// Returns the name by which users and models call the skill.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns `true` if another skill of the same name wins.
    pub fn is_shadowed(&self) -> bool {
        self.shadowed
    }
}

impl PartialEq for CatalogEntry {
    fn eq(&self, other: &Self) -> bool {
        (&self.skill, self.shadowed, self.name()) == (&other.skill, other.shadowed, other.name())
    }
}

impl Eq for CatalogEntry {}

impl Catalog {
    /// Creates a catalogue from skills.
    pub fn new(skills: Vec<Arc<Skill>>, precedence: Precedence, generation: u64) -> Self {
        Self::of_parts(
            [CatalogPart::new(skills.into_iter(), precedence)],
            generation,
        )
    }

    /// Creates a catalogue from sorted parts, in any order.
    pub fn of_parts(parts: impl IntoIterator<Item = CatalogPart>, generation: u64) -> Self {
        let blocks = entries::blocks(Merged::new(parts));
        let count = blocks.iter().map(|block| block.len()).sum();
        let listed = blocks
            .iter()
            .flat_map(|block| &**block)
            .filter(|entry| !entry.shadowed);
        let listed = listed.count();
        let mut catalog = Self {
            blocks,
            count,
            listed,
            generation,
            ..Self::default()
        };
        catalog.aliases = catalog.collect_aliases().into();
        catalog
    }

    /// Collects aliases and unqualified names of nested skills that are unambiguous.
    fn collect_aliases(&self) -> Vec<(Box<str>, EntryPosition)> {
        let mut aliases: Vec<(Box<str>, EntryPosition)> = Vec::new();
        for (block, entries) in self.blocks.iter().enumerate() {
            let named = |(_, entry): &(usize, &CatalogEntry)| !entry.shadowed && entry.has_alias;
            for (at, entry) in entries.iter().enumerate().filter(named) {
                let nested = !entry.skill.id.origin.nested.is_empty();
                let names = entry
                    .skill
                    .alias
                    .iter()
                    .chain(nested.then_some(&entry.skill.name));
                aliases.extend(names.map(|alias| (alias.clone(), EntryPosition { block, at })));
            }
        }
        // An alias must not look like a qualified name or a path.
        aliases.retain(|(alias, _)| !is_label(alias) && !alias.starts_with('/'));
        aliases.sort_unstable();
        aliases.dedup();
        let is_unique = |at: usize| {
            let same = |other: Option<&(Box<str>, EntryPosition)>| {
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

    /// Replaces some skills without sorting again. Returns `None` if a skill is new or its name
    /// changed, because the order may then change.
    pub fn with_texts(&self, skills: &[Arc<Skill>], generation: u64) -> Option<Self> {
        let mut blocks = self.blocks.clone();
        for skill in skills {
            let EntryPosition { block, at } = self.position_of(skill)?;
            let entry = Arc::make_mut(blocks.get_mut(block)?).get_mut(at)?;
            if entry.skill.alias != skill.alias || entry.skill.form != skill.form {
                return None;
            }
            entry.skill = Arc::clone(skill);
        }
        let (count, listed, aliases) = (self.count, self.listed, Arc::clone(&self.aliases));
        Some(Self {
            blocks,
            count,
            listed,
            aliases,
            generation,
            ..Self::default()
        })
    }

    /// Returns the version of the catalogue.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the winners, sorted by name.
    pub fn listed(&self) -> impl ExactSizeIterator<Item = &CatalogEntry> + Clone {
        Listed {
            entries: self.entries().iter(),
            left: self.listed,
        }
    }

    /// Returns every skill, grouped by name, the winner of each name first.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(&self.blocks, self.count)
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the entry that shadows this one.
    pub fn winner_over(&self, entry: &CatalogEntry) -> Option<&CatalogEntry> {
        self.group(entry.name()).first().filter(|_| entry.shadowed)
    }

    /// Returns the skills that another skill of their own root shadows, each with that skill. Unlike
    /// a skill of another scope, which may replace one on purpose, such a copy is a mistake.
    pub fn shadowed_in_root(&self) -> impl Iterator<Item = (&CatalogEntry, &CatalogEntry)> {
        self.entries().iter().filter_map(|entry| {
            let mut nearer = (self.group(entry.name()).iter())
                .filter(|_| entry.shadowed)
                .take_while(|other| other.skill.id != entry.skill.id);
            let winner = nearer.find(|other| {
                other.skill.id.origin == entry.skill.id.origin
                    && (other.skill.form == SkillForm::Command)
                        == (entry.skill.form == SkillForm::Command)
            })?;
            Some((entry, winner))
        })
    }

    /// Returns every skill of a name, the winner first.
    pub fn group(&self, name: &str) -> &[CatalogEntry] {
        entries::group(&self.blocks, name).1
    }

    /// Returns the entry of a skill.
    pub fn entry_of(&self, skill: &Skill) -> Option<&CatalogEntry> {
        let EntryPosition { block, at } = self.position_of(skill)?;
        self.blocks.get(block)?.get(at)
    }

    fn position_of(&self, skill: &Skill) -> Option<EntryPosition> {
        let name = shown_name(skill);
        let name = name.as_deref().unwrap_or(&skill.name);
        let (EntryPosition { block, at }, same_name) = entries::group(&self.blocks, name);
        let among = same_name
            .iter()
            .position(|entry| entry.skill.id == skill.id)?;
        Some(EntryPosition {
            block,
            at: at + among,
        })
    }

    /// Resolves a name, a qualified name (`user:pdf`, `user/codex:pdf`, `apps/web:deploy`), an
    /// unambiguous alias, or the location of a skill's file.
    pub fn resolve(&self, asked: &str) -> Result<&CatalogEntry, SkillNotFound> {
        #[cfg(feature = "counters")]
        crate::counters::count();
        self.lookup(asked)
            .ok_or_else(|| self.not_found(asked, |_| true))
    }

    pub(crate) fn lookup(&self, written: &str) -> Option<&CatalogEntry> {
        let asked = name::normalise(written);
        if let Some(entry) = self.group(&asked).first() {
            return Some(entry);
        }
        // Names of commands and nested skills contain colons too, and so may a root.
        for (at, _) in asked.match_indices(':') {
            let (label, bare) = (&asked[..at], &asked[at + 1..]);
            if let Some(entry) = self.first_labelled(bare, label) {
                return Some(entry);
            }
        }
        if let Ok(at) = self
            .aliases
            .binary_search_by(|(alias, _)| (**alias).cmp(&asked))
        {
            let EntryPosition { block, at } = self.aliases[at].1;
            return self.blocks.get(block)?.get(at);
        }
        self.entries()
            .iter()
            .find(|entry| entry.skill.location.text() == written)
    }

    /// Returns the first skill of a name that has a label.
    fn first_labelled(&self, name: &str, label: &str) -> Option<&CatalogEntry> {
        let (position, same_name) = entries::group(&self.blocks, name);
        if same_name.len() > FEW {
            let labelled = self.labelled.get_or_init(|| self.collect_labelled());
            return same_name.get(*labelled.get(&position)?.get(label)?);
        }
        let fits = |entry: &&CatalogEntry| {
            labels(&entry.skill.id.origin).any(|own| name::normalise(&own) == label)
        };
        same_name.iter().find(fits)
    }

    /// Indexes large groups by label. Thousands of skills may share one name, and looking each of
    /// them up must not be quadratic.
    fn collect_labelled(&self) -> Labelled {
        let mut labelled = Labelled::new();
        for (block, entries) in self.blocks.iter().enumerate() {
            let mut at = 0;
            for same_name in entries.chunk_by(|_, next| next.shadowed) {
                if same_name.len() > FEW {
                    labelled.insert(EntryPosition { block, at }, first_of_labels(same_name));
                }
                at += same_name.len();
            }
        }
        labelled
    }

    /// Builds the error for an unknown name, with suggestions that the caller may see.
    pub(crate) fn not_found(
        &self,
        asked: &str,
        may_see: impl Fn(&CatalogEntry) -> bool,
    ) -> SkillNotFound {
        let mut names: Vec<&str> = self
            .listed()
            .filter(|entry| may_see(entry))
            .map(CatalogEntry::name)
            .collect();
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
        // Users who do not remember a name type a part of it.
        if near.is_empty() && bare.chars().count() >= 3 {
            let parts = names
                .iter()
                .filter(|name| name.contains(bare))
                .take(MOST_NEAR);
            near.extend(parts.map(|name| Box::from(*name)));
        }
        SkillNotFound {
            name: asked.into(),
            near,
            known,
        }
    }

    /// Returns a name that resolves to exactly this entry: its own if it wins, else a qualified
    /// one, else its location.
    pub fn qualified_name(&self, entry: &CatalogEntry) -> String {
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
        label.map_or_else(
            || entry.skill.location.to_string(),
            |label| format!("{label}:{bare}"),
        )
    }
}

/// Returns the index of the first entry for each label.
fn first_of_labels(same_name: &[CatalogEntry]) -> HashMap<Box<str>, usize> {
    let mut firsts = HashMap::new();
    let mut last: Option<&Arc<SkillOrigin>> = None;
    for (at, entry) in same_name.iter().enumerate() {
        let origin = &entry.skill.id.origin;
        // Usually all of them share one root.
        if last
            .replace(origin)
            .is_some_and(|last| Arc::ptr_eq(last, origin))
        {
            continue;
        }
        for label in labels(origin) {
            firsts.entry(name::normalise(&label).into()).or_insert(at);
        }
    }
    firsts
}

/// Returns the displayed name of a skill if it differs from its own: a nested skill is prefixed
/// with its folder, and a name that looks like a qualified name, such as `user:pdf`, with its
/// scope.
pub(crate) fn shown_name(skill: &Skill) -> Option<Box<str>> {
    let SkillOrigin { nested, scope, .. } = &*skill.id.origin;
    if nested.is_empty() && !skill.name.contains(':') {
        return None;
    }
    let own = if nested.is_empty() {
        skill.name.to_string()
    } else {
        // Names are compared in normal form; paths may be in another form.
        name::normalise(&format!("{nested}:{}", skill.name)).into_owned()
    };
    if is_label(&own) {
        return Some(format!("{}:{own}", scope.as_str()).into());
    }
    (!nested.is_empty()).then(|| own.into())
}

/// Returns `true` if a name starts with a scope, like a qualified name.
fn is_label(name: &str) -> bool {
    let mut parts = name.splitn(2, [':', '/']);
    let first = parts.next().unwrap_or_default();
    parts.next().is_some() && Scope::parse(first).is_some()
}

/// Returns the possible qualifiers of a name, shortest first.
fn labels(origin: &SkillOrigin) -> impl Iterator<Item = String> {
    let scope = origin.scope.as_str();
    let vendor = (!origin.vendor.is_empty()).then(|| format!("{scope}/{}", origin.vendor));
    let root = (origin.scope != Scope::Program).then(|| origin.root.to_string());
    std::iter::once(scope.to_owned()).chain(vendor).chain(root)
}
