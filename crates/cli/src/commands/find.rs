//! `prowess find`

use anstyle::{AnsiColor, Style};
use prowess_diag::wording;
use prowess_search::{Hit, Mode, Query};
use serde_json::{Value, json};

use super::list;
use crate::args::{FindArgs, GlobalArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::{Library, from};
use crate::output::printer::Printer;
use crate::output::table::{Cell, Table};

/// How many reasons of a score are shown.
const MOST_REASONS: usize = 6;

pub(crate) fn run(
    args: &FindArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let text = args.words.join(" ");
    let metadata = args.meta.iter().map(|pair| {
        pair.split_once('=').ok_or_else(|| {
            CliError::new(format!("`--meta {pair}` is not of the form KEY=VALUE"))
                .hint("for example: `--meta team=docs`")
        })
    });
    let query = Query {
        metadata: metadata.collect::<Result<_, _>>()?,
        scope: args.scope.as_deref().map(list::parse_scope).transpose()?,
        limit: args.limit,
        mode: if args.substring { Mode::Substring } else { Mode::Ranked },
        prefix: true,
        explain: args.explain || args.json,
        ..Query::new(&text)
    };
    let library = Library::open(global, environment, printer)?;
    let hits = library.registry.search(&query);
    let catalog = library.catalog();
    let by_id = |hit: &Hit| catalog.entry_of(&hit.skill);
    if args.json {
        let found: Vec<Value> = hits
            .iter()
            .filter_map(|hit| {
                let mut value = list::describe(&catalog, by_id(hit)?);
                value["score"] = json!(hit.score);
                value["reasons"] = hit.explanation.iter().map(reason).collect();
                Some(value)
            })
            .collect();
        printer.json(&json!({ "schema": "prowess.find/1", "query": text, "skills": found }))?;
        return Ok(if hits.is_empty() { Exit::No } else { Exit::Done });
    }
    if hits.is_empty() {
        printer.error(&nothing(&text, &library));
        return Ok(Exit::No);
    }
    let cyan = AnsiColor::Cyan.on_default();
    let dim = Style::new().dimmed();
    let mut table = if args.explain {
        Table::new(&["SCORE", "NAME", "FROM", "WHY"])
    } else {
        Table::new(&["NAME", "FROM", "DESCRIPTION"])
    };
    for hit in &hits {
        let Some(entry) = by_id(hit) else { continue };
        let mut row = Vec::new();
        if args.explain {
            row.push(Cell::new(&format!("{:.2}", hit.score)));
        }
        row.push(Cell::styled(entry.name(), cyan));
        row.push(Cell::styled(&from(entry), dim));
        if args.explain {
            row.push(Cell::new(&reasons(hit)));
        } else {
            row.push(Cell::new(&hit.skill.listing_text()));
        }
        table.row(row);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}

/// What a score is made of, in one line: `pdf in name 3.10 + form in description 1.20`.
pub(crate) fn reasons(hit: &Hit) -> String {
    let mut parts: Vec<String> = hit
        .explanation
        .iter()
        .take(MOST_REASONS)
        .map(|reason| {
            use prowess_search::Form;
            let form = match reason.form {
                Form::Exact | Form::Gram => String::new(),
                form => format!(" ({})", form.as_str()),
            };
            format!("`{}` in {}{form} {:.2}", reason.term, reason.field.as_str(), reason.points)
        })
        .collect();
    if hit.explanation.len() > MOST_REASONS {
        parts.push("…".to_owned());
    }
    parts.join(" + ")
}

fn reason(reason: &prowess_search::Reason) -> Value {
    json!({
        "field": reason.field.as_str(),
        "term": &*reason.term,
        "form": reason.form.as_str(),
        "points": reason.points,
    })
}

fn nothing(text: &str, library: &Library) -> CliError {
    let count = wording::count(library.catalog().listed().len(), "skill");
    let error = CliError::new(format!("none of {count} fits `{text}`"));
    error.hint("use other words, or see all with `prowess list`")
}
