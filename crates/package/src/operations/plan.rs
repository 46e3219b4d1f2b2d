//! Plans: what an operation would change, with the new files in staging.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_trust::{TrustError, summarise};

use crate::agents::{LinkAgent, link_agent};
use crate::error::PackageError;
use crate::journal::{EntryState, TextChange};
use crate::lock::{LockFile, LockedPackage};
use crate::manifest_edit::{remove_package, set_package};
use crate::power::{self, PowerDifference};
use crate::project::{ProjectError, ScopeChange, ScopeReport, ScopeSession};
use crate::source::LockedSource;
use crate::store::{PackageStore, StagingFolder};
use crate::tree::PackageTree;

use super::link::{LinkForm, apply_links, plan_links, plan_sweep};
use super::{PackageContext, ScopeTexts};

/// One changed package.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageChange {
    /// The name.
    pub name: String,
    /// The locked package before. `None` if it is added.
    pub old: Option<LockedPackage>,
    /// The locked package after. `None` if it is removed.
    pub new: Option<LockedPackage>,
}

/// Something a person should know about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanNote {
    /// The version of the tag and that of the SKILL.md differ.
    VersionDiffers {
        /// The package.
        name: String,
        /// The version of the tag.
        tag: String,
        /// The version that the package declares.
        declared: String,
    },
    /// The package is larger than other hosts need to accept.
    Large {
        /// The package.
        name: String,
        /// Number of files.
        files: usize,
        /// Size in bytes.
        bytes: u64,
    },
    /// The index has no digests: the files were hashed at first sight.
    FirstSight {
        /// The package.
        name: String,
    },
    /// The server does not give enough history to see if it was rewritten.
    HistoryUnknown {
        /// The package.
        name: String,
    },
    /// A newer version is younger than `minimum-age`.
    TooYoung {
        /// The package.
        name: String,
        /// The version or commit.
        version: String,
    },
    /// The package in the scope folder differs from the lock, and would be restored.
    Restored {
        /// The package.
        name: String,
        /// The folder that is replaced.
        path: PathBuf,
    },
    /// The source is a folder of this machine.
    Mirror {
        /// The address.
        url: String,
    },
    /// The signed list of files cannot be read, and was not compared.
    ListUnread {
        /// The package.
        name: String,
    },
    /// A skill of the source cannot be installed.
    NotInstallable {
        /// The skill.
        name: String,
        /// The reason.
        reason: String,
    },
}

/// An edit of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ManifestEdit {
    /// Adds or replaces an entry. The value is TOML.
    Set(String, String),
    /// Removes an entry.
    Remove(String),
    /// Replaces the whole text, if it is still the first one.
    Replace(Option<String>, Option<String>),
}

/// A package that becomes a skill of the person's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ForkedPackage {
    pub(super) name: String,
    /// The entry of the scope folder, which stays.
    pub(super) entry: EntryState,
    /// The origin, for the lock.
    pub(super) record: toml::Table,
    /// Digests of files that the store keeps: as they were locked, and as the person had them.
    pub(super) kept: Vec<String>,
    /// The digest of the files of the person that are replaced. `None` if there are none.
    pub(super) replaced: Option<String>,
}

impl ForkedPackage {
    /// Returns a package that stands for the files of the person.
    fn placeholder(&self, digest: String) -> LockedPackage {
        LockedPackage {
            name: self.name.clone(),
            version: None,
            wanted: None,
            source: LockedSource::Path,
            path: None,
            git_ref: None,
            commit: None,
            tree: None,
            digest: Some(digest),
            archive: None,
            license: None,
            signer: None,
            files: Vec::new(),
            extra: toml::Table::new(),
        }
    }
}

/// What an operation would change.
#[derive(Debug)]
pub struct PackagePlan {
    /// The command, for the history.
    pub command: String,
    /// Changed packages, sorted by name.
    pub changes: Vec<PackageChange>,
    /// Notes, in the order of the packages.
    pub notes: Vec<PlanNote>,
    pub(super) edits: Vec<ManifestEdit>,
    /// Entries of the scope folder besides those of the changes.
    pub(super) entries: Vec<(String, EntryState)>,
    pub(super) forked: Option<ForkedPackage>,
    /// Agents whose folders get links.
    pub(super) targets: Vec<String>,
    pub(super) trees: Vec<PackageTree>,
    pub(super) staging: Option<StagingFolder>,
    pub(super) vendor: bool,
    /// `true` if the scope folder is not changed.
    pub(super) lock_only: bool,
    /// A repository on disk outside of the project that the person named.
    pub(super) mirror: Option<String>,
    /// A host that the person named, and that may be in a private network.
    pub(super) host: Option<String>,
    pub(super) replace_changed: bool,
    /// `true` if links of other agents must be made or removed.
    pub(super) stale_links: bool,
    /// `true` to write the lock in its own form, whatever it looked like.
    pub(super) rewrite: bool,
    /// `true` to remove the lock if nothing is left in it.
    pub(super) removes_lock: bool,
    /// The lock that replaces the one in force, whatever that is.
    pub(super) base_lock: LockFile,
    pub(super) base_text: Option<String>,
}

