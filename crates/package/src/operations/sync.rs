//! Makes store and scope folder match the lock, and the lock the manifest.

use std::collections::BTreeSet;

use crate::error::PackageError;
use crate::journal::EntryState;
use crate::lock::{LockFile, LockedPackage};
use crate::manifest::PackageEntry;
use crate::project::read_text;
use crate::resolve::{AcceptedChanges, difference};
use crate::source::{PackageSource, WantedRef};
use crate::store::TreeState;

use super::add::add_fetched;
use super::fetch::{FetchedPackage, SourceFetcher};
use super::link::{LinkForm, plan_links};
use super::plan::{PackagePlan, PlanNote, is_path, wanted_agents, wanted_entry};
use super::served::select_offered;
use super::update::check_change;
use super::{OperationError, PackageContext, ScopeTexts};

/// Options of [`plan_sync`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// `true` to fail if the lock does not satisfy the manifest.
    pub frozen: bool,
    /// `true` to look at the files of the trees in the store, and to read those of a tree that was
    /// touched; `false` to look only if the trees are there.
    pub verify_store: bool,
    /// Answers that the person gave in advance.
    pub accepted: AcceptedChanges,
}

/// Plans to make the store and the scope folder match the lock. Packages that the lock lacks are
/// resolved; packages that the manifest lacks are removed.
pub fn plan_sync(
    context: &PackageContext,
    options: SyncOptions,
) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    if options.frozen {
        check_frozen(&texts)?;
    }
    let mut plan = PackagePlan::new("sync", &texts);
    plan.replace_changed = true;
    let fetcher = SourceFetcher::new(context, texts.settings.clone());
    resolve_missing(context, &texts, &fetcher, options.accepted, &mut plan)?;
    let changed: BTreeSet<String> = plan
        .changes
        .iter()
        .map(|change| change.name.clone())
        .collect();
    let kept = texts
        .lock
        .packages
        .iter()
        .filter(|package| !changed.contains(&package.name));
    for package in kept {
        sync_package(context, package, &fetcher, options, &mut plan)?;
    }
    let agents = wanted_agents(&plan.targets);
    plan.stale_links =
        !agents.is_empty() && !plan_links(context, &agents, LinkForm::Present)?.is_empty();
    plan.staging = fetcher.into_staging();
    Ok(plan)
}

/// Plans to write the lock, without installing anything. A lock with conflict markers is united.
pub fn plan_lock(
    context: &PackageContext,
    accepted: AcceptedChanges,
) -> Result<PackagePlan, PackageError> {
    let read = |path: &std::path::PathBuf| {
        read_text(path).map_err(|source| PackageError::File {
            verb: "read",
            path: path.clone(),
            source,
        })
    };
    let manifest_text = read(&context.scope.manifest)?;
    let lock_text = read(&context.scope.lock)?;
    let lock = match &lock_text {
        Some(text) => LockFile::unite(text)?.lock,
        None => LockFile::default(),
    };
    let texts = context.parsed(manifest_text, lock_text, lock)?;
    let mut plan = PackagePlan::new("lock", &texts);
    plan.lock_only = true;
    let fetcher = SourceFetcher::new(context, texts.settings.clone());
    resolve_missing(context, &texts, &fetcher, accepted, &mut plan)?;
    let written = texts.lock.to_text();
    let is_wanted = !texts.manifest.packages.is_empty() || texts.lock_text.is_some();
    plan.rewrite = is_wanted && texts.lock_text.as_ref() != Some(&written);
    plan.staging = fetcher.into_staging();
    Ok(plan)
}

/// Fails if manifest and lock disagree.
fn check_frozen(texts: &ScopeTexts) -> Result<(), PackageError> {
    let mut names = Vec::new();
    for entry in &texts.manifest.packages {
        let locked = texts.lock.get(&entry.name);
        if locked.is_none_or(|locked| difference(entry, locked).is_some()) {
            names.push(entry.name.clone());
        }
    }
    let wanted = texts.manifest.names();
    let unwanted = texts.lock.packages.iter();
    let unwanted = unwanted.filter(|package| !wanted.contains(&*package.name));
    names.extend(unwanted.map(|package| package.name.clone()));
    if names.is_empty() {
        return Ok(());
    }
    Err(OperationError::Frozen { names }.into())
}

