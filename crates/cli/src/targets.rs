//! Resolves paths and skill names given on the command line.

use std::path::{Path, PathBuf};

use prowess_catalog::{Catalog, CatalogEntry, SkillForm};
use prowess_diag::{suggest, wording};
use prowess_registry::resource::SkillFolder;

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::output::Failure;
use crate::output::Printer;
use crate::packages;
use crate::visible_skills::Library;

/// Maximum number of files that are compared with a mistyped path.
const MOST_NEIGHBOURS: usize = 2000;

/// A resolved path or name.
#[derive(Debug)]
pub(crate) enum Meant {
    /// A file or a folder.
    Path(PathBuf),
    /// The folder of a visible skill.
    Skill {
        /// Its path.
        path: PathBuf,
        /// The folder that was found, even if the path leads elsewhere meanwhile.
        folder: SkillFolder,
    },
    /// A skill that is not on disk.
    Memory {
        /// Its location.
        location: String,
        /// Its text.
        text: Vec<u8>,
    },
}

/// Resolves the name of a skill, or a path. A name refers to the skill that `run`, `exec` and
/// `prompt` use, even if a file or folder has the same name: a project could otherwise put a folder
/// in the way of a skill, and prevent that its trust is revoked. `./NAME` is always a path.
pub(crate) fn resolve_skill(
    typed: &Path,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Meant, Failure> {
    if name_of(typed).is_none()
        && let Some(path) = path(typed)?
    {
        return Ok(Meant::Path(path));
    }
    let library = Library::open(global, environment, printer)?;
    resolve_skill_in(&library, typed, environment, printer)
}

/// Resolves like [`resolve_skill`], in an open library.
pub(crate) fn resolve_skill_in(
    library: &Library,
    typed: &Path,
    environment: &Environment,
    printer: &Printer,
) -> Result<Meant, Failure> {
    let Some(name) = skill_name(library, typed) else {
        return match path(typed)? {
            Some(path) => Ok(Meant::Path(path)),
            None => named(typed, library, environment, printer),
        };
    };
    if typed.symlink_metadata().is_ok() {
        printer.warn(&format!(
            "{} refers to the skill; for the path, type {}",
            wording::tick(name),
            wording::tick(wording::shell_word(&format!("./{name}"))),
        ));
    }
    named(typed, library, environment, printer)
}

/// Resolves a path or the name of a visible skill. Paths take precedence.
pub(crate) fn resolve(
    typed: &Path,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Meant, Failure> {
    if let Some(path) = path(typed)? {
        return Ok(Meant::Path(path));
    }
    let library = Library::open(global, environment, printer)?;
    named(typed, &library, environment, printer)
}

/// Returns the text if it is the name of a skill. A path is not, even if a skill has it as its name.
pub(crate) fn skill_name<'t>(library: &Library, typed: &'t Path) -> Option<&'t str> {
    name_of(typed).filter(|name| library.catalog().resolve(name).is_ok())
}

/// Returns the name if the text can be one: `pdf`, `user:pdf`, `apps/web:deploy`. A path has no colon
/// before its last part.
fn name_of(typed: &Path) -> Option<&str> {
    let is_name = |name: &&str| {
        !matches!(*name, "" | "." | "..") && (!name.contains('/') || name.contains(':'))
    };
    typed.to_str().filter(is_name)
}

/// Returns the path if it exists. Fails if it cannot be a skill.
fn path(typed: &Path) -> Result<Option<PathBuf>, Failure> {
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
            return Err(Failure::new(message).hint("pass the folder of a skill, or its SKILL.md"));
        }
        return Ok(Some(typed.to_owned()));
    }
    Ok(None)
}

/// Resolves the name of a visible skill. Fails with a suggestion if there is none.
fn named(
    typed: &Path,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<Meant, Failure> {
    // Suggest a file with a similar name in the same folder.
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
    let Some(name) = name_of(typed) else {
        let error = Failure::new(format!("path does not exist: `{}`", typed.display()));
        return Err(match near {
            Some(near) => error.hint(meant(&near)),
            None => error.hint(format!(
                "run `ls {}`",
                wording::shell_word(&parent.display().to_string())
            )),
        });
    };
    let catalog = library.catalog();
    let resolved = catalog.resolve(name);
    if let Ok(entry) = resolved {
        warn_of_namesakes(name, entry, &catalog, environment, printer);
    }
    match resolved {
        Ok(entry) if entry.skill.form == SkillForm::Memory => {
            let text = library.registry.text(&entry.skill.id).map_err(|error| {
                Failure::new(format!("cannot read {}", wording::tick(name))).cause(error)
            })?;
            Ok(Meant::Memory {
                location: entry.skill.location.to_string(),
                text,
            })
        }
        Ok(entry) => {
            let file = entry.skill.location.path().into_owned();
            let Some(folder) = library.registry.open_folder(&entry.skill) else {
                return Ok(Meant::Path(file));
            };
            let folder = folder.map_err(|error| {
                Failure::new(format!("cannot read {}", wording::tick(name))).cause(error)
            })?;
            Ok(Meant::Skill {
                path: file.parent().map_or_else(|| file.clone(), Path::to_owned),
                folder,
            })
        }
        Err(fault) if fault.near.is_empty() && near.is_some() => {
            let error = Failure::new(format!("no path or skill named `{name}`"));
            Err(error.hint(near.as_deref().map(meant).unwrap_or_default()))
        }
        Err(fault) => {
            let error = Failure::new(format!("no path or skill named `{name}`"));
            if let Some(status) = packages::unlisted(name, environment) {
                let error = error.cause(packages::describe_status(&status));
                return Err(match status.hint() {
                    Some(hint) => error.hint(hint),
                    None => error,
                });
            }
            if !fault.near.is_empty() {
                let near = wording::either(fault.near.iter().map(wording::tick));
                Err(error.hint(format!("did you mean {near}?")))
            } else if catalog
                .listed()
                .all(|entry| entry.skill.form == SkillForm::Memory)
            {
                let command = wording::command(["prowess", "new", name]);
                Err(error.hint(format!("create it with {command}")))
            } else {
                Err(error.hint("list skills with `prowess list`"))
            }
        }
    }
}

/// Warns about skills whose folder has the given name, but which have another name.
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
    let show = |entry: &CatalogEntry| display(&entry.skill.location.path(), environment);
    let is_alias = |entry: &&CatalogEntry| entry.skill.alias.as_deref() == Some(typed);
    for other in catalog.listed().filter(is_alias) {
        printer.warn(&format!(
            "{} refers to `{}`; the skill in `{}` is named {}",
            wording::tick(typed),
            show(meant),
            show(other),
            wording::tick(other.name())
        ));
    }
}

/// Returns the names in a folder, empty if it cannot be read.
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

/// Formats a path for reading: relative, or with `~`.
pub(crate) fn display(path: &Path, environment: &Environment) -> String {
    prowess_diag::path::display_path(path, &environment.current, environment.home.as_deref())
}

/// Formats a path so that programs can open it.
pub(crate) fn plain(path: &Path, environment: &Environment) -> String {
    prowess_diag::path::plain_path(path, &environment.current)
}
