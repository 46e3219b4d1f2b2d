//! What a path or a name on the command line means.

use std::path::{Path, PathBuf};

use prowess_catalog::{Catalog, CatalogEntry, SkillForm};
use prowess_diag::{suggest, wording};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::error::CliError;
use crate::library::Library;
use crate::output::Printer;

/// How many neighbours of a path are looked at for a slip.
const MOST_NEIGHBOURS: usize = 2000;

/// What a path or a name means.
#[derive(Debug)]
pub(crate) enum Meant {
    /// A file or a folder.
    Path(PathBuf),
    /// A skill that is not on disk.
    Memory {
        /// Where it is instead.
        location: String,
        /// Its text.
        text: Vec<u8>,
    },
}

/// Turns a path, or the name of a skill that is visible from here, into what it means.
pub(crate) fn resolve(
    typed: &Path,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Meant, CliError> {
    if typed.symlink_metadata().is_ok() {
        let ending = typed
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        let is_markdown =
            ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown");
        if typed.is_file() && !is_markdown {
            let message = format!(
                "`{}` is neither a folder nor a Markdown file",
                typed.display()
            );
            return Err(CliError::new(message).hint("name a skill's folder, or its SKILL.md"));
        }
        return Ok(Meant::Path(typed.to_owned()));
    }
    // A slip in the last part of a path is found among its neighbours.
    let parent = typed
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let last = typed
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let neighbours = entries(parent);
    let near = suggest::nearest(last, neighbours.iter().map(String::as_str))
        .map(|near| typed.with_file_name(near));
    let meant = |near: &Path| format!("did you mean `{}`?", near.display());
    // `pdf`, `user:pdf`, `apps/web:deploy`: a path has no colon before its last part.
    let is_name = |name: &&str| !name.is_empty() && (!name.contains('/') || name.contains(':'));
    let name = typed.to_str().filter(is_name);
    let Some(name) = name else {
        let error = CliError::new(format!("path does not exist: `{}`", typed.display()));
        return Err(match near {
            Some(near) => error.hint(meant(&near)),
            None => error.hint(format!(
                "see what is there with `ls {}`",
                wording::shell_word(&parent.display().to_string())
            )),
        });
    };
    let library = Library::open(global, environment, printer)?;
    let catalog = library.catalog();
    let resolved = catalog.resolve(name);
    if let Ok(entry) = resolved {
        warn_of_namesakes(name, entry, &catalog, environment, printer);
    }
    match resolved {
        Ok(entry) if entry.skill.form == SkillForm::Memory => {
            let text = library.registry.text(&entry.skill.id).map_err(|error| {
                CliError::new(format!("cannot read {}", wording::tick(name))).cause(error)
            })?;
            Ok(Meant::Memory {
                location: entry.skill.location.to_string(),
                text,
            })
        }
        Ok(entry) => {
            let file = PathBuf::from(&*entry.skill.location);
            let folder = file
                .parent()
                .filter(|_| entry.skill.form == SkillForm::Folder);
            Ok(Meant::Path(
                folder.map_or_else(|| file.clone(), Path::to_owned),
            ))
        }
        Err(fault) if fault.near.is_empty() && near.is_some() => {
            let error = CliError::new(format!(
                "path does not exist, and no skill is named `{name}`"
            ));
            Err(error.hint(near.as_deref().map(meant).unwrap_or_default()))
        }
        Err(fault) => {
            let error = CliError::new(format!(
                "path does not exist, and no skill is named `{name}`"
            ));
            if !fault.near.is_empty() {
                let near = wording::either(fault.near.iter().map(wording::tick));
                Err(error.hint(format!("did you mean {near}?")))
            } else if catalog
                .listed()
                .all(|entry| entry.skill.form == SkillForm::Memory)
            {
                Err(error.hint(format!("create it with `prowess new {name}`")))
            } else {
                Err(error.hint("see what there is with `prowess list`"))
            }
        }
    }
}

/// Says that a skill whose folder has the name that was typed is not the one that it means.
fn warn_of_namesakes(
    typed: &str,
    meant: &CatalogEntry,
    catalog: &Catalog,
    environment: &Environment,
    printer: &Printer,
) {
    if meant.name() != typed {
        return;
    }
    let show = |entry: &CatalogEntry| display(Path::new(&*entry.skill.location), environment);
    let is_alias = |entry: &&CatalogEntry| entry.skill.alias.as_deref() == Some(typed);
    for other in catalog.listed().filter(is_alias) {
        printer.warn(&format!(
            "{} is `{}`; `{}` is named {}",
            wording::tick(typed),
            show(meant),
            show(other),
            wording::tick(other.name())
        ));
    }
}

/// Names of everything in a folder; none when it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_NEIGHBOURS);
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// A path as people read it.
pub(crate) fn display(path: &Path, environment: &Environment) -> String {
    prowess_diag::path::display_path(path, &environment.current, environment.home.as_deref())
}

/// A path as programs open it.
pub(crate) fn plain(path: &Path, environment: &Environment) -> String {
    prowess_diag::path::plain_path(path, &environment.current)
}
