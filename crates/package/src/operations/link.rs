//! Links for other agents: from their folders of skills to the scope folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::agents::{LINK_AGENTS, LinkAgent, PersonalFolder};
use crate::error::PackageError;
use crate::paths::{lexical, relative};
use crate::project::{PackageScope, ScopeKind, check_place};

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
    // Many people link the whole folder.
    let is_same = |real: PathBuf| fs::canonicalize(skills).is_ok_and(|skills| skills == real);
    if folder == *skills || fs::canonicalize(&folder).is_ok_and(is_same) {
        return Ok(None);
    }
    if *kind == ScopeKind::Project {
        check_place(&folder, root)?;
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
