//! A frozen set of skills.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use prowess_diag::{suggest, wording};
use prowess_spec::name;

use crate::entries::{self, Block, Entries, Listed, Name, Spot};
use crate::part::{Merged, Part};
use crate::precedence::Precedence;
use crate::scope::{Origin, Scope};
use crate::skill::Skill;

/// Most names that a failed look-up suggests.
const MOST_NEAR: usize = 3;
/// Up to so many skills of one name, looking at each is as fast as anything.
const FEW: usize = 16;

/// A frozen set of skills, in order of name. Readers share it; a change makes another one.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Every skill, sorted by name, the winner of each name first.
    blocks: Vec<Block>,
    /// How many skills there are, and how many of them are winners.
    count: usize,
    listed: usize,
    /// Names that lead to exactly one winner without being its name, sorted.
    aliases: Arc<[(Box<str>, Spot)]>,
    /// Made when somebody first asks for it.
    labelled: OnceLock<Labelled>,
    generation: u64,
}

/// For each name that many skills have: which of them comes first for each label.
type Labelled = HashMap<Spot, HashMap<Box<str>, usize>>;

/// A skill and how it stands among the others.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Whether another entry took its name.
    pub(crate) shadowed: bool,
    /// Whether it may have a second name. Most have none, and are not looked at for it.
    pub(crate) has_alias: bool,
    /// The name it is called by.
    pub(crate) name: Name,
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
        self.name.as_str()
    }

    /// Tells whether another skill took its name.
    pub fn is_shadowed(&self) -> bool {
        self.shadowed
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (&self.skill, self.shadowed, self.name()) == (&other.skill, other.shadowed, other.name())
    }
}

impl Eq for Entry {}

impl Catalog {
    /// Freezes a set of skills.
    pub fn new(skills: Vec<Arc<Skill>>, precedence: Precedence, generation: u64) -> Self {
        Self::of_parts([Part::new(skills.into_iter(), precedence)], generation)
    }

