//! Upgrades of forks: a new version is merged into the files of the person.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_registry::bundled::{BundledText, bundled_history, bundled_skills};
use toml::{Table, Value};

use crate::error::PackageError;
use crate::journal::EntryState;
use crate::lock::{LockedKind, LockedPackage};
use crate::manifest;
use crate::merge::{
    self, NEW_ENDING, ShippedText, SkillConflict, SkillFiles, SkillMerge, merge_unknown,
};
use crate::resolve::AcceptedChanges;
use crate::source::{LockedSource, PackageSource};
use crate::store::StagingFolder;
use crate::tree::{PackageTree, TreeBuilder, TreeLimits, copy_folder, each_file};

use super::diff::{PackageFileChange, diff_folders};
use super::fetch::SourceFetcher;
use super::fork::{BUNDLED, add_tree, bundled_record, bundled_tree, forks, record, text};
use super::plan::{ForkedPackage, PackagePlan};
use super::sync::resolve_entry;
use super::update::newer_commit;
use super::{OperationError, PackageContext, ScopeTexts};

/// The key of a record with the digest of the version that the person was told about.
const TOLD: &str = "told";

/// A fork, and what a new version of its origin means for it.
#[derive(Debug)]
pub struct ForkUpgrade {
    /// The name.
    pub name: String,
    /// The version that the fork began with, or was merged with last.
    pub old: Option<String>,
    /// The new version.
    pub new: Option<String>,
    /// `true` if it comes with the program.
    pub is_bundled: bool,
    /// What happens.
    pub outcome: UpgradeOutcome,
    /// The files that would change.
    pub changes: Vec<PackageFileChange>,
    /// The folder of the person, and one with the files that would replace it.
    pub folders: Option<(PathBuf, PathBuf)>,
    /// What applying it changes. `None` if there is nothing to do.
    pub plan: Option<PackagePlan>,
}

/// What a new version means for a fork.
#[derive(Debug)]
pub enum UpgradeOutcome {
    /// There is no new version, or the fork has it.
    Current,
    /// The person removed the fork, and it stays removed.
    Removed,
    /// The body was not edited: it is replaced, and settings of the person stay.
    Replace,
    /// Both sides changed, without a conflict.
    Merge,
    /// Both sides changed the same place: the files of the person stay, and new ones are put beside
    /// them.
    Conflict(Vec<SkillConflict>),
    /// The person knows about the conflict with this version.
    Told,
    /// The person removed the files of an earlier conflict: what is there counts as merged.
    Settled,
    /// The source cannot be asked.
    Failed(Box<PackageError>),
}

/// A new version, in staging or in the store.
struct NewVersion {
    folder: PathBuf,
    digest: String,
    tree: Option<PackageTree>,
    version: Option<String>,
    record: Table,
}

/// Plans the upgrades of forks. `names` is empty for all.
pub fn plan_upgrades(
    context: &PackageContext,
    names: &[String],
    accepted: AcceptedChanges,
) -> Result<Vec<ForkUpgrade>, PackageError> {
    let texts = context.texts()?;
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    let mut upgrades = Vec::new();
    let mut known = Vec::new();
    for record in forks(&texts.lock) {
        let Some(name) = text(record, "name") else {
            continue;
        };
        known.push(name.to_owned());
        if !is_meant(name) {
            continue;
        }
        let mut upgrade = ForkUpgrade {
            name: name.to_owned(),
            old: text(record, "version").map(str::to_owned),
            new: None,
            is_bundled: text(record, "source") == Some(BUNDLED),
            outcome: UpgradeOutcome::Current,
            changes: Vec::new(),
            folders: None,
            plan: None,
        };
        match plan_one(context, &texts, record, accepted, &mut upgrade) {
            Ok(()) => {}
            // One source must not stop the others.
            Err(error) => upgrade.outcome = UpgradeOutcome::Failed(Box::new(error)),
        }
        upgrades.push(upgrade);
    }
    for bundled in bundled_skills() {
        let name = bundled.name;
        let is_other = texts.lock.get(name).is_some() || known.iter().any(|one| one == name);
        if !is_other && is_meant(name) {
            upgrades.extend(plan_copy(context, &texts, bundled)?);
        }
    }
    Ok(upgrades)
}