impl PackagePlan {
    pub(super) fn new(command: impl Into<String>, texts: &ScopeTexts) -> Self {
        Self {
            command: command.into(),
            changes: Vec::new(),
            notes: Vec::new(),
            edits: Vec::new(),
            entries: Vec::new(),
            forked: None,
            targets: texts.settings.targets.clone().unwrap_or_default(),
            trees: Vec::new(),
            staging: None,
            vendor: texts.settings.vendor == Some(true),
            lock_only: false,
            mirror: None,
            host: None,
            replace_changed: false,
            stale_links: false,
            rewrite: false,
            removes_lock: false,
            base_lock: texts.lock.clone(),
            base_text: texts.lock_text.clone(),
        }
    }

    /// Returns `true` if nothing would change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.edits.is_empty()
            && self.entries.is_empty()
            && self.trees.is_empty()
            && self.forked.is_none()
            && !self.rewrite
            && !self.stale_links
    }

    /// Returns the number of entries of the scope folder that would be made besides those of changed
    /// packages.
    pub fn relinked(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of packages whose files were fetched.
    pub fn fetched(&self) -> usize {
        self.trees.len()
    }

    /// Returns the folder with the files of a digest: in staging, or in the store.
    pub fn folder(&self, store: &PackageStore, digest: &str) -> Option<PathBuf> {
        let staged = self.trees.iter().find(|tree| tree.digest == digest);
        let stored = || store.tree(digest).ok().filter(|path| path.is_dir());
        staged.map(|tree| tree.folder.clone()).or_else(stored)
    }

    /// Compares what the old and the new version of a package may do. `None` if one of them does not
    /// exist, or is a folder of the person's own.
    pub fn power(
        &self,
        store: &PackageStore,
        change: &PackageChange,
    ) -> Result<Option<PowerDifference>, TrustError> {
        let folder = |package: &Option<LockedPackage>| {
            let digest = package.as_ref()?.digest.as_ref()?;
            self.folder(store, digest)
        };
        let Some((old, new)) = folder(&change.old).zip(folder(&change.new)) else {
            return Ok(None);
        };
        Ok(Some(power::compare(&summarise(&old)?, &summarise(&new)?)))
    }

    /// Adds a change, if there is one.
    pub(super) fn change(&mut self, old: Option<&LockedPackage>, new: Option<LockedPackage>) {
        if old == new.as_ref() {
            return;
        }
        let Some(name) = old
            .map(|old| &old.name)
            .or(new.as_ref().map(|new| &new.name))
        else {
            return;
        };
        let change = PackageChange {
            name: name.clone(),
            old: old.cloned(),
            new,
        };
        let at = self
            .changes
            .partition_point(|other| other.name < change.name);
        self.changes.insert(at, change);
    }
}

/// Returns the entry of the scope folder that a locked package has.
pub(super) fn wanted_entry(package: &LockedPackage, vendor: bool) -> EntryState {
    match &package.digest {
        None => EntryState::Path {
            target: path_target(package.path.as_deref().unwrap_or_default()),
        },
        Some(digest) if vendor => EntryState::Copy {
            digest: digest.clone(),
        },
        Some(digest) => EntryState::Link {
            digest: digest.clone(),
        },
    }
}

