//! Operations on the packages of a scope.
//!
//! Each operation first makes a plan, which says what would change and has the new files in staging,
//! and then applies it. Nothing of the scope changes before that, so that a caller can show the plan
//! and ask. No operation prints or prompts.

mod add;
mod diff;
mod fetch;
mod fork;
mod hosts;
mod link;
mod outdated;
mod pack;
mod plan;
mod prune;
mod refusal;
mod registry;
mod remove;
mod rollback;
mod served;
mod signed;
mod sync;
mod update;
mod upgrade;
mod verify;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_traits::{Fetcher, SkillServers};

pub use add::{AddRequest, SourceListing, list_source, plan_add};
pub use diff::{PackageFileChange, diff_folders, diff_installed};
pub use fork::{fork_base, forks, plan_fork, plan_restore};
pub use link::{LinkChange, LinkForm, LinkPlan, apply_links, plan_links, plan_unlink};
pub use outdated::{OutdatedPackage, outdated};
pub use pack::{PackFormat, PackedSite, pack, pack_site, write_whole};
pub use plan::{PackageChange, PackagePlan, PlanNote, apply};
pub use prune::prune;
pub use refusal::OperationError;
pub use remove::plan_remove;
pub use rollback::{RollbackTarget, history, plan_rollback};
pub use sync::{SyncOptions, plan_lock, plan_sync};
pub use update::{UpdateOptions, plan_update};
pub use upgrade::{ForkUpgrade, UpgradeOutcome, plan_upgrades};
pub use verify::{VerifyFinding, VerifyReport, verify};

use crate::error::PackageError;
use crate::fault::FaultPoints;
use crate::git::GitLimits;
use crate::lock::LockFile;
use crate::manifest::{self, InstallSettings, PackageManifest, RegistrySettings, SignerSettings};
use crate::mirrors::NamedMirrors;
use crate::project::{PackageScope, ScopeKind, ScopeSession, read_text, wait_for_commit};
use crate::source::SourceOrigin;
use crate::store::PackageStore;

/// Maximum number of attempts to read manifest and lock while other processes change them.
const MAX_READS: usize = 16;
/// Maximum time to wait for an operation that is under way.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Receives what an operation is doing, for display.
pub type OnProgress = Arc<dyn Fn(&PackageProgress<'_>) + Send + Sync>;

/// A step of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageProgress<'a> {
    /// A source is asked for its versions.
    Resolving {
        /// The source.
        source: &'a str,
    },
    /// A source is fetched.
    Fetching {
        /// The source.
        source: &'a str,
    },
    /// The files of a package are written to staging.
    Staging {
        /// The name of the package.
        name: &'a str,
    },
}

/// Servers, registries and keys of a person. A project's file cannot add any.
#[derive(Clone, Debug, Default)]
pub struct SourceAccess {
    /// The MCP servers. `None` if there are none.
    pub servers: Option<Arc<dyn SkillServers>>,
    /// The registries, by name.
    pub registries: BTreeMap<String, RegistrySettings>,
    /// The pinned signers, by name.
    pub signers: BTreeMap<String, SignerSettings>,
}

/// Everything that operations on a scope need.
#[derive(Clone)]
pub struct PackageContext {
    /// The scope.
    pub scope: PackageScope,
    /// The store.
    pub store: PackageStore,
    /// The cache folder of Prowess.
    pub cache: PathBuf,
    /// The state folder of Prowess.
    pub state: PathBuf,
    /// The environment of the caller, from which git gets a part.
    pub environment: Vec<(OsString, OsString)>,
    /// Limits of git.
    pub git_limits: GitLimits,
    /// Sends web requests. `None` without network.
    pub fetcher: Option<Arc<dyn Fetcher>>,
    /// The settings of the person. Those of a project's manifest are added.
    pub settings: InstallSettings,
    /// Servers, registries and keys of the person.
    pub access: SourceAccess,
    /// `true` to use the store and the cache only.
    pub offline: bool,
    /// The time in seconds since 1970.
    pub now: i64,
    /// Receives progress.
    pub progress: Option<OnProgress>,
    /// Fault points, for tests.
    pub faults: Arc<FaultPoints>,
}

