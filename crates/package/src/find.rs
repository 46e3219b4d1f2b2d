//! Finds skills in a list of paths: the tree of a commit, an archive, a folder, a listing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use prowess_registry::fs::read::SKILL_FILES;
use prowess_spec::identify;

use crate::address::is_repository_folder;
use crate::lock::{LockedKind, is_folder_name};
use crate::plugins::{self, FoundPlugin};

/// Maximum number of entries of a source.
pub const MAX_ENTRIES: usize = 500_000;
/// Maximum number of files of a skill.
pub const MAX_SKILL_FILES: usize = 10_000;
/// Maximum number of files of all skills of a source. A file counts for each skill that has it: in a
/// folder around another one, or through a link.
pub const MAX_FOUND_FILES: usize = 250_000;
/// Maximum total size of the files of a skill, in bytes.
pub const MAX_SKILL_BYTES: u64 = 256 * 1024 * 1024;
/// Depth of a folder that is offered only with all paths.
const USUAL_DEPTH: usize = 6;
/// Maximum number of links that are followed for one path.
const MAX_HOPS: usize = 40;
/// Maximum number of links to folders that are replaced inside each other.
const MAX_NESTED_COPIES: usize = 8;
/// Folders whose skills are offered only with all paths.
pub const EXTRA_FOLDERS: [&str; 10] = [
    "docs",
    "dist",
    "build",
    "backups",
    "archive",
    "examples",
    "fixtures",
    "templates",
    "tests",
    "node_modules",
];

/// One file, link or submodule of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// The path relative to the root of the source, with forward slashes.
    pub path: String,
    /// The type.
    pub kind: SourceEntryKind,
    /// An id of the content: equal ids mean equal bytes.
    pub id: String,
    /// The size in bytes; of a link, the length of its target.
    pub size: u64,
}

/// The type of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceEntryKind {
    /// A regular file.
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link with its target.
    Link(String),
    /// A commit of another repository.
    Submodule,
}

/// Options for finding skills.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindOptions<'a> {
    /// The name of the source, which is the folder name of a skill at its root.
    pub source_name: &'a str,
    /// `true` to offer skills below folders such as `docs` and `examples` as well.
    pub all_paths: bool,
}

/// The skills and plugins of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPackages {
    /// Skills, the more prominent places first. Equal skills are listed once.
    pub packages: Vec<FoundPackage>,
    /// Plugins that manifests name, in their order.
    pub plugins: Vec<FoundPlugin>,
    /// Number of places that are offered only with all paths.
    pub left_out: usize,
    /// Manifests that could not be read, with the reason.
    pub notes: Vec<ManifestNote>,
}

/// A manifest of plugins that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestNote {
    /// The file.
    pub path: String,
    /// The reason.
    pub why: &'static str,
}

/// One skill of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPackage {
    /// The canonical name: of the frontmatter if it is valid, else of the folder.
    pub name: String,
    /// The other name, if folder and frontmatter differ.
    pub alias: Option<String>,
    /// The folder in the source; empty for the root.
    pub folder: String,
    /// Other folders with the same name and bytes.
    pub also_at: Vec<String>,
    /// Links elsewhere in the source that lead to the folder.
    pub linked_from: Vec<String>,
    /// Plugins that contain it.
    pub plugins: Vec<String>,
    /// The files, sorted by path. Empty if there is a problem.
    pub files: Vec<FoundFile>,
    /// The reason why it cannot be installed.
    pub problem: Option<PackageProblem>,
}

/// One file of a skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path relative to the skill.
    pub path: String,
    /// The type.
    pub kind: LockedKind,
    /// The id of the content.
    pub id: String,
    /// The size in bytes.
    pub size: u64,
    /// The target, for a link.
    pub target: Option<String>,
    /// The path in the source, if the file replaces a link to it.
    pub from: Option<String>,
}

/// The reason why a skill cannot be installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageProblem {
    /// A link with an absolute target.
    #[error("the link `{path}` has the absolute target `{target}`")]
    AbsoluteLink {
        /// The link, in the source.
        path: String,
        /// The target, as it is written.
        target: String,
    },
    /// A link out of the source.
    #[error("the link `{path}` to `{target}` leads out of the repository")]
    LinkOutside {
        /// The link, in the source.
        path: String,
        /// The target, as it is written.
        target: String,
    },
    /// A link to nothing.
    #[error("the link `{path}` to `{target}` leads to nothing")]
    BrokenLink {
        /// The link, in the source.
        path: String,
        /// The target, as it is written.
        target: String,
    },
    /// Links that lead to each other, or to a folder around them.
    #[error("the link `{path}` to `{target}` leads to itself")]
    LinkLoop {
        /// The link, in the source.
        path: String,
        /// The target, as it is written.
        target: String,
    },
    /// A submodule, whose files are in another repository.
    #[error("`{path}` is a git submodule, which is not fetched")]
    Submodule {
        /// The submodule, in the source.
        path: String,
    },
    /// Too many files.
    #[error("it has more than {MAX_SKILL_FILES} files")]
    TooManyFiles,
    /// The skills of the source have too many files together.
    #[error("the skills of the source have more than {MAX_FOUND_FILES} files together")]
    TooManyTogether,
    /// Too many bytes.
    #[error("its files are larger than {} MiB", MAX_SKILL_BYTES / 1024 / 1024)]
    TooLarge,
    /// A name that cannot be a folder.
    #[error("its name cannot be the name of a folder")]
    Name,
}

