//! `prowess prompt`

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use prowess::ToolContext;
use prowess_catalog::index::{
    self, EntryOutcome, IndexFormat, IndexLimit, IndexOptions, IndexText, Listing,
};
use prowess_catalog::{Audience, CatalogView};
use prowess_diag::wording;

use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, wrap};
use crate::runtime_setup::Setup;
use crate::visible_skills::Library;

#[derive(Debug, Args)]
#[command(
    about = "Print exactly what a model would see\n\nPrints the skill listing of the system prompt of a session that starts now, within a token budget that depends on the model. Reports on standard error what was shortened or omitted, and why.",
    after_help = "\
Examples:
  prowess prompt                          print the listing
  prowess prompt --model openai/gpt-4o    as a session with this model sees it
  prowess prompt --format xml --compat    match the reference tool"
)]
pub(crate) struct PromptArgs {
    /// Listing format: markdown, xml, json (default: markdown)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "markdown",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) format: PromptFormatArg,
    /// With `--format xml`, print exactly the output of `skills-ref to-prompt`, without a budget; with
    /// `--skill`, substitute arguments like this tool: claude-code, agentick, goose
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "skills-ref")]
    pub(crate) compat: Option<String>,
    /// Token budget of the listing (default: 1% of the window)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Context window in tokens (default: that of the model, or 200,000)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<usize>,
    /// The model.
    #[arg(
        long,
        value_name = "MODEL",
        conflicts_with = "window",
        help = "Print what a session with this model would see [env: PROWESS_MODEL]"
    )]
    pub(crate) model: Option<String>,
    /// List only pinned and recently used skills, with a count of the rest
    #[arg(long)]
    pub(crate) recent: bool,
    /// Show what this configured agent sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print the listing and the report as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print what a model receives when it loads this skill; approved commands run in the sandbox
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "One skill",
        conflicts_with_all = ["format", "budget", "window", "model", "recent"],
        add = ArgValueCandidates::new(completions::skill_names)
    )]
    pub(crate) skill: Option<String>,
    /// Arguments of the skill, as one string
    #[arg(long, value_name = "TEXT", help_heading = "One skill", requires = "skill", conflicts_with_all = ["arg", "args_json"], allow_hyphen_values = true)]
    pub(crate) arguments: Option<String>,
    /// Named argument of the skill (can be repeated)
    #[arg(
        long,
        value_name = "NAME=VALUE",
        help_heading = "One skill",
        requires = "skill",
        conflicts_with = "args_json"
    )]
    pub(crate) arg: Vec<String>,
    /// Arguments of the skill as JSON: an object, an array or a string
    #[arg(
        long,
        value_name = "JSON",
        help_heading = "One skill",
        requires = "skill"
    )]
    pub(crate) args_json: Option<String>,
    /// Do not run its commands
    #[arg(long, help_heading = "One skill", requires = "skill")]
    pub(crate) no_exec: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormatArg {
    Markdown,
    Xml,
    Json,
}

/// Maximum number of skills named in the report.
const MOST_NAMED: usize = 10;

pub(crate) fn run(
    args: &PromptArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if let Some(name) = &args.skill {
        return super::prompt_skill::run(name, args, global, environment, printer);
    }
    if args
        .compat
        .as_deref()
        .is_some_and(|word| word != "skills-ref")
    {
        return Err(Failure::new("`--compat NAME` requires `--skill`").hint("add `--skill NAME`"));
    }
    let compat = args.compat.is_some();
    if compat && args.format != PromptFormatArg::Xml {
        return Err(Failure::new("`--compat` requires `--format xml`").hint("add `--format xml`"));
    }
    let library = Library::open(global, environment, printer)?;
    let setup = Setup::new(library.clone(), args.agent.as_deref(), environment)?;
    let mut context = setup.starting_context(args.model.as_deref());
    if args.window.is_some() {
        context.settings.index = library.config.budget(args.budget, args.window);
    } else if let Some(tokens) = args.budget {
        context.settings.index.limit = IndexLimit::Tokens(tokens);
    }
    if args.recent {
        let (Listing::All { last_used } | Listing::Sections { last_used }) =
            context.settings.listing;
        context.settings.listing = Listing::Sections { last_used };
    }
    let made = match args.format {
        PromptFormatArg::Xml if compat => reference_listing(&context),
        PromptFormatArg::Xml => prowess::starting_index(&context, IndexFormat::Xml),
        PromptFormatArg::Markdown => prowess::starting_index(&context, IndexFormat::default()),
        PromptFormatArg::Json => prowess::starting_index(&context, IndexFormat::Json),
    };
    if args.json {
        printer.json(&prowess::inspect::index(&made))?;
        return Ok(Exit::Done);
    }
    if made.text.is_empty() {
        // An empty listing adds nothing to the prompt, not even a line break.
    } else {
        printer.foreign(&format!("{}\n", made.text))?;
    }
    let is_whole = matches!(context.settings.listing, Listing::All { .. });
    report(&made, is_whole, printer);
    library.warn(environment, printer);
    Ok(Exit::Done)
}

/// Returns the listing of the reference tool.
fn reference_listing(context: &ToolContext) -> IndexText {
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
    let options = IndexOptions {
        format: IndexFormat::XmlCompat,
        generation: catalog.generation(),
        ..IndexOptions::default()
    };
    index::index(&index::entries(&view, &[]), &options)
}

/// Reports the size of the listing and what was omitted.
fn report(made: &IndexText, is_whole: bool, printer: &Printer) {
    let rows = &made.report.rows;
    let limit = match made.report.limit {
        IndexLimit::Tokens(tokens) => format!(" of {}", wording::thousands(tokens)),
        _ => String::new(),
    };
    let mut line = format!(
        "{}{limit} tokens, {}",
        wording::thousands(made.tokens),
        wording::count(rows.len(), "skill")
    );
    let count = |is: fn(EntryOutcome) -> bool| rows.iter().filter(|row| is(row.fate)).count();
    let shortened = count(|fate| matches!(fate, EntryOutcome::Shortened { .. }));
    let bare = count(|fate| matches!(fate, EntryOutcome::NameOnly(_)));
    let cut: Vec<&str> = rows
        .iter()
        .filter(|row| !row.fate.is_shown())
        .map(|row| row.name)
        .collect();
    for (number, what) in [
        (shortened, "shortened"),
        (bare, "by name only"),
        (cut.len(), "omitted"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", wording::thousands(number)));
        }
    }
    printer.status(&line);
    // In sections, omitted skills are expected.
    if !cut.is_empty() && is_whole {
        let named: Vec<String> = cut.iter().take(MOST_NAMED).map(wording::tick).collect();
        let more = cut.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {} more", wording::thousands(more))
        } else {
            String::new()
        };
        let named = prowess_diag::sanitize::line(&named.join(", ")).into_owned();
        let text = format!("omitted: {named}{more}; run `prowess why NAME`");
        printer.status(&wrap(&text, printer.list_width()).join("\n"));
    }
}
