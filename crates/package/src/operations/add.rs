//! Adds packages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::error::PackageError;
use crate::find::{FindError, FindOptions, FoundPackage, FoundPackages};
use crate::lock::is_folder_name;
use crate::manifest_edit::entry_value;
use crate::plugins::PluginPlace;
use crate::project::ProjectError;
use crate::resolve::{AcceptedChanges, ChosenRef};
use crate::source::{ArchiveLocation, GitSource, PackageSource, WantedRef};

use super::fetch::{FetchedPackage, SourceFetcher, source_name};
use super::hosts::remembered_origin;
use super::plan::{ManifestEdit, PackagePlan, PlanNote};
use super::served::select_offered;
use super::update::check_change;
use super::{OperationError, PackageContext, ScopeTexts};

/// What to add.
#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The source, as it was typed.
    pub source: PackageSource,
    /// Names or folders of skills in the source. Empty for the only one.
    pub names: Vec<String>,
    /// `true` for all skills of the source.
    pub all: bool,
    /// `true` to look into folders such as `docs` and `examples` as well.
    pub all_paths: bool,
    /// Another name for the package.
    pub rename: Option<String>,
    /// A plugin of the source whose skills are wanted. It may be in another repository.
    pub plugin: Option<String>,
    /// Answers that the person gave in advance, for packages that are replaced.
    pub accepted: AcceptedChanges,
}

impl AddRequest {
    /// Creates a request for skills of a source.
    pub fn new(source: PackageSource, names: &[&str]) -> Self {
        Self {
            source,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            all: false,
            all_paths: false,
            rename: None,
            plugin: None,
            accepted: AcceptedChanges::default(),
        }
    }
}

/// The skills of a source.
#[derive(Clone, Debug)]
pub struct SourceListing {
    /// The source: a site is replaced by what it is.
    pub source: PackageSource,
    /// The skills and plugins.
    pub found: FoundPackages,
    /// The chosen commit of a git source.
    pub commit: Option<String>,
}

/// Lists the skills of a source, without adding anything.
pub fn list_source(
    context: &PackageContext,
    request: &AddRequest,
) -> Result<SourceListing, PackageError> {
    let texts = context.texts()?;
    texts.settings.check_source(&request.source)?;
    let fetcher = SourceFetcher::new(context, texts.settings.clone()).typed(&request.source);
    let source = known_source(&fetcher, &request.source)?;
    let (found, commit) = match &source {
        PackageSource::Git(git) => {
            let (chosen, _) = fetcher.choose(git, source_name(&git.url), true)?;
            let found = fetcher.with_commit(&git.url, &chosen, request.all_paths, |_, found| {
                Ok(found.clone())
            })?;
            (found, Some(chosen.commit))
        }
        PackageSource::Archive { location, digest } => {
            let archive = fetcher.archive(location, digest.as_deref())?;
            let options = archive_options(location, request);
            (archive.unpacked.find(options)?, None)
        }
        PackageSource::Index { url, .. } => {
            let index = fetcher.index(url)?;
            let skills = index.skills.iter();
            (
                listed(skills.map(|skill| (&*skill.name, &*skill.name))),
                None,
            )
        }
        PackageSource::Mcp { server, .. } => {
            let offered = fetcher.offered(server)?;
            let skills = offered.skills.iter();
            (
                listed(skills.map(|skill| (&*skill.name, &*skill.uri))),
                None,
            )
        }
        PackageSource::Registry { registry, name, .. } => {
            let package = fetcher.registry_package(registry, name)?;
            let versions = package.versions.iter().filter(|one| !one.yanked);
            (listed(versions.map(|one| (&**name, &*one.name))), None)
        }
        other => return Err(unsupported(other)),
    };
    Ok(SourceListing {
        source,
        found,
        commit,
    })
}

/// Returns a listing of names and places.
fn listed<'l>(skills: impl Iterator<Item = (&'l str, &'l str)>) -> FoundPackages {
    let package = |(name, place): (&str, &str)| FoundPackage {
        name: name.to_owned(),
        alias: None,
        folder: place.to_owned(),
        also_at: Vec::new(),
        linked_from: Vec::new(),
        plugins: Vec::new(),
        files: Vec::new(),
        problem: None,
    };
    FoundPackages {
        packages: skills.map(package).collect(),
        ..FoundPackages::default()
    }
}

