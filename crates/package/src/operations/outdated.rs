//! Finds packages that could be updated.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::PackageError;
use crate::lock::LockedPackage;
use crate::manifest::PackageEntry;
use crate::resolve::{AcceptedChanges, check_tag, difference};
use crate::source::{PackageSource, WantedRef};

use super::fetch::SourceFetcher;
use super::sync::resolve_entry;
use super::{PackageContext, ScopeTexts};

/// Maximum number of sources that are asked at the same time.
const AT_ONCE: usize = 8;

/// A package that could be updated, or could not be asked about.
#[derive(Debug)]
pub struct OutdatedPackage {
    /// The name.
    pub name: String,
    /// The locked version or commit. `None` if it is not locked.
    pub locked: Option<String>,
    /// The newest version or commit that the manifest allows, or the reason why it is unknown.
    pub newest: Result<String, PackageError>,
}

/// Returns the packages that could be updated, sorted by name. Sources are asked in parallel, and one
/// that cannot be asked does not affect the others.
pub fn outdated(context: &PackageContext) -> Result<Vec<OutdatedPackage>, PackageError> {
    let texts = context.texts()?;
    let mut groups: BTreeMap<String, Vec<&PackageEntry>> = BTreeMap::new();
    for entry in &texts.manifest.packages {
        let key = match &entry.source {
            PackageSource::Path { .. }
            | PackageSource::Archive {
                digest: Some(_), ..
            } => continue,
            PackageSource::Git(git) if matches!(git.wanted, WantedRef::Commit(_)) => continue,
            source => source
                .locked()
                .map(|source| source.to_string())
                .unwrap_or_default(),
        };
        groups.entry(key).or_default().push(entry);
    }
    let groups: Vec<Vec<&PackageEntry>> = groups.into_values().collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(groups.len()) {
            scope.spawn(|| {
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fetcher = SourceFetcher::new(context, texts.settings.clone());
                    for entry in group {
                        let one = newest(&fetcher, &texts, entry);
                        found
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend(one);
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by(|a: &OutdatedPackage, b| a.name.cmp(&b.name));
    Ok(found)
}

fn newest(
    fetcher: &SourceFetcher<'_>,
    texts: &ScopeTexts,
    entry: &PackageEntry,
) -> Option<OutdatedPackage> {
    let locked = texts.lock.get(&entry.name);
    let report = |newest| {
        Some(OutdatedPackage {
            name: entry.name.clone(),
            locked: locked.map(shown),
            newest,
        })
    };
    if let Err(error) = texts.settings.check_source(&entry.source) {
        return report(Err(error.into()));
    }
    if let PackageSource::Git(git) = &entry.source {
        if let Some(locked) = locked {
            let checked = fetcher.refs(&git.url).and_then(|refs| {
                let checked = check_tag(locked, &refs, AcceptedChanges::default());
                checked.map(drop).map_err(PackageError::from)
            });
            if let Err(error) = checked {
                return report(Err(error));
            }
        }
        return match fetcher.choose(git, entry.skill_name(), false) {
            Ok((chosen, _)) => {
                let commit = locked.and_then(|locked| locked.commit.as_ref());
                if commit == Some(&chosen.commit) {
                    return None;
                }
                let version = chosen.version.map(|version| version.to_string());
                report(Ok(version.unwrap_or_else(|| short(&chosen.commit))))
            }
            Err(error) => report(Err(error)),
        };
    }
    if let (PackageSource::Mcp { server, uri }, Some(locked)) = (&entry.source, locked)
        && difference(entry, locked).is_none()
    {
        let wanted = if uri.is_empty() {
            entry.skill_name()
        } else {
            uri
        };
        // The list of the server is enough; no file is read.
        return match fetcher.is_served_as_locked(server, wanted, locked) {
            Ok(true) => None,
            Ok(false) => report(Ok("changed on the server".to_owned())),
            Err(error) => report(Err(error)),
        };
    }
    if let PackageSource::Registry {
        registry,
        name,
        wanted,
    } = &entry.source
    {
        let newest = fetcher
            .registry_package(registry, name)
            .and_then(|package| {
                let version = fetcher.choose_registry(&package, wanted)?;
                Ok((version.name.clone(), version.digest.clone()))
            });
        return match newest {
            Ok((_, digest)) if locked.is_some_and(|it| it.archive.as_ref() == Some(&digest)) => {
                None
            }
            Ok((version, _)) => report(Ok(version)),
            Err(error) => report(Err(error)),
        };
    }
    match resolve_entry(fetcher, entry) {
        Ok(one) => {
            let is_same = locked.is_some_and(|locked| {
                locked.digest == one.locked.digest && difference(entry, locked).is_none()
            });
            if is_same {
                None
            } else {
                report(Ok(shown(&one.locked)))
            }
        }
        Err(error) => report(Err(error)),
    }
}

fn shown(package: &LockedPackage) -> String {
    let commit = package.commit.as_deref().map(short);
    let digest = || package.digest.clone().unwrap_or_default();
    package.version.clone().or(commit).unwrap_or_else(digest)
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}
