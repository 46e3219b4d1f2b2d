//! `prowess find`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess::inspect::{self, origin_text, reasons};
use prowess_catalog::{Audience, CatalogEntry, CatalogView, HiddenReason, SkillVisibility};
use prowess_diag::{theme, wording};
use prowess_search::{SearchHit, SearchMode, SearchQuery};

use super::list;
use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::visible_skills::Library;

#[derive(Debug, Args)]
#[command(
    about = "Search skills, best match first\n\nSearches names, descriptions, tags, metadata, headings and bodies. The last word may be incomplete, and typos in names are tolerated.",
    after_help = "\
Examples:
  prowess find fill in a form             find the best matches
  prowess find pdf --explain              explain each score
  prowess find --meta team=docs           filter by metadata only"
)]
pub(crate) struct FindArgs {
    /// Words to search for
    #[arg(value_name = "WORDS", required_unless_present = "meta")]
    pub(crate) words: Vec<String>,
    /// Only skills with this metadata (can be repeated; all must match)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) meta: Vec<String>,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// Match the words as one substring of names, descriptions and metadata, unranked
    #[arg(long)]
    pub(crate) substring: bool,
    /// Maximum number of results, 0 for all (default: 10)
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub(crate) limit: usize,
    /// Show how each score was computed
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &FindArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let text = args.words.join(" ");
    let metadata = args.meta.iter().map(|pair| {
        pair.split_once('=').ok_or_else(|| {
            Failure::new(format!(
                "invalid value `{pair}` for `--meta`: expected KEY=VALUE"
            ))
            .hint("e.g. `--meta team=docs`")
        })
    });
    let metadata = metadata.collect::<Result<_, _>>()?;
    let scope = args.scope.as_deref().map(list::parse_scope).transpose()?;
    let library = Library::open(global, environment, printer)?;
    let policy = library.policy(None)?;
    let catalog = library.catalog();
    let view = CatalogView::new(&catalog, &policy, Audience::Person);
    let is_off = |entry: &CatalogEntry| {
        matches!(
            view.visibility(entry),
            SkillVisibility::Hidden(
                HiddenReason::SwitchedOff | HiddenReason::NotListed | HiddenReason::NotLocked
            )
        )
    };
    // Disabled skills are dropped below; one extra result shows whether there are more.
    let beyond = catalog.listed().filter(|entry| is_off(entry)).count() + 1;
    let query = SearchQuery {
        metadata,
        scope,
        limit: if args.limit == 0 {
            0
        } else {
            args.limit.saturating_add(beyond)
        },
        mode: if args.substring {
            SearchMode::Substring
        } else {
            SearchMode::Ranked
        },
        prefix: true,
        explain: args.explain || args.json,
        ..SearchQuery::new(&text)
    };
    let hits = library.registry.search(&query);
    let mut hits: Vec<(&SearchHit, &CatalogEntry)> = hits
        .iter()
        .filter_map(|hit| Some((hit, catalog.entry_of(&hit.skill)?)))
        .filter(|(_, entry)| !is_off(entry))
        .collect();
    let has_more = args.limit > 0 && hits.len() > args.limit;
    if has_more {
        hits.truncate(args.limit);
    }
    if args.json {
        printer.json(&inspect::search_results(&catalog, &text, &hits, has_more))?;
        return Ok(if hits.is_empty() {
            Exit::No
        } else {
            Exit::Done
        });
    }
    if hits.is_empty() {
        let hint = "try other or fewer words, or list all skills with `prowess list`";
        printer.note(&nothing(args, &library), hint);
        library.warn(environment, printer);
        return Ok(Exit::No);
    }
    let accent = theme::ACCENT.on_default();
    let dim = theme::DIM;
    let mut table = if args.explain {
        Table::new(&["SCORE", "NAME", "WHY"]).wrapping()
    } else {
        Table::new(&["NAME", "FROM", "DESCRIPTION"])
    };
    for (hit, entry) in &hits {
        let mut row = Vec::new();
        if args.explain {
            row.push(Cell::number(&format!("{:.2}", hit.score)));
        }
        row.push(Cell::styled(entry.name(), accent));
        if args.explain {
            row.push(Cell::new(&reasons(hit)));
        } else {
            row.push(Cell::styled(&origin_text(entry), dim));
            row.push(Cell::new(&hit.skill.listing_text()));
        }
        table.row(row);
    }
    printer.answer(&table.render(printer.width()))?;
    let count = wording::count(hits.len(), "skill");
    printer.status(&if has_more {
        format!("{count}; more with `--limit 0`")
    } else {
        count
    });
    Ok(Exit::Done)
}

/// Formats the message for an empty result.
fn nothing(args: &FindArgs, library: &Library) -> String {
    let count = wording::count(library.catalog().listed().len(), "skill");
    let asked = [args.words.join(" ")]
        .into_iter()
        .filter(|words| !words.is_empty());
    let scope = args.scope.iter().map(|scope| format!("--scope {scope}"));
    let asked = asked
        .chain(args.meta.iter().map(|pair| format!("--meta {pair}")))
        .chain(scope);
    let asked: Vec<String> = asked.map(wording::tick).collect();
    format!("No skill matches {} ({count} searched)", asked.join(" "))
}