fn plan_one(
    context: &PackageContext,
    texts: &ScopeTexts,
    record: &Table,
    accepted: AcceptedChanges,
    upgrade: &mut ForkUpgrade,
) -> Result<(), PackageError> {
    let name = upgrade.name.clone();
    let folder = context.scope.skills.join(&name);
    if !folder.is_dir() {
        upgrade.outcome = UpgradeOutcome::Removed;
        return Ok(());
    }
    let staging = context.store.stage()?;
    let new = if upgrade.is_bundled {
        bundled_version(&name, &staging)?
    } else {
        fetched_version(context, texts, record, accepted)?
    };
    let (Some(new), base) = (new, text(record, "digest").unwrap_or_default()) else {
        return Ok(());
    };
    upgrade.new.clone_from(&new.version);
    if new.digest == base {
        return Ok(());
    }
    let mine = read_folder(&folder)?;
    let theirs = read_folder(&new.folder)?;
    let is_told = text(record, TOLD) == Some(&new.digest);
    let (own, beside) = without_new_files(&mine, record.contains_key(TOLD));
    if is_told {
        upgrade.outcome = if beside {
            UpgradeOutcome::Told
        } else {
            UpgradeOutcome::Settled
        };
        if !beside {
            let entry = Entry::Same;
            upgrade.plan = Some(plan_with(context, texts, &name, new, entry, None, staging)?);
        }
        return Ok(());
    }
    let stored = context.store.tree(base)?;
    let merged = if stored.is_dir() {
        merge::merge(
            &contents(&read_folder(&stored)?),
            Some(&contents(&own)),
            &contents(&theirs),
        )
    } else {
        // The base was pruned: nothing can be merged.
        merge_unknown(Some(&contents(&own)), &contents(&theirs), &[])
    };
    decide(
        context,
        texts,
        (merged, &own, &theirs),
        (record.clone(), new),
        staging,
        upgrade,
    )
}

/// Plans the upgrade of a copy of a bundled skill that has only a `planck_version`.
fn plan_copy(
    context: &PackageContext,
    texts: &ScopeTexts,
    bundled: &'static BundledText,
) -> Result<Option<ForkUpgrade>, PackageError> {
    let folder = context.scope.skills.join(bundled.name);
    if !folder.join("SKILL.md").is_file() || folder.is_symlink() {
        return Ok(None);
    }
    let mine = read_folder(&folder)?;
    let main = mine.get("SKILL.md").map(|(bytes, _)| bytes.as_slice());
    let parsed = prowess_spec::parse(main.unwrap_or_default());
    let Some(version) = &parsed.manifest.planck_version else {
        return Ok(None);
    };
    let version = version.value.trim().to_owned();
    if version == bundled.version {
        return Ok(None);
    }
    let staging = context.store.stage()?;
    let Some(new) = bundled_version(bundled.name, &staging)? else {
        return Ok(None);
    };
    let mut upgrade = ForkUpgrade {
        name: bundled.name.to_owned(),
        old: Some(version),
        new: new.version.clone(),
        is_bundled: true,
        outcome: UpgradeOutcome::Current,
        changes: Vec::new(),
        folders: None,
        plan: None,
    };
    let theirs = read_folder(&new.folder)?;
    let shipped: Vec<ShippedText<'_>> = bundled_history(bundled.name)
        .map(|one| ShippedText {
            version: one.version,
            text: one.text,
        })
        .collect();
    let merged = merge_unknown(Some(&contents(&mine)), &contents(&theirs), &shipped);
    let record = bundled_record(bundled, &new.digest);
    decide(
        context,
        texts,
        (merged, &mine, &theirs),
        (record, new),
        staging,
        &mut upgrade,
    )?;
    Ok(Some(upgrade))
}

/// The files of the person after an upgrade.
enum Entry {
    /// As they are.
    Same,
    /// Others.
    Files(FolderFiles),
}