/// Plans to add skills of a source.
pub fn plan_add(
    context: &PackageContext,
    request: &AddRequest,
) -> Result<PackagePlan, PackageError> {
    let texts = context.texts()?;
    texts.settings.check_source(&request.source)?;
    let fetcher = SourceFetcher::new(context, texts.settings.clone()).typed(&request.source);
    let source = known_source(&fetcher, &request.source)?;
    let mut plan = PackagePlan::new(command(request), &texts);
    if let Some(url) = fetcher.outside(&request.source) {
        // Others who have the project must name a mirror of their own.
        plan.notes.push(PlanNote::Mirror { url: url.clone() });
        plan.mirror = Some(url);
    }
    plan.host = remembered_origin(&request.source);
    let added = match &source {
        PackageSource::Git(git) => add_git(&fetcher, git, request, &texts, &mut plan)?,
        PackageSource::Archive { location, digest } => {
            let archive = fetcher.archive(location, digest.as_deref())?;
            let found = archive.unpacked.find(archive_options(location, request))?;
            let mut added = Vec::new();
            for package in selected(&found, request, &mut plan)? {
                let name = package_name(request, &package.name)?;
                let one = fetcher.archive_package(&name, location, &archive, package)?;
                let pinned = PackageSource::Archive {
                    location: location.clone(),
                    digest: Some(archive.digest.clone()),
                };
                added.push((one, pinned, package.name.clone()));
            }
            added
        }
        PackageSource::Index { url, name } => {
            let index = fetcher.index(url)?;
            let mut names: Vec<String> = name.iter().chain(&request.names).cloned().collect();
            if names.is_empty() {
                let all: Vec<String> = index
                    .skills
                    .iter()
                    .map(|skill| skill.name.clone())
                    .collect();
                names = choose_names(all, request, url)?;
            }
            let mut added = Vec::new();
            for skill in names {
                let name = package_name(request, &skill)?;
                let one = fetcher.index_package(&name, url, &index, &skill)?;
                let entry = PackageSource::Index {
                    url: url.clone(),
                    name: Some(skill.clone()),
                };
                // The name in the index is part of the source.
                added.push((one, entry, name));
            }
            added
        }
        PackageSource::Mcp { server, uri } => add_served(&fetcher, server, uri, request)?,
        PackageSource::Registry {
            registry,
            name: package,
            wanted,
        } => {
            let short = package.rsplit('/').next().unwrap_or(package);
            if let Some(other) = request.names.iter().find(|name| *name != short) {
                return Err(FindError::NotFound {
                    wanted: other.clone(),
                    near: Some(short.to_owned()),
                }
                .into());
            }
            let name = package_name(request, short)?;
            let versions = fetcher.registry_package(registry, package)?;
            let version = fetcher.choose_registry(&versions, wanted)?;
            let one = fetcher.registry_version(&name, registry, package, wanted, version)?;
            vec![(one, source.clone(), name)]
        }
        PackageSource::Path { path } => {
            let folder = path
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(path);
            let name = package_name(request, folder)?;
            vec![(fetcher.path_package(&name, path)?, source.clone(), name)]
        }
        PackageSource::Site { .. } => return Err(unsupported(&source)),
    };
    let shorthand = texts.settings.shorthand().to_owned();
    for (one, entry, skill) in one_of_each_name(added, request, &mut plan)? {
        check_free(context, &texts, &one)?;
        let name = one.locked.name.clone();
        if let Some(old) = texts.lock.get(&name) {
            let accepted = request.accepted;
            check_change(&fetcher, &entry, old, &one.locked, accepted, &mut plan)?;
        }
        let skill = (skill != name).then_some(&*skill);
        let value = entry_value(&entry, skill, &shorthand);
        plan.edits.push(ManifestEdit::Set(name, value));
        add_fetched(&mut plan, context, &texts, one);
    }
    plan.staging = fetcher.into_staging();
    Ok(plan)
}