    /// Freezes a set of skills, parts of which are in order. The order of the parts is of no account.
    pub fn of_parts(parts: impl IntoIterator<Item = Part>, generation: u64) -> Self {
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

    /// Second names, and names of nested skills without their folder, where nothing else has them.
    fn collect_aliases(&self) -> Vec<(Box<str>, Spot)> {
        let mut aliases: Vec<(Box<str>, Spot)> = Vec::new();
        for (block, entries) in self.blocks.iter().enumerate() {
            let named = |(_, entry): &(usize, &Entry)| !entry.shadowed && entry.has_alias;
            for (at, entry) in entries.iter().enumerate().filter(named) {
                let nested = !entry.skill.id.origin.nested.is_empty();
                let names = entry
                    .skill
                    .alias
                    .iter()
                    .chain(nested.then_some(&entry.skill.name));
                aliases.extend(names.map(|alias| (alias.clone(), Spot { block, at })));
            }
        }
        // What looks like a qualified name, or like a place, must not lead anywhere else.
        aliases.retain(|(alias, _)| !is_label(alias) && !alias.starts_with('/'));
        aliases.sort_unstable();
        aliases.dedup();
        let is_unique = |at: usize| {
            let same = |other: Option<&(Box<str>, Spot)>| {
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
        let mut blocks = self.blocks.clone();
        for skill in skills {
            let Spot { block, at } = self.spot_of(skill)?;
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

    /// Returns which version of the set this is.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the winners, in order of name.
    pub fn listed(&self) -> impl ExactSizeIterator<Item = &Entry> + Clone {
        Listed {
            entries: self.entries().iter(),
            left: self.listed,
        }
    }

    /// Returns every skill, those of one name together, the winner first.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(&self.blocks, self.count)
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the entry that took this one's name.
    pub fn winner_over(&self, entry: &Entry) -> Option<&Entry> {
        self.group(entry.name()).first().filter(|_| entry.shadowed)
    }

    /// Returns every skill of a name, the winner first.
    pub fn group(&self, name: &str) -> &[Entry] {
        entries::group(&self.blocks, name).1
    }

    /// Returns the entry of a skill.
    pub fn entry_of(&self, skill: &Skill) -> Option<&Entry> {
        let Spot { block, at } = self.spot_of(skill)?;
        self.blocks.get(block)?.get(at)
    }

    fn spot_of(&self, skill: &Skill) -> Option<Spot> {
        let name = shown_name(skill);
        let name = name.as_deref().unwrap_or(&skill.name);
        let (Spot { block, at }, same_name) = entries::group(&self.blocks, name);
        let among = same_name
            .iter()
            .position(|entry| entry.skill.id == skill.id)?;
        Some(Spot {
            block,
            at: at + among,
        })
    }

    /// Finds the skill that a name means: a name, a qualified name (`user:pdf`, `user/codex:pdf`,
    /// `apps/web:deploy`), a second name that nothing else has, or the location of its file.
    pub fn resolve(&self, asked: &str) -> Result<&Entry, NotFound> {
        #[cfg(feature = "counters")]
        crate::counters::count();
        self.lookup(asked)
            .ok_or_else(|| self.not_found(asked, |_| true))
    }

    pub(crate) fn lookup(&self, written: &str) -> Option<&Entry> {
        let asked = name::normalise(written);
        if let Some(entry) = self.group(&asked).first() {
            return Some(entry);
        }
        // Names of commands and of nested skills have colons too, and so may a root.
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
            let Spot { block, at } = self.aliases[at].1;
            return self.blocks.get(block)?.get(at);
        }
        self.entries()
            .iter()
            .find(|entry| *entry.skill.location == *written)
    }

    /// The first skill of a name that has a label.
    fn first_labelled(&self, name: &str, label: &str) -> Option<&Entry> {
        let (spot, same_name) = entries::group(&self.blocks, name);
        if same_name.len() > FEW {
            let labelled = self.labelled.get_or_init(|| self.collect_labelled());
            return same_name.get(*labelled.get(&spot)?.get(label)?);
        }
        let fits = |entry: &&Entry| {
            labels(&entry.skill.id.origin).any(|own| name::normalise(&own) == label)
        };
        same_name.iter().find(fits)
    }

    /// Thousands of skills may have one name. Each of them asks for the first of its label, and
    /// must not look at all the others for that.
    fn collect_labelled(&self) -> Labelled {
        let mut labelled = Labelled::new();
        for (block, entries) in self.blocks.iter().enumerate() {
            let mut at = 0;
            for same_name in entries.chunk_by(|_, next| next.shadowed) {
                if same_name.len() > FEW {
                    labelled.insert(Spot { block, at }, first_of_labels(same_name));
                }
                at += same_name.len();
            }
        }
        labelled
    }

    /// Says that there is no such skill, suggesting only what may be seen.
    pub(crate) fn not_found(&self, asked: &str, may_see: impl Fn(&Entry) -> bool) -> NotFound {
        let mut names: Vec<&str> = self
            .listed()
            .filter(|entry| may_see(entry))
            .map(Entry::name)
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
        // A part of a name is what people type who do not remember the rest.
        if near.is_empty() && bare.chars().count() >= 3 {
            let parts = names
                .iter()
                .filter(|name| name.contains(bare))
                .take(MOST_NEAR);
            near.extend(parts.map(|name| Box::from(*name)));
        }
        NotFound {
            name: asked.into(),
            near,
            known,
        }
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
        label.map_or_else(
            || entry.skill.location.to_string(),
            |label| format!("{label}:{bare}"),
        )
    }
}

/// The place of the first entry for each label that one of them has.
fn first_of_labels(same_name: &[Entry]) -> HashMap<Box<str>, usize> {
    let mut firsts = HashMap::new();
    let mut last: Option<&Arc<Origin>> = None;
    for (at, entry) in same_name.iter().enumerate() {
        let origin = &entry.skill.id.origin;
        // Most often all of them come from one root.
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

/// The name that a skill is called by, where it is not simply its own: a nested one has its folder
/// before it, and one that looks like the qualified name of another, `user:pdf`, has its scope.
pub(crate) fn shown_name(skill: &Skill) -> Option<Box<str>> {
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
