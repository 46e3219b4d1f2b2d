//! Links for other agents: from their folders of skills to the scope folder. Where links do not work,
//! copies.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess_registry::digest_of;

use crate::agents::{LINK_AGENTS, LinkAgent, PersonalFolder};
use crate::error::PackageError;
use crate::lock::LockFile;
use crate::paths::{lexical, relative};
use crate::project::{PackageScope, ScopeKind, check_place, copy_tree, read_text, write_new};
use crate::store::{remove_tree, sync_all};

use super::PackageContext;
use super::rollback::history;

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
    /// A copy is made or replaced.
    Copy {
        /// The copy.
        path: PathBuf,
        /// The digest of its files, which are in the store.
        digest: String,
    },
    /// A link or a copy is removed.
    Remove {
        /// The link or copy.
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
    /// Copies that are as they should be.
    kept: Vec<PathBuf>,
}

impl LinkPlan {
    /// Returns `true` if no link would be made or removed.
    pub fn is_empty(&self) -> bool {
        let is_change = |change: &LinkChange| !matches!(change, LinkChange::Occupied { .. });
        !self.changes.iter().any(is_change)
    }
}

/// The form of what is made for an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkForm {
    /// Links.
    #[default]
    Link,
    /// Copies of packages. Folders of the person's own get links.
    Copy,
    /// Links, and copies where there are copies already.
    Present,
}

/// Plans links or copies for agents: one for each locked package. Those of packages that are gone are
/// removed.
pub fn plan_links(
    context: &PackageContext,
    agents: &[&'static LinkAgent],
    form: LinkForm,
) -> Result<LinkPlan, PackageError> {
    let lock = context.texts()?.lock;
    let names: BTreeSet<&str> = lock.packages.iter().map(|one| &*one.name).collect();
    let copies = OwnCopies::read(context, &lock)?;
    let mut plan = LinkPlan::default();
    for agent in agents {
        let Some(folder) = folder_of(context, agent)? else {
            plan.needless.push(agent.name);
            continue;
        };
        for name in &names {
            let path = folder.join(name);
            let target = relative(&folder, &context.scope.skills.join(name));
            let digest = lock.get(name).and_then(|one| one.digest.clone());
            let digest = digest.filter(|_| match form {
                LinkForm::Link => false,
                LinkForm::Copy => true,
                LinkForm::Present => copies.own(&path),
            });
            let wanted = match &digest {
                Some(digest) => LinkChange::Copy {
                    path: path.clone(),
                    digest: digest.clone(),
                },
                None => LinkChange::Make {
                    path: path.clone(),
                    target: target.clone(),
                },
            };
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    plan.changes.push(wanted);
                }
                Ok(facts) if facts.is_symlink() && is_ours(context, &path) => {
                    let is_right = digest.is_none() && fs::read_link(&path).ok() == Some(target);
                    plan.changes.extend((!is_right).then_some(wanted));
                }
                Ok(facts) if facts.is_dir() && copies.own(&path) => {
                    let is_right = digest.is_some() && digest_of(&path).ok() == digest;
                    if is_right {
                        plan.kept.push(path);
                    } else {
                        plan.changes.push(wanted);
                    }
                }
                _ => plan.changes.push(LinkChange::Occupied { path }),
            }
        }
        plan.changes
            .extend(stale_links(context, &folder, &names, &copies)?);
    }
    Ok(plan)
}

/// Plans to remove the links of agents.
pub fn plan_unlink(
    context: &PackageContext,
    agents: &[&'static LinkAgent],
) -> Result<LinkPlan, PackageError> {
    let copies = OwnCopies::read(context, &context.texts()?.lock)?;
    let mut plan = LinkPlan::default();
    for agent in agents {
        if let Some(folder) = folder_of(context, agent)? {
            let stale = stale_links(context, &folder, &BTreeSet::new(), &copies)?;
            plan.changes.extend(stale);
        }
    }
    Ok(plan)
}

/// Plans to remove the links of packages in the folders of all agents, and to bring copies to the files
/// of the lock.
pub(super) fn plan_sweep(
    context: &PackageContext,
    names: &[&str],
) -> Result<LinkPlan, PackageError> {
    if names.is_empty() && !OwnCopies::file(context).exists() {
        return Ok(LinkPlan::default());
    }
    let lock = context.texts()?.lock;
    let copies = OwnCopies::read(context, &lock)?;
    let mut plan = LinkPlan::default();
    for path in &copies.paths {
        let name = path.file_name().and_then(|name| name.to_str());
        let digest = name.and_then(|name| lock.get(name)?.digest.clone());
        if !copies.own(path) || digest_of(path).ok() == digest {
            continue;
        }
        plan.changes.push(match digest {
            Some(digest) => LinkChange::Copy {
                path: path.clone(),
                digest,
            },
            None => LinkChange::Remove { path: path.clone() },
        });
    }
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
    Ok(plan)
}

/// Returns entries with the names of packages in the folders of all agents that are something else: an
/// agent would use them in place of the packages. In a folder in which authors write skills, only links
/// count.
pub(super) fn foreign_entries(
    context: &PackageContext,
    lock: &LockFile,
    names: &[&str],
) -> Result<Vec<(String, PathBuf)>, PackageError> {
    let copies = OwnCopies::read(context, lock)?;
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
            // Changed copies are reported with their files.
            let is_package = is_package || (facts.is_dir() && copies.paths.contains(&path));
            if !is_package && (facts.is_symlink() || agent.project.starts_with('.')) {
                found.push(((*name).to_owned(), path));
            }
        }
    }
    Ok(found)
}

