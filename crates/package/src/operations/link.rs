//! Links for other agents: from their folders of skills to the scope folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use crate::agents::{LINK_AGENTS, LinkAgent, PersonalFolder};
use crate::error::PackageError;
use crate::project::{PackageScope, ProjectError, ScopeKind};

use super::PackageContext;

/// A change of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// A link is made or replaced.
    Make {
        /// The link.
        path: PathBuf,
        /// Its target.
        target: PathBuf,
    },
    /// A link is removed.
    Remove {
        /// The link.
        path: PathBuf,
    },
    /// Something else is there, and is left alone.
    Occupied {
        /// The entry.
        path: PathBuf,
    },
}

/// The links that would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPlan {
    /// Changes, sorted by path.
    pub changes: Vec<LinkChange>,
    /// Agents that read the scope folder themselves.
    pub needless: Vec<&'static str>,
}

impl LinkPlan {
    /// Returns `true` if no link would be made or removed.
    pub fn is_empty(&self) -> bool {
        let is_change = |change: &LinkChange| !matches!(change, LinkChange::Occupied { .. });
        !self.changes.iter().any(is_change)
    }
}

/// Plans links for agents: one for each locked package. Links of packages that are gone are removed.
pub fn plan_links(
    context: &PackageContext,
    agents: &[&'static LinkAgent],
) -> Result<LinkPlan, PackageError> {
    let lock = context.texts()?.lock;
    let names: BTreeSet<&str> = lock.packages.iter().map(|one| &*one.name).collect();
    let mut plan = LinkPlan::default();
    for agent in agents {
        let Some(folder) = folder_of(context, agent)? else {
            plan.needless.push(agent.name);
            continue;
        };
        for name in &names {
            let path = folder.join(name);
            let target = relative(&folder, &context.scope.skills.join(name));
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    plan.changes.push(LinkChange::Make { path, target });
                }
                Ok(facts) if facts.is_symlink() && is_ours(context, &path) => {
                    if fs::read_link(&path).ok().as_ref() != Some(&target) {
                        plan.changes.push(LinkChange::Make { path, target });
                    }
                }
                _ => plan.changes.push(LinkChange::Occupied { path }),
            }
        }
        plan.changes.extend(stale_links(context, &folder, &names)?);
    }
    Ok(plan)
}

/// Plans to remove the links of agents.
pub fn plan_unlink(
    context: &PackageContext,
    agents: &[&'static LinkAgent],
) -> Result<LinkPlan, PackageError> {
    let mut plan = LinkPlan::default();
    for agent in agents {
        if let Some(folder) = folder_of(context, agent)? {
            let stale = stale_links(context, &folder, &BTreeSet::new())?;
            plan.changes.extend(stale);
        }
    }
    Ok(plan)
}

/// Plans to remove the links of packages in the folders of all agents.
pub(super) fn plan_sweep(context: &PackageContext, names: &[&str]) -> LinkPlan {
    let mut plan = LinkPlan::default();
    let mut seen = BTreeSet::new();
    for agent in LINK_AGENTS {
        let Ok(Some(folder)) = folder_of(context, agent) else {
            continue;
        };
        if !seen.insert(folder.clone()) {
            continue;
        }
        for name in names {
            let path = folder.join(name);
            if is_ours(context, &path) {
                plan.changes.push(LinkChange::Remove { path });
            }
        }
    }
    plan
}

/// Returns entries with the names of packages in the folders of all agents that are something else: an
/// agent would use them in place of the packages. In a folder in which authors write skills, only links
/// count.
pub(super) fn foreign_entries(context: &PackageContext, names: &[&str]) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for agent in LINK_AGENTS {
        let Ok(Some(folder)) = folder_of(context, agent) else {
            continue;
        };
        if !seen.insert(folder.clone()) {
            continue;
        }
        for name in names {
            let path = folder.join(name);
            let Ok(facts) = fs::symlink_metadata(&path) else {
                continue;
            };
            let real = |path: &Path| fs::canonicalize(path).ok();
            let is_package = match real(&context.scope.skills.join(name)) {
                Some(package) => real(&path) == Some(package),
                None => is_ours(context, &path),
            };
            if !is_package && (facts.is_symlink() || agent.project.starts_with('.')) {
                found.push(((*name).to_owned(), path));
            }
        }
    }
    found
}

