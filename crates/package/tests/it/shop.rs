//! A project, a store and a repository, and operations on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use prowess_package::fault::FaultPoints;
use prowess_package::git::GitLimits;
use prowess_package::manifest::InstallSettings;
use prowess_package::operations::{
    AddRequest, PackageContext, PackagePlan, SourceAccess, apply, history, plan_add,
};
use prowess_package::project::{PackageScope, ScopeReport, ScopeSession};
use prowess_package::source::{DEFAULT_SHORTHAND, SourceOrigin};
use prowess_package::store::{PackageStore, StoreError, TreeState};
use prowess_package::{LockFile, PackageError, PackageSource};
use prowess_registry::digest_of;

use crate::support::{Repository, environment};

/// A project with a store of its own.
pub(crate) struct Shop {
    pub(crate) root: PathBuf,
    temp: Option<tempfile::TempDir>,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let shop = Self {
            root,
            temp: Some(temp),
        };
        fs::create_dir(shop.project()).unwrap();
        shop
    }

    /// Creates a shop with a copy of the repository of another one.
    pub(crate) fn with_repository_of(other: &Shop) -> (Self, Repository) {
        let shop = Self::new();
        let (from, folder) = (
            other.project().join("source"),
            shop.project().join("source"),
        );
        let status = Command::new("cp").arg("-a").arg(from).arg(&folder).status();
        assert!(status.unwrap().success());
        (shop, Repository { folder })
    }

    /// Opens a shop of another process.
    pub(crate) fn at(root: &str) -> Self {
        Self {
            root: root.into(),
            temp: None,
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(crate) fn skill(&self, name: &str) -> PathBuf {
        self.project().join(".agents/skills").join(name)
    }

    pub(crate) fn context(&self) -> PackageContext {
        self.context_with(FaultPoints::default())
    }

    pub(crate) fn context_with(&self, faults: FaultPoints) -> PackageContext {
        let faults = Arc::new(faults);
        PackageContext {
            scope: PackageScope::project(&self.project()),
            store: PackageStore::with_faults(&self.root.join("data"), Arc::clone(&faults)),
            cache: self.root.join("cache"),
            state: self.root.join("state"),
            environment: environment(&self.root.join("home")),
            git_limits: GitLimits::default(),
            fetcher: None,
            settings: InstallSettings::default(),
            access: SourceAccess::default(),
            offline: false,
            now: 1_800_000_000,
            progress: None,
            faults,
        }
    }

    pub(crate) fn store(&self) -> PackageStore {
        PackageStore::new(&self.root.join("data"))
    }

    pub(crate) fn manifest(&self, text: &str) {
        fs::create_dir_all(self.project().join(".agents")).unwrap();
        fs::write(self.project().join(".agents/prowess.toml"), text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.project().join(path)).ok()
    }

    pub(crate) fn lock(&self) -> LockFile {
        let text = self.read(".agents/prowess.lock");
        text.map_or_else(LockFile::default, |text| LockFile::parse(&text).unwrap())
    }

    pub(crate) fn add(&self, source: &PackageSource, names: &[&str]) -> ScopeReport {
        let context = self.context();
        let plan = plan_add(&context, &AddRequest::new(source.clone(), names)).unwrap();
        apply(&context, &plan).unwrap()
    }

    pub(crate) fn run(
        &self,
        plan: impl FnOnce(&PackageContext) -> Result<PackagePlan, PackageError>,
    ) -> Result<ScopeReport, PackageError> {
        let context = self.context();
        apply(&context, &plan(&context)?)
    }

    /// Completes or undoes an interrupted operation, as the next command does.
    pub(crate) fn recover(&self) {
        let context = self.context();
        let session = ScopeSession::open(
            &context.scope,
            &context.state,
            &context.store,
            &context.faults,
        );
        drop(session.unwrap());
    }

    /// Removes trees that neither the lock nor an earlier one names.
    pub(crate) fn reset(&self) {
        let context = self.context();
        let mut locks = vec![self.lock()];
        for entry in history(&context).unwrap() {
            locks.push(entry.parsed().unwrap());
        }
        let packages = locks.into_iter().flat_map(|lock| lock.packages);
        let keep = packages.filter_map(|package| package.digest).collect();
        context.store.prune(|| Ok::<_, StoreError>(keep)).unwrap();
    }

    /// Returns everything that an operation changes in the project.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut entries = BTreeMap::new();
        let skills = self.project().join(".agents/skills");
        for entry in fs::read_dir(&skills).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let state = match fs::read_link(entry.path()) {
                Ok(_) => format!("link {}", digest_of(&entry.path()).unwrap()),
                Err(_) => format!("copy {}", digest_of(&entry.path()).unwrap()),
            };
            entries.insert(name, state);
        }
        let agents = fs::read_dir(self.project().join(".agents"))
            .into_iter()
            .flatten();
        let mut others: Vec<String> = agents
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !["prowess.toml", "prowess.lock", "skills"].contains(&&**name))
            .collect();
        others.sort();
        // The same in every shop.
        let read = |path: &str| {
            let root = self.root.to_str().unwrap();
            self.read(path).map(|text| text.replace(root, "ROOT"))
        };
        Snapshot {
            manifest: read(".agents/prowess.toml"),
            lock: read(".agents/prowess.lock"),
            entries,
            others,
        }
    }

    /// Checks that every tree in the store is whole.
    pub(crate) fn check_store(&self) {
        let store = self.store();
        for digest in store.digests().unwrap() {
            assert_eq!(store.verify(&digest).unwrap(), TreeState::Whole, "{digest}");
        }
    }
}

impl Drop for Shop {
    /// Every lock that a test leaves fits the schema. Tests that damage a lock leave one that cannot be
    /// parsed.
    fn drop(&mut self) {
        let text = self.read(".agents/prowess.lock").unwrap_or_default();
        if self.temp.is_some() && !std::thread::panicking() && LockFile::parse(&text).is_ok() {
            check_schema(&text);
        }
    }
}

/// Checks the text of a lock against its schema.
pub(crate) fn check_schema(text: &str) {
    let value: toml::Table = toml::from_str(text).unwrap();
    let value = serde_json::to_value(value).unwrap();
    let schema = (prowess_package::lock::LOCK_SCHEMA.build)();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?}\n{text}");
}

/// What an operation changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) manifest: Option<String>,
    pub(crate) lock: Option<String>,
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) others: Vec<String>,
}

/// Parses a source as it is typed.
pub(crate) fn typed(text: &str) -> PackageSource {
    PackageSource::parse(text, DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap()
}

/// Creates a repository in the project with the skill `pdf` in two versions.
pub(crate) fn two_versions(shop: &Shop) -> Repository {
    let repository = Repository::create(shop.project().join("source"));
    repository
        .skill("skills/pdf", "pdf", "1.0.0", "One.")
        .executable("skills/pdf/scripts/fill.py", "#!/usr/bin/env python3\n")
        .skill("skills/csv", "csv", "1.0.0", "CSV.");
    repository.commit("one");
    repository.tag("v1.0.0");
    repository
        .skill("skills/pdf", "pdf", "1.1.0", "Two.")
        .file("skills/pdf/more.md", "more");
    repository.commit("two");
    repository
}

/// Returns the source of a repository with a version or ref.
pub(crate) fn source_of(repository: &Repository, wanted: &str) -> PackageSource {
    typed(&format!("git+{}{wanted}", repository.url()))
}
