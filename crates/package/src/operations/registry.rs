//! Packages of registries.

use crate::archive::{ArchiveLimits, UnpackedArchive, unpack};
use crate::error::PackageError;
use crate::find::{FindOptions, FoundPackages};
use crate::lock::LockedPackage;
use crate::registry::{RegistryPackage, RegistryReader, RegistryVersion};
use crate::seen::SeenSources;
use crate::source::{LockedSource, WantedRef};
use crate::tree::PackageTree;

use super::fetch::{Declared, FetchedPackage, PackageOrigin, SourceFetcher};
use super::signed::SignedBy;
use super::{OperationError, PackageProgress};

impl SourceFetcher<'_> {
    /// Passes on a reader of a registry of the person.
    fn with_registry<T>(
        &self,
        registry: &str,
        work: impl FnOnce(&RegistryReader<'_>) -> Result<T, PackageError>,
    ) -> Result<T, PackageError> {
        let settings = self.context.access.registries.get(registry);
        let settings = settings.ok_or_else(|| OperationError::NoRegistry {
            name: registry.to_owned(),
        })?;
        let token = match &settings.token_env {
            None => None,
            Some(variable) => {
                let found = self.context.environment.iter();
                let mut found = found.filter(|(name, _)| name.to_str() == Some(variable));
                let value = found.next().and_then(|(_, value)| value.to_str());
                let value = value.map(str::trim).filter(|value| !value.is_empty());
                Some(value.ok_or_else(|| OperationError::NoToken {
                    registry: registry.to_owned(),
                    variable: variable.clone(),
                })?)
            }
        };
        let reader = RegistryReader {
            fetcher: self.fetcher(&settings.url)?,
            url: &settings.url,
            token,
        };
        work(&reader)
    }

    /// Reads the versions of a package.
    pub(super) fn registry_package(
        &self,
        registry: &str,
        name: &str,
    ) -> Result<RegistryPackage, PackageError> {
        self.with_registry(registry, |reader| {
            let source = format!("{registry}:{name}");
            self.context
                .report(&PackageProgress::Resolving { source: &source });
            let seen = SeenSources::new(&self.context.state);
            let package = reader.read(name, &|place| seen.sequence(place))?;
            let sequence = package.sequence.map(|number| (&*package.url, number));
            // What cannot be remembered only makes later checks weaker.
            let _ = seen.record(sequence, &[], self.context.now);
            Ok(package)
        })
    }

    /// Chooses a version of a package.
    pub(super) fn choose_registry<'p>(
        &self,
        package: &'p RegistryPackage,
        wanted: &WantedRef,
    ) -> Result<&'p RegistryVersion, PackageError> {
        Ok(package.choose(wanted, self.context.now, self.settings.minimum_age)?)
    }

    /// Fetches a version of a package, and stages its skill.
    pub(super) fn registry_version(
        &self,
        name: &str,
        registry: &str,
        package: &str,
        wanted: &WantedRef,
        version: &RegistryVersion,
    ) -> Result<FetchedPackage, PackageError> {
        let (tree, signed) = self.registry_tree(name, registry, package, version)?;
        let origin = PackageOrigin {
            source: Some(LockedSource::Registry(registry.to_owned())),
            path: Some(package.to_owned()),
            wanted: wanted.lock_text(),
            archive: Some(version.digest.clone()),
            version: version.version.as_ref(),
            other_version: Some(&version.name),
            signed,
            ..PackageOrigin::default()
        };
        let declared = Declared::of(&tree.folder);
        self.finish(name, origin, declared, tree)
    }

    fn registry_tree(
        &self,
        name: &str,
        registry: &str,
        package: &str,
        version: &RegistryVersion,
    ) -> Result<(PackageTree, Option<SignedBy>), PackageError> {
        let source = LockedSource::Registry(registry.to_owned());
        let (unpacked, signed) = self.with_registry(registry, |reader| {
            self.context.report(&PackageProgress::Fetching {
                source: &version.url,
            });
            let bytes = reader.archive(version)?;
            let signed = self.check_archive(&source, Some(package), &bytes, &|| {
                Ok(reader.signature(version)?)
            })?;
            let unpacked = unpack(&bytes, &self.place()?, ArchiveLimits::default())?;
            Ok((unpacked, signed))
        })?;
        let short = package.rsplit('/').next().unwrap_or(package);
        let found = only_skill(&unpacked, short)?;
        let one = match found.packages.as_slice() {
            [one] if one.problem.is_none() => one,
            _ => found.select("").or_else(|_| found.select(short))?,
        };
        Ok((self.stage(name, one, &unpacked)?, signed))
    }

    /// Fetches the archive of a locked package again.
    pub(super) fn refetch_registry(
        &self,
        registry: &str,
        locked: &LockedPackage,
        package: &str,
    ) -> Result<(PackageTree, Option<SignedBy>), PackageError> {
        let versions = self.registry_package(registry, package)?;
        let digest = locked.archive.as_deref().unwrap_or_default();
        // Never another version instead.
        let version = versions.with_digest(digest);
        let version = version.ok_or_else(|| OperationError::ArchiveGone {
            registry: registry.to_owned(),
            name: locked.name.clone(),
        })?;
        self.registry_tree(&locked.name, registry, package, version)
    }
}

fn only_skill(unpacked: &UnpackedArchive, name: &str) -> Result<FoundPackages, PackageError> {
    let options = FindOptions {
        source_name: name,
        all_paths: true,
    };
    Ok(unpacked.find(options)?)
}
