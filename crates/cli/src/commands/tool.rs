//! `prowess tool`

use std::io::Read;
use std::sync::Arc;

use crate::commands::completions;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, theme, wording};
use prowess_tools::{
    Loaded, ToolContext, ToolError, ToolErrorKind, ToolSelection, ToolSpec, Toolset,
};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::permissions::Terminal;
use crate::runtime_setup::{ModelArgs, Setup};
use crate::visible_skills::Library;

#[derive(Debug, Args)]
#[command(
    about = "List and call the tools available to models\n\nIf a tool fails, the error text that a model would read is printed to standard error. The exit code is then 1, or 3 if the call is not permitted.",
    after_help = "\
Examples:
  prowess tool list                              list the tools
  prowess tool call load_skill --json '{\"name\":\"csv-report\"}'"
)]
pub(crate) struct ToolArgs {
    #[command(subcommand)]
    pub(crate) command: ToolCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    List(ToolListArgs),
    Call(ToolCallArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "List the tools available to models",
    after_help = "\
Examples:
  prowess tool list
  prowess tool list --agent Explore              the tools of an agent
  prowess tool list --json                       include input schemas"
)]
pub(crate) struct ToolListArgs {
    /// List the tools of this agent: a configured one, or one of `prowess agent list`, whose MCP servers are started
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agent_names))]
    pub(crate) agent: Option<String>,
    /// Print as JSON, including input schemas
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Call a tool as a model would",
    after_help = "\
Examples:
  prowess tool call list_skills
  prowess tool call search_skills --json '{\"query\":\"forms\"}'
  prowess tool call load_skill --json '{\"name\":\"csv-report\"}' --value"
)]
pub(crate) struct ToolCallArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Input of the tool as JSON, or `-` for standard input (default: `{}`)
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// Run commands as this skill
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: Option<String>,
    /// Call the tool as this configured agent
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print text and structured value as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) value: bool,
}

/// Maximum size of JSON read from standard input.
const MAX_INPUT: u64 = 8 * 1024 * 1024;

pub(crate) fn run(
    args: &ToolArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    match &args.command {
        ToolCommand::List(args) => list(args, library, environment, printer),
        ToolCommand::Call(args) => call(args, library, environment, printer),
    }
}

fn list(
    args: &ToolListArgs,
    library: Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let is_configured = |agent: &str| library.config.agents.contains_key(agent);
    let of_file = args.agent.as_deref().filter(|agent| !is_configured(agent));
    let specs = if let Some(agent) = of_file {
        agent_tools(agent, library, environment, printer)?
    } else {
        let context = context(library, args.agent.as_deref(), environment)?;
        toolset(&ToolSelection::everything())?.specs(&context)
    };
    if args.json {
        printer.json(&prowess::inspect::tools(&specs))?;
        return Ok(Exit::Done);
    }
    if specs.is_empty() {
        printer.status("No tools: no skills are visible to models");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["TOOL", "DESCRIPTION"]).wrapping();
    for spec in &specs {
        let first = spec
            .description
            .split_inclusive(['.', '\n'])
            .next()
            .unwrap_or_default();
        table.row(vec![
            Cell::styled(&spec.name, theme::ACCENT.on_default()),
            Cell::new(sanitize::line(first.trim_end_matches(['.', '\n', ':'])).as_ref()),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    printer.status(&format!(
        "{}; show input schemas with `--json`",
        wording::count(specs.len(), "tool")
    ));
    Ok(Exit::Done)
}

/// Returns the tools that a session of an agent would begin with. Starts the MCP servers.
fn agent_tools(
    agent: &str,
    library: Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<Vec<ToolSpec>, Failure> {
    let mut setup = Setup::new(library, None, environment)?;
    setup.check_agent(agent)?;
    let _servers = setup.connect(Some(agent), printer)?;
    let model = Arc::new(prowess_models::EchoModel::default());
    let runtime = setup.runtime(
        &ModelArgs::default(),
        model,
        Arc::new(Terminal::default()),
        Vec::new(),
        |_| {},
    )?;
    let specs = runtime.engine().agent_tools(agent);
    specs.map_err(|error| super::run::failure(&error))
}

/// Returns the context of the tools. A call by hand is not recorded as use.
fn context(
    library: Library,
    agent: Option<&str>,
    environment: &Environment,
) -> Result<ToolContext, Failure> {
    let mut context = Setup::new(library, agent, environment)?.context();
    context.services.usage = None;
    Ok(context)
}

fn toolset(choice: &ToolSelection) -> Result<Toolset, Failure> {
    Toolset::new(choice).map_err(|fault| Failure::new(fault.to_string()))
}

fn call(
    args: &ToolCallArgs,
    library: Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let input = input(args.json.as_deref())?;
    let context = context(library, args.agent.as_deref(), environment)?;
    let choice = ToolSelection {
        runs_as: args.skill.clone().map(Into::into),
        ..ToolSelection::everything()
    };
    let answer = toolset(&choice)?.call(&context, &mut Loaded::default(), &args.name, &input);
    match answer {
        Ok(answer) if args.value => {
            printer.json(&json!({
                "schema": "prowess.tool/1", "tool": args.name, "text": answer.text, "value": answer.value,
            }))?;
            Ok(Exit::Done)
        }
        Ok(answer) => {
            printer.foreign(&format!("{}\n", answer.text.trim_end_matches('\n')))?;
            Ok(Exit::Done)
        }
        Err(ToolError::ForModel { why, text }) => {
            if args.value {
                printer.json(&json!({
                    "schema": "prowess.tool/1", "tool": args.name, "error": { "kind": why.as_str(), "text": text },
                }))?;
            } else {
                // The error text that a model would read.
                printer.aside(&sanitize::block(&format!(
                    "{}\n",
                    text.trim_end_matches('\n')
                )));
            }
            Ok(if why == ToolErrorKind::Denied {
                Exit::Denied
            } else {
                Exit::No
            })
        }
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

fn input(given: Option<&str>) -> Result<Value, Failure> {
    let text = match given {
        None => return Ok(json!({})),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .take(MAX_INPUT)
                .read_to_string(&mut text)
                .map_err(|error| Failure::new("cannot read standard input").cause(error))?;
            text
        }
        Some(text) => text.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new("invalid JSON in `--json`")
            .cause(error)
            .hint("e.g. `{\"name\": \"pdf\"}`")
    })
}
