//! The prompt index: exactly the text that a model sees of a set of skills.
//!
//! [`index`] decides who is shown, with how much of a description, within a budget; each format has
//! a file that knows how a line and a whole text look. The text is made once and kept: what changes
//! later is said by [`note`], so that the beginning of a conversation stays the same.

use prowess_diag::wording;
use prowess_spec::tokens;

use crate::catalog;
use crate::rank::Ranked;
use crate::skill::Skill;
use crate::visibility::{Sight, View};

mod budget;
mod json;
mod layout;
mod markdown;
mod note;
mod rows;
mod text;
mod xml;

use layout::Lines;

pub use budget::{Budget, DEFAULT_ENTRY_CHARS, DEFAULT_FRACTION, DEFAULT_WINDOW, Limit};
pub use note::{Note, NoteOptions, Shown, note};
pub use rows::{Row, Rows};

/// Most characters of a name that is shown. A name is never shortened: a call must be able to say
/// it.
const MAX_NAME: usize = 256;

/// One skill that the model may see.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The name to show, which may be qualified: `apps/web:deploy`.
    pub name: &'a str,
    /// How much of it may be shown.
    pub show: Show,
    /// How much it matters.
    pub rank: Rank,
}

/// Returns what somebody sees of a catalogue, as entries: in order of name, with the places that
/// their use gives them.
pub fn entries<'v>(view: &'v View<'_>, ranked: &[Ranked]) -> Vec<Entry<'v>> {
    let rank = |skill: &Skill| {
        let place = ranked.iter().position(|ranked| ranked.skill.id == skill.id);
        if skill.pinned {
            Rank::Pinned
        } else {
            place.map_or(Rank::Rest, Rank::Used)
        }
    };
    let entry = |(entry, sight): (&'v catalog::Entry, Sight)| Entry {
        skill: &entry.skill,
        name: view.name(entry),
        show: if sight == Sight::NameOnly {
            Show::NameOnly
        } else {
            Show::Full
        },
        rank: rank(&entry.skill),
    };
    view.visible().map(entry).collect()
}

/// How much of a skill may be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// Name and description.
    #[default]
    Full,
    /// Only the name.
    NameOnly,
}

/// How much a skill matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rank {
    /// Always shown.
    Pinned,
    /// Used lately; 0 is the first of those.
    Used(usize),
    /// Neither.
    #[default]
    Rest,
}

/// How an index is made.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'a> {
    /// How it is written.
    pub format: Format,
    /// Which skills get a line.
    pub listing: Listing,
    /// How long it may be.
    pub budget: Budget,
    /// The tool that lists all skills, if the model has it.
    pub discovery_tool: Option<&'a str>,
    /// The tool that loads a skill, if the model has it.
    pub load_tool: Option<&'a str>,
    /// Where not all names fit: which of them have their turn. Counts up from one conversation to
    /// the next.
    pub rotation: u64,
    /// Which catalogue the entries come from.
    pub generation: u64,
}

impl Default for IndexOptions<'_> {
    fn default() -> Self {
        Self {
            format: Format::default(),
            listing: Listing::default(),
            budget: Budget::default(),
            discovery_tool: Some("list_skills"),
            load_tool: Some("load_skill"),
            rotation: 0,
            generation: 0,
        }
    }
}

/// How an index is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Headings and bullets.
    Markdown(Bullets),
    /// `<available_skills>`, one skill a line.
    Xml,
    /// What `skills-ref to-prompt` prints, byte for byte: all skills, whole, no budget.
    XmlCompat,
    /// A document with the schema `prowess.prompt/1`, one skill a line.
    Json,
}

impl Default for Format {
    fn default() -> Self {
        Self::Markdown(Bullets::Dash)
    }
}

/// What stands between name and description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bullets {
    /// `- **name** — description`, as Planck writes it.
    #[default]
    Dash,
    /// `- **name**: description`, as Squadron writes it; a whole listing gets a sentence about
    /// loading, too.
    Colon,
}

/// Which skills get a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// All of them, in the order of the entries.
    #[default]
    All,
    /// The pinned ones, then the last used ones; the others are counted.
    Sections {
        /// Most skills under "Last used skills".
        last_used: usize,
    },
}

/// An index, and how it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexText {
    /// What the model sees; empty when there is nothing to see.
    pub text: String,
    /// What that costs, estimated.
    pub tokens: usize,
    /// What became of each skill.
    pub report: IndexReport,
    /// Which catalogue it was made of.
    pub generation: u64,
}

/// What became of each skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// One row for each entry, in the order of the entries.
    pub rows: Rows,
    /// How long the text might have been.
    pub limit: Limit,
    /// How long it is: tokens where the limit counts tokens, else characters.
    pub used: usize,
}

/// What became of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Name and whole description are shown.
    Whole,
    /// The description is shown in part: so many of its characters.
    Shortened {
        /// Characters of the whole line of text.
        from: usize,
        /// Characters that are shown, with the mark of the cut.
        to: usize,
        /// Why.
        why: Shortening,
    },
    /// Only the name is shown.
    NameOnly(Bare),
    /// Nothing is shown.
    Cut(Cut),
}

