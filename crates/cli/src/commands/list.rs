//! `prowess list`

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess::ToolContext;
use prowess::inspect::{self, origin_text};
use prowess_catalog::index::{EntryOutcome, IndexFormat};
use prowess_catalog::{
    Audience, Catalog, CatalogChange, CatalogEntry, CatalogView, ChangeKind, HiddenReason, Scope,
    Skill, SkillId, SkillVisibility, Visibility,
};
use prowess_diag::{sanitize, suggest, theme, wording};
use prowess_package::status::{PackageState, PackageStatus, package_status};
use prowess_registry::{ChangeSet, SourceFault, SourceFaultKind, WatchOptions};
use prowess_trust::PackageLocks;
use serde_json::Value;

use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table, wrap};
use crate::runtime_setup::Setup;
use crate::visible_skills::{Library, warn_of_faults};
use crate::{packages, targets};

/// Most packages that are not on disk and are named in warnings.
const MOST_ABSENT: usize = 10;

#[derive(Debug, Args)]
#[command(
    about = "List skills, their origin and which are shadowed\n\nIf several skills have the same name, the nearest one wins: project, then extra folders, then your home folder, then bundled. The others can be addressed by a qualified name, e.g. `user:pdf`.",
    after_help = "\
Examples:
  prowess list                            list visible skills
  prowess list --all                      include shadowed and hidden skills
  prowess list --scope user --json        only your home folder, as JSON"
)]
pub(crate) struct ListArgs {
    /// Include shadowed and hidden skills, with the reason
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// Only skills by this creator: agent, user
    #[arg(long, value_name = "CREATOR", add = ArgValueCandidates::new(completions::creators))]
    pub(crate) creator: Option<String>,
    /// Show what this configured agent sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Show versions and paths, without truncation
    #[arg(short, long, help_heading = "Output")]
    pub(crate) wide: bool,
    /// Watch for changes and print them
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
    /// Print as JSON; with `--watch`, one document per line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &ListArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    let setup = Setup::new(library.clone(), args.agent.as_deref(), environment)?;
    let context = setup.starting_context(None);
    let policy = &context.settings.visibility;
    let listing = Listing {
        scope: args.scope.as_deref().map(parse_scope).transpose()?,
        creator: args.creator.as_deref().map(parse_creator).transpose()?,
        args,
        policy,
        context: &context,
        packages: package_states(&library.catalog(), environment),
        environment,
    };
    // Start watching before printing, so that no change is missed.
    let watched = args.watch.then(|| {
        let changes = library.registry.subscribe();
        let watching = library.registry.watch(WatchOptions::default());
        library.registry.refresh();
        (changes, watching)
    });
    let catalog = library.catalog();
    if args.json && args.watch {
        printer.verbatim(format!("{}\n", listing.json(&catalog, &library)).as_bytes())?;
    } else if args.json {
        printer.json(&listing.json(&catalog, &library))?;
    } else {
        let report = library.registry.report();
        let faults = listing.faults(&report.faults);
        listing.print(&catalog, &faults, printer)?;
        library.warn_skipped(environment, printer);
        library.warn_copies(environment, printer);
        listing.warn_absent(printer);
        // Listed faults need no warning.
        if faults.is_empty() {
            warn_of_faults(&library.registry, environment, printer);
        }
    }
    let Some((changes, _watching)) = watched else {
        return Ok(Exit::Done);
    };
    printer.status("Watching for changes; press Ctrl-C to stop");
    while !printer.reader_left() {
        let Some(set) = changes.next_within(Duration::from_hours(1)) else {
            continue;
        };
        if set.generation > catalog.generation() {
            let changes = listing.asked(&set.changes, &library.catalog());
            print_changes(
                &ChangeSet {
                    changes,
                    ..(*set).clone()
                },
                args.json,
                environment,
                printer,
            )?;
        }
    }
    Ok(Exit::Done)
}

/// Parses the name of a scope.
pub(crate) fn parse_scope(word: &str) -> Result<Scope, Failure> {
    let known = Scope::ALL.map(Scope::as_str);
    // These scopes are empty outside of a run.
    let known = known
        .iter()
        .filter(|scope| !matches!(**scope, "program" | "server"));
    Scope::parse(word)
        .filter(|_| known.clone().any(|scope| *scope == word))
        .ok_or_else(|| {
            let list = wording::either(known.clone().map(wording::tick));
            let error = Failure::new(format!(
                "invalid value `{word}` for `--scope`: expected {list}"
            ));
            match suggest::nearest(word, known.copied()) {
                Some(near) => error.hint(format!("did you mean `--scope {near}`?")),
                None => error,
            }
        })
}