/// Turns the result of a merge into a plan.
fn decide(
    context: &PackageContext,
    texts: &ScopeTexts,
    (merged, mine, theirs): (SkillMerge, &FolderFiles, &FolderFiles),
    (record, new): (Table, NewVersion),
    staging: StagingFolder,
    upgrade: &mut ForkUpgrade,
) -> Result<(), PackageError> {
    let with_kinds = |files: SkillFiles| -> FolderFiles {
        let kind = |path: &String, bytes: &Vec<u8>| {
            let from = |side: &FolderFiles| side.get(path).cloned();
            let (own, new) = (from(mine), from(theirs));
            let taken = new.filter(|(content, _)| content == bytes).or(own);
            taken.map_or(LockedKind::File, |(_, kind)| kind)
        };
        let files = files.into_iter();
        files
            .map(|(path, bytes)| {
                let kind = kind(&path, &bytes);
                (path, (bytes, kind))
            })
            .collect()
    };
    let name = upgrade.name.clone();
    let (outcome, entry, told) = match merged {
        SkillMerge::Removed => return Ok(()),
        // The new version has nothing that the person lacks: it is the base from now on.
        SkillMerge::Nothing => (UpgradeOutcome::Current, Entry::Same, None),
        SkillMerge::Replace(files) => (
            UpgradeOutcome::Replace,
            Entry::Files(with_kinds(files)),
            None,
        ),
        SkillMerge::Offer(files) => (UpgradeOutcome::Merge, Entry::Files(with_kinds(files)), None),
        SkillMerge::Conflict { conflicts, beside } => {
            let mut files = mine.clone();
            files.extend(with_kinds(beside));
            let told = Some((record, new.digest.clone()));
            let outcome = UpgradeOutcome::Conflict(conflicts);
            (outcome, Entry::Files(files), told)
        }
    };
    upgrade.outcome = outcome;
    let plan = plan_with(context, texts, &name, new, entry, told, staging)?;
    if let Some(merged) = plan.forked.as_ref().and_then(|fork| match &fork.entry {
        EntryState::Copy { digest } => plan.folder(&context.store, digest),
        _ => None,
    }) {
        let folder = context.scope.skills.join(&name);
        upgrade.changes = diff_folders(&folder, &merged)?;
        upgrade.folders = Some((folder, merged));
    }
    upgrade.plan = Some(plan);
    Ok(())
}

/// Plans new files for a fork, with the old ones kept in the store.
fn plan_with(
    context: &PackageContext,
    texts: &ScopeTexts,
    name: &str,
    new: NewVersion,
    entry: Entry,
    told: Option<(Table, String)>,
    staging: StagingFolder,
) -> Result<PackagePlan, PackageError> {
    let mut plan = PackagePlan::new(format!("update {name}"), texts);
    let folder = context.scope.skills.join(name);
    let mine = copy_folder(&folder, staging.path().join("mine"), TreeLimits::default())?;
    let mine_digest = mine.digest.clone();
    let digest = match entry {
        Entry::Same => mine_digest.clone(),
        Entry::Files(files) => {
            let tree = build(&files, staging.path().join("merged"))?;
            let digest = tree.digest.clone();
            add_tree(&mut plan, context, tree);
            digest
        }
    };
    add_tree(&mut plan, context, mine);
    let kept = vec![new.digest.clone(), mine_digest.clone()];
    let record = match told {
        None => new.record,
        Some((mut record, told)) => {
            record.insert(TOLD.to_owned(), Value::String(told));
            record
        }
    };
    if let Some(tree) = new.tree {
        add_tree(&mut plan, context, tree);
    }
    plan.forked = Some(ForkedPackage {
        name: name.to_owned(),
        entry: EntryState::Copy { digest },
        record,
        kept,
        replaced: Some(mine_digest),
    });
    plan.staging = Some(staging);
    Ok(plan)
}

fn bundled_version(
    name: &str,
    staging: &StagingFolder,
) -> Result<Option<NewVersion>, PackageError> {
    let Some(bundled) = bundled_skills().find(|one| one.name == name) else {
        return Ok(None);
    };
    let tree = bundled_tree(bundled, staging, "theirs")?;
    Ok(Some(NewVersion {
        folder: tree.folder.clone(),
        digest: tree.digest.clone(),
        version: Some(bundled.version.to_owned()),
        record: bundled_record(bundled, &tree.digest),
        tree: Some(tree),
    }))
}

