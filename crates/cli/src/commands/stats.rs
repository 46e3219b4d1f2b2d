//! `prowess stats`

use clap::Args;
use prowess::mission::{MissionCosts, mission_costs};
use prowess::store::SqliteSessions;
use prowess_diag::{sanitize, theme, wording};
use prowess_traits::{SessionQuery, SessionStore, SkillUsageSummary, UsageStore, UsageSummary};
use serde_json::json;

use crate::commands::mission_run::cost_table;
use crate::commands::run::{dollars, failure};
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::usage_store;

/// Maximum number of runs of missions that are added up.
const MAX_RUNS: usize = 200;
/// Maximum number of sessions among which runs are searched.
const MAX_SEARCHED: usize = 2_000;

#[derive(Debug, Args)]
#[command(
    about = "Show the use of skills and the cost of missions\n\nShows how often each skill was used by agents that run with prowess, when it was last used, and how the runs ended. For the latest runs of missions, shows tokens and money of each mission and its tasks, agents and skills. The data never leaves this machine.",
    after_help = "\
Examples:
  prowess stats                           list the most used skills
  prowess stats --json                    print as JSON"
)]
pub(crate) struct StatsArgs {
    /// Maximum number of skills, 0 for all (default: 20)
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub(crate) limit: usize,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &StatsArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let Some(store) = usage_store::store(environment) else {
        return Err(Failure::new("cannot find a home folder for the store")
            .hint("set `PROWESS_HOME` or `PROWESS_STORE_URL`"));
    };
    let limit = if args.limit == 0 {
        usize::MAX
    } else {
        args.limit
    };
    let summary = store.summary(None, limit).map_err(|error| {
        Failure::new(usage_store::explain(&error, &store, environment))
            .hint("run `prowess doctor` to check the store")
    })?;
    let missions = missions(environment)?;
    if args.json {
        let mut document = prowess::inspect::usage(&summary);
        let missions = missions.iter().map(|(mission, runs, costs)| {
            let mut value = prowess::inspect::mission_costs(costs);
            value["mission"] = json!(mission);
            value["runs"] = json!(runs);
            value
        });
        document["missions"] = missions.collect();
        printer.json(&document)?;
        return Ok(Exit::Done);
    }
    if summary.skills.is_empty() {
        printer.status("No skill usage recorded yet");
    } else {
        print_skills(&summary, printer)?;
    }
    print_missions(&missions, printer)
}

/// Returns what the latest runs of missions used, for each mission: its name, the number of runs, and
/// the sums. The mission that ran last is first.
fn missions(environment: &Environment) -> Result<Vec<(Box<str>, usize, MissionCosts)>, Failure> {
    let Some(file) = environment.store_file().filter(|file| file.exists()) else {
        return Ok(Vec::new());
    };
    let store = SqliteSessions::new(file);
    let query = SessionQuery {
        project: None,
        parent: None,
        limit: MAX_SEARCHED,
    };
    let found = store.list(&query).map_err(|error| failure(&error.into()))?;
    let found = found.iter();
    let found = found.filter(|one| one.title.starts_with("mission "));
    let mut missions: Vec<(Box<str>, usize, MissionCosts)> = Vec::new();
    for run in found.take(MAX_RUNS) {
        let costs = mission_costs(&store, &run.id).map_err(|error| failure(&error))?;
        let Some(costs) = costs else {
            continue;
        };
        let mut known = missions.iter_mut();
        match known.find(|(name, ..)| *name == costs.mission) {
            Some((_, runs, sum)) => {
                *runs += 1;
                sum.add(costs);
            }
            None => missions.push((costs.mission.clone(), 1, costs)),
        }
    }
    Ok(missions)
}

fn print_missions(
    missions: &[(Box<str>, usize, MissionCosts)],
    printer: &Printer,
) -> Result<Exit, Failure> {
    for (mission, runs, costs) in missions {
        printer.answer(&format!(
            "\nmission {}: {}, {} tokens, {}\n",
            sanitize::line(mission),
            wording::count(*runs, "run"),
            wording::thousands(usize::try_from(costs.total.tokens).unwrap_or(usize::MAX)),
            dollars(costs.total.micros)
        ))?;
        let tasks = costs.tasks.iter().map(|(name, used)| (name, used));
        let tables = [
            cost_table("TASK", tasks),
            cost_table("AGENT", costs.agents.iter()),
            cost_table("SKILL", costs.skills.iter()),
        ];
        let counts = [costs.tasks.len(), costs.agents.len(), costs.skills.len()];
        for (table, _) in tables.iter().zip(counts).filter(|(_, rows)| *rows > 0) {
            printer.answer(&table.render(printer.width()))?;
        }
    }
    Ok(Exit::Done)
}

fn print_skills(summary: &UsageSummary, printer: &Printer) -> Result<(), Failure> {
    let now = usage_store::now();
    let accent = theme::ACCENT.on_default();
    let dim = theme::DIM;
    let mut table = Table::new(&["SKILL", "USES", "LAST USED", "RESULTS", "AGENTS"]);
    for skill in &summary.skills {
        let agents: Vec<&str> = skill.agents.iter().map(|(_, agent, _)| &**agent).collect();
        table.row(vec![
            Cell::styled(&skill.skill, accent),
            Cell::number(&wording::thousands(
                usize::try_from(skill.uses).unwrap_or(usize::MAX),
            )),
            Cell::new(&wording::ago(now, skill.last_used)),
            Cell::new(&ended(skill)),
            Cell::styled(&agents.join(", "), dim),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    let count = wording::count(summary.skills.len(), "skill");
    printer.status(&match summary.total.saturating_sub(summary.skills.len()) {
        0 => count,
        more => format!(
            "{count}; {} more with `--limit 0`",
            wording::thousands(more)
        ),
    });
    Ok(())
}

/// Formats the outcomes: `12 done, 1 failed`.
fn ended(skill: &SkillUsageSummary) -> String {
    let outcomes = &skill.outcomes;
    let parts = [
        (outcomes.done, "done"),
        (outcomes.failed, "failed"),
        (outcomes.refused, "refused"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if parts.is_empty() {
        "-".to_owned()
    } else {
        parts.join(", ")
    }
}
