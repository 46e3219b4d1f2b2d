//! `prowess why`

use std::path::Path;

use anstyle::AnsiColor;
use prowess_catalog::index::{Cut, Fate, IndexOptions};
use prowess_catalog::rank::{Ranked, Reason};
use prowess_catalog::{Catalog, Entry, Form, Hidden, NotFound, Policy, Sight, View, Who};
use prowess_diag::{sanitize, wording};
use prowess_registry::fs::scopes;
use prowess_search::Query;
use serde_json::{Value, json};

use super::{find, list, prompt, targets};
use crate::args::{GlobalArgs, WhyArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::{Library, from, not_found};
use prowess_terminal::{Printer, bold, wrap};

/// How wide the words before each answer are.
const COLUMN: usize = 12;

pub(crate) fn run(
    args: &WhyArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let library = Library::open(global, environment, printer)?;
    let policy = library.policy(args.agent.as_deref())?;
    let catalog = library.catalog();
    let entry = match catalog.resolve(&args.name) {
        Ok(entry) => entry,
        Err(fault) => match at_path(&catalog, Path::new(&args.name)) {
            Some(entry) => entry,
            None => {
                return unreadable(args, &library, environment, printer)
                    .unwrap_or_else(|| Err(unseen(&fault)));
            }
        },
    };
    let answers = Answers::new(args, &library, &policy, &catalog, entry, environment);
    if args.json {
        printer.json(&answers.json(&catalog, entry))?;
    } else {
        printer.answer(&text(entry.name(), &answers.lines, printer))?;
    }
    let seen = !matches!(answers.model, Sight::Hidden(_));
    Ok(if seen { Exit::Done } else { Exit::No })
}

/// A skill that is there and cannot be read is not missing: why is the answer.
fn unreadable(
    args: &WhyArgs,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Option<Result<Exit, CliError>> {
    let report = library.registry.report();
    let is_meant = |location: &str| {
        let folder = Path::new(location).parent().and_then(Path::file_name);
        folder.is_some_and(|folder| folder.to_str() == Some(&*args.name))
    };
    let fault = report.faults.iter().find(|fault| is_meant(&fault.location))?;
    let printed = if args.json {
        let fault = json!({
            "location": fault.location,
            "kind": fault.why.as_str(),
            "why": fault.why.to_string(),
        });
        printer.json(&json!({ "schema": "prowess.why/1", "name": args.name, "fault": fault }))
    } else {
        let path = targets::display(Path::new(&*fault.location), environment);
        let command = format!("prowess validate {}", wording::shell_word(&path));
        let answers = [
            Answer { about: "place", text: path },
            Answer { about: "problem", text: format!("{}; see `{command}`", fault.why) },
        ];
        printer.answer(&text(&args.name, &answers, printer))
    };
    Some(printed.map(|()| Exit::No))
}

/// The skill whose folder or file this is.
fn at_path<'a>(catalog: &'a Catalog, path: &Path) -> Option<&'a Entry> {
    let real = std::fs::canonicalize(path).ok()?;
    let is_here = |entry: &&Entry| {
        let file = std::fs::canonicalize(&*entry.skill.location).ok();
        file.is_some_and(|file| file == real || file.parent() == Some(&real))
    };
    // A folder that holds the file of a command is not that command.
    let holds_it = |entry: &&Entry| entry.skill.form == Form::Folder || real.is_file();
    catalog.entries().iter().filter(holds_it).find(is_here)
}