/// Fetches the newest version that the manifest allowed when the package was forked. `None` if it is
/// the one that the fork has.
fn fetched_version(
    context: &PackageContext,
    texts: &ScopeTexts,
    old: &Table,
    accepted: AcceptedChanges,
) -> Result<Option<NewVersion>, PackageError> {
    let (Some(name), Some(value)) = (text(old, "name"), text(old, "entry")) else {
        return Ok(None);
    };
    let root = context.scope.root.to_string_lossy();
    let mirrors = context.mirrors().urls();
    let origin = context.origin(&root, &mirrors);
    let line = format!("[packages]\n{name} = {value}\n");
    let (manifest, _) = manifest::read("", &line, origin);
    let Some(entry) = manifest.get(name) else {
        return Err(OperationError::NoPackage {
            name: name.to_owned(),
        }
        .into());
    };
    texts.settings.check_source(&entry.source)?;
    let fetcher = SourceFetcher::new(context, texts.settings.clone());
    if let PackageSource::Git(git) = &entry.source {
        let field = |key: &str| text(old, key).map(str::to_owned);
        let locked = LockedPackage {
            name: name.to_owned(),
            version: field("version"),
            wanted: None,
            source: LockedSource::Git(git.url.clone()),
            path: field("path"),
            git_ref: field("ref"),
            commit: field("commit"),
            tree: None,
            digest: field("digest"),
            archive: None,
            license: None,
            signer: None,
            files: Vec::new(),
            extra: Table::new(),
        };
        let mut notes = PackagePlan::new("", texts);
        let newer = newer_commit(&fetcher, entry, git, &locked, accepted, &mut notes)?;
        let is_same = newer.is_none_or(|chosen| Some(chosen.commit) == locked.commit);
        if is_same {
            return Ok(None);
        }
    }
    let one = resolve_entry(&fetcher, entry)?;
    let digest = one.locked.digest.clone().unwrap_or_default();
    let mut record = record(&one.locked);
    record.insert("entry".to_owned(), Value::String(value.to_owned()));
    // Staging of the fetcher ends here: the files go to the store at once, where pruning finds them if
    // the upgrade is not taken.
    if let Some(tree) = &one.tree {
        let hold = context.store.hold()?;
        context.store.insert(&hold, &[tree])?;
    }
    Ok(Some(NewVersion {
        folder: context.store.tree(&digest)?,
        digest,
        tree: None,
        version: one.locked.version,
        record,
    }))
}

/// Files with content and type. The content of a link is its target.
type FolderFiles = BTreeMap<String, (Vec<u8>, LockedKind)>;

fn read_folder(folder: &Path) -> Result<FolderFiles, PackageError> {
    let mut files = FolderFiles::new();
    each_file(folder, &mut |path, kind, _, content: &mut dyn Read| {
        let mut bytes = Vec::new();
        let read = content.read_to_end(&mut bytes);
        read.map_err(|source| crate::tree::TreeError::Read {
            path: path.to_owned(),
            source,
        })?;
        files.insert(path.to_owned(), (bytes, kind));
        Ok(())
    })?;
    Ok(files)
}

fn contents(files: &FolderFiles) -> SkillFiles {
    let files = files.iter();
    files
        .map(|(path, (bytes, _))| (path.clone(), bytes.clone()))
        .collect()
}

/// Returns the files without those that an earlier conflict put beside them, and `true` if there were
/// any.
fn without_new_files(files: &FolderFiles, is_told: bool) -> (FolderFiles, bool) {
    let is_beside = |path: &str| is_told && path.ends_with(NEW_ENDING);
    let own = files.iter().filter(|(path, _)| !is_beside(path));
    let own: FolderFiles = own
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect();
    let beside = own.len() < files.len();
    (own, beside)
}

fn build(files: &FolderFiles, folder: PathBuf) -> Result<PackageTree, PackageError> {
    let mut builder = TreeBuilder::create(folder, TreeLimits::default())?;
    for (path, (bytes, kind)) in files {
        match kind {
            LockedKind::Link => builder.add_link(path, bytes)?,
            kind => builder.add_file(path, *kind, bytes.len() as u64, None, &mut &**bytes)?,
        }
    }
    Ok(builder.finish()?)
}