/// Makes and removes links and copies. What is not ours is never touched.
pub fn apply_links(context: &PackageContext, plan: &LinkPlan) -> Result<(), PackageError> {
    if plan.changes.is_empty() && plan.kept.is_empty() {
        return Ok(());
    }
    let mut copies = OwnCopies::read(context, &context.texts()?.lock)?;
    let before = copies.paths.clone();
    copies.paths.extend(plan.kept.iter().cloned());
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
                copies.clear(context, path)?;
                // Fails if something else came in between.
                symlink(target, path).map_err(failed("write", path))?;
            }
            LinkChange::Copy { path, digest } => {
                let parent = path.parent().unwrap_or(path);
                fs::create_dir_all(parent).map_err(failed("create", parent))?;
                let new = tempfile::Builder::new()
                    .prefix(PART)
                    .tempdir_in(parent)
                    .map_err(failed("write", parent))?;
                let copy = new.path().join("copy");
                let tree = context.store.tree(digest)?;
                let mut copied = Vec::new();
                copy_tree(&tree, &copy, &context.faults, &mut copied)
                    .and_then(|()| sync_all(&copied, new.path()))
                    .map_err(failed("write", path))?;
                copies.clear(context, path)?;
                // Fails if something else came in between.
                fs::rename(&copy, path).map_err(failed("write", path))?;
                copies.paths.insert(path.clone());
            }
            LinkChange::Remove { path } if is_ours(context, path) || copies.own(path) => {
                copies.clear(context, path)?;
            }
            LinkChange::Remove { .. } | LinkChange::Occupied { .. } => {}
        }
    }
    if copies.paths != before {
        copies.write(context)?;
    }
    Ok(())
}

/// The start of the names of folders that are being written.
const PART: &str = ".prowess-part-";

/// The copies in folders of agents that Prowess made.
struct OwnCopies {
    /// Their paths, from the state folder of the scope.
    paths: BTreeSet<PathBuf>,
    /// The digests that packages of the lock and of earlier locks have.
    digests: BTreeSet<String>,
}

impl OwnCopies {
    fn read(context: &PackageContext, lock: &LockFile) -> Result<Self, PackageError> {
        let file = Self::file(context);
        let text = read_text(&file).map_err(|source| PackageError::File {
            verb: "read",
            path: file,
            source,
        })?;
        let paths: Vec<PathBuf> = text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let mut digests = BTreeSet::new();
        let mut add = |lock: &LockFile| {
            let packages = lock.packages.iter();
            digests.extend(packages.filter_map(|one| one.digest.clone()));
        };
        add(lock);
        if !paths.is_empty() {
            for entry in history(context)? {
                entry.parsed().iter().for_each(&mut add);
            }
        }
        Ok(Self {
            paths: paths.into_iter().collect(),
            digests,
        })
    }

    fn write(&self, context: &PackageContext) -> Result<(), PackageError> {
        let file = Self::file(context);
        let failed = |source| PackageError::File {
            verb: "write",
            path: file.clone(),
            source,
        };
        fs::create_dir_all(file.parent().unwrap_or(&file)).map_err(failed)?;
        let text =
            serde_json::to_string(&self.paths).map_err(|error| failed(io::Error::other(error)))?;
        write_new(&file, text.as_bytes(), &context.faults).map_err(failed)
    }

    fn file(context: &PackageContext) -> PathBuf {
        context.scope.state(&context.state).join("copies")
    }

    /// Returns `true` for a copy that Prowess made and that still has the files of a locked package.
    fn own(&self, path: &Path) -> bool {
        let is_folder = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
        let is_made = self.paths.contains(path);
        is_folder && is_made && digest_of(path).is_ok_and(|digest| self.digests.contains(&digest))
    }

    /// Removes a link or a copy of ours.
    fn clear(&mut self, context: &PackageContext, path: &Path) -> Result<(), PackageError> {
        let cleared = if is_ours(context, path) {
            fs::remove_file(path)
        } else if self.own(path) {
            remove_tree(path)
        } else {
            return Ok(());
        };
        self.paths.remove(path);
        cleared.map_err(|source| PackageError::File {
            verb: "remove",
            path: path.to_owned(),
            source,
        })
    }
}

/// Returns the copies in folders of agents that differ from the lock, each with the name of the package.
pub(super) fn changed_copies(
    context: &PackageContext,
    lock: &LockFile,
) -> Result<Vec<(String, PathBuf)>, PackageError> {
    let copies = OwnCopies::read(context, lock)?;
    let changed = copies.paths.iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        let digest = lock.get(name)?.digest.as_ref()?;
        let is_there = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
        let is_same = digest_of(path).ok().as_ref() == Some(digest);
        (is_there && !is_same).then(|| (name.to_owned(), path.clone()))
    });
    Ok(changed.collect())
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

/// Returns the links and copies of ours in a folder whose names are not among `names`.
fn stale_links(
    context: &PackageContext,
    folder: &Path,
    names: &BTreeSet<&str>,
    copies: &OwnCopies,
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
        let path = entry.path();
        if !is_known && (is_ours(context, &path) || copies.own(&path)) {
            stale.push(path);
        }
    }
    stale.sort();
    Ok(stale
        .into_iter()
        .map(|path| LinkChange::Remove { path })
        .collect())
}
