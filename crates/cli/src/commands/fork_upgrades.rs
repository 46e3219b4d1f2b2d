//! The part of `prowess update` that merges new versions into forks.

use prowess_diag::{sanitize, wording};
use prowess_package::merge::SkillConflict;
use prowess_package::operations::{
    ForkUpgrade, PackageContext, UpgradeOutcome, apply, plan_upgrades,
};
use prowess_package::power;
use prowess_package::resolve::AcceptedChanges;
use prowess_trust::summarise;
use serde_json::{Value, json};

use crate::env::Environment;
use crate::output::{Failure, Printer};
use crate::packages::{self, failure};
use crate::{permissions, targets};

/// What the person allowed in advance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkAnswers<'a> {
    /// Changes of sources.
    pub(crate) accepted: AcceptedChanges,
    /// Take new versions that may do more.
    pub(crate) power: bool,
    /// Rules of `prowess scan` whose findings are accepted.
    pub(crate) rules: &'a [String],
    /// Merge into files that the person edited.
    pub(crate) merge: bool,
    /// Change nothing.
    pub(crate) dry_run: bool,
    /// Print nothing and ask nothing.
    pub(crate) is_json: bool,
}

/// The forks that were looked at.
#[derive(Debug, Default)]
pub(crate) struct ForkReport {
    /// Their names.
    pub(crate) names: Vec<String>,
    /// They as JSON.
    pub(crate) documents: Vec<Value>,
    /// The number of forks that have something to say.
    pub(crate) news: usize,
    /// Forks whose new version may do more, and was not taken.
    pub(crate) refused: Vec<String>,
}

/// Merges new versions into forks. `names` is empty for all.
pub(crate) fn run(
    context: &PackageContext,
    names: &[String],
    answers: ForkAnswers<'_>,
    environment: &Environment,
    printer: &Printer,
) -> Result<ForkReport, Failure> {
    let upgrades = plan_upgrades(context, names, answers.accepted);
    let mut report = ForkReport::default();
    for upgrade in upgrades.map_err(|error| failure(&error))? {
        let more = more_power(&upgrade)?;
        let state = decide(&upgrade, &more, context, answers, environment, printer)?;
        let is_news = !matches!(state, ForkState::Current | ForkState::Told);
        report.news += usize::from(is_news && !matches!(state, ForkState::Removed));
        report.documents.push(json!({
            "name": upgrade.name,
            "old": upgrade.old,
            "new": upgrade.new,
            "state": state.as_str(),
            "files": upgrade.changes.iter().map(|change| &change.path).collect::<Vec<_>>(),
            "gained": more,
        }));
        if let ForkState::Refused = state {
            report.refused.push(upgrade.name.clone());
        }
        report.names.push(upgrade.name);
    }
    Ok(report)
}

/// What was done about a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForkState {
    Current,
    Removed,
    Replaced,
    Merged,
    Offered,
    Conflict,
    Told,
    Refused,
    Failed,
}

impl ForkState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Merged => "merged",
            Self::Offered => "offered",
            Self::Conflict => "conflict",
            Self::Told => "told",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