/// The creator of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creator {
    Agent,
    User,
}

impl Creator {
    /// The words for creators.
    pub(crate) const WORDS: [&str; 2] = ["agent", "user"];

    /// Returns the creator of a skill. A skill whose frontmatter names none is the user's.
    fn of(skill: &Skill) -> Self {
        match skill.creator.as_deref() {
            Some("agent") => Self::Agent,
            _ => Self::User,
        }
    }
}

/// Parses the name of a creator.
fn parse_creator(word: &str) -> Result<Creator, Failure> {
    match word {
        "agent" => Ok(Creator::Agent),
        "user" => Ok(Creator::User),
        word => {
            let list = wording::either(Creator::WORDS.iter().map(wording::tick));
            let error = Failure::new(format!(
                "invalid value `{word}` for `--creator`: expected {list}"
            ));
            Err(match suggest::nearest(word, Creator::WORDS) {
                Some(near) => error.hint(format!("did you mean `--creator {near}`?")),
                None => error,
            })
        }
    }
}

struct Listing<'a> {
    args: &'a ListArgs,
    scope: Option<Scope>,
    creator: Option<Creator>,
    policy: &'a Visibility,
    context: &'a ToolContext,
    /// The packages among the skills.
    packages: HashMap<SkillId, PackageStatus>,
    environment: &'a Environment,
}

/// Returns the state of every skill that a lockfile names. Reads the files of these skills.
fn package_states(catalog: &Catalog, environment: &Environment) -> HashMap<SkillId, PackageStatus> {
    let Some(pins) = packages::pins(environment) else {
        return HashMap::new();
    };
    if pins.named().is_empty() {
        return HashMap::new();
    }
    let entries = catalog.entries().into_iter();
    let state = |entry: &CatalogEntry| {
        let path = entry.skill.path()?;
        let status = package_status(&path, &pins.pin(&path))?;
        Some((entry.skill.id.clone(), status))
    };
    entries.filter_map(state).collect()
}

