//! `prowess stats`

use clap::Args;
use prowess_diag::{theme, wording};
use prowess_traits::{SkillUsageSummary, UsageStore};

use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::usage_store;

#[derive(Debug, Args)]
#[command(
    about = "Show skill usage\n\nShows how often each skill was used by agents that run with prowess, when it was last used, and how the runs ended. The data never leaves this machine.",
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
    if args.json {
        printer.json(&prowess::inspect::usage(&summary))?;
        return Ok(Exit::Done);
    }
    if summary.skills.is_empty() {
        printer.status("No skill usage recorded yet");
        return Ok(Exit::Done);
    }
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
    Ok(Exit::Done)
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
