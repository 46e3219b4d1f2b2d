//! Removes packages.

use crate::error::PackageError;

use super::plan::{ManifestEdit, PackagePlan};
use super::{OperationError, PackageContext};

/// Plans to remove packages from the manifest, the lock and the scope folder.
pub fn plan_remove(context: &PackageContext, names: &[&str]) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    let mut plan = PackagePlan::new(format!("remove {}", names.join(" ")), &texts);
    for name in names {
        let is_wanted = texts.manifest.get(name).is_some();
        let locked = texts.lock.get(name);
        if !is_wanted && locked.is_none() {
            return Err(OperationError::NoPackage {
                name: (*name).to_owned(),
            }
            .into());
        }
        if is_wanted {
            plan.edits.push(ManifestEdit::Remove((*name).to_owned()));
        }
        plan.change(locked, None);
    }
    Ok(plan)
}
