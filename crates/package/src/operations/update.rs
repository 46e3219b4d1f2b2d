//! Takes the newest versions that the manifest allows.

use crate::error::PackageError;
use crate::lock::LockedPackage;
use crate::manifest::PackageEntry;
use crate::resolve::{
    AcceptedChanges, ChosenRef, ResolveError, ResolveNote, check_tag, check_update, difference,
};
use crate::source::{GitSource, PackageSource};

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
    if matches!(git.wanted, crate::source::WantedRef::Commit(_))
        && difference(entry, locked).is_none()
    {
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
    if is_same && locked.git_ref == chosen.name && difference(entry, locked).is_none() {
        return Ok(None);
    }
    let branch = chosen
        .name
        .as_ref()
        .filter(|name| name.starts_with("refs/heads/"));
    let ancestry = match (branch, &locked.commit) {
        (Some(branch), Some(old)) if locked.git_ref == chosen.name && !is_same => {
            Some(fetcher.ancestry(&git.url, old, &chosen.commit, branch)?)
        }
        _ => None,
    };
    let version = chosen.version.as_ref().map(ToString::to_string);
    let note = check_update(locked, &chosen, version.as_deref(), ancestry, accepted)?;
    if let Some(ResolveNote::UnknownHistory { .. }) = note {
        plan.notes
            .push(PlanNote::HistoryUnknown { name: name.clone() });
    }
    Ok(Some(chosen))
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