/// Makes and removes links. What is not ours is never touched.
pub fn apply_links(context: &PackageContext, plan: &LinkPlan) -> Result<(), PackageError> {
    for change in &plan.changes {
        let failed = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| PackageError::File { verb, path, source }
        };
        match change {
            LinkChange::Make { path, target } => {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(failed("create", parent))?;
                }
                if is_ours(context, path) {
                    fs::remove_file(path).map_err(failed("remove", path))?;
                }
                // Fails if something else came in between.
                symlink(target, path).map_err(failed("write", path))?;
            }
            LinkChange::Remove { path } if is_ours(context, path) => {
                fs::remove_file(path).map_err(failed("remove", path))?;
            }
            LinkChange::Remove { .. } | LinkChange::Occupied { .. } => {}
        }
    }
    Ok(())
}

/// Returns the folder of an agent. `None` if it needs no links.
fn folder_of(context: &PackageContext, agent: &LinkAgent) -> Result<Option<PathBuf>, PackageError> {
    let PackageScope {
        kind, root, skills, ..
    } = &context.scope;
    let folder = match kind {
        ScopeKind::Project if agent.reads_agents => return Ok(None),
        ScopeKind::Project => root.join(agent.project),
        ScopeKind::User => match agent.personal {
            PersonalFolder::Home(path) => root.join(path),
            PersonalFolder::Config(path) => config_folder(context).join(path),
        },
    };
    let Ok(real) = fs::canonicalize(&folder) else {
        return Ok(Some(folder));
    };
    // Many people link the whole folder.
    if folder == *skills || fs::canonicalize(skills).is_ok_and(|skills| skills == real) {
        return Ok(None);
    }
    let is_inside = fs::canonicalize(root).is_ok_and(|root| real.starts_with(root));
    if *kind == ScopeKind::Project && !is_inside {
        return Err(ProjectError::LinkOut { path: folder }.into());
    }
    Ok(Some(folder))
}

fn config_folder(context: &PackageContext) -> PathBuf {
    let variable = context
        .environment
        .iter()
        .find(|(name, _)| name == "XDG_CONFIG_HOME")
        .map(|(_, value)| PathBuf::from(value))
        .filter(|path| path.is_absolute());
    variable.unwrap_or_else(|| context.scope.root.join(".config"))
}

/// Returns `true` for a link into the scope folder or the store.
fn is_ours(context: &PackageContext, path: &Path) -> bool {
    let Ok(target) = fs::read_link(path) else {
        return false;
    };
    let parent = path.parent().unwrap_or(Path::new("/"));
    let whole = lexical(&parent.join(target));
    let skills = lexical(&context.scope.skills);
    whole.parent() == Some(&skills) || context.store.owns(&whole)
}

/// Returns the links of ours in a folder whose names are not among `names`.
fn stale_links(
    context: &PackageContext,
    folder: &Path,
    names: &BTreeSet<&str>,
) -> Result<Vec<LinkChange>, PackageError> {
    let failed = |source| PackageError::File {
        verb: "read",
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut stale = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_known = name.to_str().is_some_and(|name| names.contains(name));
        if !is_known && is_ours(context, &entry.path()) {
            stale.push(entry.path());
        }
    }
    stale.sort();
    Ok(stale
        .into_iter()
        .map(|path| LinkChange::Remove { path })
        .collect())
}

/// Resolves `.` and `..` in an absolute path, without looking at links.
fn lexical(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// Returns the path from a folder to another path. Both are absolute.
fn relative(folder: &Path, path: &Path) -> PathBuf {
    let (folder, path) = (lexical(folder), lexical(path));
    let common = folder
        .components()
        .zip(path.components())
        .take_while(|(one, two)| one == two)
        .count();
    let mut result = PathBuf::new();
    for _ in folder.components().skip(common) {
        result.push("..");
    }
    result.extend(path.components().skip(common));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_between_folders_are_relative() {
        for (folder, path, expected) in [
            (
                "/p/.claude/skills",
                "/p/.agents/skills/pdf",
                "../../.agents/skills/pdf",
            ),
            (
                "/p/skills",
                "/p/.agents/skills/pdf",
                "../.agents/skills/pdf",
            ),
            ("/p/a/../b", "/p/b/x", "x"),
        ] {
            let found = relative(Path::new(folder), Path::new(path));
            assert_eq!(found, Path::new(expected));
        }
    }
}
