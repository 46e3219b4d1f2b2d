//! `prowess prompt`

use prowess_catalog::index::{self, Fate, Format, IndexOptions, IndexText, Limit, Listing};
use prowess_catalog::rank::{self, Ranked};
use prowess_catalog::{Catalog, View, Visibility, Who};
use prowess_diag::wording;

use crate::args::{GlobalArgs, PromptArgs, PromptFormatArg};
use crate::env::Environment;
use crate::error::CliError;
use crate::library::Library;
use crate::output::{Exit, Printer, wrap};
use crate::usage;

/// How many skills count as used last.
const LAST_USED: usize = 5;
/// How many skills are named in the report.
const MOST_NAMED: usize = 10;

pub(crate) fn run(
    args: &PromptArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    if let Some(name) = &args.skill {
        return super::render::run(name, args, global, environment, printer);
    }
    if args
        .compat
        .as_deref()
        .is_some_and(|word| word != "skills-ref")
    {
        return Err(CliError::new("`--compat NAME` is about one skill").hint("add `--skill NAME`"));
    }
    let compat = args.compat.is_some();
    if compat && args.format != PromptFormatArg::Xml {
        return Err(
            CliError::new("`--compat` is about the XML of the reference tool")
                .hint("add `--format xml`"),
        );
    }
    let library = Library::open(global, environment, printer)?;
    let policy = library.policy(args.agent.as_deref())?;
    let catalog = library.catalog();
    let ranked = ranked(&catalog, &policy, environment, args.agent.as_deref());
    let options = IndexOptions {
        format: match args.format {
            PromptFormatArg::Markdown => Format::default(),
            PromptFormatArg::Xml if compat => Format::XmlCompat,
            PromptFormatArg::Xml => Format::Xml,
            PromptFormatArg::Json => Format::Json,
        },
        listing: if args.recent {
            Listing::Sections {
                last_used: LAST_USED,
            }
        } else {
            Listing::All
        },
        budget: library.config.budget(args.budget, args.window),
        generation: catalog.generation(),
        ..IndexOptions::default()
    };
    let made = make(&catalog, &policy, &ranked, &options);
    if args.json {
        printer.json(&prowess::inspect::index(&made))?;
        return Ok(Exit::Done);
    }
    if made.text.is_empty() {
        // Nothing goes into the prompt, not even an empty line.
    } else if printer.width().is_some() {
        printer.answer(&prowess_diag::sanitize::block(&format!("{}\n", made.text)))?;
    } else {
        printer.verbatim(format!("{}\n", made.text).as_bytes())?;
    }
    report(&made, args.recent, printer);
    library.warn(environment, printer);
    Ok(Exit::Done)
}

/// The skills in the order of their use, as far as it is remembered.
pub(crate) fn ranked(
    catalog: &Catalog,
    policy: &Visibility,
    environment: &Environment,
    agent: Option<&str>,
) -> Vec<Ranked> {
    let view = View::new(catalog, policy, Who::Model);
    let skills: Vec<_> = view
        .visible()
        .map(|(entry, _)| entry.skill.clone())
        .collect();
    let used = usage::of_project(environment, agent);
    rank::rank(&skills, &used, &rank::Options::new(usage::now(), LAST_USED))
}

/// Makes the listing that a model sees.
pub(crate) fn make(
    catalog: &Catalog,
    policy: &Visibility,
    ranked: &[Ranked],
    options: &IndexOptions<'_>,
) -> IndexText {
    let view = View::new(catalog, policy, Who::Model);
    index::index(&index::entries(&view, ranked), options)
}

/// Says what the listing costs and what was left out of it.
fn report(made: &IndexText, recent: bool, printer: &Printer) {
    let rows = &made.report.rows;
    let limit = match made.report.limit {
        Limit::Tokens(tokens) => format!(" of {}", wording::thousands(tokens)),
        _ => String::new(),
    };
    let mut line = format!(
        "{}{limit} tokens, {}",
        wording::thousands(made.tokens),
        wording::count(rows.len(), "skill")
    );
    let count = |is: fn(Fate) -> bool| rows.iter().filter(|row| is(row.fate)).count();
    let shortened = count(|fate| matches!(fate, Fate::Shortened { .. }));
    let bare = count(|fate| matches!(fate, Fate::NameOnly(_)));
    let cut: Vec<&str> = rows
        .iter()
        .filter(|row| !row.fate.is_shown())
        .map(|row| row.name)
        .collect();
    for (number, what) in [
        (shortened, "shortened"),
        (bare, "by name only"),
        (cut.len(), "left out"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", wording::thousands(number)));
        }
    }
    printer.status(&line);
    // Whoever asks for the last used knows that the others are left out.
    if !cut.is_empty() && !recent {
        let named: Vec<String> = cut.iter().take(MOST_NAMED).map(wording::tick).collect();
        let more = cut.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {} more", wording::thousands(more))
        } else {
            String::new()
        };
        let named = prowess_diag::sanitize::line(&named.join(", ")).into_owned();
        let text = format!("left out: {named}{more}; see `prowess why NAME`");
        printer.status(&wrap(&text, printer.list_width()).join("\n"));
    }
}
