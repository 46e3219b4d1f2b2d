//! `prowess doctor`

use std::path::Path;

use anstyle::AnsiColor;
use prowess_catalog::{Origin, Scope};
use prowess_diag::{sanitize, wording};
use prowess_ports::{UsageError, UsageStore};
use prowess_registry::{Notice, WatchMode, WatchOptions};
use serde_json::{Value, json};

use super::targets;
use crate::args::{DoctorArgs, GlobalArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::Library;
use crate::usage;
use prowess_terminal::{Printer, bold, wrap};

/// How many skills that cannot be read are named.
const MOST_FAULTS: usize = 20;
/// Where the answers begin, behind state and area.
const COLUMN: usize = 14;

/// How one thing is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Odd,
    Bad,
}

/// One thing that was looked at.
struct Check {
    area: &'static str,
    state: State,
    text: String,
    hint: Option<String>,
}

pub(crate) fn run(
    args: &DoctorArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let library = Library::open(global, environment, printer)?;
    let mut checks = folders(&library, environment);
    checks.extend(skills(&library, environment));
    checks.push(watching(&library));
    checks.push(cache(global, environment));
    checks.push(store(environment));
    let bad = checks.iter().filter(|check| check.state == State::Bad).count();
    if args.json {
        printer.json(&document(&checks))?;
    } else {
        printer.answer(&text(&checks, printer.list_width()))?;
        let odd = checks.iter().filter(|check| check.state == State::Odd).count();
        printer.status(&match (bad, odd) {
            (0, 0) => "Everything is in order".to_owned(),
            (0, odd) => format!("Nothing to mend; {} worth knowing", wording::count(odd, "thing")),
            (bad, _) => format!("{} to mend", wording::count(bad, "thing")),
        });
    }
    Ok(if bad == 0 { Exit::Done } else { Exit::No })
}

fn check(area: &'static str, state: State, text: String) -> Check {
    Check { area, state, text, hint: None }
}

/// The folders that exist, and how many skills each holds.
fn folders(library: &Library, environment: &Environment) -> Vec<Check> {
    let catalog = library.catalog();
    let mut origins: Vec<(&Origin, usize)> = Vec::new();
    for entry in catalog.entries() {
        let origin = &*entry.skill.id.origin;
        match origins.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, count)) => *count += 1,
            None => origins.push((origin, 1)),
        }
    }
    origins.sort();
    let mut checks: Vec<Check> = origins
        .iter()
        .map(|(origin, count)| {
            let root = targets::display(Path::new(&*origin.root), environment);
            let scope = match origin.scope {
                Scope::Bundled => String::new(),
                scope => format!(" ({})", scope.as_str()),
            };
            let text = format!("{root}{scope}: {}", wording::count(*count, "skill"));
            check("folder", State::Good, text)
        })
        .collect();
    for notice in &library.registry.report().notices {
        let show = |path: &Path| targets::display(path, environment);
        let state = match notice {
            Notice::Unreadable { .. } | Notice::TooMany { .. } => State::Bad,
            Notice::TooDeep { .. } | Notice::Reserved { .. } => State::Odd,
            Notice::SeenBefore { .. } => State::Good,
        };
        checks.push(check("folder", state, notice.explain(&show)));
    }
    checks
}

/// Skills that cannot be read, that are shadowed, or that had to be mended to be read.
fn skills(library: &Library, environment: &Environment) -> Vec<Check> {
    let catalog = library.catalog();
    let report = library.registry.report();
    let mut checks = Vec::new();
    for fault in report.faults.iter().take(MOST_FAULTS) {
        let path = targets::display(Path::new(&*fault.location), environment);
        let mut found = check("skill", State::Bad, format!("{path}: {}", fault.why));
        found.hint = Some(format!("see `prowess validate {}`", wording::shell_word(&path)));
        checks.push(found);
    }
    let more = report.faults.len().saturating_sub(MOST_FAULTS);
    if more > 0 {
        checks.push(check(
            "skill",
            State::Bad,
            format!("{} more cannot be read", wording::thousands(more)),
        ));
    }
    let shadowed = catalog.entries().iter().filter(|entry| entry.is_shadowed()).count();
    if shadowed > 0 {
        let are = if shadowed == 1 { "is" } else { "are" };
        let shadowed = wording::count(shadowed, "skill");
        let text = format!("{shadowed} {are} shadowed by others of the same name");
        let mut found = check("skill", State::Odd, text);
        found.hint = Some("see `prowess list --all`".to_owned());
        checks.push(found);
    }
    let mended = catalog.entries().iter().filter(|entry| entry.skill.problems > 0).count();
    if mended > 0 {
        let text =
            format!("{} could only be read by mending the text", wording::count(mended, "skill"));
        let mut found = check("skill", State::Odd, text);
        found.hint = Some("see `prowess validate`".to_owned());
        checks.push(found);
    }
    checks
}

