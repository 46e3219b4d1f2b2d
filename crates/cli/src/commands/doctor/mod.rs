//! `prowess doctor`

mod health;
mod other_systems;
mod providers;

use std::path::Path;

use clap::Args;
use health::{Check, State};
use prowess_config::{ConfigError, LoadedConfig, OtherSettings};
use prowess_diag::render::concise;
use prowess_diag::{Diagnostic, FileReport, LineIndex, Severity, sanitize, theme, wording};
use prowess_traits::{UsageError, UsageStore};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, wrap};
use crate::prompt_share;
use crate::runtime_setup::Setup;
use crate::targets;
use crate::usage_store;
use crate::visible_skills::{self, Library};

#[derive(Debug, Args)]
#[command(
    about = "Check configuration, folders, store and sandbox\n\nReports problems in the configuration, the folders that are searched and their skills, unreadable files, the state of cache, store and sandbox, and the available models.",
    after_help = "\
Examples:
  prowess doctor                          run all local checks
  prowess doctor --online                 also check API keys, free of charge
  prowess doctor --json                   print as JSON"
)]
pub(crate) struct DoctorArgs {
    /// Also request the model list from every provider with a key
    #[arg(long)]
    pub(crate) online: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The column of the findings, after state and area.
const COLUMN: usize = 15;

pub(crate) fn run(
    args: &DoctorArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let loaded = visible_skills::load(environment);
    let mut checks = settings(&loaded, environment);
    // An invalid configuration file is reported as a check; the other checks still run.
    let others = loaded.others;
    let library = Library::with(loaded.config, global, environment)?;
    let hidden = library.hidden_by_project();
    let reading = prompt_share::of(&library, environment)?;
    let setup = Setup::new(library.clone(), None, environment)?;
    let unchecked = health::hooks(&library.catalog(), &setup.starting_context(None));
    let Library {
        registry, config, ..
    } = library;
    let show = |path: &Path| targets::display(path, environment);
    checks.extend(health::folders(&registry, &show));
    checks.extend(health::skills(&registry, &show));
    checks.extend(other_systems::checks(
        environment,
        &others,
        &registry.snapshot(),
        &show,
    ));
    checks.extend(hidden.into_iter().map(|(_, text)| {
        let hint = "set it in your own settings, or ask the project why";
        Check::new("skill", State::Odd, text).hint(hint)
    }));
    checks.extend(unchecked);
    let state = match reading.remedy {
        Some(_) => State::Odd,
        None => State::Good,
    };
    let mut found = Check::new("prompt", state, reading.summary);
    found.hint = reading.remedy;
    checks.push(found);
    checks.push(health::watching(&registry));
    let cache = environment.cache_folder().filter(|_| !global.no_cache);
    checks.push(health::cache(cache.as_deref(), &registry, &show));
    checks.push(store(environment));
    let strength = config.sandbox.unwrap_or_default();
    if let Some(runner) = environment.runner(&config) {
        checks.extend(health::sandbox(&runner, strength));
    }
    let variables = crate::runtime_setup::variables(environment);
    checks.extend(providers::checks(&variables, args.online)?);
    let bad = checks
        .iter()
        .filter(|check| check.state == State::Bad)
        .count();
    if args.json {
        printer.json(&document(&checks, &others))?;
    } else {
        printer.answer(&text(&checks, printer.list_width()))?;
        let odd = checks
            .iter()
            .filter(|check| check.state == State::Odd)
            .count();
        printer.status(&match (bad, odd) {
            (0, 0) => "No problems".to_owned(),
            (0, odd) => format!("No problems; {}", wording::count(odd, "note")),
            (bad, _) => wording::count(bad, "problem"),
        });
    }
    Ok(if bad == 0 { Exit::Done } else { Exit::No })
}

/// Checks the configuration files that are used.
fn settings(loaded: &LoadedConfig, environment: &Environment) -> Vec<Check> {
    let about = |report: &FileReport| {
        let lines = LineIndex::new(report.text());
        let line = |diagnostic: &Diagnostic| {
            let is_wrong = diagnostic.severity == Severity::Error;
            let state = if is_wrong { State::Bad } else { State::Odd };
            let place = concise::place(report, &lines, diagnostic);
            Check::new("config", state, format!("{place}: {}", diagnostic.message))
        };
        report.diagnostics.iter().map(line).collect::<Vec<_>>()
    };
    let mut checks = Vec::new();
    for path in &loaded.used {
        checks.push(Check::new(
            "config",
            State::Good,
            targets::display(path, environment),
        ));
    }
    checks.extend(loaded.warnings.iter().flat_map(about));
    for fault in &loaded.faults {
        match fault {
            ConfigError::Unreadable { path, source } => {
                let path = targets::display(path, environment);
                let reason = wording::io_reason(source).to_lowercase();
                checks.push(Check::new(
                    "config",
                    State::Bad,
                    format!("{path}: {reason}"),
                ));
            }
            ConfigError::Wrong { report } => {
                checks.extend(about(report));
                if let Some(last) = checks.pop() {
                    let hint = "the file is ignored until it is fixed; run `prowess schema config` to print its schema";
                    checks.push(last.hint(hint));
                }
            }
            _ => checks.push(Check::new("config", State::Bad, fault.to_string())),
        }
    }
    checks
}

fn store(environment: &Environment) -> Check {
    let Some(store) = usage_store::store(environment) else {
        return Check::new(
            "store",
            State::Odd,
            "not available: no home folder; set `PROWESS_HOME`",
        );
    };
    let shown = targets::display(store.path(), environment);
    if !store.path().exists() {
        return Check::new("store", State::Good, format!("{shown}: not created yet"));
    }
    match store.summary(None, 1) {
        Ok(summary) => {
            let count = wording::count(summary.total, "skill");
            Check::new("store", State::Good, format!("{shown}: usage of {count}"))
        }
        Err(error) => {
            let text = usage_store::explain(&error, &store, environment);
            let mut found = Check::new("store", State::Bad, text);
            found.hint = match error {
                UsageError::Busy { .. } => Some("wait until the other process ends".to_owned()),
                UsageError::ReadOnly { .. } => Some("make the file writable".to_owned()),
                UsageError::NotAFile { .. } | UsageError::Damaged { .. } => {
                    Some("move the file elsewhere; a new one is created on next use".to_owned())
                }
                UsageError::Foreign { .. } | UsageError::Newer { .. } => {
                    Some("set `PROWESS_STORE_URL` to another file".to_owned())
                }
                _ => None,
            };
            found
        }
    }
}

fn text(checks: &[Check], width: usize) -> String {
    let mut text = String::new();
    for found in checks {
        let color = match found.state {
            State::Good => theme::GOOD,
            State::Odd => theme::WARNING,
            State::Bad => theme::BAD,
        };
        let mark = found.state.as_str();
        let style = theme::bold(color);
        let indent = format!("\n{:COLUMN$}", "");
        let lines = |text: &str| {
            wrap(&sanitize::line(text), width.saturating_sub(COLUMN).max(20)).join(&indent)
        };
        let shown = lines(&found.text);
        text.push_str(&format!(
            "{style}{mark:4}{style:#}  {:7}  {shown}\n",
            found.area
        ));
        if let Some(hint) = &found.hint {
            text.push_str(&format!("{:COLUMN$}{}\n", "", lines(hint)));
        }
    }
    text
}

fn document(checks: &[Check], others: &[OtherSettings]) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|found| {
            let state = found.state.as_str();
            json!({ "area": found.area, "state": state, "text": found.text, "hint": found.hint })
        })
        .collect();
    let others: Vec<Value> = others
        .iter()
        .map(|settings| {
            let ignored = settings.ignored.iter();
            let ignored = ignored.map(|one| json!({ "key": one.key, "why": one.why }));
            json!({
                "name": settings.name,
                "path": settings.path,
                "scope": settings.scope.as_str(),
                "used": settings.used,
                "ignored": ignored.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "schema": "prowess.doctor/1", "checks": checks, "other_settings": others })
}
