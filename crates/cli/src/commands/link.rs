//! `prowess link`

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, suggest, wording};
use prowess_package::agents::{LINK_AGENTS, LinkAgent, PersonalFolder, link_agent};
use prowess_package::operations::{LinkChange, LinkForm, apply_links, plan_links, plan_unlink};
use serde_json::{Value, json};

use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::packages::{self, ScopeArgs, failure};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Link packages into the folders of other agents\n\nOnly agents that you name get links. A link that Prowess did not make is never replaced or removed.",
    after_help = "\
Examples:
  prowess link claude-code             link packages into `.claude/skills`
  prowess link claude-code --copy      copy them instead
  prowess link --list                  list the agents and their folders"
)]
pub(crate) struct LinkArgs {
    /// Names of agents
    #[arg(value_name = "AGENT", required_unless_present = "list", add = ArgValueCandidates::new(completions::link_agents))]
    agents: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Make copies instead, for file systems without links; `prowess verify` checks them
    #[arg(long, conflicts_with_all = ["remove", "list"])]
    copy: bool,
    /// Remove the links and copies
    #[arg(long)]
    remove: bool,
    /// List the agents and their folders
    #[arg(long, conflicts_with_all = ["agents", "remove"])]
    list: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &LinkArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if args.list {
        return list(args.json, printer);
    }
    let mut agents: Vec<&'static LinkAgent> = Vec::new();
    for name in &args.agents {
        agents.push(link_agent(name).ok_or_else(|| {
            let name = sanitize::line(name);
            let failure = Failure::new(format!("unknown agent `{name}`"));
            let known = LINK_AGENTS.iter().map(|agent| agent.name);
            match suggest::nearest(&name, known) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("list them with `prowess link --list`"),
            }
        })?);
    }
    let context = args.scope.open(environment, printer)?;
    let plan = if args.remove {
        plan_unlink(&context, &agents)
    } else {
        let form = if args.copy {
            LinkForm::Copy
        } else {
            LinkForm::Link
        };
        plan_links(&context, &agents, form)
    };
    let plan = plan.map_err(|error| failure(&error))?;
    apply_links(&context, &plan).map_err(|error| failure(&error))?;
    if args.json {
        let links: Vec<Value> = plan.changes.iter().map(describe).collect();
        printer.json(
            &json!({ "schema": packages::SCHEMA, "links": links, "needless": plan.needless }),
        )?;
        return Ok(Exit::Done);
    }
    for name in &plan.needless {
        printer.status(&format!(
            "{name} reads `.agents/skills` itself, and needs no links"
        ));
    }
    let (mut made, mut copied, mut removed) = (0, 0, 0);
    for change in &plan.changes {
        match change {
            LinkChange::Make { .. } => made += 1,
            LinkChange::Copy { .. } => copied += 1,
            LinkChange::Remove { .. } => removed += 1,
            LinkChange::Occupied { path } => {
                let shown = targets::display(path, environment);
                printer.warn(&format!(
                    "left {} alone: Prowess did not make it, or it was changed",
                    wording::tick(sanitize::line(&shown))
                ));
            }
        }
    }
    let what = if copied > 0 || args.copy {
        match copied {
            1 => "1 copy".to_owned(),
            copied => format!("{} copies", wording::thousands(copied)),
        }
    } else {
        wording::count(made, "link")
    };
    printer.status(&format!(
        "{what} made, {} removed",
        wording::thousands(removed)
    ));
    Ok(Exit::Done)
}

fn describe(change: &LinkChange) -> Value {
    match change {
        LinkChange::Make { path, target } => json!({ "made": path, "target": target }),
        LinkChange::Copy { path, digest } => json!({ "copied": path, "digest": digest }),
        LinkChange::Remove { path } => json!({ "removed": path }),
        LinkChange::Occupied { path } => json!({ "occupied": path }),
    }
}

fn list(is_json: bool, printer: &Printer) -> Result<Exit, Failure> {
    let personal = |agent: &LinkAgent| match agent.personal {
        PersonalFolder::Home(path) => format!("~/{path}"),
        PersonalFolder::Config(path) => format!("$XDG_CONFIG_HOME/{path}"),
    };
    if is_json {
        let agents = LINK_AGENTS.iter().map(|agent| {
            json!({ "name": agent.name, "project": agent.project, "personal": personal(agent), "reads_agents": agent.reads_agents })
        });
        let agents: Vec<Value> = agents.collect();
        printer.json(&json!({ "schema": packages::SCHEMA, "agents": agents }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["agent", "project", "personal", "links"]);
    for agent in LINK_AGENTS {
        table.row(vec![
            Cell::new(agent.name),
            Cell::new(agent.project),
            Cell::new(&personal(agent)),
            Cell::new(if agent.reads_agents { "not needed" } else { "" }),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}