fn decide(
    upgrade: &ForkUpgrade,
    more: &[String],
    context: &PackageContext,
    answers: ForkAnswers<'_>,
    environment: &Environment,
    printer: &Printer,
) -> Result<ForkState, Failure> {
    let name = sanitize::line(&upgrade.name).into_owned();
    let versions = versions(upgrade);
    let say = |text: &str| {
        if !answers.is_json {
            printer.status(text);
        }
    };
    let command = |flags: &[&str]| {
        let words = [&["prowess", "update", &*upgrade.name], flags].concat();
        let user: &[&str] = if context.scope.kind == prowess_package::project::ScopeKind::User {
            &["--user"]
        } else {
            &[]
        };
        wording::command([&*words, user].concat())
    };
    let take = |state: ForkState| -> Result<ForkState, Failure> {
        if let Some((_, after)) = upgrade.folders.as_ref().filter(|_| !upgrade.is_bundled) {
            let scans = [(upgrade.name.clone(), packages::scan(after))];
            packages::check_scans(&scans, answers.rules)?;
        }
        if let Some(plan) = upgrade.plan.as_ref().filter(|_| !answers.dry_run) {
            apply(context, plan).map_err(|error| failure(&error))?;
        }
        Ok(state)
    };
    match &upgrade.outcome {
        UpgradeOutcome::Current | UpgradeOutcome::Settled => take(ForkState::Current),
        UpgradeOutcome::Told => Ok(ForkState::Told),
        UpgradeOutcome::Removed => Ok(ForkState::Removed),
        UpgradeOutcome::Failed(error) => {
            let error = error.to_string();
            printer.warn(&format!("{name}: {}", sanitize::line(&error)));
            Ok(ForkState::Failed)
        }
        UpgradeOutcome::Conflict(conflicts) => {
            let places = wording::all(conflicts.iter().map(place));
            let folder = context.scope.skills.join(&upgrade.name);
            let folder = targets::display(&folder, environment);
            printer.warn(&format!(
                "{name}{versions}: you and the new version changed {places}; your files stay, and \
                 the new ones are beside them in {}: merge them and remove `*.new`",
                wording::tick(sanitize::line(&folder))
            ));
            take(ForkState::Conflict)
        }
        UpgradeOutcome::Replace | UpgradeOutcome::Merge => {
            let is_edited = matches!(upgrade.outcome, UpgradeOutcome::Merge);
            if !answers.is_json {
                show(upgrade, more, is_edited, printer)?;
            }
            if !more.is_empty() && !answers.power {
                say(&format!(
                    "{name}{versions} may do more, and was not taken: review it, then run {}",
                    command(&["--accept-power"])
                ));
                return Ok(ForkState::Refused);
            }
            if is_edited && !answers.merge && !answers.dry_run {
                let question = format!("Merge {name}{versions} into your files?");
                let answer = (!answers.is_json).then(|| permissions::ask(&question, "y/N"));
                if !matches!(answer.flatten().as_deref(), Some("y" | "yes")) {
                    let command = command(&["--merge"]);
                    say(&format!("{name} was not changed: merge it with {command}"));
                    return Ok(ForkState::Offered);
                }
            }
            let state = if is_edited {
                ForkState::Merged
            } else {
                ForkState::Replaced
            };
            let state = take(state)?;
            if !answers.dry_run {
                say(&format!(
                    "+ {name}{versions}, with your settings; your files of before are in the store"
                ));
            }
            Ok(state)
        }
    }
}

fn versions(upgrade: &ForkUpgrade) -> String {
    let version = |version: &Option<String>| match version {
        Some(version) => sanitize::line(version).into_owned(),
        None => "none".to_owned(),
    };
    if upgrade.old == upgrade.new {
        return String::new();
    }
    format!(" {} → {}", version(&upgrade.old), version(&upgrade.new))
}

fn place(conflict: &SkillConflict) -> String {
    match conflict {
        SkillConflict::Key(key) => format!("the key {}", wording::tick(sanitize::line(key))),
        SkillConflict::Body => "the body".to_owned(),
        SkillConflict::File(path) => wording::tick(sanitize::line(path)),
    }
}

/// Shows what would change: all lines if the person edited the files, else only what it may do more.
fn show(
    upgrade: &ForkUpgrade,
    more: &[String],
    is_edited: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    for line in more {
        printer.answer(&format!("  + {}\n", sanitize::line(line)))?;
    }
    for change in upgrade.changes.iter().filter(|_| is_edited) {
        if let Some(text) = &change.text {
            printer.answer(&sanitize::block(text))?;
        }
    }
    Ok(())
}

/// Lists what the files after the upgrade may do and those before may not. Skills of the program may do
/// what they say.
fn more_power(upgrade: &ForkUpgrade) -> Result<Vec<String>, Failure> {
    let Some((before, after)) = upgrade.folders.as_ref().filter(|_| !upgrade.is_bundled) else {
        return Ok(Vec::new());
    };
    let read = |folder| {
        summarise(folder).map_err(|error| {
            let name = wording::tick(sanitize::line(&upgrade.name));
            Failure::new(format!("cannot read the files of {name}")).cause(error)
        })
    };
    let difference = power::compare(&read(before)?, &read(after)?);
    if !difference.is_more() {
        return Ok(Vec::new());
    }
    let gained = difference.gained.iter();
    Ok(gained.map(ToString::to_string).collect())
}
