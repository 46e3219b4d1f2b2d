//! What a path or a name on the command line means.

use std::path::{Path, PathBuf};

use prowess_diag::{suggest, wording};
use prowess_registry::fs::scopes;
use prowess_registry::{Holds, Root};

use crate::env::Environment;
use crate::error::CliError;

/// How many neighbours of a path are looked at for a slip.
const MOST_NEIGHBOURS: usize = 2000;

/// Turns a path or the name of an installed skill into a path that exists.
pub(crate) fn resolve(typed: &Path, environment: &Environment) -> Result<PathBuf, CliError> {
    if typed.symlink_metadata().is_ok() {
        let ending = typed.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_markdown =
            ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown");
        if typed.is_file() && !is_markdown {
            let message = format!("`{}` is neither a folder nor a Markdown file", typed.display());
            return Err(CliError::new(message).hint("name a skill's folder, or its SKILL.md"));
        }
        return Ok(typed.to_owned());
    }
    // A slip in the last part of a path is found among its neighbours.
    let parent =
        typed.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let last = typed.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let neighbours = entries(parent);
    let near = suggest::nearest(last, neighbours.iter().map(String::as_str))
        .map(|near| typed.with_file_name(near));
    let meant = |near: &Path| format!("did you mean `{}`?", near.display());
    let name = typed.to_str().filter(|name| !name.contains('/') && !name.is_empty());
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
    let roots = skill_roots(environment);
    if let Some(folder) =
        roots.iter().map(|root| root.path.join(name)).find(|folder| folder.is_dir())
    {
        return Ok(folder);
    }
    let installed: Vec<String> = roots.iter().flat_map(|root| folders(&root.path)).collect();
    let error = CliError::new(format!("path does not exist, and no skill is named `{name}`"));
    Err(match suggest::nearest(name, installed.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if near.is_some() => error.hint(near.as_deref().map(meant).unwrap_or_default()),
        None if installed.is_empty() => error.hint(format!("create it with `prowess new {name}`")),
        None => error.hint("name a folder, a SKILL.md, or a skill in one of the folders that `prowess validate` looks into"),
    })
}

/// Names of everything in a folder; none when it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NEIGHBOURS);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Names of the folders in a folder; none when it cannot be read.
fn folders(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Every folder that may hold skills and exists.
pub(crate) fn visible_roots(environment: &Environment) -> Vec<PathBuf> {
    skill_roots(environment)
        .into_iter()
        .map(|root| root.path)
        .filter(|path| path.is_dir())
        .collect()
}

/// Every folder in which folders with SKILL.md may lie.
fn skill_roots(environment: &Environment) -> Vec<Root> {
    let mut roots = scopes::roots(&environment.place());
    roots.retain(|root| root.holds == Holds::Skills);
    roots
}

/// A path as people read it: from the current folder if it is inside, with `~` for home.
pub(crate) fn display(path: &Path, environment: &Environment) -> String {
    let inside =
        path.strip_prefix(&environment.current).ok().filter(|rest| !rest.as_os_str().is_empty());
    let at_home = || {
        environment
            .home
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok())
            .filter(|_| path.is_absolute())
    };
    match (inside, at_home()) {
        (Some(rest), _) => rest.display().to_string(),
        (None, Some(rest)) => format!("~/{}", rest.display()),
        (None, None) => path.strip_prefix(".").unwrap_or(path).display().to_string(),
    }
}

/// A path as programs open it: from the current folder if it is inside, else whole.
pub(crate) fn plain(path: &Path, environment: &Environment) -> String {
    let inside =
        path.strip_prefix(&environment.current).ok().filter(|rest| !rest.as_os_str().is_empty());
    inside.unwrap_or(path.strip_prefix(".").unwrap_or(path)).display().to_string()
}

/// Leaves out paths that lead to the same place as another, or inside one.
pub(crate) fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let real: Vec<PathBuf> = paths
        .iter()
        .map(|path| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        .collect();
    let is_first = |index: usize| !real[..index].contains(&real[index]);
    let is_inside = |index: usize| {
        real.iter().any(|other| real[index] != *other && real[index].starts_with(other))
    };
    paths
        .into_iter()
        .enumerate()
        .filter(|(index, _)| is_first(*index) && !is_inside(*index))
        .map(|(_, path)| path)
        .collect()
}
