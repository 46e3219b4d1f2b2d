//! The skills visible from the current folder, shared by all commands.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::visibility::SkillGrantFault;
use prowess_catalog::{
    Catalog, CatalogEntry, LookupRefusal, Precedence, Scope, SkillNotFound, Visibility,
    VisibilityOverride,
};
use prowess_config::{AgentError, Config, ConfigError, LoadedConfig, PROJECT_FILE};
use prowess_diag::{FileReport, wording};
use prowess_registry::{FileOptions, Place, Registry, ScanNotice};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::output::Failure;
use crate::output::Printer;
use crate::{packages, targets};

/// Maximum number of notices printed.
const MOST_NOTICES: usize = 10;

/// The skills visible from the current folder, with the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) registry: Registry,
    pub(crate) config: Config,
    /// The folders of the skills that the lockfile of the project names, if no others may be used.
    locked: Option<BTreeSet<PathBuf>>,
}

impl Library {
    /// Reads the configuration and scans the skill folders.
    pub(crate) fn open(
        global: &GlobalArgs,
        environment: &Environment,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let (config, warnings) = settings(environment)?;
        for report in warnings.iter().filter(|_| !printer.is_quiet()) {
            printer.findings(report);
        }
        warn_of_missing_folders(environment, printer);
        Self::with(config, global, environment)
    }

    /// Scans the skill folders, using a configuration that was already read.
    pub(crate) fn with(
        config: Config,
        global: &GlobalArgs,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        check_flags(global, environment)?;
        let place = place(global, &config, environment);
        let precedence = config.precedence.unwrap_or_default();
        let options = FileOptions {
            cache: environment.cache_folder().filter(|_| !global.no_cache),
            claude_names: precedence == Precedence::UserFirst,
            walk: config.walk(),
            ..FileOptions::default()
        };
        Ok(Self {
            registry: Registry::open(place, options, precedence),
            config,
            locked: packages::locked_entries(environment),
        })
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.registry.snapshot()
    }

    /// Returns the visibility policy of a configured agent, or the default policy.
    pub(crate) fn policy(&self, agent: Option<&str>) -> Result<Visibility, Failure> {
        let policy = self.config.policy(agent, &self.catalog());
        let policy = policy.map(|policy| Visibility {
            locked: self.locked.clone(),
            ..policy
        });
        policy.map_err(|fault| {
            let error = Failure::new(fault.to_string());
            match &fault {
                AgentError::Unknown {
                    near: Some(near), ..
                } => error.hint(format!("did you mean `{near}`?")),
                AgentError::Unknown { name, .. } => {
                    error.hint(format!("define it in the configuration: `[agents.{name}]`"))
                }
                AgentError::Grant { source, .. } => match source {
                    SkillGrantFault::Unknown(missing) if !missing.near.is_empty() => {
                        error.hint(not_found(missing).hints.concat())
                    }
                    _ => error,
                }
                .cause(source),
                _ => error,
            }
        })
    }

    /// Returns the skills of the user that the project hides, with a description of each.
    pub(crate) fn hidden_by_project(&self) -> Vec<(CatalogEntry, String)> {
        let catalog = self.catalog();
        let settings = self.config.hidden_by_project.iter();
        settings
            .filter_map(|(name, setting)| {
                let entry = catalog.resolve(name).ok()?;
                let is_own = matches!(entry.skill.id.origin.scope, Scope::User | Scope::Extra);
                let verb = match setting {
                    VisibilityOverride::Off => "hides",
                    _ => "restricts",
                };
                let (name, setting) = (wording::tick(name), setting.as_str());
                let text = format!(
                    "the project {verb} your skill {name}: it is `{setting}` in `{PROJECT_FILE}`"
                );
                is_own.then(|| (entry.clone(), text))
            })
            .collect()
    }