/// Returns the target of the link of a `path` source: relative to the scope folder, which is two
/// folders below the root.
fn path_target(path: &str) -> String {
    if Path::new(path).is_absolute() {
        return path.to_owned();
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    format!("../../{path}")
}

/// Applies a plan. If the manifest or the lock changed since the plan was made, the plan is applied to
/// the new ones, as long as the packages that it changes are still the same.
pub fn apply(context: &PackageContext, plan: &PackagePlan) -> Result<ScopeReport, PackageError> {
    if plan.is_empty() {
        return Ok(ScopeReport::default());
    }
    // Held until the lock names the trees.
    let hold = context.store.hold()?;
    let trees: Vec<&PackageTree> = plan.trees.iter().collect();
    if !trees.is_empty() {
        context.store.insert(&hold, &trees)?;
    }
    for url in plan.mirror.iter().chain(&plan.host) {
        let record = context.mirrors();
        record
            .add(url, &context.faults)
            .map_err(|source| PackageError::File {
                verb: "write",
                path: context.scope.state(&context.state),
                source,
            })?;
    }
    let session = ScopeSession::open(
        &context.scope,
        &context.state,
        &context.store,
        &context.faults,
    )?;
    let modified = || ProjectError::Modified {
        path: context.scope.lock.clone(),
    };
    let lock_text = session.lock()?;
    let current = if lock_text == plan.base_text {
        plan.base_lock.clone()
    } else {
        match &lock_text {
            Some(text) => LockFile::parse(text)?,
            None => LockFile::default(),
        }
    };
    let mut lock = current.clone();
    let mut entries: BTreeMap<String, EntryState> = plan.entries.iter().cloned().collect();
    for change in &plan.changes {
        let now = current.get(&change.name);
        let is_done = now == change.new.as_ref();
        if now != change.old.as_ref() && !is_done {
            return Err(modified().into());
        }
        let entry = if let Some(package) = &change.new {
            lock.insert(package.clone());
            wanted_entry(package, plan.vendor)
        } else {
            lock.remove(&change.name);
            EntryState::Absent
        };
        entries.insert(change.name.clone(), entry);
    }
    for (name, _) in &plan.entries {
        // Another process changed the package since: its entry is right already.
        if current.get(name) != plan.base_lock.get(name) {
            entries.remove(name);
        }
    }
    if let Some(fork) = &plan.forked {
        for digest in &fork.kept {
            session.keep(digest)?;
        }
        entries.insert(fork.name.clone(), fork.entry.clone());
        let records = lock
            .extra
            .entry("fork")
            .or_insert_with(|| toml::Value::Array(Vec::new()));
        if let toml::Value::Array(records) = records {
            let name = fork.record.get("name");
            records.retain(|record| record.get("name") != name);
            records.push(toml::Value::Table(fork.record.clone()));
            let name = |record: &toml::Value| record.get("name").map(ToString::to_string);
            records.sort_by_key(name);
        }
    }
    let is_changed =
        lock != current || plan.rewrite || (lock_text.is_none() && !lock.packages.is_empty());
    let new_text = if plan.removes_lock && lock == LockFile::default() {
        None
    } else if is_changed {
        let text = lock.to_text();
        // A name of the source must not make the lockfile unreadable: its packages would be unchecked.
        LockFile::parse(&text)?;
        Some(text)
    } else {
        lock_text.clone()
    };
    let manifest =
        edited(session.manifest()?, &plan.edits)?.filter(|change| change.old != change.new);
    let change = ScopeChange {
        command: plan.command.clone(),
        time: context.now,
        manifest,
        lock: TextChange {
            old: lock_text,
            new: new_text,
        },
        entries: if plan.lock_only {
            Vec::new()
        } else {
            entries.into_iter().collect()
        },
        replace_changed: plan.replace_changed,
    };
    let mut expected = current;
    if let Some((fork, digest)) = plan
        .forked
        .as_ref()
        .and_then(|fork| Some((fork, fork.replaced.clone()?)))
    {
        // The files of the person are replaced only if they are still the ones that were merged.
        expected.insert(fork.placeholder(digest));
    }
    let report = session.commit(&change, &expected)?;
    drop(session);
    if !plan.lock_only {
        apply_agent_links(context, plan)?;
    }
    Ok(report)
}

/// Removes the links of removed packages from the folders of all agents, and makes those of the agents
/// in the settings.
fn apply_agent_links(context: &PackageContext, plan: &PackagePlan) -> Result<(), PackageError> {
    let removed = plan.changes.iter().filter(|change| change.new.is_none());
    let removed = removed.filter(|change| {
        let fork = plan.forked.as_ref();
        fork.is_none_or(|fork| fork.name != change.name)
    });
    let removed: Vec<&str> = removed.map(|change| &*change.name).collect();
    apply_links(context, &plan_sweep(context, &removed)?)?;
    let agents = wanted_agents(&plan.targets);
    if !agents.is_empty() {
        let plan = plan_links(context, &agents, LinkForm::Present)?;
        apply_links(context, &plan)?;
    }
    Ok(())
}

/// Returns the agents of the setting `targets`.
pub(super) fn wanted_agents(targets: &[String]) -> Vec<&'static LinkAgent> {
    targets.iter().filter_map(|name| link_agent(name)).collect()
}

fn edited(
    text: Option<String>,
    edits: &[ManifestEdit],
) -> Result<Option<TextChange>, PackageError> {
    if edits.is_empty() {
        return Ok(None);
    }
    let mut new = text.clone();
    for edit in edits {
        let current = new.as_deref().unwrap_or_default();
        new = match edit {
            ManifestEdit::Set(name, value) => Some(set_package(current, name, value)?),
            ManifestEdit::Remove(name) => Some(remove_package(current, name)?),
            ManifestEdit::Replace(old, replacement) if *old == new => replacement.clone(),
            ManifestEdit::Replace(..) => new,
        };
    }
    Ok(Some(TextChange { old: text, new }))
}

/// Returns `true` if a package is a folder of the person's own.
pub(super) fn is_path(package: &LockedPackage) -> bool {
    package.source == LockedSource::Path
}
