//! The prompt index: the text that lists the skills for a model.
//!
//! [`index`] decides which skills are shown, with how much of their descriptions, within a budget.
//! Each format has a module for its lines and document. The text is created once and kept; [`note`]
//! reports later changes, so that the beginning of a conversation stays the same (and cached).

use prowess_diag::wording;
use prowess_spec::tokens;

use crate::catalog;
use crate::rank::{RankOptions, RankedSkill};
use crate::scope::Scope;
use crate::skill::Skill;
use crate::visibility::{CatalogView, SkillVisibility};

mod budget;
mod change_note;
mod hint;
mod json;
mod layout;
mod markdown;
mod rows;
mod text;
mod xml;

use layout::{Lines, Priority, ShownLine};

pub use budget::{DEFAULT_ENTRY_CHARS, DEFAULT_FRACTION, DEFAULT_WINDOW, IndexBudget, IndexLimit};
pub use change_note::{IndexNote, NoteOptions, ShownSkills, note};
pub use hint::{HintEntry, HintOptions, HintText, hint, is_complete_in};
pub use rows::{IndexRow, IndexRows};
pub(crate) use text::tidy;

/// Maximum length of a displayed name, in characters. Names are never shortened, because calls must
/// use them.
const MAX_NAME: usize = 256;
/// Default number of skills that count as last used.
pub const LAST_USED: usize = 5;
/// Above this number of skills without a line, the model is told to search instead of listing all.
const MAX_LISTED: usize = 50;

/// A skill that the model may see.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The displayed name, which may be qualified: `apps/web:deploy`.
    pub name: &'a str,
    /// The part that may be shown.
    pub show: EntryDetail,
    /// The priority.
    pub rank: EntryRank,
    /// `true` for a skill of the project, which is favoured. Stored here because a skill that is not
    /// in the processor's cache costs more than all else that the index does with it.
    pub is_project: bool,
}

impl<'a> IndexEntry<'a> {
    /// Creates an entry with everything that may be shown, without a rank.
    pub fn new(skill: &'a Skill, name: &'a str) -> Self {
        Self {
            skill,
            name,
            show: EntryDetail::Full,
            rank: EntryRank::Rest,
            is_project: skill.id.origin.scope == Scope::Project,
        }
    }
}

/// Returns the visible skills of a catalogue as entries, sorted by name, with ranks from their
/// usage.
pub fn entries<'v>(view: &'v CatalogView<'_>, ranked: &[RankedSkill]) -> Vec<IndexEntry<'v>> {
    let rank = |skill: &Skill| {
        let place = ranked.iter().position(|ranked| ranked.skill.id == skill.id);
        if skill.pinned {
            EntryRank::Pinned
        } else {
            place.map_or(EntryRank::Rest, EntryRank::Used)
        }
    };
    let entry = |(entry, sight): (&'v catalog::CatalogEntry, SkillVisibility)| IndexEntry {
        show: if sight == SkillVisibility::NameOnly {
            EntryDetail::NameOnly
        } else {
            EntryDetail::Full
        },
        rank: rank(&entry.skill),
        ..IndexEntry::new(&entry.skill, view.name(entry))
    };
    view.visible().map(entry).collect()
}

/// The part of a skill that may be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryDetail {
    /// Name and description.
    #[default]
    Full,
    /// Only the name.
    NameOnly,
}

/// The priority of a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryRank {
    /// Always shown.
    Pinned,
    /// Recently used; 0 ranks highest.
    Used(usize),
    /// Neither pinned nor recently used.
    #[default]
    Rest,
}

