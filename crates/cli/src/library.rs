//! The skills that are seen from here, as every command sees them.

use std::sync::Arc;

use prowess_catalog::visibility::GrantFault;
use prowess_catalog::{Catalog, Entry, Grant, NotFound, Policy, Precedence};
use prowess_diag::wording;
use prowess_registry::{FileOptions, Notice, Place, Registry};

use crate::args::GlobalArgs;
use crate::commands::targets;
use crate::config::{self, Config};
use crate::env::Environment;
use crate::error::CliError;
use prowess_terminal::Printer;

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
        let (config, warnings) = config::load(environment)?;
        for report in warnings.iter().filter(|_| !printer.is_quiet()) {
            printer.findings(report);
        }
        check_flags(global)?;
        let place = place(global, &config, environment);
        let precedence = config.precedence.unwrap_or_default();
        let options = FileOptions {
            cache: environment.cache_folder().filter(|_| !global.no_cache),
            claude_names: precedence == Precedence::UserFirst,
            ..FileOptions::default()
        };
        Ok(Self { registry: Registry::open(place, options, precedence), config })
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.registry.snapshot()
    }

    /// What decides about visibility, for an agent of the configuration or for everybody.
    pub(crate) fn policy(&self, agent: Option<&str>) -> Result<Policy, CliError> {
        let grant = match agent {
            None => Grant::default(),
            Some(name) => self.config.agents.get(name).cloned().ok_or_else(|| {
                let error = CliError::new(format!("no agent named {}", wording::tick(name)));
                let known = self.config.agents.keys().map(String::as_str);
                match prowess_diag::suggest::nearest(name, known) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => {
                        error.hint(format!("define it in the configuration: `[agents.{name}]`"))
                    }
                }
            })?,
        };
        let catalog = self.catalog();
        grant.check(&catalog).map_err(|fault| {
            let error = CliError::new(format!(
                "the agent {} is given what is not there",
                wording::tick(agent.unwrap_or_default())
            ));
            match &fault {
                GrantFault::Unknown(missing) if !missing.near.is_empty() => {
                    error.hint(not_found(missing).hints.concat())
                }
                GrantFault::Unknown(_) | GrantFault::NothingLoaded => error,
            }
            .cause(&fault)
        })?;
        Ok(Policy { overrides: self.config.visibility.clone(), grant, touched: None })
    }

    /// Names in the configuration that mean no skill, but nearly do. One that is far from all others
    /// may be a skill of another project.
    fn unknown_names(&self) -> Vec<(String, NotFound)> {
        let catalog = self.catalog();
        let settings =
            self.config.visibility.keys().map(|name| (format!("`skills.visibility.{name}`"), name));
        let denied = self.config.agents.iter().flat_map(|(agent, grant)| {
            grant.deny.iter().map(move |name| (format!("`{name}` in `agents.{agent}.deny`"), name))
        });
        let faults = settings
            .chain(denied)
            .filter_map(|(written, name)| Some((written, catalog.resolve(name).err()?)));
        faults.filter(|(_, fault)| !fault.near.is_empty()).collect()
    }

    /// Says what could not be read or was not looked at, in a line each kind.
    pub(crate) fn warn(&self, environment: &Environment, printer: &Printer) {
        let report = self.registry.report();
        let show = |path: &std::path::Path| targets::display(path, environment);
        for (written, fault) in self.unknown_names() {
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
                let path = show(std::path::Path::new(&*fault.location));
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
    let mut place = environment.place();
    let mut extra = global.skills_dir.clone();
    extra.append(&mut place.extra);
    extra.extend(config.dirs.iter().cloned());
    place.extra = extra;
    place.project_extra.clone_from(&config.project_dirs);
    place
}

/// A folder that was typed must be there.
pub(crate) fn check_flags(global: &GlobalArgs) -> Result<(), CliError> {
    let Some(folder) = global.skills_dir.iter().find(|folder| !folder.is_dir()) else {
        return Ok(());
    };
    let is = if folder.exists() { "is not a folder" } else { "does not exist" };
    Err(CliError::new(format!("`--skills-dir {}` {is}", folder.display()))
        .hint("name a folder that holds skills"))
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

/// Where a skill comes from, in a word or two: `project/claude`.
pub(crate) fn from(entry: &Entry) -> String {
    let origin = &entry.skill.id.origin;
    if origin.vendor.is_empty() {
        origin.scope.as_str().to_owned()
    } else {
        format!("{}/{}", origin.scope.as_str(), origin.vendor)
    }
}
