//! The checks of `prowess doctor`: folders, skills, cache, watcher and sandbox.

use std::path::Path;

use prowess_catalog::{Catalog, CatalogEntry, Scope, Skill, SkillForm, SkillOrigin};
use prowess_diag::wording;
use prowess_policy::Effect;
use prowess_policy::profile::Strength;
use prowess_registry::{Registry, ScanNotice, SourceFaultKind, WatchMode, WatchOptions};
use prowess_sandbox::{Runner, SelfTest, Trial};
use prowess_spec::parse::MAX_FILE;
use prowess_tools::{ToolContext, hook_obstacle};

use crate::visible_skills::copy_text;

/// Maximum number of unreadable skills that are listed.
const MOST_FAULTS: usize = 20;
/// Maximum number of skills whose hooks are checked.
const MOST_READ: usize = 10_000;
/// The event of hooks that check tool calls.
const CHECK: &[u8] = b"PreToolUse";

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No problem.
    Good,
    /// Unusual, but not a problem.
    Odd,
    /// Needs a fix.
    Bad,
}

impl State {
    /// Returns the word that is shown.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Odd => "note",
            Self::Bad => "bad",
        }
    }
}

/// One check.
#[derive(Debug)]
pub(super) struct Check {
    /// The area, such as `cache`.
    pub area: &'static str,
    /// The result.
    pub state: State,
    /// The finding.
    pub text: String,
    /// The next step.
    pub hint: Option<String>,
}

impl Check {
    /// Creates a check without a hint.
    pub(super) fn new(area: &'static str, state: State, text: impl Into<String>) -> Self {
        Self {
            area,
            state,
            text: text.into(),
            hint: None,
        }
    }

    /// Sets the hint.
    #[must_use]
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// Checks the folders that exist, with the number of skills in each.
pub(super) fn folders(registry: &Registry, show: &dyn Fn(&Path) -> String) -> Vec<Check> {
    let catalog = registry.snapshot();
    let mut origins: Vec<(&SkillOrigin, usize)> = Vec::new();
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
            let root = show(Path::new(&*origin.root));
            let scope = match origin.scope {
                Scope::Bundled => String::new(),
                scope => format!(" ({})", scope.as_str()),
            };
            let text = format!("{root}{scope}: {}", wording::count(*count, "skill"));
            Check::new("folder", State::Good, text)
        })
        .collect();
    for notice in &registry.report().notices {
        let state = match notice {
            ScanNotice::Unreadable { .. }
            | ScanNotice::TooMany { .. }
            | ScanNotice::TooManyEntries { .. } => State::Bad,
            ScanNotice::TooDeep { .. }
            | ScanNotice::Reserved { .. }
            | ScanNotice::Outside { .. } => State::Odd,
            ScanNotice::SeenBefore { .. } => State::Good,
        };
        let mut found = Check::new("folder", state, notice.explain(show));
        found.hint = notice.remedy().map(str::to_owned);
        checks.push(found);
    }
    checks
}

/// Checks for hooks that cannot run because of a rule or a setting, so that tool calls are refused.
pub(super) fn hooks(catalog: &Catalog, context: &ToolContext) -> Vec<Check> {
    let is_restricted = {
        let gate = context.gate();
        let mut rules = gate.rules.all().iter();
        !context.settings.commands || rules.any(|rule| rule.effect != Effect::Allow)
    };
    let entries = catalog.entries().iter().take(MOST_READ);
    let has_check = |skill: &Skill| {
        let file = skill.file().filter(|_| skill.stamp.size <= MAX_FILE as u64);
        let text = file.and_then(|file| std::fs::read(file).ok());
        text.is_some_and(|text| text.windows(CHECK.len()).any(|part| part == CHECK))
    };
    let about = |entry: &CatalogEntry| {
        let snapshot = context.read(&entry.skill).ok()?;
        let why = hook_obstacle(context, &snapshot.effects.hooks, &snapshot.trust)?;
        let text = format!("{}: {why}", wording::tick(entry.name()));
        let hint = "see the rules with `prowess policy show`";
        Some(Check::new("hook", State::Odd, text).hint(hint))
    };
    entries
        .filter(|entry| is_restricted && has_check(&entry.skill))
        .filter_map(about)
        .take(MOST_FAULTS)
        .collect()
}

/// Checks for skills that are unreadable, shadowed or repaired while loading.
pub(super) fn skills(registry: &Registry, show: &dyn Fn(&Path) -> String) -> Vec<Check> {
    let catalog = registry.snapshot();
    let report = registry.report();
    let mut checks = Vec::new();
    for fault in report.faults.iter().take(MOST_FAULTS) {
        let path = show(&fault.location.path());
        let state = match fault.why {
            SourceFaultKind::NotASkill(_) => State::Odd,
            _ => State::Bad,
        };
        let mut found = Check::new("skill", state, format!("{path}: {}", fault.why));
        found.hint = Some(format!(
            "run `prowess validate {}`",
            wording::shell_word(&path)
        ));
        checks.push(found);
    }
    let more = report.faults.len().saturating_sub(MOST_FAULTS);
    if more > 0 {
        checks.push(Check::new(
            "skill",
            State::Bad,
            format!("{} more cannot be read", wording::thousands(more)),
        ));
    }
    for (told, (copy, winner)) in catalog.shadowed_in_root().enumerate() {
        if told == MOST_FAULTS {
            let more = catalog.shadowed_in_root().count() - MOST_FAULTS;
            let text = format!(
                "{} with duplicate names",
                wording::count(more, "more skill")
            );
            checks.push(Check::new("skill", State::Odd, text));
            break;
        }
        let hint = "rename it in its frontmatter, or delete the folder";
        let text = copy_text(copy, winner, show);
        checks.push(Check::new("skill", State::Odd, text).hint(hint));
    }
    let shadowed = catalog
        .entries()
        .iter()
        .filter(|entry| entry.is_shadowed())
        .count();
    if shadowed > 0 {
        let are = if shadowed == 1 { "is" } else { "are" };
        let shadowed = wording::count(shadowed, "skill");
        let text = format!("{shadowed} {are} shadowed by skills of the same name");
        let mut found = Check::new("skill", State::Odd, text);
        found.hint = Some("run `prowess list --all`".to_owned());
        checks.push(found);
    }
    let repaired = catalog
        .entries()
        .iter()
        .filter(|entry| entry.skill.problems > 0)
        .count();
    if repaired > 0 {
        let text = format!(
            "{} with invalid frontmatter, repaired while loading",
            wording::count(repaired, "skill")
        );
        let mut found = Check::new("skill", State::Odd, text);
        found.hint = Some("run `prowess validate`".to_owned());
        checks.push(found);
    }
    checks
}