/// Options of the index.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions<'a> {
    /// The output format.
    pub format: IndexFormat,
    /// The skills to list.
    pub listing: Listing,
    /// The maximum length.
    pub budget: IndexBudget,
    /// The tool that lists all skills, if the model has it.
    pub discovery_tool: Option<&'a str>,
    /// The tool that searches skills, if the model has it. The index names it instead of the other
    /// tool if there is no other, or if many skills have no line.
    pub search_tool: Option<&'a str>,
    /// The tool that loads a skill, if the model has it.
    pub load_tool: Option<&'a str>,
    /// Selects the names to show if not all fit. Increases with each conversation.
    pub rotation: u64,
    /// The version of the catalogue.
    pub generation: u64,
}

impl Default for IndexOptions<'_> {
    fn default() -> Self {
        Self {
            format: IndexFormat::default(),
            listing: Listing::default(),
            budget: IndexBudget::default(),
            discovery_tool: Some("list_skills"),
            search_tool: None,
            load_tool: Some("load_skill"),
            rotation: 0,
            generation: 0,
        }
    }
}

impl<'a> IndexOptions<'a> {
    /// Returns the tool that finds the skills without a line.
    fn tool_for(&self, more: usize) -> Option<&'a str> {
        let search = self.search_tool.filter(|_| more > MAX_LISTED);
        search.or(self.discovery_tool).or(self.search_tool)
    }
}

/// The output format of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFormat {
    /// Headings and bullets.
    Markdown(Bullets),
    /// `<available_skills>`, one skill per line.
    Xml,
    /// The output of `skills-ref to-prompt`, byte for byte: all skills, complete, without a budget.
    XmlCompat,
    /// A document with the schema `prowess.prompt/1`, one skill per line.
    Json,
}

impl Default for IndexFormat {
    fn default() -> Self {
        Self::Markdown(Bullets::Dash)
    }
}

/// The separator between name and description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bullets {
    /// `- **name** — description`, as in Planck.
    #[default]
    Dash,
    /// `- **name**: description`, as in Squadron; a complete listing starts with a sentence about
    /// loading skills.
    Colon,
}

/// The skills to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// All skills: the pinned ones, then those with a description (of the project, in use, others),
    /// then those with only a name; the others are counted.
    All {
        /// Number of skills that keep their description because of their use.
        last_used: usize,
    },
    /// The pinned skills, then the recently used ones; the others are counted.
    Sections {
        /// Maximum number of skills under "Last used skills".
        last_used: usize,
    },
}

impl Default for Listing {
    fn default() -> Self {
        Self::All {
            last_used: LAST_USED,
        }
    }
}

impl Listing {
    /// Returns how the skills of this listing are ranked. Sections show the last used skills, so
    /// the last use decides (Planck's rule). In a complete listing the rank only distributes the
    /// space: frequent use counts, and one place in five changes with each `rotation`.
    pub fn ranking(self, now: i64, rotation: u64) -> RankOptions {
        match self {
            Self::All { last_used } => RankOptions {
                period: Some(i64::try_from(rotation).unwrap_or(0)),
                ..RankOptions::new(now, last_used)
            },
            Self::Sections { last_used } => RankOptions::planck(now, last_used),
        }
    }
}

/// An index with its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexText {
    /// The text for the model; empty if there is nothing to show.
    pub text: String,
    /// The estimated number of tokens.
    pub tokens: usize,
    /// The outcome for each skill.
    pub report: IndexReport,
    /// The version of the catalogue.
    pub generation: u64,
}

/// The outcome for each skill of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// One row per entry, in the order of the entries.
    pub rows: IndexRows,
    /// The maximum length of the text.
    pub limit: IndexLimit,
    /// The actual length, in tokens if the limit is in tokens, else in characters.
    pub used: usize,
}

/// The outcome for a skill in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOutcome {
    /// Name and complete description.
    Whole,
    /// Name and shortened description.
    Shortened {
        /// Characters of the complete description.
        from: usize,
        /// Characters shown, including the ellipsis.
        to: usize,
        /// The reason.
        why: ShorteningReason,
    },
    /// Only the name.
    NameOnly(NameOnlyReason),
    /// Not shown.
    Cut(OmissionReason),
}