fn watching(library: &Library) -> Check {
    let watching = library.registry.watch(WatchOptions::default());
    match watching.mode() {
        WatchMode::Events => check("watch", State::Good, "the system tells of changes".to_owned()),
        WatchMode::Polling { reason } => {
            let reason = reason.to_lowercase();
            check(
                "watch",
                State::Odd,
                format!("changes are looked for every two seconds: {reason}"),
            )
        }
    }
}

fn cache(global: &GlobalArgs, environment: &Environment) -> Check {
    let Some(folder) = environment.cache_folder().filter(|_| !global.no_cache) else {
        return check("cache", State::Odd, "not used".to_owned());
    };
    let shown = targets::display(&folder, environment);
    match std::fs::read_dir(&folder) {
        Ok(entries) => {
            let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
            let size: u64 = sizes.map(|facts| facts.len()).sum();
            check("cache", State::Good, format!("{shown}: {}", wording::size(size)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut found = check("cache", State::Odd, format!("{shown}: cannot be made"));
            found.hint = Some("skills are read again at every start; set `PROWESS_HOME` to a folder that can be written".to_owned());
            found
        }
        Err(error) => {
            let error = error.to_string();
            let reason = error.split(" (os error").next().unwrap_or_default().to_lowercase();
            let mut found = check("cache", State::Bad, format!("{shown}: {reason}"));
            found.hint = Some("move it away; the cache is always safe to delete".to_owned());
            found
        }
    }
}

fn store(environment: &Environment) -> Check {
    let Some(store) = usage::store(environment) else {
        return check("store", State::Odd, "there is no home folder to keep it in".to_owned());
    };
    let shown = targets::display(store.path(), environment);
    if !store.path().exists() {
        return check(
            "store",
            State::Good,
            format!("{shown}: not there yet, made at the first use"),
        );
    }
    match store.summary(None, 1) {
        Ok(summary) => {
            let count = wording::count(summary.total, "skill");
            check("store", State::Good, format!("{shown}: remembers {count}"))
        }
        Err(error) => {
            let text = usage::explain(&error, &store, environment);
            let mut found = check("store", State::Bad, text);
            found.hint = match error {
                UsageError::Busy { .. } => Some("try again when that process is done".to_owned()),
                UsageError::ReadOnly { .. } => Some("make it writable".to_owned()),
                UsageError::NotAFile { .. } | UsageError::Damaged { .. } => {
                    Some("move it away; a new one is made at the next use".to_owned())
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
        let (mark, color) = match found.state {
            State::Good => ("ok", AnsiColor::Green),
            State::Odd => ("note", AnsiColor::Yellow),
            State::Bad => ("bad", AnsiColor::Red),
        };
        let style = bold(color);
        let indent = format!("\n{:COLUMN$}", "");
        let lines = |text: &str| {
            wrap(&sanitize::line(text), width.saturating_sub(COLUMN).max(20)).join(&indent)
        };
        let shown = lines(&found.text);
        text.push_str(&format!("{style}{mark:4}{style:#}  {:6}  {shown}\n", found.area));
        if let Some(hint) = &found.hint {
            text.push_str(&format!("{:COLUMN$}{}\n", "", lines(hint)));
        }
    }
    text
}

fn document(checks: &[Check]) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|found| {
            let state = match found.state {
                State::Good => "ok",
                State::Odd => "note",
                State::Bad => "bad",
            };
            json!({ "area": found.area, "state": state, "text": found.text, "hint": found.hint })
        })
        .collect();
    json!({ "schema": "prowess.doctor/1", "checks": checks })
}