/// Why a description is shown in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortening {
    /// It is longer than one entry may be.
    Entry,
    /// The room had to be shared.
    Budget,
}

/// Why only a name is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// Somebody wants it so.
    Asked,
    /// There is no description.
    NoDescription,
    /// There is no room for a description that says anything.
    NoRoom,
}

/// Why a skill is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It is neither pinned nor among the last used; the discovery line counts it.
    NotListed,
    /// Not even all names fit, and it was not its turn.
    NoRoom,
    /// Its name is longer than any name should be.
    LongName,
    /// It has no name that a call could say.
    NoName,
}

impl Fate {
    /// Returns a sentence about it, for people.
    pub fn explain(self) -> String {
        match self {
            Self::Whole => "shown".to_owned(),
            Self::Shortened { from, to, why } => {
                let why = match why {
                    Shortening::Entry => "it is longer than an entry may be",
                    Shortening::Budget => "the index has no room for more",
                };
                let (to, from) = (wording::thousands(to), wording::count(from, "character"));
                format!("shown with {to} of {from}: {why}")
            }
            Self::NameOnly(Bare::Asked) => "only the name, as configured".to_owned(),
            Self::NameOnly(Bare::NoDescription) => {
                "only the name: there is no description".to_owned()
            }
            Self::NameOnly(Bare::NoRoom) => {
                "only the name: the index has no room for the description".to_owned()
            }
            Self::Cut(Cut::NotListed) => {
                "not shown: neither pinned nor among the last used".to_owned()
            }
            Self::Cut(Cut::NoRoom) => "not shown: the index has no room for all names".to_owned(),
            Self::Cut(Cut::LongName) => {
                format!("not shown: the name has more than {MAX_NAME} characters")
            }
            Self::Cut(Cut::NoName) => "not shown: it has no name".to_owned(),
        }
    }

    /// Tells whether the index has a line for the skill.
    pub fn is_shown(self) -> bool {
        !matches!(self, Self::Cut(_))
    }
}

impl IndexReport {
    /// Skills with their description, whole or in part.
    pub fn shown(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, Fate::Whole | Fate::Shortened { .. }))
    }

    /// Skills with a part of their description.
    pub fn shortened(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, Fate::Shortened { .. }))
    }

    /// Skills with only their name.
    pub fn name_only(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, Fate::NameOnly(_)))
    }

    /// Skills that are not shown.
    pub fn cut(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, Fate::Cut(_)))
    }
}

/// Writes the index of some skills, in the order in which the catalogue has them.
pub fn index(entries: &[Entry<'_>], options: &IndexOptions<'_>) -> IndexText {
    let limit = match options.format {
        Format::XmlCompat => Limit::Unlimited,
        _ => options.budget.limit,
    };
    let (text, rows) = match options.format {
        Format::XmlCompat => {
            let mut rows = Rows::with_capacity(entries.len());
            for entry in entries {
                rows.push(entry.name, Fate::Whole);
            }
            (xml::compat(entries), rows)
        }
        _ => write(entries, options),
    };
    let report = IndexReport {
        rows,
        limit,
        used: limit.used(limit.of(&text)),
    };
    IndexText {
        tokens: tokens::estimate(&text),
        text,
        report,
        generation: options.generation,
    }
}

/// Lines under one heading.
struct Group {
    section: Section,
    lines: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    All,
    Pinned,
    LastUsed,
}

impl Format {
    fn line(self, out: &mut String, name: &str, description: Option<&str>) {
        match self {
            Self::Markdown(bullets) => markdown::line(out, bullets, name, description),
            Self::Xml | Self::XmlCompat => xml::line(out, name, description),
            Self::Json => json::line(out, name, description),
        }
    }

    fn escape(self, c: char, next: Option<char>) -> Option<&'static str> {
        match self {
            Self::Markdown(_) => markdown::escape(c, next),
            Self::Xml | Self::XmlCompat => xml::escape(c),
            Self::Json => json::escape(c, next),
        }
    }

    /// Units of a line without a description, and of what encloses a description.
    fn frame(self, limit: Limit) -> (usize, usize) {
        let cost = |description| {
            let mut line = String::new();
            self.line(&mut line, "", description);
            limit.of(&line) + self.between().len()
        };
        (cost(None), cost(Some("")) - cost(None))
    }

    fn name_units(self, name: &str, limit: Limit) -> usize {
        let extra = match self {
            Self::Markdown(_) => markdown::name_extra(name),
            Self::Xml | Self::XmlCompat | Self::Json => 0,
        };
        text::units(name, self, limit) + extra
    }

    /// What stands between two lines.
    fn between(self) -> &'static str {
        if self == Self::Json { ",\n" } else { "\n" }
    }
}

impl Bullets {
    fn separator(self) -> &'static str {
        match self {
            Self::Dash => " — ",
            Self::Colon => ": ",
        }
    }
}