/// The reason why a description is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShorteningReason {
    /// It is longer than the limit per entry.
    Entry,
    /// The budget is shared with others.
    Budget,
}

/// The reason why only a name is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOnlyReason {
    /// It is configured that way.
    Asked,
    /// The skill has no description.
    NoDescription,
    /// There is no room for a useful part of the description.
    NoRoom,
}

/// The reason why a skill is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// It is neither pinned nor recently used; the discovery line counts it.
    NotListed,
    /// Not all names fit, and another page was selected.
    NoRoom,
    /// Its name is too long.
    LongName,
    /// It has no printable name.
    NoName,
}

impl EntryOutcome {
    /// Returns an explanation for users.
    pub fn explain(self) -> String {
        match self {
            Self::Whole => "shown".to_owned(),
            Self::Shortened { from, to, why } => {
                let why = match why {
                    ShorteningReason::Entry => "longer than the limit per entry",
                    ShorteningReason::Budget => "the index has no room for more",
                };
                let (to, from) = (wording::thousands(to), wording::count(from, "character"));
                format!("shown with {to} of {from}: {why}")
            }
            Self::NameOnly(NameOnlyReason::Asked) => "only the name, as configured".to_owned(),
            Self::NameOnly(NameOnlyReason::NoDescription) => {
                "only the name: no description".to_owned()
            }
            Self::NameOnly(NameOnlyReason::NoRoom) => {
                "only the name: no room in the index for the description".to_owned()
            }
            Self::Cut(OmissionReason::NotListed) => {
                "not shown: neither pinned nor recently used".to_owned()
            }
            Self::Cut(OmissionReason::NoRoom) => {
                "not shown: no room in the index for all names".to_owned()
            }
            Self::Cut(OmissionReason::LongName) => {
                format!("not shown: the name has more than {MAX_NAME} characters")
            }
            Self::Cut(OmissionReason::NoName) => "not shown: no name".to_owned(),
        }
    }

    /// Returns `true` if the index has a line for the skill.
    pub fn is_shown(self) -> bool {
        !matches!(self, Self::Cut(_))
    }

    /// Returns `true` if the index has a description of the skill, complete or shortened.
    pub fn is_described(self) -> bool {
        matches!(self, Self::Whole | Self::Shortened { .. })
    }

    /// Returns `true` if more is shown with a larger budget.
    pub fn is_short_of_room(self) -> bool {
        matches!(
            self,
            Self::Shortened {
                why: ShorteningReason::Budget,
                ..
            } | Self::NameOnly(NameOnlyReason::NoRoom)
                | Self::Cut(OmissionReason::NoRoom)
        )
    }
}

impl IndexReport {
    /// Returns the skills shown with a description, complete or shortened.
    pub fn shown(&self) -> impl Iterator<Item = IndexRow<'_>> {
        self.rows.iter().filter(|row| row.fate.is_described())
    }

    /// Returns the skills shown with a shortened description.
    pub fn shortened(&self) -> impl Iterator<Item = IndexRow<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, EntryOutcome::Shortened { .. }))
    }

    /// Returns the skills shown by name only.
    pub fn name_only(&self) -> impl Iterator<Item = IndexRow<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, EntryOutcome::NameOnly(_)))
    }

    /// Returns `true` if the budget is too small for everything. Only then does another rotation
    /// give another index.
    pub fn is_short_of_room(&self) -> bool {
        self.rows.fates.iter().any(|fate| fate.is_short_of_room())
    }

    /// Returns the skills that are not shown.
    pub fn cut(&self) -> impl Iterator<Item = IndexRow<'_>> {
        self.rows
            .iter()
            .filter(|row| matches!(row.fate, EntryOutcome::Cut(_)))
    }
}