impl fmt::Debug for PackageContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageContext")
            .field("scope", &self.scope)
            .field("store", &self.store)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

/// The manifest and the lock of a scope, as they are now.
#[derive(Clone, Debug)]
pub struct ScopeTexts {
    /// The text of the manifest.
    pub manifest_text: Option<String>,
    /// The text of the lock.
    pub lock_text: Option<String>,
    /// The manifest.
    pub manifest: PackageManifest,
    /// The lock.
    pub lock: LockFile,
    /// The settings in force.
    pub settings: InstallSettings,
}

impl PackageContext {
    /// Creates a context without network, settings and environment. `data`, `cache` and `state` are the
    /// folders of Prowess.
    pub fn new(scope: PackageScope, data: &Path, cache: &Path, state: &Path) -> Self {
        Self {
            scope,
            store: PackageStore::new(data),
            cache: cache.to_owned(),
            state: state.to_owned(),
            environment: Vec::new(),
            git_limits: GitLimits::default(),
            fetcher: None,
            settings: InstallSettings::default(),
            access: SourceAccess::default(),
            offline: false,
            now: 0,
            progress: None,
            faults: Arc::default(),
        }
    }

    fn report(&self, step: &PackageProgress<'_>) {
        if let Some(progress) = &self.progress {
            progress(step);
        }
    }

    /// Returns the record of repositories on disk that the person named.
    fn mirrors(&self) -> NamedMirrors {
        NamedMirrors::new(&self.scope.state(&self.state))
    }

    /// Returns the place where the sources of the manifest are written.
    fn origin<'r>(&self, root: &'r str, mirrors: &'r [String]) -> SourceOrigin<'r> {
        match self.scope.kind {
            ScopeKind::Project => SourceOrigin::Project { root, mirrors },
            ScopeKind::User => SourceOrigin::Person,
        }
    }

    /// Reads the manifest and the lock.
    pub fn texts(&self) -> Result<ScopeTexts, PackageError> {
        let read = |path: &PathBuf| {
            read_text(path).map_err(|source| PackageError::File {
                verb: "read",
                path: path.clone(),
                source,
            })
        };
        // Both as one operation left them: the lock is written last.
        let mut manifest_text = None;
        let mut lock_text = None;
        for _ in 0..MAX_READS {
            wait_for_commit(&self.scope, &self.state, MAX_WAIT);
            if self.scope.state(&self.state).join("journal").exists() {
                // Its writer is dead, or slow: then this waits.
                ScopeSession::open(&self.scope, &self.state, &self.store, &self.faults)?;
            }
            lock_text = read(&self.scope.lock)?;
            manifest_text = read(&self.scope.manifest)?;
            if read(&self.scope.lock)? == lock_text {
                break;
            }
        }
        let lock = match &lock_text {
            Some(text) => LockFile::parse(text)?,
            None => LockFile::default(),
        };
        self.parsed(manifest_text, lock_text, lock)
    }

    fn parsed(
        &self,
        manifest_text: Option<String>,
        lock_text: Option<String>,
        lock: LockFile,
    ) -> Result<ScopeTexts, PackageError> {
        let path = self.scope.manifest.display().to_string();
        let root = self.scope.root.to_string_lossy();
        let mirrors = self.mirrors().urls();
        let origin = self.origin(&root, &mirrors);
        let text = manifest_text.as_deref().unwrap_or_default();
        let (manifest, report) = manifest::read(&path, text, origin);
        let is_error = |severity| severity == prowess_diag::Severity::Error;
        let fault = report.diagnostics.iter().find(|one| is_error(one.severity));
        if let Some(fault) = fault {
            return Err(OperationError::Manifest {
                path: self.scope.manifest.clone(),
                reason: fault.message.to_string(),
            }
            .into());
        }
        let settings = match self.scope.kind {
            ScopeKind::Project => self.settings.with_project(&manifest.install),
            ScopeKind::User => self.settings.clone(),
        };
        Ok(ScopeTexts {
            manifest_text,
            lock_text,
            manifest,
            lock,
            settings,
        })
    }
}