impl Listing<'_> {
    /// Returns the version of a skill: that of its package, or its own.
    fn version<'s>(&'s self, skill: &'s Skill) -> Option<&'s str> {
        let package = self.packages.get(&skill.id);
        let locked = package.and_then(|status| status.version.as_deref());
        locked.or(skill.version.as_deref())
    }

    /// Describes the package of a skill in a few words: `1.4.2`, `1.4.2, changed`.
    fn package(&self, skill: &Skill) -> Option<String> {
        let status = self.packages.get(&skill.id)?;
        let version = status.version.as_deref();
        Some(match (version, status.state) {
            (Some(version), PackageState::Locked) => version.to_owned(),
            (Some(version), state) => format!("{version}, {}", state.as_str()),
            (None, state) => state.as_str().to_owned(),
        })
    }

    /// Warns about packages that a lockfile names and that are not on disk, and about lockfiles that
    /// cannot be read.
    fn warn_absent(&self, printer: &Printer) {
        for text in packages::lock_faults(self.environment) {
            printer.warn(&text);
        }
        let absent = packages::absent(self.environment);
        for status in absent.iter().take(MOST_ABSENT) {
            let text = packages::describe_status(status);
            let hint = status.hint().unwrap_or_default();
            printer.warn(&format!("package {text}; {hint}"));
        }
        if absent.len() > MOST_ABSENT {
            let more = wording::thousands(absent.len() - MOST_ABSENT);
            printer.warn(&format!("and {more} more packages are not on disk"));
        }
    }

    /// Returns the changes that match the filters. Removed skills are only filtered by scope.
    fn asked(&self, changes: &[CatalogChange], catalog: &Catalog) -> Vec<CatalogChange> {
        let rows = self.rows(catalog);
        let is_asked = |change: &&CatalogChange| {
            let in_scope = self
                .scope
                .is_none_or(|scope| change.id.origin.scope == scope);
            let is_gone = matches!(
                change.kind,
                ChangeKind::Removed | ChangeKind::Shadowed { .. }
            );
            in_scope && (is_gone || rows.iter().any(|(entry, _)| entry.skill.id == change.id))
        };
        changes.iter().filter(is_asked).cloned().collect()
    }

    /// Returns the entries that match the filters, with their visibility.
    fn rows<'c>(&self, catalog: &'c Catalog) -> Vec<(&'c CatalogEntry, Sight)> {
        let models = CatalogView::new(catalog, self.policy, Audience::Model);
        let index = prowess::starting_index(self.context, IndexFormat::default());
        let outcomes: HashMap<&str, EntryOutcome> = (index.report.rows.iter())
            .map(|row| (row.name, row.fate))
            .collect();
        let people = CatalogView::new(catalog, self.policy, Audience::Person);
        let has_tools = models.has_skills();
        let in_scope = |entry: &&CatalogEntry| {
            self.scope
                .is_none_or(|scope| entry.skill.id.origin.scope == scope)
                && self
                    .creator
                    .is_none_or(|creator| Creator::of(&entry.skill) == creator)
        };
        // Without `--all`, only skip entries that are shadowed, disabled or not granted.
        let asked = |entry: &CatalogEntry, sight: SkillVisibility| {
            self.args.all
                || !(entry.is_shadowed()
                    || matches!(
                        sight,
                        SkillVisibility::Hidden(
                            HiddenReason::NotGranted
                                | HiddenReason::NotListed
                                | HiddenReason::NotLocked
                                | HiddenReason::SwitchedOff
                        )
                    ))
        };
        catalog
            .entries()
            .iter()
            .filter(in_scope)
            .map(|entry| {
                let model = models.visibility(entry);
                let is_visible = !matches!(model, SkillVisibility::Hidden(_));
                let outcome = outcomes.get(models.name(entry)).copied();
                let sight = Sight {
                    model,
                    people: people.visibility(entry),
                    outcome: outcome.filter(|_| is_visible),
                    has_tools,
                };
                (entry, sight)
            })
            .filter(|(entry, sight)| asked(entry, sight.model))
            .collect()
    }

    /// Returns the files to list that could not be read or are not skills. They belong to no scope.
    fn faults<'f>(&self, faults: &'f [SourceFault]) -> Vec<&'f SourceFault> {
        let is_asked = self.args.all && self.scope.is_none();
        // A skill whose last good version is in use is already listed.
        let is_unlisted = |fault: &&SourceFault| is_asked && !fault.kept;
        faults.iter().filter(is_unlisted).collect()
    }

    fn print(
        &self,
        catalog: &Catalog,
        faults: &[&SourceFault],
        printer: &Printer,
    ) -> Result<(), Failure> {
        let rows = self.rows(catalog);
        if rows.is_empty() && faults.is_empty() {
            printer.status(if catalog.entries().is_empty() {
                "No skills are visible from here; create one with `prowess new .agents/skills/NAME`"
            } else {
                "No matching skills; list all with `prowess list --all`"
            });
            return Ok(());
        }
        match printer.width() {
            Some(width) if self.args.wide => {
                let text = self.blocks(catalog, &rows, width) + &self.fault_blocks(faults);
                printer.answer(&text)?;
            }
            width => printer.answer(&self.table(catalog, &rows, faults).render(width))?,
        }
        let hidden = catalog.entries().len() - rows.len();
        let mut count = wording::count(rows.len(), "skill");
        if !faults.is_empty() {
            count.push_str(&format!(
                ", {} that cannot be used",
                wording::count(faults.len(), "file")
            ));
        }
        printer.status(&match hidden {
            0 => count,
            hidden if self.scope.is_none() && self.creator.is_none() => {
                format!("{count}; {} more with `--all`", wording::thousands(hidden))
            }
            _ => count,
        });
        Ok(())
    }

    fn table(
        &self,
        catalog: &Catalog,
        rows: &[(&CatalogEntry, Sight)],
        faults: &[&SourceFault],
    ) -> Table {
        let (accent, dim) = (theme::ACCENT.on_default(), theme::DIM);
        let wide = self.args.wide;
        let with_status = self.has_status(rows);
        let with_packages = !self.packages.is_empty();
        let mut head = vec!["NAME"];
        if wide {
            head.push("VERSION");
        }
        head.push("FROM");
        if with_packages {
            head.push("PACKAGE");
        }
        if with_status {
            head.push("STATUS");
        }
        if wide {
            head.push("PATH");
        }
        head.push("DESCRIPTION");
        let mut table = Table::new(&head);
        for (entry, sight) in rows {
            let skill = &entry.skill;
            let name = name(catalog, entry);
            let mut row = vec![Cell::styled(
                &name,
                if entry.is_shadowed() { dim } else { accent },
            )];
            if wide {
                row.push(Cell::new(self.version(skill).unwrap_or("-")));
            }
            row.push(Cell::styled(&origin_text(entry), dim));
            if with_packages {
                let package = self.package(skill);
                row.push(Cell::new(package.as_deref().unwrap_or("-")));
            }
            if with_status {
                row.push(Cell::new(status(*sight)));
            }
            if wide {
                let place = targets::display(&skill.location.path(), self.environment);
                row.push(Cell::styled(&place, dim));
            }
            row.push(Cell::new(&skill.listing_text()));
            table.row(row);
        }
        for fault in faults {
            let mut row = vec![Cell::styled(&fault_name(fault), dim)];
            if wide {
                row.push(Cell::new("-"));
            }
            row.push(Cell::styled("-", dim));
            if with_packages {
                row.push(Cell::new("-"));
            }
            row.push(Cell::new(fault_status(fault)));
            if wide {
                let place = targets::display(&fault.location.path(), self.environment);
                row.push(Cell::styled(&place, dim));
            }
            row.push(Cell::new(&fault.why.to_string()));
            table.row(row);
        }
        table
    }

    /// Formats each file that could not be used as a block.
    fn fault_blocks(&self, faults: &[&SourceFault]) -> String {
        let dim = theme::DIM;
        let block = |fault: &&SourceFault| {
            let place = targets::display(&fault.location.path(), self.environment);
            format!(
                "{dim}{}  {}{dim:#}\n    {dim}{}{dim:#}\n    {}\n",
                sanitize::line(&fault_name(fault)),
                fault_status(fault),
                sanitize::line(&place),
                sanitize::line(&fault.why.to_string()),
            )
        };
        faults.iter().map(block).collect()
    }

    /// Formats each skill as a wrapped block, because a table would be too wide.
    fn blocks(&self, catalog: &Catalog, rows: &[(&CatalogEntry, Sight)], width: usize) -> String {
        let (accent, dim) = (theme::ACCENT.on_default(), theme::DIM);
        let with_status = self.has_status(rows);
        let mut text = String::new();
        for (entry, sight) in rows {
            let skill = &entry.skill;
            let version = self.version(skill).map(|version| format!(" {version}"));
            let package = self.packages.get(&skill.id).map(|status| {
                let text = packages::describe_status(status);
                format!("    {dim}package {text}{dim:#}\n")
            });
            let status = if with_status {
                format!(", {}", status(*sight))
            } else {
                String::new()
            };
            let place = targets::display(&skill.location.path(), self.environment);
            let style = if entry.is_shadowed() { dim } else { accent };
            text.push_str(&format!(
                "{style}{}{style:#}{}  {dim}{}{status}{dim:#}\n    {dim}{}{dim:#}\n",
                sanitize::line(&name(catalog, entry)),
                sanitize::line(&version.unwrap_or_default()),
                origin_text(entry),
                sanitize::line(&place),
            ));
            text.push_str(&package.unwrap_or_default());
            for line in wrap(
                &sanitize::line(&skill.listing_text()),
                width.saturating_sub(4),
            ) {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text
    }

    /// Returns `true` if the status is shown: on request, or if one of the skills is restricted.
    fn has_status(&self, rows: &[(&CatalogEntry, Sight)]) -> bool {
        self.args.all || rows.iter().any(|(_, sight)| status(*sight) != DESCRIBED)
    }

    fn json(&self, catalog: &Catalog, library: &Library) -> Value {
        let rows = self.rows(catalog);
        let ids: Vec<&SkillId> = rows.iter().map(|(entry, _)| &entry.skill.id).collect();
        let states = ids.iter().map(|id| self.packages.get(*id)).map(|status| {
            let document = status.map(packages::status_document);
            document.unwrap_or_default()
        });
        let states: Vec<Value> = states.collect();
        let rows = rows.into_iter().map(|(entry, sight)| inspect::ListedSkill {
            entry,
            model: sight.model,
            people: sight.people,
            outcome: sight.outcome,
        });
        let mut document = inspect::list(catalog, rows, &library.registry.report().faults);
        for (at, state) in states.into_iter().enumerate() {
            document["skills"][at]["package"] = state;
        }
        let absent = packages::absent(self.environment);
        document["absent_packages"] = absent.iter().map(packages::status_document).collect();
        document
    }
}

/// Returns the name to type, qualified if another skill has the plain name, with the folder if
/// another skill has the qualified name as well.
fn name(catalog: &Catalog, entry: &CatalogEntry) -> String {
    let name = catalog.qualified_name(entry);
    if name == entry.skill.location.text() {
        format!("{} ({})", entry.name(), entry.skill.id.path)
    } else {
        name
    }
}

/// Returns the name of the folder or file of an unusable skill.
fn fault_name(fault: &SourceFault) -> String {
    let path = &fault.location.path();
    let is_skill_file = path
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    let named = path.parent().filter(|_| is_skill_file).unwrap_or(path);
    let name = named.file_name().unwrap_or(named.as_os_str());
    name.to_string_lossy().into_owned()
}

fn fault_status(fault: &SourceFault) -> &'static str {
    match fault.why {
        SourceFaultKind::NotASkill(_) => "not a skill",
        _ => "unreadable",
    }
}