/// Says where skills are looked for, and how to bring this one there.
fn unseen(fault: &NotFound) -> CliError {
    let folders = wording::all(scopes::SKILL_FOLDERS.iter().map(wording::tick));
    let searched = format!(
        "these folders are searched: {folders}, in this folder, in those above it up to the root of the repository, and in your home folder"
    );
    let named = Path::new(&*fault.name);
    let is_skill = |folder: &Path| folder.join("SKILL.md").is_file();
    let named = if named.ends_with("SKILL.md") { named.parent().unwrap_or(named) } else { named };
    let places = [named.to_owned(), Path::new("skills").join(named)];
    let Some(folder) = places.iter().find(|folder| is_skill(folder)) else {
        let error = not_found(fault);
        let is_near = !fault.near.is_empty();
        let where_else =
            |error: CliError| error.hint(searched).hint("add a folder with `--skills-dir DIR`");
        return if is_near { error } else { where_else(error) };
    };
    let shown = folder.display().to_string();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new(".")).display().to_string();
    let error =
        format!("{} is a skill, but not in a folder that is searched", wording::tick(&shown));
    CliError::new(error)
        .hint(format!("move it to `.agents/skills/{name}`"))
        .hint(format!(
            "or add its folder: `prowess why {} --skills-dir {}`",
            wording::shell_word(&name),
            wording::shell_word(&above)
        ))
        .hint(searched)
}

/// The questions and answers about a skill, one below the other.
fn text(name: &str, answers: &[Answer], printer: &Printer) -> String {
    let cyan = bold(AnsiColor::Cyan);
    let mut text = format!("{cyan}{}{cyan:#}\n", sanitize::line(name));
    for answer in answers {
        let room = printer.text_width().saturating_sub(COLUMN + 2).max(20);
        let lines = wrap(&sanitize::line(&answer.text), room);
        let indent = format!("\n  {:COLUMN$}", "");
        text.push_str(&format!("  {:COLUMN$}{}\n", answer.about, lines.join(&indent)));
    }
    text
}

/// One question and its answer.
struct Answer {
    about: &'static str,
    text: String,
}

struct Answers {
    lines: Vec<Answer>,
    model: Sight,
    person: Sight,
    fate: Option<String>,
    rank: Option<(usize, String)>,
    query: Option<Value>,
}

impl Answers {
    fn new(
        args: &WhyArgs,
        library: &Library,
        policy: &Policy,
        catalog: &Catalog,
        entry: &Entry,
        environment: &Environment,
    ) -> Self {
        let show = |path: &str| targets::display(Path::new(path), environment);
        let model = View::new(catalog, policy, Who::Model).sight(entry);
        let person = View::new(catalog, policy, Who::Person).sight(entry);
        let mut answers = Vec::new();
        let mut say = |about, text: String| answers.push(Answer { about, text });
        say("place", format!("{} ({})", show(&entry.skill.location), from(entry)));
        if let Some(winner) = catalog.winner_over(entry) {
            say(
                "shadowed",
                format!(
                    "by {}; `{}` means this one",
                    show(&winner.skill.location),
                    catalog.qualified_name(entry)
                ),
            );
        }
        let others: Vec<String> = catalog
            .group(entry.name())
            .iter()
            .filter(|other| other.is_shadowed() && !entry.is_shadowed())
            .map(|other| {
                format!("{} (`{}`)", show(&other.skill.location), catalog.qualified_name(other))
            })
            .collect();
        if !others.is_empty() {
            say("shadows", wording::all(others));
        }
        if let Some(alias) = &entry.skill.alias {
            say("also called", wording::tick(alias));
        }
        say(
            "people",
            match person {
                Sight::Hidden(why) => format!("cannot invoke it: {}", why.reason()),
                _ => format!("can invoke it as `/{}`", entry.name()),
            },
        );
        say(
            "models",
            match model {
                Sight::Full => "may see name and description".to_owned(),
                Sight::NameOnly => "may see the name alone, as configured".to_owned(),
                Sight::Hidden(why) => {
                    format!("do not see it: {}{}", why.reason(), remedy(why, entry))
                }
            },
        );
        if !entry.skill.paths.is_empty() {
            let paths = entry.skill.paths.iter().map(wording::tick);
            say("condition", format!("meant for {}", wording::all(paths)));
        }
        if !entry.skill.described {
            say("description", "taken from the body: the frontmatter has none".to_owned());
        }
        let mut fate = None;
        let mut rank = None;
        if !matches!(model, Sight::Hidden(_)) {
            let ranked = prompt::ranked(catalog, policy, environment, args.agent.as_deref());
            let options = IndexOptions {
                budget: library.config.budget(None, None),
                generation: catalog.generation(),
                ..IndexOptions::default()
            };
            let made = prompt::make(catalog, policy, &ranked, &options);
            let row = made.report.rows.iter().find(|row| *row.name == *entry.name());
            fate = row.map(|row| row.fate.explain());
            let text = fate.clone().unwrap_or_else(|| "not shown".to_owned());
            let remedy = match row {
                Some(row) if row.fate == Fate::Cut(Cut::NoRoom) => {
                    "; `prompt.budget` in the configuration gives more"
                }
                _ => "",
            };
            say("prompt", format!("{text}{remedy}"));
            let place = ranked.iter().position(|ranked| ranked.skill.id == entry.skill.id);
            rank = place.map(|place| (place + 1, ranked_reason(&ranked[place])));
            let text = match &rank {
                Some((place, why)) => format!("number {place} in the order of use: {why}"),
                None if entry.skill.pinned => "pinned by its author".to_owned(),
                None => "not used lately".to_owned(),
            };
            say("use", text);
        }
        let query = args.query.as_deref().map(|words| {
            let query = Query { limit: 0, ..Query::new(words) };
            let hits = library.registry.search(&query);
            let place = hits.iter().position(|hit| hit.skill.id == entry.skill.id);
            say(
                "query",
                match place {
                    Some(place) => format!(
                        "number {} of {} for `{words}`: {}",
                        place + 1,
                        wording::thousands(hits.len()),
                        find::reasons(&hits[place])
                    ),
                    None => format!("nothing in it matches `{words}`"),
                },
            );
            json!({
                "words": words,
                "place": place.map(|place| place + 1),
                "of": hits.len(),
                "score": place.map(|place| hits[place].score),
            })
        });
        if entry.skill.problems > 0 {
            let folder = Path::new(&*entry.skill.location).parent().unwrap_or(Path::new("."));
            let folder = targets::display(folder, environment);
            say(
                "problems",
                format!(
                    "{} in its frontmatter; see `prowess validate {}`",
                    entry.skill.problems,
                    wording::shell_word(&folder)
                ),
            );
        }
        Self { lines: answers, model, person, fate, rank, query }
    }