/// Refuses several skills with one name, which would replace each other. With all skills of a source,
/// they are left out and named.
fn one_of_each_name(
    added: Vec<Added>,
    request: &AddRequest,
    plan: &mut PackagePlan,
) -> Result<Vec<Added>, PackageError> {
    let mut kept: Vec<Added> = Vec::new();
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let place = |one: &Added| one.0.locked.path.clone().unwrap_or_default();
    for one in added {
        let name = &one.0.locked.name;
        if let Some(places) = refused.get_mut(name) {
            places.push(place(&one));
            continue;
        }
        let twin = kept.iter().position(|other| other.0.locked.name == *name);
        match twin.and_then(|at| kept.get(at)) {
            None => kept.push(one),
            // Named twice.
            Some(other) if other.0.locked == one.0.locked => {}
            Some(other) => {
                refused.insert(name.clone(), vec![place(other), place(&one)]);
                kept.retain(|other| other.0.locked.name != *name);
            }
        }
    }
    let is_all = (request.all || request.plugin.is_some()) && request.rename.is_none();
    for (name, places) in refused {
        let error = OperationError::SameName { name, places };
        if !is_all || kept.is_empty() {
            return Err(error.into());
        }
        if let OperationError::SameName { name, .. } = &error {
            plan.notes.push(PlanNote::NotInstallable {
                name: name.clone(),
                reason: error.to_string(),
            });
        }
    }
    Ok(kept)
}

/// Adds a fetched package to a plan.
pub(super) fn add_fetched(
    plan: &mut PackagePlan,
    context: &PackageContext,
    texts: &ScopeTexts,
    one: FetchedPackage,
) {
    let mut new = one.locked;
    let old = texts.lock.get(&new.name);
    if let Some(old) = old {
        // What a newer version wrote about the same package stays.
        new.extra.clone_from(&old.extra);
    }
    plan.notes.extend(one.notes);
    plan.change(old, Some(new));
    plan.trees
        .extend(one.tree.filter(|tree| !context.store.has(&tree.digest)));
}

fn command(request: &AddRequest) -> String {
    let mut command = "add".to_owned();
    if let Some(source) = request.source.locked() {
        command.push_str(&format!(" {source}"));
    }
    for name in &request.names {
        command.push_str(&format!(" {name}"));
    }
    command
}

fn known_source(
    fetcher: &SourceFetcher<'_>,
    source: &PackageSource,
) -> Result<PackageSource, PackageError> {
    match source {
        PackageSource::Site { url, wanted } => fetcher.site(url, wanted),
        other => Ok(other.clone()),
    }
}

fn unsupported(source: &PackageSource) -> PackageError {
    let kind = match source {
        PackageSource::Git(_) => "git",
        PackageSource::Path { .. } => "path",
        PackageSource::Archive { .. } => "archive",
        PackageSource::Site { .. } => "site",
        PackageSource::Index { .. } => "index",
        PackageSource::Mcp { .. } => "mcp",
        PackageSource::Registry { .. } => "registry",
    };
    OperationError::Unsupported { kind }.into()
}

/// Adds skills of an MCP server: one by its address, or those that are named.
fn add_served(
    fetcher: &SourceFetcher<'_>,
    server: &str,
    uri: &str,
    request: &AddRequest,
) -> Result<Vec<Added>, PackageError> {
    let offered = fetcher.offered(server)?;
    let mut wanted: Vec<String> = request.names.clone();
    if !uri.is_empty() {
        wanted.insert(0, uri.to_owned());
    }
    if wanted.is_empty() {
        let all = offered.skills.iter().map(|skill| skill.uri.clone());
        wanted = choose_names(all.collect(), request, &format!("mcp:{server}"))?;
    }
    let mut added = Vec::new();
    for wanted in wanted {
        let skill = select_offered(&offered, server, &wanted)?;
        let name = package_name(request, &skill.name)?;
        let one = fetcher.served_package(&name, server, skill)?;
        let entry = PackageSource::Mcp {
            server: server.to_owned(),
            uri: skill.uri.clone(),
        };
        // The address of the skill is part of the source.
        added.push((one, entry, name));
    }
    Ok(added)
}

type Added = (FetchedPackage, PackageSource, String);