/// Writes the index of the entries, in catalogue order.
pub fn index(entries: &[IndexEntry<'_>], options: &IndexOptions<'_>) -> IndexText {
    let limit = match options.format {
        IndexFormat::XmlCompat => IndexLimit::Unlimited,
        _ => options.budget.limit,
    };
    let (text, rows) = match options.format {
        IndexFormat::XmlCompat => {
            let mut rows = IndexRows::with_capacity(entries.len());
            for entry in entries {
                rows.push(entry.name, EntryOutcome::Whole);
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

impl IndexFormat {
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

    /// Returns the units of a line without a description, and of the markup around a description.
    fn frame(self, limit: IndexLimit) -> (usize, usize) {
        let cost = |description| {
            let mut line = String::new();
            self.line(&mut line, "", description);
            limit.of(&line) + self.between().len()
        };
        (cost(None), cost(Some("")) - cost(None))
    }

    fn name_units(self, name: &str, limit: IndexLimit) -> usize {
        let extra = match self {
            Self::Markdown(_) => markdown::name_extra(name),
            Self::Xml | Self::XmlCompat | Self::Json => 0,
        };
        text::units(name, self, limit) + extra
    }

    /// Returns the separator between two lines.
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
        IndexFormat::Markdown(_) => markdown::document(groups, more, options),
        IndexFormat::Xml | IndexFormat::XmlCompat => xml::document(groups, more, options),
        IndexFormat::Json => json::document(groups, more, options),
    }
}

/// Returns the line that counts the skills without a line.
fn discovery(more: usize, options: &IndexOptions<'_>) -> String {
    let count = wording::count(more, "more skill");
    match options.tool_for(more) {
        Some(tool) if options.discovery_tool == Some(tool) => {
            format!("Call `{tool}` to discover {count}.")
        }
        Some(tool) => format!("Call `{tool}` to search {count}."),
        None if more == 1 => format!("{count} is not listed."),
        None => format!("{count} are not listed."),
    }
}

/// Writes the text and reports how each entry is shown.
///
/// Each of up to a hundred thousand names is a cache miss, so each is read once; only those shown
/// are read again.
fn write(entries: &[IndexEntry<'_>], options: &IndexOptions<'_>) -> (String, IndexRows) {
    let (format, limit) = (options.format, options.budget.limit);
    let mut rows = IndexRows::with_capacity(entries.len());
    let mut units: Vec<u32> = Vec::with_capacity(entries.len());
    for entry in entries {
        let (cut, size) = measure(entry.name, format, limit);
        rows.push(entry.name, EntryOutcome::Cut(cut));
        units.push(u32::try_from(size).unwrap_or(u32::MAX));
    }
    let listed = listed(entries, &rows.fates, options.listing);
    let nameless = rows
        .fates
        .iter()
        .filter(|fate| **fate == EntryOutcome::Cut(OmissionReason::NoName))
        .count();
    let total = entries.len() - nameless;

    let lines = Lines::new(
        format,
        limit,
        listed.iter().map(|&(i, _)| units[i] as usize),
    );
    let room = |more: usize| {
        let frame = limit.of(&document(&empty_groups(&listed), more, options));
        limit.units().checked_sub(frame)
    };
    let entry = |line: usize| &entries[listed[line].0];
    let skill = |line| {
        Some(entry(line))
            .filter(|one| one.show == EntryDetail::Full)
            .map(|one| one.skill)
    };
    let lay_out = |room| {
        let priority = |line| priority(entry(line));
        lines.layout(options.budget, room, options.rotation, priority, skill)
    };
    // If all names fit, no discovery line is needed; otherwise reserve room for one. The number of
    // skills in it decides which tool it names, so the longer text counts.
    let layout = room(0)
        .filter(|room| listed.len() == total && lines.cost() <= *room)
        .map(lay_out)
        .filter(|layout| layout.len() == listed.len())
        .or_else(|| {
            let least = room(total).min(room(total.min(MAX_LISTED)));
            least.map(lay_out)
        })
        .unwrap_or_default();

    for &(i, _) in &listed {
        rows.fates[i] = EntryOutcome::Cut(OmissionReason::NoRoom);
    }
    for laid in &layout {
        rows.fates[listed[laid.line].0] = laid.fate;
    }
    let mut groups: Vec<Group> = Vec::new();
    for laid in ordered(&layout, entries, &listed, options.listing) {
        let (i, section) = listed[laid.line];
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
    // The frame alone exceeds a tiny budget.
    let text = if limit.of(&text) <= limit.units() {
        text
    } else {
        String::new()
    };
    (text, rows)
}

/// Returns the reason why a name cannot be shown, apart from room, and its units.
fn measure(name: &str, format: IndexFormat, limit: IndexLimit) -> (OmissionReason, usize) {
    if (1..=MAX_NAME).contains(&name.len()) && text::is_plain(name) {
        return (OmissionReason::NotListed, name.len());
    }
    let shown = text::name(name);
    (fault(&shown), format.name_units(&shown, limit))
}

/// Returns the reason why a name cannot be shown, apart from room.
fn fault(name: &str) -> OmissionReason {
    if name.trim().is_empty() {
        OmissionReason::NoName
    } else if name.len() > MAX_NAME && name.chars().nth(MAX_NAME).is_some() {
        OmissionReason::LongName
    } else {
        OmissionReason::NotListed
    }
}

/// Returns the entries that get a line, with their headings, in output order.
fn listed(
    entries: &[IndexEntry<'_>],
    fates: &[EntryOutcome],
    listing: Listing,
) -> Vec<(usize, Section)> {
    let sound =
        (0..entries.len()).filter(|&i| fates[i] == EntryOutcome::Cut(OmissionReason::NotListed));
    let Listing::Sections { last_used } = listing else {
        return sound.map(|i| (i, Section::All)).collect();
    };
    let (mut pinned, mut used) = (Vec::new(), Vec::new());
    for i in sound {
        match entries[i].rank {
            EntryRank::Pinned => pinned.push((i, Section::Pinned)),
            EntryRank::Used(place) => used.push((place, i)),
            EntryRank::Rest => {}
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

/// Returns the groups without lines, to compute the cost of their headings.
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

/// Returns the priority of an entry.
fn priority(entry: &IndexEntry<'_>) -> Priority {
    let is_project = entry.is_project;
    match entry.rank {
        EntryRank::Pinned => Priority::Pinned,
        EntryRank::Used(place) if is_project => Priority::Project(place),
        EntryRank::Rest if is_project => Priority::Project(usize::MAX),
        EntryRank::Used(place) => Priority::Used(place),
        EntryRank::Rest => Priority::Rest,
    }
}

/// Returns the lines in output order. A complete listing has the pinned skills, then those with a
/// description, then those without one. As long as everything fits, use does not change the order,
/// so that consecutive sessions start with the same text.
fn ordered<'l, 'a>(
    layout: &'l [ShownLine<'a>],
    entries: &[IndexEntry<'_>],
    listed: &[(usize, Section)],
    listing: Listing,
) -> Vec<&'l ShownLine<'a>> {
    let mut lines: Vec<&ShownLine<'_>> = layout.iter().collect();
    if matches!(listing, Listing::Sections { .. }) {
        return lines;
    }
    let is_whole = |line: &&ShownLine<'_>| !line.fate.is_short_of_room();
    let fits = lines.len() == listed.len() && lines.iter().all(is_whole);
    lines.sort_by_key(|line| {
        let own = priority(&entries[listed[line.line].0]);
        let part = match own {
            Priority::Pinned => 0,
            _ if line.description.is_some() => 1,
            _ => 2,
        };
        let within = match own {
            Priority::Project(_) if fits => Priority::Project(0),
            Priority::Used(_) if fits => Priority::Rest,
            own => own,
        };
        (part, within)
    });
    lines
}