    /// Prints a warning for each skill that another skill of the same folder shadows.
    pub(crate) fn warn_copies(&self, environment: &Environment, printer: &Printer) {
        let catalog = self.catalog();
        let show = |path: &Path| targets::display(path, environment);
        for (told, (copy, winner)) in catalog.shadowed_in_root().enumerate() {
            if told == MOST_NOTICES {
                printer.warn("more skills have duplicate names; run `prowess doctor`");
                break;
            }
            printer.warn(&copy_text(copy, winner, &show));
        }
    }

    /// Prints a warning for each kind of file that was skipped or could not be read.
    pub(crate) fn warn(&self, environment: &Environment, printer: &Printer) {
        self.warn_skipped(environment, printer);
        warn_of_faults(&self.registry, environment, printer);
    }

    /// Prints a warning for each kind of folder or setting that was skipped.
    pub(crate) fn warn_skipped(&self, environment: &Environment, printer: &Printer) {
        let report = self.registry.report();
        for (_, text) in self.hidden_by_project().iter().take(MOST_NOTICES) {
            printer.warn(text);
        }
        if self.config.limited_by_project {
            printer.warn(&format!(
                "the project limits the available skills: `skills.only` in `{PROJECT_FILE}`"
            ));
        }
        for (written, fault) in self.config.unknown_names(&self.catalog()) {
            let near = wording::either(fault.near.iter().map(wording::tick));
            printer.warn(&format!(
                "{written} does not match any skill; did you mean {near}?"
            ));
        }
        // The same folder reached by another path: no skill is missing.
        let is_news = |notice: &&ScanNotice| !matches!(notice, ScanNotice::SeenBefore { .. });
        for (told, notice) in report.notices.iter().filter(is_news).enumerate() {
            if told == MOST_NOTICES {
                printer.warn("more folders or files were skipped; run `prowess doctor`");
                break;
            }
            printer.warn(&explain(notice, environment));
        }
    }
}

/// Explains that a skill is shadowed within its own root.
pub(crate) fn copy_text(
    copy: &CatalogEntry,
    winner: &CatalogEntry,
    show: &dyn Fn(&Path) -> String,
) -> String {
    let folder = |entry: &CatalogEntry| {
        let file = entry.skill.location.path();
        show(file.parent().unwrap_or(&file))
    };
    format!(
        "`{}` is not used: `{}` has the same name, {}",
        folder(copy),
        folder(winner),
        wording::tick(copy.name())
    )
}

/// Explains a notice, with the setting that changes it.
fn explain(notice: &ScanNotice, environment: &Environment) -> String {
    let text = notice.explain(&|path| targets::display(path, environment));
    match notice.remedy() {
        Some(remedy) => format!("{text}; {remedy}"),
        None => text,
    }
}

/// Prints the warnings of a session: links to the outside that were skipped, folders with too many
/// skills, and one warning about all files that could not be read or are not skills.
pub(crate) fn warn_unusable(registry: &Registry, environment: &Environment, printer: &Printer) {
    let report = registry.report();
    let is_told = |notice: &&ScanNotice| {
        matches!(
            notice,
            ScanNotice::Outside { .. } | ScanNotice::TooMany { .. }
        )
    };
    for notice in report.notices.iter().filter(is_told).take(MOST_NOTICES) {
        printer.warn(&explain(notice, environment));
    }
    warn_of_faults(registry, environment, printer);
}

/// Prints one warning about all files that could not be read or are not skills.
pub(crate) fn warn_of_faults(registry: &Registry, environment: &Environment, printer: &Printer) {
    let report = registry.report();
    let Some(first) = report.faults.first() else {
        return;
    };
    let path = targets::display(&first.location.path(), environment);
    let reason = &first.why;
    printer.warn(&match report.faults.len() {
        1 => format!("cannot read `{path}`: {reason}; run `prowess list --all`"),
        count => format!(
            "cannot read {}, the first is `{path}`: {reason}; run `prowess list --all`",
            wording::count(count, "skill file")
        ),
    });
}