/// The visibility of a skill.
#[derive(Clone, Copy)]
struct Sight {
    model: SkillVisibility,
    people: SkillVisibility,
    /// The outcome in the index; `None` if models do not see the skill.
    outcome: Option<EntryOutcome>,
    /// `false` if models get no tools about skills, because only bundled skills are visible.
    has_tools: bool,
}

/// The status of a skill without restrictions: the index has its description.
const DESCRIBED: &str = "described";

fn status(sight: Sight) -> &'static str {
    let for_people = sight.people != SkillVisibility::Hidden(HiddenReason::NotForPeople);
    match sight.model {
        SkillVisibility::Full | SkillVisibility::NameOnly if !sight.has_tools => "people only",
        SkillVisibility::Full | SkillVisibility::NameOnly => match sight.outcome {
            Some(outcome) if outcome.is_shown() && !for_people => "models only",
            Some(outcome) if outcome.is_described() => DESCRIBED,
            Some(outcome) if outcome.is_shown() => "name only",
            _ => "left out",
        },
        SkillVisibility::Hidden(why) => match why {
            HiddenReason::Shadowed => "shadowed",
            HiddenReason::NotGranted => "not granted",
            HiddenReason::SwitchedOff | HiddenReason::NotListed => "off",
            HiddenReason::NotLocked => "not locked",
            HiddenReason::Denied => "denied",
            HiddenReason::LeftToPeople | HiddenReason::NotForModels if for_people => "people only",
            HiddenReason::LeftToPeople | HiddenReason::NotForModels => "hidden",
            HiddenReason::NotForPeople => "models only",
            HiddenReason::Waiting => "waiting",
        },
    }
}