/// Resolves the packages that the lock lacks, and drops those that the manifest lacks.
fn resolve_missing(
    context: &PackageContext,
    texts: &ScopeTexts,
    fetcher: &SourceFetcher<'_>,
    accepted: AcceptedChanges,
    plan: &mut PackagePlan,
) -> Result<(), PackageError> {
    for entry in &texts.manifest.packages {
        let locked = texts.lock.get(&entry.name);
        if locked.is_some_and(|locked| difference(entry, locked).is_none()) {
            continue;
        }
        texts.settings.check_source(&entry.source)?;
        let one = resolve_entry(fetcher, entry)?;
        if let Some(locked) = locked {
            check_change(fetcher, &entry.source, locked, &one.locked, accepted, plan)?;
        }
        add_fetched(plan, context, texts, one);
    }
    let wanted = texts.manifest.names();
    for package in &texts.lock.packages {
        if !wanted.contains(&*package.name) {
            plan.change(Some(package), None);
        }
    }
    Ok(())
}

/// Fetches what an entry of the manifest asks for.
pub(super) fn resolve_entry(
    fetcher: &SourceFetcher<'_>,
    entry: &PackageEntry,
) -> Result<FetchedPackage, PackageError> {
    let source = match &entry.source {
        PackageSource::Site { url, wanted } => fetcher.site(url, wanted)?,
        other => other.clone(),
    };
    let name = &entry.name;
    match &source {
        PackageSource::Git(git) => {
            let (chosen, is_held) = fetcher.choose(git, entry.skill_name(), false)?;
            fetcher.with_commit(&git.url, &chosen, true, |files, found| {
                let mut git = git.clone();
                if matches!(git.wanted, WantedRef::RefAndPath(_)) {
                    git.path = chosen.path.clone().or(git.path);
                }
                let wanted = git.path.as_deref().unwrap_or(entry.skill_name());
                let only = match found.packages.as_slice() {
                    [one] if git.path.is_none() && entry.skill.is_none() => Some(one),
                    _ => None,
                };
                let package = match found.select(wanted) {
                    Ok(package) => package,
                    Err(error) => only.filter(|one| one.problem.is_none()).ok_or(error)?,
                };
                fetcher.git_package(name, &git, &chosen, is_held, package, files)
            })
        }
        PackageSource::Archive { location, digest } => {
            let archive = fetcher.archive(location, digest.as_deref())?;
            let options = crate::find::FindOptions {
                source_name: name,
                all_paths: true,
            };
            let found = archive.unpacked.find(options)?;
            let package = match found.packages.as_slice() {
                [one] if one.problem.is_none() => one,
                _ => found.select(entry.skill_name())?,
            };
            fetcher.archive_package(name, location, &archive, package)
        }
        PackageSource::Index { url, name: skill } => {
            let index = fetcher.index(url)?;
            let skill = skill.as_deref().unwrap_or(entry.skill_name());
            fetcher.index_package(name, url, &index, skill)
        }
        PackageSource::Path { path } => fetcher.path_package(name, path),
        PackageSource::Mcp { server, uri } => {
            let offered = fetcher.offered(server)?;
            let wanted = if uri.is_empty() {
                entry.skill_name()
            } else {
                uri
            };
            let skill = select_offered(&offered, server, wanted)?;
            fetcher.served_package(name, server, skill)
        }
        PackageSource::Registry {
            registry,
            name: package,
            wanted,
        } => {
            let versions = fetcher.registry_package(registry, package)?;
            let version = fetcher.choose_registry(&versions, wanted)?;
            fetcher.registry_version(name, registry, package, wanted, version)
        }
        PackageSource::Site { .. } => Err(OperationError::Unsupported { kind: "site" }.into()),
    }
}

/// Fetches the bytes of a locked package if the store lacks them, and plans its entry.
fn sync_package(
    context: &PackageContext,
    package: &LockedPackage,
    fetcher: &SourceFetcher<'_>,
    options: SyncOptions,
    plan: &mut PackagePlan,
) -> Result<(), PackageError> {
    let wanted = wanted_entry(package, plan.vendor);
    let found = super::verify::found_entry(context, package);
    if let Some(digest) = &package.digest {
        let is_there = if options.verify_store {
            context.store.is_untouched(digest, &package.files)
                || context.store.verify(digest)? == TreeState::Whole
        } else {
            context.store.has(digest)
        };
        // A copy that is right serves, also without the store.
        let is_copied =
            found.as_ref() == Some(&wanted) && matches!(wanted, EntryState::Copy { .. });
        if (!is_there && !is_copied) || fetcher.is_unchecked(package) {
            plan.trees.push(fetcher.refetch(package)?);
        }
    }
    if found.as_ref() != Some(&wanted) {
        if matches!(found, Some(EntryState::Copy { .. })) && !is_path(package) {
            plan.notes.push(PlanNote::Restored {
                name: package.name.clone(),
                path: context.scope.skills.join(&package.name),
            });
        }
        plan.entries.push((package.name.clone(), wanted));
    }
    Ok(())
}