/// Returns the places that are searched for skills. Flags override the environment, which overrides
/// configuration files.
pub(crate) fn place(global: &GlobalArgs, config: &Config, environment: &Environment) -> Place {
    config.place(&global.skills_dir, environment.place())
}

/// Returns the names of the skills that agents of missions may name.
pub(crate) fn names(
    global: &GlobalArgs,
    config: &Config,
    environment: &Environment,
) -> Vec<String> {
    let options = FileOptions {
        cache: environment.cache_folder(),
        walk: config.walk(),
        ..FileOptions::default()
    };
    let place = place(global, config, environment);
    let precedence = config.precedence.unwrap_or_default();
    let catalog = Registry::open(place, options, precedence).snapshot();
    let names = catalog.listed().map(|entry| entry.name().to_owned());
    names.collect()
}

/// Returns the configuration and its warnings.
pub(crate) fn settings(environment: &Environment) -> Result<(Config, Vec<FileReport>), Failure> {
    let loaded = load(environment);
    match loaded.faults.into_iter().next() {
        Some(fault) => Err(unusable(fault)),
        None => Ok((loaded.config, loaded.warnings)),
    }
}

/// Loads the configuration files, including any errors in them.
pub(crate) fn load(environment: &Environment) -> LoadedConfig {
    let show = |path: &Path| targets::display(path, environment);
    prowess_config::load(&environment.settings(), &show)
}

fn unusable(fault: ConfigError) -> Failure {
    let error = Failure::new(fault.to_string());
    match fault {
        ConfigError::Unreadable { source, .. } => error.cause(source),
        ConfigError::Wrong { report } => {
            let error = error.hint("run `prowess schema config` to print its schema");
            Failure {
                report: Some(report),
                ..error
            }
        }
        _ => error,
    }
}

/// Prints a warning for each entry of `PROWESS_SKILLS_PATH` that does not exist.
pub(crate) fn warn_of_missing_folders(environment: &Environment, printer: &Printer) {
    let place = environment.place();
    let is_missing = |folder: &&PathBuf| !place.resolve(folder).exists();
    let missing = environment.skills_path.iter().filter(is_missing);
    for folder in missing.take(MOST_NOTICES) {
        printer.warn(&format!(
            "`{}` in `PROWESS_SKILLS_PATH` does not exist",
            folder.display()
        ));
    }
}

/// Returns an error if a folder given with `--skills-dir` does not exist.
pub(crate) fn check_flags(global: &GlobalArgs, environment: &Environment) -> Result<(), Failure> {
    let place = environment.place();
    let mut folders = global.skills_dir.iter();
    let Some(folder) = folders.find(|folder| !place.resolve(folder).is_dir()) else {
        return Ok(());
    };
    let is = if place.resolve(folder).exists() {
        "is not a folder"
    } else {
        "does not exist"
    };
    Err(
        Failure::new(format!("`--skills-dir {}` {is}", folder.display()))
            .hint("pass a folder that contains skills"),
    )
}

/// Converts a refused lookup into an error that says what to type.
pub(crate) fn refused(refusal: &LookupRefusal) -> Failure {
    match refusal {
        LookupRefusal::NotFound(fault) => not_found(fault),
        LookupRefusal::NotForYou { .. } => Failure::new(refusal.to_string()),
        LookupRefusal::OtherVersion { name, .. } => {
            let command = wording::command(["prowess", "update", name]);
            Failure::new(refusal.to_string())
                .hint(format!("leave out the version, or run {command}"))
        }
    }
}

/// Converts a failed lookup into an error that suggests similar names.
pub(crate) fn not_found(fault: &SkillNotFound) -> Failure {
    let error = Failure::new(fault.to_string());
    if fault.near.is_empty() {
        error.hint("list skills with `prowess list`, or search with `prowess find WORDS`")
    } else {
        let near = wording::either(fault.near.iter().map(wording::tick));
        error.hint(format!("did you mean {near}?"))
    }
}