fn add_git(
    fetcher: &SourceFetcher<'_>,
    git: &GitSource,
    request: &AddRequest,
    texts: &ScopeTexts,
    plan: &mut PackagePlan,
) -> Result<Vec<Added>, PackageError> {
    // A range may fit other tags for each name: `NAME-v1.2.3`.
    let first = request
        .names
        .first()
        .map_or_else(|| source_name(&git.url), String::as_str);
    let (chosen, is_held) = fetcher.choose(git, first, true)?;
    let git = &pinned_source(git, &chosen);
    let all_paths = request.all_paths || git.path.is_some() || !request.names.is_empty();
    if let Some(plugin) = &request.plugin {
        let place = fetcher.with_commit(&git.url, &chosen, true, |_, found| {
            let one = found.plugins.iter().find(|one| one.name == *plugin);
            let one = one.ok_or_else(|| FindError::NotFound {
                wanted: plugin.clone(),
                near: None,
            })?;
            Ok(one.place.clone())
        })?;
        if let PluginPlace::Elsewhere(source) = place {
            // One hop: a plugin there is not followed again.
            texts.settings.check_source(&source)?;
            let PackageSource::Git(there) = *source else {
                return Err(unsupported(&source));
            };
            let request = AddRequest {
                plugin: None,
                all: request.all || request.names.is_empty(),
                ..request.clone()
            };
            return add_git(fetcher, &there, &request, texts, plan);
        }
    }
    let mut added = Vec::new();
    let mut add = |chosen: &ChosenRef, is_held, names: &[String]| {
        fetcher.with_commit(&git.url, chosen, all_paths, |files, found| {
            let request = AddRequest {
                names: names.to_vec(),
                ..request.clone()
            };
            let packages = match (&git.path, names) {
                (Some(path), []) => match found.select(path) {
                    Ok(one) => vec![one],
                    // A folder with several skills.
                    Err(error) => below(found, path, &request, plan, error)?,
                },
                _ => selected(found, &request, plan)?,
            };
            for package in packages {
                let name = package_name(&request, &package.name)?;
                let one = fetcher.git_package(&name, git, chosen, is_held, package, files)?;
                // By its name, if that is enough to find it again.
                let by_name = found
                    .select(&package.name)
                    .is_ok_and(|other| other == package);
                let path = git.path.is_some() || !by_name;
                let entry = GitSource {
                    path: path.then(|| package.folder.clone()),
                    ..git.clone()
                };
                added.push((one, PackageSource::Git(entry), package.name.clone()));
            }
            Ok(())
        })
    };
    if matches!(git.wanted, WantedRef::Version(_)) && request.names.len() > 1 {
        for name in &request.names {
            let (chosen, is_held) = fetcher.choose(git, name, true)?;
            add(&chosen, is_held, std::slice::from_ref(name))?;
        }
    } else {
        add(&chosen, is_held, &request.names)?;
    }
    Ok(added)
}

/// Replaces what only a command line may say: short ids, and addresses of pages.
fn pinned_source(git: &GitSource, chosen: &ChosenRef) -> GitSource {
    let named = || match &chosen.name {
        Some(name) => match name.strip_prefix("refs/tags/") {
            Some(tag) => WantedRef::Tag(tag.to_owned()),
            None => WantedRef::Branch(name.trim_start_matches("refs/heads/").to_owned()),
        },
        None => WantedRef::Commit(chosen.commit.clone()),
    };
    let mut git = git.clone();
    match &git.wanted {
        WantedRef::RefAndPath(_) => {
            git.wanted = named();
            git.path = chosen.path.clone().or(git.path);
        }
        WantedRef::Any(_) if chosen.name.is_none() => git.wanted = named(),
        _ => {}
    }
    git
}

/// Returns the skills below a folder.
fn below<'f>(
    found: &'f FoundPackages,
    path: &str,
    request: &AddRequest,
    plan: &mut PackagePlan,
    error: FindError,
) -> Result<Vec<&'f FoundPackage>, PackageError> {
    let prefix = format!("{}/", path.trim_end_matches('/'));
    let inner: Vec<&FoundPackage> = found
        .packages
        .iter()
        .filter(|one| one.folder.starts_with(&prefix))
        .collect();
    match inner.as_slice() {
        [] => Err(error.into()),
        _ => several(inner, request, plan, path),
    }
}