/// The reason why a source cannot be searched, or a skill not be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The source has too many entries.
    #[error("the source has more than {MAX_ENTRIES} files")]
    TooManyEntries,
    /// No skill has this name or path.
    #[error("the source has no skill `{wanted}`")]
    NotFound {
        /// The name or path.
        wanted: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// Several skills have this name, with other bytes.
    #[error("the source has {} skills called `{wanted}`", folders.len())]
    Ambiguous {
        /// The name.
        wanted: String,
        /// Their folders.
        folders: Vec<String>,
    },
    /// The skill cannot be installed.
    #[error("cannot install `{name}`: {problem}")]
    Refused {
        /// The name.
        name: String,
        /// The reason.
        problem: PackageProblem,
    },
}

impl FindError {
    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`?")),
            Self::NotFound { near: None, .. } => {
                Some("list its skills with `prowess add SOURCE --list`".to_owned())
            }
            Self::Ambiguous { folders, .. } => {
                let shown = folders.iter().take(5).map(prowess_diag::wording::tick);
                let shown = prowess_diag::wording::either(shown);
                Some(format!("name one by its folder: {shown}"))
            }
            Self::TooManyEntries | Self::Refused { .. } => None,
        }
    }
}

impl FoundPackages {
    /// Returns the number of SKILL.md files that the packages stand for.
    pub fn places(&self) -> usize {
        let places = self.packages.iter().map(|found| 1 + found.also_at.len());
        places.sum()
    }

    /// Returns the skill with a name, an alias or a folder. A skill that cannot be installed does
    /// not count if another one with its name can.
    pub fn select(&self, wanted: &str) -> Result<&FoundPackage, FindError> {
        let folder = wanted.trim_start_matches("./").trim_end_matches('/');
        let is_at = |found: &&FoundPackage| {
            let mut places = std::iter::once(&found.folder)
                .chain(&found.also_at)
                .chain(&found.linked_from);
            places.any(|place| place == folder)
        };
        if let Some(found) = self.packages.iter().find(is_at) {
            return usable(found);
        }
        let by_name: Vec<_> = self
            .packages
            .iter()
            .filter(|found| found.name == wanted)
            .collect();
        let by_alias = || {
            let is_alias = |found: &&FoundPackage| found.alias.as_deref() == Some(wanted);
            self.packages.iter().filter(is_alias).collect()
        };
        let known: Vec<&FoundPackage> = if by_name.is_empty() {
            by_alias()
        } else {
            by_name
        };
        let good: Vec<&FoundPackage> = known
            .iter()
            .copied()
            .filter(|found| found.problem.is_none())
            .collect();
        match (good.as_slice(), known.as_slice()) {
            ([one], _) => Ok(one),
            ([], [one, ..]) => usable(one),
            ([], []) => Err(FindError::NotFound {
                wanted: wanted.to_owned(),
                near: prowess_diag::suggest::nearest(
                    wanted,
                    self.packages.iter().map(|found| found.name.as_str()),
                )
                .map(str::to_owned),
            }),
            (several, _) => Err(FindError::Ambiguous {
                wanted: wanted.to_owned(),
                folders: several.iter().map(|found| found.folder.clone()).collect(),
            }),
        }
    }
}

fn usable(found: &FoundPackage) -> Result<&FoundPackage, FindError> {
    match &found.problem {
        None => Ok(found),
        Some(problem) => Err(FindError::Refused {
            name: found.name.clone(),
            problem: problem.clone(),
        }),
    }
}

impl FoundPackage {
    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Returns the path in the source of one of its files.
    pub fn source_path(&self, file: &FoundFile) -> String {
        file.from
            .clone()
            .unwrap_or_else(|| joined(&self.folder, &file.path))
    }
}

/// The rank of a place: the first one wins among equal skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceRank {
    Named,
    Root,
    Skills,
    PluginSkills,
    Top,
    Vendor,
    Deep,
    Extra,
}

/// Finds the skills of a source.
///
/// `read` returns the content of a file: of manifests of plugins, and of each SKILL.md for its name.
/// Without content, the name is that of the folder.
pub fn find(
    entries: Vec<SourceEntry>,
    options: FindOptions<'_>,
    read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
) -> Result<FoundPackages, FindError> {
    let tree = SourceTree::new(entries)?;
    let mut found = FoundPackages::default();
    let folders = tree.skill_folders();
    found.plugins = plugins::find(&tree, &folders, read, &mut found.notes);
    let mut plugins_of: HashMap<&str, Vec<String>> = HashMap::new();
    for plugin in &found.plugins {
        for folder in &plugin.skills {
            let plugins = plugins_of.entry(folder).or_default();
            if !plugins.contains(&plugin.name) {
                plugins.push(plugin.name.clone());
            }
        }
    }
    let mut places: Vec<(PlaceRank, &str)> = Vec::new();
    for folder in &folders {
        let rank = rank(folder, plugins_of.contains_key(folder));
        if rank == PlaceRank::Extra && !options.all_paths {
            found.left_out += 1;
        } else {
            places.push((rank, folder));
        }
    }
    places.sort_unstable();
    // Skills with one name and one fingerprint are probably the same.
    let mut by_name: HashMap<(String, u64), Vec<usize>> = HashMap::new();
    let mut at_folder: HashMap<&str, usize> = HashMap::new();
    let mut left = MAX_FOUND_FILES;
    for (_, folder) in places {
        let package = tree.package(folder, options.source_name, read, &mut left);
        let key = (package.name.clone(), fingerprint(&package));
        let known = by_name.entry(key).or_default();
        let twin = known
            .iter()
            .copied()
            .find(|at| is_same(&found.packages[*at], &package));
        let at = if let Some(at) = twin {
            found.packages[at].also_at.push(folder.to_owned());
            at
        } else {
            known.push(found.packages.len());
            found.packages.push(package);
            found.packages.len() - 1
        };
        at_folder.insert(folder, at);
        for plugin in plugins_of.remove(folder).unwrap_or_default() {
            let plugins = &mut found.packages[at].plugins;
            if !plugins.contains(&plugin) {
                plugins.push(plugin);
            }
        }
    }
    for (link, folder) in tree.linked_folders() {
        if let Some(at) = at_folder.get(folder.as_str()) {
            found.packages[*at].linked_from.push(link.to_owned());
        }
    }
    Ok(found)
}

fn rank(folder: &str, is_named: bool) -> PlaceRank {
    if is_named {
        return PlaceRank::Named;
    }
    let parts: Vec<&str> = folder.split('/').collect();
    let is_extra = |part: &&str| {
        EXTRA_FOLDERS
            .iter()
            .any(|extra| part.eq_ignore_ascii_case(extra))
    };
    if parts.len() > USUAL_DEPTH || parts.iter().any(is_extra) {
        return PlaceRank::Extra;
    }
    match parts.as_slice() {
        [""] => PlaceRank::Root,
        ["skills", _] | ["skills", _, _] => PlaceRank::Skills,
        ["plugins", _, "skills", _] => PlaceRank::PluginSkills,
        [first, ..] if first.starts_with('.') => PlaceRank::Vendor,
        [_] => PlaceRank::Top,
        _ => PlaceRank::Deep,
    }
}

/// Returns a number that is equal for equal files.
fn fingerprint(package: &FoundPackage) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in &package.files {
        (&file.path, &file.id, &file.target).hash(&mut hasher);
    }
    hasher.finish()
}

fn is_same(one: &FoundPackage, two: &FoundPackage) -> bool {
    let is_same_file = |(one, two): (&FoundFile, &FoundFile)| {
        one.path == two.path && one.kind == two.kind && one.id == two.id && one.target == two.target
    };
    one.problem.is_none()
        && two.problem.is_none()
        && one.files.len() == two.files.len()
        && one.files.iter().zip(&two.files).all(is_same_file)
}

/// The entries of a source, sorted by path.
#[derive(Debug)]
pub(crate) struct SourceTree {
    entries: Vec<SourceEntry>,
    at: HashMap<String, usize>,
}

/// The end of a path whose links were followed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkEnd {
    File(usize),
    Folder(String),
    Submodule,
}

/// The reason why a path cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkFault {
    Absolute,
    Outside,
    Nothing,
    Loop,
}

impl SourceTree {
    fn new(mut entries: Vec<SourceEntry>) -> Result<Self, FindError> {
        if entries.len() > MAX_ENTRIES {
            return Err(FindError::TooManyEntries);
        }
        entries.retain(|entry| !entry.path.split('/').any(is_repository_folder));
        entries.sort_unstable_by(|one, two| one.path.as_bytes().cmp(two.path.as_bytes()));
        entries.dedup_by(|two, one| one.path == two.path);
        let at = entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (entry.path.clone(), at))
            .collect();
        Ok(Self { entries, at })
    }

    /// Returns the entry at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&SourceEntry> {
        self.at.get(path).map(|at| &self.entries[*at])
    }

    /// Returns the entries below a folder.
    pub(crate) fn below(&self, folder: &str) -> &[SourceEntry] {
        if folder.is_empty() {
            return &self.entries;
        }
        let start = format!("{folder}/");
        let from = self
            .entries
            .partition_point(|entry| entry.path.as_bytes() < start.as_bytes());
        let rest = &self.entries[from..];
        let count = rest.partition_point(|entry| entry.path.starts_with(&start));
        &rest[..count]
    }

    /// Returns `true` if an entry is below the folder.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        !self.below(folder).is_empty()
    }

    /// Returns the folders with a SKILL.md, sorted.
    fn skill_folders(&self) -> BTreeSet<&str> {
        let is_file = |entry: &&SourceEntry| entry.kind != SourceEntryKind::Submodule;
        self.entries
            .iter()
            .filter(is_file)
            .filter_map(|entry| {
                let (folder, name) = split(&entry.path);
                SKILL_FILES.contains(&name).then_some(folder)
            })
            .collect()
    }

    /// Returns the links to folders, with the folder at their end.
    fn linked_folders(&self) -> impl Iterator<Item = (&str, String)> {
        self.entries.iter().filter_map(|entry| {
            let SourceEntryKind::Link(target) = &entry.kind else {
                return None;
            };
            match self.follow(split(&entry.path).0, target) {
                Ok(LinkEnd::Folder(folder)) => Some((entry.path.as_str(), folder)),
                _ => None,
            }
        })
    }

    /// Follows a target from a folder, through any links on the way.
    fn follow(&self, folder: &str, target: &str) -> Result<LinkEnd, LinkFault> {
        if target.starts_with('/') {
            return Err(LinkFault::Absolute);
        }
        if target.is_empty() || target.contains(['\\', '\0']) {
            return Err(LinkFault::Nothing);
        }
        let mut place: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        // The next part is the last one of the stack.
        let mut left: Vec<&str> = target.rsplit('/').collect();
        let mut hops = 0;
        while let Some(part) = left.pop() {
            match part {
                "" | "." => continue,
                ".." => {
                    place.pop().ok_or(LinkFault::Outside)?;
                    continue;
                }
                part => place.push(part),
            }
            let Some(entry) = self.get(&place.join("/")) else {
                continue;
            };
            if let SourceEntryKind::Link(target) = &entry.kind {
                hops += 1;
                if hops > MAX_HOPS {
                    return Err(LinkFault::Loop);
                }
                if target.starts_with('/') {
                    return Err(LinkFault::Absolute);
                }
                place.pop();
                left.extend(target.rsplit('/'));
            } else if left.iter().any(|part| !matches!(*part, "" | ".")) {
                // A file or a submodule has nothing below it.
                return Err(LinkFault::Nothing);
            }
        }
        let path = place.join("/");
        match self.at.get(&path) {
            Some(at) if self.entries[*at].kind == SourceEntryKind::Submodule => {
                Ok(LinkEnd::Submodule)
            }
            Some(at) => Ok(LinkEnd::File(*at)),
            None if self.has_folder(&path) => Ok(LinkEnd::Folder(path)),
            None => Err(LinkFault::Nothing),
        }
    }

    /// Reads the skill in a folder.
    fn package(
        &self,
        folder: &str,
        source_name: &str,
        read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
        left: &mut usize,
    ) -> FoundPackage {
        let folder_name = match split(folder).1 {
            "" => source_name,
            name => name,
        };
        let text = SKILL_FILES.iter().find_map(|name| {
            let entry = self.get(&joined(folder, name))?;
            match &entry.kind {
                SourceEntryKind::Link(target) => match self.follow(folder, target) {
                    Ok(LinkEnd::File(at)) => read(&self.entries[at]),
                    _ => None,
                },
                _ => read(entry),
            }
        });
        let identity = text.map(|text| {
            let parsed = prowess_spec::parse(&text);
            let body = parsed.text.get(parsed.body.range()).unwrap_or_default();
            identify(&parsed.manifest, Some(folder_name), body)
        });
        let (name, alias) = match identity {
            Some(identity) if !identity.name.is_empty() => (identity.name, identity.alias),
            _ => (folder_name.to_owned(), None),
        };
        let mut files = CollectedFiles {
            files: BTreeMap::new(),
            left: *left,
        };
        let mut problem = self
            .collect(folder, folder, "", 0, &mut files)
            .and_then(|()| {
                let sizes = files.files.values().map(|file: &FoundFile| file.size);
                if sizes.fold(0, u64::saturating_add) > MAX_SKILL_BYTES {
                    Err(PackageProblem::TooLarge)
                } else {
                    Ok(())
                }
            })
            .err();
        *left = files.left;
        if problem.is_some() {
            // A part of a skill is not installed.
            files.files.clear();
        }
        if problem.is_none() && !is_folder_name(&name) {
            problem = Some(PackageProblem::Name);
        }
        FoundPackage {
            name,
            alias,
            folder: folder.to_owned(),
            also_at: Vec::new(),
            linked_from: Vec::new(),
            plugins: Vec::new(),
            files: files.files.into_values().collect(),
            problem,
        }
    }

    /// Collects the files below `folder` as files below `prefix` of a skill. `around` is the folder
    /// that is copied as a whole: links inside it stay links.
    fn collect(
        &self,
        folder: &str,
        around: &str,
        prefix: &str,
        nesting: usize,
        files: &mut CollectedFiles,
    ) -> Result<(), PackageProblem> {
        let is_copy = nesting > 0;
        for entry in self.below(folder) {
            let inner = entry.path.get(folder.len()..).unwrap_or_default();
            let path = joined(prefix, inner.trim_start_matches('/'));
            let from = |entry: &SourceEntry| Some(entry.path.clone());
            match &entry.kind {
                SourceEntryKind::Submodule => {
                    return Err(PackageProblem::Submodule {
                        path: entry.path.clone(),
                    });
                }
                SourceEntryKind::File | SourceEntryKind::Executable => {
                    let from = from(entry).filter(|_| is_copy);
                    add(files, path, entry, from)?;
                }
                SourceEntryKind::Link(target) => {
                    let link_folder = split(&entry.path).0;
                    let fault = |fault| problem(fault, &entry.path, target);
                    let end = self.follow(link_folder, target).map_err(fault)?;
                    if end == LinkEnd::Submodule {
                        return Err(PackageProblem::Submodule {
                            path: entry.path.clone(),
                        });
                    }
                    if stays_inside(around, link_folder, target) {
                        let from = from(entry).filter(|_| is_copy);
                        add(files, path, entry, from)?;
                        continue;
                    }
                    match end {
                        LinkEnd::File(at) => {
                            let linked = &self.entries[at];
                            add(files, path, linked, from(linked))?;
                        }
                        LinkEnd::Folder(linked) => {
                            let is_around = linked.is_empty() || is_below(&entry.path, &linked);
                            if is_around || nesting >= MAX_NESTED_COPIES {
                                return Err(fault(LinkFault::Loop));
                            }
                            self.collect(&linked, &linked, &path, nesting + 1, files)?;
                        }
                        LinkEnd::Submodule => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// The files of a skill that were collected.
struct CollectedFiles {
    files: BTreeMap<String, FoundFile>,
    /// The number of files that the skills of the source may still have.
    left: usize,
}

fn add(
    files: &mut CollectedFiles,
    path: String,
    entry: &SourceEntry,
    from: Option<String>,
) -> Result<(), PackageProblem> {
    if files.files.len() >= MAX_SKILL_FILES {
        return Err(PackageProblem::TooManyFiles);
    }
    files.left = files
        .left
        .checked_sub(1)
        .ok_or(PackageProblem::TooManyTogether)?;
    let (kind, target) = match &entry.kind {
        SourceEntryKind::Executable => (LockedKind::Executable, None),
        SourceEntryKind::Link(target) => (LockedKind::Link, Some(target.clone())),
        SourceEntryKind::File | SourceEntryKind::Submodule => (LockedKind::File, None),
    };
    let file = FoundFile {
        path: path.clone(),
        kind,
        id: entry.id.clone(),
        size: entry.size,
        target,
        from,
    };
    files.files.insert(path, file);
    Ok(())
}

fn problem(fault: LinkFault, path: &str, target: &str) -> PackageProblem {
    let (path, target) = (path.to_owned(), target.to_owned());
    match fault {
        LinkFault::Absolute => PackageProblem::AbsoluteLink { path, target },
        LinkFault::Outside => PackageProblem::LinkOutside { path, target },
        LinkFault::Nothing => PackageProblem::BrokenLink { path, target },
        LinkFault::Loop => PackageProblem::LinkLoop { path, target },
    }
}

/// Returns `true` if the text of a target, read from a folder, never leaves `around`.
fn stays_inside(around: &str, folder: &str, target: &str) -> bool {
    let inner = folder.get(around.len()..).unwrap_or_default();
    let mut depth = inner.split('/').filter(|part| !part.is_empty()).count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => depth += 1,
        }
    }
    true
}

/// Returns `true` if a path is a folder itself or below it.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Splits a path into its folder and its last part.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Joins a folder and a path.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plugins::PluginPlace;

    /// Builds entries: `path`, `path*` for an executable, `path -> target`, `path@` for a submodule,
    /// and `path = content`, whose content is also its id.
    fn entries(lines: &[&str]) -> (Vec<SourceEntry>, HashMap<String, String>) {
        let mut texts = HashMap::new();
        let entries = lines
            .iter()
            .map(|line| {
                let (path, kind, text) = if let Some((path, target)) = line.split_once(" -> ") {
                    (path, SourceEntryKind::Link(target.to_owned()), target)
                } else if let Some((path, text)) = line.split_once(" = ") {
                    (path, SourceEntryKind::File, text)
                } else if let Some(path) = line.strip_suffix('*') {
                    (path, SourceEntryKind::Executable, "x")
                } else if let Some(path) = line.strip_suffix('@') {
                    (path, SourceEntryKind::Submodule, "x")
                } else {
                    (*line, SourceEntryKind::File, *line)
                };
                texts.insert(path.to_owned(), text.to_owned());
                SourceEntry {
                    path: path.to_owned(),
                    kind,
                    id: text.to_owned(),
                    size: text.len() as u64,
                }
            })
            .collect();
        (entries, texts)
    }

    fn found_with(lines: &[&str], all_paths: bool) -> FoundPackages {
        let (entries, texts) = entries(lines);
        let options = FindOptions {
            source_name: "repo",
            all_paths,
        };
        let mut read = |entry: &SourceEntry| {
            let text = texts.get(&entry.path)?;
            Some(text.replace("\\n", "\n").into_bytes())
        };
        find(entries, options, &mut read).unwrap()
    }

    fn found(lines: &[&str]) -> FoundPackages {
        found_with(lines, false)
    }

    fn places(found: &FoundPackages) -> Vec<(&str, &str)> {
        let places = found.packages.iter();
        places
            .map(|found| (found.name.as_str(), found.folder.as_str()))
            .collect()
    }

    fn files(found: &FoundPackage) -> Vec<String> {
        let files = found.files.iter();
        files
            .map(|file| match (&file.target, &file.from) {
                (Some(target), None) => format!("{} -> {target}", file.path),
                (None, Some(from)) => format!("{} < {from}", file.path),
                (Some(target), Some(from)) => format!("{} -> {target} < {from}", file.path),
                (None, None) => file.path.clone(),
            })
            .collect()
    }

    #[test]
    fn places_are_ranked() {
        let found = found(&[
            "deep/a/b/SKILL.md",
            "top/SKILL.md",
            ".claude/skills/v/SKILL.md",
            "plugins/p/skills/q/SKILL.md",
            "skills/.curated/c/SKILL.md",
            "skills/s/SKILL.md",
            "SKILL.md",
            "docs/x/SKILL.md",
            "a/Examples/y/SKILL.md",
            "1/2/3/4/5/6/7/SKILL.md",
            "notes/README.md",
        ]);
        assert_eq!(
            places(&found),
            [
                ("repo", ""),
                ("c", "skills/.curated/c"),
                ("s", "skills/s"),
                ("q", "plugins/p/skills/q"),
                ("top", "top"),
                ("v", ".claude/skills/v"),
                ("b", "deep/a/b"),
            ]
        );
        assert_eq!((found.left_out, found.places()), (3, 7));
    }

    #[test]
    fn all_paths_offer_every_folder() {
        let lines = [
            "docs/x/SKILL.md",
            "skills/s/SKILL.md",
            "node_modules/n/SKILL.md",
        ];
        assert_eq!(found(&lines).packages.len(), 1);
        let all = found_with(&lines, true);
        assert_eq!((all.packages.len(), all.left_out), (3, 0));
        assert_eq!(all.packages[0].folder, "skills/s");
    }

    #[test]
    fn equal_skills_are_one_and_others_several() {
        let found = found(&[
            "skills/a/SKILL.md = same",
            "skills/a/x.md = x",
            "plugins/p/skills/a/SKILL.md = same",
            "plugins/p/skills/a/x.md = x",
            ".claude/skills/a/SKILL.md = same",
            ".claude/skills/a/x.md = y",
            "skills/b/SKILL.md = same",
            "skills/b/x.md = x",
        ]);
        let listed: Vec<_> = found
            .packages
            .iter()
            .map(|found| (&*found.folder, found.also_at.clone()))
            .collect();
        assert_eq!(
            listed,
            [
                ("skills/a", vec!["plugins/p/skills/a".to_owned()]),
                ("skills/b", vec![]),
                (".claude/skills/a", vec![]),
            ]
        );
        let error = found.select("a").unwrap_err();
        assert_eq!(
            error,
            FindError::Ambiguous {
                wanted: "a".to_owned(),
                folders: vec!["skills/a".to_owned(), ".claude/skills/a".to_owned()],
            }
        );
        assert_eq!(found.select(".claude/skills/a").unwrap().files[1].id, "y");
        assert_eq!(
            found.select("plugins/p/skills/a").unwrap().folder,
            "skills/a"
        );
        assert_eq!(found.select("b").unwrap().folder, "skills/b");
    }

    #[test]
    fn name_is_that_of_the_frontmatter_if_valid() {
        let found = found(&[
            "skills/folder/SKILL.md = ---\\nname: written\\ndescription: d\\n---\\n",
            "skills/good/SKILL.md = ---\\nname: Not Valid\\ndescription: d\\n---\\n",
            "SKILL.md = ---\\ndescription: d\\n---\\n",
        ]);
        assert_eq!(
            places(&found),
            [
                ("repo", ""),
                ("written", "skills/folder"),
                ("good", "skills/good")
            ]
        );
        assert_eq!(found.select("folder").unwrap().name, "written");
        let error = found.select("writen").unwrap_err();
        assert_eq!(error.hint().as_deref(), Some("did you mean `written`?"));
    }

    #[test]
    fn skill_at_the_root_has_every_file() {
        let found = found(&[
            "SKILL.md",
            "src/x.rs",
            "skills/a/SKILL.md",
            ".git/config",
            "a/.SVN/x",
        ]);
        assert_eq!(places(&found), [("repo", ""), ("a", "skills/a")]);
        assert_eq!(
            files(&found.packages[0]),
            ["SKILL.md", "skills/a/SKILL.md", "src/x.rs"]
        );
    }

    #[test]
    fn nested_skills_belong_to_their_parent_as_well() {
        let found = found(&[
            "skills/a/SKILL.md",
            "skills/a/b/SKILL.md",
            "skills/ab/SKILL.md",
        ]);
        assert_eq!(
            places(&found),
            [("a", "skills/a"), ("b", "skills/a/b"), ("ab", "skills/ab")]
        );
        assert_eq!(files(&found.packages[0]), ["SKILL.md", "b/SKILL.md"]);
    }

    #[test]
    fn links_inside_stay_and_links_elsewhere_are_replaced() {
        let found = found(&[
            "common/terms.md",
            "common/run*",
            "common/sub/deep.md",
            "common/sub/here -> deep.md",
            "common/sub/up -> ../terms.md",
            "skills/a/SKILL.md",
            "skills/a/inside -> sub/../SKILL.md",
            "skills/a/sub/x.md",
            "skills/a/sub/up -> ../SKILL.md",
            "skills/a/terms.md -> ../../common/terms.md",
            "skills/a/run -> ../../common/run",
            "skills/a/shared -> ../../common/sub",
            "skills/a/around -> ../a/SKILL.md",
            "skills/a/chain -> shared/deep.md",
        ]);
        let skill = found.select("a").unwrap();
        assert_eq!(
            files(skill),
            [
                "SKILL.md",
                "around < skills/a/SKILL.md",
                "chain -> shared/deep.md",
                "inside -> sub/../SKILL.md",
                "run < common/run",
                "shared/deep.md < common/sub/deep.md",
                "shared/here -> deep.md < common/sub/here",
                "shared/up < common/terms.md",
                "sub/up -> ../SKILL.md",
                "sub/x.md",
                "terms.md < common/terms.md",
            ]
        );
        let run = &skill.files[4];
        assert_eq!(
            (run.kind, skill.source_path(run)),
            (LockedKind::Executable, "common/run".to_owned())
        );
    }

    #[test]
    fn bad_link_refuses_its_skill_only() {
        let found = found(&[
            "skills/good/SKILL.md",
            "skills/absolute/SKILL.md",
            "skills/absolute/l -> /etc/passwd",
            "skills/outside/SKILL.md",
            "skills/outside/l -> ../../../etc/passwd",
            "skills/broken/SKILL.md -> ../gone/SKILL.md",
            "skills/loop/SKILL.md",
            "skills/loop/l -> m",
            "skills/loop/m -> l",
            "skills/around/SKILL.md",
            "skills/around/l -> ../..",
            "skills/parent/SKILL.md",
            "skills/parent/l -> ../parent",
            "skills/through/SKILL.md",
            "skills/through/l -> ../good/SKILL.md/x",
            "skills/hop/SKILL.md",
            "skills/hop/l -> ../../hop",
            "hop -> /etc",
            "skills/module/SKILL.md",
            "skills/module/m@",
            "skills/tomodule/SKILL.md",
            "skills/tomodule/l -> ../../vendor",
            "vendor@",
        ]);
        let problem = |name: &str| match found.select(name) {
            Err(FindError::Refused { problem, .. }) => problem,
            other => panic!("{name}: {other:?}"),
        };
        assert!(found.select("good").is_ok());
        assert!(matches!(
            problem("absolute"),
            PackageProblem::AbsoluteLink { .. }
        ));
        assert!(matches!(
            problem("outside"),
            PackageProblem::LinkOutside { .. }
        ));
        assert!(matches!(
            problem("broken"),
            PackageProblem::BrokenLink { .. }
        ));
        assert!(matches!(problem("loop"), PackageProblem::LinkLoop { .. }));
        assert!(matches!(problem("around"), PackageProblem::LinkLoop { .. }));
        assert!(matches!(problem("parent"), PackageProblem::LinkLoop { .. }));
        assert!(matches!(
            problem("through"),
            PackageProblem::BrokenLink { .. }
        ));
        assert!(matches!(
            problem("hop"),
            PackageProblem::AbsoluteLink { .. }
        ));
        assert!(matches!(
            problem("module"),
            PackageProblem::Submodule { .. }
        ));
        assert!(matches!(
            problem("tomodule"),
            PackageProblem::Submodule { .. }
        ));
        assert_eq!(found.places(), 11);
    }

    #[test]
    fn copies_of_copies_are_limited() {
        // Each folder has two links to the next one: the number of files would double each time.
        let mut lines = vec![
            "skills/a/SKILL.md".to_owned(),
            "skills/a/l -> ../../f0".to_owned(),
        ];
        for level in 0..20 {
            for link in ["x", "y"] {
                lines.push(format!("f{level}/{link} -> ../f{}", level + 1));
            }
        }
        lines.push("f20/file".to_owned());
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let found = found(&lines);
        assert!(matches!(
            found.packages[0].problem,
            Some(PackageProblem::LinkLoop { .. })
        ));
        let many: Vec<String> = (0..=MAX_SKILL_FILES)
            .map(|n| format!("skills/a/{n}"))
            .collect();
        let mut lines: Vec<&str> = many.iter().map(String::as_str).collect();
        lines.push("skills/a/SKILL.md");
        let found = self::found(&lines);
        assert_eq!(
            found.packages[0].problem,
            Some(PackageProblem::TooManyFiles)
        );
    }

    #[test]
    fn skill_folder_that_is_a_link_is_that_folder() {
        let found = found(&[
            "engineering/a/SKILL.md",
            ".codex/skills/a -> ../../engineering/a",
            ".codex/skills/other -> ../../engineering/a",
            ".codex/skills/gone -> ../../engineering/gone",
        ]);
        assert_eq!(found.packages.len(), 1);
        assert_eq!(
            found.packages[0].linked_from,
            [".codex/skills/a", ".codex/skills/other"]
        );
        assert_eq!(found.select(".codex/skills/other").unwrap().name, "a");
    }

    #[test]
    fn refused_copy_does_not_hide_a_good_one() {
        let found = found(&["x/a/SKILL.md", ".gemini/skills/a/SKILL.md -> ../gone.md"]);
        assert_eq!(found.packages.len(), 2);
        assert_eq!(found.select("a").unwrap().folder, "x/a");
    }

    #[test]
    fn marketplace_names_skills_of_plugins() {
        let found = found(&[
            r#".claude-plugin/marketplace.json = {"plugins": [
                {"name": "docs", "source": "./", "strict": false, "skills": ["./skills/pdf", "./skills/xlsx"]},
                {"name": "tools", "source": "./plugins/tools"},
                {"name": "one", "source": {"source": "local", "path": "./plugins/one"}},
                {"name": "far", "source": {"source": "github", "repo": "o/r", "ref": "main", "sha": "5754626092940f1c0a4d7b0f6b0c1e7a9d2f3b4c"}},
                {"name": "sub", "source": {"source": "git-subdir", "url": "https://h.example/o/r.git", "path": "a/b", "ref": "v1.0.0"}},
                {"name": "npm", "source": {"source": "npm", "package": "x"}},
                {"name": "run", "source": {"source": "command", "command": "touch x"}},
                {"name": "out", "source": "../x"},
                {"name": "bare", "source": "plugins/tools"},
                {"name": "module", "source": "./plugins/module"},
                {"name": "gone", "source": "./plugins/gone"}
            ]}"#,
            "skills/pdf/SKILL.md",
            "skills/xlsx/SKILL.md",
            "skills/other/SKILL.md",
            "plugins/tools/skills/t/SKILL.md",
            r#"plugins/one/.claude-plugin/plugin.json = {"name": "one", "version": "2.1.0", "skills": "./extra"}"#,
            "plugins/one/extra/u/SKILL.md",
            "plugins/one/skills/v/SKILL.md",
            "plugins/module@",
        ]);
        let of = |name: &str| found.select(name).unwrap().plugins.clone();
        assert_eq!(of("pdf"), ["docs"]);
        assert_eq!(of("other"), Vec::<String>::new());
        assert_eq!(of("t"), ["tools"]);
        assert_eq!(of("u"), ["one"]);
        assert_eq!(of("v"), Vec::<String>::new());
        let plugin = |name: &str| {
            found
                .plugins
                .iter()
                .find(|plugin| plugin.name == name)
                .unwrap()
        };
        assert_eq!(plugin("one").version.as_deref(), Some("2.1.0"));
        let elsewhere = |name: &str| match &plugin(name).place {
            PluginPlace::Elsewhere(source) => format!("{source:?}"),
            other => panic!("{other:?}"),
        };
        assert!(elsewhere("far").contains("https://github.com/o/r"));
        assert!(elsewhere("far").contains("Commit(\"5754626092940f1c0a4d7b0f6b0c1e7a9d2f3b4c\")"));
        assert!(elsewhere("sub").contains("path: Some(\"a/b\")"));
        assert_eq!(
            plugin("npm").place,
            PluginPlace::Unsupported("npm".to_owned())
        );
        assert_eq!(
            plugin("run").place,
            PluginPlace::Unsupported("command".to_owned())
        );
        assert_eq!(plugin("out").place, PluginPlace::Invalid);
        assert_eq!(plugin("bare").place, PluginPlace::Invalid);
        assert_eq!(plugin("module").place, PluginPlace::Submodule);
        assert_eq!(plugin("gone").place, PluginPlace::Missing);
        // Named skills come first.
        assert_eq!(places(&found)[0].0, "u");
    }

    #[test]
    fn plugin_without_a_marketplace_is_found() {
        let found = found(&[
            r#".claude-plugin/plugin.json = {"name": "p"}"#,
            "skills/a/SKILL.md",
            "b/SKILL.md",
            "docs/nested/.codex-plugin/plugin.json = {\"name\": \"q\", \"skills\": [\"./skills/\"]}",
            "docs/nested/skills/c/SKILL.md",
            "broken/.claude-plugin/plugin.json = {",
        ]);
        assert_eq!(found.select("a").unwrap().plugins, ["p"]);
        assert_eq!(found.select("b").unwrap().plugins, Vec::<String>::new());
        // A skill that a plugin names is offered from any folder.
        assert_eq!(found.select("c").unwrap().plugins, ["q"]);
        assert_eq!(found.notes.len(), 1);
        assert_eq!(found.notes[0].path, "broken/.claude-plugin/plugin.json");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// Every file of an installable skill is inside it, and so is every link.
        #[test]
        fn no_layout_causes_a_panic_or_leads_out(lines in proptest::collection::vec(("(a|b|skills|x)(/(a|b|c|l)){0,3}(/SKILL.md)?", proptest::option::of("(\\.\\./|a/|b/|l/|/|\\./){0,4}(a|b|l|SKILL.md|\\.\\.)?")), 0..14)) {
            let lines: Vec<String> = lines.into_iter().map(|(path, target)| match target {
                Some(target) => format!("{path} -> {target}"),
                None => path,
            }).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            for package in found_with(&lines, true).packages {
                if package.problem.is_some() {
                    continue;
                }
                for file in &package.files {
                    prop_assert!(!file.path.split('/').any(|part| matches!(part, "" | "." | "..")));
                    if let Some(target) = &file.target {
                        prop_assert!(stays_inside("", split(&file.path).0, target), "{:?}", file);
                    }
                }
            }
        }
    }
}