    fn json(&self, catalog: &Catalog, entry: &Entry) -> Value {
        let mut value = list::describe(catalog, entry);
        let shadows: Vec<_> = catalog
            .group(entry.name())
            .iter()
            .filter(|other| other.is_shadowed() && !entry.is_shadowed())
            .map(|other| &other.skill.location)
            .collect();
        value["shadows"] = json!(shadows);
        value["model"] = json!(list::sight_word(self.model));
        value["people"] = json!(list::sight_word(self.person));
        value["prompt"] = json!(self.fate);
        value["rank"] =
            json!(self.rank.as_ref().map(|(place, why)| json!({ "place": place, "why": why })));
        value["query"] = json!(self.query);
        let mut document = json!({ "schema": "prowess.why/1" });
        if let (Some(document), Some(value)) = (document.as_object_mut(), value.as_object()) {
            document.extend(value.clone());
        }
        document
    }
}

/// What to do about a skill that is hidden.
fn remedy(why: Hidden, entry: &Entry) -> String {
    match why {
        Hidden::SwitchedOff | Hidden::LeftToPeople => {
            format!("; change `skills.visibility.{}`", entry.name())
        }
        Hidden::NotGranted => "; add it to the agent's `skills`".to_owned(),
        Hidden::Shadowed | Hidden::NotForModels | Hidden::NotForPeople | Hidden::Waiting => {
            String::new()
        }
    }
}

fn ranked_reason(ranked: &Ranked) -> String {
    match ranked.reason {
        Reason::Used { count, .. } => {
            format!("used {}", wording::count(usize::try_from(count).unwrap_or(usize::MAX), "time"))
        }
        Reason::Recent { .. } => "never used, but it changed lately".to_owned(),
        Reason::Explored { .. } => "never used, and it is its turn to be shown".to_owned(),
        _ => "ranked".to_owned(),
    }
}
