//! Where the packages of this project and this person are, and what their lockfiles pin.

use std::sync::Arc;

use prowess_package::pins::{LockPins, PinScope};
use prowess_package::project::PackageScope;
use prowess_package::store::PackageStore;
use prowess_registry::PackageFolders;
use prowess_trust::ChangedPackage;

use crate::env::Environment;
use crate::permissions;

/// Returns the scope of the project around the current folder.
pub(crate) fn project_scope(environment: &Environment) -> PackageScope {
    PackageScope::project(&permissions::workspace(environment))
}

/// Returns the scope of the person, or `None` without a home or configuration folder.
pub(crate) fn user_scope(environment: &Environment) -> Option<PackageScope> {
    let file = environment.settings().user?;
    Some(PackageScope::user(environment.home.as_deref()?, file.parent()?))
}

/// Returns the store of packages, or `None` without a folder for data.
pub(crate) fn store(environment: &Environment) -> Option<PackageStore> {
    environment.data_folder().map(|data| PackageStore::new(&data))
}

/// Returns the lockfiles that skills are checked against.
pub(crate) fn pins(environment: &Environment) -> Option<Arc<LockPins>> {
    let scopes = [Some(project_scope(environment)), user_scope(environment)];
    let scopes = scopes.into_iter().flatten().map(|scope| PinScope {
        lock: scope.lock,
        entries: scope.skills,
        changed: ChangedPackage::Refuse,
    });
    let store = store(environment)?;
    Some(Arc::new(LockPins::new(scopes.collect(), store)))
}

/// Returns the folders of packages that links of the project may lead to.
pub(crate) fn folders(environment: &Environment) -> PackageFolders {
    match pins(environment) {
        Some(pins) => PackageFolders::new(move || pins.folders()),
        None => PackageFolders::default(),
    }
}