fn document(groups: &[Group], more: usize, options: &IndexOptions<'_>) -> String {
    match options.format {
        Format::Markdown(_) => markdown::document(groups, more, options),
        Format::Xml | Format::XmlCompat => xml::document(groups, more, options),
        Format::Json => json::document(groups, more, options),
    }
}

/// The line that says how many skills have none of their own.
fn discovery(more: usize, tool: Option<&str>) -> String {
    let count = wording::count(more, "more skill");
    match tool {
        Some(tool) => format!("Call `{tool}` to discover {count}."),
        None if more == 1 => format!("{count} is not listed."),
        None => format!("{count} are not listed."),
    }
}

/// Writes the text and says what became of each entry.
///
/// Of a hundred thousand names each lies somewhere else in memory, so each is looked at once; only
/// those that are shown are looked at again.
fn write(entries: &[Entry<'_>], options: &IndexOptions<'_>) -> (String, Rows) {
    let (format, limit) = (options.format, options.budget.limit);
    let mut rows = Rows::with_capacity(entries.len());
    let mut units = Vec::with_capacity(entries.len());
    for entry in entries {
        let (cut, size) = measure(entry.name, format, limit);
        rows.push(entry.name, Fate::Cut(cut));
        units.push(size);
    }
    let listed = listed(entries, &rows.fates, options.listing);
    let nameless = rows
        .fates
        .iter()
        .filter(|fate| **fate == Fate::Cut(Cut::NoName))
        .count();
    let total = entries.len() - nameless;

    let lines = Lines::new(format, limit, listed.iter().map(|&(i, _)| units[i]));
    let room = |more: usize| {
        let frame = limit.of(&document(&empty_groups(&listed), more, options));
        limit.units().checked_sub(frame)
    };
    // Without a discovery line if everything can be shown; else there must be room for one.
    let all = room(0).filter(|room| listed.len() == total && lines.cost() <= *room);
    let entry = |line: usize| &entries[listed[line].0];
    let skill = |line| {
        Some(entry(line))
            .filter(|one| one.show == Show::Full)
            .map(|one| one.skill)
    };
    let layout = all
        .or_else(|| room(total))
        .map(|room| {
            lines.lay(
                options.budget,
                room,
                options.rotation,
                |i| entry(i).rank,
                skill,
            )
        })
        .unwrap_or_default();

    for &(i, _) in &listed {
        rows.fates[i] = Fate::Cut(Cut::NoRoom);
    }
    let mut groups: Vec<Group> = Vec::new();
    for laid in &layout {
        let (i, section) = listed[laid.line];
        rows.fates[i] = laid.fate;
        match groups.last_mut().filter(|group| group.section == section) {
            Some(group) => group.lines.push_str(format.between()),
            None => groups.push(Group {
                section,
                lines: String::new(),
            }),
        }
        if let Some(group) = groups.last_mut() {
            let name = text::name(entries[i].name);
            format.line(&mut group.lines, &name, laid.description.as_deref());
        }
    }
    let text = document(&groups, total - layout.len(), options);
    // Only where the budget is too small for anything.
    let text = if limit.of(&text) <= limit.units() {
        text
    } else {
        String::new()
    };
    (text, rows)
}

/// What keeps a name from being shown, apart from room, and its units as it is shown.
fn measure(name: &str, format: Format, limit: Limit) -> (Cut, usize) {
    if (1..=MAX_NAME).contains(&name.len()) && text::is_plain(name) {
        return (Cut::NotListed, name.len());
    }
    let shown = text::name(name);
    (fault(&shown), format.name_units(&shown, limit))
}

/// What keeps a name from being shown, apart from room.
fn fault(name: &str) -> Cut {
    if name.trim().is_empty() {
        Cut::NoName
    } else if name.len() > MAX_NAME && name.chars().nth(MAX_NAME).is_some() {
        Cut::LongName
    } else {
        Cut::NotListed
    }
}

/// Which entries get a line, and under which heading, in the order of the text.
fn listed(entries: &[Entry<'_>], fates: &[Fate], listing: Listing) -> Vec<(usize, Section)> {
    let sound = (0..entries.len()).filter(|&i| fates[i] == Fate::Cut(Cut::NotListed));
    let Listing::Sections { last_used } = listing else {
        return sound.map(|i| (i, Section::All)).collect();
    };
    let (mut pinned, mut used) = (Vec::new(), Vec::new());
    for i in sound {
        match entries[i].rank {
            Rank::Pinned => pinned.push((i, Section::Pinned)),
            Rank::Used(place) => used.push((place, i)),
            Rank::Rest => {}
        }
    }
    used.sort_unstable();
    pinned.extend(
        used.into_iter()
            .take(last_used)
            .map(|(_, i)| (i, Section::LastUsed)),
    );
    pinned
}

/// The headings that a text will have, to know what they cost.
fn empty_groups(listed: &[(usize, Section)]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for &(_, section) in listed {
        if groups.last().is_none_or(|group| group.section != section) {
            groups.push(Group {
                section,
                lines: String::new(),
            });
        }
    }
    groups
}
