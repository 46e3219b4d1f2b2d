//! Takes the newest versions that the manifest allows.

use crate::error::PackageError;
use crate::git::Ancestry;
use crate::lock::LockedPackage;
use crate::manifest::PackageEntry;
use crate::resolve::{
    AcceptedChanges, ChosenRef, ResolveError, ResolveNote, check_tag, check_update, difference,
};
use crate::source::{GitSource, PackageSource, WantedRef};

use super::add::add_fetched;
use super::fetch::SourceFetcher;
use super::plan::{PackagePlan, PlanNote};
use super::sync::resolve_entry;
use super::{OperationError, PackageContext};

/// Options of [`plan_update`].
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// Names of packages. Empty for all.
    pub names: Vec<String>,
    /// Answers that the person gave in advance.
    pub accepted: AcceptedChanges,
}

/// Plans to take the newest versions that the manifest allows.
pub fn plan_update(
    context: &PackageContext,
    options: &UpdateOptions,
) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let command = format!("update {}", options.names.join(" "));
    let mut plan = PackagePlan::new(command.trim_end(), &texts);
    let fetcher = SourceFetcher::new(context, texts.settings.clone());
    for name in &options.names {
        if texts.manifest.get(name).is_none() {
            return Err(OperationError::NoPackage { name: name.clone() }.into());
        }
    }
    let is_wanted =
        |entry: &&PackageEntry| options.names.is_empty() || options.names.contains(&entry.name);
    for entry in texts.manifest.packages.iter().filter(is_wanted) {
        texts.settings.check_source(&entry.source)?;
        let locked = texts.lock.get(&entry.name);
        let is_pinned = matches!(
            entry.source,
            PackageSource::Path { .. }
                | PackageSource::Archive {
                    digest: Some(_),
                    ..
                }
        );
        if is_pinned && locked.is_some_and(|locked| difference(entry, locked).is_none()) {
            continue;
        }
        if let (Some(locked), PackageSource::Git(git)) = (locked, &entry.source) {
            let newer = newer_commit(&fetcher, entry, git, locked, options.accepted, &mut plan)?;
            if newer.is_none() {
                continue;
            }
        }
        if let Some(locked) = locked
            && !has_newer(&fetcher, entry, locked, options.accepted, &mut plan)?
        {
            continue;
        }
        let one = resolve_entry(&fetcher, entry)?;
        if let Some(locked) = locked {
            check_version(entry, locked, &one.locked, options.accepted)?;
        }
        add_fetched(&mut plan, context, &texts, one);
    }
    plan.staging = fetcher.into_staging();
    Ok(plan)
}

