//! `prowess why`

use std::path::Path;

use anstyle::AnsiColor;
use prowess::inspect::{self, Answer, Question};
use prowess_catalog::{Catalog, Entry, Form, NotFound, Sight};
use prowess_diag::{sanitize, wording};
use prowess_registry::fs::scopes;
use prowess_search::Query;
use serde_json::json;

use super::{prompt, targets};
use crate::args::{GlobalArgs, WhyArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::library::{Library, not_found};
use crate::output::{Exit, Printer, bold, wrap};
use crate::setup::Setup;

/// How wide the words before each answer are.
const COLUMN: usize = 12;

pub(crate) fn run(
    args: &WhyArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    if let Some(session) = &args.session {
        let setup = Setup::open(global, environment, printer)?;
        return super::session::why(session, args.turn, &setup, printer);
    }
    let name = args.name.as_deref().unwrap_or_default();
    let library = Library::open(global, environment, printer)?;
    let policy = library.policy(args.agent.as_deref())?;
    let catalog = library.catalog();
    let entry = match catalog.resolve(name) {
        Ok(entry) => entry,
        Err(fault) => match at_path(&catalog, Path::new(name)) {
            Some(entry) => entry,
            None => {
                return unreadable(args, &library, environment, printer)
                    .unwrap_or_else(|| Err(unseen(&fault)));
            }
        },
    };
    let ranked = || prompt::ranked(&catalog, &policy, environment, args.agent.as_deref());
    let hits = args.query.as_deref().map(|words| {
        library.registry.search(&Query {
            limit: 0,
            ..Query::new(words)
        })
    });
    let answers = inspect::why(&Question {
        catalog: &catalog,
        policy: &policy,
        entry,
        budget: library.config.budget(None, None),
        ranked: &ranked,
        query: args.query.as_deref().zip(hits.as_deref()),
        show: &|path| targets::display(path, environment),
    });
    if args.json {
        printer.json(&answers.document(&catalog, entry))?;
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
        folder.is_some_and(|folder| folder.to_str() == args.name.as_deref())
    };
    let fault = report
        .faults
        .iter()
        .find(|fault| is_meant(&fault.location))?;
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
            Answer {
                about: "place",
                text: path,
            },
            Answer {
                about: "problem",
                text: format!("{}; see `{command}`", fault.why),
            },
        ];
        printer.answer(&text(
            args.name.as_deref().unwrap_or_default(),
            &answers,
            printer,
        ))
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
    let named = if named.ends_with("SKILL.md") {
        named.parent().unwrap_or(named)
    } else {
        named
    };
    let places = [named.to_owned(), Path::new("skills").join(named)];
    let Some(folder) = places.iter().find(|folder| is_skill(folder)) else {
        let error = not_found(fault);
        let is_near = !fault.near.is_empty();
        let where_else = |error: CliError| {
            error
                .hint(searched)
                .hint("add a folder with `--skills-dir DIR`")
        };
        return if is_near { error } else { where_else(error) };
    };
    let shown = folder.display().to_string();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new(".")).display().to_string();
    let error = format!(
        "{} is a skill, but not in a folder that is searched",
        wording::tick(&shown)
    );
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
        text.push_str(&format!(
            "  {:COLUMN$}{}\n",
            answer.about,
            lines.join(&indent)
        ));
    }
    text
}
