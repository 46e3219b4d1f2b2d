//! The skills that are seen from here, as every command sees them.

use std::path::Path;
use std::sync::Arc;

use prowess_catalog::visibility::GrantFault;
use prowess_catalog::{Catalog, NotFound, Precedence, Visibility};
use prowess_config::{AgentFault, Config, Fault, Loaded};
use prowess_diag::{FileReport, wording};
use prowess_registry::{FileOptions, Notice, Place, Registry};

use crate::args::GlobalArgs;
use crate::commands::targets;
use crate::env::Environment;
use crate::error::CliError;
use crate::output::Printer;

/// How many notices about folders are printed.
const MOST_NOTICES: usize = 10;

/// The skills that are seen from here, and what the configuration says of them.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) registry: Registry,
    pub(crate) config: Config,
}

impl Library {
    /// Reads the configuration and every folder.
    pub(crate) fn open(
        global: &GlobalArgs,
        environment: &Environment,
        printer: &Printer,
    ) -> Result<Self, CliError> {
        let (config, warnings) = settings(environment)?;
        for report in warnings.iter().filter(|_| !printer.is_quiet()) {
            printer.findings(report);
        }
        Self::with(config, global, environment)
    }

    /// Reads every folder, with a configuration that was read before.
    pub(crate) fn with(
        config: Config,
        global: &GlobalArgs,
        environment: &Environment,
    ) -> Result<Self, CliError> {
        check_flags(global)?;
        let place = place(global, &config, environment);
        let precedence = config.precedence.unwrap_or_default();
        let options = FileOptions {
            cache: environment.cache_folder().filter(|_| !global.no_cache),
            claude_names: precedence == Precedence::UserFirst,
            ..FileOptions::default()
        };
        Ok(Self {
            registry: Registry::open(place, options, precedence),
            config,
        })
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.registry.snapshot()
    }

    /// What decides about visibility, for an agent of the configuration or for everybody.
    pub(crate) fn policy(&self, agent: Option<&str>) -> Result<Visibility, CliError> {
        self.config.policy(agent, &self.catalog()).map_err(|fault| {
            let error = CliError::new(fault.to_string());
            match &fault {
                AgentFault::Unknown {
                    near: Some(near), ..
                } => error.hint(format!("did you mean `{near}`?")),
                AgentFault::Unknown { name, .. } => {
                    error.hint(format!("define it in the configuration: `[agents.{name}]`"))
                }
                AgentFault::Grant { source, .. } => match source {
                    GrantFault::Unknown(missing) if !missing.near.is_empty() => {
                        error.hint(not_found(missing).hints.concat())
                    }
                    _ => error,
                }
                .cause(source),
                _ => error,
            }
        })
    }

    /// Says what could not be read or was not looked at, in a line each kind.
    pub(crate) fn warn(&self, environment: &Environment, printer: &Printer) {
        let report = self.registry.report();
        let show = |path: &Path| targets::display(path, environment);
        for (written, fault) in self.config.unknown_names(&self.catalog()) {
            let near = wording::either(fault.near.iter().map(wording::tick));
            printer.warn(&format!("{written} means no skill; did you mean {near}?"));
        }
        // The same folder by another way: nothing is missing.
        let is_news = |notice: &&Notice| !matches!(notice, Notice::SeenBefore { .. });
        for (told, notice) in report.notices.iter().filter(is_news).enumerate() {
            if told == MOST_NOTICES {
                printer.warn("more was not looked at; see `prowess doctor`");
                break;
            }
            printer.warn(&notice.explain(&show));
        }
        match report.faults.as_slice() {
            [] => {}
            [fault] => {
                let path = show(Path::new(&*fault.location));
                printer.warn(&format!("cannot read `{path}`: {}", fault.why));
            }
            faults => printer.warn(&format!(
                "{} cannot be read; see `prowess doctor`",
                wording::count(faults.len(), "skill")
            )),
        }
    }
}

/// Where skills are looked for: flags count more than the environment, which counts more than files.
pub(crate) fn place(global: &GlobalArgs, config: &Config, environment: &Environment) -> Place {
    config.place(&global.skills_dir, environment.place())
}

/// What the configuration files say, and what to warn about beside it.
pub(crate) fn settings(environment: &Environment) -> Result<(Config, Vec<FileReport>), CliError> {
    let loaded = load(environment);
    match loaded.faults.into_iter().next() {
        Some(fault) => Err(unusable(fault)),
        None => Ok((loaded.config, loaded.warnings)),
    }
}

/// The configuration files, whatever is wrong with them.
pub(crate) fn load(environment: &Environment) -> Loaded {
    let show = |path: &Path| targets::display(path, environment);
    prowess_config::load(&environment.settings(), &show)
}

fn unusable(fault: Fault) -> CliError {
    let error = CliError::new(fault.to_string());
    match fault {
        Fault::Unreadable { source, .. } => error.cause(source),
        Fault::Wrong { report } => {
            let error = error.hint("print its schema with `prowess schema config`");
            CliError {
                report: Some(report),
                ..error
            }
        }
        _ => error,
    }
}

/// A folder that was typed must be there.
pub(crate) fn check_flags(global: &GlobalArgs) -> Result<(), CliError> {
    let Some(folder) = global.skills_dir.iter().find(|folder| !folder.is_dir()) else {
        return Ok(());
    };
    let is = if folder.exists() {
        "is not a folder"
    } else {
        "does not exist"
    };
    Err(
        CliError::new(format!("`--skills-dir {}` {is}", folder.display()))
            .hint("name a folder that holds skills"),
    )
}

/// Says that there is no such skill, and what there is.
pub(crate) fn not_found(fault: &NotFound) -> CliError {
    let error = CliError::new(fault.to_string());
    if fault.near.is_empty() {
        error.hint("list the skills with `prowess list`, or search with `prowess find WORDS`")
    } else {
        let near = wording::either(fault.near.iter().map(wording::tick));
        error.hint(format!("did you mean {near}?"))
    }
}