/// Returns `false` if an MCP server or a registry has nothing newer, or only what is too young. No file
/// is fetched.
fn has_newer(
    fetcher: &SourceFetcher<'_>,
    entry: &PackageEntry,
    locked: &LockedPackage,
    accepted: AcceptedChanges,
    plan: &mut PackagePlan,
) -> Result<bool, PackageError> {
    if difference(entry, locked).is_some() {
        return Ok(true);
    }
    match &entry.source {
        PackageSource::Mcp { server, uri } => {
            let wanted = if uri.is_empty() {
                entry.skill_name()
            } else {
                uri
            };
            Ok(!fetcher.is_served_as_locked(server, wanted, locked)?)
        }
        PackageSource::Registry {
            registry,
            name,
            wanted,
        } => {
            let versions = fetcher.registry_package(registry, name)?;
            let version = match fetcher.choose_registry(&versions, wanted) {
                Ok(version) => version,
                Err(PackageError::Resolve(ResolveError::TooYoung { version, .. })) => {
                    plan.notes.push(PlanNote::TooYoung {
                        name: entry.name.clone(),
                        version,
                    });
                    return Ok(false);
                }
                Err(error) => return Err(error),
            };
            if locked.archive.as_ref() == Some(&version.digest) {
                return Ok(false);
            }
            let is_same = version.version.as_ref().map(ToString::to_string) == locked.version;
            if is_same && !accepted.moved_tag {
                return Err(ResolveError::MovedVersion {
                    version: version.name.clone(),
                    locked: locked.archive.clone().unwrap_or_default(),
                    now: version.digest.clone(),
                }
                .into());
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}

/// Returns the commit that a package would take. `None` if it is the locked one, or if a newer one is
/// too young.
pub(super) fn newer_commit(
    fetcher: &SourceFetcher<'_>,
    entry: &PackageEntry,
    git: &GitSource,
    locked: &LockedPackage,
    accepted: AcceptedChanges,
    plan: &mut PackagePlan,
) -> Result<Option<ChosenRef>, PackageError> {
    let name = &entry.name;
    if matches!(git.wanted, WantedRef::Commit(_)) && difference(entry, locked).is_none() {
        return Ok(None);
    }
    let refs = fetcher.refs(&git.url)?;
    check_tag(locked, &refs, accepted)?;
    let chosen = match fetcher.choose(git, entry.skill_name(), false) {
        Ok((chosen, _)) => chosen,
        Err(PackageError::Resolve(ResolveError::TooYoung { version, .. })) => {
            plan.notes.push(PlanNote::TooYoung {
                name: name.clone(),
                version,
            });
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let is_same = locked.commit.as_ref() == Some(&chosen.commit);
    let is_edited = difference(entry, locked).is_some();
    if is_same && locked.git_ref == chosen.name && !is_edited {
        return Ok(None);
    }
    let ancestry = if is_followed(&git.wanted, &chosen, locked, is_edited) {
        ancestry(fetcher, &git.url, &chosen, locked)?
    } else {
        None
    };
    let version = chosen.version.as_ref().map(ToString::to_string);
    let accepted = AcceptedChanges {
        // A changed manifest may ask for a lower version.
        downgrade: accepted.downgrade || is_edited,
        ..accepted
    };
    let note = check_update(locked, &chosen, version.as_deref(), ancestry, accepted)?;
    if let Some(ResolveNote::UnknownHistory { .. }) = note {
        plan.notes
            .push(PlanNote::HistoryUnknown { name: name.clone() });
    }
    Ok(Some(chosen))
}

/// Returns `true` if a commit must contain the locked one: it is the end of a branch, and the manifest
/// asks for the same as before. The name of the branch does not matter: a server may call another one its
/// default, or put a branch in the place of a tag.
fn is_followed(
    wanted: &WantedRef,
    chosen: &ChosenRef,
    locked: &LockedPackage,
    is_edited: bool,
) -> bool {
    let is_branch = match &chosen.name {
        Some(name) => name.starts_with("refs/heads/"),
        // The server does not name its default branch.
        None => *wanted == WantedRef::Default,
    };
    is_branch && (!is_edited || locked.git_ref == chosen.name)
}

fn ancestry(
    fetcher: &SourceFetcher<'_>,
    url: &str,
    chosen: &ChosenRef,
    locked: &LockedPackage,
) -> Result<Option<Ancestry>, PackageError> {
    let name = chosen.name.as_deref().unwrap_or("HEAD");
    match &locked.commit {
        Some(old) if *old != chosen.commit => {
            fetcher.ancestry(url, old, &chosen.commit, name).map(Some)
        }
        _ => Ok(None),
    }
}

/// Compares a package that was fetched with the locked one that it would replace, for operations other
/// than `update`. Refuses a moved tag, a rewritten history and a lower version, unless they were
/// accepted. `source` is what the manifest asks for now.
pub(super) fn check_change(
    fetcher: &SourceFetcher<'_>,
    source: &PackageSource,
    locked: &LockedPackage,
    new: &LockedPackage,
    mut accepted: AcceptedChanges,
    plan: &mut PackagePlan,
) -> Result<(), PackageError> {
    if !new.source.is_same_place(&locked.source) {
        // A manifest that names another source names another package.
        return Ok(());
    }
    let is_edited = new.wanted != locked.wanted || new.path != locked.path;
    accepted.downgrade |= is_edited;
    let chosen = ChosenRef {
        name: new.git_ref.clone(),
        seen_at: None,
        commit: new.commit.clone().unwrap_or_default(),
        version: None,
        path: None,
    };
    let mut compared = None;
    if let (PackageSource::Git(git), true) = (source, new.commit != locked.commit) {
        // A commit that is named by its id is what the person wants, wherever tags are.
        if !matches!(git.wanted, WantedRef::Commit(_)) {
            let refs = fetcher.refs(&git.url)?;
            check_tag(locked, &refs, accepted)?;
        }
        if is_followed(&git.wanted, &chosen, locked, is_edited) {
            compared = ancestry(fetcher, &git.url, &chosen, locked)?;
        }
    }
    if matches!(source, PackageSource::Registry { .. })
        && new.version == locked.version
        && new.archive != locked.archive
        && !accepted.moved_tag
    {
        return Err(ResolveError::MovedVersion {
            version: new.version.clone().unwrap_or_default(),
            locked: locked.archive.clone().unwrap_or_default(),
            now: new.archive.clone().unwrap_or_default(),
        }
        .into());
    }
    let version = new.version.as_deref();
    let note = check_update(locked, &chosen, version, compared, accepted)?;
    if let Some(ResolveNote::UnknownHistory { .. }) = note {
        plan.notes.push(PlanNote::HistoryUnknown {
            name: new.name.clone(),
        });
    }
    Ok(())
}

/// Refuses a lower version that only SKILL.md or an index declares.
fn check_version(
    entry: &PackageEntry,
    locked: &LockedPackage,
    new: &LockedPackage,
    mut accepted: AcceptedChanges,
) -> Result<(), PackageError> {
    // A changed manifest may ask for a lower version.
    accepted.downgrade |= difference(entry, locked).is_some();
    let chosen = ChosenRef {
        name: None,
        seen_at: None,
        commit: String::new(),
        version: None,
        path: None,
    };
    check_update(locked, &chosen, new.version.as_deref(), None, accepted)?;
    Ok(())
}