/// Checks how changes to skills are detected.
pub(super) fn watching(registry: &Registry) -> Check {
    let watching = registry.watch(WatchOptions::default());
    match watching.mode() {
        WatchMode::Events => {
            Check::new("watch", State::Good, "the system reports changes to files")
        }
        WatchMode::Polling { reason } => {
            let reason = reason.to_lowercase();
            Check::new(
                "watch",
                State::Odd,
                format!("files are polled every two seconds: {reason}"),
            )
        }
    }
}

/// Checks the cache.
pub(super) fn cache(
    folder: Option<&Path>,
    registry: &Registry,
    show: &dyn Fn(&Path) -> String,
) -> Check {
    let Some(folder) = folder else {
        return Check::new("cache", State::Odd, "not used".to_owned());
    };
    let shown = show(folder);
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
            let size: u64 = sizes.map(|facts| facts.len()).sum();
            Check::new(
                "cache",
                State::Good,
                format!("{shown}: {}", wording::size(size)),
            )
        }
        // Without skills on disk, nothing is written to it.
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && (registry.snapshot().entries().iter())
                    .all(|entry| entry.skill.form == SkillForm::Memory) =>
        {
            Check::new("cache", State::Good, format!("{shown}: not created yet"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut found = Check::new("cache", State::Odd, format!("{shown}: cannot be created"));
            found.hint = Some(
                "skills are read again at every start; set `PROWESS_HOME` to a writable folder"
                    .to_owned(),
            );
            found
        }
        Err(error) => {
            let reason = wording::io_reason(error).to_lowercase();
            let mut found = Check::new("cache", State::Bad, format!("{shown}: {reason}"));
            found.hint = Some("delete it; the cache is rebuilt at the next start".to_owned());
            found
        }
    }
}

/// Tests each layer of the sandbox, and common tasks in it.
pub(super) fn sandbox(runner: &Runner, strength: Strength) -> Vec<Check> {
    use prowess_sandbox::LayerStatus as Layer;
    let layers = match prowess_sandbox::layers(runner) {
        Ok(layers) => layers,
        Err(error) => return vec![Check::new("sandbox", State::Bad, error.to_string())],
    };
    let check = |found: &prowess_sandbox::LayerState| {
        let name = found.layer.name();
        match &found.state {
            Layer::On => Check::new("sandbox", State::Good, format!("{name}: works")),
            Layer::Off(why) => {
                Check::new("sandbox", State::Good, format!("{name}: not used, {why}"))
            }
            Layer::Missing(why) => {
                let text = format!("{name} is missing: {why}");
                Check::new("sandbox", State::Odd, text).hint(found.layer.remedy())
            }
        }
    };
    let mut checks: Vec<Check> = layers.iter().map(check).collect();
    match prowess_sandbox::tasks(runner, strength) {
        Ok(tasks) => checks.extend(tasks.iter().map(|(task, trial)| work(*task, trial))),
        Err(error) => checks.push(Check::new("sandbox", State::Bad, error.to_string())),
    }
    checks
}

/// Describes the result of a task, and what to do if it failed.
fn work(task: SelfTest, trial: &Trial) -> Check {
    let (can, cannot) = match task {
        SelfTest::Write => (
            "commands can write to a project",
            "commands cannot write to a project",
        ),
        SelfTest::Git => (
            "`git status` works in a project",
            "`git status` fails in a project",
        ),
        SelfTest::Script => ("project scripts can run", "project scripts cannot run"),
    };
    match trial {
        Trial::Works => Check::new("sandbox", State::Good, can),
        Trial::Skipped(why) => {
            Check::new("sandbox", State::Odd, format!("{can}: not tried, {why}"))
        }
        Trial::Failed(why) => {
            let hint = "fix the missing layers listed above, or use `--sandbox best-effort` \
                        to run with those that work";
            Check::new("sandbox", State::Bad, format!("{cannot}: {why}")).hint(hint)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_is_a_file_is_to_be_mended() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let show = |path: &Path| path.display().to_string();
        let registry = Registry::default();
        let state = |folder: Option<&Path>| cache(folder, &registry, &show).state;
        assert_eq!(state(Some(file.path())), State::Bad);
        assert_eq!(state(file.path().parent()), State::Good);
        assert_eq!(state(None), State::Odd);
    }
}