fn selected<'f>(
    found: &'f FoundPackages,
    request: &AddRequest,
    plan: &mut PackagePlan,
) -> Result<Vec<&'f FoundPackage>, PackageError> {
    if !request.names.is_empty() {
        let all = request.names.iter().map(|name| found.select(name));
        return Ok(all.collect::<Result<_, _>>()?);
    }
    let mut packages: Vec<&FoundPackage> = found.packages.iter().collect();
    if let Some(plugin) = &request.plugin {
        packages.retain(|one| one.plugins.contains(plugin));
    }
    let source = request.source.locked().map(|source| source.to_string());
    several(packages, request, plan, &source.unwrap_or_default())
}

fn several<'f>(
    packages: Vec<&'f FoundPackage>,
    request: &AddRequest,
    plan: &mut PackagePlan,
    source: &str,
) -> Result<Vec<&'f FoundPackage>, PackageError> {
    match packages.as_slice() {
        [] => Err(OperationError::NoSkills {
            source_text: source.to_owned(),
        }
        .into()),
        [one] => match &one.problem {
            None => Ok(packages),
            Some(problem) => Err(FindError::Refused {
                name: one.name.clone(),
                problem: problem.clone(),
            }
            .into()),
        },
        _ if request.all || request.plugin.is_some() => {
            let (good, bad): (Vec<_>, Vec<_>) =
                packages.into_iter().partition(|one| one.problem.is_none());
            // One name is one package: the first place counts.
            let mut names = BTreeSet::new();
            let (good, twins): (Vec<_>, Vec<_>) =
                good.into_iter().partition(|one| names.insert(&one.name));
            let twins = twins.into_iter().map(|one| {
                let reason = format!(
                    "another skill of the source has this name; add it with `{}` and `--as NAME`",
                    one.folder
                );
                (one, reason)
            });
            let bad = bad.into_iter().filter_map(|one| {
                let reason = one.problem.as_ref()?.to_string();
                Some((one, reason))
            });
            let left_out = bad.chain(twins);
            plan.notes
                .extend(left_out.map(|(one, reason)| PlanNote::NotInstallable {
                    name: one.name.clone(),
                    reason,
                }));
            Ok(good)
        }
        _ => Err(OperationError::ChooseSkill {
            names: packages.iter().map(|one| one.name.clone()).collect(),
        }
        .into()),
    }
}

fn choose_names(
    names: Vec<String>,
    request: &AddRequest,
    source: &str,
) -> Result<Vec<String>, PackageError> {
    match names.len() {
        0 => Err(OperationError::NoSkills {
            source_text: source.to_owned(),
        }
        .into()),
        1 => Ok(names),
        _ if request.all => Ok(names),
        _ => Err(OperationError::ChooseSkill { names }.into()),
    }
}

/// Returns the name of the package for a skill: its folder in the scope folder.
fn package_name(request: &AddRequest, skill: &str) -> Result<String, PackageError> {
    let name = request.rename.as_deref().unwrap_or(skill);
    if is_folder_name(name) {
        return Ok(name.to_owned());
    }
    Err(FindError::Refused {
        name: name.to_owned(),
        problem: crate::find::PackageProblem::Name,
    }
    .into())
}

fn archive_options<'a>(location: &'a ArchiveLocation, request: &AddRequest) -> FindOptions<'a> {
    let path = match location {
        ArchiveLocation::Url(path) | ArchiveLocation::File(path) => path,
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [".tar.gz", ".tgz", ".zip", ".skill"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end));
    FindOptions {
        source_name: stem.unwrap_or(name),
        all_paths: request.all_paths || !request.names.is_empty(),
    }
}

/// Refuses a name that something else has.
fn check_free(
    context: &PackageContext,
    texts: &ScopeTexts,
    one: &FetchedPackage,
) -> Result<(), PackageError> {
    let name = &one.locked.name;
    if let Some(old) = texts.lock.get(name) {
        if !old.source.is_same_place(&one.locked.source) {
            return Err(OperationError::Taken {
                name: name.clone(),
                source_text: old.source.to_string(),
            }
            .into());
        }
        return Ok(());
    }
    let path = context.scope.skills.join(name);
    let is_ours = match fs::symlink_metadata(&path) {
        Err(_) => true,
        Ok(facts) if facts.is_symlink() => {
            fs::read_link(&path).is_ok_and(|target| context.store.owns(&target))
        }
        Ok(_) => false,
    };
    if is_ours {
        return Ok(());
    }
    Err(ProjectError::NotOurs {
        path,
        name: name.clone(),
    }
    .into())
}