fn print_changes(
    set: &ChangeSet,
    as_json: bool,
    environment: &Environment,
    printer: &Printer,
) -> Result<(), Failure> {
    if set.lagged {
        printer.warn("some changes were missed; run `prowess list` again");
    }
    if set.changes.is_empty() && !(as_json && set.lagged) {
        return Ok(());
    }
    if as_json {
        return printer.verbatim(format!("{}\n", inspect::changes(set)).as_bytes());
    }
    let lines = set.changes.iter();
    let text: String = lines
        .map(|change| change_line(change, environment))
        .collect();
    printer.answer(&text)
}

fn change_line(change: &CatalogChange, environment: &Environment) -> String {
    let color = match change.kind {
        ChangeKind::Added => theme::GOOD,
        ChangeKind::Changed | ChangeKind::Renamed { .. } => theme::ACCENT,
        ChangeKind::Removed => theme::BAD,
        ChangeKind::Shadowed { .. } => theme::WARNING,
    };
    let style = theme::bold(color);
    let by = match &change.kind {
        ChangeKind::Shadowed { by } => {
            format!(" by {}", targets::display(Path::new(&**by), environment))
        }
        ChangeKind::Renamed { from } => format!(", was {from}"),
        _ => String::new(),
    };
    let line = format!("{} ({}){by}", change.name, change.id.origin.scope.as_str());
    format!(
        "{style}{:8}{style:#}  {}\n",
        change.kind.as_str(),
        sanitize::line(&line)
    )
}
